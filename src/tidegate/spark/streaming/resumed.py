"""`process` from step to step: the rows of a key are played again, and what the new ones give is answered.

No state of the user's operator is written down, and so nothing has to be pickled. The price is that the rows of every
key are kept, and that those of a key are played again whenever the key has new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.flow.arrow import checked_result, rows_of
from tidegate.flow.errors import BadResult
from tidegate.flow.plan import Process
from tidegate.flow.schema import Column, Schema
from tidegate.spark.arrow import apply_in_arrow, beside, running, struct_type
from tidegate.spark.lowering.rows import columns_of, quoted, sort_columns
from tidegate.spark.processing import answer_table, call_batch
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier
from tidegate.spark.wire import from_spark, to_spark
from tidegate.spec import DT, WM
from tidegate.spec.operator import step as apply_event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["resume"]


def resume(
    operator: Process, runtime: Runtime, history: DataFrame, step: int, old: Frontier, *, ended: bool
) -> DataFrame:
    """Answer what the rows that became complete in this step give.

    ``history`` holds all rows that ever became complete; ``__done`` is the step in which that was. At the end of the
    input every copy exits.
    """
    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.by)}
    rows = history.drop("__done")
    partition = ", ".join(keys.values()) or "NULL"
    # Times that became complete in earlier steps were given before; within a step, in an order that extends time's.
    order = f"row_number() OVER (PARTITION BY {partition} ORDER BY {', '.join(['__done', *sort_columns(rows)])})"
    given = history.select("*", *runtime.exprs(keys), runtime.expr(order, "__order"))
    if not ended:
        newest = f"max(__done) OVER (PARTITION BY {partition})"
        given = given.withColumn("__newest", runtime.expr(newest)).where(runtime.expr(f"__newest = {step}L"))
        given = given.drop("__newest")
    schema = operator.schema
    declared = [schema[name] for name in operator.columns]
    function = _resumed(operator, columns_of(rows.schema), declared, step, old, ended=ended)
    fields = [*(given.schema[name] for name in schema.time), *(given.schema[name] for name in keys)]
    result = apply_in_arrow(given.groupBy(*keys), function, struct_type(declared, fields))
    columns = {name: quoted(name) for name in schema.time}
    columns |= {e.name: f"__k{i}" for i, e in enumerate(operator.by)}
    return result.select(*runtime.exprs(columns | {name: quoted(name) for name in operator.columns}))


def _resumed(
    operator: Process, given: Sequence[Column], declared: Sequence[Column], step: int, old: Frontier, *, ended: bool
) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    schema = Schema(tuple(given), operator.schema.time)
    columns = [*schema.times, *declared]
    original = operator.operator
    order, elements = schema.order, list(old)

    def exits(copy: Any, last: Any) -> Iterator[tuple[Any, Any]]:
        for answer in copy.exit():
            if isinstance(answer, DT) and order.contains(answer.t) and not any(order.le(f, answer.t) for f in elements):
                raise BadResult(
                    f"expected at exit only times that are not complete yet, got {answer.t!r}",
                    hint="answer at the latest when the time is given; a time that is complete stays as it is",
                )
            yield last, answer

    def events(rows: pa.Table, before: int) -> Iterator[tuple[Any, Any]]:
        copy, t, place = original, None, 0
        for t, of_time in groupby(rows_of(rows), key=schema.time_of):
            members = list(of_time)
            for event in [*(DT(t, row) for row in members), WM(t)]:
                copy, answered = apply_event(copy, event)
                if place >= before:
                    yield from ((t, answer) for answer in answered)
            place += len(members)
        if ended:
            yield from exits(copy, t)

    def batches(rows: pa.Table, before: int) -> pa.Table:
        copy, answers = original, []
        if before:
            copy, _ = call_batch(copy, rows.slice(0, before))
        if before < rows.num_rows:
            copy, returned = call_batch(copy, rows.slice(before))
            answers.append(checked_result(returned, columns, original.apply_batch))
        if ended:
            last = schema.time_of(rows_of(rows.slice(rows.num_rows - 1))[0])
            answers.append(answer_table(original, schema, declared, exits(copy, last)))
        return pa.concat_tables(answers)

    def apply(_: tuple[Any, ...], table: pa.Table) -> pa.Table:
        table = table.sort_by("__order")
        before = pc.sum(pc.less(table.column("__done"), step)).as_py() or 0
        rows = from_spark(table, given)
        with running(f"{operator.verb}(…), {operator.id}"):
            if callable(getattr(original, "apply_batch", None)):
                result = batches(rows, before)
            else:
                result = answer_table(original, schema, declared, events(rows, before))
        keys = {name: table.column(name) for name in table.column_names if name.startswith("__k")}
        times = to_spark(result.select(list(schema.time)), schema.times)
        rest = beside(keys, to_spark(result.select([c.name for c in declared]), declared))
        arrays = [*times.columns, *rest.columns]
        return pa.Table.from_arrays(arrays, names=[*times.column_names, *rest.column_names])

    return apply
