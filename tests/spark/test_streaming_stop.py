"""Stopping a run in the middle of a step: it is quiet, the step ends or is cancelled, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.spark.place import DDL, Place

import tidegate as tg
from tidegate.engine.storage.errors import RunStopped
from tidegate.spark.streaming import start

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


def counted() -> tg.Flow:
    """A flow that answers with two rows for each file."""
    flow = tg.Flow("counted")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.aggregate(by="k", n="count(*)"))
    return flow


def started(place: Place, writing: Callable[[], object]) -> tg.Run:
    """Start the flow; each step calls ``writing`` before its first job."""

    def probe(point: str, step: int) -> None:
        if point == "writing":
            writing()

    inputs, outputs = {"s": place.feed.stream(place.spark)}, {"out": tg.parquet(str(place.path / "out"))}
    return start(counted().plan, place.spark, inputs, outputs, str(place.path / "checkpoint"), probe=probe)


def fill(place: Place, files: int) -> None:
    for i in range(files):
        place.feed.add((i, "a", i), (i, "b", i))


def expected(files: int) -> list[tuple[Any, ...]]:
    return [(i, k, 1) for i in range(files) for k in "ab"]


@pytest.mark.slow
def test_a_step_that_is_running_ends_and_no_other_begins(place: Place) -> None:
    """`stop` waits for the step, which is committed and published, and answers so; the next start goes on after it."""
    fill(place, 4)
    at, go_on = Event(), Event()

    def writing() -> None:
        at.set()
        go_on.wait(60)

    run = started(place, writing)
    assert at.wait(120)
    answers: list[bool] = []
    stopping = Thread(target=lambda: answers.append(run.stop(None)))
    stopping.start()
    stopping.join(0.2)
    assert stopping.is_alive()
    go_on.set()
    stopping.join(120)
    assert (answers, run.status().state, run.status().step, run.status().failure) == ([True], "stopped", 0, "")
    assert run.await_termination()
    again = place.start(counted(), trigger={"processingTime": "0 seconds"})
    again.finish()
    assert place.rows() == expected(4)


def test_a_step_that_takes_too_long_is_cancelled(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """`stop` answers that it was not waited for, and logs it; nothing of it is committed, and nothing is lost."""
    fill(place, 3)
    run = started(place, lambda: place.spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 60000L)").collect())
    tracker, deadline = place.spark.sparkContext.statusTracker(), time.monotonic() + 120
    while not tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert run.stop(0) is False
    assert (run.status().state, run.status().step) == ("stopped", None)
    assert "the running step was cancelled after 0 s" in caplog.text
    run.await_termination()
    place.start(counted(), trigger={"processingTime": "0 seconds"}).finish()
    assert place.rows() == expected(3)


def at_end() -> tg.Flow:
    """A flow that answers when its input has ended."""
    flow = tg.Flow("counted")
    flow.sink("out", flow.source("s", DDL, time="t").aggregate(by="k", n="count(*)"))
    return flow


@pytest.mark.parametrize("point", ["writing", "published"])
def test_a_query_that_is_stopped_from_outside_has_not_ended(place: Place, point: str) -> None:
    """In the middle of a step or between two, Spark's own stop is no end of the input: the next start reads on."""
    fill(place, 3)
    queries: list[Any] = []

    def probe(at: str, step: int) -> None:
        if (at, step) == (point, 1):
            Thread(target=queries[0].stop).start()
            time.sleep(0.5)

    inputs, outputs = {"s": place.feed.stream(place.spark)}, {"out": tg.parquet(str(place.path / "out"))}
    options = {"trigger": {"availableNow": True}, "probe": probe}
    run = start(at_end().plan, place.spark, inputs, outputs, str(place.path / "checkpoint"), **options)
    queries.append(run.query)
    try:
        run.await_termination()
    except tg.TidegateError:
        assert point == "writing"
    assert run.status().state in ("stopped", "failed")
    assert place.rows() == []
    again = place.start(at_end(), trigger={"availableNow": True})
    assert again.await_termination()
    assert again.status().state == "ended"
    assert place.rows() == expected(3)


def test_a_run_that_was_stopped_cannot_end_its_input(place: Place) -> None:
    """`finish` says so, instead of returning as if everything were complete."""
    fill(place, 1)
    run = place.start(counted(), trigger={"processingTime": "0 seconds"})
    run.query.processAllAvailable()
    assert run.stop()
    with pytest.raises(
        RunStopped, match="got one that was stopped\n  at: flow 'counted'\n  hint: start the flow again"
    ):
        run.finish()


def test_a_query_that_ends_by_itself_can_be_finished(place: Place) -> None:
    """With ``availableNow`` the query may be over before `finish` is; what it read is the input."""
    fill(place, 2)
    run = place.start(counted(), trigger={"availableNow": True})
    run.finish()
    assert run.status().state == "ended"
    assert place.rows() == expected(2)


def stopped_eight_times(directory: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """Run `tests.spark.stops` in a process of its own; return what it says, and what was printed while it stopped."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "tests.spark.stops", str(directory), *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-3000:]
    _, _, printed = run.stderr.partition("ready\n")
    return json.loads(run.stdout.splitlines()[-1]), printed


@pytest.mark.slow
def test_stopping_is_quiet(tmp_path: Path) -> None:
    """Eight stops in the middle of steps print nothing, each lets its step end, and the next start goes on after it."""
    found, printed = stopped_eight_times(tmp_path)
    assert printed == ""
    assert found["ended"] == [True] * 8
    assert [tuple(row) for row in found["rows"]] == expected(found["files"])


@pytest.mark.slow
def test_a_stop_that_only_interrupts_is_heard(tmp_path: Path) -> None:
    """Spark's own way to stop, in the middle of a step, prints a stack overflow: the test above would notice it."""
    found, printed = stopped_eight_times(tmp_path, "interrupt")
    assert "StackOverflowError" in printed
    assert [tuple(row) for row in found["rows"]] == expected(found["files"])
