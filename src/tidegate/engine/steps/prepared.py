"""What stays the same through all steps of a run: the flow, its inputs and outputs, and its operators' keepers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.engine.keepers import Keeper, Types, keepers_of
from tidegate.engine.meaning import meaning, origins_of, state_keys
from tidegate.engine.orders import orders_of, parts_of_orders
from tidegate.engine.outputs import Output, Sender
from tidegate.engine.plans import lower
from tidegate.engine.steps.entries import Entries, entries
from tidegate.engine.steps.host import Host
from tidegate.engine.steps.work import KeptState
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.identity import checkpoint_id
from tidegate.engine.storage.state import Part
from tidegate.engine.zones import zones_of
from tidegate.flow.plan import At, Plan, Source

__all__ = ["Prepared", "Probe", "prepared"]

#: Called at the named points of a step, with the point and the number of the step.
Probe = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A flow that is ready to run."""

    flow: Plan
    host: Host
    files: Files
    outputs: Mapping[str, Output]
    #: The identity under which each sink writes to its output.
    senders: Mapping[str, Sender]
    #: The shape of the output of each operator.
    shapes: Mapping[str, Any]
    kept: Mapping[str, KeptState]
    entries: Entries
    #: The names under which the checkpoint knows sources and tables.
    origins: Mapping[str, str]
    #: The meaning of the flow that the state belongs to, by fingerprints.
    meaning: Mapping[str, Any]
    #: Returns which parts of a state are merged into one; see `storage.state.fold_from`.
    fold_from: Callable[[Sequence[Part]], int]
    probe: Probe
    #: The directories of rows that are set aside, by the source or operator that they were given to.
    asides: Mapping[str, str]

    @property
    def keepers(self) -> dict[str, Keeper[Any]]:
        """The keepers of the operators with state."""
        return {id_: own.keeper for id_, own in self.kept.items()}

    @property
    def directories(self) -> dict[str, Files]:
        """The directories to which the run itself publishes, by moving files; by sink."""
        return {name: self.files.at(o.directory) for name, o in self.outputs.items() if o.directory is not None}

    @property
    def rejecting(self) -> dict[str, str]:
        """The directories of rows that operators rejected, by operator."""
        return {name: place for name, place in self.asides.items() if not isinstance(self.flow[name], Source)}

    def late_rows(self, name: str) -> str:
        """Return the directory of the rows that were late or rejected at a source, or that an operator rejected."""
        return self.asides[name]


def prepared(
    flow: Plan,
    host: Host,
    files: Files,
    outputs: Mapping[str, Output],
    old: Mapping[str, Any] | None,
    *,
    allow_pickle: bool,
    fold_from: Callable[[Sequence[Part]], int],
    probe: Probe,
) -> Prepared:
    """Return a flow that is ready to run. ``old`` is the meaning of the state in its checkpoint, if there is one."""
    origins = origins_of(flow, old)
    keepers = keepers_of(flow, allow_pickle=allow_pickle)
    keys = state_keys(flow, keepers, origins)
    # All operators are evaluated on empty relations, so that the engine refuses a bad flow before anything runs.
    inputs = {s.id: host.backend.nothing(host.shape(s.schema.columns)) for s in flow.sources}
    with host.lowering(flow):
        shapes = {id_: rows.shape for id_, rows in lower(flow, {**inputs, **host.tables}).items()}
    kept = {}
    for id_, keeper in keepers.items():
        types = Types(tuple(shapes[name] for name in flow[id_].inputs), shapes[id_])
        kept[id_] = KeptState(keeper, keys[id_], replace(types, states=tuple(keeper.state_types(host.backend, types))))
    checkpoint = checkpoint_id(files)
    return Prepared(
        flow,
        host,
        files,
        dict(outputs),
        {sink.name: Sender(checkpoint, flow.name, sink.name, flow[sink.input].schema.user_time) for sink in flow.sinks},
        shapes,
        kept,
        entries(flow, keepers, host, shapes),
        origins,
        _meaning(flow, keepers, keys, origins),
        fold_from,
        probe,
        _asides(flow, origins),
    )


def _meaning(
    flow: Plan, keepers: Mapping[str, Keeper[Any]], keys: Mapping[str, str], origins: Mapping[str, str]
) -> dict[str, Any]:
    more = {"zones": zones_of(flow), "orders": orders_of(flow), "lexicographic": parts_of_orders(flow)}
    return meaning(flow, keepers, keys, origins) | {name: found for name, found in more.items() if found}


def _asides(flow: Plan, origins: Mapping[str, str]) -> dict[str, str]:
    found = {source.id: f"late/{origins[source.id]}" for source in flow.sources}
    prints, seen = flow.fingerprints(origins), Counter[str]()
    for operator in flow:
        if isinstance(operator, At) and operator.rejects:
            # Named by its fingerprint, as state is, because the ids of operators change with the flow.
            mark = prints[operator.id]
            found[operator.id] = f"rejected/at-{mark}" + (f"-{seen[mark]}" if seen[mark] else "")
            seen[mark] += 1
    return found
