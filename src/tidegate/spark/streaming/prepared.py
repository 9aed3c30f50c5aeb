"""What stays the same from step to step of a run: the flow, what it reads and writes, and what its operators keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.flow.plan import Plan
from tidegate.spark.arrow import struct_type
from tidegate.spark.plans import lower
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.entries import Entries, entries
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.keepers import Keeper, Types, keepers_of
from tidegate.spark.streaming.meaning import meaning, origins_of, state_keys
from tidegate.spark.streaming.sinks import Output
from tidegate.spark.streaming.state import Part, empty_rows
from tidegate.spark.streaming.work import Kept

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Prepared", "Probe", "prepared"]

#: Called at the named points of a step, with the point and the number of the step.
Probe = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A flow that is ready to run."""

    flow: Plan
    files: Files
    tables: Mapping[str, DataFrame]
    outputs: Mapping[str, Output]
    #: The columns that Spark gives the output of each operator.
    schemas: Mapping[str, StructType]
    kept: Mapping[str, Kept]
    entries: Entries
    #: The names under which the checkpoint knows sources and tables.
    origins: Mapping[str, str]
    #: What the state in the checkpoint belongs to.
    meaning: Mapping[str, Any]
    #: Says which parts of a state are written anew as one.
    fold_from: Callable[[Sequence[Part]], int]
    probe: Probe

    @property
    def keepers(self) -> dict[str, Keeper[Any]]:
        """What each operator with state keeps."""
        return {id_: own.keeper for id_, own in self.kept.items()}

    def late_rows(self, source: str) -> str:
        """Return the directory of rows of a source that were late or had no time."""
        return f"late/{self.origins[source]}"


def prepared(
    flow: Plan,
    runtime: Runtime,
    files: Files,
    tables: Mapping[str, DataFrame],
    outputs: Mapping[str, Output],
    old: Mapping[str, Any] | None,
    *,
    allow_pickle: bool,
    fold_from: Callable[[Sequence[Part]], int],
    probe: Probe,
) -> Prepared:
    """Make a flow ready; ``old`` is the meaning of the state in its checkpoint, None if there is none."""
    origins = origins_of(flow, old)
    keepers = keepers_of(flow, allow_pickle=allow_pickle)
    keys = state_keys(flow, keepers, origins)
    schemas = _schemas(flow, runtime, tables)
    kept = {}
    for id_, keeper in keepers.items():
        types = Types(tuple(schemas[name] for name in flow[id_].inputs), schemas[id_])
        kept[id_] = Kept(keeper, keys[id_], replace(types, states=tuple(keeper.state_types(runtime, types))))
    return Prepared(
        flow,
        files,
        dict(tables),
        dict(outputs),
        schemas,
        kept,
        entries(flow, keepers, runtime, schemas),
        origins,
        meaning(flow, keepers, keys, origins),
        fold_from,
        probe,
    )


def _schemas(flow: Plan, runtime: Runtime, tables: Mapping[str, DataFrame]) -> dict[str, StructType]:
    """Return what Spark makes of the flow, on no rows: what it refuses is refused before anything runs."""
    inputs = {s.id: empty_rows(runtime, struct_type(s.schema.columns)) for s in flow.sources} | dict(tables)
    with runtime.settings(spark__sql__session__timeZone=flow.timezone):
        return {id_: frame.schema for id_, frame in lower(flow, inputs, runtime).items()}
