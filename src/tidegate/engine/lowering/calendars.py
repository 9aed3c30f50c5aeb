"""Days and months in Spark SQL: which one a time is in, and when it begins, by arithmetic and tables of zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tidegate.engine.relation import Relation
from tidegate.flow.calendars import BUCKET, DAY, SECOND, Calendar, ZoneTable, calendar_of
from tidegate.flow.plan import CalendarFrame
from tidegate.flow.schema import Schema

#: More microseconds than any time is away from 1970.
_FAR = 4 * 10**17

__all__ = ["calendar_in", "with_beginnings", "with_index"]


def calendar_in(frame: CalendarFrame, schema: Schema) -> Calendar:
    """Return the calendar of windows over a column."""
    return calendar_of(frame.unit, frame.zone, schema[frame.over].type or "")


def with_index(calendar: Calendar, rows: Relation, name: str, at: str) -> Relation:
    """Return rows with the number of the day or month that a time, given in units, is in."""
    rows = rows.with_columns({"__at": at})
    if calendar.table is None:
        rows = rows.with_columns({"__day": _floor("__at", calendar.day)})
    else:
        table = calendar.table
        rows = _looked_up(rows, table.since, f"__at - {table.low}L", BUCKET * DAY, table.low, "__at", strictly=False)
        local = f"__at + {_offset(table, '__j')}"
        rows = rows.with_columns({"__local": local, "__reached": _nth(table.reached, "__j")})
        rows = _fixed(rows, "__day", f"greatest({_floor('__local', DAY)}, __reached)")
        rows = rows.without("__j", "__local", "__reached")
    if calendar.unit == "day":
        return rows.with_columns({name: "__day"}).without("__at", "__day")
    rows = rows.with_columns({"__era": _floor("(__day + 719468L)", 146_097), "__doe": "pmod(__day + 719468L, 146097L)"})
    years = "(__doe - __doe DIV 1460L + __doe DIV 36524L - __doe DIV 146096L) DIV 365L"
    rows = rows.with_columns({"__yoe": years})
    rows = rows.with_columns({"__doy": "__doe - (365L * __yoe + __yoe DIV 4L - __yoe DIV 100L)"})
    month = "12L * (__yoe + 400L * __era) + (5L * __doy + 2L) DIV 153L - 23638L"
    return _fixed(rows, name, month).without("__at", "__day", "__era", "__doe", "__yoe", "__doy")


def with_beginnings(calendar: Calendar, rows: Relation, indices: Mapping[str, str]) -> Relation:
    """Return rows with the beginnings of days or months, in units."""
    # All columns are read before the first one is replaced.
    given = {f"__i{n}": sql for n, sql in enumerate(indices.values())}
    rows = rows.with_columns(given)
    for column, name in zip(given, indices, strict=True):
        rows = _begin(calendar, rows, name, column)
    return rows.without(*given)


def _begin(calendar: Calendar, rows: Relation, name: str, index: str) -> Relation:
    if calendar.unit == "day":
        rows = rows.with_columns({"__day": index})
    else:
        months = f"({index} + 23638L)"
        rows = rows.with_columns({"__y": _floor(months, 12), "__m": f"pmod({months}, 12L)"})
        leaps = f"{_floor('__y', 4)} - {_floor('__y', 100)} + {_floor('__y', 400)}"
        rows = _fixed(rows, "__day", f"365L * __y + {leaps} + (153L * __m + 2L) DIV 5L - 719468L")
        rows = rows.without("__y", "__m")
    if calendar.table is None:
        return rows.with_columns({name: f"__day * {calendar.day}L"}).without("__day")
    table = calendar.table
    first = table.reached[0]
    rows = _looked_up(rows, table.reached, f"__day - {first}L", BUCKET, first, "__day", strictly=True)
    begins = f"greatest({_nth(table.since, '__j')}, __day * {DAY}L - {_offset(table, '__j')})"
    return _fixed(rows.without(name), name, begins).without("__day", "__j")


def _looked_up(
    rows: Relation, sorted_: Sequence[int], after: str, length: int, low: int, key: str, *, strictly: bool
) -> Relation:
    """Return rows with ``__j``: the index of the last of some sorted numbers at or below a key, or strictly below it.

    ``low`` is the lower end of the numbers, and ``after`` is the distance of the key from it. The range is divided into
    buckets of ``length``. For each bucket, the index at its beginning is known, and only the few numbers in the bucket
    are compared.
    """
    firsts, j = [], 0
    count = (sorted_[-1] - low) // length + 2
    for bucket in range(count):
        bound = low + bucket * length
        while j + 1 < len(sorted_) and (sorted_[j + 1] < bound if strictly else sorted_[j + 1] <= bound):
            j += 1
        firsts.append(j)
    most = max((b - a for a, b in pairwise(firsts)), default=0)
    # After the last bucket, the last index is the result.
    bucket_of = f"least({_floor(f'greatest({after}, 0L)', length)}, {count - 1}L)"
    rows = rows.with_columns({"__f": _nth(firsts, bucket_of)})
    sign = "<" if strictly else "<="
    nearby = f"slice({_array(sorted_)}, CAST(__f + 2L AS INT), {max(most, 1)})"
    rows = rows.with_columns({"__near": nearby})
    found = f"CAST(size(filter(__near, __x -> __x {sign} {key})) AS BIGINT)"
    return rows.with_columns({"__j": f"__f + {found}"}).without("__f", "__near")


def _offset(table: ZoneTable, index: str) -> str:
    # In whole seconds, the offsets are small numbers, and their arrays are quick to read.
    return f"{_nth([n // SECOND for n in table.offsets], index)} * {SECOND}L"


def _nth(numbers: Sequence[int], index: str) -> str:
    return f"CAST(get({_array(numbers)}, CAST({index} AS INT)) AS BIGINT)"


def _array(numbers: Sequence[int]) -> str:
    """Return numbers as an SQL array of one type. Large literals are BIGINT without a suffix."""
    small = all(-(2**31) <= n < 2**31 for n in numbers)
    return f"array({', '.join(f'{n}L' if not small and abs(n) < 2**31 else str(n) for n in numbers)})"


def _floor(value: str, length: int) -> str:
    """Return SQL for the floor of a number divided by a length. The number occurs once in it, since it may be long."""
    if length == 1:
        return value
    # No time, day or month is that far before 1970, so the dividend is not negative.
    more = _FAR // length + 1
    return f"(({value} + {more * length}L) DIV {length}L - {more}L)"


def _fixed(rows: Relation, name: str, sql: str) -> Relation:
    """Return rows with a column that is computed at this point of the plan, whatever is done with it later.

    Spark copies the expression of a column into every condition on it, again and again, and long ones grow without end.
    It does not do that with an expression over an array.
    """
    return rows.explode(name, f"array({sql})")
