"""Rewrites a plan whose times have another order to a plan on points, which engines can run.

Each stream gets the axes as its time columns. The user's columns stay beside them, so that expressions can read them.
Where an operator makes new rows, the user's columns are computed from the axes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tidegate.flow import plan
from tidegate.flow.errors import NotSupported
from tidegate.flow.expressions import Expression, reference_to
from tidegate.flow.orders.coordinates import Coordinates, PosetCoordinates, SumCoordinates, points_stored
from tidegate.flow.orders.lexicographic import LexicographicCoordinates
from tidegate.flow.orders.ordered import Ordered
from tidegate.flow.orders.realizer import grown, numbered
from tidegate.flow.plan import Plan, PlanOperator
from tidegate.flow.schema import Column, Schema
from tidegate.time import Lexicographic, Poset

__all__ = ["plan_on_points"]

#: Operators that keep the columns of their input rows, so that the user's columns are already there.
_AS_GIVEN = (plan.Source, plan.Where, plan.Explode, plan.Unfold, plan.MapBatches, plan.Union, plan.Gate, plan.Distinct)


def plan_on_points(flow: Plan, known: Mapping[str, Sequence[Sequence[Any]]] = MappingProxyType({})) -> Plan:
    """Return the plan that engines run. It is the same plan if all times are ordered by their values.

    ``known`` are the numbers that a checkpoint has of the orders of sources. An order that has grown keeps using them.
    """
    found: dict[Ordered, Coordinates] = {}
    for given in {source.schema.ordered: None for source in flow.sources if source.schema.ordered}:
        # Sources with the same order get the same numbers; otherwise their streams could not be joined or united.
        alike = [source for source in flow.sources if source.schema.ordered == given]
        stored = [known[name] for source in alike for name in (source.id, source.was) if name in known]
        assert given is not None
        found[given] = _coordinates(given, stored)
    if not found:
        return flow
    rewritten = _Rewriting(flow, found)
    for operator in flow:
        rewritten.add(operator)
    sinks = tuple(replace(sink, input=rewritten.names.get(sink.input, sink.input)) for sink in flow.sinks)
    return replace(flow, operators=tuple(rewritten.operators), sinks=sinks)


def _coordinates(given: Ordered, known: Sequence[Sequence[Sequence[Any]]]) -> Coordinates:
    if isinstance(given.order, Lexicographic):
        return LexicographicCoordinates(given)
    if not isinstance(given.order, Poset):
        return SumCoordinates(given)
    for stored in known:
        points = grown(given.order, points_stored(given, stored))
        if points is not None:
            return PosetCoordinates.of(given, points)
    return PosetCoordinates.of(given, numbered(given.order))


class _Rewriting:
    """The rewrite of a plan: the operators of the new plan so far, and the streams that got another name in it."""

    def __init__(self, flow: Plan, found: Mapping[Ordered, Coordinates]) -> None:
        self._flow = flow
        self._found = found
        self.operators: list[PlanOperator] = []
        self.names: dict[str, str] = {}

    def add(self, operator: PlanOperator) -> None:
        """Add an operator, and if needed one after it that computes the user's columns."""
        inputs = tuple(self.names.get(name, name) for name in operator.inputs)
        operator = replace(operator, inputs=inputs)
        given = operator.schema.ordered
        if given is None:
            self.operators.append(operator)
            return
        at = self._found[given]
        schema = _on_axes(operator.schema, at)
        axes = tuple(reference_to(c.name, c.type) for c in at.columns)
        user = tuple(reference_to(c.name, c.type) for c in at.user)
        if isinstance(operator, _AS_GIVEN):
            self.operators.append(replace(operator, schema=schema))
        elif isinstance(operator, plan.Select):
            self.operators.append(replace(operator, schema=schema, outputs=(*axes, *operator.outputs)))
        elif isinstance(operator, plan.Deduplicate):
            # Only total orders allow it, and these have one axis.
            self.operators.append(replace(operator, schema=schema, over=at.names[0]))
        elif isinstance(operator, plan.Aggregate):
            # Rows of a group have one time, so grouping by the user's columns as well changes nothing.
            grouped = replace(operator.aggregation, by=(*user, *operator.aggregation.by))
            # The rows that are unfolded need the user's columns, which are in the key: so the key must be kept.
            self.operators.append(replace(operator, schema=schema, aggregation=grouped, embeds=False))
        else:
            self._add_restored(self._of_its_own(operator, at), operator.schema, at)

    def _of_its_own(self, operator: PlanOperator, at: Coordinates) -> PlanOperator:
        """Return an operator that makes new rows on points, whatever is in the user's columns."""
        names = at.given.columns
        columns = operator.schema.columns[len(names) :]
        if isinstance(operator, plan.Accumulate | plan.Process):
            return replace(operator, schema=_points(at, columns))
        if isinstance(operator, plan.JoinAsof):
            return replace(operator, over=at.names[0], schema=_points(at, columns))
        if isinstance(operator, plan.Iterate):
            # Queries of a loop see no times, so take the user's time columns out of their relations.
            inputs = tuple(map(self._without_user, operator.inputs))
            return replace(operator, inputs=inputs, schema=_points(at, columns))
        if isinstance(operator, plan.Top):
            groups = len(operator.by)
            return replace(operator, schema=_points(at, (*columns[:groups], *at.user, *columns[groups:])))
        if isinstance(operator, plan.Join) and operator.with_table:
            on, rest = columns[: len(operator.on)], columns[len(operator.on) :]
            left = (*names, *operator.left_columns)
            return replace(operator, left_columns=left, schema=_points(at, (*on, *at.user, *rest)))
        if isinstance(operator, plan.Join):
            return replace(operator, on=(*names, *operator.on), schema=_points(at, (*at.user, *columns)))
        raise NotSupported(f"there is no {operator.verb} on times that are ordered by {at.order!r}")

    def _without_user(self, name: str) -> str:
        """Return the name of a stream without the user's time columns, added if needed; a table stays as it is."""
        before = next(operator for operator in self.operators if operator.id == name)
        at = before.schema.coordinates
        if at is None:
            return name
        columns = tuple(c for c in before.schema.columns if c.name not in at.given.columns)
        outputs = tuple(reference_to(c.name, c.type) for c in columns)
        bare = plan.Restored(
            id=f"{name} without {at.given.name}", inputs=(name,), schema=before.schema.of(columns), outputs=outputs
        )
        if all(operator.id != bare.id for operator in self.operators):
            self.operators.append(bare)
        return bare.id

    def _add_restored(self, operator: PlanOperator, user: Schema, at: Coordinates) -> None:
        schema = _on_axes(user, at)
        made = {
            column.name: Expression(column.name, sql, column.type, (at.names[0],))
            for column, sql in zip(at.user, at.decode_sql, strict=True)
        }
        outputs = tuple(made.get(c.name) or reference_to(c.name, c.type) for c in schema.columns)
        restored = plan.Restored(
            id=f"{operator.id} with {at.given.name}", inputs=(operator.id,), schema=schema, outputs=outputs
        )
        self.operators += [operator, restored]
        self.names[operator.id] = restored.id


def _on_axes(schema: Schema, at: Coordinates) -> Schema:
    return _points(at, schema.columns)


def _points(at: Coordinates, columns: Sequence[Column]) -> Schema:
    return Schema((*at.columns, *columns), at.names, at)
