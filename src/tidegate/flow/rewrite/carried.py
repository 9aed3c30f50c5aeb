"""`accumulate` made of Aggregates: A-infinity, a window whose answer goes into the next window as a row (Listing 6).

If results of an aggregate can be merged, results are carried from window to window; otherwise all rows so far are.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.flow import plan, sqltypes
from tidegate.flow.aggregates import AggregateCall, Aggregation, aggregation
from tidegate.flow.expressions import Expression
from tidegate.flow.plan import PlanOperator
from tidegate.flow.rewrite.pieces import (
    Form,
    aggregate,
    array_of,
    field_of,
    free_name,
    packed,
    references,
    select,
    struct_of,
)
from tidegate.flow.schema import Schema, exact
from tidegate.flow.sqltypes import quoted
from tidegate.flow.substitute import renamed

__all__ = ["carried", "merging"]


def merging(call: AggregateCall) -> str | None:
    """Return the function that merges two results of a call into one of the same type; None if there is none here."""
    form = call.definition.partial
    if form is None or call.distinct or call.rest or call.type is None or not _stays(call):
        return None
    return form.merge or None


def _stays(call: AggregateCall) -> bool:
    """Whether merged results are exact: not for sums of decimals, whose type grows, or of floating-point numbers."""
    return call.definition.picks or call.type in (*sqltypes.INTEGERS, "BOOLEAN")


def carried(operator: plan.Accumulate, before: PlanOperator, form: Form) -> list[PlanOperator]:
    """Return the composition of an accumulate; an empty list if it cannot be composed."""
    by = operator.aggregation.by
    names = {e.name.lower() for e in by}
    if not exact([c for c in operator.aggregation.columns if c.name.lower() in names]) or "window" in names:
        return []
    calls = operator.aggregation.calls
    if all(map(merging, calls)):
        return _merged(operator, before)
    return _listed(operator, before, form)


def _merged(operator: plan.Accumulate, before: PlanOperator) -> list[PlanOperator]:
    """Return a composition that carries results: those of each period are merged with all before."""
    by, calls = operator.aggregation.by, operator.aggregation.calls
    group = Schema((*operator.schema.times, *(operator.schema[e.name] for e in by)))
    parts = {call.name: free_name(f"part{i}", group) for i, call in enumerate(calls)}
    answers = {parts[call.name]: (call.sql, call.type) for call in calls}
    merges = {parts[call.name]: (f"{merging(call)}({parts[call.name]})", call.type) for call in calls}
    embeds = _periods(operator, before, answers, merges)
    carry = _carry(operator, embeds[-1], merges)
    outputs = references([operator.schema[e.name] for e in by])
    for output in operator.aggregation.outputs:
        finish = Expression(output.name, output.finish, output.type, tuple(call.name for call in output.calls))
        outputs.append(renamed(finish, parts))
    return [*embeds, carry, select(carry, outputs, operator.id)]


def _listed(operator: plan.Accumulate, before: PlanOperator, form: Form) -> list[PlanOperator]:
    """Return a composition that carries all rows so far, and aggregates them."""
    columns = before.schema.columns
    group = Schema((*columns, *(c for c in operator.schema.data if c.name not in before.schema)))
    pack = free_name("pack", group)
    type_ = array_of(struct_of(columns))
    # A row's time differs from the time of the answer, so its columns get other names.
    aside = {name: free_name(f"{name}_", group) for name in before.schema.time}
    rows = f"collect_list({packed({c.name: quoted(c.name) for c in columns})})"
    merges = {pack: (f"flatten(collect_list({pack}))", type_)}
    embeds = _periods(operator, before, {pack: (rows, type_)}, merges)
    carry = _carry(operator, embeds[-1], merges)
    unfold = form.unfolded(carry, pack, f"{operator.id}.unfold")
    fields = [replace(field_of(pack, c), name=aside.get(c.name, c.name)) for c in columns]
    taken = select(unfold, fields, f"{operator.id}.rows")
    last = plan.Aggregate(
        id=operator.id,
        inputs=(taken.id,),
        schema=operator.schema,
        aggregation=_reading(operator.aggregation, aside, taken.schema),
    )
    return [*embeds, carry, unfold, taken, last]


def _periods(
    operator: plan.Accumulate,
    before: PlanOperator,
    answers: dict[str, tuple[str, str | None]],
    merges: dict[str, tuple[str, str | None]],
) -> list[PlanOperator]:
    """Return Aggregates that group rows, at each time or in the periods of ``every``."""
    id_, by = operator.id, list(operator.aggregation.by)
    frames: list[plan.WindowFrame | None] = [plan.WindowFrame(over, n, n) for over, n in operator.every]
    found: list[PlanOperator] = []
    for i, frame in enumerate(frames or [None]):
        given = found[-1] if found else before
        keys = references([given.schema[e.name] for e in by]) if found else by
        name = f"{id_}.embed" + (f".{i}" if i else "")
        found.append(aggregate(name, given, keys, merges if found else answers, frame=frame, embeds=False))
    return found


def _carry(operator: plan.Accumulate, before: PlanOperator, merges: dict[str, tuple[str, str | None]]) -> plan.Carry:
    by = [quoted(e.name) for e in operator.aggregation.by]
    found = aggregation(by, (), {name: sql for name, (sql, _) in merges.items()}, before.schema)
    outputs = tuple(replace(output, type=merges[output.name][1]) for output in found.outputs)
    result = Aggregation(found.by, outputs)
    schema = before.schema.of((*before.schema.times, *result.columns))
    return plan.Carry(
        id=f"{operator.id}.carry", inputs=(before.id,), schema=schema, aggregation=result, emit=operator.emit
    )


def _reading(found: Aggregation, aside: dict[str, str], schema: Schema) -> Aggregation:
    """Return the aggregation with time columns replaced by the columns that hold them (``aside``)."""
    by = tuple(renamed(e, aside) for e in found.by)
    texts = {o.name: renamed(Expression(o.name, o.sql, o.type, o.columns), aside).sql for o in found.outputs}
    again = aggregation([f"{e.sql} AS {quoted(e.name)}" for e in by], (), texts, schema)
    outputs = tuple(replace(new, type=old.type) for new, old in zip(again.outputs, found.outputs, strict=True))
    return Aggregation(by, outputs)
