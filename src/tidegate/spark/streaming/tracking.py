"""The progress of a running flow: the tracker on the flow's graph, moved by what the sources promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.flow.plan import Operator, Plan
from tidegate.progress import Graph, Progress, Reason
from tidegate.spark.streaming.frontiers import Frontier

__all__ = ["Tracking", "sink_location"]


def sink_location(name: str) -> str:
    """Answer the location of a sink: no operator is called so."""
    return f"sink {name}"


class Tracking:
    """The frontier of every operator, from those of the sources.

    A source holds one pointstamp for each element of its frontier, and no operator holds any: what was held for a time
    is let go in the step that completes it. Along every operator the summary is neutral. A session answers later than
    its rows, but which rows it holds is not known here, so that its answers count as possible from its frontier on.
    """

    def __init__(self, flow: Plan, frontiers: Mapping[str, Frontier]) -> None:
        timed = [operator for operator in flow if operator.schema.time]
        orders = {operator.id: operator.schema.order for operator in timed}
        edges = {
            (given.id, operator.id): given.schema.order.summaries.neutral
            for operator in timed
            for given in flow.inputs(operator)
            if given.schema.time
        }
        for sink in flow.sinks:
            orders[sink_location(sink.name)] = flow[sink.input].schema.order
            edges[sink.input, sink_location(sink.name)] = flow[sink.input].schema.order.summaries.neutral
        self.progress = Progress(Graph(orders, edges, locations=list(orders)))
        self._frontiers: dict[str, Frontier] = {}
        self.move(frontiers)

    def move(self, frontiers: Mapping[str, Frontier]) -> None:
        """Put the pointstamps of sources where their frontiers are now, all at once."""
        changes: list[tuple[str, Any, int]] = []
        for source, frontier in frontiers.items():
            old = set(self._frontiers.get(source, ()))
            new = set(frontier)
            changes += [(source, t, 1) for t in new - old] + [(source, t, -1) for t in old - new]
            self._frontiers[source] = frontier
        self.progress.update(changes)

    def frontier(self, operator: Operator) -> Frontier:
        """Answer the least times that may still reach an operator."""
        return self.progress.frontier(operator.id)

    def of_sink(self, name: str) -> Frontier:
        """Answer the least times that may still come out at a sink."""
        return self.progress.frontier(sink_location(name))

    def why(self, sink: str, t: Any) -> list[Reason]:
        """Answer what could still give rows at a sink at ``t`` or below."""
        return self.progress.why(sink_location(sink), t)
