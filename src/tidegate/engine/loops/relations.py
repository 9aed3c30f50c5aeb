"""The relations that a loop reads: the columns that it needs, and the versions that their rows make."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.relation import Call, Relation, as_they_are, united
from tidegate.engine.units import from_units, number, units_of
from tidegate.flow.plan import Iterate

__all__ = ["extent", "first_version", "least_version", "needed", "one_time", "units_of_versions", "versions_of"]


def needed(operator: Iterate, name: str, rows: Relation) -> Relation:
    """Return the rows of a relation with the columns that the queries read, and the time columns."""
    queries = (operator.start, operator.step)
    if any(name in query.relations and not query.branches for query in queries):
        return rows
    read = set(operator.schema.time)
    for branch in (branch for query in queries for branch in query.branches):
        aliases = [r.alias for r in branch.relations if r.name == name]
        parts = [*branch.outputs, *(on for on in branch.joins if on), *([branch.where] if branch.where else [])]
        for column in (column for part in parts for column in part.columns):
            alias, _, plain = column.partition(".")
            read |= {plain} if alias in aliases else set()
    return rows.select(as_they_are([c for c in rows.names if c in read]))


def versions_of(operator: Iterate, timed: Sequence[Relation]) -> Relation:
    """Return the distinct times of the rows."""
    return united([rows.select(as_they_are(operator.schema.time)) for rows in timed]).distinct()


def units_of_versions(operator: Iterate, versions: Relation) -> list[tuple[int, ...]]:
    """Return the versions, computed and sorted, as units since the epoch."""
    units = versions.select({f"__{i}": units_of(operator.schema, name) for i, name in enumerate(operator.schema.time)})
    return sorted(zip(*(map(int, column.to_pylist()) for column in units.fetch().columns), strict=True))


def extent(operator: Iterate, timed: Sequence[Relation]) -> list[tuple[int, int]]:
    """Return the least and the greatest unit in each time column, computed; an empty list if there are no rows."""
    times = {f"__{i}": units_of(operator.schema, name) for i, name in enumerate(operator.schema.time)}
    ends: dict[str, Call] = {}
    for name in times:
        ends |= {f"least{name}": call("min", name), f"most{name}": call("max", name)}
    found = united([rows.select(times) for rows in timed]).group({}, ends).fetch()
    values = [value for column in found.columns for value in column.to_pylist()]
    return list(zip(values[::2], values[1::2], strict=True))


def least_version(operator: Iterate, timed: Sequence[Relation]) -> str | None:
    """Return `first_version`. The rows are read only if it is needed."""
    wanted = len(operator.schema.time) == 1 and _some_untimed(operator)
    return first_version(operator, extent(operator, timed)) if wanted else None


def first_version(operator: Iterate, found: Sequence[tuple[int, int]]) -> str | None:
    """Return the first version as SQL, with one time column and if some facts come from tables alone; else None.

    Such facts hold from the beginning, so they are new in the first version. ``found`` is the `extent` of the rows.
    """
    if len(found) != 1 or not _some_untimed(operator):
        return None
    type_ = operator.schema.times[0].type or ""
    return from_units(number(int(found[0][0]), type_), type_)


def one_time(operator: Iterate, found: Sequence[tuple[int, int]]) -> bool:
    """Whether all facts hold from the same time on, because all rows have one time; ``found`` is their `extent`."""
    same = bool(found) and all(least == greatest for least, greatest in found)
    return same and (len(found) == 1 or not _some_untimed(operator))


def _some_untimed(operator: Iterate) -> bool:
    """Whether some facts come from tables alone."""
    branches = [*operator.start.branches, *(b for b in operator.step.branches if not b.known)]
    return not all(any(r.timed for r in branch.relations) for branch in branches)
