"""Helpers that recognise compositions: who reads an operator, calls in SQL text, lists that are collected, packs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from tidegate.flow import plan
from tidegate.flow.aggregates import AggregateCall
from tidegate.flow.expressions import Expression, Parsed, Scope, bound
from tidegate.flow.parser import TokenType
from tidegate.flow.plan import Plan, PlanOperator
from tidegate.flow.schema import Schema
from tidegate.flow.sql import Sql

__all__ = [
    "alone",
    "as_explode",
    "bound_to",
    "collected",
    "data_of",
    "feeds_lateness",
    "fields_of",
    "is_embed",
    "is_there",
    "lambda_of",
    "only_reader",
    "selected",
]

#: An Aggregate on units or on windows.
Embed = plan.Aggregate | plan.WindowAggregate


def only_reader(flow: Plan, operator: PlanOperator, reader: PlanOperator) -> bool:
    """Whether exactly one operator reads another."""
    readers = [o.id for o in flow.consumers(operator.id)]
    return readers == [reader.id] and all(sink.input != operator.id for sink in flow.sinks)


def alone(flow: Plan, chain: Sequence[PlanOperator]) -> bool:
    """Whether each operator of a chain is read by the next one only."""
    return all(only_reader(flow, a, b) for a, b in pairwise(chain))


def is_there(flow: Plan, composition: Iterable[PlanOperator]) -> bool:
    """Whether a plan has all operators of a composition, each read by the others only; the last by anyone.

    It does not matter whether there are loops: an unfold counts as an explode.
    """
    known = {operator.id: operator for operator in flow}
    found = [as_explode(operator) for operator in composition]
    if any(known.get(operator.id) != operator for operator in found):
        return False
    inner = {operator.id for operator in found}
    readers = [reader.id for operator in found[:-1] for reader in flow.consumers(operator.id)]
    return inner.issuperset(readers) and not any(sink.input in inner - {found[-1].id} for sink in flow.sinks)


def feeds_lateness(flow: Plan, operator: PlanOperator) -> bool:
    """Whether late rows pass an operator on their way to a window with lateness; an Aggregate stops them."""
    for reader in flow.consumers(operator.id):
        if getattr(getattr(reader, "frame", None), "lateness", 0):
            return True
        if not reader.stateful and feeds_lateness(flow, reader):
            return True
    return False


def as_explode(operator: PlanOperator) -> PlanOperator:
    """Return the operator without a loop that gives the same rows."""
    if not isinstance(operator, plan.Unfold):
        return operator
    return plan.Explode(id=operator.id, inputs=operator.inputs, schema=operator.schema, column=operator.column)


def is_embed(operator: PlanOperator) -> bool:
    """Whether an operator is an Aggregate whose instances are times: windows of one unit are (Lemma 1)."""
    if isinstance(operator, plan.Aggregate):
        return True
    frame = operator.frame if isinstance(operator, plan.WindowAggregate) else None
    return isinstance(frame, plan.WindowFrame) and (frame.size, frame.every, frame.lateness) == (1, 1, 0)


def data_of(operator: plan.Select) -> list[Expression]:
    """Return what a select computes besides the time columns."""
    return [e for e in operator.outputs if e.name not in operator.schema.time]


def selected(last: PlanOperator, before: PlanOperator, outputs: Sequence[Expression], id_: str) -> plan.Select:
    """Build the select of some expressions with the schema of ``last``."""
    times = last.outputs[: len(last.schema.time)] if isinstance(last, plan.Select) else ()
    return plan.Select(id=id_, inputs=(before.id,), schema=last.schema, outputs=(*times, *outputs))


def bound_to(sql: str, schema: Schema, name: str = "") -> Expression:
    """Bind SQL that was bound before."""
    return bound(Parsed.of(sql, "an expression"), Scope(schema), name=name or None)


def collected(call: AggregateCall) -> bool:
    """Whether a call lists values as they are, duplicates included."""
    return call.definition.lists and not call.distinct and not call.rest


def lambda_of(sql: str) -> str | None:
    """Return the body of a lambda of one parameter.

    >>> lambda_of("x -> x > 1")
    'x > 1'
    """
    whole = Sql.of(sql)
    return str(whole[2:]) if len(whole) > 2 and whole.tokens[1].kind == TokenType.ARROW else None


def fields_of(sql: str, schema: Schema) -> dict[str, Expression] | None:
    """Return the fields of the struct that SQL builds, by name in lower case; None if it builds none."""
    parts = Sql.of(sql).arguments("struct")
    if parts is not None:
        found = [bound_to(part, schema) for part in parts]
    else:
        parts = Sql.of(sql).arguments("named_struct")
        if parts is None:
            return None
        found = [
            replace(bound_to(value, schema), name=_literal_text(name))
            for name, value in zip(parts[::2], parts[1::2], strict=True)
        ]
    return {e.name.lower(): e for e in found} if all(e.name for e in found) else None


def _literal_text(sql: str) -> str:
    """Return the text of a literal; an empty text if the SQL is something else."""
    tokens = Sql.of(sql).tokens
    return tokens[0].text if [token.kind for token in tokens] == [TokenType.STRING] else ""
