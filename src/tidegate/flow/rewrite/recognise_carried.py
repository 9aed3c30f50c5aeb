"""Recognising `accumulate` in compositions of Aggregates: those of `to_aggregates`, and those that a user wrote."""

from __future__ import annotations

from dataclasses import replace

from tidegate.flow import plan
from tidegate.flow.aggregates import AggregateExpression, Aggregation, aggregation
from tidegate.flow.errors import FlowError
from tidegate.flow.expressions import Expression
from tidegate.flow.parser import exp
from tidegate.flow.plan import Plan, PlanOperator
from tidegate.flow.rewrite.carried import carried, merging
from tidegate.flow.rewrite.pieces import Form
from tidegate.flow.rewrite.shapes import data_of, is_there, only_reader
from tidegate.flow.schema import Column, Schema, exact
from tidegate.flow.sqltypes import quoted
from tidegate.flow.substitute import renamed

__all__ = ["accumulate", "accumulate_by_hand"]


def accumulate(flow: Plan, last: PlanOperator) -> list[PlanOperator] | None:
    """Recognise what `to_aggregates` makes of an accumulate: guess the accumulate, compose it, and compare."""
    carry = last
    while isinstance(carry, plan.Select | plan.Explode | plan.Aggregate) and carry.id.startswith(last.id):
        (carry,) = flow.inputs(carry)
    if not isinstance(carry, plan.Carry):
        return None
    embeds = _periods(flow, carry)
    if not embeds:
        return None
    (before,) = flow.inputs(embeds[0])
    try:
        found = _aggregation(flow, last, embeds[0], before.schema)
        if found is None:
            return None
        guess = plan.Accumulate(
            id=last.id,
            inputs=(before.id,),
            schema=last.schema,
            aggregation=found,
            emit=carry.emit,
            every=_every(embeds),
        )
        same = is_there(flow, carried(guess, before, Form("A+")) or [guess])
    except FlowError:
        return None
    return [guess] if same else None


def _periods(flow: Plan, carry: plan.Carry) -> list[plan.Aggregate | plan.WindowAggregate]:
    """Return the Aggregates of a composition before its loop."""
    found: list[plan.Aggregate | plan.WindowAggregate] = []
    (before,) = flow.inputs(carry)
    prefix = f"{carry.id.removesuffix('.carry')}.embed"
    while isinstance(before, plan.Aggregate | plan.WindowAggregate) and before.id.startswith(prefix):
        found = [before, *found]
        (before,) = flow.inputs(before)
    return found


def _every(embeds: list[plan.Aggregate | plan.WindowAggregate]) -> tuple[tuple[str, int], ...]:
    frames = [e.frame for e in embeds if isinstance(e, plan.WindowAggregate)]
    return tuple((frame.over, frame.size) for frame in frames if isinstance(frame, plan.WindowFrame))


def _aggregation(
    flow: Plan, last: PlanOperator, embed: plan.Aggregate | plan.WindowAggregate, schema: Schema
) -> Aggregation | None:
    """Return what is accumulated, on rows: from results that are merged, or from rows that were carried."""
    by = embed.aggregation.by
    if isinstance(last, plan.Select):
        parts = {output.name: output.sql for output in embed.aggregation.outputs}
        texts = {e.name: renamed(e, parts).sql for e in data_of(last)[len(by) :]}
    elif isinstance(last, plan.Aggregate):
        (rows,) = flow.inputs(last)
        if not isinstance(rows, plan.Select):
            return None
        fields = [e.tree.name for e in data_of(rows) if isinstance(e.tree, exp.Column)]
        own = {e.name: quoted(name) for e, name in zip(data_of(rows), fields, strict=False) if e.name != name}
        texts = {o.name: renamed(_scalar(o), own).sql for o in last.aggregation.outputs}
    else:
        return None
    groups = [f"{e.sql} AS {quoted(e.name)}" for e in by]
    found = aggregation(groups, (), texts, schema)
    outputs = tuple(replace(output, type=last.schema[output.name].type) for output in found.outputs)
    return Aggregation(by, outputs)


def _scalar(output: AggregateExpression) -> Expression:
    return Expression(output.name, output.sql, output.type, output.columns)


def accumulate_by_hand(flow: Plan, last: PlanOperator) -> list[PlanOperator] | None:
    """Recognise results of each period, or of each time, that are merged with all before: an accumulate of the rows."""
    if type(last) is not plan.Accumulate or last.every or last.forget is not None:
        return None
    (embed,) = flow.inputs(last)
    if not isinstance(embed, plan.Aggregate | plan.WindowAggregate) or not only_reader(flow, embed, last):
        return None
    every = _every([embed])
    if isinstance(embed, plan.WindowAggregate):
        frame = embed.frame
        if not isinstance(frame, plan.WindowFrame) or (frame.every, frame.offset, frame.lateness) != (frame.size, 0, 0):
            return None
    (before,) = flow.inputs(embed)
    results = {output.name: output for output in embed.aggregation.outputs}
    groups = {e.name: e for e in embed.aggregation.by}
    by = [replace(groups[e.columns[0]], name=e.name) for e in last.aggregation.by if _is_one(e, groups)]
    if not before.schema.time or len(by) != len(last.aggregation.by) or not exact([Column(e.name, e.type) for e in by]):
        return None
    texts: dict[str, str] = {}
    for output in last.aggregation.outputs:
        call = output.calls[0]
        part = next((r for r in results.values() if call.arguments == (quoted(r.name),)), None)
        if not output.is_call or part is None or not part.is_call or call.where or call.rest or call.distinct:
            return None
        if merging(part.calls[0]) != call.function or output.type != part.type:
            return None
        texts[output.name] = part.sql
    found = aggregation([f"{e.sql} AS {quoted(e.name)}" for e in by], (), texts, before.schema)
    outputs = tuple(replace(o, type=last.schema[o.name].type) for o in found.outputs)
    return [replace(last, inputs=(before.id,), aggregation=Aggregation(tuple(by), outputs), every=every)]


def _is_one(expression: Expression, groups: dict[str, Expression]) -> bool:
    return len(expression.columns) == 1 and expression.columns[0] in groups and _is_name(expression)


def _is_name(expression: Expression) -> bool:
    return expression.sql == quoted(expression.columns[0])
