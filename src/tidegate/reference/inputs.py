"""The inputs of a flow: checked against what its sources declare; bad and late rows are set aside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from tidegate.flow.arrow import rows_of, table_of
from tidegate.flow.errors import BadInput, FlowError
from tidegate.flow.limits import Limit, out_of_range
from tidegate.flow.orders import NOT_IN_ORDER
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units
from tidegate.spec import DT, WM, Event
from tidegate.time import NotATime

__all__ = ["LateEvent", "RejectedRow", "checked_table", "in_utc", "source_events", "table_rows"]


@dataclass(frozen=True, slots=True)
class LateEvent:
    """A row that came after its time was complete: only windows with lateness accept it. ``origin`` identifies it."""

    t: Any
    d: Any
    origin: tuple[str, int]


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that cannot take part, and the reason."""

    row: Mapping[str, Any]
    reason: str


def table_rows(table: Table, given: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the rows of a table, checked."""
    rows = list(given)
    for row in rows:
        if isinstance(row, DT | WM):
            raise BadInput(f"expected rows of the table {table.id} as dicts, got {row!r}", hint="a table has no time")
    return _checked(rows, table.schema, table.id)


def source_events(
    source: Source, given: Iterable[Any], limits: Sequence[Limit]
) -> tuple[list[Event | LateEvent], list[RejectedRow]]:
    """Return the events of a source, checked, with late rows marked; and the rows that were rejected."""
    schema, order = source.schema, source.schema.order
    given = list(given)
    for i, event in enumerate(given):
        if not isinstance(event, DT | WM | Mapping):
            got = f"{event!r} ({type(event).__name__})"
            hint = "a row is a dict of all columns; DT(time, row) also says its time, WM(time) is a watermark"
            raise BadInput(f"expected a row, DT or WM in event {i} of {source.id}, got {got}", hint=hint)
    data = [event.d if isinstance(event, DT) else event for event in given if not isinstance(event, WM)]
    rows = _checked(data, schema, source.id)
    remaining = iter(rows)
    events: list[Event | LateEvent] = []
    rejected: list[RejectedRow] = []
    watermarks: list[Any] = []
    for i, event in enumerate(given):
        if isinstance(event, WM):
            watermark = in_utc(event.t)
            try:
                order.check(watermark, extended=True)
            except NotATime as error:
                raise error.at(f"event {i} of {source.id}: {event!r}") from None
            watermarks.append(watermark)
            events.append(WM(watermark))
            continue
        row = next(remaining)
        empty = [name for name in schema.time if row[name] is None]
        if empty:
            rejected.append(RejectedRow(row, f"null time in {', '.join(empty)}"))
            continue
        beyond = [limit for limit in limits if units(row[limit.column], limit.type) not in limit]
        if beyond:
            rejected.append(RejectedRow(row, out_of_range(beyond)))
            continue
        t = schema.time_of(row)
        if t is None:
            rejected.append(RejectedRow(row, f"{schema.ordered.name if schema.ordered else ''}{NOT_IN_ORDER}"))
            continue
        if isinstance(event, DT) and t != in_utc(event.t):
            raise BadInput(
                f"expected the time of the row, {t!r}, in event {i} of {source.id}, got DT({event.t!r}, …)",
                hint="DT(t, row) with t from the row's time columns; or the row alone",
            )
        if any(order.le(t, wm) for wm in watermarks):
            events.append(LateEvent(t, row, (source.id, i)))
        else:
            events.append(DT(t, row))
    return events, rejected


def in_utc(t: Any) -> Any:
    """Return a time with instants that have a time zone converted to UTC, without one.

    >>> from datetime import datetime, timezone, timedelta
    >>> in_utc((3, datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))))
    (3, datetime.datetime(2026, 1, 1, 0, 0))
    """
    if isinstance(t, tuple):
        return tuple(map(in_utc, t))
    if isinstance(t, datetime) and t.tzinfo is not None:
        try:
            return t.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise BadInput(f"expected an instant of the years 1 to 9999 in UTC, got {t}") from None
    return t


def _checked(rows: Sequence[Any], schema: Schema, name: str) -> list[dict[str, Any]]:
    return rows_of(checked_table(rows, schema, name))


def checked_table(rows: Sequence[Any], schema: Schema, name: str) -> pa.Table:
    """Return rows, which are dicts of all columns, as an Arrow table; ``name`` is that of their source or table."""
    expected = set(schema.names)
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            got = f"{row!r} ({type(row).__name__})"
            raise BadInput(f"expected row {i} of {name} as a dict of all columns, got {got}")
        if set(row) != expected:
            missing = [c for c in schema.names if c not in row]
            extra = [str(c) for c in row if c not in expected]
            what = [f"lacks {', '.join(missing)}"] if missing else []
            what += [f"has {', '.join(extra)} too many"] if extra else []
            raise BadInput(
                f"expected row {i} of {name} with columns {', '.join(schema.names)}; it {' and '.join(what)}"
            )
    try:
        return table_of(rows, schema.columns)
    except FlowError as error:
        raise error.at(f"input {name!r}") from None
