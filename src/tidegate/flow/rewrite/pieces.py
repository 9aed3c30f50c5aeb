"""Parts of compositions: tuples packed into structs, Aggregates that collect packs, and names for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.flow import plan, sqltypes
from tidegate.flow.aggregates import Aggregation, aggregation
from tidegate.flow.expressions import Expression, reference_to
from tidegate.flow.schema import Column, Schema

__all__ = [
    "Form",
    "aggregate",
    "array_of",
    "field_of",
    "free_name",
    "packable",
    "packed",
    "references",
    "select",
    "struct_of",
]

#: The only field of an empty pack: a struct has at least one field.
_NO_FIELD = "none"


def packable(columns: Sequence[Column]) -> bool:
    """Whether columns can be fields of a pack and keys of a group. Maps cannot always be compared."""
    plain = all(not any(sign in c.name for sign in "'\\`") for c in columns)
    return plain and not any((c.type or "").startswith(("MAP", "VARIANT")) for c in columns)


def free_name(wanted: str, schema: Schema) -> str:
    """Return a name for a column that the schema does not have."""
    while wanted in schema:
        wanted += "_"
    return wanted


def struct_of(columns: Sequence[Column]) -> str | None:
    """Return the type of a pack, if the types of its fields are known."""
    types: dict[str, str | None] = {c.name: c.type for c in columns} or {_NO_FIELD: "INT"}
    return None if None in types.values() else sqltypes.struct(**{name: t for name, t in types.items() if t})


def array_of(element: str | None) -> str | None:
    """Return the type of an array, if that of its elements is known."""
    return f"ARRAY<{element}>" if element else None


def packed(values: Mapping[str, str]) -> str:
    """Return the SQL of a pack of values by name.

    >>> packed({"k": "k", "y": "x + 1"})
    "named_struct('k', k, 'y', x + 1)"
    """
    fields = values or {_NO_FIELD: "0"}
    return "named_struct({})".format(", ".join(f"{sqltypes.literal(name)}, {sql}" for name, sql in fields.items()))


def field_of(pack: str, column: Column) -> Expression:
    """Return a column that is a field of a pack."""
    return Expression(column.name, f"{sqltypes.quoted(pack)}.{sqltypes.quoted(column.name)}", column.type, (pack,))


@dataclass(frozen=True, slots=True)
class Form:
    """How compositions unfold what an Aggregate has packed: A+ by itself, A by a loop."""

    using: str
    looped: bool = False

    def unfolded(self, operator: plan.PlanOperator, column: str, id_: str) -> plan.PlanOperator:
        """Build the operator that makes a row of each element of a column of ``operator``."""
        schema = operator.schema
        columns = tuple(
            Column(c.name, sqltypes.element(c.type) if c.type else None) if c.name == column else c
            for c in schema.columns
        )
        result = schema.of(columns)
        if self.using == "A":
            return plan.Unfold(id=id_, inputs=(operator.id,), schema=result, column=column, looped=self.looped)
        return plan.Explode(id=id_, inputs=(operator.id,), schema=result, column=column)


def aggregate(
    id_: str,
    before: plan.PlanOperator,
    by: Sequence[Expression],
    answers: Mapping[str, tuple[str, str | None]],
    *,
    frame: plan.WindowFrame | None = None,
    embeds: bool = True,
) -> plan.Aggregate | plan.WindowAggregate:
    """Build an Aggregate on units, or on windows; ``answers`` gives SQL and type by name."""
    schema = before.schema
    times = schema.times
    window = []
    if frame is not None:
        type_ = schema[frame.over].type or ""
        window = [Column("window", sqltypes.struct(start=type_, end=type_))]
    groups = [f"{e.sql} AS {sqltypes.quoted(e.name)}" for e in by]
    found = aggregation(
        groups, (), {name: sql for name, (sql, _) in answers.items()}, schema, grouped=[*times, *window]
    )
    outputs = tuple(replace(output, type=answers[output.name][1]) for output in found.outputs)
    result = Aggregation(tuple(by), outputs)
    columns = schema.of((*times, *window, *result.columns))
    shared: dict[str, Any] = {"id": id_, "inputs": (before.id,), "schema": columns, "embeds": embeds}
    if frame is not None:
        return plan.WindowAggregate(frame=frame, aggregation=result, **shared)
    return plan.Aggregate(aggregation=result, **shared)


def references(columns: Sequence[Column]) -> list[Expression]:
    """Return columns as expressions."""
    return [reference_to(c.name, c.type) for c in columns]


def select(operator: plan.PlanOperator, outputs: Sequence[Expression], id_: str) -> plan.Select:
    """Build the operator that computes columns behind the time columns."""
    schema = operator.schema
    everything = (*references(schema.times), *outputs)
    columns = tuple(Column(e.name, e.type) for e in everything)
    return plan.Select(id=id_, inputs=(operator.id,), schema=schema.of(columns), outputs=everything)
