"""Types that are known only when a flow is run on its inputs: both sides of an operator must agree on them."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.relation import Relation
from tidegate.flow.errors import ColumnClash
from tidegate.flow.plan import PlanOperator
from tidegate.flow.sqltypes import quoted

__all__ = ["same_types"]


def same_types(operator: PlanOperator, left: Relation, right: Relation, names: Sequence[str]) -> None:
    """Raise unless both sides have the same types in these columns. A backend would silently convert one of them."""
    types = [{column.name.lower(): column.type for column in side.columns} for side in (left, right)]
    for name in names:
        a, b = (side[name.lower()] for side in types)
        if a != b and "VOID" not in (a, b):
            cast = f'with_columns({name}="CAST({quoted(name)} AS {a})")'
            raise ColumnClash(
                f"expected {name} of one type on both sides, got {a} in {operator.inputs[0]} "
                f"and {b} in {operator.inputs[1]}",
                hint=f"{cast} on {operator.inputs[1]}",
            )
