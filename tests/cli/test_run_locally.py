"""``tidegate run --engine local`` on streams of files: the same command as on Spark, in this process."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

import tidegate as tg
from tidegate.cli import app
from tidegate.cli.streaming import output_of

FLOW = """
import tidegate as tg

flow = tg.Flow("edits")
edits = flow.source("edits", "ts TIMESTAMP, page STRING", time="ts", watermark=tg.bounded("0 seconds"))
flow.sink("counts", edits.aggregate(by="page", n="count(*)"))
flow.sink("pages", edits.select("page"))
"""
FIRST = "ts,page\n2026-01-01 00:00:00,a\n2026-01-01 00:00:01,b\n"
# The columns are in another order than in the first file, and one value does not parse.
SECOND = "page,ts\nb,2026-01-01 00:00:01\nd,soon\nc,2026-01-01 00:00:02\n"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a flow and one file, in which the command runs."""
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(FIRST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*options: str, counts: str = "out", edits: str = "in/*.csv") -> list[str]:
    given = ["-i", f"edits={edits}", "-o", f"counts={counts}", "-o", "pages=console", "--checkpoint", "ck"]
    return ["run", "flow.py", "--engine", "local", *given, *options]


def run(*options: str, counts: str = "out", edits: str = "in/*.csv") -> Any:
    return CliRunner().invoke(app, command(*options, counts=counts, edits=edits))


def counted(place: str) -> list[tuple[str, int]]:
    return [(page, n) for _, page, n in sorted(tg.read(tg.local(), place).fetchall())]


def test_once_takes_what_is_new_and_goes_on_from_there(directory: Path) -> None:
    """A line for each step, rows on the console, a file of metrics, and rows that do not parse set aside."""
    first = run("--once")
    assert first.exit_code == 0, first.output
    said = first.stderr.splitlines()
    assert said[0] == "on the local engine, in this process"
    assert said[1].startswith("step 0: 2 rows (")
    assert "; edits from 2026-01-01 00:00:01, " in said[1]
    assert said[2].startswith("flow edits: stopped, step 0")
    assert said[-1] == "start it again with --checkpoint ck to go on"
    assert "|a   |" in first.stdout
    (directory / "in" / "2.csv").write_text(SECOND)
    second = run("--once", "--metrics", "metrics.jsonl")
    assert second.exit_code == 0, second.output
    (metrics,) = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    assert (metrics["step"], metrics["rows"], metrics["outputs"]) == (1, {"edits": 3}, {"counts": 1, "pages": 2})
    (aside,) = [parquet.read_table(path).to_pylist() for path in (directory / "ck" / "late" / "edits").glob("step=1")]
    assert [row["reason"] for row in aside] == ["does not parse: d,soon"]
    assert counted("out") == [("a", 1), ("b", 2)]
    assert run("--once").stderr.splitlines()[1].startswith("flow edits: stopped, step 1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_after_its_step(directory: Path, number: int) -> None:
    """With --every it goes on until then; what it did is committed, and the command ends well."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from tidegate.cli import app; app()", *command("--every", "1s", edits="in")],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("step 0: 2 rows"):
            process.send_signal(number)
            break
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "stopping when the step has ended; again to cancel it …\nstopped\nflow edits: stopped, step 0" in err
    assert counted("out") == [("a", 1)]


def test_a_directory_may_be_empty_and_files_compressed(directory: Path) -> None:
    """A file is read as the end of its name says, whenever it comes."""
    (directory / "in" / "1.csv").unlink()
    assert run("--once", edits="in").exit_code == 0
    (directory / "in" / "1.csv.gz").write_bytes(gzip.compress(FIRST.encode()))
    (directory / "in" / ".2.csv").write_text(SECOND)
    assert run("--once", edits="in").exit_code == 0
    assert counted("out") == [("a", 1)]


def test_what_a_run_is_refused_for(directory: Path) -> None:
    """Before anything is read; with the words of the engine or of the command, and code 1."""
    for given, message in (
        ({"edits": "nowhere"}, "expected a directory for source 'edits', got nowhere"),
        ({"edits": "s3://bucket/in"}, "expected a path on this machine"),
        ({"edits": "flow.py*"}, "got .py"),
    ):
        result = run("--once", **given)
        assert (result.exit_code, message in result.stderr) == (1, True), result.output
    (directory / "flow.py").write_text(FLOW.replace("n=", "n='sum(10 DIV length(trim(page)))', m="))
    (directory / "in" / "2.csv").write_text("ts,page\n2026-01-01 00:00:05, \n")
    result = run("--once")
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    assert "  at: step 0\n  at: flow 'edits'\n" in result.stderr


def test_tables_are_read_whole(directory: Path) -> None:
    """A flow may join what streams with a file; rows of that have to parse."""
    table = 'pages = flow.table("pages", "page STRING, rank INT")\n'
    flow = FLOW.split("flow.sink")[0] + table + 'flow.sink("counts", edits.join(pages, on="page"))\n'
    (directory / "flow.py").write_text(flow + 'flow.sink("pages", edits)\n')
    (directory / "pages.json").write_text('{"page": "a", "rank": 3}\n')
    assert run("--once", "-i", "pages=pages.json").exit_code == 0
    assert [row[1:] for row in tg.read(tg.local(), "out").fetchall()] == [("a", 3)]
    (directory / "pages.json").write_text('{"page": "a", "rank": "x"}\n')
    result = run("--once", "-i", "pages=pages.json")
    assert (result.exit_code, "expected rows that parse in a table, got 1 that do not" in result.stderr) == (1, True)


def test_one_flow_follows_the_output_of_another(directory: Path) -> None:
    """The path of an output whose frontier is published is an input, as it is on Spark."""
    follower = """
import tidegate as tg

flow = tg.Flow("sums")
counts = flow.source("edits", "ts TIMESTAMP, page STRING, n BIGINT", time="ts", watermark=tg.published("out"))
flow.sink("counts", counts.accumulate(n="sum(n)"))
flow.sink("pages", counts)
"""
    (directory / "in" / "2.csv").write_text(SECOND)
    assert run("--once").exit_code == 0
    (directory / "flow.py").write_text(follower)
    arguments = command("--once", counts="sums", edits="out")
    done = CliRunner().invoke(app, [part if part != "ck" else "ck2" for part in arguments])
    assert done.exit_code == 0, done.output
    assert [n for _, n in sorted(tg.read(tg.local(), "sums").fetchall())] == [1, 3]


def test_outputs_of_other_kinds(directory: Path) -> None:
    """A Delta table, and a table of PostgreSQL, which is found as libpq finds it."""
    assert run("--once", counts="delta:table").exit_code == 0
    from deltalake import DeltaTable

    assert DeltaTable("table").to_pyarrow_table().column("page").to_pylist() == ["a"]
    assert repr(output_of("postgres:public.hourly")) == "Postgres(table='public.hourly', key=())"
    assert repr(output_of("out/console")) == repr(tg.parquet("out/console"))


def test_inspect_and_why_read_its_checkpoints(directory: Path) -> None:
    """They say which engine made a checkpoint; the frontiers, the files that were taken and the state are in it."""
    assert run("--once").exit_code == 0
    shown = CliRunner().invoke(app, ["inspect", "ck"])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("flow edits: step 0, on the local engine\n")
    cells = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in shown.stdout.splitlines() if line.startswith("│")
    ]
    assert ["edits", "2026-01-01 00:00:01", "2", "0", "0", "0"] in cells
    assert ["edits", "files", "files 1"] in cells
    assert ["aggregate#1", "0", "2", "1"] in cells
    why = CliRunner().invoke(app, ["why", "ck", "2026-01-01 00:00:01"])
    assert why.stdout == "source edits may still give rows from 2026-01-01 00:00:01 on\n"
    assert CliRunner().invoke(app, ["why", "ck", "2026-01-01 00:00:00"]).stdout.startswith("complete")
