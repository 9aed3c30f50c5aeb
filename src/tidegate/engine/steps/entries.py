"""Entries: inputs of operators with state to which rows come from their sources row by row, as through `where`.

These inputs take all rows that are on time, whatever the frontiers are. So the rows are written before the new
frontiers are known. The job that writes them also counts the rows and finds their greatest times, so the new rows are
read only once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.engine.keepers import Keeper
from tidegate.engine.relation import Relation
from tidegate.engine.steps.host import Host
from tidegate.engine.steps.source_rows import observable
from tidegate.flow import plan
from tidegate.flow.plan import Plan, PlanOperator, Source

__all__ = ["Entries", "entries"]

#: Operators that read every row of their input, row by row.
_ROWWISE = (plan.Where, plan.Select, plan.Restored, plan.Explode, plan.Unfold, plan.MapBatches, plan.Union, plan.At)


@dataclass(frozen=True, slots=True)
class Entries:
    """The inputs that are written first, by operator and port, and the sources whose rows are all read by that."""

    inputs: frozenset[tuple[str, int]]
    sources: frozenset[str]
    #: The number of jobs in a step that read the new rows.
    passes: int


def entries(flow: Plan, keepers: Mapping[str, Keeper[Any]], host: Host, shapes: Mapping[str, Any]) -> Entries:
    """Return the inputs that can be written before the frontiers of a step are known."""
    reached: dict[str, frozenset[str] | None] = {}
    for operator in flow:
        reached[operator.id] = _reached(operator, reached)
    held = [(flow[id_], port) for id_ in keepers for port in range(len(flow[id_].inputs))]
    found = {
        (operator.id, port): sources
        for operator, port in held
        if keepers[operator.id].written_first
        and (sources := reached[operator.inputs[port]]) is not None
        and _observable(
            flow, host, shapes, operator.inputs[port], sources, partial(keepers[operator.id].relevant, port)
        )
    }
    seen: frozenset[str] = frozenset().union(*found.values())
    read = [operator.inputs[port] for operator, port in held] + [sink.input for sink in flow.sinks]
    read += [operator.inputs[0] for operator in flow if isinstance(operator, plan.At) and operator.rejects]
    passes = sum(_fed(flow, name) for name in read) + any(source.id not in seen for source in flow.sources)
    return Entries(frozenset(found), seen, passes)


def _reached(operator: PlanOperator, reached: Mapping[str, frozenset[str] | None]) -> frozenset[str] | None:
    """Return the sources whose rows reach an operator's output row by row.

    It is None if some rows do not come like that, or come from a source that cannot be observed on the way.
    """
    if isinstance(operator, Source):
        return frozenset([operator.id]) if observable(operator) else None
    found = [sources for name in operator.inputs if (sources := reached[name]) is not None]
    if isinstance(operator, _ROWWISE) and len(found) == len(operator.inputs):
        return frozenset().union(*found)
    return None


def _fed(flow: Plan, name: str) -> bool:
    """Whether rows of this step reach an operator's output without waiting in a state."""
    operator = flow[name]
    return isinstance(operator, Source) or (not operator.keeps_state and any(_fed(flow, i) for i in operator.inputs))


def _observable(
    flow: Plan,
    host: Host,
    shapes: Mapping[str, Any],
    name: str,
    sources: frozenset[str],
    relevant: Callable[[Relation], Relation],
) -> bool:
    """Whether all rows of the sources are read, each once, to write those of an operator's output that are relevant."""
    # Rows that come on two paths would be counted twice, as in the union of a stream with itself.
    if any(_path_count(flow, name, source) > 1 for source in sources):
        return False
    return host.sees_all(flow, name, sorted(sources), shapes, relevant)


def _path_count(flow: Plan, name: str, source: str) -> int:
    """Return the number of paths from a source to an operator."""
    return 1 if name == source else sum(_path_count(flow, before, source) for before in flow[name].inputs)
