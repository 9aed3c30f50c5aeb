"""Results in a Delta table: a step is one version of the table, which names the step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.extras import require
from tidegate.flow.arguments import checked_directory
from tidegate.spark.streaming.batches import arrow_batches
from tidegate.spark.streaming.errors import BadCheckpoint, SinkFailed
from tidegate.spark.streaming.sinks import Sender

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Delta", "delta"]

_PREFIX = "written by tidegate: "
#: What deltalake takes for a part of a URL, or refuses, in the path of a table.
_SPECIAL = "[]%\\\n\r\t\0"


@dataclass(frozen=True, slots=True)
class Delta:
    """A Delta table. What it takes to reach its store is not shown: there may be a secret in it."""

    path: str
    options: Mapping[str, str] = field(repr=False)

    def claim(self, sender: Sender, schema: StructType) -> None:
        """Make the table if it is not there, or see that it is this sender's and has the columns."""
        from deltalake import DeltaTable, Schema

        with self._told():
            if not DeltaTable.is_deltatable(self.path, self._storage):
                DeltaTable.create(
                    self.path,
                    Schema.from_json(_nullable(schema)),
                    description=_owner(sender),
                    storage_options=self._storage,
                )
                return
            table = DeltaTable(self.path, storage_options=self._storage)
            owner = table.metadata().description or ""
            columns = [f.name for f in table.schema().fields]
        if owner.startswith(_PREFIX) and owner != _owner(sender):
            raise BadCheckpoint(
                f"expected a table of its own, and {self.path} belongs to another: {owner}",
                hint="choose another path; or delete this one, if its checkpoint is gone",
            )
        if columns != schema.names:
            raise BadCheckpoint(
                f"expected a table with columns {', '.join(schema.names)}, got {self.path} with {', '.join(columns)}",
                hint="choose another path: a table that is not there is made",
            )

    def deliver(self, sender: Sender, rows: DataFrame, step: int) -> None:
        """Add the rows of a step as one version of the table; nothing if the step is there already."""
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

        with self._told():
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
    def _told(self) -> Iterator[None]:
        """Tell what goes wrong without what it takes to reach the store."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, ValueError) as error:
            said = str(error)
            for secret in filter(None, self.options.values()):
                said = said.replace(secret, "…")
            raise SinkFailed(
                f"the Delta table {self.path} did not take the rows: {said}",
                hint="the rows are kept: they are written when the flow is started again",
            ) from None


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


def _nullable(schema: StructType) -> str:
    """Answer a schema as Delta writes it down, which is Spark's own way; every value may be missing."""

    def relaxed(part: dict[str, Any]) -> dict[str, Any]:
        return part | {name: True for name in ("nullable", "containsNull", "valueContainsNull") if name in part}

    return json.dumps(json.loads(schema.json(), object_hook=relaxed))
