"""Rules for operators that choose rows by their order: the rows of a group are sorted, and the first are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.flow import plan
from tidegate.flow.operators.ranked import Ranked
from tidegate.flow.schema import Schema
from tidegate.flow.values import sort_key
from tidegate.reference.framed import framed
from tidegate.reference.held import Group, answers, in_order, so_far
from tidegate.reference.run import Events, ReferenceRun, evaluate

__all__: list[str] = []


@evaluate.register
def _top(operator: plan.Top, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    groups = so_far(operator, operator.by, running, schema, inputs[0])
    return answers(groups, _first(running, operator, schema), operator.schema)


@evaluate.register
def _window_top(operator: plan.WindowTop, running: ReferenceRun, inputs: list[Events]) -> Events:
    (schema,) = running.schemas(operator)
    groups = framed(running, operator, schema, operator.by, inputs[0])
    return answers(groups, _first(running, operator, schema), operator.schema)


def _first(
    running: ReferenceRun, operator: Ranked, schema: Schema
) -> Callable[[list[Group]], list[list[dict[str, Any]]]]:
    """Return the function that chooses rows of some groups."""

    def compute(groups: list[Group]) -> list[list[dict[str, Any]]]:
        return [chosen(group.rows) for group in groups]

    def chosen(rows: list[Any]) -> list[dict[str, Any]]:
        found = in_order(schema, rows)
        if operator.backwards:
            found.reverse()
        for expression, down, nulls_first in reversed(
            list(zip(operator.order, operator.descending, operator.nulls_first, strict=True))
        ):
            values = [value for (value,) in running.duck.scalars(found, schema, [expression])]
            known = [i for i, value in enumerate(values) if value is not None]
            # Python's sort is stable, also with reverse=True.
            known.sort(key=lambda i: sort_key(values[i]), reverse=down)
            nulls = [i for i, value in enumerate(values) if value is None]
            found = [found[i] for i in ([*nulls, *known] if nulls_first else [*known, *nulls])]
        return [
            {name: value for name, value in row.items() if name not in schema.time}
            | ({"rank": i + 1} if operator.ranked else {})
            for i, row in enumerate(found[: operator.n])
        ]

    return compute
