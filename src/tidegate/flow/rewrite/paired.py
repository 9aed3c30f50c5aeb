"""A Join made of Aggregates: both sides get the same columns, an Aggregate lists them by key, and lists become pairs.

This is Listing 2 of the paper. As much of the condition as possible goes into the Aggregate: values that it equates are
part of the key, and conditions on one side or on the key decide which rows are listed.
"""

from __future__ import annotations

from tidegate.flow import plan
from tidegate.flow.equations import LEFT, RIGHT, Equation, equations
from tidegate.flow.errors import FlowError
from tidegate.flow.expressions import Expression, Parsed, Scope, bound, reference_to
from tidegate.flow.plan import PlanOperator
from tidegate.flow.rewrite.pieces import (
    Form,
    aggregate,
    array_of,
    field_of,
    packed,
    references,
    select,
    struct_of,
)
from tidegate.flow.schema import Column, Schema, exact
from tidegate.flow.sql import Sql
from tidegate.flow.sqltypes import quoted

__all__ = ["paired"]

_PAIRS = "pairs"


def paired(
    operator: plan.Join | plan.WindowJoin,
    left: PlanOperator,
    right: PlanOperator,
    frame: plan.WindowFrame | None,
    form: Form,
) -> list[PlanOperator]:
    """Return the composition of a Join; an empty list if it cannot be composed."""
    sides = {LEFT: left, RIGHT: right}
    taken = {name.lower() for side in sides.values() for name in side.schema.names} & {LEFT, RIGHT, "window"}
    keys = [side.schema[name] for side in sides.values() for name in operator.on]
    needed = {name: _needed(operator, name, side.schema) for name, side in sides.items()}
    if operator.how != "inner" or taken or not exact(keys) or None in map(struct_of, needed.values()):
        return []
    equal = equations(operator.where, operator.on, left.schema, right.schema)
    tags = [_tagged(operator, name, side, needed, equal) for name, side in sides.items()]
    union = plan.Union(id=f"{operator.id}.both", inputs=(tags[0].id, tags[1].id), schema=tags[0].schema)
    by = [reference_to(name, union.schema[name].type) for name in (*operator.on, *(e.name for e in equal))]
    chosen = _chosen(operator, union.schema, by, equal)
    lists = {name: f"collect_list({quoted(name)}){chosen[name]}" for name in sides}
    outputs = [field_of(LEFT, left.schema[name]) for name in (*operator.on, *operator.left_columns)]
    outputs += [field_of(RIGHT, right.schema[name]) for name in operator.right_columns]
    if form.using == "A":
        fields = [Column(e.name, e.type) for e in outputs]
        answers = {_PAIRS: (_matching(operator, lists, outputs), array_of(struct_of(fields)))}
        embed = aggregate(f"{operator.id}.embed", union, by, answers, frame=frame)
        unfold = form.unfolded(embed, _PAIRS, f"{operator.id}.unfold")
        return [*tags, union, embed, unfold, select(unfold, [field_of(_PAIRS, c) for c in fields], operator.id)]
    types = {name: array_of(struct_of(needed[name])) for name in sides}
    embed = aggregate(f"{operator.id}.embed", union, by, {n: (lists[n], types[n]) for n in sides}, frame=frame)
    lefts = form.unfolded(embed, LEFT, f"{operator.id}.unfold")
    pairs = form.unfolded(lefts, RIGHT, f"{operator.id}.unfold.unfold")
    start: list[PlanOperator] = [*tags, union, embed, lefts, pairs]
    if operator.where is not None:
        condition = bound(Parsed.of(operator.where.sql, "a condition"), Scope(pairs.schema))
        pairs = plan.Where(id=f"{operator.id}.where", inputs=(pairs.id,), schema=pairs.schema, condition=condition)
        start.append(pairs)
    return [*start, select(pairs, outputs, operator.id)]


def _needed(operator: plan.Join | plan.WindowJoin, name: str, schema: Schema) -> list[Column]:
    """Return the columns of a side that its pack carries: those of the result, and those that the condition reads."""
    read = {*operator.on, *(operator.left_columns if name == LEFT else operator.right_columns)}
    read |= {c.removeprefix(f"{name}.") for c in (operator.where.columns if operator.where else ())}
    return [c for c in schema.columns if c.name in read]


def _tagged(
    operator: plan.Join | plan.WindowJoin,
    mine: str,
    side: PlanOperator,
    needed: dict[str, list[Column]],
    equal: list[Equation],
) -> plan.Select:
    """Return a select that gives a side the columns of both: the key, its row as a pack, and NULL for the other."""
    outputs = references([side.schema[name] for name in operator.on])
    outputs += [equation.on_rows[mine] for equation in equal]
    for name, columns in needed.items():
        if name == mine:
            names = tuple(c.name for c in columns)
            sql, read = packed({name: quoted(name) for name in names}), names
        else:
            sql, read = f"CAST(NULL AS {struct_of(columns)})", ()
        outputs.append(Expression(name, sql, struct_of(columns), read))
    return select(side, outputs, f"{operator.id}.{mine}")


def _chosen(
    operator: plan.Join | plan.WindowJoin, schema: Schema, by: list[Expression], equal: list[Equation]
) -> dict[str, str]:
    """Return, for each side, the FILTER of what is listed. A null key matches nothing."""
    # The condition comes first: it chooses few rows, and keys may cost more to compute.
    known = [f"{e.sql} IS NOT NULL" for e in reversed(by)]
    found: dict[str, list[str]] = {LEFT: [], RIGHT: []}
    for conjunct in Sql.of(operator.where.sql).conjuncts() if operator.where else ():
        text = conjunct
        for equation in equal:
            for value in equation.as_written.values():
                text = Sql.of(text).replace(value, equation.name)
        if any(equation.states(conjunct) for equation in equal):
            continue
        try:
            read = set(bound(Parsed.of(text, "a condition"), Scope(schema)).columns) - {e.name for e in by}
        except FlowError:
            continue
        for side, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
            if other not in read:
                found[side].append(text if Sql.of(text).equated() is None else f"({text})")
    chosen = {side: " AND ".join([*parts, *known]) for side, parts in found.items()}
    return {side: f" FILTER (WHERE {sql})" if sql else "" for side, sql in chosen.items()}


def _matching(operator: plan.Join | plan.WindowJoin, lists: dict[str, str], outputs: list[Expression]) -> str:
    """Return the SQL of all pairs of two lists that satisfy the condition."""
    left, right = quoted(LEFT), quoted(RIGHT)
    partners = lists[RIGHT]
    if operator.where is not None:
        partners = f"filter({partners}, {right} -> {operator.where.sql})"
    pair = packed({e.name: e.sql for e in outputs})
    return f"flatten(transform({lists[LEFT]}, {left} -> transform({partners}, {right} -> {pair})))"
