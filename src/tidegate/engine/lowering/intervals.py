"""Joins of rows that are so far apart: pairs, and rows that meet no other.

With both bounds, time is cut into pieces: what a row may meet is in one piece or in two, and rows meet by their piece
as well as by their key. How many rows are compared does not grow with the length of a stream, however few its keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation, as_they_are, united
from tidegate.engine.types import same_types
from tidegate.engine.units import from_units, units_of
from tidegate.flow import plan
from tidegate.flow.equations import LEFT, RIGHT
from tidegate.flow.expressions import Expression
from tidegate.flow.sqltypes import literal, quoted
from tidegate.flow.substitute import from_pack

__all__ = ["alone", "interval_join", "pairs"]

#: How many times as long as what a row may meet a piece is: most rows then look into one piece only.
_LONGER = 4
_ALL = 2**50
_AT, _PIECE, _NUMBER = "__at", "__piece", "__number"


def interval_join(operator: plan.IntervalJoin, left: Relation, right: Relation) -> Relation:
    """Return all pairs, and what meets no other."""
    same_types(operator, left, right, operator.on)
    found = [] if operator.how == "anti" else [pairs(operator, left, right)]
    if operator.how in ("left", "full", "anti"):
        found.append(alone(operator, 0, left, right))
    if operator.how in ("right", "full"):
        found.append(alone(operator, 1, right, left))
    return united(found)


def pairs(operator: plan.IntervalJoin, left: Relation, right: Relation) -> Relation:
    """Return the pairs of rows that match; with ``semi``, left rows at their first match."""
    if operator.how == "semi":
        return _first_matches(operator, left, right)
    near, mine, theirs = _near(operator, 0, left, right), _timed(operator, left), _timed(operator, right)
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
    """Return the rows of one input that meet none of the other, at the time at which that is known."""
    near, mine, theirs = _near(operator, port, rows, others), _timed(operator, rows), _timed(operator, others)
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
    """Return the left rows that match something, at the first time at which they do."""
    # Not by pieces: if rows meet by their key alone, all that a row meets is in one place, and so is its number.
    near, mine, theirs = _near(operator, 0, left, right), _timed(operator, left), _timed(operator, right)
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
    """Return rows with their time in units, if it is looked at."""
    return rows if operator.over is None else rows.with_columns({_AT: units_of(operator.schema, operator.over)})


def _near(operator: plan.IntervalJoin, port: int, rows: Relation, others: Relation) -> list[str]:
    """Return the conditions that rows of an input meet others; they are ``left`` there, and the others ``right``."""
    same = [*operator.on, *(name for name in operator.schema.time if operator.over not in (None, name))]
    found = [f"`left`.{quoted(name)} = `right`.{quoted(name)}" for name in same]
    mine, theirs = (LEFT, RIGHT) if port == 0 else (RIGHT, LEFT)
    for bound, sign in ((operator.lower, ">="), (operator.upper, "<=")):
        if bound is not None:
            found.append(f"`{theirs}`.{_AT} {sign} `{mine}`.{_AT} + {bound}L")
    if operator.where is not None:
        where = operator.where if port == 0 else _exchanged(operator.where, others, rows)
        found.append(f"({where.sql})")
    return found


def _exchanged(where: Expression, left: Relation, right: Relation) -> Expression:
    """Return a condition with its sides exchanged."""
    # By way of a third name, so that none is taken for another.
    for old, new, rows in ((LEFT, "__third", left), (RIGHT, LEFT, right), ("__third", RIGHT, left)):
        fields = {
            name.lower(): Expression(name, f"`{new}`.{quoted(name)}", None, (f"{new}.{name}",)) for name in rows.names
        }
        respelled = from_pack(where, old, fields)
        assert respelled is not None, "a condition reads a side by its columns only"
        where = respelled
    return where


def _width(operator: plan.IntervalJoin) -> int | None:
    """Return how long pieces of time are, in units; None if there are none."""
    if operator.lower is None or operator.upper is None:
        return None
    width = _LONGER * (operator.upper - operator.lower + 1)
    # What reaches over all of time has nothing to gain from pieces of it.
    return width if width < _ALL else None


def _piece(at: str, width: int) -> str:
    """Return the first unit of the piece that a time is in."""
    return f"({at}) - pmod({at}, {width}L)"


def _later(operator: plan.IntervalJoin, name: str) -> str:
    """Return a time column of a pair: of those that are equal, one."""
    if operator.over is not None and quoted(operator.over) != name:
        return f"`left`.{name}"
    return f"greatest(`left`.{name}, `right`.{name})"
