"""`to_aggregates`: Map, Filter, FlatMap, Join, distinct and accumulate as compositions of Aggregates, plan to plan.

A composition is an `Aggregate` that packs rows or answers into a list, and operators after it that unpack the list.
With A, answers are packed, and a loop unfolds them: E and X of the paper. With A+, rows are packed; unfolding them and
computing answers counts as part of the Aggregate, which may give many answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatchmethod

from tidegate.flow import plan
from tidegate.flow.errors import BadArgument
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import Plan, PlanOperator
from tidegate.flow.rewrite.carried import carried
from tidegate.flow.rewrite.paired import paired
from tidegate.flow.rewrite.pieces import (
    Form,
    aggregate,
    array_of,
    field_of,
    free_name,
    packable,
    packed,
    references,
    select,
    struct_of,
)
from tidegate.flow.rewrite.shapes import feeds_lateness
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.flow.substitute import into_pack

__all__ = ["to_aggregates"]


def to_aggregates(flow: Plan, *, using: str = "A+", looped: bool = False) -> Plan:
    """Return the plan with dedicated operators replaced by compositions of ``"A"`` or of ``"A+"``.

    Both begin with an Aggregate that packs. A+ unpacks by itself, by ``explode``. A needs a loop, ``unfold``, which
    engines run in one pass unless it is ``looped``. Some operators are left as they are: Python functions, outer joins,
    joins with tables, operators on tables, and operators before a window with lateness, since late rows pass them.
    """
    if using not in ("A", "A+"):
        raise BadArgument(f'expected using="A" or using="A+", got {using!r}').at(f"flow {flow.name!r}")
    if looped and using != "A":
        raise BadArgument(
            'expected looped=True with using="A" only, got it with A+', hint="A+ answers all at once: it has no loop"
        ).at(f"flow {flow.name!r}")
    compose = _Compose(flow, Form(using, looped))
    operators = [new for operator in flow for new in compose.of(operator)]
    return replace(flow, operators=tuple(operators))


@dataclass(frozen=True, slots=True)
class _Compose:
    flow: Plan
    form: Form

    def of(self, operator: PlanOperator) -> list[PlanOperator]:
        """Return the operators that replace one operator; the last of them has its name."""
        return self._rule(operator) if self._simple(operator) else [operator]

    def _simple(self, operator: PlanOperator) -> bool:
        """Whether an operator works on streams whose rows can be packed, and no late row passes it."""
        inputs = self.flow.inputs(operator)
        given = all(i.schema.time and packable(i.schema.columns) for i in inputs)
        packs = bool(inputs) and given and packable(operator.schema.columns)
        return packs and not feeds_lateness(self.flow, operator)

    def _only_reader(self, operator: PlanOperator) -> PlanOperator | None:
        """Return the one operator that reads another; None if there are more, or a sink does."""
        readers = self.flow.consumers(operator.id)
        read = any(sink.input == operator.id for sink in self.flow.sinks)
        return readers[0] if len(readers) == 1 and not read else None

    @singledispatchmethod
    def _rule(self, operator: PlanOperator) -> list[PlanOperator]:
        return [operator]

    @_rule.register
    def _where(self, operator: plan.Where) -> list[PlanOperator]:
        if self._in_select(operator):
            return []
        (before,) = self.flow.inputs(operator)
        return self._map(before, references(before.schema.data), operator.condition, operator.id)

    def _in_select(self, operator: plan.Where) -> bool:
        """Whether a Filter becomes part of the Map after it: a Map may give no row."""
        reader = self._only_reader(operator)
        return isinstance(reader, plan.Select) and self._simple(reader) and not self._keys_a_join(reader)

    def _keys_a_join(self, operator: plan.Select) -> bool:
        """Whether a select only renames columns and computes the keys of a composed Join, which is f_K in the paper."""
        reader = self._only_reader(operator)
        if not isinstance(reader, plan.Join | plan.WindowJoin) or self.of(reader) == [reader]:
            return False
        named = [e.name in reader.on or e.sql in map(quoted, e.columns) for e in operator.outputs]
        return all(named)

    @_rule.register
    def _select(self, operator: plan.Select) -> list[PlanOperator]:
        if self._keys_a_join(operator):
            return [operator]
        (before,) = self.flow.inputs(operator)
        where = None
        if isinstance(before, plan.Where) and self._simple(before) and self._in_select(before):
            where = before.condition
            (before,) = self.flow.inputs(before)
        columns = [e for e in operator.outputs if e.name not in operator.schema.time]
        return self._map(before, columns, where, operator.id)

    def _map(
        self, before: PlanOperator, outputs: list[Expression], where: Expression | None, id_: str
    ) -> list[PlanOperator]:
        """Return a Map as a composition: identical rows of one time are a group, which gives one list of packs."""
        pack = free_name("pack", before.schema)
        read = {name for e in outputs for name in e.columns}
        kept = outputs if self.form.using == "A" else references([c for c in before.schema.data if c.name in read])
        fields = [Column(e.name, e.type) for e in kept]
        sql = f"collect_list({packed({e.name: e.sql for e in kept})})"
        if where is not None:
            sql += f" FILTER (WHERE {where.sql})"
        answers = {pack: (sql, array_of(struct_of(fields)))}
        embed = aggregate(f"{id_}.embed", before, references(before.schema.data), answers)
        unfold = self.form.unfolded(embed, pack, f"{id_}.unfold")
        if self.form.using == "A":
            return [embed, unfold, select(unfold, [field_of(pack, c) for c in fields], id_)]
        return [embed, unfold, select(unfold, [into_pack(e, pack, [c.name for c in fields]) for e in outputs], id_)]

    @_rule.register
    def _explode(self, operator: plan.Explode) -> list[PlanOperator]:
        """Return an explode as a composition: a Map, which may change nothing, and an unfold of the column."""
        (before,) = self.flow.inputs(operator)
        mapped = isinstance(before, plan.Where | plan.Select) and self._simple(before)
        if mapped and self._only_reader(before) is operator:
            return [self.form.unfolded(before, operator.column, operator.id)]
        rows = self._map(before, references(before.schema.data), None, f"{operator.id}.rows")
        return [*rows, self.form.unfolded(rows[-1], operator.column, operator.id)]

    @_rule.register
    def _distinct(self, operator: plan.Distinct) -> list[PlanOperator]:
        """Return a distinct as a composition: identical rows are in one group, which gives one row."""
        (before,) = self.flow.inputs(operator)
        copies = free_name("copies", before.schema)
        row = references(before.schema.data)
        once = aggregate(f"{operator.id}.embed", before, row, {copies: ("count(*)", "BIGINT")}, embeds=False)
        return [once, select(once, row, operator.id)]

    @_rule.register
    def _join(self, operator: plan.Join) -> list[PlanOperator]:
        left, right = self.flow.inputs(operator)
        return [operator] if operator.with_table else paired(operator, left, right, None, self.form) or [operator]

    @_rule.register
    def _window_join(self, operator: plan.WindowJoin) -> list[PlanOperator]:
        if operator.frame.lateness or operator.early:
            # An Aggregate would not let late rows pass, and rows that are unfolded have no revision. And it answers
            # when a window is complete.
            return [operator]
        left, right = self.flow.inputs(operator)
        return paired(operator, left, right, operator.frame, self.form) or [operator]

    @_rule.register
    def _accumulate(self, operator: plan.Accumulate) -> list[PlanOperator]:
        (before,) = self.flow.inputs(operator)
        if operator.forget is not None:
            return [operator]
        return carried(operator, before, self.form) or [operator]

    @_rule.register
    def _carry(self, operator: plan.Carry) -> list[PlanOperator]:
        return [operator]
