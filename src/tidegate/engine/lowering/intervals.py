"""Interval joins: the pairs, and the rows without a match.

If the interval has both bounds, time is divided into pieces. The rows that a row can match are in one piece or in two,
and rows are joined by piece as well as by key. So the number of rows that are compared does not grow with the length of
the stream, even with few keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation, as_they_are, united
from tidegate.engine.types import same_types
from tidegate.engine.units import from_units, units_of
from tidegate.flow import plan
from tidegate.flow.equations import LEFT, RIGHT, columns_of_sides
from tidegate.flow.expressions import Expression
from tidegate.flow.parser import place
from tidegate.flow.sql import Sql
from tidegate.flow.sqltypes import literal, quoted

__all__ = ["alone", "interval_join", "pairs"]

#: A piece is this many times as long as the interval, so that most rows look into one piece only.
_LONGER = 4
_ALL = 2**50
_AT, _PIECE, _NUMBER = "__at", "__piece", "__number"


def interval_join(operator: plan.IntervalJoin, left: Relation, right: Relation) -> Relation:
    """Return all pairs, and the rows without a match if the kind of join wants them."""
    same_types(operator, left, right, operator.on)
    found = [] if operator.how == "anti" else [pairs(operator, left, right)]
    if operator.how in ("left", "full", "anti"):
        found.append(alone(operator, 0, left, right))
    if operator.how in ("right", "full"):
        found.append(alone(operator, 1, right, left))
    return united(found)


def pairs(operator: plan.IntervalJoin, left: Relation, right: Relation) -> Relation:
    """Return the pairs of rows that match. With ``semi``, return left rows at the time of their first match."""
    if operator.how == "semi":
        return _first_matches(operator, left, right)
    near, mine, theirs = _near(operator, 0), _timed(operator, left), _timed(operator, right)
    if (width := _width(operator)) is not None:
        first, last = (_piece(f"{_AT} + {bound}L", width) for bound in (operator.lower, operator.upper))
        mine = mine.explode(_PIECE, f"sequence({first}, {last}, {width}L)")
        theirs = theirs.with_columns({_PIECE: _piece(_AT, width)})
        near = [f"`left`.{_PIECE} = `right`.{_PIECE}", *near]
    columns = {name: _later(operator, quoted(name)) for name in operator.schema.time}
    columns |= {name: f"`left`.{quoted(name)}" for name in (*operator.on, *operator.left_columns)}
    columns |= {name: f"`right`.{quoted(name)}" for name in operator.right_columns}
    return mine.join(theirs, " AND ".join(near) or "true", "inner", columns)


def alone(operator: plan.IntervalJoin, port: int, rows: Relation, others: Relation) -> Relation:
    """Return the rows of one input without a match, at the time at which that is certain."""
    near, mine, theirs = _near(operator, port), _timed(operator, rows), _timed(operator, others)
    width = _width(operator)
    if width is None:
        mine = _unmatched(mine, theirs, near)
    else:
        theirs = theirs.with_columns({_PIECE: _piece(_AT, width)})
        bounds = (operator.lower, operator.upper)
        reach = [f"{_AT} + {bound}L" if port == 0 else f"{_AT} - {bound}L" for bound in bounds]
        mine = mine.with_columns({f"{_PIECE}{i}": _piece(at, width) for i, at in enumerate(reach)})
        for i in (0, 1):
            mine = _unmatched(mine, theirs, [f"`left`.{_PIECE}{i} = `right`.{_PIECE}", *near])
    over = operator.over or ""
    settled = from_units(f"{_AT} + {operator.settles(port)}L", operator.schema[over].type or "")
    types = {column.name: column.type for column in others.columns}
    columns = as_they_are(operator.schema.time) | {over: settled} | as_they_are(operator.on)
    for own, names in ((port == 0, operator.left_columns), (port == 1, operator.right_columns)):
        columns |= as_they_are(names) if own else {name: f"CAST(NULL AS {types[name]})" for name in names}
    return mine.select(columns)


def _unmatched(rows: Relation, others: Relation, near: Sequence[str]) -> Relation:
    own = {name: f"`left`.{quoted(name)}" for name in rows.names}
    return rows.join(others, " AND ".join(near) or "true", "anti", own)


def _first_matches(operator: plan.IntervalJoin, left: Relation, right: Relation) -> Relation:
    """Return the left rows that have a match, at the time of the first one."""
    # This is not done by pieces: if rows are joined by key alone, all matches of a row are in one partition, and so is
    # its number.
    near, mine, theirs = _near(operator, 0), _timed(operator, left), _timed(operator, right)
    own = [*operator.schema.time, *operator.on, *operator.left_columns]
    packed = ", ".join(f"{literal(name)}, {quoted(name)}" for name in own)
    keyed = mine.with_columns({"__row": f"named_struct({packed})"})
    keys = {f"__k{i}": f"`left`.{quoted(name)}" for i, name in enumerate(operator.on)}
    columns = keys | {
        _NUMBER: f"`left`.{_NUMBER}",
        "__row": "`left`.__row",
        _AT: f"greatest(`left`.{_AT}, `right`.{_AT})",
    }
    met = left.backend.numbered(keyed, _NUMBER).join(theirs, " AND ".join(near) or "true", "inner", columns)
    calls = {_AT: call("min", _AT), "__row": call("first", "__row")}
    first = met.group(as_they_are([*keys, _NUMBER]), calls)
    found = {name: f"__row.{quoted(name)}" for name in own}
    over = operator.over or ""
    return first.select(found | {over: from_units(_AT, operator.schema[over].type or "")})


def _timed(operator: plan.IntervalJoin, rows: Relation) -> Relation:
    """Return rows with their time in units, if the join compares times."""
    return rows if operator.over is None else rows.with_columns({_AT: units_of(operator.schema, operator.over)})


def _near(operator: plan.IntervalJoin, port: int) -> list[str]:
    """Return the conditions that a row of an input matches one of the other, as SQL over ``left`` and ``right``."""
    same = [*operator.on, *(name for name in operator.schema.time if operator.over not in (None, name))]
    found = [f"`left`.{quoted(name)} = `right`.{quoted(name)}" for name in same]
    mine, theirs = (LEFT, RIGHT) if port == 0 else (RIGHT, LEFT)
    for bound, sign in ((operator.lower, ">="), (operator.upper, "<=")):
        if bound is not None:
            found.append(f"`{theirs}`.{_AT} {sign} `{mine}`.{_AT} + {bound}L")
    if operator.where is not None:
        where = operator.where.sql if port == 0 else _exchanged(operator.where)
        found.append(f"({where})")
    return found


def _exchanged(where: Expression) -> str:
    """Return a condition with left and right exchanged. Flows have no parameter of a lambda that would hide one."""
    other = {LEFT: RIGHT, RIGHT: LEFT}
    spelled = {place(column.parts[0])[0]: quoted(other[side]) for column, side in columns_of_sides(where)}
    return Sql.of(where.sql).render(spelled)


def _width(operator: plan.IntervalJoin) -> int | None:
    """Return the length of pieces in units; None if time is not divided."""
    if operator.lower is None or operator.upper is None:
        return None
    width = _LONGER * (operator.upper - operator.lower + 1)
    # An interval that covers all of time gains nothing from pieces.
    return width if width < _ALL else None


def _piece(at: str, width: int) -> str:
    """Return the first unit of the piece that a time is in."""
    return f"({at}) - pmod({at}, {width}L)"


def _later(operator: plan.IntervalJoin, name: str) -> str:
    """Return SQL for a time column of a pair: the later of two times. In columns other than ``over`` they are equal."""
    if operator.over is not None and quoted(operator.over) != name:
        return f"`left`.{name}"
    return f"greatest(`left`.{name}, `right`.{name})"
