"""Windows that take late rows: which rows reach them, what they hold, and the revisions that they answer.

A row that is late at its source travels on, apart from those on time, through operators that look at one row at a time.
A window with lateness takes it if its end and the lateness are not complete; nothing else does. What is late is decided
by the frontiers before the step, as everywhere, so that a replay decides the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.flow import plan
from tidegate.flow.arrow import checked_result
from tidegate.flow.expressions import reference_to
from tidegate.flow.plan import Operator, Plan, Source
from tidegate.flow.schema import Column, Schema
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.windows import in_windows
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, complete_at
from tidegate.spark.streaming.sources import Taken
from tidegate.spark.streaming.state import State, empty_rows, read_parts, write_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from tidegate.spark.streaming.operators import Step

__all__ = ["ORIGIN", "admit", "revised", "still_open", "takes_late", "windowed_schema"]

#: The column of late rows that tells which row of the batch each comes from.
ORIGIN = "__origin"


def takes_late(operator: Operator) -> bool:
    """Answer whether an operator is a window with lateness."""
    return bool(getattr(getattr(operator, "frame", None), "lateness", 0))


def admit(
    step: Step, taken: Mapping[str, Taken], old: Mapping[str, Frontier], tables: Mapping[str, DataFrame]
) -> tuple[dict[str, Taken], dict[str, DataFrame]]:
    """Let late rows travel to windows that take them.

    The answer is what was taken from each source, where only rows are late that no window took; and for each window
    that takes some, those rows, once for each of its windows that admits them.
    """
    flow = step.flow
    roads = _roads(flow)
    sources = [s for s in flow.sources if s.id in roads and s.id in taken and taken[s.id].seen.late]
    if not sources:
        return dict(taken), {}
    found = {source.id: _written(step, taken[source.id], flow.sources.index(source)) for source in sources}
    late, admitted = dict(found), {}
    known = dict(tables)
    for operator in flow:
        if not operator.schema.time and operator.inputs:
            known[operator.id] = lower_operator(operator, step.runtime, *(known[name] for name in operator.inputs))
        elif operator.id in roads and any(name in late for name in operator.inputs):
            if takes_late(operator):
                rows = late[operator.inputs[0]]
                admitted[operator.id] = _framed(step, operator, rows, old[operator.id])
            else:
                late[operator.id] = _passed(step, operator, late, known)
    ids = [rows.select(ORIGIN) for rows in admitted.values()]
    took = reduce(lambda one, other: one.union(other), ids).distinct()
    result = dict(taken)
    for source in sources:
        left = found[source.id].join(took, ORIGIN, "left_anti")
        before = taken[source.id]
        result[source.id] = replace(before, seen=replace(before.seen, late=left.count()), late=left)
    return result, admitted


def _roads(flow: Plan) -> set[str]:
    """Answer the operators from which late rows can reach a window that takes them, those windows included."""
    found: set[str] = set()
    for operator in reversed(flow.operators):
        passes = isinstance(operator, Source) or not operator.stateful or getattr(operator, "with_table", False)
        reaches = any(consumer.id in found for consumer in flow.consumers(operator.id))
        if operator.schema.time and (takes_late(operator) or (passes and reaches)):
            found.add(operator.id)
    return found


def _written(step: Step, taken: Taken, number: int) -> DataFrame:
    """Answer the late rows of a source, each with a number of its own; they are written down, so that it stays."""
    id_ = f"monotonically_increasing_id() * {len(step.flow.sources)} + {number}"
    rows = taken.late_rows(step.runtime).withColumn(ORIGIN, step.runtime.expr(id_))
    part = write_part(step.files, step.runtime, rows, step.path("late", number, "candidates"))
    return read_parts(step.files, step.runtime, [part], rows.schema)


def _passed(
    step: Step, operator: Operator, late: Mapping[str, DataFrame], tables: Mapping[str, DataFrame]
) -> DataFrame:
    """Answer what an operator makes of late rows, each with the number of the row that it comes from."""
    runtime = step.runtime
    inputs = []
    for given in step.flow.inputs(operator):
        if given.schema.time:
            none = empty_rows(runtime, step.schemas[given.id]).withColumn(ORIGIN, runtime.expr("CAST(NULL AS BIGINT)"))
            inputs.append(late.get(given.id, none))
        else:
            inputs.append(tables[given.id])
    match operator:
        case plan.Select():
            operator = replace(operator, outputs=(*operator.outputs, reference_to(ORIGIN, "BIGINT")))
        case plan.Join():
            operator = replace(operator, left_columns=(*operator.left_columns, ORIGIN))
        case plan.MapBatches():
            schema = Schema((*operator.schema.columns, Column(ORIGIN, "BIGINT")), operator.schema.time)
            operator = replace(operator, schema=schema, function=_row_by_row(operator))
    return lower_operator(operator, runtime, *inputs)


def _row_by_row(operator: plan.MapBatches) -> Callable[[Any], Any]:
    """Answer a function on batches that is given one row at a time: only so can it be told what became of a row."""
    function, declared = operator.function, operator.schema.columns

    def one_by_one(batch: pa.RecordBatch) -> pa.Table:
        results = []
        for i in range(batch.num_rows):
            row = batch.slice(i, 1)
            # Each result by itself, as types of columns may only follow from many rows.
            table = checked_result(function(row.drop_columns([ORIGIN])), declared, function)
            origin = pa.array([row.column(ORIGIN)[0].as_py()] * table.num_rows, pa.int64())
            results.append(table.append_column(ORIGIN, origin))
        return pa.concat_tables(results)

    return one_by_one


def _framed(step: Step, operator: Any, rows: DataFrame, old: Frontier) -> DataFrame:
    """Put rows into the windows that admit them. ``__came`` is this step if a window was answered before."""
    frame, runtime = operator.frame, step.runtime
    schema = step.flow.inputs(operator)[0].schema
    last = f"__start + {frame.size - 1}L"
    closed = complete_at(schema, old, frame.over, f"{last} + {frame.lateness}L")
    answered = complete_at(schema, old, frame.over, last)
    framed = in_windows(frame, schema, runtime, rows).where(runtime.expr(f"NOT ({closed})"))
    return framed.withColumn("__came", runtime.expr(f"IF({answered}, {step.number}L, CAST(NULL AS BIGINT))"))


def windowed_schema(schema: StructType) -> StructType:
    """Answer the columns of rows that are held in windows."""
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*schema.fields, StructField("__start", LongType()), StructField("__came", LongType())])


def still_open(operator: Any, schema: Schema, runtime: Runtime, rows: DataFrame, frontier: Frontier) -> DataFrame:
    """Answer the rows in windows that may still be answered, for the first time or again."""
    last = f"__start + {operator.frame.size - 1 + operator.frame.lateness}L"
    return rows.where(runtime.expr(f"NOT ({complete_at(schema, frontier, operator.frame.over, last)})"))


def revised(
    step: Step, operator: Any, key: str, fresh: DataFrame | None, state: State, old: Frontier, new: Frontier
) -> tuple[DataFrame | None, State]:
    """Take in new rows, and answer for windows that became complete, and again for those that late rows came into."""
    runtime, frame = step.runtime, operator.frame
    given = step.flow.inputs(operator)[0]
    late = step.late.get(operator.id)
    parts = [] if fresh is None else [_framed(step, operator, fresh, old)]
    parts += [] if late is None else [late.drop(ORIGIN)]
    if parts:
        rows = reduce(lambda one, other: one.unionByName(other), parts)
        state = state.grown(write_part(step.files, runtime, rows, step.path(key, 0, "new")))
    if not state.rows or (old == new and late is None):
        return None, state
    held = read_parts(step.files, runtime, state.parts, windowed_schema(step.schemas[given.id]))
    last = f"__start + {frame.size - 1}L"
    before, now = (complete_at(given.schema, frontier, frame.over, last) for frontier in (old, new))
    rows = held.where(runtime.expr(now))
    if late is None:
        # Only first answers: nothing that was answered before has changed.
        rows = rows.where(runtime.expr(f"NOT ({before})")).withColumn("__revision", runtime.expr("0"))
    else:
        by = operator.aggregation.by if isinstance(operator, plan.WindowAggregate) else operator.by
        others = [quoted(name) for name in given.schema.time if name != frame.over]
        group = f"OVER (PARTITION BY {', '.join(['__start', *others, *(f'({e.sql})' for e in by)])})"
        changed = f"max(coalesce(__came = {step.number}L, false) OR NOT ({before})) {group}"
        # One answer for the rows that came in time, and one for each step that late ones came in.
        revision = f"size(collect_set(coalesce(__came, -1L)) {group}) - 1"
        marked = rows.withColumns({"__changed": runtime.expr(changed), "__revision": runtime.expr(revision)})
        rows = marked.where(runtime.expr("__changed"))
    names = [quoted(field.name) for field in step.schemas[given.id].fields]
    return lower_operator(operator, runtime, rows.select(*names, "__start", "__revision")), state
