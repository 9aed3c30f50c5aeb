"""Results in a Delta table: a step is one version of the table, which names the step."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.engine.storage.errors import BadCheckpoint, SinkFailed
from tidegate.engine.storage.files import Files
from tidegate.extras import require
from tidegate.flow.arguments import checked_directory
from tidegate.flow.errors import NotSupported
from tidegate.spark.streaming.batches import arrow_batches
from tidegate.spark.streaming.outputs.output import Output, Sender
from tidegate.spark.streaming.outputs.outside import check_outside

if TYPE_CHECKING:
    from deltalake import Schema
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

__all__ = ["Delta", "delta"]

_PREFIX = "written by tidegate: "
#: What deltalake takes for a part of a URL, or refuses, in the path of a table.
_SPECIAL = "[]%\\\n\r\t\0"


@dataclass(frozen=True, slots=True)
class Delta(Output):
    """A Delta table. What it takes to reach its store is not shown: there may be a secret in it."""

    path: str
    options: Mapping[str, str] = field(repr=False)
    #: For whom `claim` has made the table ready.
    _claimed: set[Sender] = field(default_factory=set, init=False, repr=False, compare=False)

    def check(self, spark: SparkSession, checkpoint: Files, sink: str) -> None:  # noqa: ARG002
        """Raise if the table is on a disk of this machine, where the checkpoint would sweep it away."""
        path = self.path.removeprefix("file://")
        if "://" not in path:
            check_outside(checkpoint, sink, self.path, f"file:{os.path.abspath(path)}")

    def claim(self, sender: Sender, schema: StructType) -> None:
        """Make the table if it is not there, or see that it is this sender's and has the columns, with their types."""
        from deltalake import DeltaTable

        wanted = _in_delta(schema)
        with self._told("could not be made ready for rows", hint="see that it can be reached, and start again"):
            if not DeltaTable.is_deltatable(self.path, self._storage):
                DeltaTable.create(
                    self.path,
                    wanted,
                    description=_owner(sender),
                    storage_options=self._storage,
                )
            table = DeltaTable(self.path, storage_options=self._storage)
            owner = table.metadata().description or ""
            types = _types(table.schema())
        if owner.startswith(_PREFIX) and owner != _owner(sender):
            raise BadCheckpoint(
                f"expected a table of its own, and {self.path} belongs to another: {owner}",
                hint="choose another path; or delete this one, if its checkpoint is gone",
            )
        if list(types) != schema.names:
            raise BadCheckpoint(
                f"expected a table with columns {', '.join(schema.names)}, got {self.path} with {', '.join(types)}",
                hint="choose another path: a table that is not there is made",
            )
        for name, type_ in _types(wanted).items():
            # deltalake would convert values, and make 1 of 1.7.
            if type_ != types[name]:
                raise BadCheckpoint(
                    f"expected column {name} of type {_shown(types[name])}, as {self.path} has it, got {_shown(type_)}",
                    hint="cast it to that type in a select(…) right before the sink, or choose another path",
                )
        self._claimed.add(sender)

    def deliver(self, sender: Sender, rows: DataFrame, step: int) -> None:
        """Add the rows of a step as one version of the table; nothing if the step is there already."""
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

        if sender not in self._claimed:
            # A start hands over what is left of the last step first, and the sink may have another table now.
            self.claim(sender, rows.schema)
        kept = "the rows are kept: they are written when the flow is started again"
        with self._told("did not take the rows", hint=kept):
            # Another writer of the same steps makes the version that is written from here on a conflict.
            table = DeltaTable(self.path, storage_options=self._storage)
            last = table.transaction_version(_app(sender))
            if last is not None and last >= step:
                return
            batches = arrow_batches(rows)
            first = next(batches)
            data = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
            named = CommitProperties(
                custom_metadata={"flow": sender.flow, "sink": sender.sink, "step": str(step)},
                app_transactions=[Transaction(_app(sender), step)],
            )
            write_deltalake(table, data, mode="append", commit_properties=named)

    @property
    def _storage(self) -> dict[str, str] | None:
        return dict(self.options) or None

    @contextmanager
    def _told(self, what: str, *, hint: str) -> Iterator[None]:
        """Tell what goes wrong in deltalake without what it takes to reach the store."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except Exception as error:
            # Not all of its errors have a class; what has another class is not deltalake's.
            if not isinstance(error, DeltaError | OSError | ValueError) and type(error) is not Exception:
                raise
            said = _in_a_line(str(error))
            for secret in filter(None, self.options.values()):
                said = said.replace(secret, "…")
            raise SinkFailed(f"the Delta table {self.path} {what}: {said}", hint=hint) from None


def delta(path: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None) -> Delta:
    """Add results to a Delta table, one version of it for each step, so that each row is there once.

    The number of the step is the version of an application's transaction, as Delta calls it. A table that is not there
    is made. ``storage_options`` are those of the library ``deltalake``, which writes the rows, from the driver.
    """
    require("delta", "tg.delta")
    path = checked_directory(path, "delta(…)", hint='delta("out/hourly")', by="deltalake", special=_SPECIAL)
    return Delta(path, dict(storage_options or {}))


def _owner(sender: Sender) -> str:
    """Answer the description of a table, from which readers and other runs see whose it is."""
    return f"{_PREFIX}sink {sender.sink} of flow {sender.flow}, checkpoint {sender.checkpoint}"


def _app(sender: Sender) -> str:
    return f"tidegate-{sender.checkpoint}-{sender.sink}"


def _in_a_line(text: str) -> str:
    r"""Return what deltalake says, which may be coloured and on several lines, without the stack behind it.

    >>> _in_a_line("Schema error\n  \x1b[31m↳\x1b[0m no such type\n   0: <unknown>\n   1: <unknown>")
    'Schema error ↳ no such type'
    """
    text = re.split(r"\n\s+0: |\. Detail: Python exception: ", text)[0]
    return " ".join(re.sub(r"\x1b\[\d*m", "", text).split())


def _in_delta(schema: StructType) -> Schema:
    """Return a schema in Delta's words; raise if there is a type that it has none for."""
    from deltalake import Schema
    from pyspark.sql.types import StructType

    for column in schema.fields:
        try:
            # deltalake makes a table with such a column, and then takes no row for it.
            known = not any("interval" in leaf.typeName() for leaf in _leaves(column.dataType))
            Schema.from_json(_nullable(StructType([column])))
        except ValueError:
            known = False
        if not known:
            raise NotSupported(
                f"column {column.name} is of type {column.dataType.simpleString()}, which has no form in Delta",
                hint="cast it in a select(…) before the sink",
            )
    return Schema.from_json(_nullable(schema))


def _leaves(type_: DataType) -> Iterator[DataType]:
    """Yield the types that a type is made of."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(type_, StructType):
        parts = [field.dataType for field in type_.fields]
    elif isinstance(type_, MapType):
        parts = [type_.keyType, type_.valueType]
    elif isinstance(type_, ArrayType):
        parts = [type_.elementType]
    else:
        yield type_
        return
    for part in parts:
        yield from _leaves(part)


def _nullable(schema: StructType) -> str:
    """Return a schema as Delta writes it down, which is Spark's own way; every value may be missing."""
    return json.dumps(json.loads(schema.json(), object_hook=_relaxed))


def _types(schema: Schema) -> dict[str, Any]:
    """Return the types of columns as they stand in JSON, whether values may be missing or not, and without comments."""

    def bare(part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in _relaxed(part).items() if name != "metadata"}

    return {field["name"]: field["type"] for field in json.loads(schema.to_json(), object_hook=bare)["fields"]}


def _relaxed(part: dict[str, Any]) -> dict[str, Any]:
    return part | {name: True for name in ("nullable", "containsNull", "valueContainsNull") if name in part}


def _shown(type_: Any) -> str:
    """Return a type in words of SQL; in JSON, Delta and Spark write it alike."""
    from pyspark.sql.types import StructField

    field = StructField.fromJson({"name": "", "type": type_, "nullable": True})
    return field.dataType.simpleString().upper()
