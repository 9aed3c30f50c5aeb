"""`top`, `last` and `latest`: the first of all rows at or below a time, without joining times with times.

The values that occur in a time column are numbered, and these numbers are called places. The rows at or below a time
are those of all places up to it. The first n places are divided into blocks with sizes of powers of two: 13 into 8,
then 4, then 1. For each block, its first rows are computed once. A time chooses from the first rows of its blocks,
which are no more than log m for m places. With several time columns, blocks are products. Finite orders are the
exception: their elements are joined in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.lowering.accumulate import counted_at
from tidegate.engine.lowering.chains import UNTIL, remembered
from tidegate.engine.lowering.ranks import chosen_columns, first_of_each
from tidegate.engine.relation import Relation, as_they_are
from tidegate.engine.units import to_units
from tidegate.flow import plan
from tidegate.flow.orders import PosetCoordinates

__all__ = ["placed", "top", "top_answers"]

#: The sizes of blocks. The last is greater than any number of places.
_SIZES = f"array({', '.join(f'{2**i}L' for i in range(48))})"


def top(operator: plan.Top, rows: Relation) -> Relation:
    """Return, for each group, the first of all rows at or below a time."""
    return top_answers(operator, placed(operator, rows), rows)


def placed(operator: plan.Top, rows: Relation) -> Relation:
    """Return rows with their group ``__k…``, the time ``__t…`` from which on they count, and ``__here``, which is 1."""
    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.by)}
    return rows.with_columns(keys | {f"__t{i}": sql for i, sql in enumerate(counted_at(operator))} | {"__here": "1L"})


def top_answers(operator: plan.Top, found: Relation, own: Relation) -> Relation:
    """Return the answers at each time and group that has a row with ``__here`` > 0, from rows that are `placed`.

    With ``emit="complete"``, there are answers for every group at each time with such a row. ``own`` has the columns of
    the input.
    """
    numbers = range(len(operator.schema.time))
    keys = [f"__k{i}" for i in range(len(operator.by))]
    times, places, sizes, blocks = ([f"__{letter}{i}" for i in numbers] for letter in "tpsb")
    complete = operator.emit == "complete"
    if operator.forget is not None:
        since = to_units("__t0", operator.schema.times[0].type or "")
        found, keys = remembered(found, since, operator.forget, keys), [*keys, UNTIL]
    if isinstance(operator.schema.coordinates, PosetCoordinates):
        return _by_pairs(operator, found, own, keys, times)
    at = _with_places(found, times, [] if complete else keys)
    asked = at.where("__here > 0").select(as_they_are([*times, *places, *([] if complete else keys)])).distinct()
    if complete and keys:
        asked = asked.join(found.select(as_they_are(keys)).distinct(), "true")
    if complete and operator.forget is not None:
        asked = asked.where(f"{since} < {UNTIL}")
    rows = first_of_each(operator, at, [*keys, *times], own)
    for i in numbers:
        rows = rows.explode(f"__s{i}", f"filter({_SIZES}, __s -> __s <= __m{i})")
        asked = asked.explode(f"__s{i}", f"filter({_SIZES}, __s -> (__p{i} DIV __s) % 2L = 1L)")
    rows = rows.with_columns({f"__b{i}": f"(__p{i} - 1L) DIV __s{i}" for i in numbers})
    rows = first_of_each(operator, rows, [*keys, *sizes, *blocks], own)
    asked = asked.select(
        as_they_are(times)
        | {f"{name}x": name for name in (*keys, *sizes)}
        | {f"__b{i}x": f"__p{i} DIV __s{i} - 1L" for i in numbers}
    )
    same = " AND ".join(f"{name} <=> {name}x" for name in (*keys, *sizes, *blocks))
    pairs = asked.join(rows.select(as_they_are([*own.names, *keys, *sizes, *blocks])), same)
    columns = {name: f"__t{i}" for i, name in enumerate(operator.schema.time)}
    return first_of_each(operator, pairs, [*keys, *times], own).select(columns | chosen_columns(operator, own))


def _by_pairs(
    operator: plan.Top, found: Relation, own: Relation, keys: Sequence[str], times: Sequence[str]
) -> Relation:
    """Return the answers on a finite order by joining elements with elements: they are few, and may have many axes."""
    complete = operator.emit == "complete"
    wanted = [*times, *([] if complete else keys)]
    asked = found.where("__here > 0").select({f"{name}x": name for name in wanted}).distinct()
    if complete and keys:
        asked = asked.join(found.select({f"{name}x": name for name in keys}).distinct(), "true")
    rows = first_of_each(operator, found, [*keys, *times], own)
    below = " AND ".join([*(f"{name} <=> {name}x" for name in keys), *(f"{name} <= {name}x" for name in times)])
    pairs = asked.join(rows.select(as_they_are([*own.names, *keys, *times])), below)
    chosen = first_of_each(operator, pairs, [f"{name}x" for name in (*keys, *times)], own)
    columns = {name: f"__t{i}x" for i, name in enumerate(operator.schema.time)}
    return chosen.select(columns | chosen_columns(operator, own))


def _with_places(rows: Relation, times: Sequence[str], apart: Sequence[str]) -> Relation:
    """Return rows with their place ``__p…`` in each time column, from 1 on, and the number of places ``__m…``."""
    for i, name in enumerate(times):
        # Only the first row of each place is counted.
        rows = rows.over({"__more": call("row_number")}, [*apart, name], [name])
        rows = rows.with_columns({"__more": "IF(__more = 1, 0L, 1L)"})
        rows = rows.over({f"__p{i}": call("sum", "1L - __more")}, apart, [name, "__more"], so_far=True)
        rows = rows.over({f"__m{i}": call("max", f"__p{i}")}, apart)
    return rows.without("__more")
