"""Hypothesis strategies for flows on times of a `Poset`, a `Sum` or a `Lexicographic`, and for inputs of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tidegate.check.drawn_operators import OPERATORS, Drawing, other_side
from tidegate.check.flows import INTEGERS, KEYS, DrawnFlow, add_operators, with_tables
from tidegate.check.orders import posets
from tidegate.flow import Flow, Stream, ordered
from tidegate.flow.orders import Ordered
from tidegate.spec import DT, WM, Event, Operator
from tidegate.time import TOP, EventTime, Inl, Inr, Int, Lexicographic, Nat, Order, Poset, Sum

__all__ = ["LEXICOGRAPHIC_OPERATORS", "ORDERED_OPERATORS", "AtOrBelow", "lexicographic_flows", "ordered_flows"]

#: Those of `OPERATORS` that need no distance between times.
_PLAIN = (
    *("where", "select", "with_columns", "explode", "map_batches", "gate", "distinct", "aggregate", "union", "join"),
    *("join_table", "iterate"),
)


@dataclass(frozen=True)
class AtOrBelow(Operator[Event, Event]):
    """The number of rows of a key at or below each of its times: an operator to draw for `process`."""

    order: Order[Any]
    seen: tuple[Any, ...] = ()

    def apply(self, event: Event) -> tuple[AtOrBelow, list[Event]]:
        if isinstance(event, DT):
            return AtOrBelow(self.order, (*self.seen, event.t)), []
        return self, [DT(event.t, {"n": sum(self.order.le(t, event.t) for t in self.seen)})]


def _accumulate(b: Drawing, s: Stream) -> Stream:
    return s.accumulate(by=b.by(s.schema), emit=b.one("update", "complete"), **b.aggregates(s.schema))


def _top(b: Drawing, s: Stream) -> Stream:
    names = [name for name in (b.integer(s.schema), b.text(s.schema)) if name] or ["t"]
    order = [f"{name} {b.one('', 'DESC', 'NULLS LAST')}" for name in names]
    found = s.top(b.number(1, 3), b.by(s.schema), order[: b.number(1, 2)], emit=b.one("update", "complete"))
    return found.select(*(c.name for c in found.schema.data if c.name != "rank"), f"rank AS r{len(b.steps)}")


def _process(b: Drawing, s: Stream) -> Stream:
    k = b.text(s.schema)
    return s.gate() if k == "n" else s.process(AtOrBelow(s.schema.order), by=(k,) if k else (), schema="n INT")


def _last(b: Drawing, s: Stream) -> Stream:
    found = s.last(b.number(1, 3), b.by(s.schema), emit=b.one("update", "complete"))
    return found.select(*(c.name for c in found.schema.data if c.name != "rank"), f"rank AS r{len(b.steps)}")


def _latest(b: Drawing, s: Stream) -> Stream:
    return s.latest(b.by(s.schema), emit=b.one("update", "complete"))


def _deduplicate(b: Drawing, s: Stream) -> Stream:
    return s.deduplicate(b.by(s.schema))


_OWN = {"accumulate": _accumulate, "top": _top, "process": _process}
#: Those that need times along a line; `join_asof` is another.
_ALONG = {"last": _last, "latest": _latest, "deduplicate": _deduplicate}
#: The operators of such flows.
ORDERED_OPERATORS = (*_PLAIN, *_OWN)
#: Those of flows whose times are along a line.
LEXICOGRAPHIC_OPERATORS = (*ORDERED_OPERATORS, *_ALONG, "join_asof")


def _drawn(b: Drawing, verb: str, stream: Stream, streams: list[Stream]) -> Stream:
    if verb == "join_asof":
        other, on = other_side(b, stream, streams)
        return stream.join_asof(other, on=on, how=b.one("inner", "left"))
    own = (_OWN | _ALONG).get(verb)
    return OPERATORS[verb](b, stream, streams) if own is None else own(b, stream)


@st.composite
def ordered_flows(draw: st.DrawFn, *, max_operators: int = 4, watermarks: bool = True) -> DrawnFlow:
    """Draw a flow with one sink, ``out``, on times of a drawn order, and monotone inputs for it."""
    order = draw(st.one_of(posets(), posets(), st.sampled_from(_SUMS)))
    columns = "t STRING" if isinstance(order, Poset) else f"t {_TYPES[order]}"
    return draw(_flows(columns, ordered("t", order), ORDERED_OPERATORS, max_operators, watermarks=watermarks))


@st.composite
def lexicographic_flows(draw: st.DrawFn, *, max_operators: int = 4, watermarks: bool = True) -> DrawnFlow:
    """Draw a flow as `ordered_flows` does, on times of a lexicographic order."""
    columns, order = draw(st.sampled_from(_LEXICOGRAPHIC))
    verbs = LEXICOGRAPHIC_OPERATORS
    return draw(_flows(columns, ordered(("t", "u"), order), verbs, max_operators, watermarks=watermarks))


@st.composite
def _flows(
    draw: st.DrawFn, columns: str, time: Ordered, verbs: tuple[str, ...], max_operators: int, *, watermarks: bool
) -> DrawnFlow:
    b = Drawing(draw, Flow("drawn"), "INT")
    streams = [b.flow.source(f"s{i}", f"{columns}, k STRING, x INT", time=time) for i in range(draw(st.integers(1, 2)))]
    add_operators(b, streams, verbs, max_operators, lambda verb, stream: _drawn(b, verb, stream, streams))
    given: dict[str, list[Any]] = {}
    for source in b.flow.plan.sources:
        assert source.schema.ordered is not None
        given[source.id] = draw(_events(source.schema.ordered, watermarks=watermarks))
    return with_tables(b, given)


_SUMS = (Sum(Int(), Int()), Sum(Nat(), EventTime("day")))
_TYPES = {
    _SUMS[0]: "STRUCT<side: STRING, value: INT>",
    _SUMS[1]: "STRUCT<side: STRING, left: BIGINT, right: DATE>",
}


#: The numbers of the times of the second do not fit into a BIGINT.
_LEXICOGRAPHIC = (
    ("t SMALLINT, u INT", Lexicographic(Int(), Int())),
    ("t TIMESTAMP, u BIGINT", Lexicographic(EventTime(), Int())),
    ("t DATE, u SMALLINT", Lexicographic(EventTime("day"), Nat())),
)
#: How a small number becomes a value of a part of a lexicographic order.
_VALUES: dict[Order[Any], Callable[[int], Any]] = {
    Int(): lambda n: n,
    Nat(): lambda n: n + 2,
    EventTime(): lambda n: datetime(1970, 1, 1) + timedelta(microseconds=n),
    EventTime("day"): lambda n: date(1970, 1, 1) + timedelta(days=n),
}


def _times(order: Poset | Sum | Lexicographic) -> st.SearchStrategy[Any]:
    if isinstance(order, Poset):
        return st.sampled_from(order.elements)
    if isinstance(order, Lexicographic):
        return st.tuples(*(st.integers(-2, 2).map(_VALUES[part]) for part in order.parts))
    numbers = st.integers(0, 3)
    right = numbers.map(lambda n: date(2026, 1, 1) + timedelta(days=n)) if order.right != Int() else numbers
    return st.one_of(numbers.map(Inl), right.map(Inr))


@st.composite
def _events(draw: st.DrawFn, given: Ordered, *, watermarks: bool) -> list[Event]:
    """Draw rows with time columns, ``k`` and ``x``, and watermarks that no later row is at or below."""
    times = _times(given.order)
    drawn = draw(st.lists(st.tuples(times, KEYS, INTEGERS), max_size=10))
    bounds = times
    if isinstance(given.order, Lexicographic):
        # With every value of the last columns, too.
        bounds = st.one_of(times, times.map(lambda t: (*t[:-1], TOP)))
    marks = draw(st.lists(st.tuples(st.integers(0, len(drawn)), bounds), max_size=5)) if watermarks else []
    events: list[Event] = []
    for i in range(len(drawn) + 1):
        later = [t for t, _, _ in drawn[i:]]
        events += [WM(mark) for place, mark in marks if place == i and not any(given.order.le(t, mark) for t in later)]
        if i < len(drawn):
            t, k, x = drawn[i]
            events.append(DT(t, given.at(t) | {"k": k, "x": x}))
    return events
