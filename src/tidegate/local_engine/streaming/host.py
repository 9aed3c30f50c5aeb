"""The local engine's side of a run: schemas, the rows of a step on their way out, and errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from tidegate.engine.error_messages import ErrorMessage
from tidegate.engine.outputs import Fields
from tidegate.engine.relation import Relation
from tidegate.engine.storage.errors import RunFailed
from tidegate.engine.storage.files import Files
from tidegate.errors import TidegateError
from tidegate.flow.agreed.zones import in_zone
from tidegate.flow.errors import BadArgument, NotSupported
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Column
from tidegate.flow.schema_json import schema_json
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.error_messages import describe_error
from tidegate.local_engine.paths import parquet_files
from tidegate.local_engine.streaming.json_values import json_text
from tidegate.local_engine.types import of_arrow, zoned_type

__all__ = ["LocalHost", "LocalResults", "at_source", "fields_of"]

_BATCH = 8192
#: The comment of tables that `memory` makes, by which they are recognised.
_COLLECTED = "collected by tidegate"
#: The query for existing names where `memory` makes tables. DuckDB's names are not case-sensitive.
_THERE = """
SELECT kind, comment FROM (
    SELECT 'table' AS kind, table_name AS name, * FROM duckdb_tables()
    UNION ALL BY NAME SELECT 'view' AS kind, view_name AS name, * FROM duckdb_views()
) WHERE lower(name) = lower(?) AND database_name = current_database() AND schema_name = current_schema()
"""


class LocalHost:
    """A session of the local engine that runs a flow; ``tables`` are those of the flow."""

    name = "local"

    def __init__(self, backend: LocalBackend, tables: Mapping[str, Relation], shown: duckdb.DuckDBPyConnection) -> None:
        self.backend = backend
        self.tables = dict(tables)
        #: The rows that a step has just staged, if they are few, by path.
        self.written: dict[str, pa.Table] = {}
        #: The connection in which users find the tables of `memory`.
        self._shown = shown

    def lowering(self, flow: Plan) -> AbstractContextManager[None]:
        """Translate expressions for the time zone of the flow."""
        return in_zone(flow.timezone)

    def shape(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns, which are the shape here."""
        return tuple(columns)

    def fields(self, shape: tuple[Column, ...]) -> Fields:
        """Return the columns of a shape."""
        return self.backend.once(("fields", shape), lambda: fields_of(self.backend, shape))

    def results(self, files: Files, path: str) -> LocalResults:
        """Return the rows of a step."""
        if (just_written := self.written.pop(files.path(path), None)) is not None:
            return LocalResults(just_written, self._shown)
        found = parquet_files(files.here / path / name for name in files.names(path))
        # Arrow does not read the file: it would make columns without NULLs not nullable.
        rows = self.backend.run(f"SELECT * FROM {found}")
        return LocalResults(rows.to_arrow_table(), self._shown)

    def records(self, files: Files) -> list[str]:  # noqa: ARG002
        """Return no directories: a commit depends on no other records here."""
        return []

    def describe_error(self, error: BaseException) -> ErrorMessage:
        """Return the message of an error, in our form."""
        return describe_error(error)

    def sees_all(
        self,
        flow: Plan,  # noqa: ARG002
        name: str,  # noqa: ARG002
        sources: Sequence[str],  # noqa: ARG002
        shapes: Any,  # noqa: ARG002
        relevant: Callable[[Relation], Relation],  # noqa: ARG002
    ) -> bool:
        """Whether all rows of the sources are read. Always: aggregates are computed over a table that has them."""
        return True


@contextmanager
def at_source(name: str, verb: str = "source") -> Iterator[None]:
    """Add the source or table to errors that are raised in the block."""
    try:
        yield
    except TidegateError as error:
        raise error.at(f"{verb} {name!r}") from None
    except Exception as error:
        raise RunFailed(describe_error(error).text).at(f"{verb} {name!r}") from error


class LocalResults:
    """The rows of a step as an Arrow table."""

    def __init__(self, rows: pa.Table, shown: duckdb.DuckDBPyConnection) -> None:
        self.native = rows
        self._shown = shown

    @cached_property
    def fields(self) -> Fields:
        """Return the columns of the rows."""
        columns = tuple(Column(field.name, of_arrow(field.type)) for field in self.native.schema)
        return Fields(columns, self.native.schema, schema_json(columns))

    def batches(self, *, as_json: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Return the rows in batches."""
        types = {column.name: column.type or "" for column in self.fields.columns}
        for batch in self.native.to_batches(max_chunksize=_BATCH):
            columns = [
                pa.array([json_text(value, types[name]) for value in column.to_pylist()], pa.string())
                if name in as_json
                else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def shown(self, rows: int) -> str:
        """Return the first rows as a table."""
        head = self.native.slice(0, rows)
        texts = [[_cell(value) for value in column.to_pylist()] for column in head.columns]
        widths = [max(map(len, [name, *texts[i]])) for i, name in enumerate(head.column_names)]
        rule = "+" + "+".join("-" * width for width in widths) + "+"
        lines = [head.column_names, *zip(*texts, strict=True)] if texts else [head.column_names]
        drawn = ["|" + "|".join(text.ljust(w) for text, w in zip(line, widths, strict=True)) + "|" for line in lines]
        more = [f"only showing top {rows} rows"] if self.native.num_rows > rows else []
        return "\n".join([rule, drawn[0], rule, *drawn[1:], rule, *more])

    def collected(self) -> pa.Table:
        """Return all rows."""
        return self.native

    def remember(self, name: str, collected: Sequence[pa.Table]) -> None:
        """Make a table of the collected rows, which all connections of the session see."""
        connection = self._shown.cursor()
        connection.register("__tidegate_collected", pa.concat_tables(collected))
        bare = name.strip("`").replace("``", "`")
        there = connection.execute(_THERE, [bare]).fetchone()
        if there is not None and there[1] != _COLLECTED:
            raise BadArgument(
                f"there is a {there[0]} {bare} that memory({name!r}) has not made", hint="take another name"
            )
        own = duckdb_name(bare)
        connection.execute(f"CREATE OR REPLACE TABLE {own} AS SELECT * FROM __tidegate_collected")
        connection.execute(f"COMMENT ON TABLE {own} IS '{_COLLECTED}'")
        connection.close()


def fields_of(backend: LocalBackend, columns: Sequence[Column]) -> Fields:
    """Return columns in the form that outputs are given."""
    for column in columns:
        if re.search(r"\bVOID\b(?!`?:)", column.type or "VOID"):
            raise NotSupported(f"column {column.name} has no type", hint="cast it in a select(…) before the sink")
    nulls = ", ".join(f"CAST(NULL AS {zoned_type(c.type or '')}) AS {duckdb_name(c.name)}" for c in columns)
    schema = backend.run(f"SELECT {nulls} LIMIT 0").to_arrow_table().schema
    return Fields(tuple(columns), schema, schema_json(columns))


def _cell(value: Any) -> str:
    return "NULL" if value is None else str(value)
