"""Users' Python functions on Arrow data: how they are called, what they are given, and what they may return.

The backend's workers run them, so this code is sent to the workers as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tidegate.engine.relation import Batches, Groups
from tidegate.errors import TidegateError
from tidegate.flow.arrow import arrow_type, checked_result, rows_of
from tidegate.flow.errors import BadResult
from tidegate.flow.orders import Coordinates
from tidegate.flow.plan import MapBatches, WindowApply
from tidegate.flow.schema import Column

__all__ = ["ORDER", "applied", "check_given", "mapped", "running", "with_points"]

#: The column that numbers the rows of a group.
ORDER = "__order"


def check_given(columns: Sequence[Column]) -> None:
    """Raise if a function can't be given some columns, because Arrow has no such type."""
    for column in columns:
        arrow_type(column.type or "")


@contextmanager
def running(place: str) -> Iterator[None]:
    """Add the operator to errors that come out of a user's function. Users see the text of these errors."""
    try:
        yield
    except TidegateError as error:
        raise error.at(place) from None
    except Exception as error:
        error.add_note(f"  at: {place}")
        raise


def mapped(operator: MapBatches) -> Batches:
    """Return a user's function on batches, in the form that a backend calls, with checks of its results."""
    function, declared, time = operator.function, operator.schema.visible, operator.schema.user_time
    at = operator.schema.coordinates
    place = f"{operator.verb}(…), {operator.id}"

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in iterator:
            if not batch.num_rows:
                continue
            with running(place):
                shown = batch if at is None else batch.drop_columns(list(at.names))
                returned = checked_result(function(shown), declared, function)
                _same_times(pa.Table.from_batches([shown]), returned, time, function)
                returned = returned if at is None else with_points(at, returned)
            yield from returned.to_batches()

    return batches


def _same_times(given: pa.Table, returned: pa.Table, time: Sequence[str], function: Any) -> None:
    """Raise unless every returned time is one that was given."""
    if not time or not returned.num_rows:
        return
    if any(pa.types.is_nested(returned.schema.field(name).type) for name in time):
        # Arrow can't join by nested values.
        known = set(map(repr, rows_of(given.select(time))))
        found = [tuple(row.values()) for row in rows_of(returned.select(time)) if repr(row) not in known]
    else:
        strange = returned.select(time).join(given.select(time), keys=list(time), join_type="left anti")
        found = [tuple(row.values()) for row in strange.slice(0, 1).to_pylist()]
    if found:
        first = found[0]
        name = getattr(function, "__qualname__", repr(function))
        raise BadResult(
            f"expected from {name} only times that are in its batch, got {first[0] if len(first) == 1 else first!r}",
            hint="a function may drop, change and multiply rows, but a row keeps its time",
        )


def with_points(at: Coordinates, table: pa.Table) -> pa.Table:
    """Return rows with the points of their times. The user's columns have the times."""
    rows = rows_of(table.select(list(at.given.columns)))
    values = [at.given.time_of(*row.values()) for row in rows]
    if None in values:
        strange = tuple(rows[values.index(None)].values())
        raise BadResult(
            f"expected times of {at.given.name} that are in its order, got "
            f"{strange[0] if len(strange) == 1 else strange!r}",
            hint="a row keeps its time, or has one above it",
        )
    points = [at.encode(t) for t in values]
    axes = [
        pa.array([point[i] for point in points], arrow_type(column.type or "")) for i, column in enumerate(at.columns)
    ]
    return pa.Table.from_arrays([*axes, *table.columns], names=[*at.names, *table.column_names])


def applied(operator: WindowApply, data: Sequence[str], key: dict[str, str]) -> Groups:
    """Return a user's function on the rows of a window, in the form that a backend calls.

    ``data`` are the columns that the function is given. A function with two parameters also gets a key: ``key`` maps
    the names in it to columns. All other columns are those of the group, and come first in the result.
    """
    function = operator.function
    declared = [operator.schema[name] for name in operator.columns]

    def apply(table: pa.Table) -> pa.Table:
        groups = [name for name in table.column_names if name not in (*data, ORDER)]
        rows = table.sort_by(ORDER).select(list(data)).combine_chunks()
        with running(f"{operator.verb}(…), {operator.id}"):
            if operator.keyed:
                first = table.slice(0, 1)
                inner = _table({name: first.column(column) for name, column in key.items()})
                returned = function(rows_of(inner)[0], rows)
            else:
                returned = function(rows)
            result = checked_result(returned, declared, function)
        return _beside({name: table.column(name) for name in groups}, result)

    return apply


def _beside(key: dict[str, pa.ChunkedArray], result: pa.Table) -> pa.Table:
    """Return a table with the columns of a group, which are equal in all rows, put before its own."""
    nth = pa.array([0] * result.num_rows, pa.int64())
    before = {name: column.take(nth) for name, column in key.items()}
    return _table(before | dict(zip(result.column_names, result.columns, strict=True)))


def _table(columns: dict[str, pa.ChunkedArray]) -> pa.Table:
    """Return a table of some columns. Unlike `pyarrow.table`, it leaves them as they are."""
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))
