"""The harbour: its data is as the story says, and the flow's answers hold in this process and on Spark."""

from __future__ import annotations

import io
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tests.spark.engine import all_by_spark
from tidegate.demos import history, tides
from tidegate.demos.harbour import CUT_OFF, GAUGES, START, day
from tidegate.demos.tides import differing, early_answers, harbour_flow
from tidegate.errors import NotFound
from tidegate.spec import DT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_day_is_the_same_for_the_same_seed() -> None:
    """Nothing but the seed decides what is in a day."""
    assert day(5, hours=3) == day(5, hours=3)
    assert day(5, hours=3) != day(6, hours=3)


def test_reports_come_out_of_order_twice_and_late() -> None:
    """All that the story promises is there: disorder, stragglers, repeated reports, a silence, and a lost clock."""
    drawn = day()
    timed = [(report.ts, report) for report in drawn.levels if report.ts is not None]
    assert [report.arrived for _, report in timed] == sorted(report.arrived for _, report in timed)
    assert [ts for ts, _ in timed] != sorted(ts for ts, _ in timed)
    assert max(report.arrived - ts for ts, report in timed) > timedelta(hours=2)
    assert max(Counter((report.gauge, report.number) for report in drawn.levels).values()) == 2
    assert len(timed) < len(drawn.levels)
    name, since, until = CUT_OFF
    silent = [r for ts, r in timed if r.gauge == name and since <= ts - START < until]
    assert silent
    assert all(report.arrived >= START + until for report in silent)


def test_answering_early_is_wrong() -> None:
    """Answering an hour when the next begins gets many answers wrong, but not all."""
    wrong, total = early_answers(day())
    assert total == 24 * len(GAUGES)
    assert total / 4 < wrong < total


@pytest.mark.spark
def test_the_flow_gives_what_the_specification_gives(spark: SparkSession) -> None:
    """On a short day, all three results on Spark are those of the specification."""
    drawn, flow = day(3, hours=7, ships=20), harbour_flow()
    levels = [(r.ts, r.gauge, r.number, r.cm) for r in drawn.levels]
    passages = [(r.ts, r.gauge, r.ship, r.draught_cm) for r in drawn.passages]
    computed = all_by_spark(spark, flow, {"levels": levels, "passages": passages})
    names = {source.id: source.schema.names for source in flow.plan.sources}
    events = {
        name: [DT(row[0], dict(zip(names[name], row, strict=True))) for row in rows]
        for name, rows in {"levels": levels, "passages": passages}.items()
    }
    results = flow.reference(events)
    for sink, rows in computed.items():
        assert rows
        assert sorted(map(str, rows)) == sorted(str(tuple(row.values())) for row in results.rows(sink))


def shown(demo: ModuleType, spark: SparkSession) -> str:
    file = io.StringIO()
    demo.show(Console(file=file, width=80), session=nullcontext(spark))
    lines = file.getvalue().split("\n")
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    return " ".join(file.getvalue().split())


@pytest.mark.spark
def test_the_story_of_the_harbour(spark: SparkSession) -> None:
    """It is shown in this process before Spark is started; then both have the same rows. It fits 80 columns."""
    file = io.StringIO()
    wrong, total = early_answers(day())

    @contextmanager
    def session() -> Iterator[SparkSession]:
        before = " ".join(file.getvalue().split())
        assert f"gets {wrong} of {total} answers wrong" in before
        assert "04:00 to 05:00 West Lock 60" in before
        assert "null time in ts" in before
        yield spark

    tides.show(Console(file=file, width=80), session=session())
    lines = file.getvalue().split("\n")
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    text = " ".join(file.getvalue().split())
    assert "All 152 rows of both were compared, and they are equal: 96 of hourly," in text
    assert re.search(r"local — \d+\.\d\d s Spark \d+\.\d\d s \d+\.\d\d s", text)


def test_rows_that_differ_are_found() -> None:
    """As multisets: a row that is missing, changed or there twice; not one in another place, or in another zone."""
    utc, tokyo = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    rows = [{"t": utc, "w": {"a": 1}}, {"t": utc, "w": {"a": 2}}]
    assert differing({"x": rows}, {"x": [{"t": tokyo, "w": {"a": 2}}, rows[0]]}) == []
    for others in (rows[:1], [*rows, rows[0]], [rows[0], {"t": utc, "w": {"a": 3}}]):
        assert differing({"x": rows, "y": []}, {"x": others, "y": []}) == ["x"]


def git(directory: Path, *arguments: str, written: int = 0, committed: int = 0) -> None:
    dates = {"GIT_AUTHOR_DATE": f"@{written} +0000", "GIT_COMMITTER_DATE": f"@{committed} +0000"}
    who = {f"GIT_{role}_{what}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["git", *arguments], cwd=directory, check=True, capture_output=True, env=dates | who | {"PATH": PATH}
    )


PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two commits, the second written first."""
    git(tmp_path, "init", "-q")
    for written, committed in ((7 * 86400, 8 * 86400), (86400, 9 * 86400)):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", "change", written=written, committed=committed)
    return tmp_path


def test_a_history_has_two_clocks(repository: Path) -> None:
    """Commits are read with both of their times, newest first."""
    found = history.commits(repository)
    assert [c.written.day for c in found] == [2, 8]
    assert [c.committed.day for c in found] == [10, 9]
    assert history.period([c.committed for c in found]) == timedelta(hours=3)


def test_a_directory_without_a_history(tmp_path: Path) -> None:
    """Outside of a repository, and in one without commits, the demo says so."""
    with pytest.raises(NotFound, match="inside of a git repository"):
        history.commits(tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(NotFound, match="with a history"):
        history.commits(tmp_path)


def test_the_demo_says_so_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a repository the demo ends with a word, before it starts Spark."""
    monkeypatch.chdir(tmp_path)
    file = io.StringIO()
    with pytest.raises(SystemExit):
        history.show(Console(file=file, width=100))
    assert "hint: change to a repository of yours" in file.getvalue()


@pytest.mark.spark
def test_the_story_of_a_history(spark: SparkSession, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo of a repository shows the change that waited longest, and fits a terminal."""
    monkeypatch.chdir(repository)
    assert "1970-01-02 00:00 1970-01-10 00:00 8 days" in shown(history, spark)


@pytest.mark.spark
def test_what_was_known_depends_on_both_clocks(spark: SparkSession, repository: Path) -> None:
    """By the 7th, one change was written; on the 8th the history knew none of it, on the 9th it did."""
    flow = history.history_flow(timedelta(days=1))
    rows = [
        (c.written.replace(tzinfo=None), c.committed.replace(tzinfo=None), c.author)
        for c in history.commits(repository)
    ]
    known = {(w.day, c.day): n for w, c, n in all_by_spark(spark, flow, {"changes": rows})["known"]}
    assert known == {(2, 10): 1, (8, 9): 1}
