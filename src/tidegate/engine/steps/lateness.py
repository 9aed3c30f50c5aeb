"""Late rows on their way to windows that take them.

A row that is late at its source is passed on, apart from the rows on time, through operators that look at one row at a
time. A window with lateness takes it if the window's end plus the lateness is not complete. Nothing else takes late
rows. Lateness is decided by the frontiers before the step, as everywhere, so that a replay decides the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tidegate.engine.attempt import Attempt
from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier
from tidegate.engine.keepers import Keeper
from tidegate.engine.keepers.revised import ORIGIN
from tidegate.engine.lowering import lower_operator
from tidegate.engine.relation import Relation, united
from tidegate.engine.steps.source_rows import SourceRows
from tidegate.flow import plan
from tidegate.flow.arrow import checked_result
from tidegate.flow.expressions import reference_to
from tidegate.flow.plan import Plan, PlanOperator, Source
from tidegate.flow.schema import Column

__all__ = ["admit"]


def admit(
    step: Attempt,
    keepers: Mapping[str, Keeper[Any]],
    by_source: Mapping[str, SourceRows],
    old: Mapping[str, Frontier],
) -> tuple[dict[str, SourceRows], dict[str, dict[int, Relation]]]:
    """Pass late rows on to the windows that take them.

    Return the rows of each source, of which only those that no window took are late now. Also return the rows that
    windows took, by operator and port. A row is there once for each window that takes it. ``old`` are the frontiers
    before the step.
    """
    flow = step.flow
    windows = {id_: keeper for id_, keeper in keepers.items() if keeper.takes_late}
    reaching = _reaching(flow, windows)
    sources = [s for s in flow.sources if s.id in reaching and s.id in by_source and by_source[s.id].seen.late]
    if not sources:
        return dict(by_source), {}
    found = {source.id: _written(step, by_source[source.id], flow.sources.index(source)) for source in sources}
    late = dict(found)
    admitted: dict[str, dict[int, Relation]] = {}
    known = dict(step.tables)
    for operator in flow:
        if not operator.schema.time and operator.inputs:
            known[operator.id] = lower_operator(operator, *(known[name] for name in operator.inputs))
        elif operator.id in reaching and any(name in late for name in operator.inputs):
            if window := windows.get(operator.id):
                admitted[operator.id] = {
                    port: window.admitted(step, late[name], old[operator.id])
                    for port, name in enumerate(operator.inputs)
                    if name in late
                }
            else:
                late[operator.id] = _passed(step, operator, late, known)
    took = united([rows.select({"__took": ORIGIN}) for own in admitted.values() for rows in own.values()]).distinct()
    result = dict(by_source)
    for source in sources:
        left = found[source.id].join(took, f"{ORIGIN} = __took", "anti")
        before = by_source[source.id]
        counted = left.group({}, {"rows": call("count", "*")}).fetch().to_pylist()
        result[source.id] = replace(
            before, seen=replace(before.seen, late=sum(row["rows"] for row in counted)), late=left
        )
    return result, admitted


def _reaching(flow: Plan, windows: Collection[str]) -> set[str]:
    """Return the operators from which late rows can reach a window that takes them, and those windows."""
    found: set[str] = set()
    for operator in reversed(flow.operators):
        passes = isinstance(operator, Source) or not operator.keeps_state
        reaches = any(consumer.id in found for consumer in flow.consumers(operator.id))
        if operator.schema.time and (operator.id in windows or (passes and reaches)):
            found.add(operator.id)
    return found


def _written(step: Attempt, of_source: SourceRows, number: int) -> Relation:
    """Return the late rows of a source, each with a unique number.

    They are written, so that the numbers stay the same.
    """
    rows = step.backend.numbered(of_source.late_rows, ORIGIN)
    rows = rows.with_columns({ORIGIN: f"{ORIGIN} * {len(step.flow.sources)} + {number}"})
    return step.read([step.write("late", number, "candidates", rows)], rows.shape)


def _passed(
    step: Attempt, operator: PlanOperator, late: Mapping[str, Relation], tables: Mapping[str, Relation]
) -> Relation:
    """Return the output of an operator for late rows, each with the number of the row that it comes from."""
    inputs = []
    for given in step.flow.inputs(operator):
        if given.schema.time:
            none = step.nothing(given.id).with_columns({ORIGIN: "CAST(NULL AS BIGINT)"})
            inputs.append(late.get(given.id, none))
        else:
            inputs.append(tables[given.id])
    match operator:
        case plan.Select():
            operator = replace(operator, outputs=(*operator.outputs, reference_to(ORIGIN, "BIGINT")))
        case plan.Join():
            operator = replace(operator, left_columns=(*operator.left_columns, ORIGIN))
        case plan.MapBatches():
            schema = operator.schema.of((*operator.schema.columns, Column(ORIGIN, "BIGINT")))
            operator = replace(operator, schema=schema, function=_row_by_row(operator))
    return lower_operator(operator, *inputs)


def _row_by_row(operator: plan.MapBatches) -> Callable[[Any], Any]:
    """Return the function on batches, called with one row at a time, so that the origin of each result row is known."""
    function, declared = operator.function, operator.schema.columns

    def one_by_one(batch: pa.RecordBatch) -> pa.Table:
        results = []
        for i in range(batch.num_rows):
            row = batch.slice(i, 1)
            # Each result is checked by itself: a type inferred from one row may differ from that of many.
            table = checked_result(function(row.drop_columns([ORIGIN])), declared, function)
            origin = pa.array([row.column(ORIGIN)[0].as_py()] * table.num_rows, pa.int64())
            results.append(table.append_column(ORIGIN, origin))
        return pa.concat_tables(results)

    return one_by_one
