"""``tidegate run``: a flow in a file, on files."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

from tidegate.cli import app
from tidegate.engine.formats import input_format

FLOW = """
import tidegate as tg

flow = tg.Flow("edits")
edits = flow.source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts")
pages = flow.table("pages", "page STRING, topic STRING")
hourly = edits.join(pages, on="page").window("1 hour").aggregate(by="topic", n="count(*)", bytes="sum(bytes)")
flow.sink("hourly", hourly)
"""
# The columns are in another order than declared; one value does not parse, and one row has no time.
EDITS = """page,ts,bytes
a,2026-01-01 00:10:00,100
b,2026-01-01 00:20:00,many
a,,7
b,2026-01-01 01:20:00,50
"""
PAGES = '{"page": "a", "topic": "art"}\n{"page": "b", "topic": "botany"}\n'


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "edits.csv").write_text(EDITS)
    (tmp_path / "pages.json").write_text(PAGES)
    return tmp_path


def error_of(directory: Path, *arguments: str) -> str:
    """Run the command with arguments that it refuses before it starts Spark, and return what it says."""
    result = CliRunner().invoke(app, ["run", str(directory / "flow.py"), *arguments])
    assert result.exit_code == 1
    return result.stderr


def test_an_input_that_is_not_given(directory: Path) -> None:
    """Every source and table needs an input."""
    assert "expected --input for pages, got none" in error_of(directory, "-i", "edits=edits.csv", "-o", "hourly=out")


def test_an_output_that_the_flow_does_not_have(directory: Path) -> None:
    """A sink is asked for by its name; a name that is nearly right is suggested."""
    message = error_of(directory, "-i", "edits=a", "-i", "pages=b", "-o", "hourli=out")
    assert "expected --output for one of hourly, got 'hourli'" in message
    assert "did you mean hourly?" in message


def test_an_argument_without_a_path(directory: Path) -> None:
    """The form of the argument is shown."""
    assert "expected --input name=path, got 'edits'" in error_of(directory, "-i", "edits", "-o", "hourly=out")


@pytest.mark.parametrize("output", ["out", "out=y"])
def test_a_flow_without_a_sink(directory: Path, output: str) -> None:
    """There is no output to ask for: the flow lacks something, and not the argument."""
    (directory / "flow.py").write_text(FLOW.rpartition("flow.sink")[0])
    message = error_of(directory, "-i", "edits=a", "-i", "pages=b", "-o", output)
    assert message.startswith("expected a flow with a sink, got none\n  at: flow 'edits'\n  hint: flow.sink(")


def test_a_format_that_is_not_known(directory: Path) -> None:
    """Formats are known by the end of the name."""
    message = error_of(directory, "-i", "edits=a.csv", "-i", "pages=b.csv", "-o", "hourly=out.xlsx")
    assert "ends in .parquet, .csv, .json" in message


def test_results_are_not_overwritten(directory: Path) -> None:
    """What is there stays, unless --overwrite says otherwise."""
    (directory / "out").mkdir()
    out = directory / "out"
    given = ("-i", "edits=a.csv", "-i", "pages=b.csv")
    assert "is there already" in error_of(directory, *given, "-o", f"hourly={out}")
    (out / "pages").mkdir()
    message = error_of(directory, *given, "-o", f"hourly={out}2", "--rejected", str(out))
    assert "pages is there already" in message
    assert "choose another --rejected" in message


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.json", "b.csv"], "expected files of one format in"),
        (["a.txt"], "got .txt"),
        (["noname"], "got no ending"),
        ([], "expected files for 'edits' in"),
        (["_SUCCESS", ".hidden.csv"], "expected files for 'edits' in"),
    ],
)
def test_a_directory_without_files_of_one_format(directory: Path, names: list[str], message: str) -> None:
    """What is in it says how it is read, before Spark is started; if it does not, the message does."""
    (directory / "in").mkdir()
    for name in names:
        (directory / "in" / name).write_text("{}")
    given = ("-i", f"edits={directory / 'in'}", "-i", f"pages={directory / 'pages.json'}", "-o", "hourly=out")
    assert message in error_of(directory, *given)


@pytest.mark.parametrize(
    ("names", "format_"),
    [
        (["a.json", "_SUCCESS"], "json"),
        (["part-0.csv.gz", "year=2026/part-1.csv"], "csv"),
        (["part-0.snappy.parquet"], "parquet"),
        (["a.jsonl", "b.ndjson"], "json"),
        ([], "parquet"),
    ],
)
def test_the_files_in_a_directory_say_its_format(tmp_path: Path, names: list[str], format_: str) -> None:
    """By the ends of their names, compressed or not, in directories of their own or not."""
    for name in names:
        (tmp_path / "in.v1" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in.v1" / name).write_text("{}")
    (tmp_path / "in.v1").mkdir(exist_ok=True)
    assert input_format(str(tmp_path / "in.v1")) == format_
    if names:
        assert input_format(f"{tmp_path}/in.v1/*") == format_


@pytest.mark.parametrize(
    ("path", "format_"),
    [
        ("a.csv.gz", "csv"),
        ("a.JSON.bz2", "json"),
        ("s3://b/a.csv.gz", "csv"),
        ("in/*.csv.gz", "csv"),
        ("noname", "parquet"),
    ],
)
def test_the_name_of_a_file_says_its_format(tmp_path: Path, path: str, format_: str) -> None:
    """Compressed or not, and whether it is there or not."""
    assert input_format(path if "://" in path else str(tmp_path / path)) == format_
    if "/" not in path:
        (tmp_path / path).write_text("")
        assert input_format(str(tmp_path / path)) == format_


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("flow = (", "line 1: '(' was never closed"),
        ("import tidegate as tg\nx = 1 / 0", "failed with ZeroDivisionError: division by zero\n  at: {file}, line 2"),
        ("import sys\nsys.exit(3)", "failed with SystemExit: 3"),
        ("import tidegate as tg\ntg.Flow('f').source('s', 't INT', time='q')", "unknown column q"),
    ],
)
def test_mistakes_in_the_file_are_reported_with_their_line(directory: Path, source: str, message: str) -> None:
    """Whatever it raises; no traceback of ours stands above it."""
    file = directory / "flow.py"
    file.write_text(source)
    printed = error_of(directory, "-i", "a=b", "-o", "c=d")
    assert message.format(file=file) in printed
    assert "Traceback" not in printed


def test_files_that_cannot_be_written_are_reported_in_a_line(directory: Path) -> None:
    """What the system said, and of which file; but a mistake of ours is raised as it is."""
    result = CliRunner().invoke(app, ["explain", str(directory / "flow.py"), "--output", str(directory / "no" / "x")])
    assert (result.exit_code, result.stderr) == (1, f"No such file or directory: {directory / 'no' / 'x'}\n")
    given = ["-i", "edits=a", "-i", "pages=b", "-o", "hourly=out", "--once", "--checkpoint"]
    result = CliRunner().invoke(app, ["run", str(directory / "flow.py"), *given, "ck", "--every", "soon"])
    assert "expected --every or --once, got both" in result.stderr
    assert "expected a length of time for --every, got 'soon'" in error_of(
        directory, *given[:-2], "--checkpoint", "ck", "--every", "soon"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--once"], "expected --checkpoint for a run on streams"),
        (["--every", "10s", "--once", "--checkpoint", "ck"], "expected --every or --once, got both"),
        (["--every", "soon", "--checkpoint", "ck"], "expected a length of time for --every"),
        (["--checkpoint", "ck"], "got --checkpoint for a run on files"),
        (["--once", "--checkpoint", "ck", "--overwrite"], "--rejected and --overwrite are for runs on files"),
    ],
)
def test_options_that_do_not_go_together(directory: Path, options: list[str], message: str) -> None:
    """A run is on files or on streams; one on streams has a checkpoint."""
    assert message in error_of(directory, "-i", "edits=a", "-i", "pages=b", "-o", "hourly=out", *options)


@pytest.mark.spark
def test_a_flow_runs_on_files(directory: Path) -> None:
    """CSV and JSON in, CSV out; rows that do not parse and rows without a time are counted, and can be kept."""
    inputs = ["-i", "edits=edits.csv", "-i", "pages=pages.json"]
    arguments = ["run", "flow.py", *inputs, "-o", "hourly=hourly.csv", "--rejected", "bad"]
    source = str(Path(__file__).parents[2] / "src")
    run = subprocess.run(
        [sys.executable, "-c", "from tidegate.cli import app; app()", *arguments],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": source, "SPARK_LOCAL_IP": "127.0.0.1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert "rejected rows of edits: 2" in run.stderr
    found = [
        row
        for file in (directory / "hourly.csv").glob("*.csv")
        for row in csv.DictReader(file.read_text().splitlines())
    ]
    assert sorted((row["ts"], row["topic"], row["n"], row["bytes"]) for row in found) == [
        ("2026-01-01T00:59:59.999999Z", "art", "1", "100"),
        ("2026-01-01T01:59:59.999999Z", "botany", "1", "50"),
    ]
    kept = parquet.read_table(directory / "bad" / "edits").to_pylist()
    reasons = {row["reason"]: row["page"] for row in kept}
    assert reasons == {"null time in ts": "a", "does not parse: b,2026-01-01 00:20:00,many": None}


STREAM = """
import tidegate as tg

flow = tg.Flow("edits")
edits = flow.source("edits", "ts TIMESTAMP, page STRING", time="ts", watermark=tg.bounded("0 seconds"))
flow.sink("counts", edits.aggregate(by="page", n="count(*)"))
flow.sink("pages", edits.select("page"))
"""


def streamed(directory: Path, *options: str) -> subprocess.Popen[str]:
    """Start the command on streams, where its output is no terminal."""
    (directory / "flow.py").write_text(STREAM)
    arguments = ["run", "flow.py", "-i", "edits=in/*.csv", "-o", "counts=out", "-o", "pages=console", *options]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "SPARK_LOCAL_IP": "127.0.0.1"}
    # A process that lives for seconds is not worth compiling well.
    environment |= {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
    return subprocess.Popen(
        [sys.executable, "-c", "from tidegate.cli import app; app()", *arguments, "--checkpoint", "ck"],
        cwd=directory,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.spark
def test_a_flow_runs_on_a_stream_of_files(tmp_path: Path) -> None:
    """With --every until Ctrl-C, a line for each step; with --once it goes on from there, and ends by itself.

    A row that does not parse is set aside with its text.
    """
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("ts,page\n2026-01-01 00:00:00,a\n2026-01-01 00:00:01,b\n")
    first = streamed(tmp_path, "--every", "1s")
    assert first.stderr is not None
    lines = []
    for line in first.stderr:
        lines.append(line)
        if line.startswith("step 0: 2 rows"):
            first.send_signal(signal.SIGINT)
            break
    out, err = first.communicate(timeout=300)
    assert first.returncode == 0, [*lines, err]
    assert "1 out" in lines[-1] or "3 out" in lines[-1]
    assert "edits from 2026-01-01 00:00:01, " in lines[-1]
    assert "flow edits: stopped, step 0" in err
    assert "|a   |" in out
    (tmp_path / "in" / "2.csv").write_text("ts,page\n2026-01-01 00:00:01,b\nsoon,d\n2026-01-01 00:00:02,c\n")
    second = streamed(tmp_path, "--once", "--metrics", "metrics.jsonl")
    out, err = second.communicate(timeout=300)
    assert second.returncode == 0, err
    (metrics,) = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert (metrics["step"], metrics["rows"], metrics["outputs"]) == (1, {"edits": 3}, {"counts": 1, "pages": 2})
    (aside,) = [parquet.read_table(path).to_pylist() for path in (tmp_path / "ck" / "late" / "edits").glob("step=1")]
    assert [row["reason"] for row in aside] == ["does not parse: soon,d"]
    assert {path.name for path in (tmp_path / "out").glob("step=*")} == {"step=0", "step=1"}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("options", [["--once", "--checkpoint", "ck"], []], ids=["stream", "files"])
def test_what_fails_in_spark_is_reported_without_a_traceback(tmp_path: Path, options: list[str]) -> None:
    """On streams with operator, source, step and flow; on files with the expression; the command ends with code 1."""
    (tmp_path / "flow.py").write_text(
        STREAM.split("flow.sink")[0] + 'flow.sink("out", edits.select("10 / length(page) AS y").where("y > 0"))\n'
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"ts": "2026-01-01 00:00:00", "page": ""}\n')
    given = "in/*.json" if options else "in/1.json"
    arguments = ["run", "flow.py", "-i", f"edits={given}", "-o", "out=out/", *options]
    run = subprocess.run(
        [sys.executable, "-c", "from tidegate.cli import app; app()", *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 1, run.stderr
    assert "Spark failed: [DIVIDE_BY_ZERO] Division by zero" in run.stderr
    assert not any(word in run.stderr for word in ("Traceback", "\tat ", "SQLQueryContextLogger"))
    assert "\n  10 / length(page)\n" in run.stderr
    if options:
        assert "\n  ^^^^^^^^^^^^^^^^^\n" in run.stderr
        for place in ("operator select#1", "a row of source 'edits'", "step 0", "flow 'edits'"):
            assert f"  at: {place}\n" in run.stderr
