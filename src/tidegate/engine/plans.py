"""Evaluation of whole plans on relations: every operator by the lowering, and loops in rounds."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.engine.loops.bounded import one_round, run_loop
from tidegate.engine.lowering import lower_by, lower_operator
from tidegate.engine.relation import Relation
from tidegate.errors import TidegateError
from tidegate.flow.plan import Iterate, Plan, PlanOperator

__all__ = ["lower"]


def lower(
    flow: Plan, inputs: Mapping[str, Relation], *, upto: str | None = None, run: bool = False
) -> dict[str, Relation]:
    """Return the output of every operator, from the rows of sources and tables, as if all times were complete.

    ``inputs`` may contain outputs of other operators, too. With ``upto``, only what this operator needs is returned.
    With ``run``, loops are run. Without it, their outputs have the right columns, and rows that must not be used.
    """
    relations = dict(inputs)
    wanted = None if upto is None else flow.upstream(upto)
    for operator in flow:
        if operator.id in relations or (wanted is not None and operator.id not in wanted):
            continue
        try:
            given = [relations[name] for name in operator.inputs]
            relations[operator.id] = _lowered(operator, given, run=run)
        except TidegateError as error:
            raise error.at(f"{operator.verb}(…) on {', '.join(operator.inputs)}").at(f"flow {flow.name!r}") from None
    return relations


def _lowered(operator: PlanOperator, inputs: list[Relation], *, run: bool) -> Relation:
    if isinstance(operator, Iterate):
        return lower_by(run_loop if run else one_round, operator, *inputs)
    return lower_operator(operator, *inputs)
