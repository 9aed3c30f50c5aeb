"""Entries: the inputs of operators with state that rows reach from their sources one by one.

Whatever the frontiers, these inputs take all rows that are on time. So they are written before the frontiers are known,
and the job that writes them sees, on the way, how many rows there are and how far their times go: no other pass over
the new rows is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.engine.keepers import Keeper
from tidegate.engine.steps.host import Host
from tidegate.engine.steps.taken import observable
from tidegate.flow import plan
from tidegate.flow.plan import Operator, Plan, Source

__all__ = ["Entries", "entries"]

#: Operators that read every row they are given.
_ROWWISE = (plan.Where, plan.Select, plan.Restored, plan.Explode, plan.Unfold, plan.MapBatches, plan.Union, plan.At)


@dataclass(frozen=True, slots=True)
class Entries:
    """The inputs that are written first, by operator and number, and the sources that these see all rows of."""

    inputs: frozenset[tuple[str, int]]
    sources: frozenset[str]
    #: How many jobs of a step read the new rows.
    passes: int


def entries(flow: Plan, keepers: Mapping[str, Keeper[Any]], host: Host, shapes: Mapping[str, Any]) -> Entries:
    """Return what can be written before the frontiers of a step are known."""
    reached: dict[str, frozenset[str] | None] = {}
    for operator in flow:
        reached[operator.id] = _reached(operator, reached)
    held = [(flow[id_], port) for id_ in keepers for port in range(len(flow[id_].inputs))]
    found = {
        (operator.id, port): sources
        for operator, port in held
        if keepers[operator.id].early
        and (sources := reached[operator.inputs[port]]) is not None
        and _observable(flow, host, shapes, operator.inputs[port], sources)
    }
    seen: frozenset[str] = frozenset().union(*found.values())
    read = [operator.inputs[port] for operator, port in held] + [sink.input for sink in flow.sinks]
    read += [operator.inputs[0] for operator in flow if isinstance(operator, plan.At) and operator.rejects]
    passes = sum(_fed(flow, name) for name in read) + any(source.id not in seen for source in flow.sources)
    return Entries(frozenset(found), seen, passes)


def _reached(operator: Operator, reached: Mapping[str, frozenset[str] | None]) -> frozenset[str] | None:
    """Return the sources whose rows come to an operator's output one by one; None if others do too."""
    if isinstance(operator, Source):
        return frozenset([operator.id]) if observable(operator) else None
    found = [sources for name in operator.inputs if (sources := reached[name]) is not None]
    if isinstance(operator, _ROWWISE) and len(found) == len(operator.inputs):
        return frozenset().union(*found)
    return None


def _fed(flow: Plan, name: str) -> bool:
    """Return whether rows of this step come to an operator's output without waiting in a state."""
    operator = flow[name]
    return isinstance(operator, Source) or (not operator.keeps_state and any(_fed(flow, i) for i in operator.inputs))


def _observable(flow: Plan, host: Host, shapes: Mapping[str, Any], name: str, sources: frozenset[str]) -> bool:
    """Whether all rows are read on their way, once each."""
    # Rows that come by two ways, as where a stream is united with itself, would be seen twice.
    if any(_ways(flow, name, source) > 1 for source in sources):
        return False
    return host.sees_all(flow, name, sorted(sources), shapes)


def _ways(flow: Plan, name: str, source: str) -> int:
    """Return on how many ways rows of a source come to an operator."""
    return 1 if name == source else sum(_ways(flow, before, source) for before in flow[name].inputs)
