"""The progress of a running flow: the tracker on the flow's graph, moved by what the sources promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.engine.frontiers import Frontier, parts_of, settled
from tidegate.flow.plan import At, Iterate, Operator, Plan
from tidegate.flow.spans import span_value
from tidegate.progress import Enter, Graph, Leave, Progress, Reason
from tidegate.time import Antichain, Nat, Order, Product

__all__ = ["Tracking", "loop_location", "sink_location"]


def sink_location(name: str) -> str:
    """Return the location of a sink: no operator is called so."""
    return f"sink {name}"


def loop_location(operator: Iterate) -> str:
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

    def __init__(self, flow: Plan, frontiers: Mapping[str, Frontier]) -> None:
        timed = [operator for operator in flow if operator.schema.time]
        orders = {operator.id: operator.schema.order for operator in timed}
        edges: dict[tuple[str, str], Any] = {
            (given.id, operator.id): _summary(operator, given)
            for operator in timed
            for given in flow.inputs(operator)
            if given.schema.time and not isinstance(operator, Iterate)
        }
        for operator in timed:
            if isinstance(operator, Iterate):
                _add_loop(flow, operator, orders, edges)
        for sink in flow.sinks:
            orders[sink_location(sink.name)] = flow[sink.input].schema.order
            edges[sink.input, sink_location(sink.name)] = flow[sink.input].schema.order.summaries.neutral
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

    def begin_round(self, operator: Iterate, t: Any, number: int) -> None:
        """Say that a loop goes round for the ``number``-th time, with facts from time ``t`` on; None: it is at rest."""
        location, schema = loop_location(operator), operator.schema
        changes = [(location, stamp, -1) for stamp in self._rounds.pop(location, ())]
        if t is not None:
            # A lower bound on each axis need not be a time itself: then it stands for the least times at or above it.
            least = settled(schema, Antichain(schema.order, [t]))
            self._rounds[location] = [(*parts_of(schema, f), number) for f in least]
            changes += [(location, stamp, 1) for stamp in self._rounds[location]]
        self.progress.update(changes)

    def frontier(self, operator: Operator) -> Frontier:
        """Return the least times that may still reach an operator."""
        return self.progress.frontier(operator.id)

    def of_sink(self, name: str) -> Frontier:
        """Return the least times that may still come out at a sink."""
        return self.progress.frontier(sink_location(name))

    def why(self, sink: str, t: Any) -> list[Reason]:
        """Return what could still give rows at a sink at ``t`` or below."""
        return self.progress.why(sink_location(sink), t)


def _summary(operator: Operator, given: Operator) -> Any:
    """Return what an operator does to the least times that may still come."""
    neutral = given.schema.order.summaries.neutral
    if not isinstance(operator, At):
        return neutral
    # Where a time depends on more than itself, all that is known is that it does not go back.
    spans = [span_value(n or 0, c.type or "") for n, c in zip(operator.shifts, given.schema.times, strict=True)]
    return spans[0] if len(spans) == 1 else tuple(spans)


def _add_loop(flow: Plan, operator: Iterate, orders: dict[str, Order[Any]], edges: dict[tuple[str, str], Any]) -> None:
    outer = operator.schema.order
    inner = Product(*outer.parts, Nat()) if isinstance(outer, Product) else Product(outer, Nat())
    head, back = f"loop of {operator.id}", loop_location(operator)
    orders[head] = orders[back] = inner
    stay = inner.summaries.neutral
    for given in flow.inputs(operator):
        if given.schema.time:
            edges[given.id, head] = Enter
    edges |= {(head, back): stay, (back, head): (*stay[:-1], 1), (head, operator.id): Leave}
