"""Hypothesis strategies for flows whose times are ordered by a `Poset` or a `Sum`, and for inputs to run them on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from hypothesis import strategies as st

from tidegate.check.drawn_operators import OPERATORS, Drawing
from tidegate.check.flows import DrawnFlow
from tidegate.check.orders import posets
from tidegate.flow import Flow, Stream, ordered
from tidegate.flow.orders import Ordered
from tidegate.spec import DT, WM, Event, Operator
from tidegate.time import EventTime, Inl, Inr, Int, Nat, Order, Poset, Sum

__all__ = ["ORDERED_OPERATORS", "AtOrBelow", "ordered_flows"]

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


_OWN = {"accumulate": _accumulate, "top": _top, "process": _process}
#: The operators of such flows.
ORDERED_OPERATORS = (*_PLAIN, *_OWN)


@st.composite
def ordered_flows(draw: st.DrawFn, *, max_operators: int = 4, watermarks: bool = True) -> DrawnFlow:
    """Draw a flow with one sink, ``out``, on times of a drawn order, and monotone inputs for it."""
    order = draw(st.one_of(posets(), posets(), st.sampled_from(_SUMS)))
    type_ = "STRING" if isinstance(order, Poset) else _TYPES[order]
    b = Drawing(draw, Flow("drawn"), "INT")
    streams = [
        b.flow.source(f"s{i}", f"t {type_}, k STRING, x INT", time=ordered("t", order))
        for i in range(draw(st.integers(1, 2)))
    ]
    for _ in range(draw(st.integers(1, max_operators))):
        stream = draw(st.sampled_from([*streams, streams[-1], streams[-1]]))
        verb = draw(st.sampled_from(ORDERED_OPERATORS))
        b.steps.append(verb)
        streams.append(_OWN[verb](b, stream) if verb in _OWN else OPERATORS[verb](b, stream, streams))
    b.flow.sink("out", streams[-1])
    plan = b.flow.plan
    given: dict[str, list[Any]] = {}
    for source in plan.sources:
        assert source.schema.ordered is not None
        given[source.id] = draw(_events(source.schema.ordered, watermarks=watermarks))
    for table in plan.tables:
        rows = st.fixed_dictionaries(
            {n: _KEYS if n == table.schema.names[0] else _INTEGERS for n in table.schema.names}
        )
        given[table.id] = draw(st.lists(rows, max_size=4))
    return DrawnFlow(b.flow, given, tuple(b.steps))


_KEYS = st.sampled_from(["a", "b", None])
_INTEGERS = st.one_of(st.integers(-3, 5), st.none())
_SUMS = (Sum(Int(), Int()), Sum(Nat(), EventTime("day")))
_TYPES = {
    _SUMS[0]: "STRUCT<side: STRING, value: INT>",
    _SUMS[1]: "STRUCT<side: STRING, left: BIGINT, right: DATE>",
}


def _times(order: Poset | Sum) -> st.SearchStrategy[Any]:
    if isinstance(order, Poset):
        return st.sampled_from(order.elements)
    numbers = st.integers(0, 3)
    right = numbers.map(lambda n: date(2026, 1, 1) + timedelta(days=n)) if order.right != Int() else numbers
    return st.one_of(numbers.map(Inl), right.map(Inr))


@st.composite
def _events(draw: st.DrawFn, given: Ordered, *, watermarks: bool) -> list[Event]:
    """Draw rows with columns ``t``, ``k`` and ``x``, and watermarks that no later row is at or below."""
    times = _times(given.order)
    drawn = draw(st.lists(st.tuples(times, _KEYS, _INTEGERS), max_size=10))
    marks = draw(st.lists(st.tuples(st.integers(0, len(drawn)), times), max_size=5)) if watermarks else []
    events: list[Event] = []
    for i in range(len(drawn) + 1):
        later = [t for t, _, _ in drawn[i:]]
        events += [WM(mark) for place, mark in marks if place == i and not any(given.order.le(t, mark) for t in later)]
        if i < len(drawn):
            t, k, x = drawn[i]
            events.append(DT(t, {"t": given.value_of(t), "k": k, "x": x}))
    return events
