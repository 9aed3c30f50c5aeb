"""The local engine beside Bytewax and Pathway, on one machine: how many rows a second, and how soon an answer comes.

    python -m bench.peers --install
    python -m bench.peers --rows 1000000 --repeats 3

Each peer has an environment of its own, which `--install` makes; a peer that has none is left out. Each run is a
process of its own. Three things are asked:

- `count`: count and sum per key and minute, of a file.
- `join`: the pairs of low and high amounts of a key in a minute, of the same file.
- `latency`: how many rows of a key there were so far, of rows that come at a rate; see `paced.py`.

All are given the same file, and their results are checked to be those of a plain query. The seconds are those from the
call that starts a flow until it has ended, without the time that Python takes to load a library; the whole process
stands beside. Tidegate commits its steps, and answers when a step is committed. Bytewax and Pathway run without
recovery and with it. `warm` are the later runs in one process. The load of the machine is that before each run.
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

from bench.peers.given import QUESTIONS, check, generate

ROOT = Path(__file__).parents[2]
PEERS = ("bytewax", "pathway")
#: What the peers read themselves: none of them has a source of Parquet files.
READ = {"tidegate": ("parquet", "csv", "json"), "bytewax": ("csv", "json"), "pathway": ("csv", "json")}


@dataclass(frozen=True, slots=True)
class Took:
    """How long a run took, by the clock, by the processor and with its whole process, and the load before it."""

    seconds: float
    processor: float
    process: float
    load: float
    #: Milliseconds from the arrival of a row to its answer.
    median: float = 0.0
    p99: float = 0.0
    most: float = 0.0


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
    return directory.absolute() / peer / "bin" / "python"


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


def run(entry: Entry, question: str, given: Path | str, place: Path) -> list[Took]:
    """Run an engine in a process of its own; return how long it took."""
    output, state = place / "out", place / "state"
    state.mkdir()
    more = [str(entry.warm + 1)] if entry.warm else []
    kept = str(state) if entry.recovery else "-"
    command = [entry.python, "-m", f"bench.peers.by_{entry.engine}", question, str(given), str(output), kept, *more]
    load, began = os.getloadavg()[0], perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    process = perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"{entry.name} failed:\n{done.stderr}")
    took: list[dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return [Took(process=process, load=load, **found) for found in took[1 if entry.warm else 0 :]]


def shown(values: list[float]) -> str:
    """Return the median (least–most)."""
    return f"{median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def measure(
    entry: Entry, question: str, given: Path, repeats: int, connection: duckdb.DuckDBPyConnection
) -> list[Took]:
    """Ask an engine about a file a few times, and check its results."""
    found: list[Took] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(dir=given.parent) as place:
            found += run(entry, question, given, Path(place))
            check(entry.engine, question, Path(place) / "out", connection)
    return found


def loads(took: list[Took]) -> str:
    """Return the least and the most load before some runs."""
    found = [t.load for t in took]
    return f"{min(found):.1f}–{max(found):.1f}"


def throughput(
    there: list[Entry], data: Path, questions: list[str], formats: list[str], rows: int, repeats: int
) -> Table:
    """Return how many rows a second there were."""
    results = Table(
        "question", "file", "engine", "seconds", "million rows a second", "processor", "process", "load before"
    )
    connection = generate(data, rows)
    for question in questions:
        for kind in formats:
            for entry in there:
                if kind not in READ[entry.engine]:
                    continue
                took = measure(entry, question, data / f"rows.{kind}", 1 if entry.warm else repeats, connection)
                seconds = [t.seconds for t in took]
                process = "" if entry.warm else shown([t.process for t in took])
                rate, processor = f"{rows / median(seconds) / 1e6:.3f}", shown([t.processor for t in took])
                results.add_row(question, kind, entry.name, shown(seconds), rate, processor, process, loads(took))
    return results


def latencies(there: list[Entry], data: Path, rates: list[int], seconds: int, repeats: int) -> Table:
    """Return how long answers took."""
    results = Table("rows a second", "engine", "median, ms", "99 %, ms", "most, ms", "processor, s", "load before")
    for rate in rates:
        for entry in there:
            if entry.warm:
                continue
            took: list[Took] = []
            for _ in range(repeats):
                with tempfile.TemporaryDirectory(dir=data) as place:
                    took += run(entry, "latency", f"{rate}x{seconds}", Path(place))
            figures = [shown([getattr(t, name) for t in took]) for name in ("median", "p99", "most", "processor")]
            results.add_row(f"{rate:,}", entry.name, *figures, loads(took))
    return results


def main(
    environments: Annotated[Path, typer.Option(help="Where the environments of the peers are.")] = Path(".venv-peers"),
    rows: Annotated[int, typer.Option(help="Rows in the file.")] = 1_000_000,
    repeats: Annotated[int, typer.Option(help="Processes of each.")] = 3,
    warm: Annotated[int, typer.Option(help="More runs of Tidegate in a process, after the first.")] = 5,
    formats: Annotated[str, typer.Option(help="Formats, by comma.")] = "parquet,csv,json",
    questions: Annotated[str, typer.Option(help="What is asked, by comma.")] = "count,join,latency",
    rates: Annotated[str, typer.Option(help="Rows a second, by comma.")] = "1000,10000",
    seconds: Annotated[int, typer.Option(help="How long rows come at a rate.")] = 20,
    only: Annotated[str, typer.Option(help="Engines, by comma.")] = "tidegate,bytewax,pathway",
    install_: Annotated[bool, typer.Option("--install", help="Make the environments of the peers, and end.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few rows of CSV, once.")] = False,
) -> None:
    """Run the comparison."""
    console = Console(width=140)
    if install_:
        install(environments, console)
        return
    if quick:
        rows, repeats, warm, formats, rates, seconds = 20_000, 1, 1, "csv", "1000", 1
    asked = questions.split(",")
    with tempfile.TemporaryDirectory() as directory:
        data, few = Path(directory), Path(directory) / "few"
        # Two threads for all, and modules that are compiled once, as those of an installed package.
        os.environ |= {"PATHWAY_THREADS": "2", "PYTHONPYCACHEPREFIX": str(data / "compiled")}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        there = [entry for entry in entries(environments, warm, console) if entry.engine in only.split(",")]
        few.mkdir()
        few_expected = generate(few, 1_000)
        for entry in there:
            # Once before anything counts: that compiles the modules.
            measure(entry, "count", few / "rows.csv", 1, few_expected)
        of_files = [question for question in QUESTIONS if question in asked]
        if of_files:
            console.print(throughput(there, data, of_files, formats.split(","), rows, repeats))
        if "latency" in asked:
            console.print(latencies(there, data, [int(rate) for rate in rates.split(",")], seconds, repeats))


if __name__ == "__main__":
    typer.run(main)
