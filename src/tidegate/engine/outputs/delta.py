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

from tidegate.engine.outputs.output import Fields, Output, Results, Sender
from tidegate.engine.outputs.outside import check_outside
from tidegate.engine.storage.errors import BadCheckpoint, SinkFailed
from tidegate.engine.storage.files import Files
from tidegate.extras import require
from tidegate.flow.arguments import checked_directory
from tidegate.flow.errors import NotSupported
from tidegate.flow.schema_json import type_shown

if TYPE_CHECKING:
    from deltalake import Schema

__all__ = ["Delta", "delta"]

_PREFIX = "written by tidegate: "
#: Characters in the path of a table that deltalake refuses, or takes for a part of a URL.
_SPECIAL = "[]%\\\n\r\t\0"


@dataclass(frozen=True, slots=True)
class Delta(Output):
    """A Delta table. Its storage options are not shown, as there may be a secret in them."""

    path: str
    options: Mapping[str, str] = field(repr=False)
    #: The senders for which `claim` has prepared the table.
    _claimed: set[Sender] = field(default_factory=set, init=False, repr=False, compare=False)

    def check(self, checkpoint: Files, sink: str) -> None:
        """Raise if the table is in a local directory of the checkpoint, which would delete it."""
        path = self.path.removeprefix("file://")
        if "://" not in path:
            check_outside(checkpoint, sink, self.path, f"file:{os.path.abspath(path)}")

    def claim(self, sender: Sender, fields: Fields) -> None:
        """Create the table if it does not exist; else check that it is this sender's and that its columns fit."""
        from deltalake import DeltaTable

        wanted = _in_delta(fields)
        with self._without_options(
            "could not be made ready for rows", hint="see that it can be reached, and start again"
        ):
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
        if list(types) != fields.names:
            raise BadCheckpoint(
                f"expected a table with columns {', '.join(fields.names)}, got {self.path} with {', '.join(types)}",
                hint="choose another path: a table that is not there is made",
            )
        for name, type_ in _types(wanted).items():
            # deltalake would convert values, for example 1.7 to 1.
            if type_ != types[name]:
                found, got = (type_shown(one).upper() for one in (types[name], type_))
                raise BadCheckpoint(
                    f"expected column {name} of type {found}, as {self.path} has it, got {got}",
                    hint="cast it to that type in a select(…) right before the sink, or choose another path",
                )
        self._claimed.add(sender)

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:
        """Add the rows of a step as one version of the table, unless the step is in it already."""
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

        if sender not in self._claimed:
            # At a start, the rows left from the last step are delivered first. The sink may have another table now.
            self.claim(sender, rows.fields)
        kept = "the rows are kept: they are written when the flow is started again"
        with self._without_options("did not take the rows", hint=kept):
            # If another writer adds the same step, the version written from here on conflicts with it.
            table = DeltaTable(self.path, storage_options=self._storage)
            last = table.transaction_version(_app(sender))
            if last is not None and last >= step:
                return
            batches = rows.batches()
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
    def _without_options(self, what: str, *, hint: str) -> Iterator[None]:
        """Raise errors of deltalake without the storage options in their text."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except Exception as error:
            # Some errors of deltalake are plain `Exception`. Any other class is not from deltalake.
            if not isinstance(error, DeltaError | OSError | ValueError) and type(error) is not Exception:
                raise
            message = _in_a_line(str(error))
            for secret in filter(None, self.options.values()):
                message = message.replace(secret, "…")
            raise SinkFailed(f"the Delta table {self.path} {what}: {message}", hint=hint) from None


def delta(path: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None) -> Delta:
    """Add results to a Delta table, one version of it for each step, so that each row is there once.

    The table is created if it does not exist. The number of a step is what Delta calls the version of an application's
    transaction. The library ``deltalake`` writes the rows, from the driver; ``storage_options`` are its options.
    """
    require("delta", "tg.delta")
    path = checked_directory(path, "delta(…)", hint='delta("out/hourly")', by="deltalake", special=_SPECIAL)
    return Delta(path, dict(storage_options or {}))


def _owner(sender: Sender) -> str:
    """Return the description of a table, which names its owner for readers and other runs."""
    return f"{_PREFIX}sink {sender.sink} of flow {sender.flow}, checkpoint {sender.checkpoint}"


def _app(sender: Sender) -> str:
    return f"tidegate-{sender.checkpoint}-{sender.sink}"


def _in_a_line(text: str) -> str:
    r"""Return the message of deltalake, which can be coloured and have several lines, without the stack trace.

    >>> _in_a_line("Schema error\n  \x1b[31m↳\x1b[0m no such type\n   0: <unknown>\n   1: <unknown>")
    'Schema error ↳ no such type'
    """
    text = re.split(r"\n\s+0: |\. Detail: Python exception: ", text)[0]
    return " ".join(re.sub(r"\x1b\[\d*m", "", text).split())


def _in_delta(fields: Fields) -> Schema:
    """Return a schema as Delta's; raise if Delta has no such type."""
    from deltalake import Schema

    whole = json.loads(fields.json, object_hook=_relaxed)
    for column in whole["fields"]:
        try:
            # deltalake would create a table with such a column, and then refuse every row.
            known = not any("interval" in leaf for leaf in _leaves(column["type"]))
            Schema.from_json(json.dumps(whole | {"fields": [column]}))
        except ValueError:
            known = False
        if not known:
            raise NotSupported(
                f"column {column['name']} is of type {type_shown(column['type'])}, which has no form in Delta",
                hint="cast it in a select(…) before the sink",
            )
    return Schema.from_json(json.dumps(whole))


def _leaves(type_: Any) -> Iterator[str]:
    """Yield the types that a type consists of, as in JSON."""
    if isinstance(type_, str):
        yield type_
        return
    inner = [field["type"] for field in type_.get("fields", ())]
    inner += [type_[part] for part in ("elementType", "keyType", "valueType") if part in type_]
    for part in inner:
        yield from _leaves(part)


def _types(schema: Schema) -> dict[str, Any]:
    """Return the types of columns as in JSON, with all of them nullable and without comments."""

    def bare(part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in _relaxed(part).items() if name != "metadata"}

    return {field["name"]: field["type"] for field in json.loads(schema.to_json(), object_hook=bare)["fields"]}


def _relaxed(part: dict[str, Any]) -> dict[str, Any]:
    return part | {name: True for name in ("nullable", "containsNull", "valueContainsNull") if name in part}
