"""`to_aggregates`: Map, Filter, FlatMap, Join and distinct as compositions of Aggregates, from plan to plan.

A composition is an `Aggregate` that packs, followed by operators that unpack. A ``select`` that only puts columns into
a pack or takes them out names the attributes of tuples; it computes nothing, and stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatchmethod

from tidegate.flow import plan
from tidegate.flow.errors import BadArgument
from tidegate.flow.expressions import Expression, reference_to
from tidegate.flow.plan import Operator, Plan
from tidegate.flow.rewrite.pieces import (
    LEFT,
    RIGHT,
    aggregate,
    array_of,
    exact,
    exploded,
    field_of,
    free_name,
    packable,
    packed,
    select,
    struct_of,
)
from tidegate.flow.schema import Column, Schema
from tidegate.flow.sqltypes import quoted

__all__ = ["to_aggregates"]


def to_aggregates(flow: Plan, *, using: str = "A+") -> Plan:
    """Answer the plan with dedicated operators replaced by compositions of ``"A"`` or of ``"A+"``.

    Both have an Aggregate that packs. A+ unpacks by itself, which is an ``explode``; A needs a loop, an ``unfold``.
    What is left as it is: Python functions, outer joins, joins with tables, operators on tables, and `accumulate`.
    """
    if using not in ("A", "A+"):
        raise BadArgument(f'expected using="A" or using="A+", got {using!r}').at(f"flow {flow.name!r}")
    compose = _Compose(flow, plan.Unfold if using == "A" else plan.Explode)
    operators = [new for operator in flow for new in compose.of(operator)]
    return replace(flow, operators=tuple(operators))


@dataclass(frozen=True, slots=True)
class _Compose:
    flow: Plan
    kind: type[plan.Explode] | type[plan.Unfold]

    def of(self, operator: Operator) -> list[Operator]:
        """Answer the operators that take the place of one; the last of them has its name."""
        inputs = self.flow.inputs(operator)
        simple = all(i.schema.time and packable(i.schema.columns) for i in inputs) and packable(operator.schema.columns)
        return self._rule(operator) if inputs and simple else [operator]

    @singledispatchmethod
    def _rule(self, operator: Operator) -> list[Operator]:
        return [operator]

    @_rule.register
    def _where(self, operator: plan.Where) -> list[Operator]:
        (before,) = self.flow.inputs(operator)
        columns = [reference_to(c.name, c.type) for c in before.schema.data]
        return self._map(before, columns, operator.condition, operator.id)

    @_rule.register
    def _select(self, operator: plan.Select) -> list[Operator]:
        (before,) = self.flow.inputs(operator)
        columns = [e for e in operator.outputs if e.name not in operator.schema.time]
        return self._map(before, columns, None, operator.id)

    def _map(
        self, before: Operator, outputs: list[Expression], where: Expression | None, id_: str, *, part: str = ""
    ) -> list[Operator]:
        """Compose a Map: identical rows meet in a unit window with the whole row as key, and answer one pack."""
        columns = [Column(e.name, e.type) for e in outputs]
        pack = free_name("pack", before.schema)
        sql = f"collect_list({packed({e.name: e.sql for e in outputs})})"
        if where is not None:
            sql += f" FILTER (WHERE {where.sql})"
        answers = {pack: (sql, array_of(struct_of(columns)))}
        embed = aggregate(f"{id_}{part}.embed", before.id, before.schema, _names(before.schema), answers)
        unfold = exploded(embed, pack, f"{id_}{part}.unfold", self.kind)
        return [embed, unfold, select(unfold, [field_of(pack, c) for c in columns], id_)]

    @_rule.register
    def _explode(self, operator: plan.Explode) -> list[Operator]:
        """The arrays of identical rows are collected, and unfolded twice."""
        (before,) = self.flow.inputs(operator)
        pack = free_name("pack", before.schema)
        array = before.schema[operator.column]
        if not exact([c for c in before.schema.data if c != array]):
            return [operator]
        answers = {pack: (f"collect_list({quoted(array.name)})", array_of(array.type))}
        embed = aggregate(f"{operator.id}.embed", before.id, before.schema, _names(before.schema), answers)
        arrays = exploded(embed, pack, f"{operator.id}.unfold", self.kind)
        elements = exploded(arrays, pack, f"{operator.id}.unfold.unfold", self.kind)
        outputs = [
            Expression(c.name, quoted(pack), c.type, (pack,)) if c.name == array.name else reference_to(c.name, c.type)
            for c in operator.schema.data
        ]
        return [embed, arrays, elements, select(elements, outputs, operator.id)]

    @_rule.register
    def _distinct(self, operator: plan.Distinct) -> list[Operator]:
        """Identical rows meet, and answer one."""
        (before,) = self.flow.inputs(operator)
        copies = free_name("copies", before.schema)
        answers: dict[str, tuple[str, str | None]] = {copies: ("count(*)", "BIGINT")}
        once = aggregate(f"{operator.id}.embed", before.id, before.schema, _names(before.schema), answers)
        return [once, select(once, [reference_to(c.name, c.type) for c in before.schema.data], operator.id)]

    @_rule.register
    def _join(self, operator: plan.Join) -> list[Operator]:
        return [operator] if operator.with_table else self._paired(operator, None)

    @_rule.register
    def _window_join(self, operator: plan.WindowJoin) -> list[Operator]:
        return self._paired(operator, operator.frame)

    def _paired(self, operator: plan.Join | plan.WindowJoin, frame: plan.WindowFrame | None) -> list[Operator]:
        """Compose a Join: both sides get one type, meet by key, and answer two packs that are unfolded into pairs."""
        sides = self.flow.inputs(operator)
        structs = [struct_of(side.schema.columns) for side in sides]
        taken = {name.lower() for side in sides for name in side.schema.names} & {LEFT, RIGHT, "window"}
        keys = [side.schema[name] for side in sides for name in operator.on]
        if operator.how != "inner" or taken or None in structs or not exact(keys):
            return [operator]
        tags = [self._tagged(operator, side, structs, name) for side, name in zip(sides, (LEFT, RIGHT), strict=True)]
        id_ = operator.id
        union = plan.Union(id=f"{id_}.both", inputs=(tags[0].id, tags[1].id), schema=tags[0].schema)
        known = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in operator.on)
        chosen = f" FILTER (WHERE {known})" if known else ""
        answers = {
            name: (f"collect_list({quoted(name)}){chosen}", array_of(struct))
            for name, struct in zip((LEFT, RIGHT), structs, strict=True)
        }
        embed = aggregate(f"{id_}.embed", union.id, union.schema, operator.on, answers, frame)
        lefts = exploded(embed, LEFT, f"{id_}.unfold", self.kind)
        pairs = exploded(lefts, RIGHT, f"{id_}.unfold.unfold", self.kind)
        outputs = [reference_to(name, operator.schema[name].type) for name in operator.on]
        outputs += [field_of(LEFT, sides[0].schema[name]) for name in operator.left_columns]
        outputs += [field_of(RIGHT, sides[1].schema[name]) for name in operator.right_columns]
        start: list[Operator] = [*tags, union, embed, lefts, pairs]
        if operator.where is None:
            return [*start, select(pairs, outputs, id_)]
        return [*start, *self._map(pairs, outputs, operator.where, id_, part=".where")]

    def _tagged(
        self, operator: plan.Join | plan.WindowJoin, side: Operator, structs: list[str | None], mine: str
    ) -> plan.Select:
        """Give a side the type of both: its rows as a pack in its place, and nothing in the other."""
        whole = packed({c.name: quoted(c.name) for c in side.schema.columns})
        outputs = [reference_to(name, side.schema[name].type) for name in operator.on]
        for name, struct in zip((LEFT, RIGHT), structs, strict=True):
            sql = whole if name == mine else f"CAST(NULL AS {struct})"
            outputs.append(Expression(name, sql, struct, side.schema.names if name == mine else ()))
        return select(side, outputs, f"{operator.id}.{mine}")


def _names(schema: Schema) -> list[str]:
    return [c.name for c in schema.data]
