"""`optimize`: compositions of Aggregates, recognised by their shape, become dedicated operators again, plan to plan.

It does not matter who wrote them, `to_aggregates` or a user with ``aggregate``, ``explode`` and ``select``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tidegate.flow import plan
from tidegate.flow.aggregates import AggregateCall, separated
from tidegate.flow.expressions import Expression, Parsed, Scope, bound, reference_to, render
from tidegate.flow.plan import Operator, Plan
from tidegate.flow.rewrite.pieces import LEFT, RIGHT, exact
from tidegate.flow.schema import Schema
from tidegate.flow.sql import exp, tokenize

__all__ = ["optimize"]


def optimize(flow: Plan) -> Plan:
    """Answer the plan with every composition of Aggregates that is recognised replaced by the dedicated operators.

    What comes out at each time stays the same. Rows no longer wait where a composition held them for nothing.
    """
    for id_ in [operator.id for operator in flow]:
        # What a rule leaves may be the end of another composition.
        while (better := _better(flow, id_)) is not None:
            flow = _needed(better)
    return flow


def _needed(flow: Plan) -> Plan:
    needed = {sink.input for sink in flow.sinks}
    for operator in reversed(flow.operators):
        if operator.id in needed:
            needed.update(operator.inputs)
    kept = (o for o in flow.operators if o.id in needed or isinstance(o, plan.Source | plan.Table))
    return replace(flow, operators=tuple(kept))


def _better(flow: Plan, id_: str) -> Plan | None:
    """Answer the plan with the composition that ends at an operator replaced; or None if none does."""
    position = next((i for i, operator in enumerate(flow) if operator.id == id_), None)
    if position is None:
        return None
    for rule in _RULES:
        dedicated = rule(flow, flow.operators[position])
        if dedicated is not None:
            return replace(flow, operators=(*flow.operators[:position], *dedicated, *flow.operators[position + 1 :]))
    return None


def _map(flow: Plan, last: Operator) -> list[Operator] | None:
    """A pack of each row, by the whole row, that is unpacked: a Filter, a Map, or both."""
    unpacked = _unpacked(flow, last, times=1)
    if unpacked is None:
        return None
    fields = _fields(unpacked.call, unpacked.before.schema)
    if fields is None:
        return None
    outputs = []
    for output in unpacked.outputs:
        name = _field(output, unpacked.pack)
        if name is None or name.lower() not in fields:
            return None
        outputs.append(replace(fields[name.lower()], name=output.name, type=output.type))
    before, where = unpacked.before, unpacked.call.where
    whole = [e.is_column for e in outputs] == [True] * len(before.schema.data)
    if where is None:
        return [_select(last, before, outputs, last.id)]
    condition = _bound(where, before.schema)
    if whole and [e.name for e in outputs] == [c.name for c in before.schema.data]:
        return [plan.Where(id=last.id, inputs=(before.id,), schema=before.schema, condition=condition)]
    filtered = plan.Where(id=f"{last.id}.where", inputs=(before.id,), schema=before.schema, condition=condition)
    return [filtered, _select(last, filtered, outputs, last.id)]


def _flat_map(flow: Plan, last: Operator) -> list[Operator] | None:
    """The arrays of each row, by the whole row, unpacked twice: an explode."""
    unpacked = _unpacked(flow, last, times=2)
    if unpacked is None or unpacked.call.where is not None:
        return None
    (argument,) = unpacked.call.arguments
    array = _bound(argument, unpacked.before.schema)
    if not array.is_column or not exact([c for c in unpacked.before.schema.data if c.name != array.name]):
        return None
    names = [array.name if _is(e, unpacked.pack) else e.name if e.is_column else None for e in unpacked.outputs]
    if names != [c.name for c in unpacked.before.schema.data]:
        return None
    if any(e.name != name for e, name in zip(unpacked.outputs, names, strict=True)):
        return None
    return [plan.Explode(id=last.id, inputs=(unpacked.before.id,), schema=last.schema, column=array.name)]


def _distinct(flow: Plan, last: Operator) -> list[Operator] | None:
    """One answer for each whole row, of which nothing but the row is kept."""
    if not isinstance(last, plan.Select):
        return None
    (embed,) = flow.inputs(last)
    if not isinstance(embed, plan.Aggregate) or not _only(flow, embed, last):
        return None
    (before,) = flow.inputs(embed)
    outputs = _data(last)
    kept = [e.name for e in outputs if e.is_column] == [c.name for c in before.schema.data]
    if not _by_whole_row(embed, before) or not kept or len(outputs) != len(before.schema.data):
        return None
    return [plan.Distinct(id=last.id, inputs=(before.id,), schema=last.schema)]


def _join(flow: Plan, last: Operator) -> list[Operator] | None:
    """Two packs by key, of two sides that were given one type, unpacked into pairs: a Join, on times or on windows."""
    if not isinstance(last, plan.Select):
        return None
    (pairs,) = flow.inputs(last)
    where = None
    chain: list[Operator] = [last]
    if isinstance(pairs, plan.Where):
        where, chain = pairs.condition, [pairs, *chain]
        (pairs,) = flow.inputs(pairs)
    for name in (RIGHT, LEFT):
        if not isinstance(pairs, plan.Explode | plan.Unfold) or pairs.column != name:
            return None
        chain = [pairs, *chain]
        (pairs,) = flow.inputs(pairs)
    if not isinstance(pairs, plan.Aggregate | plan.WindowAggregate):
        return None
    (union,) = flow.inputs(pairs)
    tags = flow.inputs(union) if isinstance(union, plan.Union) else ()
    chain = [union, pairs, *chain]
    alone = all(_only(flow, a, b) for a, b in pairwise(chain))
    if len(tags) != 2 or not alone or not all(isinstance(t, plan.Select) and _only(flow, t, union) for t in tags):
        return None
    on = tuple(e.name for e in pairs.aggregation.by)
    left, right = (flow.inputs(tag)[0] for tag in tags)
    tagged = all(_tag(tag, mine, on) for tag, mine in zip(tags, (LEFT, RIGHT), strict=True))
    if not exact([side.schema[name] for side in (left, right) for name in on if name in side.schema]):
        return None
    if not tagged or not all(e.is_column for e in pairs.aggregation.by) or not _collects(pairs, on):
        return None
    outputs = _data(last)
    if tuple(e.name for e in outputs[: len(on)] if e.is_column) != on:
        return None
    columns: dict[str, list[str]] = {LEFT: [], RIGHT: []}
    for output in outputs[len(on) :]:
        side = RIGHT if columns[RIGHT] or _field(output, LEFT) is None else LEFT
        if _field(output, side) != output.name:
            return None
        columns[side].append(output.name)
    if where is not None:
        sides = Scope(left.schema, ((LEFT, left.schema), (RIGHT, right.schema)), (*left.schema.time, *on))
        where = bound(Parsed.of(where.sql, "a condition"), sides)
    shared: dict[str, Any] = {
        "id": last.id,
        "inputs": (left.id, right.id),
        "schema": last.schema,
        "on": on,
        "where": where,
        "how": "inner",
        "left_columns": tuple(columns[LEFT]),
        "right_columns": tuple(columns[RIGHT]),
    }
    if isinstance(pairs, plan.Aggregate):
        return [plan.Join(**shared)]
    return [plan.WindowJoin(frame=pairs.frame, **shared)] if isinstance(pairs.frame, plan.WindowFrame) else None


#: What is tried at each operator. Joins are seen once the Map behind them is a Map again.
_RULES: tuple[Callable[[Plan, Operator], list[Operator] | None], ...] = (_map, _flat_map, _distinct, _join)


@dataclass(frozen=True, slots=True)
class _Unpacked:
    before: Operator
    call: AggregateCall
    pack: str
    outputs: list[Expression]


def _unpacked(flow: Plan, last: Operator, *, times: int) -> _Unpacked | None:
    """Answer what is packed by the whole row and unpacked ``times`` times before a select; or None."""
    if not isinstance(last, plan.Select):
        return None
    chain, (behind,) = [last], flow.inputs(last)
    pack = getattr(behind, "column", "")
    for _ in range(times):
        if not isinstance(behind, plan.Explode | plan.Unfold) or behind.column != pack:
            return None
        if not _only(flow, behind, chain[-1]):
            return None
        chain.append(behind)  # type: ignore[arg-type]
        (behind,) = flow.inputs(behind)
    if not isinstance(behind, plan.Aggregate) or not _only(flow, behind, chain[-1]):
        return None
    (before,) = flow.inputs(behind)
    answers = behind.aggregation.outputs
    if len(answers) != 1 or answers[0].name != pack or not _by_whole_row(behind, before):
        return None
    call = answers[0].calls[0]
    lists = call.function in ("collect_list", "array_agg") and not call.distinct and not call.rest
    return _Unpacked(before, call, pack, _data(last)) if answers[0].is_call and lists else None


def _only(flow: Plan, operator: Operator, consumer: Operator) -> bool:
    """Answer whether nobody but the consumer reads an operator."""
    readers = [o.id for o in flow.consumers(operator.id)]
    return readers == [consumer.id] and all(sink.input != operator.id for sink in flow.sinks)


def _by_whole_row(embed: plan.Aggregate, before: Operator) -> bool:
    by = [e.name for e in embed.aggregation.by if e.is_column]
    return bool(before.schema.time) and sorted(by) == sorted(c.name for c in before.schema.data)


def _data(operator: plan.Select) -> list[Expression]:
    return [e for e in operator.outputs if e.name not in operator.schema.time]


def _bound(sql: str, schema: Schema, name: str = "") -> Expression:
    return bound(Parsed.of(sql, "an expression"), Scope(schema), name=name or None)


def _fields(call: AggregateCall, schema: Schema) -> dict[str, Expression] | None:
    """Answer the fields of the struct that a call collects, by name in lower case; or None if it is none."""
    tokens = tokenize(call.arguments[0])
    word = tokens[0].text.lower()
    if len(call.arguments) != 1 or word not in ("struct", "named_struct") or not _is_one_call(tokens):
        return None
    parts = [render(call.arguments[0], part, {}) for part in separated(tokens[2:-1])]
    if word == "struct":
        found = [_bound(part, schema) for part in parts]
    else:
        found = [_bound(sql, schema, name[1:-1]) for name, sql in zip(parts[::2], parts[1::2], strict=True)]
    return {e.name.lower(): e for e in found} if all(e.name for e in found) else None


def _is_one_call(tokens: tuple[Any, ...]) -> bool:
    depth = 0
    for i, token in enumerate(tokens[1:], 1):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            return i == len(tokens) - 1
    return False


def _field(output: Expression, pack: str) -> str | None:
    """Answer the field of a pack that an expression is; or None."""
    tree = output.tree
    if output.columns != (pack,) or not isinstance(tree, exp.Column) or len(tree.parts) != 2:
        return None
    return str(tree.parts[1].name)


def _is(output: Expression, pack: str) -> bool:
    return output.sql == reference_to(pack, None).sql


def _tag(tag: Operator, mine: str, on: tuple[str, ...]) -> bool:
    """Answer whether a select packs whole rows into one place, and puts nothing into the other."""
    assert isinstance(tag, plan.Select)
    given = {e.name: e for e in _data(tag)}
    other = given.get(LEFT if mine == RIGHT else RIGHT)
    if mine not in given or other is None or set(given) != {LEFT, RIGHT, *on}:
        return False
    tree, names = given[mine].tree, given[mine].columns
    nothing = isinstance(other.tree, exp.Cast) and isinstance(other.tree.this, exp.Null)
    return nothing and isinstance(tree, exp.Struct) and all(given[name].is_column for name in on) and bool(names)


def _collects(pairs: plan.Aggregate | plan.WindowAggregate, on: tuple[str, ...]) -> bool:
    known = " AND ".join(f"{reference_to(name, None).sql} IS NOT NULL" for name in on) or None
    wanted = [(name, "collect_list", (reference_to(name, None).sql,), known) for name in (LEFT, RIGHT)]
    outputs = pairs.aggregation.outputs
    if not all(output.is_call for output in outputs):
        return False
    calls = [(o.name, o.calls[0].function, o.calls[0].arguments, o.calls[0].where) for o in outputs]
    return calls == wanted and not any(o.calls[0].distinct or o.calls[0].rest for o in outputs)


def _select(last: Operator, before: Operator, outputs: list[Expression], id_: str) -> plan.Select:
    times = tuple(reference_to(c.name, c.type) for c in before.schema.times)
    return plan.Select(id=id_, inputs=(before.id,), schema=last.schema, outputs=(*times, *outputs))
