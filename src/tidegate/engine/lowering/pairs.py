"""Pairs of rows that match, as one native join: shared by joins at equal times, with tables, and in windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.engine.relation import Relation, as_they_are
from tidegate.flow.equations import RIGHT, implied
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import Join, WindowJoin
from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted
from tidegate.flow.substitute import from_pack

__all__ = ["joined"]


def joined(
    operator: Join | WindowJoin,
    left: Relation,
    right: Relation,
    equal: Mapping[str, str],
    times: Mapping[str, str],
    placed: Callable[[Relation], Relation] = lambda side: side,
) -> Relation:
    """Return the join of two sides on the columns ``equal`` (SQL on either side), on ``on``, and on the condition.

    ``times`` are the time columns of the result, as SQL over ``equal`` or over the left side. They and ``on`` are taken
    from the side that has a row, so they are never NULL in an outer join. ``placed`` puts a side into windows.
    """
    names = _names(operator, left, right)
    left, right = placed(left), placed(right.renamed(names))
    where = _respelled(operator.where, names)
    same = [f"`left`.{sql} = `right`.{sql}" for sql in [*equal.values(), *map(quoted, operator.on)]]
    conditions = [*same, *([f"({where.sql})", *_implied(operator, where, left, right)] if where else [])]
    shared = {**times, **as_they_are(operator.on)}
    columns = {name: _shared(operator.how, sql) for name, sql in shared.items()}
    columns |= {name: f"`left`.{quoted(name)}" for name in operator.left_columns}
    columns |= {name: f"`right`.{quoted(names[name])}" for name in operator.right_columns}
    return left.join(right, " AND ".join(conditions) or "true", operator.how, columns)


def _names(operator: Join | WindowJoin, left: Relation, right: Relation) -> Mapping[str, str]:
    """Return new names for the columns of the right side: those of the left, if both sides have the same types.

    If a stream is joined with itself, both sides are then the same relation, and a backend may compute it once.
    """
    own = {name: name for name in right.names}
    shared = {name.lower() for name in (*operator.on, *operator.schema.time)}
    mine, theirs = ([c for c in side.columns if c.name.lower() not in shared] for side in (left, right))
    if [c.type for c in mine] != [c.type for c in theirs]:
        return own
    return own | {c.name: m.name for c, m in zip(theirs, mine, strict=True)}


def _respelled(where: Expression | None, names: Mapping[str, str]) -> Expression | None:
    """Return a condition with the columns of the right side renamed."""
    if where is None or all(old == new for old, new in names.items()):
        return where
    fields = {
        old.lower(): Expression(new, f"{quoted(RIGHT)}.{quoted(new)}", None, (f"{RIGHT}.{new}",))
        for old, new in names.items()
    }
    respelled = from_pack(where, RIGHT, fields)
    assert respelled is not None, "a condition reads a side by its columns only"
    return respelled


def _implied(operator: Join | WindowJoin, where: Expression, left: Relation, right: Relation) -> tuple[str, ...]:
    """Return conditions on one side alone that follow from the join condition, and that backends do not infer."""
    schemas = operator.schema.of(left.columns), Schema(right.columns)
    return implied(where, operator.on, *schemas)


def _shared(how: str, sql: str) -> str:
    if how == "full":
        return f"coalesce(`left`.{sql}, `right`.{sql})"
    return f"`right`.{sql}" if how == "right" else f"`left`.{sql}"
