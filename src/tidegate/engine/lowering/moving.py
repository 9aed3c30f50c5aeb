"""`at`: rows moved to other times, and the rows that can't be moved, with the reason."""

from __future__ import annotations

from tidegate.engine.relation import Relation, as_they_are
from tidegate.engine.units import to_units
from tidegate.flow import plan, sqltypes
from tidegate.flow.errors import BadTime
from tidegate.flow.limits import Limit, out_of_range
from tidegate.flow.moves import BACK, NULL_TIME
from tidegate.flow.sqltypes import literal, quoted

__all__ = ["at", "not_moved"]

_REASON = "__reason"


def at(operator: plan.At, rows: Relation) -> Relation:
    """Return the rows that can be moved, at their new times."""
    moved = _with_new_times(operator, rows)
    if operator.rejects:
        moved = moved.where(f"{_reason(operator)} IS NULL")
    new = {name: f"__to{i}" for i, name in enumerate(operator.schema.time)}
    return moved.select({name: new.get(name, quoted(name)) for name in rows.names})


def not_moved(operator: plan.At, rows: Relation) -> Relation:
    """Return the rows that can't be moved, as they were given, each with the ``reason``."""
    reason = "__reason" if "reason" in operator.schema else "reason"
    found = _with_new_times(operator, rows).with_columns({_REASON: _reason(operator)}).where(f"{_REASON} IS NOT NULL")
    return found.select(as_they_are(rows.names) | {reason: _REASON})


def _with_new_times(operator: plan.At, rows: Relation) -> Relation:
    """Return rows with their new times, in the types of the time columns."""
    moved = rows.with_columns({f"__to{i}": e.sql for i, e in enumerate(operator.moves)})
    types = {c.name: c.type for c in moved.columns}
    casts = {}
    for i, column in enumerate(operator.schema.times):
        got = types[f"__to{i}"]
        if got == column.type:
            continue
        both = [sqltypes.INTEGERS.index(t) for t in (got, column.type) if t in sqltypes.INTEGERS]
        if len(both) < 2 or both[0] > both[1]:
            sql = operator.moves[i].sql
            raise BadTime(
                f"expected a time of type {column.type} for {column.name}, got {sql} of type {got}",
                hint=f"CAST({sql} AS {column.type})",
            )
        casts[f"__to{i}"] = f"CAST(__to{i} AS {column.type})"
    return moved.with_columns(casts) if casts else moved


def _reason(operator: plan.At) -> str:
    """Return SQL for the reason why a row is not moved; NULL if it is."""
    times = list(enumerate(operator.schema.times))
    open_ = [(i, c) for i, c in times if operator.shifts[i] is None]
    nulls = [f"IF(__to{i} IS NULL, {literal(c.name)}, NULL)" for i, c in open_]
    back = [f"IF(__to{i} < {quoted(c.name)}, {literal(c.name)}, NULL)" for i, c in open_]
    cases = [
        f"WHEN {' OR '.join(f'__to{i} IS NULL' for i, _ in open_)} "
        f"THEN concat({literal(NULL_TIME)}, concat_ws(', ', {', '.join(nulls)}))",
        f"WHEN {' OR '.join(f'__to{i} < {quoted(c.name)}' for i, c in open_)} "
        f"THEN concat({literal(BACK)}, concat_ws(', ', {', '.join(back)}))",
    ]
    limits = [(f"__to{i}", Limit(c.name, c.type or "", *operator.bounds[i])) for i, c in open_]
    beyond = [(_outside(sql, limit), limit) for sql, limit in limits if not limit.whole]
    if beyond:
        texts = [f"IF({outside}, {literal(str(limit))}, NULL)" for outside, limit in beyond]
        cases.append(
            f"WHEN {' OR '.join(outside for outside, _ in beyond)} "
            f"THEN concat({literal(out_of_range([]))}, concat_ws(', ', {', '.join(texts)}))"
        )
    return f"CASE {' '.join(cases)} END"


def _outside(sql: str, limit: Limit) -> str:
    count = to_units(sql, limit.type)
    return f"({count} < {limit.low}L OR {count} > {limit.high}L)"
