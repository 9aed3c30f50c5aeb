"""Recognising Joins in compositions of Aggregates: those of `to_aggregates`, and those that a user wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tidegate.flow import plan
from tidegate.flow.equations import LEFT, RIGHT, both_sides
from tidegate.flow.errors import FlowError
from tidegate.flow.expressions import Expression, Parsed, bound
from tidegate.flow.parser import exp, parse
from tidegate.flow.plan import Plan, PlanOperator
from tidegate.flow.rewrite.paired import paired
from tidegate.flow.rewrite.pieces import Form
from tidegate.flow.rewrite.shapes import (
    alone,
    collected,
    data_of,
    fields_of,
    is_there,
    lambda_of,
    selected,
)
from tidegate.flow.schema import Schema, exact
from tidegate.flow.sql import Sql
from tidegate.flow.sqltypes import quoted
from tidegate.flow.substitute import from_pack, renamed

__all__ = ["join", "join_by_hand"]

Embed = plan.Aggregate | plan.WindowAggregate


@dataclass(frozen=True, slots=True)
class _Ends:
    """A chain that may be a Join: two sides, the selects that give them one type, the Aggregate, what follows it."""

    sides: tuple[PlanOperator, PlanOperator]
    tags: tuple[plan.Select, plan.Select]
    embed: Embed
    behind: list[PlanOperator]


def _ends(flow: Plan, last: PlanOperator) -> _Ends | None:
    """Return the chain that ends here: two selects, their union, an Aggregate, explodes and conditions, a select."""
    if not isinstance(last, plan.Select):
        return None
    behind: list[PlanOperator] = [last]
    while isinstance(behind[0], plan.Select | plan.Where | plan.Explode) and len(behind) < 5:
        (before,) = flow.inputs(behind[0])
        behind = [before, *behind]
        if isinstance(before, plan.Aggregate | plan.WindowAggregate):
            break
    embed = behind[0]
    if not isinstance(embed, plan.Aggregate | plan.WindowAggregate) or any(
        isinstance(o, plan.Select) for o in behind[1:-1]
    ):
        return None
    (union,) = flow.inputs(embed)
    tags = flow.inputs(union) if isinstance(union, plan.Union) else ()
    if len(tags) != 2 or not alone(flow, [union, *behind]):
        return None
    left, right = tags
    if not isinstance(left, plan.Select) or not isinstance(right, plan.Select) or left is right:
        return None
    if not alone(flow, [left, union]) or not alone(flow, [right, union]):
        return None
    return _Ends((flow.inputs(left)[0], flow.inputs(right)[0]), (left, right), embed, behind[1:])


def join(flow: Plan, last: PlanOperator) -> list[PlanOperator] | None:
    """Recognise what `to_aggregates` makes of a Join: guess the Join, compose it, and compare."""
    ends = _ends(flow, last)
    if ends is None or not ends.embed.embeds:
        return None
    answers = ends.embed.aggregation.outputs
    form = Form("A" if len(answers) == 1 else "A+")
    found = _of_pairs(answers[0].finish) if form.using == "A" else _of_lists(ends.behind)
    if found is None:
        return None
    where, outputs = found
    left, right = ends.sides
    on = tuple(
        e.name
        for e in ends.embed.aggregation.by
        if all(o.is_column for tag in ends.tags for o in tag.outputs if o.name == e.name)
    )
    columns = {side: [name for s, name in outputs if s == side] for side in (LEFT, RIGHT)}
    if tuple(columns[LEFT][: len(on)]) != on:
        return None
    try:
        condition = None
        if where is not None:
            condition = bound(Parsed.of(where, "a condition"), both_sides(left.schema, right.schema, on))
        guess = _joined(ends, on, condition, columns[LEFT][len(on) :], columns[RIGHT], last.schema, last.id)
        frame = getattr(guess, "frame", None)
        same = is_there(flow, paired(guess, left, right, frame, form) or [guess])
    except FlowError:
        return None
    return [guess] if same else None


def _joined(
    ends: _Ends,
    on: tuple[str, ...],
    where: Expression | None,
    lefts: list[str],
    rights: list[str],
    schema: Schema,
    id_: str,
) -> plan.Join | plan.WindowJoin:
    shared: dict[str, Any] = {
        "id": id_,
        "inputs": tuple(side.id for side in ends.sides),
        "schema": schema,
        "on": on,
        "where": where,
        "how": "inner",
        "left_columns": tuple(lefts),
        "right_columns": tuple(rights),
    }
    if isinstance(ends.embed, plan.WindowAggregate) and isinstance(ends.embed.frame, plan.WindowFrame):
        return plan.WindowJoin(frame=ends.embed.frame, **shared)
    return plan.Join(**shared)


def _of_lists(behind: list[PlanOperator]) -> tuple[str | None, list[tuple[str, str]]] | None:
    """Return the condition, and the columns by side, of two lists that are unfolded into pairs."""
    where = next((o.condition.sql for o in behind if isinstance(o, plan.Where)), None)
    last = behind[-1]
    assert isinstance(last, plan.Select)
    outputs = [_sided(e.sql) for e in data_of(last)]
    return None if None in outputs else (where, [o for o in outputs if o is not None])


def _of_pairs(sql: str) -> tuple[str | None, list[tuple[str, str]]] | None:
    """Return the condition, and the columns by side, of an expression that gives all pairs of two lists."""
    flat = Sql.of(sql).arguments("flatten") or [""]
    outer = Sql.of(flat[0]).arguments("transform") or []
    inner = Sql.of(lambda_of(outer[1]) or "").arguments("transform") if len(outer) == 2 else None
    if inner is None or len(inner) != 2:
        return None
    chosen = Sql.of(inner[0]).arguments("filter")
    pair = Sql.of(lambda_of(inner[1]) or "").arguments("named_struct") or []
    outputs = [_sided(value) for value in pair[1::2]]
    if None in outputs:
        return None
    return lambda_of(chosen[1]) if chosen else None, [o for o in outputs if o is not None]


def _sided(sql: str) -> tuple[str, str] | None:
    """Return the side and the column that SQL is, if it is a column of a side."""
    tree = parse(sql)
    if not isinstance(tree, exp.Column) or len(tree.parts) != 2 or tree.parts[0].name not in (LEFT, RIGHT):
        return None
    return str(tree.parts[0].name), str(tree.parts[1].name)


def join_by_hand(flow: Plan, last: PlanOperator) -> list[PlanOperator] | None:
    """Recognise a Join that a user wrote: two sides listed by key, and unfolded into pairs; names do not matter."""
    ends = _ends(flow, last)
    if ends is None or ends.embed.embeds or not _plainly_framed(ends.embed):
        return None
    on = tuple(e.name for e in ends.embed.aggregation.by)
    lists = _lists(ends, on)
    if lists is None:
        return None
    packs = _packs(ends, on, lists)
    explodes = [o.column for o in ends.behind if isinstance(o, plan.Explode)]
    if packs is None or sorted(explodes) != sorted(lists):
        return None
    conditions = [o.condition for o in ends.behind if isinstance(o, plan.Where)]
    if _asks_of_lists(ends.behind):
        return None
    assert isinstance(last, plan.Select)
    where = _on_sides(conditions[0], packs, on) if conditions else None
    outputs = [_column(e, packs, on) for e in data_of(last)]
    if len(conditions) > 1 or (conditions and where is None) or None in outputs:
        return None
    left, right = ends.sides
    wanted = [o for o in outputs if o is not None]
    names = {side: list(dict.fromkeys(n for s, n in wanted if s == side and n not in on)) for side in (LEFT, RIGHT)}
    if {n.lower() for n in names[LEFT]} & {n.lower() for n in names[RIGHT]}:
        return None
    condition = None
    if where is not None:
        try:
            condition = bound(Parsed.of(where.sql, "a condition"), both_sides(left.schema, right.schema, on))
        except FlowError:
            return None
    columns = [left.schema[n] for n in (*on, *names[LEFT])] + [right.schema[n] for n in names[RIGHT]]
    schema = left.schema.of((*left.schema.times, *columns))
    given = [e.name for e in data_of(last)]
    if given == [c.name for c in columns] == [name for _, name in wanted]:
        return [_joined(ends, on, condition, names[LEFT], names[RIGHT], last.schema, last.id)]
    found = _joined(ends, on, condition, names[LEFT], names[RIGHT], schema, f"{last.id}.join")
    renames = [
        replace(e, sql=quoted(name), columns=(name,)) for e, (_, name) in zip(data_of(last), wanted, strict=True)
    ]
    return [found, selected(last, found, renames, last.id)]


def _asks_of_lists(behind: list[PlanOperator]) -> bool:
    """Whether a condition reads a list as a whole, because the list is exploded only after it."""
    exploded: set[str] = set()
    lists = {o.column for o in behind if isinstance(o, plan.Explode)}
    for operator in behind:
        if isinstance(operator, plan.Explode):
            exploded.add(operator.column)
        elif isinstance(operator, plan.Where):
            read = {column.split(".")[0] for column in operator.condition.columns}
            if read & (lists - exploded):
                return True
    return False


def _plainly_framed(embed: Embed) -> bool:
    """Whether an Aggregate is on times, or on windows that answer once."""
    if isinstance(embed, plan.Aggregate):
        return True
    return isinstance(embed.frame, plan.WindowFrame) and not embed.frame.lateness


def _lists(ends: _Ends, on: tuple[str, ...]) -> dict[str, str] | None:
    """Return what the two lists of an Aggregate hold, if both leave out null keys."""
    outputs = ends.embed.aggregation.outputs
    if len(outputs) != 2 or not all(o.is_call and collected(o.calls[0]) for o in outputs):
        return None
    if not all(e.is_column for e in ends.embed.aggregation.by):
        return None
    known = {f"{quoted(name)} IS NOT NULL" for name in on}
    if any(set(Sql.of(o.calls[0].where or "").conjuncts()) != known for o in outputs):
        return None
    return {o.name: o.calls[0].arguments[0] for o in outputs}


def _packs(
    ends: _Ends, on: tuple[str, ...], lists: dict[str, str]
) -> dict[str, tuple[str, dict[str, Expression]]] | None:
    """Return, for each list, its side, and the columns of that side that its packs have as fields."""
    found: dict[str, tuple[str, dict[str, Expression]]] = {}
    for output, packed in lists.items():
        for side, tag, other, rows in zip(
            (LEFT, RIGHT), ends.tags, reversed(ends.tags), (s.schema for s in ends.sides), strict=True
        ):
            mine, theirs = ({e.name: e for e in t.outputs} for t in (tag, other))
            column = next((name for name in mine if quoted(name) == packed), None)
            if column is None or column not in theirs or not _is_nothing(theirs[column]):
                continue
            fields = fields_of(mine[column].sql, rows)
            keys = all(mine[name].is_column for name in on)
            if fields is None or not keys or not exact([rows[name] for name in on]):
                return None
            if not all(e.sql in map(quoted, e.columns) for e in fields.values()):
                return None
            found[output] = (side, fields)
    return found if {side for side, _ in found.values()} == {LEFT, RIGHT} else None


def _is_nothing(output: Expression) -> bool:
    tree = output.tree
    return isinstance(tree, exp.Null) or (isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Null))


def _on_sides(
    condition: Expression, packs: dict[str, tuple[str, dict[str, Expression]]], on: tuple[str, ...]
) -> Expression | None:
    """Return a condition on packs and keys as one on the columns of both sides."""
    found: Expression | None = condition
    for pack, (side, fields) in packs.items():
        if pack in (LEFT, RIGHT) and pack != side:
            return None
        columns = {n: Expression(n, f"{quoted(side)}.{e.sql}", e.type, ()) for n, e in fields.items()}
        found = from_pack(found, pack, columns) if found is not None else None
    if found is None or not set(found.columns) <= set(on):
        return None
    return renamed(found, {name: f"{quoted(LEFT)}.{quoted(name)}" for name in on})


def _column(
    output: Expression, packs: dict[str, tuple[str, dict[str, Expression]]], on: tuple[str, ...]
) -> tuple[str, str] | None:
    """Return the side and the column that an output stands for."""
    if output.sql in map(quoted, on):
        return LEFT, output.columns[0]
    tree = output.tree
    if not isinstance(tree, exp.Column) or len(tree.parts) != 2 or tree.parts[0].name not in packs:
        return None
    side, fields = packs[tree.parts[0].name]
    field = fields.get(tree.parts[1].name.lower())
    return None if field is None else (side, field.columns[0])
