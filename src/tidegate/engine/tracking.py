"""`Tracking`: the frontiers of a running flow, computed by a tracker on the flow's graph from those of the sources."""

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
    """Return the tracker's location for a sink. No operator can have this name."""
    return f"sink {name}"


def loop_location(operator: Iterate | Stage) -> str:
    """Return the tracker's location for a loop's feedback edge: facts that are there go into the next round."""
    return f"rounds of {operator.id}"


class Tracking:
    """The frontier of every operator and sink, computed from the frontiers of the sources.

    The tracker has one pointstamp for each element of a source's frontier. Operators have none: an operator answers for
    a time in the step that completes it, or before, so after the step it holds nothing back.

    An operator's summary says how far it moves the least times that may still come. It is neutral for all operators,
    except for an `at` that moves all rows by one span. It is neutral for sessions, too: an answer of a session is later
    than its last row, but that row may have been read in an earlier step. So the answer may come anywhere from the
    frontier on.

    Inside a loop, a time has one more component: the number of the round. While a loop runs, it has a pointstamp at the
    least time of its new facts and the current round. When the loop has found everything, the pointstamp is removed.
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
        """Set new frontiers of sources, all in one update. Sources that are not given keep theirs."""
        changes: list[tuple[str, Any, int]] = []
        for source, frontier in frontiers.items():
            old = set(self._frontiers.get(source, ()))
            new = set(frontier)
            changes += [(source, t, 1) for t in new - old] + [(source, t, -1) for t in old - new]
        self.progress.update(changes)
        self._frontiers.update(frontiers)

    def begin_round(self, operator: Iterate | Stage, t: Any, number: int) -> None:
        """Set the round that a loop is in, and the least time ``t`` of the facts that are new in it.

        If ``t`` is None, the loop does not run any more, and holds nothing back.
        """
        location, schema = loop_location(operator), operator.schema
        changes = [(location, stamp, -1) for stamp in self._rounds.pop(location, ())]
        if t is not None:
            # ``t`` has the least value on each axis, and may not be a time of the order. Then the least times at or
            # above it are taken.
            least = settled(schema, Antichain(schema.order, [t]))
            self._rounds[location] = [(*parts_of(schema, f), number) for f in least]
            changes += [(location, stamp, 1) for stamp in self._rounds[location]]
        self.progress.update(changes)

    def frontier(self, operator: PlanOperator | Stage) -> Frontier:
        """Return the frontier of an operator: the least times of rows that may still come out of it."""
        return self.progress.frontier(operator.id)

    def of_sink(self, name: str) -> Frontier:
        """Return the frontier of a sink: the least times of rows that may still come out there."""
        return self.progress.frontier(sink_location(name))

    def why(self, sink: str, t: Any) -> list[Reason]:
        """Return the pointstamps from which rows could still come to a sink, at the time ``t`` or below it."""
        return self.progress.why(sink_location(sink), t)


def in_user_times(shape: Shape, reason: Reason) -> Reason:
    """Return a reason as the user knows it: times instead of points, and without operators that we have added."""
    stages = {stage.id: stage for stage in shape.stages}
    at = next((stages[name].schema.coordinates for name, _ in reason.path if name in stages), None)
    if at is None:
        return reason
    axes = len(at.names)
    # Inside a loop, a time has one more component: the round.
    shown = [
        (place, t if isinstance(t, tuple) else (t,))
        for place, t in reason.path
        if place not in stages or not stages[place].hidden
    ]
    path = [(place, at.bound(t[:axes]), t[axes:]) for place, t in shown]
    return replace(reason, path=tuple((place, (t, *rounds) if rounds else t) for place, t, rounds in path))


def _summary(stage: Stage, given: Stage) -> Any:
    """Return the summary along an operator: how far it moves all times of its input ``given``."""
    if not stage.shifts:
        return given.schema.order.summaries.neutral
    spans = [span_value(n, c.type or "") for n, c in zip(stage.shifts, given.schema.times, strict=True)]
    return spans[0] if len(spans) == 1 else tuple(spans)


def _add_loop(stage: Stage, orders: dict[str, Order[Any]], edges: dict[tuple[str, str], Any]) -> None:
    """Add the locations and edges of a loop: its entry, its feedback edge, which adds one round, and its exit."""
    outer = stage.schema.order
    inner = Product(*outer.parts, Nat()) if isinstance(outer, Product) else Product(outer, Nat())
    head, back = f"loop of {stage.id}", loop_location(stage)
    orders[head] = orders[back] = inner
    stay = inner.summaries.neutral
    edges |= {(name, head): Enter for name in stage.inputs}
    edges |= {(head, back): stay, (back, head): (*stay[:-1], 1), (head, stage.id): Leave}
