"""Runs that are taken for dead and live: whatever point of a step they are at, every row comes out once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from tests.spark.engine import frame, rows
from tests.spark.steps import Cuts, engine_in

import tidegate as tg
from tidegate.engine.commits.commit import Commit, write_commit
from tidegate.engine.steps import cleaning
from tidegate.engine.steps import running as running_module
from tidegate.engine.steps.recovery import RECOVERY
from tidegate.engine.steps.step import POINTS
from tidegate.engine.storage import lock as lock_module
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointClosed, Superseded
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Lock
from tidegate.flow.plan import Plan
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.sources import united

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CUTS: Cuts = [
    {"s": [(1, "a", 1), (2, "b", 2), (2, "a", 3)]},
    {"s": [(0, "b", 7), (2, "a", 4), (5, "a", 6), (None, "a", 0)]},
]
#: One more point: the run has seen that it holds its lock, and the next thing that it does is the commit.
CHECKED = "checked"


def flow() -> Plan:
    found = tg.Flow("replaced")
    source = found.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(1))
    found.sink("totals", source.accumulate(by="k", total="sum(x)"))
    return found.plan


class Runs:
    """Runs on one checkpoint, in one process: a run is an engine and its lock."""

    def __init__(self, spark: SparkSession, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spark = spark
        self.directory = directory
        self._monkeypatch = monkeypatch
        self._locks: list[Lock] = []

    def end(self) -> None:
        for lock in self._locks:
            lock.release()

    def lock(self) -> Lock:
        """Take the lock as a run of a host of its own, whoever has it: that one is taken for dead."""
        files = Files(self.directory / "checkpoint")
        for path in (self.directory / "checkpoint" / "locks").glob("*"):
            os.utime(path, (time.time() - 86_400, time.time() - 86_400))
        found = Lock(files)
        with self._monkeypatch.context() as patched:
            patched.setattr(lock_module, "_here", lambda: {"host": f"host-{id(found)}", "process": 1})
            found.acquire()
        self._locks.append(found)
        return found

    def start(self, lock: Lock, probe: Callable[[str, int], None] = lambda point, step: None) -> SparkEngine | None:
        """An engine on the checkpoint; None if all is complete."""
        try:
            return engine_in(self.spark, flow(), {}, self.directory, lock=lock, probe=probe)
        except CheckpointClosed:
            return None

    def go_on(self, engine: SparkEngine | None, *, until: int = len(CUTS), ended: bool = True) -> None:
        """Run the steps that are due, and the end of the input."""
        if engine is None:
            return
        done = engine.last.step + 1 if engine.last else 0
        for number in range(done, until):
            self.step(engine, number)
        if ended:
            engine.finish()

    def step(self, engine: SparkEngine, number: int) -> None:
        plan = engine.flow
        batch = frame(self.spark, plan.sources[0].schema, CUTS[number]["s"])
        engine.step(united(plan, spark_runtime(self.spark), {"s": batch}), number)

    def result(self) -> dict[str, list[Any]]:
        """What is in the output, and the late rows."""
        late = self.spark.read.parquet(str(self.directory / "checkpoint" / "late" / "s"))
        return {
            "rows": sorted(rows(tg.read(self.spark, str(self.directory / "totals"))), key=str),
            "late": sorted((row.step, row.reason, *row.row) for row in late.select("step", "reason", "row").collect()),
        }


EXPECTED = {
    "rows": [(1, "a", 1), (2, "a", 8), (2, "b", 2), (5, "a", 14)],
    "late": [(1, "late", 0, "b", 7), (1, "null time in t", None, "a", 0)],
}


def test_the_output_is_that_of_the_specification() -> None:
    """What the runs below are compared with: the specification's answers to the rows that are on time."""
    on_time = [row for cut in CUTS for row in cut["s"] if row not in [(None, "a", 0), (0, "b", 7)]]
    totals = {(t, k): sum(x for u, j, x in on_time if j == k and u <= t) for t, k, _ in on_time}
    assert EXPECTED["rows"] == sorted(((t, k, total) for (t, k), total in totals.items()), key=str)


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    """An empty place for runs; their heartbeats stop after the test."""
    found = Runs(spark, tmp_path, monkeypatch)
    yield found
    found.end()


def take_over(runs: Runs, point: str, *, whole: bool) -> BaseException | None:
    """Let a run come to a point of step 1, and another replace it there; return what the first one failed with.

    While the first one stands still, the second recovers and, if ``whole``, runs to the end; else it goes on when the
    first one has stopped.
    """
    second: list[SparkEngine | None] = []

    def probe(at: str, step: int) -> None:
        if (at, step) == (point, 1) and not second:
            second.append(runs.start(runs.lock()))
            if whole:
                runs.go_on(second[0])

    def write(files: Files, plan: Plan, commit: Commit, **options: Any) -> Commit:
        probe(CHECKED, commit.step)
        return write_commit(files, plan, commit, **options)

    first = runs.start(runs.lock(), probe)
    assert first is not None
    failure = None
    try:
        with patch.object(running_module, "write_commit", write):
            runs.go_on(first)
    except Exception as error:
        failure = error
    assert second, failure
    if not whole:
        runs.go_on(second[0])
    return failure


#: The points around the commit; `make check` takes all.
SOON = ("during commit", CHECKED)


@pytest.mark.parametrize(
    "point", [p if p in SOON else pytest.param(p, marks=pytest.mark.slow) for p in (*POINTS, CHECKED)]
)
def test_a_run_that_is_replaced_at_a_point_stops_and_every_row_comes_once(runs: Runs, point: str) -> None:
    """At every named point of a step: it has committed before, or never will; and it says who has replaced it."""
    failure = take_over(runs, point, whole=False)
    assert isinstance(failure, Superseded)
    assert "taken for dead: process 1 on host-" in str(failure)
    assert runs.result() == EXPECTED


@pytest.mark.parametrize("point", [p if p == "writing" else pytest.param(p, marks=pytest.mark.slow) for p in POINTS])
def test_a_run_that_sleeps_at_a_point_while_another_ends_its_work_changes_nothing(runs: Runs, point: str) -> None:
    """What it was about to read is gone, what it was about to commit is taken, what it was to publish is published."""
    failure = take_over(runs, point, whole=True)
    assert isinstance(failure, Superseded)
    assert runs.result() == EXPECTED


@pytest.mark.parametrize("point", RECOVERY)
def test_a_run_that_is_replaced_while_it_recovers_deletes_nothing_of_the_other(runs: Runs, point: str) -> None:
    """It sweeps when the other has committed and goes on: the states of both are told apart."""
    recover_late(runs, point)
    assert runs.result() == EXPECTED


def recover_late(runs: Runs, point: str) -> None:
    lock = runs.lock()
    runs.go_on(runs.start(lock), until=1, ended=False)
    lock.release()
    second: list[SparkEngine | None] = []

    def probe(at: str, step: int) -> None:
        if at == point and not second:
            second.append(runs.start(runs.lock()))
            runs.go_on(second[0], ended=False)

    with pytest.raises(Superseded):
        runs.go_on(runs.start(runs.lock(), probe))
    runs.go_on(second[0])


def _no_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock alone: who looks at it and then commits may have lost it between."""
    monkeypatch.setattr(lock_module, "write_fence", lambda files, token: None)


def _late_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep before the fence: the other commits what is swept."""
    late: list[Any] = []
    real = lock_module.write_fence
    monkeypatch.setattr(lock_module, "write_fence", lambda *given: late.append(given))
    step = SparkEngine.run_batch

    def run(self: SparkEngine, *given: Any, **options: Any) -> None:
        while late and late[0][1] == self._token:
            real(*late.pop(0))
        step(self, *given, **options)

    monkeypatch.setattr(SparkEngine, "run_batch", run)


@pytest.mark.parametrize("mutant", [_no_fence, _late_fence])
def test_without_the_fence_in_time_a_run_that_was_replaced_commits(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, mutant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """The commit of a run that has looked at its lock just before gets through, and the other fails."""
    mutant(monkeypatch)
    with pytest.raises((Superseded, BadCheckpoint)):
        take_over(runs, CHECKED, whole=False)


def test_a_sweep_of_everything_that_is_not_named_is_caught(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was replaced would delete the state of the other."""

    def sweep(files: Files, directory: str, lock: int, **options: Any) -> None:
        for name in files.names(directory):
            if f"{directory}/{name}" not in options.get("named", ()):
                files.delete(f"{directory}/{name}")

    monkeypatch.setattr(cleaning, "sweep_attempts", sweep)
    with pytest.raises(Exception, match=r"PATH_NOT_FOUND|does not exist|expected"):
        recover_late(runs, "sweeping")
