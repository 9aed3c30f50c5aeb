"""The progress of a running flow: the tracker on the flow's graph, moved by what the sources promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate.engine.frontiers import Frontier, parts_of, settled
from tidegate.engine.shape import Shape, Stage, shape_of
from tidegate.flow.plan import Iterate, Plan, PlanOperator
from tidegate.flow.spans import span_value
from tidegate.progress import Enter, Graph, Leave, Progress, Reason
from tidegate.time import Antichain, Nat, Order, Product

__all__ = ["Tracking", "in_user_times", "loop_location", "sink_location"]


def sink_location(name: str) -> str:
    """Return the location of a sink: no operator is called so."""
    return f"sink {name}"


def loop_location(operator: Iterate | Stage) -> str:
    """Return the location of a loop's feedback edge: what is there goes round once more."""
    return f"rounds of {operator.id}"


class Tracking:
    """The frontier of every operator, from those of the sources.

    A source holds one pointstamp for each element of its frontier, and no operator holds any: what was held for a time
    is let go in the step that completes it. Along every operator the summary is neutral, but where `at` moves all rows
    by one span; also along sessions. An answer of a session is later than its last row by a gap less one unit, but that
    row may have been read before: the session is held, and not the row, and its answer may come anywhere from the
    frontier on. The summary of `flow.summaries` is for whoever has a pointstamp for each row that is held.

    Inside a loop, time has one more component: the round. While a step goes round, there is a pointstamp for the least
    time and the round of what is fresh; its versions are complete when that is gone.
    """

    def __init__(self, flow: Plan | Shape, frontiers: Mapping[str, Frontier]) -> None:
        self.shape = shape = flow if isinstance(flow, Shape) else shape_of(flow)
        orders = {stage.id: stage.schema.order for stage in shape.stages}
        edges: dict[tuple[str, str], Any] = {
            (name, stage.id): _summary(stage, shape[name])
            for stage in shape.stages
            for name in stage.inputs
            if not stage.loop
        }
        for stage in shape.stages:
            if stage.loop:
                _add_loop(stage, orders, edges)
        for name, input_ in shape.sinks.items():
            order = orders[sink_location(name)] = shape[input_].schema.order
            edges[input_, sink_location(name)] = order.summaries.neutral
        self.progress = Progress(Graph(orders, edges, locations=list(orders)))
        self._frontiers: dict[str, Frontier] = {}
        self._rounds: dict[str, list[Any]] = {}
        self.move(frontiers)

    def move(self, frontiers: Mapping[str, Frontier]) -> None:
        """Put the pointstamps of sources where their frontiers are now, all at once."""
        changes: list[tuple[str, Any, int]] = []
        for source, frontier in frontiers.items():
            old = set(self._frontiers.get(source, ()))
            new = set(frontier)
            changes += [(source, t, 1) for t in new - old] + [(source, t, -1) for t in old - new]
        self.progress.update(changes)
        self._frontiers.update(frontiers)

    def begin_round(self, operator: Iterate | Stage, t: Any, number: int) -> None:
        """Say that a loop goes round for the ``number``-th time, with facts from time ``t`` on; None: it is at rest."""
        location, schema = loop_location(operator), operator.schema
        changes = [(location, stamp, -1) for stamp in self._rounds.pop(location, ())]
        if t is not None:
            # A lower bound on each axis need not be a time itself: then it stands for the least times at or above it.
            least = settled(schema, Antichain(schema.order, [t]))
            self._rounds[location] = [(*parts_of(schema, f), number) for f in least]
            changes += [(location, stamp, 1) for stamp in self._rounds[location]]
        self.progress.update(changes)

    def frontier(self, operator: PlanOperator | Stage) -> Frontier:
        """Return the least times that may still reach an operator."""
        return self.progress.frontier(operator.id)

    def of_sink(self, name: str) -> Frontier:
        """Return the least times that may still come out at a sink."""
        return self.progress.frontier(sink_location(name))

    def why(self, sink: str, t: Any) -> list[Reason]:
        """Return what could still give rows at a sink at ``t`` or below."""
        return self.progress.why(sink_location(sink), t)


def in_user_times(shape: Shape, reason: Reason) -> Reason:
    """Return a reason in the times and operators that the user knows."""
    stages = {stage.id: stage for stage in shape.stages}
    at = next((stages[name].schema.coordinates for name, _ in reason.path if name in stages), None)
    if at is None:
        return reason
    axes = len(at.names)
    # Inside of a loop, the round is one more component.
    shown = [
        (place, t if isinstance(t, tuple) else (t,))
        for place, t in reason.path
        if place not in stages or not stages[place].hidden
    ]
    path = [(place, at.bound(t[:axes]), t[axes:]) for place, t in shown]
    return replace(reason, path=tuple((place, (t, *rounds) if rounds else t) for place, t, rounds in path))


def _summary(stage: Stage, given: Stage) -> Any:
    """Return what an operator does to the least times that may still come."""
    if not stage.shifts:
        return given.schema.order.summaries.neutral
    spans = [span_value(n, c.type or "") for n, c in zip(stage.shifts, given.schema.times, strict=True)]
    return spans[0] if len(spans) == 1 else tuple(spans)


def _add_loop(stage: Stage, orders: dict[str, Order[Any]], edges: dict[tuple[str, str], Any]) -> None:
    outer = stage.schema.order
    inner = Product(*outer.parts, Nat()) if isinstance(outer, Product) else Product(outer, Nat())
    head, back = f"loop of {stage.id}", loop_location(stage)
    orders[head] = orders[back] = inner
    stay = inner.summaries.neutral
    edges |= {(name, head): Enter for name in stage.inputs}
    edges |= {(head, back): stay, (back, head): (*stay[:-1], 1), (head, stage.id): Leave}
