"""The first rows of each group, by an order of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation, as_they_are
from tidegate.flow.operators.ranked import Ranked

__all__ = ["chosen_columns", "first_of_each"]


def first_of_each(operator: Ranked, rows: Relation, groups: Sequence[str], own: Relation) -> Relation:
    """Return the first rows of each group, with their rank as ``__nth``; ``own`` has the columns of the input."""
    order: list[str] = []
    down: list[bool] = []
    for e, descending, nulls_first in zip(operator.order, operator.descending, operator.nulls_first, strict=True):
        if nulls_first == descending:
            # Without this, NULL would be the least value.
            order.append(f"({e.sql}) IS NULL")
            down.append(nulls_first)
        order.append(f"({e.sql})")
        down.append(descending)
    down += [operator.backwards] * len(own.order)
    numbered = rows.over({"__nth": call("row_number")}, groups, [*order, *own.order], descending=down)
    return numbered.where(f"__nth <= {operator.n}")


def chosen_columns(operator: Ranked, own: Relation) -> dict[str, str]:
    """Return SQL for the columns of the result besides time, over rows that have their group in ``__k…``."""
    groups = {e.name: f"__k{i}" for i, e in enumerate(operator.by)}
    rest = [name for name in own.names if name not in operator.schema.time and name not in groups]
    return groups | as_they_are(rest) | ({"rank": "__nth"} if operator.ranked else {})
