"""Count and sum per key and minute, on one machine: the local engine beside Bytewax and Pathway, on the same file.

    python bench/peers/bench_peers.py --install
    python bench/peers/bench_peers.py --rows 1000000 --repeats 3

Each peer has an environment of its own, which `--install` makes; a peer that has none is left out. All are given the
same file, each in a process of its own, and their results are checked to be those of a plain query. The
seconds are those from the call that starts a flow until it has ended, without the time that Python takes to load a
library; the whole process stands beside. Tidegate commits its steps. Bytewax and Pathway run without recovery and with
it. `warm` are the later runs in one process. The load of the machine is that before each run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated

import duckdb
import typer
from rich.console import Console
from rich.table import Table

import tidegate as tg

HERE = Path(__file__).parent
PEERS = ("bytewax", "pathway")
#: What the peers read themselves: none of them has a source of Parquet files.
READ = {"tidegate": ("parquet", "csv", "json"), "bytewax": ("csv", "json"), "pathway": ("csv", "json")}
ROWS = """
    SELECT TIMESTAMP '2026-01-01' + to_microseconds(3600 * i) AS ts, 'key-' || (hash(i) % 1000) AS key,
        (hash(i + 7) % 1000)::INT AS amount
    FROM range({rows}) AS t(i)
"""
TEXTS = "SELECT strftime(ts, '%Y-%m-%dT%H:%M:%S.%f') AS ts, key, amount FROM rows"
EXPECTED = """
    SELECT strftime(time_bucket(INTERVAL 1 minute, ts), '%Y-%m-%dT%H:%M:%S') AS minute, key, count(*) AS n,
        sum(amount)::BIGINT AS total
    FROM rows GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class Took:
    """How long a run took, by the clock, by the processor and with its whole process, and the load before it."""

    seconds: float
    processor: float
    process: float
    load: float


@dataclass(frozen=True, slots=True)
class Entry:
    """What is run: an engine, with recovery or without, and how many more times in a process after the first."""

    name: str
    engine: str
    python: str
    recovery: bool = True
    warm: int = 0


def environment(directory: Path, peer: str) -> Path:
    """Return the Python of a peer."""
    return directory / peer / "bin" / "python"


def install(directory: Path, console: Console) -> None:
    """Make an environment for each peer."""
    for peer in PEERS:
        venv.create(directory / peer, with_pip=True)
        done = subprocess.run([environment(directory, peer), "-m", "pip", "install", "-q", peer], check=False)
        if done.returncode:
            console.print(f"{peer} cannot be installed on Python {sys.version.split()[0]}")


def entries(directory: Path, warm: int, console: Console) -> Iterator[Entry]:
    """Yield what can be run here."""
    yield Entry("Tidegate, local", "tidegate", sys.executable)
    yield Entry("Tidegate, local, warm", "tidegate", sys.executable, warm=warm)
    for peer in PEERS:
        python = str(environment(directory, peer))
        there = Path(python).exists()
        if not there or subprocess.run([python, "-c", f"import {peer}"], capture_output=True, check=False).returncode:
            console.print(f"{peer} is not installed in {directory}: left out; --install installs it")
            continue
        yield Entry(peer.title(), peer, python, recovery=False)
        yield Entry(f"{peer.title()}, with recovery", peer, python)


def generate(place: Path, rows: int) -> duckdb.DuckDBPyConnection:
    """Write the rows as Parquet, CSV and JSON, and return where the table `expected` is."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE rows AS {ROWS.format(rows=rows)}")
    connection.execute(f"CREATE TABLE expected AS {EXPECTED}")
    connection.execute(f"COPY rows TO '{place}/rows.parquet'")
    connection.execute(f"COPY ({TEXTS}) TO '{place}/rows.csv' (HEADER)")
    connection.execute(f"COPY ({TEXTS}) TO '{place}/rows.json'")
    connection.execute("DROP TABLE rows")
    return connection


def run(entry: Entry, given: Path, place: Path) -> list[Took]:
    """Run an engine in a process of its own; return how long it took."""
    output, state = place / "out", place / "state"
    state.mkdir()
    more = [str(entry.warm + 1)] if entry.warm else []
    kept = str(state) if entry.recovery else "-"
    command = [entry.python, str(HERE / f"by_{entry.engine}.py"), str(given), str(output), kept, *more]
    load, began = os.getloadavg()[0], perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    process = perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"{entry.name} failed:\n{done.stderr}")
    took: list[dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return [Took(found["seconds"], found["processor"], process, load) for found in took[1 if entry.warm else 0 :]]


def check(entry: Entry, output: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise unless the results are those of the plain query."""
    if entry.engine == "tidegate":
        rows = tg.read(tg.local(), output / "0").to_arrow_table()
        connection.register("written", rows)
        begin = "strftime(\"window\"['start'] AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S')"
        found = f"SELECT {begin}, key, n, total FROM written"
    elif entry.engine == "bytewax":
        columns = "{'minute': 'VARCHAR', 'key': 'VARCHAR', 'n': 'BIGINT', 'total': 'BIGINT'}"
        found = f"SELECT * FROM read_csv('{output}', header = false, columns = {columns})"
    else:
        # A row that was replaced by another is there with a difference of -1.
        found = f"SELECT minute, key, n::BIGINT, total::BIGINT FROM read_csv('{output}', all_varchar = true)"
        found += " GROUP BY ALL HAVING sum(diff::INT) > 0"
    counts = "SELECT count(*) FROM expected"
    same = f"SELECT count(*) FROM (SELECT * FROM expected INTERSECT SELECT * FROM ({found}))"
    total = f"SELECT count(*) FROM ({found})"
    wanted, *got = (connection.execute(query).fetchall()[0][0] for query in (counts, same, total))
    if [wanted, wanted] != got:
        raise RuntimeError(f"{entry.name}: expected {wanted} results, got {got[1]}, of which {got[0]} are right")


def shown(values: list[float]) -> str:
    """Return the median (least–most)."""
    return f"{median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def measure(entry: Entry, given: Path, repeats: int, connection: duckdb.DuckDBPyConnection) -> list[Took]:
    """Run an engine on a file a few times, and check its results."""
    found: list[Took] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(dir=given.parent) as place:
            found += run(entry, given, Path(place))
            check(entry, Path(place) / "out", connection)
    return found


def cells(entry: Entry, rows: int, took: list[Took]) -> list[str]:
    """Return what the table says of some runs."""
    seconds, loads = [t.seconds for t in took], [t.load for t in took]
    process = "" if entry.warm else shown([t.process for t in took])
    rate, processor = f"{rows / median(seconds) / 1e6:.3f}", shown([t.processor for t in took])
    return [entry.name, shown(seconds), rate, processor, process, f"{min(loads):.1f}–{max(loads):.1f}"]


def main(
    environments: Annotated[Path, typer.Option(help="Where the environments of the peers are.")] = Path(".venv-peers"),
    rows: Annotated[int, typer.Option(help="Rows in the file.")] = 1_000_000,
    repeats: Annotated[int, typer.Option(help="Processes of each.")] = 3,
    warm: Annotated[int, typer.Option(help="More runs of Tidegate in a process, after the first.")] = 5,
    formats: Annotated[str, typer.Option(help="Formats, by comma.")] = "parquet,csv,json",
    only: Annotated[str, typer.Option(help="Engines, by comma.")] = "tidegate,bytewax,pathway",
    install_: Annotated[bool, typer.Option("--install", help="Make the environments of the peers, and end.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few rows, once.")] = False,
) -> None:
    """Run the comparison."""
    console = Console(width=140)
    if install_:
        install(environments, console)
        return
    if quick:
        rows, repeats, warm = 20_000, 1, 1
    results = Table("file", "engine", "seconds", "million rows a second", "processor", "process", "load before")
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        # Two threads for all, and modules that are compiled once, as those of an installed package.
        os.environ |= {"PATHWAY_THREADS": "2", "PYTHONPYCACHEPREFIX": str(data / "compiled")}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        connection = generate(data, rows)
        there = [entry for entry in entries(environments, warm, console) if entry.engine in only.split(",")]
        few = data / "few"
        few.mkdir()
        few_expected = generate(few, 1_000)
        for entry in there:
            # Once before anything counts: that compiles the modules.
            measure(entry, few / "rows.csv", 1, few_expected)
        for kind in formats.split(","):
            for entry in there:
                if kind in READ[entry.engine]:
                    turns = 1 if entry.warm else repeats
                    took = measure(entry, data / f"rows.{kind}", turns, connection)
                    results.add_row(kind, *cells(entry, rows, took))
    console.print(results)


if __name__ == "__main__":
    typer.run(main)
