"""Mistakes with orders of times: each message says what was expected, what came, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

import tidegate as tg
from tests.flow.cases.lexicographic import daily
from tests.flow.cases.ordered import PAPER, named
from tests.local_engine.engine import by_local
from tidegate.errors import TidegateError
from tidegate.flow.errors import BadArgument, BadTime, NotSupported
from tidegate.flow.orders.realizer import canonical, numbered
from tidegate.spec import (
    DT,
    WM,
    Event,
    Operator,
    batch_op,
    bulk_op,
    comp_op,
    count_op,
    ihist_op,
    incr_batch_op,
    incr_op,
    join_op,
    skip_op,
    union_op,
)
from tidegate.spec.aggregate import A, J, Window, sides_op
from tidegate.time import EventTime, Int, Lexicographic, Nat, Order, Poset, Product, Sum

SIDES = "t STRUCT<side: STRING, value: INT>"

PAIRS = Lexicographic(Int(), Int())

#: What needs lengths of time, which times of several columns in turn do not have.
SPANS: dict[str, Callable[[tg.Flow], Any]] = {
    "windows": lambda f: daily(f).window("1 day", over="d"),
    "sessions": lambda f: daily(f).session("1 day", over="d"),
    "periods": lambda f: daily(f).accumulate(c="count(*)", every={"d": "1 day"}),
    "forgetting": lambda f: daily(f).latest("k", forget="1 day"),
    "periods of the latest": lambda f: daily(f).last(2, every={"d": "1 day"}),
    "other times": lambda f: daily(f).at(d="d + 1"),
    "as of within": lambda f: daily(f).join_asof(daily(f, "r").select("k", "x AS y"), on="k", within="1 day"),
    "duplicates within": lambda f: daily(f).deduplicate("k", within="1 day"),
    "duplicates that are forgotten": lambda f: daily(f).deduplicate("k", forget="1 day"),
    "apart": lambda f: daily(f).interval_join(daily(f, "r").select("k", "x AS y"), on="k"),
    "apart, with bounds": lambda f: daily(f).interval_join(
        daily(f, "r").select("k", "x AS y"), on="k", lower=0, upper=3, over="n"
    ),
    "joins in windows": lambda f: daily(f).window_join(daily(f, "r").select("k", "x AS y"), on="k", size=3, over="n"),
}

#: Elements that a chain orders otherwise than their letters are.
CHAIN = Poset([("c", "b"), ("b", "a")])

#: What needs one of two times to be the later by the values of their columns.
LATER: dict[str, Callable[[tg.Stream, tg.Stream], Any]] = {
    "the latest": lambda s, r: s.latest("x"),
    "the last": lambda s, r: s.last(2),
    "duplicates": lambda s, r: s.deduplicate("x"),
    "as of": lambda s, r: s.join_asof(r, on="x"),
}

#: What is built, and how the message begins.
BUILDING: dict[str, tuple[Callable[[tg.Flow], Any], str]] = {
    "no order": (
        lambda f: tg.ordered("t", "a"),
        "expected a Poset, a Sum or a Lexicographic in ordered('t', …), got 'a'",
    ),
    "a product": (
        lambda f: tg.ordered("t", Product(Int(), Int())),
        "expected a Poset, a Sum or a Lexicographic in ordered('t', …)",
    ),
    "no elements": (lambda f: tg.ordered("t", Poset([])), "expected a Poset with elements, got one without"),
    "too many elements": (
        lambda f: tg.ordered("t", Poset([], elements=range(301))),
        "expected a Poset of at most 300 elements, got one of 301",
    ),
    "partial orders inside": (
        lambda f: tg.ordered("t", Sum(PAPER, Nat())),
        "expected a Sum of total orders of numbers, days or instants, got Sum(",
    ),
    "an operator on a chain turned round": (
        lambda f: counted_by(source(f, "t STRING", Poset([("a", "b")])), ihist_op(Poset([("b", "a")]))),
        "expected ihist_op on the order of the stream's times, Poset([('a', 'b')]), got Poset([('b', 'a')])",
    ),
    "an operator on values, for a chain": (
        lambda f: counted_by(source(f, "t INT", Poset([(2, 1)])), batch_op(Int())),
        "expected batch_op on the order of the stream's times, Poset([(2, 1)]), got Int()",
    ),
    "an operator on a chain, for values": (
        lambda f: counted_by(f.source("s", "t INT", time="t"), batch_op(Poset([(2, 1)]))),
        "expected batch_op on the order of the stream's times, Int(), got Poset([(2, 1)])",
    ),
    "an operator on a chain of a column in turn": (
        lambda f: counted_by(pairs(f, "a INT, b INT"), ihist_op(Lexicographic(Poset([(2, 1)]), Int()))),
        "expected ihist_op on the order of the stream's times, Lexicographic(Int(), Int()), got Lexicographic(Poset(",
    ),
    "an operator on sides that are exchanged": (
        lambda f: counted_by(
            source(f, "t STRUCT<side: STRING, left: INT, right: DATE>", Sum(Int(), EventTime("day"))),
            ihist_op(Sum(EventTime("day"), Int())),
        ),
        "expected ihist_op on the order of the stream's times, Sum(Int(), EventTime('day')), got Sum(EventTime('day'),",
    ),
    "no such column": (lambda f: source(f, "u STRING", PAPER), "unknown column t"),
    "a column of another type": (
        lambda f: source(f, "t DOUBLE", PAPER),
        "expected a column of type STRING, DATE or of an integer type for a Poset, got t DOUBLE",
    ),
    "elements of another type": (
        lambda f: source(f, "t INT", PAPER),
        "expected elements that t INT can have, got 't0' (str)",
    ),
    "an element that does not fit": (
        lambda f: source(f, "t TINYINT", Poset([(1, 128)])),
        "expected elements that t TINYINT can have, got 128 (int)",
    ),
    "an instant for a day": (
        lambda f: source(f, "t DATE", Poset([], elements=[datetime(2026, 1, 1)])),
        "expected elements that t DATE can have, got datetime.datetime(2026, 1, 1, 0, 0) (datetime)",
    ),
    "a sum without a struct": (
        lambda f: source(f, "t INT", Sum(Int(), Int())),
        "expected a struct of side and value for a Sum, got t INT",
    ),
    "sides of other orders": (
        lambda f: source(f, SIDES, Sum(Int(), EventTime())),
        "expected in Sum(Int(), EventTime()) the order of INT, which the column t has there, got EventTime()",
    ),
    "windows": (
        lambda f: named(f).window(10),
        "expected times with a distance between them, got t, which is ordered by a Poset",
    ),
    "sessions": (lambda f: named(f).session(10), "expected times with a distance between them, got t"),
    "periods": (lambda f: named(f).accumulate(n="count(*)", every=10), "expected times with a distance between them"),
    "forgetting": (lambda f: named(f).top(1, order="x", forget=3), "expected times with a distance between them"),
    "other times": (lambda f: named(f).at("'t5'"), "expected times with a distance between them"),
    "apart": (lambda f: named(f).interval_join(named(f, "r"), on="k"), "expected times with a distance between them"),
    **{
        f"{name}{of}": (
            lambda f, order=order, build=build: build(*two(f, order)),
            "expected times that are ordered by the values of their columns, got t, which is ordered by a Poset",
        )
        for of, order in (("", PAPER), (", of a chain", CHAIN))
        for name, build in LATER.items()
    },
    "two orders": (
        lambda f: named(f).union(
            f.source("r", "t STRING, k STRING, x INT", time=tg.ordered("t", Poset([("t0", "t1")])))
        ),
        "expected two streams with the same time columns, got",
    ),
    "a bound without distances": (
        lambda f: source(f, "t STRING", PAPER, watermark=tg.bounded(3)),
        "expected a watermark strategy without delays, as t is ordered by a Poset, got bounded(3)",
    ),
    "one bound for two sides": (
        lambda f: source(f, SIDES, Sum(Int(), Int()), watermark=tg.bounded(3)),
        "expected two delays and nothing else, for the left and the right side of t, got 1",
    ),
    "bounds of partitions": (
        lambda f: source(f, SIDES, Sum(Int(), Int()), watermark=tg.bounded(3, 3, by="x")),
        "expected two delays and nothing else, for the left and the right side of t, got 2 and by",
    ),
    "one name for several columns": (
        lambda f: tg.ordered("t", PAIRS),
        "expected the names of columns for Lexicographic(Int(), Int()), got 't'",
    ),
    "too few columns": (
        lambda f: tg.ordered(("t",), PAIRS),
        "expected a column for each part of Lexicographic(Int(), Int()), and two at least, got t",
    ),
    "several columns for a Poset": (
        lambda f: tg.ordered(("t", "u"), PAPER),
        "expected the name of a column in ordered(…), got ('t', 'u')",
    ),
    "a column twice": (lambda f: pairs(f, "a INT", names=("a", "a")), "time column a is named twice"),
    "no such column of several": (lambda f: pairs(f, "a INT", names=("a", "b")), "unknown column b"),
    "a column that is no time": (
        lambda f: pairs(f, "a INT, b STRING"),
        "expected a time column of an integer type, DATE or TIMESTAMP, got b STRING",
    ),
    "a column of another order": (
        lambda f: pairs(f, "a INT, b DATE"),
        "expected in Lexicographic(Int(), Int()) the order of DATE, which the column b has, got Int()",
    ),
    "orders inside of a lexicographic one": (
        lambda f: pairs(f, "a INT, b INT", Lexicographic(Int(), PAPER)),
        "expected in Lexicographic(Int(), Poset(",
    ),
    "too many times": (
        lambda f: pairs(f, "a BIGINT, b BIGINT"),
        "expected columns with fewer than 10^38 values together for a Lexicographic, got a BIGINT, b BIGINT",
    ),
    "a bound in turn": (
        lambda f: pairs(f, "a INT, b INT", watermark=tg.bounded(3, 3)),
        "expected a watermark strategy without delays, as (a, b) is ordered by a Lexicographic, got bounded(3, 3)",
    ),
    **{
        f"{name}, in turn": (
            build,
            "expected times with a distance between them, got (d, n), which is ordered by a Lexicographic",
        )
        for name, build in SPANS.items()
    },
    "along one of the columns": (
        lambda f: daily(f).deduplicate("k", over="d"),
        "expected no over, as (d, n) is ordered by a Lexicographic, got 'd'",
    ),
    "as of, along one of the columns": (
        lambda f: daily(f).join_asof(daily(f, "r").select("k", "x AS y"), on="k", over="n"),
        "expected no over, as (d, n) is ordered by a Lexicographic, got 'n'",
    ),
    "a product beside it": (
        lambda f: daily(f).union(f.source("r", "d DATE, n INT, k STRING, x INT", time=("d", "n"))),
        "expected two streams with the same time columns, got",
    ),
}


def source(flow: tg.Flow, column: str, order: Any, **options: Any) -> tg.Stream:
    """A source with a time column and another."""
    return flow.source("s", f"{column}, x INT", time=tg.ordered("t", order), **options)


def two(flow: tg.Flow, order: Poset) -> tuple[tg.Stream, tg.Stream]:
    """Two sources whose texts are ordered by a `Poset`."""
    first, second = (flow.source(n, "t STRING, x INT", time=tg.ordered("t", order)) for n in ("s", "r"))
    return first, second


def pairs(
    flow: tg.Flow, columns: str, order: Lexicographic = PAIRS, names: tuple[str, ...] = ("a", "b"), **options: Any
) -> tg.Stream:
    """A source with several time columns."""
    return flow.source("s", f"{columns}, x INT", time=tg.ordered(names, order), **options)


def counted_by(stream: tg.Stream, operator: Any) -> tg.Stream:
    """What an operator of the papers puts out for all rows, as the number of data in it."""
    return stream.process(operator, by=(), schema="n INT", out=lambda found: {"n": len(found)})


@pytest.mark.parametrize(("build", "message"), BUILDING.values(), ids=BUILDING)
def test_a_mistake_is_told_when_the_flow_is_built(build: Callable[[tg.Flow], Any], message: str) -> None:
    """Before anything runs."""
    with pytest.raises(TidegateError, match="^" + re.escape(message)):
        build(tg.Flow("bad"))


#: Operators of the papers whose answers depend on which of two unrelated times is first: how they are named, and built.
ONE_BY_ONE: dict[str, tuple[str, Callable[[Order[Any]], Any]]] = {
    "incr_batch_op": ("incr_batch_op", incr_batch_op),
    "incr_op": ("incr_batch_op", lambda order: comp_op(batch_op(order), incr_op())),
    "incr_batch_op of histograms": ("incr_batch_op", lambda order: comp_op(ihist_op(order), incr_batch_op(order))),
    "skip_op": ("skip_op", lambda order: skip_op(ihist_op(order), 1)),
    "count_op": ("count_op", lambda order: comp_op(ihist_op(order), count_op(bool))),
    "bulk_op": ("bulk_op", lambda order: comp_op(ihist_op(order), bulk_op(list, 2))),
}


@pytest.mark.parametrize(("name", "build"), ONE_BY_ONE.values(), ids=ONE_BY_ONE)
@pytest.mark.parametrize(
    ("column", "order"), [("t STRING", PAPER), (SIDES, Sum(Int(), Int()))], ids=["a Poset", "a Sum"]
)
def test_what_depends_on_the_linear_extension_is_refused(
    column: str, order: Order[Any], name: str, build: Callable[[Order[Any]], Any]
) -> None:
    """On partial orders, whatever was put before it; on a chain, which has one extension, it is accepted."""
    message = f"^expected an operator whose answers do not depend on the order of unrelated times, got {name}\n"
    with pytest.raises(NotSupported, match=message):
        counted_by(source(tg.Flow("bad"), column, order), build(order))
    chain = Poset([("t0", "t1"), ("t1", "t2")])
    counted_by(source(tg.Flow("good"), "t STRING", chain), build(chain))


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("incr_batch_op then map_op then flatten_op then union_op", join_op(Int(), min)),
        ("union_op", union_op(Int())),
        ("J", J(Int(), Window(1, 1), Window(1, 1), bool)),
    ],
    ids=["join_op", "union_op", "J"],
)
def test_one_stream_of_two_has_no_times_of_a_sum(name: str, operator: Any) -> None:
    """Operators on two streams take the times of a `Sum`, but answers of `process` have times of its input."""
    message = (
        f"expected an operator whose answers have times of the stream, Sum(Int(), Int()), got {name}: it makes one "
        "stream of two, and its answers have times of Int()\n  at: process(…) on s\n  at: flow 'bad'\n"
        "  hint: make each side a source of its own, and use union(…) for union_op and merge_op, join(…) for join_op, "
        "window_join(…) for J and composed_J"
    )
    with pytest.raises(BadArgument, match="^" + re.escape(message)):
        counted_by(source(tg.Flow("bad"), SIDES, Sum(Int(), Int())), operator)


def test_windows_on_one_side_of_a_sum_are_of_one_unit() -> None:
    """For longer ones, copies would have timers, which on partial orders need an operator with `state`."""
    message = "^expected windows of one unit on times that do not all compare, got A with windows of 4\n"
    windows = A(Int(), Window(4, 4), list)
    with pytest.raises(NotSupported, match=message):
        counted_by(source(tg.Flow("bad"), SIDES, Sum(Int(), Int())), sides_op(windows, windows))


def test_an_aggregate_is_refused_on_a_poset() -> None:
    """Its windows are counted in units, of which these times have none."""
    message = (
        re.escape("expected A on the order of the stream's times, Poset(")
        + r".*got Int\(\)\n(.*\n)*  hint: operators of "
    )
    with pytest.raises(BadTime, match=message):
        counted_by(source(tg.Flow("bad"), "t STRING", PAPER), A(Int(), Window(1, 1), list))


@pytest.mark.parametrize(
    ("column", "order"), [("t STRING", PAPER), (SIDES, Sum(Int(), Int()))], ids=["a Poset", "a Sum"]
)
def test_an_operator_on_batches_is_refused(column: str, order: Order[Any]) -> None:
    """By itself, `incr_op` is given rows, on these orders as on all others."""
    with pytest.raises(TidegateError, match=r"^expected an operator on rows, got incr_op: incr_op takes batches"):
        counted_by(source(tg.Flow("bad"), column, order), incr_op())


def test_an_operator_may_be_on_an_order_of_the_same_values() -> None:
    """Natural numbers compare as integers do, also in columns that are compared in turn."""
    counted_by(pairs(tg.Flow("good"), "a INT, b INT"), ihist_op(Lexicographic(Nat(), Nat())))
    turned = Poset([("c", "b"), ("b", "a")])
    counted_by(source(tg.Flow("good"), "t STRING", turned), ihist_op(Poset([("b", "a"), ("c", "b"), ("c", "a")])))


@dataclass(frozen=True)
class At(Operator[Event, Event]):
    """An operator that answers at a time of its own."""

    t: Any

    def apply(self, event: Event) -> tuple[At, list[Event]]:
        return self, [DT(self.t, {"n": 1})] if isinstance(event, WM) else []


@pytest.mark.parametrize(
    ("columns", "time", "row", "t"),
    [
        ("a INT, b INT", tg.ordered(("a", "b"), Lexicographic(Nat(), Nat())), (0, 1, 7), 77),
        ("t STRING", tg.ordered("t", PAPER), ("t0", 7), numbered(canonical(PAPER))["t1"]),
    ],
    ids=["a number", "a point"],
)
def test_what_looks_like_a_place_on_an_axis_is_no_time(columns: str, time: Any, row: Any, t: Any) -> None:
    """An operator of the user's own knows the order's times alone, on every engine."""
    flow = tg.Flow("strange")
    stream = flow.source("s", f"{columns}, x INT", time=time)
    flow.sink("out", stream.process(At(t), by=(), schema="n INT"))
    message = re.escape(f"which At was given, got {t!r}")
    with pytest.raises(TidegateError, match=message):
        flow.reference({"s": [dict(zip(stream.schema.names, row, strict=True))]})
    with pytest.raises(TidegateError, match=message):
        by_local(flow, {"s": [row]})
