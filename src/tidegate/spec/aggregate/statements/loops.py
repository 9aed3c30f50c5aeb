"""Theorem 3 and Lemmas 2 to 5: the loop of X and that of A-infinity, under every delay of what comes round."""

from __future__ import annotations

from typing import Any

from tidegate.spec.aggregate.infinity import A_infinity, Folding, composed_infinity
from tidegate.spec.aggregate.statements.compare import differ, tuples, unembedded
from tidegate.spec.aggregate.statements.conditions import c1, c2, c3
from tidegate.spec.aggregate.unfold import unfold, unfold_loop
from tidegate.spec.aggregate.window import Key
from tidegate.spec.events import Event
from tidegate.spec.operator import produce
from tidegate.spec.statements.statement import Assume, statement
from tidegate.time import Order

__all__ = ["lemma_2", "lemma_3", "lemma_4", "lemma_5", "theorem_3"]

Schedule = tuple[int, ...] | None


@statement("Theorem 3", "X puts out what its input carries, each as often as it is carried, and nothing late")
def theorem_3(
    assume: Assume, order: Order[Any], d: int, events: list[Event], schedule: Schedule = None, *, X: Any = unfold
) -> Any:
    assume(c1(order, d, events) is None)
    return differ(order, unembedded(events), X(order, d, schedule=schedule), events)


@statement("Lemma 2", "A_1 of X puts out no tuple twice")
def lemma_2(
    assume: Assume,
    order: Order[Any],
    d: int,
    events: list[Event],
    schedule: Schedule = None,
    *,
    loop: Any = unfold_loop,
) -> Any:
    assume(c1(order, d, events) is None)
    counts = tuples(produce(loop(order, d, schedule=schedule), events))
    twice = [t for t, n in counts.items() if n > 1]
    return f"{twice[0]!r} is put out twice" if twice else None


@statement("Lemma 3", "Listing 4 enforces C2: the loop of X discards nothing")
def lemma_3(
    assume: Assume,
    order: Order[Any],
    d: int,
    events: list[Event],
    schedule: Schedule = None,
    *,
    loop: Any = unfold_loop,
) -> Any:
    assume(c1(order, d, events) is None)
    broken = c2(loop(order, d, schedule=schedule), events)
    return broken.because if broken else None


@statement("Lemma 4", "Listing 5 enforces C3: nothing that leaves the loop of X is late")
def lemma_4(
    assume: Assume,
    order: Order[Any],
    d: int,
    events: list[Event],
    schedule: Schedule = None,
    *,
    loop: Any = unfold_loop,
) -> Any:
    assume(c1(order, d, events) is None)
    broken = c3(order, loop(order, d, schedule=schedule), events)
    return (broken.because, {"outputs": broken.given["outputs"]}) if broken else None


@statement(
    "Lemma 5", "A sliding A with a loop gives what A-infinity gives, and nothing late, if d is at most the period"
)
def lemma_5(
    assume: Assume,
    order: Order[Any],
    folding: Folding,
    period: int,
    key: Key,
    d: int,
    events: list[Event],
    schedule: Schedule = None,
    *,
    composed: Any = composed_infinity,
) -> Any:
    assume(c1(order, d, events) is None and d <= period)
    expected = tuples(produce(A_infinity(order, folding, period, key), events))
    return differ(order, expected, composed(order, folding, period, key, d=d, schedule=schedule), events)
