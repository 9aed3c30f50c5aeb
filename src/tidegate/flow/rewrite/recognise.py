"""`optimize`: compositions of Aggregates, recognised by their shape, become dedicated operators again, plan to plan.

It does not matter whether `to_aggregates` or a user wrote them, with ``aggregate``, ``explode`` and ``select``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidegate.flow import plan
from tidegate.flow.aggregates import Aggregation
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import Plan, PlanOperator
from tidegate.flow.rewrite.recognise_carried import accumulate, accumulate_by_hand
from tidegate.flow.rewrite.recognise_joins import join, join_by_hand
from tidegate.flow.rewrite.shapes import (
    alone,
    as_explode,
    bound_to,
    collected,
    data_of,
    feeds_lateness,
    fields_of,
    is_embed,
    only_reader,
    selected,
)
from tidegate.flow.schema import Schema, exact
from tidegate.flow.sql import Sql
from tidegate.flow.substitute import from_pack, renamed

__all__ = ["optimize"]


def optimize(flow: Plan) -> Plan:
    """Return the plan with every composition of Aggregates that is recognised replaced by the dedicated operators.

    The rows of each time stay the same, but those that only a composition held back come out earlier.
    """
    flow = replace(flow, operators=tuple(map(as_explode, flow.operators)))
    for id_ in [operator.id for operator in flow]:
        # The result of one rule may be the end of another composition.
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
    """Return the plan with the composition that ends at an operator replaced; None if no composition ends there."""
    position = next((i for i, operator in enumerate(flow) if operator.id == id_), None)
    if position is None or feeds_lateness(flow, flow.operators[position]):
        return None
    for rule in _RULES:
        dedicated = rule(flow, flow.operators[position])
        if dedicated is not None:
            return replace(flow, operators=(*flow.operators[:position], *dedicated, *flow.operators[position + 1 :]))
    return None


def _map(flow: Plan, last: PlanOperator) -> list[PlanOperator] | None:
    """Recognise rows that are packed and then unpacked: a Filter, a Map, or both. The key does not matter if unread."""
    embed = _unpacked(flow, last)
    if embed is None or not isinstance(last, plan.Select):
        return None
    (before,) = flow.inputs(embed)
    (answer,) = embed.aggregation.outputs
    packed = _pack(answer.calls[0].arguments[0], before.schema)
    outputs = [_on_rows(output, answer.name, packed, embed.aggregation, before.schema) for output in data_of(last)]
    if any(output is None for output in outputs):
        return None
    found = [output for output in outputs if output is not None]
    chosen = [sql for sql in (answer.calls[0].where, packed.where) if sql is not None]
    if not chosen:
        return [selected(last, before, found, last.id)]
    condition = bound_to(chosen[0] if len(chosen) == 1 else " AND ".join(f"({sql})" for sql in chosen), before.schema)
    if _is_whole(found, before.schema):
        return [plan.Where(id=last.id, inputs=(before.id,), schema=before.schema, condition=condition)]
    filtered = plan.Where(id=f"{last.id}.where", inputs=(before.id,), schema=before.schema, condition=condition)
    return [filtered, selected(last, filtered, found, last.id)]


def _unpacked(flow: Plan, last: PlanOperator) -> plan.Aggregate | plan.WindowAggregate | None:
    """Return the Aggregate of one list of rows that is unfolded before a select; or None."""
    if not isinstance(last, plan.Select):
        return None
    (behind,) = flow.inputs(last)
    if not isinstance(behind, plan.Explode):
        return None
    (embed,) = flow.inputs(behind)
    if not isinstance(embed, plan.Aggregate | plan.WindowAggregate) or not is_embed(embed) or not embed.schema.time:
        return None
    answers = embed.aggregation.outputs
    if len(answers) != 1 or answers[0].name != behind.column or not alone(flow, [embed, behind, last]):
        return None
    return embed if answers[0].is_call and collected(answers[0].calls[0]) else None


@dataclass(frozen=True, slots=True)
class _Pack:
    """An element of a list, which is made of each row that satisfies ``where``: a struct of fields, or one value."""

    fields: dict[str, Expression] | None
    value: str
    where: str | None


def _pack(argument: str, schema: Schema) -> _Pack:
    fields = fields_of(argument, schema)
    if fields is not None:
        return _Pack(fields, argument, None)
    chosen = Sql.of(argument).arguments("if")
    if chosen is not None and len(chosen) == 3 and chosen[2].upper() == "NULL":
        fields = fields_of(chosen[1], schema)
        if fields is not None:
            return _Pack(fields, argument, chosen[0])
    # A list leaves out nulls.
    return _Pack(None, argument, f"({argument}) IS NOT NULL")


def _on_rows(
    output: Expression, pack: str, packed: _Pack, aggregation: Aggregation, schema: Schema
) -> Expression | None:
    """Return what a select computes from packs and keys as an expression on rows; None if it reads anything else."""
    keys = {e.name: e for e in aggregation.by if e.name in output.columns}
    if "window" in output.columns or not exact([c for c in aggregation.columns if c.name in keys]):
        return None
    computed = {name: e for name, e in keys.items() if not e.is_column}
    if any(column.split(".")[0] == pack for e in computed.values() for column in e.columns):
        # A key reads a column that has the same name as the pack.
        return None
    # Replace keys first: a field may have the name of a key, and another value.
    columns = {name: f"({e.sql})" for name, e in computed.items()}
    if packed.fields is None:
        columns[pack] = packed.value if output.sql == pack else f"({packed.value})"
    found: Expression | None = renamed(output, columns)
    if packed.fields is not None:
        found = from_pack(renamed(output, columns), pack, packed.fields)
    return None if found is None else replace(bound_to(found.sql, schema, output.name), type=output.type)


def _is_whole(outputs: list[Expression], schema: Schema) -> bool:
    """Whether a select gives the rows unchanged."""
    return [e.name for e in outputs if e.is_column] == [c.name for c in schema.data] and len(outputs) == len(
        schema.data
    )


def _explode(flow: Plan, last: PlanOperator) -> list[PlanOperator] | None:
    """Recognise a Map that changes nothing, before an explode: it packed the rows for a composition."""
    before = flow.inputs(last)[0] if isinstance(last, plan.Explode) else None
    if not isinstance(before, plan.Select) or not only_reader(flow, before, last):
        return None
    (rows,) = flow.inputs(before)
    if not _is_whole(data_of(before), rows.schema) or before.schema != rows.schema:
        return None
    assert isinstance(last, plan.Explode)
    return [replace(last, inputs=(rows.id,))]


def _distinct(flow: Plan, last: PlanOperator) -> list[PlanOperator] | None:
    """Recognise one answer for each whole row, of which only the row is kept: a distinct."""
    if not isinstance(last, plan.Select):
        return None
    (embed,) = flow.inputs(last)
    if not isinstance(embed, plan.Aggregate | plan.WindowAggregate) or not is_embed(embed):
        return None
    (before,) = flow.inputs(embed)
    row = [c.name for c in before.schema.data]
    by = [e.name for e in embed.aggregation.by if e.is_column]
    outputs = data_of(last)
    kept = [e.name for e in outputs if e.is_column]
    if not before.schema.time or not sorted(by) == sorted(kept) == sorted(row) or len(outputs) != len(row):
        return None
    if not only_reader(flow, embed, last):
        return None
    if kept == row:
        return [plan.Distinct(id=last.id, inputs=(before.id,), schema=last.schema)]
    once = plan.Distinct(id=f"{last.id}.distinct", inputs=(before.id,), schema=before.schema)
    return [once, selected(last, once, outputs, last.id)]


#: The rules that are tried at each operator. Generated joins come before Maps: some of them end in the shape of a Map.
_RULES: tuple[Callable[[Plan, PlanOperator], list[PlanOperator] | None], ...] = (
    join,
    accumulate,
    _map,
    _explode,
    _distinct,
    join_by_hand,
    accumulate_by_hand,
)
