"""What a failed step says: Spark's error as it is, the operator, the source, the step and the flow."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import ArithmeticException, PythonException
from tests.spark.engine import frame
from tests.spark.place import DDL, Place, counts
from tests.spark.steps import engine_in

import tidegate as tg
from tidegate.engine.steps import failures
from tidegate.engine.storage.errors import LateRow, RunFailed, SinkFailed
from tidegate.engine.storage.lock import Lock
from tidegate.flow.errors import BadArgument
from tidegate.spark.error_messages import describe_error
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Build = Callable[[tg.Stream, tg.Stream], tg.Stream]
#: In the second step, a row that cannot be divided by; then one that completes what is before it.
STEPS = [[(1, "a", 1), (2, "b", 2)], [(3, "a", 0), (4, "b", 1), (9, "c", 1)], [(20, "a", 1)]]


def broken(batch: Any) -> Any:
    if 0 in batch.column("x").to_pylist():
        raise ValueError("no zero\nplease")
    return batch


def narrow(batch: Any) -> Any:
    return batch.select(["t"])


def failure(spark: SparkSession, directory: Path, build: Build) -> RunFailed:
    """What the engine raises in one of the steps; ``build`` is given two sources, of which the first has rows."""
    flow = tg.Flow("errors")
    sources = [flow.source(name, DDL, time="t", watermark=tg.bounded(2)) for name in ("s", "other")]
    flow.sink("out", build(*sources))
    plan = flow.plan
    engine = engine_in(spark, plan, {}, directory)

    def run() -> None:
        for number, rows in enumerate(STEPS):
            rows_of = {"s": rows, "other": [(t, k, 7) for t, k, _ in rows]}
            given = {s.id: frame(spark, s.schema, rows_of[s.id]) for s in plan.sources}
            engine.step(united(plan, spark_runtime(spark), given), number)

    with pytest.raises(RunFailed) as caught:
        run()
    return caught.value


OPERATORS: list[tuple[Build, tuple[str, ...], str, str]] = [
    (lambda s, o: s.where("1 / x > 0").aggregate(by="k", n="count(*)"), ("where#1",), "  1 / x > 0\n  ^^^^^\n", "s"),
    (lambda s, o: s.aggregate(by="k", n="sum(10 / x)"), ("aggregate#1",), "  sum(10 / x)\n      ^^^^^^\n", "s"),
    (lambda s, o: s.aggregate(by="k", n="count(*) / sum(x)"), ("aggregate#1",), "\n  count(*) / sum(x)\n  at: ", "s"),
    (lambda s, o: s.accumulate(by="k", n="sum(7 % x)"), ("accumulate#1",), "  sum(7 % x)\n      ^^^^^\n", "s"),
    (
        lambda s, o: s.join(o.select("k", "x AS y"), on="k", where="10 / left.x > 0"),
        ("join#1",),
        "  10 / `left`.x > 0\n  ^^^^^^^^^^^^^\n",
        "",
    ),
    # The job is that of an operator with two sources; the expression is behind one of them.
    (
        lambda s, o: s.where("1 / x > 0").join(o.select("k", "x AS y"), on="k"),
        ("where#1",),
        "  1 / x > 0\n  ^^^^^\n",
        "s",
    ),
    (
        lambda s, o: s.where("1 / x > 0").select("k", "1 / x AS y", "x").where("x > 0"),
        ("where#1", "select#1"),
        "  1 / x",
        "s",
    ),
    # Spark names no expression here: it was one of those that ran.
    (
        lambda s, o: s.select("k", "IF(x = 0, raise_error('zero'), x) AS y").where("y > 0").gate(),
        ("select#1", "where#1", "gate#1"),
        "[USER_RAISED_EXCEPTION] zero\n",
        "s",
    ),
]  # fmt: skip


#: What an error is told with: an expression, a place in one, a side of a join, and all operators that it can have been.
QUICK = (0, 3, 4, 7)


@pytest.mark.parametrize(
    ("build", "operators", "text", "source"),
    [pytest.param(*case, marks=[] if i in QUICK else pytest.mark.slow) for i, case in enumerate(OPERATORS)],
)
def test_an_error_of_spark_names_the_operators(
    spark: SparkSession, tmp_path: Path, build: Build, operators: tuple[str, ...], text: str, source: str
) -> None:
    """The one whose expression failed, or all that it can have been; the only source of its rows, step and flow."""
    error = failure(spark, tmp_path, build)
    message = str(error)
    assert error.operators == operators, message
    assert text in message
    place = f"operator {operators[0]}" if len(operators) == 1 else f"one of the operators {', '.join(operators)}"
    sources = [f"a row of source {source!r}"] if source else []
    assert error.places == [place, *sources, f"step {error.step}", "flow 'errors'"], message
    assert "nothing of this step is committed" in error.hint
    assert error.__cause__ is not None
    assert type(error.__cause__).__module__.startswith(("pyspark", "py4j"))


def test_an_error_of_a_function_names_its_line(spark: SparkSession, tmp_path: Path) -> None:
    """The user's error, in one line, with the file and the line in the function, and not the frames of the engine."""
    error = failure(spark, tmp_path, lambda s, o: s.map_batches(broken, DDL).aggregate(by="k", n="count(*)"))
    line = broken.__code__.co_firstlineno + 2
    assert error.what == "a Python function failed: ValueError: no zero please"
    assert error.places[:2] == [f"{__file__}, line {line}, in broken", "operator map_batches#1"]
    assert (error.operators, error.step) == (("map_batches#1",), 1)
    assert isinstance(error.__cause__, PythonException)


def test_what_a_function_must_not_return_is_told_with_its_hint(spark: SparkSession, tmp_path: Path) -> None:
    """An error that the engine raises on a worker keeps its words and its hint."""
    error = failure(spark, tmp_path, lambda s, o: s.map_batches(narrow, DDL))
    assert error.what == "a Python function failed: BadResult: expected columns t, k, x from narrow, got t"
    assert error.hint.startswith("return what the schema says, or declare t int32; nothing of this step is committed")
    assert error.places == ["operator map_batches#1", "a row of source 's'", "step 0", "flow 'errors'"]


def test_a_run_tells_what_it_failed_with(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """`await_termination` raises it with Spark's error as its cause, `status` has it in a line, PySpark is quiet."""
    for rows in STEPS:
        place.feed.add(*rows)
    flow = tg.Flow("fails")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(2))
    flow.sink("out", rows.where("1 / x > 0").aggregate(by="k", n="count(*)"))
    run = place.start(flow)
    with pytest.raises(RunFailed) as caught:
        run.await_termination()
    assert isinstance(caught.value.__cause__, ArithmeticException)
    status = run.status()
    assert (status.state, status.step) == ("failed", 0)
    assert status.failure.startswith("Spark failed: [DIVIDE_BY_ZERO] Division by zero")
    assert status.failure.endswith("; operator where#1, a row of source 's', step 1, flow 'fails'")
    assert str(status).split("\n")[:2] == ["flow fails: failed, step 0", f"  {status.failure}"]
    assert "SQLQueryContextLogger" not in capsys.readouterr().err
    with pytest.raises(RunFailed, match="DIVIDE_BY_ZERO"):
        place.start(flow, trigger={"processingTime": "0 seconds"}).finish()


def test_what_the_engine_refuses_stays_what_it_is(place: Place) -> None:
    """A late row at a source that must not have any: its own class, with the step and the flow."""
    for rows in [[(9, "a", 1)], [(1, "a", 1)]]:
        place.feed.add(*rows)
    flow = tg.Flow("late")
    flow.sink("out", flow.source("s", DDL, time="t", watermark=tg.bounded(2), late="fail").gate())
    with pytest.raises(LateRow) as caught:
        place.run(flow)
    assert caught.value.places == ["step 1", "flow 'late'"]


def test_a_function_of_a_sink_that_fails_is_told_with_the_sink(place: Place) -> None:
    """The step is committed, its rows are kept, and the next start hands them over."""
    place.feed.add((1, "a", 1))
    place.feed.add((9, "a", 1))
    flow = tg.Flow("handed")
    flow.sink("out", flow.source("s", DDL, time="t", watermark=tg.bounded(2)).gate())
    given: list[Any] = []

    def refuse(rows: Any, step: int) -> None:
        raise ConnectionError("nobody there")

    run = place.start(flow, outputs={"out": tg.foreach(refuse)})
    with pytest.raises(SinkFailed) as caught:
        run.await_termination()
    error = caught.value
    assert error.what == "the rows of step 1 could not be handed over: ConnectionError: nobody there"
    assert error.places == ["sink 'out'", "flow 'handed'", "step 1"]
    assert isinstance(error.__cause__, ConnectionError)
    assert run.status().step == 1
    place.run(flow, outputs={"out": tg.foreach(lambda rows, step: given.extend(map(tuple, rows.collect())))})
    assert given == [(1, "a", 1)]


@pytest.mark.parametrize(
    ("trigger", "says"),
    [
        ({"processingTime": "soon"}, "expected a trigger that Spark takes, got {'processingTime': 'soon'}"),
        ({"availableNow": False}, "Value for `availableNow` has to be amongst"),
        ({"availableNow": True, "once": True}, "Only a single trigger is allowed"),
        ({"continuous": "1 second"}, "expected a trigger that makes steps, got 'continuous'"),
    ],
)
def test_a_trigger_that_spark_does_not_take_is_told(place: Place, trigger: dict[str, Any], says: str) -> None:
    """As an argument of ours, with the flow, and what there is."""
    with pytest.raises(BadArgument, match=re.escape(says)) as caught:
        place.start(counts(), trigger=trigger)
    assert caught.value.places == ["flow 'counts'"]
    assert caught.value.hint == '{"processingTime": "10 seconds"} or {"availableNow": True}'


def test_a_lock_that_cannot_be_released_hides_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the start failed with is told, and not what followed from it."""

    def fail(lock: Lock) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Lock, "release", fail)
    with pytest.raises(BadArgument, match="nothing fits"):
        place.start(counts(), outputs={"out": Unfit()})


class Unfit:
    """A place that is not ready for anything."""

    def claim(self, sender: Any, schema: Any) -> None:
        raise BadArgument("nothing fits")

    def deliver(self, sender: Any, rows: Any, step: int) -> None:
        raise AssertionError


def test_what_is_wrong_at_the_start_names_the_flow_whatever_else_is_called_so(place: Place) -> None:
    """A sink has the word in its name, and the flow is told all the same."""
    flow = tg.Flow("money")
    flow.sink("outflow", flow.source("s", DDL, time="t", watermark=tg.bounded(2)).gate())
    with pytest.raises(BadArgument) as caught:
        place.start(flow, outputs={"outflow": Unfit()})
    assert caught.value.places == ["sink 'outflow'", "flow 'money'"]


def test_what_fails_between_steps_is_told(place: Place) -> None:
    """Spark's query can fail where no step runs, as when a file of the source is broken before it is read."""
    failed = ArithmeticException("no", "DIVIDE_BY_ZERO", {})
    error = failures.between_steps(tg.Flow("f").plan, failed, describe_error, hint="not in a step")
    assert (type(error), error.places) == (RunFailed, ["flow 'f'"])
    assert isinstance(error.__cause__, ArithmeticException)
    assert "not in a step" in error.hint
    assert "DIVIDE_BY_ZERO" in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("mutant", ["anywhere", "nowhere"])
def test_the_wrong_operator_would_be_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: str
) -> None:
    """Blaming all that ran, or the first operator, gives other operators than the one that failed."""
    wrong = {"anywhere": lambda flow, said: {}, "nowhere": lambda flow, said: {flow.operators[2].id: ""}}[mutant]
    monkeypatch.setattr(failures, "_blamed", wrong)
    error = failure(spark, tmp_path, lambda s, o: s.select("k", "x").where("1 / x > 0").aggregate(by="k", n="count(*)"))
    assert error.operators != ("where#1",)
