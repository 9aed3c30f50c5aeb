"""What can be asked of a run on local streams, how it is stopped, and what it refuses."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import DDL, counts
from tidegate.engine.storage.errors import (
    BadCheckpoint,
    CheckpointInUse,
    FlowChanged,
    LateRow,
    RunFailed,
    RunStopped,
)
from tidegate.flow.errors import BadArgument
from tidegate.local_engine.streaming.start import start
from tidegate.time import BOTTOM, Antichain, Int, ZMultiset


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of its own."""
    return Place(tmp_path)


def test_late_and_rejected_rows_can_be_read(place: Place) -> None:
    """With the reason, the bound that they missed, and the row; also of a run that has ended."""
    place.feed.add((10, "a", 1), (None, "b", 2))
    place.feed.add((1, "c", 3))
    run = place.run(counts())
    assert run.status().late == {"s": 1}
    assert run.status().rejected == {"s": 1}
    (late,) = run.late("s").fetchall()
    assert late == ({"t": 1}, "s", 1, "late", "8", {"t": 1, "k": "c", "x": 3})
    (rejected,) = run.rejected("s").fetchall()
    assert rejected[3:] == ("null time in t", None, {"t": None, "k": "b", "x": 2})
    with pytest.raises(BadArgument, match="did you mean s"):
        run.late("S")
    place.feed.add((2, "a", 1))
    with pytest.raises(LateRow, match="expected no row of s below 8, got 1"):
        place.run(counts(late="fail"))


def test_why_and_frontiers(place: Place) -> None:
    """What holds a time back, in the words of the source."""
    place.feed.add((10, "a", 1))
    run = place.run(counts())
    assert run.status().frontiers == {"out": "8"}
    (reason,) = run.why(9)
    assert "s" in str(reason)
    assert run.why(7) == []


def test_what_a_step_completes_is_told_when_it_can_be_read(tmp_path: Path) -> None:
    """While a step runs, nothing of what it completes is called complete; after it is published, all is."""
    flow = tg.Flow("told")
    flow.sink("out", flow.source("s", "t INT, x INT", time="t", watermark=tg.bounded(1)).aggregate(n="count(*)"))
    there, seen, runs = Event(), {}, list[tg.Run]()

    def probe(point: str, step: int) -> None:
        assert there.wait(30)
        seen.setdefault(point, (set(runs[0].frontiers()["out"]), bool(runs[0].why(5))))

    tables = iter([pa.table({"t": pa.array([10], pa.int32()), "x": pa.array([1], pa.int32())})])
    outputs = {"out": tg.parquet(tmp_path / "out")}
    run = start(flow.plan, tg.local(), {"s": tables}, outputs, tmp_path / "checkpoint", probe=probe)
    runs.append(run)
    there.set()
    run.await_termination(60)
    assert seen["before commit"] == ({BOTTOM}, True)
    assert seen["published"] == ({9}, False)
    assert run.frontiers()["out"] == Antichain(Int(), [])


def test_a_step_that_fails_in_a_loop_leaves_the_tracker_where_the_last_commit_is(tmp_path: Path) -> None:
    """Nothing of the round that it was in holds a time back, nor is a reason for anything."""
    flow = tg.Flow("rounds")
    edges = flow.source("s", "t INT, x INT, y INT", time="t", watermark=tg.bounded(1))
    step = "SELECT e.y AS node, k.label FROM known k JOIN input e ON e.x = k.node"
    begin = "SELECT x AS node, x AS label FROM input"
    flow.sink("out", edges.iterate(start=begin, step=step, key="node", keep="min(label) AS label"))
    seen: list[int] = []

    def probe(point: str, step: int) -> None:
        if point == "round":
            seen.append(step)
            raise RuntimeError("in a round")

    rows = {"t": [5, 5, 9], "x": [1, 2, 3], "y": [2, 3, 4]}
    tables = iter([pa.table({name: pa.array(values, pa.int32()) for name, values in rows.items()})])
    outputs = {"out": tg.parquet(tmp_path / "out")}
    run = start(flow.plan, tg.local(), {"s": tables}, outputs, tmp_path / "checkpoint", probe=probe)
    with pytest.raises(tg.TidegateError):
        run.await_termination(60)
    assert seen
    tracker = run.running.tracking.progress
    held = {l: tracker.pointstamps(l) for l in tracker.graph.locations if len(tracker.pointstamps(l))}
    assert held == {source.id: ZMultiset({BOTTOM: 1}) for source in flow.plan.sources}
    assert run.frontiers()["out"] == Antichain(Int(), [BOTTOM])


def test_a_run_can_be_stopped_and_used_in_a_block(place: Place) -> None:
    """A block stops it; what it fails with is there to be asked."""
    place.feed.add((1, "a", 1))
    with place.start(counts(), trigger={"processingTime": "10 milliseconds"}) as run:
        assert run.is_active
    assert not run.is_active
    assert run.exception() is None
    assert run.status().state == "stopped"
    with pytest.raises(RunStopped):
        run.finish()


def test_a_step_that_takes_too_long_is_cancelled_and_run_again(place: Place) -> None:
    """Nothing of it is committed."""
    flow = tg.Flow("long")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.with_columns(n="aggregate(sequence(0, x), 0L, (a, b) -> a + b)"))
    place.feed.add(*((n, "a", 3_000_000) for n in range(100)))
    run = place.start(flow, trigger=None)
    time.sleep(0.2)
    if run.stop(0):
        pytest.skip("the step was faster")
    assert run.exception() is None
    assert run.status().step is None


def test_two_runs_on_one_checkpoint(place: Place) -> None:
    """The second is refused, as long as the first lives."""
    place.feed.add((1, "a", 1))
    run = place.start(counts(), trigger=None)
    with pytest.raises(CheckpointInUse):
        place.start(counts())
    run.stop()
    place.run(counts())


def test_an_expression_that_fails_is_told_with_operator_and_step(place: Place) -> None:
    """And the step is run again by the next start, when the rows are what they should be."""
    flow = tg.Flow("failing")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.with_columns(y="10 DIV x").aggregate(by="k", y="sum(y)"))
    place.feed.add((1, "a", 0))
    with pytest.raises(RunFailed) as caught:
        place.run(flow)
    assert "step 0" in caught.value.places
    assert "flow 'failing'" in caught.value.places
    assert "nothing of this step is committed" in caught.value.hint
    assert caught.value.what == "an expression failed: division by zero"
    assert "try_divide" in caught.value.hint


def test_triggers(place: Place) -> None:
    """Those of Spark that make sense here; others are refused."""
    for given, says in (
        ({"continuous": "1 second"}, "unknown trigger 'continuous'"),
        ({"availableNow": False}, "expected True"),
        ({"processingTime": "soon"}, "processingTime"),
        ("1 second", "expected trigger as a mapping"),
    ):
        with pytest.raises(BadArgument, match=says):
            place.start(counts(), trigger=given)
    place.feed.add((1, "a", 1))
    place.feed.add((9, "a", 1))
    assert [step["rows"] for step in place.run(counts(), trigger={"once": True}).metrics()] == [{"s": 2}]


def test_a_changed_flow_is_refused(place: Place) -> None:
    """State means what it meant."""
    place.feed.add((1, "a", 1))
    place.run(counts())
    flow = tg.Flow("counts")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(2))
    flow.sink("out", rows.aggregate(by="x", n="count(*)"))
    with pytest.raises(FlowChanged, match="there is state of"):
        place.start(flow)


def test_another_time_zone_is_refused(place: Place) -> None:
    """Times that are read without a zone would be other times than those of the state."""

    def hours(zone: str) -> tg.Flow:
        flow = tg.Flow("hours", timezone=zone)
        rows = flow.source("s", "t TIMESTAMP, k STRING, x INT", time="t", watermark=tg.bounded("2 seconds"))
        flow.sink("out", rows.window("1 hour").aggregate(by="k", n="count(*)"))
        return flow

    def added(minute: int) -> pa.Table:
        return pa.table(
            {
                "t": pa.array([minute * 60_000_000], pa.timestamp("us", tz="UTC")),
                "k": ["a"],
                "x": pa.array([1], pa.int32()),
            }
        )

    place.run(hours("Europe/Copenhagen"), inputs={"s": lambda _: iter([added(1)])})
    with pytest.raises(FlowChanged, match="in the zone Europe/Copenhagen, and now are in Asia/Tokyo"):
        place.start(hours("Asia/Tokyo"), inputs={"s": lambda _: iter([added(1), added(2)])})


def test_damaged_state_is_not_answered_from(place: Place) -> None:
    """A part that was cut short is told, and nothing is answered."""
    place.feed.add((10, "a", 1))
    place.run(counts())
    (part,) = (place.path / "checkpoint" / "state").glob("aggregate*/0/*/*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(BadCheckpoint, match=r"the state in .* is not what was written"):
        place.start(counts())
