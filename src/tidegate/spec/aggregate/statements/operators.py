"""Claims 1 and 2, Theorems 1 and 2, section 5.1: composed Map, Filter and Join give what the dedicated ones do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidegate.spec.aggregate.composed import Using, composed_F, composed_J, composed_M
from tidegate.spec.aggregate.dedicated import F, J, M, Matches
from tidegate.spec.aggregate.embed import embed_join, embed_map
from tidegate.spec.aggregate.statements.compare import differ, tuples, unembedded
from tidegate.spec.aggregate.statements.conditions import c1, side
from tidegate.spec.aggregate.window import Window
from tidegate.spec.events import DT, Event
from tidegate.spec.operator import Operator, produce
from tidegate.spec.properties import is_monotone
from tidegate.spec.statements.observation import breaks_productivity, owes_nothing
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Inl, Inr, Order, Sum

__all__ = [
    "claim_1",
    "claim_2",
    "composition_keeps_productive",
    "filter_is_a_map",
    "section_5_1_join",
    "section_5_1_map",
    "theorem_1",
    "theorem_2",
]

Function = Callable[[Any, Any], Iterable[Any]]
Schedule = tuple[int, ...] | None


def _keeps_c1(order: Order[Any], d: int, events: list[Event]) -> bool:
    return all(c1(order, d, side(events, which)) is None for which in (Inl, Inr))


@statement("Claim 1", "E_M and X together give what the Map gives, and nothing late")
def claim_1(
    assume: Assume,
    order: Order[Any],
    f: Function,
    d: int,
    events: list[Event],
    schedule: Schedule = None,
    *,
    composed: Any = composed_M,
) -> Any:
    assume(c1(order, d, events) is None)
    op = composed(order, f, using="A", d=d, schedule=schedule)
    return differ(order, tuples(produce(M(f), events)), op, events)


@statement("Claim 2", "E_J and X together give what the Join gives, and nothing late")
def claim_2(
    assume: Assume,
    order: Order[Any],
    windows: tuple[Window, Window],
    p: Matches,
    d: int,
    events: list[Event],
    schedule: Schedule = None,
) -> Any:
    assume(_keeps_c1(order, d, events))
    op = composed_J(order, *windows, p, using="A", d=d, schedule=schedule)
    return differ(order, tuples(produce(J(order, *windows, p), events)), op, events)


@statement("Theorem 1", "E_M embeds what the Map gives, at the same times, and never nothing")
def theorem_1(assume: Assume, order: Order[Any], f: Function, events: list[Event], *, embed: Any = embed_map) -> Any:
    assume(is_monotone(order, events))
    outputs = list(produce(embed(order, f), events))
    if any(isinstance(e, DT) and not e.d.data for e in outputs):
        return "a tuple embeds nothing", {"outputs": outputs}
    expected = tuples(produce(M(f), events))
    if unembedded(outputs) != expected:
        return "the tuples differ", {"expected": expected, "outputs": outputs}
    return None if is_monotone(order, outputs) else ("an output is late", {"outputs": outputs})


@statement("Theorem 2", "E_J embeds what the Join gives, at the same times")
def theorem_2(
    assume: Assume,
    order: Order[Any],
    windows: tuple[Window, Window],
    p: Matches,
    events: list[Event],
    *,
    embed: Any = embed_join,
) -> Any:
    assume(is_monotone(Sum(order, order), events))
    outputs = list(produce(embed(order, *windows, p), events))
    expected = tuples(produce(J(order, *windows, p), events))
    if unembedded(outputs) != expected:
        return "the tuples differ", {"expected": expected, "outputs": outputs}
    return None if is_monotone(order, outputs) else ("an output is late", {"outputs": outputs})


@statement("Section 5.1", "one A+ gives what the Map gives, without a loop and without a bound")
def section_5_1_map(assume: Assume, order: Order[Any], f: Function, events: list[Event]) -> Any:
    assume(is_monotone(order, events))
    return differ(order, tuples(produce(M(f), events)), composed_M(order, f, using="A+"), events)


@statement("Section 5.1", "A+ gives what the Join gives, without a loop and without a bound")
def section_5_1_join(
    assume: Assume, order: Order[Any], windows: tuple[Window, Window], p: Matches, events: list[Event]
) -> Any:
    assume(is_monotone(Sum(order, order), events))
    op = composed_J(order, *windows, p, using="A+")
    return differ(order, tuples(produce(J(order, *windows, p), events)), op, events)


@statement("Section 4", "the Filter is a Map, also when composed")
def filter_is_a_map(
    assume: Assume,
    order: Order[Any],
    condition: Callable[[Any, Any], bool],
    using: Using,
    d: int,
    events: list[Event],
) -> Any:
    assume(c1(order, d, events) is None)
    op = composed_F(order, condition, using=using, d=d)
    return differ(order, tuples(produce(F(condition), events)), op, events)


@statement("beyond Claims 1, 2", "a composition covers all its data with watermarks, if its input does")
def composition_keeps_productive(assume: Assume, order: Order[Any], op: Operator[Event, Event], events: Any) -> Any:
    assume(owes_nothing(order, events))
    return breaks_productivity(op, events, order)
