"""Published frontiers: flows that read each other's output, across applications, give what one flow gives."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.place import DDL, Place
from tests.spark.steps import engine_in
from tests.spark.test_streaming_crashes import Died, Killer

import tidegate as tg
from tidegate.cli.streaming import _checked_stream, _stream_of_files
from tidegate.engine.frontiers import start_of
from tidegate.engine.storage.dataclass_json import as_object, from_object
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointClosed
from tidegate.engine.storage.published import Following, Outlet, Promise
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Column, parse_schema
from tidegate.spark.arrow import struct_type
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united
from tidegate.time import Antichain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: For each step of the flow that publishes: how many rows it gave, and whether its frontier moved.
STEPS = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6)


def promises_of(steps: list[tuple[int, bool]]) -> list[Promise]:
    """What the flow publishes."""
    return [
        Promise(step, sum(rows for rows, _ in steps[: step + 1]), ((step,),))
        for step, (_, moved) in enumerate(steps)
        if moved
    ]


def followed(steps: list[tuple[int, bool]], rng: Any, kind: type[Following]) -> str:
    """Read rows and promises in any order, in batches of any size; return what went wrong, or nothing."""
    events: list[int | Promise] = [step for step, (rows, _) in enumerate(steps) for _ in range(rows)]
    events += promises_of(steps)
    rng.shuffle(events)
    here, read, applied = kind(), dict.fromkeys(range(len(steps)), 0), -1
    while events:
        cut = rng.randint(1, len(events))
        batch, events = events[:cut], events[cut:]
        counts = {s: batch.count(s) for s in batch if isinstance(s, int)}
        read = {step: n + counts.get(step, 0) for step, n in read.items()}
        here, promise = here.after(counts, [p for p in batch if isinstance(p, Promise)])
        here = from_object(kind, json.loads(json.dumps(as_object(here))))
        if promise is not None:
            applied = promise.step
            if any(read[step] < steps[step][0] for step in range(applied + 1)):
                return f"the promise of step {applied} was applied ahead of its rows"
    last = max((promise.step for promise in promises_of(steps)), default=-1)
    return "" if applied == last else f"the promise of step {last} was not applied"


@given(STEPS, st.randoms(use_true_random=False))
def test_no_promise_is_applied_ahead_of_its_rows(steps: list[tuple[int, bool]], rng: Any) -> None:
    """Whatever order rows and promises are listed in, and wherever batches are cut; in the end the last one holds."""
    assert followed(steps, rng, Following) == ""


class _AtOnce(Following):
    """A frontier is applied in the batch that it is read in."""

    def after(self, read: Any, promises: Any) -> Any:
        found = max(promises, key=lambda promise: promise.step, default=None)
        return self, found


class _NextBatch(Following):
    """A frontier is applied in the batch after the one that it is read in."""

    def after(self, read: Any, promises: Any) -> Any:
        ready = max(self.waiting, key=lambda promise: promise.step, default=None)
        return _NextBatch(waiting=tuple(promises)), ready


class _InAll(Following):
    """A frontier is applied when as many rows were read, of whichever steps."""

    def after(self, read: Any, promises: Any) -> Any:
        rows, waiting = self.rows + sum(read.values()), (*self.waiting, *promises)
        ready = [promise for promise in waiting if promise.rows <= rows]
        left = tuple(promise for promise in waiting if promise not in ready)
        found = max(ready, key=lambda promise: promise.step, default=None)
        return _InAll(rows=rows, waiting=left), found


@pytest.mark.parametrize("mutant", [_AtOnce, _NextBatch, _InAll])
def test_followers_that_do_not_wait_are_caught(mutant: type[Following]) -> None:
    """Each simpler rule applies some promise too early."""
    found: list[str] = []

    @given(STEPS, st.randoms(use_true_random=False))
    def check_all(steps: list[tuple[int, bool]], rng: Any) -> None:
        found.append(followed(steps, rng, mutant))

    check_all()
    assert any("ahead of its rows" in text for text in found)


def test_rows_that_nobody_promised_are_an_error() -> None:
    """More rows than a step had were written by someone else, or read twice."""
    with pytest.raises(BadInput, match="expected 2 rows up to step 0 of a published output, got 3"):
        Following().after({0: 3}, [Promise(0, 2, ((1,),))])


def test_a_promise_that_was_changed_is_not_kept() -> None:
    """A frontier with another bit would complete what is not complete; earlier versions wrote no checksum."""
    line = Promise(4, 17, ((30,),)).line
    assert line.count("\n") == 1
    assert (
        Promise.parse(line) == Promise.parse('{"step": 4, "rows": 17, "frontier": [[30]]}') == Promise(4, 17, ((30,),))
    )
    with pytest.raises(BadInput, match="expected a frontier that a flow has published"):
        Promise.parse(line.replace("30", "70"))


def test_an_outlet_promises_what_moves_and_takes_nothing_back() -> None:
    """Steps without a move add rows only; a frontier that goes back is not published."""
    schema = parse_schema("t INT", time=("t",))
    at = [Antichain(schema.order, [t]) for t in range(5)]
    outlet = Outlet("out").after(0, 3, schema, start_of(schema))
    assert (outlet.rows, outlet.step) == (3, -1)
    outlet = outlet.after(1, 2, schema, at[2])
    assert outlet.promise == Promise(1, 5, ((2,),))
    assert outlet.after(2, 1, schema, at[2]) == Outlet("out", 6, ((2,),), 1)
    assert outlet.after(2, 1, schema, at[1]).step == 1
    ended = outlet.after(2, 0, schema, Antichain(schema.order, []))
    assert (ended.frontier, ended.step) == ((), 2)
    assert from_object(Outlet, json.loads(json.dumps(as_object(ended)))) == ended


def first(flow: tg.Flow) -> tg.Stream:
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(2))
    return rows.window(4, every=2).aggregate(by="k", n="count(*)", x="max(x)")


def second(rows: tg.Stream) -> tg.Stream:
    return rows.where("n > 0").accumulate(by="k", most="max(n)", sum="sum(x)")


def upstream() -> tg.Flow:
    flow = tg.Flow("upstream")
    flow.sink("counts", first(flow))
    return flow


def downstream(path: str) -> tg.Flow:
    flow = tg.Flow("downstream")
    columns = "t INT, `window` STRUCT<start: INT, end: INT>, k STRING, n BIGINT, x INT"
    flow.sink("out", second(flow.source("counts", columns, time="t", watermark=tg.published(path))))
    return flow


class Reader:
    """The second flow, with a checkpoint and an output of its own, which reads one file a step."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.path = str(place.path / "counts")

    def run(self) -> tg.Run:
        rows = tg.read_stream(self.place.spark, self.path, maxFilesPerTrigger="1")
        outputs = {"out": tg.parquet(str(self.place.path / "out"))}
        checkpoint = str(self.place.path / "checkpoint2")
        options: dict[str, Any] = {"trigger": {"availableNow": True}}
        run = downstream(self.path).start(self.place.spark, {"counts": rows}, outputs, checkpoint, **options)
        run.await_termination(120)
        return run


@pytest.mark.slow
@pytest.mark.spark
def test_two_flows_give_what_one_flow_gives(place: Place) -> None:
    """Promises are read long before their rows, run by run; and the end of the one is the end of the other."""
    reader = Reader(place)
    place.feed.add((1, "a", 1), (3, "b", 2), (6, "a", 3))
    place.feed.add((6, "a", 5), (9, "b", 4))
    place.run(upstream())
    between = reader.run()
    assert between.status().state == "stopped"
    assert between.status().late == {"counts": 0}
    place.feed.add((8, "b", 4), (13, "a", 1))
    run = place.start(upstream(), trigger={"processingTime": "0 seconds"})
    run.finish()
    ended = reader.run().status()
    assert (ended.state, ended.late) == ("ended", {"counts": 0})
    found = place.rows()
    whole = tg.Flow("whole")
    whole.sink("whole", second(first(whole)))
    rows = place.spark.read.schema(DDL).parquet(str(place.feed.path))
    assert found == sorted(tuple(row) for row in whole.compute(place.spark, {"s": rows})["whole"].collect())
    assert len(found) > 6
    with pytest.raises(CheckpointClosed):
        reader.run()


@pytest.mark.slow
@pytest.mark.spark
def test_the_last_rows_are_handed_over_however_long_it_takes(place: Place) -> None:
    """A flow whose input has ended stops once all is published: not while rows are on their way to a function."""
    place.feed.add((1, "a", 1), (3, "b", 2), (6, "a", 3))
    place.start(upstream(), trigger={"processingTime": "0 seconds"}).finish()
    path, found = str(place.path / "counts"), []

    def deliver(rows: Any, step: int) -> None:
        # A job that outlasts more than one look of the run at whether all is complete.
        rows.rdd.coalesce(1).foreachPartition(lambda part: time.sleep(2.5))
        found.extend((step, *row) for row in rows.collect())

    rows = tg.read_stream(place.spark, path)
    outputs = {"out": tg.foreach(deliver)}
    run = downstream(path).start(place.spark, {"counts": rows}, outputs, str(place.path / "checkpoint2"))
    assert run.await_termination(120)
    assert run.status().state == "ended"
    assert len({row[1:] for row in found}) == len(found) == sum(step["outputs"]["out"] for step in run.metrics()) > 0


def _promises(place: Path) -> list[Promise]:
    found = [Promise.parse(path.read_text()) for path in (place / "counts" / "_frontier").glob("[0-9]*.json")]
    return sorted(found, key=lambda promise: promise.step)


@pytest.mark.spark
@pytest.mark.parametrize(
    "point",
    ["after commit", *(pytest.param(p, marks=pytest.mark.slow) for p in ("during commit", "publishing", "published"))],
)
def test_a_promise_is_published_once_whatever_point_a_run_dies_at(
    spark: SparkSession, tmp_path: Path, point: str
) -> None:
    """Before the commit there is none; after it, the next start publishes it."""
    plan: Plan = upstream().plan
    batch = united(plan, spark_runtime(spark), {"s": spark.createDataFrame([(1, "a", 1), (9, "b", 2)], DDL)})
    with pytest.raises(Died):
        engine_in(spark, plan, {}, tmp_path, probe=Killer(point, 0)).step(batch, 0)
    assert bool(_promises(tmp_path)) == (point == "published")
    engine_in(spark, plan, {}, tmp_path).step(batch, 0)
    assert _promises(tmp_path) == [Promise(0, 2, ((7,),))]


def behind(spark: SparkSession, directory: Path, probe: Any = lambda point, step: None) -> tuple[Any, ...]:
    """Follow a promise that is read one batch before the last of its rows; after a death, the batch comes once more."""
    plan = downstream("elsewhere").plan
    (source,) = plan.sources
    rows = [(1, (0, 2), "a", 1, 5, 0), (3, (2, 4), "a", 2, 6, 1), (3, (2, 4), "b", 1, 7, 1)]
    script = [(rows[:2], ['{"step": 1, "rows": 3, "frontier": [[5]]}']), (rows[2:], [])]
    engine, number = engine_in(spark, plan, {}, directory, probe=probe), 0
    while number < len(script):
        given, promises = script[number]
        frame = spark.createDataFrame(given, struct_type([*source.schema.columns, Column("__step", "BIGINT")]))
        signals = {"counts": spark.createDataFrame([(text,) for text in promises], "value STRING")}
        try:
            engine.step(united(plan, spark_runtime(spark), {"counts": frame}, signals), number)
            number += 1
        except Died:
            engine = engine_in(spark, plan, {}, directory, probe=probe)
    marks = engine.marks["counts"]
    return sorted(map(tuple, tg.read(spark, str(directory / "out")).collect())), marks.rows, marks.late, marks.frontier


@pytest.mark.spark
def test_rows_that_come_after_their_promise_are_on_time(spark: SparkSession, tmp_path: Path) -> None:
    """The batch with the last of them dies and comes once more."""
    killer = Killer("during commit", 1)
    answers, rows, late, frontier = behind(spark, tmp_path, killer)
    assert killer.done
    assert (rows, late, list(frontier)) == (3, 0, [5])
    assert answers == [(1, "a", 1, 5), (3, "a", 2, 11), (3, "b", 1, 7)]


@pytest.mark.slow
@pytest.mark.spark
def test_a_promise_that_is_applied_at_once_is_caught(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the batch that it is read in, its rows are not there yet: they would be late."""
    calm = behind(spark, tmp_path / "calm")
    monkeypatch.setattr(Following, "after", _AtOnce.after)
    assert behind(spark, tmp_path / "broken") != calm


@pytest.mark.spark
def test_what_is_no_published_output_is_refused(place: Place) -> None:
    """A stream without steps, other time columns, and a directory that no flow writes to."""
    path = str(place.path / "counts")
    with pytest.raises(BadCheckpoint, match="the output of a flow"):
        tg.read_stream(place.spark, path)
    place.feed.add((1, "a", 1))
    place.run(upstream())
    plan = downstream(path).plan
    kind = _checked_stream(plan, "counts", path)
    assert "__step" in _stream_of_files(place.spark, plan, "counts", path, kind).columns
    plain = {"counts": place.spark.readStream.schema(DDL).parquet(path)}
    outputs = {"out": tg.parquet(str(place.path / "out"))}
    with pytest.raises(BadInput, match="without __step"):
        downstream(path).start(place.spark, plain, outputs, str(place.path / "c"))
    other = tg.Flow("other")
    other.sink("out", other.source("counts", "t INT, n BIGINT", time="n", watermark=tg.published(path)))
    rows = {"counts": tg.read_stream(place.spark, path).select("t", "n", "__step")}
    with pytest.raises(BadInput, match="a frontier of times n BIGINT, got one of t INT"):
        other.start(place.spark, rows, outputs, str(place.path / "c"))
