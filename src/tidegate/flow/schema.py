"""The columns of a stream: their names, their types as far as they are known, and which of them are its time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one
from sqlglot.errors import ParseError, TokenError

from tidegate.flow import sqltypes
from tidegate.flow.errors import BadSchema, BadTime, ColumnClash, UnknownColumn, did_you_mean, pointed
from tidegate.flow.parser import place_of_error
from tidegate.time import Int, Order, Product

if TYPE_CHECKING:
    from tidegate.flow.orders import Coordinates, Ordered

__all__ = ["Column", "Schema", "exact", "parse_schema"]


@dataclass(frozen=True, slots=True)
class Column:
    """A name and a type; the type is None if only Spark knows it."""

    name: str
    type: str | None

    def __str__(self) -> str:
        return f"{sqltypes.quoted(self.name)} {self.type or '(open)'}"


@dataclass(frozen=True, slots=True, repr=False)
class Schema:
    """The columns of a stream; its time columns come first. Names are found whatever their case, as in Spark.

    >>> schema = Schema((Column("ts", "TIMESTAMP"), Column("page", "STRING")), time=("ts",))
    >>> print(schema)
    ts TIMESTAMP, page STRING; time: ts
    >>> schema["PAGE"].type, schema.order
    ('STRING', EventTime())
    """

    columns: tuple[Column, ...]
    time: tuple[str, ...] = ()
    #: If times are not ordered by their values: how they are ordered. In the plan of an engine, the points that stand
    #: for them: then ``time`` are the axes, and the user's column is one of the others.
    ordering: Ordered | Coordinates | None = None

    def __str__(self) -> str:
        columns = ", ".join(map(str, self.visible))
        if not self.time:
            return columns
        by = f", ordered by a {type(self.ordering.order).__name__}" if self.ordering is not None else ""
        return f"{columns}; time: {', '.join(self.user_time)}{by}"

    def __repr__(self) -> str:
        return f"Schema({str(self)!r})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, in order."""
        return tuple(c.name for c in self.columns)

    def of(self, columns: Iterable[Column]) -> Schema:
        """Return other columns of the same times."""
        return replace(self, columns=tuple(columns))

    @property
    def coordinates(self) -> Coordinates | None:
        """How times become points, if the time columns are points and not the user's own."""
        return self.ordering if self.ordering is not None and self.ordering.on_axes else None  # type: ignore[return-value]

    @property
    def ordered(self) -> Ordered | None:
        """How the values of the time columns are ordered, if not by their size, or as a product."""
        return None if self.coordinates else self.ordering  # type: ignore[return-value]

    @property
    def visible(self) -> tuple[Column, ...]:
        """The columns that a user knows: no axes."""
        return tuple(c for c in self.columns if c.name not in self.time) if self.coordinates else self.columns

    @property
    def user_time(self) -> tuple[str, ...]:
        """The names of the time columns that a user knows."""
        return self.coordinates.given.columns if self.coordinates else self.time

    @property
    def data(self) -> tuple[Column, ...]:
        """The columns that are not time."""
        return tuple(c for c in self.columns if c.name not in self.time)

    @property
    def times(self) -> tuple[Column, ...]:
        """The time columns."""
        return tuple(self[name] for name in self.time)

    @property
    def time_columns(self) -> list[list[str | None]]:
        """The time columns that a user knows, with their types, for files."""
        return [[c.name, c.type] for c in (self[name] for name in self.user_time)]

    @property
    def promised_times(self) -> list[list[str | None]]:
        """The time columns, and their order if it is not that of their values; a flow that follows needs the same."""
        found = self.time_columns
        if self.ordering is not None:
            found.append(["ordered by", type(self.ordering.order).__name__])
        return found

    @property
    def order(self) -> Order[Any]:
        """The order of the stream's times: that of the one time column, or the product of several."""
        if self.ordered is not None:
            return self.ordered.order
        parts = [self._order(c) for c in self.times]
        if not parts:
            raise BadTime("a table has no time, and so no order", hint="use a stream")
        return parts[0] if len(parts) == 1 else Product(*parts)

    def _order(self, column: Column) -> Order[Any]:
        order = Int() if column.type == sqltypes.WIDE else sqltypes.order_of(column.type or "")
        if order is None:
            raise BadTime(f"column {column.name} of type {column.type} is not a time")
        return order

    def find(self, name: str) -> Column | None:
        """Return the column of that name, or None."""
        lower = name.lower()
        return next((c for c in self.columns if c.name.lower() == lower), None)

    def __getitem__(self, name: str) -> Column:
        found = self.find(name)
        if found is None:
            raise self.unknown(name)
        return found

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def unknown(self, name: str, *, text: str = "", start: int = 0) -> UnknownColumn:
        """Build the error for a column that is not there; ``text`` is where it was named."""
        what = f"unknown column {name}"
        if text:
            what = pointed(what, text, start, start + len(name))
        return UnknownColumn(
            f"{what}\n  columns: {', '.join(map(str, self.columns)) or 'none'}",
            hint=did_you_mean(name, self.names),
        )

    def time_of(self, row: Mapping[str, Any]) -> Any:
        """Return the time of a row: a value, or with several time columns a tuple.

        >>> Schema((Column("a", "INT"), Column("b", "INT")), time=("a", "b")).time_of({"a": 1, "b": 2})
        (1, 2)
        """
        values = tuple(row[name] for name in self.time)
        if self.ordered is not None:
            return self.ordered.time_of(*values)
        if self.coordinates is not None:
            # A wide number is a decimal in Python.
            values = tuple(int(v) if c.type == sqltypes.WIDE else v for v, c in zip(values, self.times, strict=True))
        return values[0] if len(values) == 1 else values

    def at(self, t: Any) -> dict[str, Any]:
        """Return the time columns of a row at a time.

        >>> Schema((Column("a", "INT"), Column("b", "INT")), time=("a", "b")).at((1, 2))
        {'a': 1, 'b': 2}
        """
        if self.ordered is not None:
            return self.ordered.at(t)
        return dict(zip(self.time, (t,) if len(self.time) == 1 else t, strict=True))


def distinct_names(columns: Iterable[Column], *, hint: str) -> tuple[Column, ...]:
    """Return the columns as a tuple, or raise if two have one name or a name is reserved."""
    seen: dict[str, Column] = {}
    for column in columns:
        if column.name.startswith("__"):
            raise BadSchema(
                f"names that begin with two underscores are reserved, got {column.name}", hint="take another name"
            )
        if column.name.lower() in seen:
            raise ColumnClash(f"two columns of the result would be called {column.name}", hint=hint)
        seen[column.name.lower()] = column
    return tuple(seen.values())


def exact(columns: Iterable[Column]) -> bool:
    """Whether a key determines the values that it was made of: for 0.0 and -0.0, a group keeps only one of them."""
    return all(c.type is not None and not any(t in c.type for t in sqltypes.FRACTIONS) for c in columns)


def parse_schema(schema: Any, *, time: tuple[str, ...] = ()) -> Schema:
    """Return the schema that a DDL text, a mapping from name to type, or a PySpark ``StructType`` describes.

    >>> parse_schema("page STRING, bytes LONG, ts TIMESTAMP", time=("ts",)).names
    ('ts', 'page', 'bytes')
    """
    columns = _columns(schema)
    if not columns:
        raise BadSchema("expected a schema with at least one column, got none", hint='"ts TIMESTAMP, page STRING"')
    distinct_names(columns, hint="names that differ only in case are the same; rename one of the columns")
    flat = Schema(tuple(columns))
    times = []
    for name in time:
        column = flat[name]
        if sqltypes.order_of(column.type or "") is None:
            raise BadTime(
                f"expected a time column of an integer type, DATE or TIMESTAMP, got {column}",
                hint="derive a column of such a type before the rows come in",
            )
        if column in times:
            raise BadTime(f"time column {column.name} is named twice")
        times.append(column)
    return Schema((*times, *(c for c in columns if c not in times)), time=tuple(c.name for c in times))


def _columns(schema: Any) -> list[Column]:
    if isinstance(schema, Schema):
        return list(schema.columns)
    if isinstance(schema, str):
        return _parse_ddl(schema)
    if isinstance(schema, Mapping):
        return [Column(name, sqltypes.canonical(type_)) for name, type_ in schema.items()]
    fields = getattr(schema, "fields", None)
    if fields is not None and all(hasattr(f, "dataType") for f in fields):
        return [Column(f.name, sqltypes.canonical(sqltypes.of_spark(f.dataType))) for f in fields]
    raise BadSchema(
        f"expected a schema as text, as a mapping from name to type or as a StructType, got {type(schema).__name__}",
        hint='for example "ts TIMESTAMP, page STRING, bytes INT"',
    )


_PREFIX = "CREATE TABLE t ("


def _parse_ddl(text: str) -> list[Column]:
    hint = 'write it as "name TYPE, name TYPE, …", for example "ts TIMESTAMP, page STRING"'
    if not text.strip():
        return []
    try:
        tree = parse_one(f"{_PREFIX}{text})", dialect="spark")
    except ParseError as error:
        start, end = place_of_error(text, error, before=len(_PREFIX))
        raise BadSchema(pointed("this schema does not parse", text, start, end), hint=hint) from None
    except TokenError as error:
        raise BadSchema(f"this schema does not parse: {error}\n  {text}", hint=hint) from None
    columns = []
    for part in tree.this.expressions if isinstance(tree.this, exp.Schema) else []:
        kind = part.args.get("kind") if isinstance(part, exp.ColumnDef) else None
        if kind is None:
            start = max(0, part.meta.get("start", len(_PREFIX)) - len(_PREFIX))
            what = pointed(f"column {part.name} has no type", text, start, start + len(part.name))
            raise BadSchema(what, hint=hint)
        columns.append(Column(part.name, sqltypes.of_tree(kind)))
    sqltypes.check_known(tree, text)
    return columns
