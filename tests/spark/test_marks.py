"""Marks and frontiers: what sources promise, on total and product orders, in Python and in Spark SQL."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate import DT, WM
from tidegate.engine.frontiers import complete, frontier_from_json, frontier_to_json, newly_complete, shown, start_of
from tidegate.engine.marks import Marks, Seen
from tidegate.engine.storage.published import Promise
from tidegate.engine.tracking import Tracking
from tidegate.flow.errors import BadInput
from tidegate.flow.expressions import bind
from tidegate.flow.plan import Source
from tidegate.flow.schema import Schema, parse_schema
from tidegate.flow.spans import from_units, units, within
from tidegate.flow.watermarks import AtEnd, Bounded, Published, Punctuated
from tidegate.spark.engine_functions import spark_text
from tidegate.time import TOP, Antichain, minimal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIR = parse_schema("v INT, w INT, k STRING", time=("v", "w"))
ONE = parse_schema("t INT, k STRING", time=("t",))
SMALL = st.integers(-3, 6)
MARKS = st.tuples(st.one_of(SMALL, st.none()), st.one_of(SMALL, st.none()))


def source(schema: Schema, watermark: Any) -> Source:
    return Source(id="s", schema=schema, watermark=watermark, late="divert")


def is_complete(marks: Marks, t: Any) -> bool:
    return not any(marks.frontier.order.le(f, t) for f in marks.frontier)


@given(st.lists(st.lists(MARKS, max_size=3), max_size=4), st.tuples(SMALL, SMALL))
def test_punctuations_complete_what_they_cover_and_nothing_else(steps: list[Any], t: tuple[int, int]) -> None:
    """On a product, where a null means every value, whatever step they come in."""
    punctuated = source(PAIR, Punctuated(bind("k = 'w'", PAIR, what="mark")))
    marks = Marks.start(punctuated)
    for step in steps:
        marks = marks.after(punctuated, Seen(rows=len(step), watermarks=len(step), marks=tuple(step)))
    covered = any(all(m is None or x <= m for x, m in zip(t, mark, strict=True)) for step in steps for mark in step)
    assert is_complete(marks, t) == covered
    assert marks.watermarks == sum(map(len, steps))


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=5), st.tuples(SMALL, SMALL))
def test_a_bound_is_one_tuple_and_any_component_below_it_is_late(greatest: list[Any], t: tuple[int, int]) -> None:
    """The frontier is the greatest value of each column less its delay."""
    bounded = source(PAIR, Bounded((2, 3)))
    marks = Marks.start(bounded)
    for seen in greatest:
        marks = marks.after(bounded, Seen(rows=1, greatest=seen))
    bound = (max(v for v, _ in greatest) - 2, max(w for _, w in greatest) - 3)
    assert is_complete(marks, t) == (t[0] < bound[0] or t[1] < bound[1])


def test_a_frontier_does_not_go_back_when_the_delay_grows() -> None:
    """What was complete stays so, with whatever delay a run is started again."""
    marks = Marks.start(source(ONE, Bounded((0,)))).after(source(ONE, Bounded((0,))), Seen(rows=1, greatest=(5,)))
    longer = marks.after(source(ONE, Bounded((4,))), Seen(rows=1, greatest=(6,)))
    assert list(longer.frontier) == [5]
    assert list(longer.after(source(ONE, Bounded((4,))), Seen(rows=1, greatest=(10,))).frontier) == [6]


@pytest.mark.parametrize("ddl", ["d DATE, k STRING", "d TIMESTAMP, k STRING", "d DATE, w INT, k STRING"])
def test_the_last_time_that_there_is_completes_everything(ddl: str) -> None:
    """No row can come after it; in a pair, none that is below it in the other column."""
    names = ("d", "w") if "w INT" in ddl else ("d",)
    schema = parse_schema(ddl, time=names)
    last = units(date.max if "DATE" in ddl else datetime.max, "DATE" if "DATE" in ddl else "TIMESTAMP")
    flow = tg.Flow("last")
    stream = flow.source("s", ddl, time=names, watermark=tg.punctuated("k = 'w'"))
    flow.sink("out", stream.aggregate(n="count(*)"))
    (punctuated,) = flow.plan.sources
    marks = Marks.start(punctuated).after(punctuated, Seen(rows=1, watermarks=1, marks=((last, 3)[: len(names)],)))
    assert list(marks.frontier) == ([] if len(names) == 1 else [(date.min, 4)])
    Tracking(flow.plan, {"s": Marks.start(punctuated).frontier}).move({"s": marks.frontier})
    assert shown(schema, Marks.start(punctuated).frontier) in ("any", "(any, any)")


@pytest.mark.parametrize("ddl", ["t DATE", "t TIMESTAMP", "t TINYINT", "t BIGINT"])
def test_a_bound_below_all_times_promises_nothing(ddl: str) -> None:
    """A clock that was never set is no error: it holds everything back."""
    schema = parse_schema(f"{ddl}, k STRING", time=("t",))
    type_ = schema["t"].type or ""
    first = within(-(10**30), type_)
    bounded = source(schema, Bounded((5,)))
    marks = Marks.start(bounded).after(bounded, Seen(rows=1, greatest=(first,)))
    assert is_complete(marks, from_units(first, type_)) is False


def test_nothing_is_complete_before_the_end_and_everything_after_it() -> None:
    """Sources that are complete at their end, and the end of any other."""
    marks = Marks.start(source(ONE, AtEnd())).after(source(ONE, AtEnd()), Seen(rows=9))
    assert not is_complete(marks, -(10**9))
    assert is_complete(marks.ended(), 10**9)


@given(st.lists(MARKS, max_size=4))
def test_marks_are_what_they_were_after_a_commit(found: list[Any]) -> None:
    """JSON has bounds and units, and both come back."""
    punctuated = source(PAIR, Punctuated(bind("k = 'w'", PAIR, what="mark")))
    marks = Marks.start(punctuated).after(punctuated, Seen(rows=3, late=1, rejected=1, marks=tuple(found)))
    assert Marks.from_json(punctuated, marks.to_json(punctuated)) == marks


def test_a_session_that_is_open_holds_back_what_follows_it() -> None:
    """Its rows are below the frontier, and its answer is not above it by a gap: the least change is not enough."""
    flow = tg.Flow("sessions")
    sessions = flow.source("s", "t INT, k STRING", time="t").session(5).aggregate(n="count(*)")
    flow.sink("out", sessions.accumulate(n="count(*)"))
    plan = flow.plan
    (last,) = (o for o in plan if o.verb == "accumulate")
    # A row at 1 was read, and the watermark 3.
    tracking = Tracking(plan, {"s": Antichain(ONE.order, [4])})
    (answer, *_) = flow.reference({"s": [DT(1, {"t": 1, "k": "a"}), WM(3), WM(9)]}).rows("out")
    assert answer["t"] == 5
    assert tracking.frontier(last).reaches(5)
    # An answer is at least a gap less one unit above its last row, but not above the frontier.
    assert not Antichain(ONE.order, [4 + (5 - 1)]).reaches(5)


def test_lines_that_are_no_promise_are_refused() -> None:
    """Whoever else writes beside an output is told of; nothing of it is run."""
    for text in ("", "[]", '{"step": 1}', '{"step": "x", "rows": 1, "frontier": []}'):
        with pytest.raises(BadInput, match="a frontier that a flow has published, got"):
            Promise.parse(text)


@pytest.mark.parametrize("told", [Promise(0, 2, ((5,),)).line, "no promise"])
def test_what_a_followed_flow_did_wrong_is_told_with_the_source_and_the_path(told: str) -> None:
    """Of several flows that are followed, it is known which one it was."""
    followed = source(ONE, Published("out/counts"))
    with pytest.raises(BadInput) as caught:
        Marks.start(followed).after(followed, Seen(rows=3, steps=((0, 3),), lines=(told,)))
    assert caught.value.places == ["source 's', which follows out/counts"]


@pytest.mark.spark
def test_sql_says_what_the_order_says(spark: SparkSession) -> None:
    """A row is complete in Spark exactly if no element of the frontier is at or below it."""
    grid = [(v, w) for v in range(-1, 4) for w in range(-1, 4)]
    frontiers = [
        start_of(PAIR),
        Antichain(PAIR.order, []),
        frontier_from_json(PAIR, [[1, 2], [2, 0]]),
        frontier_from_json(PAIR, [["BOTTOM", 1], [2, "BOTTOM"]]),
        Antichain(PAIR.order, minimal(PAIR.order, [(1, TOP), (0, 3)])),
    ]
    columns = [f"{complete(PAIR, f)} AS c{i}" for i, f in enumerate(frontiers)]
    columns += [f"{newly_complete(PAIR, frontiers[2], frontiers[1])} AS new"]
    texts = map(spark_text, columns)
    rows = spark.createDataFrame(grid, "v INT, w INT").coalesce(1).selectExpr("v", "w", *texts).collect()
    for row in rows:
        expected = [not any(PAIR.order.le(f, (row.v, row.w)) for f in frontier) for frontier in frontiers]
        assert list(row)[2:] == [*expected, not expected[2]]
    assert all(frontier_from_json(PAIR, frontier_to_json(PAIR, f)) == f for f in frontiers)
