"""The examples run as they are, and the command line takes them."""

from __future__ import annotations

import runpy
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tidegate import errors
from tidegate.cli import app

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(ROOT.glob("examples/[!_]*.py"))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in EXAMPLES])
def test_the_command_line_finds_the_flow(path: Path) -> None:
    """`tidegate explain` takes each example, and runs nothing of what is below `__main__`."""
    result = CliRunner().invoke(app, ["explain", str(path)])
    assert result.exit_code == 0
    assert result.stdout.startswith("flow ")


@pytest.mark.spark
def test_edits_are_the_same_computed_and_on_a_stream(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Run as a script, the example prints the answers twice, first computed, then of a stream that has ended."""
    runpy.run_path(str(ROOT / "examples" / "edits.py"), run_name="__main__")
    printed = capfd.readouterr().out
    computed, streamed = printed.split("flow edits: ended, step 1")
    answers = [line for line in computed.splitlines() if line.startswith("|2026")]
    assert [line.split("|")[3:6] for line in answers] == [
        ["home", "2    ", "150  "],
        ["news", "1    ", "7    "],
        ["home", "1    ", "50   "],
    ]
    assert [line for line in streamed.splitlines() if line.startswith("|2026")] == answers


HISTOGRAMS = """\
  H_t0 = {a: 1}
  H_t1 = {a: 1, c: 1}
  H_t2 = {a: 1, b: 1}
  H_t3 = {a: 2}
  H_t5 = {a: 3, b: 1, c: 1}
"""


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_the_histograms_of_the_first_paper(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Figure 6, on a stream: what the watermarks complete, and t4 when the input ends."""
    if engine == "spark":
        request.getfixturevalue("spark")
    monkeypatch.setattr("sys.argv", ["histograms.py", *(["local"] if engine == "local" else [])])
    runpy.run_path(str(ROOT / "examples" / "histograms.py"), run_name="__main__")
    first, last = capfd.readouterr().out.split("at the end of the input:\n")
    assert HISTOGRAMS in first
    assert "histograms: not complete from t4 on" in first
    assert last == "  H_t4 = {a: 1, c: 1, d: 1}\n"


SQLITE = runpy.run_path(str(ROOT / "examples" / "to_sqlite.py"))
HOURLY = [
    ("2026-01-01 00:59:59.999999+00:00", "home", 2, 150),
    ("2026-01-01 00:59:59.999999+00:00", "news", 1, 7),
    ("2026-01-01 01:59:59.999999+00:00", "home", 1, 50),
]


class _Dies(SQLITE["SQLite"]):  # type: ignore[misc]
    """A place whose first step is written, and then the run dies before it hears of that."""

    def deliver(self, sender: Any, rows: Any, step: int) -> None:
        super().deliver(sender, rows, step)
        raise ConnectionError("gone")


class _Forgets(SQLITE["SQLite"]):  # type: ignore[misc]
    """A place that does not ask whether a step is there already."""

    def deliver(self, sender: Any, rows: Any, step: int) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("UPDATE senders SET step = -1")
        super().deliver(sender, rows, step)


def test_an_output_of_ones_own_has_every_row_once(tmp_path: Path) -> None:
    """A run that dies while a step is handed over goes on, and hands it over again; the database takes it once."""
    given = str(tmp_path / "results.db"), "hourly"
    with pytest.raises(errors.SinkFailed, match="gone"):
        SQLITE["results"](tmp_path, _Dies(*given))
    assert SQLITE["results"](tmp_path, SQLITE["SQLite"](*given)) == HOURLY


def test_an_output_that_forgets_steps_is_noticed(tmp_path: Path) -> None:
    """Without the number of the step, the same story gives rows twice."""
    given = str(tmp_path / "results.db"), "hourly"
    with pytest.raises(errors.SinkFailed):
        SQLITE["results"](tmp_path, _Dies(*given))
    assert len(SQLITE["results"](tmp_path, _Forgets(*given))) > len(HOURLY)


def test_an_output_of_ones_own_refuses_the_rows_of_another(tmp_path: Path) -> None:
    """A table has the results of one checkpoint."""
    output = SQLITE["SQLite"](str(tmp_path / "results.db"), "hourly")
    assert SQLITE["results"](tmp_path, output) == HOURLY
    with pytest.raises(ValueError, match="table hourly has results of another run"):
        SQLITE["results"](tmp_path / "other", output)
