"""Operators of the user's own inside Spark: one copy for each key, given the complete times of the key in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from tidegate.flow.arrow import checked_result, rows_of, table_of
from tidegate.flow.errors import BadInput, BadResult
from tidegate.flow.plan import Process
from tidegate.flow.schema import Column, Schema
from tidegate.spark.arrow import beside, running
from tidegate.spark.wire import from_spark, to_spark
from tidegate.spec import DT, WM
from tidegate.spec.operator import step

__all__ = ["answer_table", "call_batch", "processed"]


def processed(
    operator: Process, given: Sequence[Column], declared: Sequence[Column]
) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Answer a user's operator as Spark calls it, on all rows of one key.

    An operator with ``apply_batch(rows)`` is given the rows of all times at once, as an Arrow table sorted by time and
    then by all columns, and answers ``(operator, table)``, the table with time columns and declared columns.
    """
    schema = Schema(tuple(given), operator.schema.time)
    columns = [*schema.times, *declared]
    original = operator.operator

    def apply(_: tuple[Any, ...], table: pa.Table) -> pa.Table:
        keys = {name: table.column(name) for name in table.column_names if name.startswith("__k")}
        rows = from_spark(table.sort_by("__order"), given)
        with running(f"{operator.verb}(…), {operator.id}"):
            if callable(getattr(original, "apply_batch", None)):
                copy, returned = call_batch(original, rows)
                answers = [checked_result(returned, columns, original.apply_batch)]
                last = schema.time_of(rows_of(rows.slice(rows.num_rows - 1))[0])
                answers.append(answer_table(original, schema, declared, ((last, answer) for answer in copy.exit())))
                result = pa.concat_tables(answers)
            else:
                result = answer_table(original, schema, declared, _events(original, schema, rows_of(rows)))
        # Time comes first, then the key, then what was answered.
        times = to_spark(result.select(list(schema.time)), schema.times)
        rest = beside(keys, to_spark(result.select([c.name for c in declared]), declared))
        named = dict(zip(times.column_names, times.columns, strict=True))
        named |= dict(zip(rest.column_names, rest.columns, strict=True))
        return pa.Table.from_arrays(list(named.values()), names=list(named))

    return apply


def _events(original: Any, schema: Schema, rows: list[dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
    """Answer what a fresh copy puts out, each with the time that it was given before."""
    copy, t = original, None
    for t, of_time in groupby(rows, key=schema.time_of):
        for event in [*(DT(t, row) for row in of_time), WM(t)]:
            copy, answered = step(copy, event)
            yield from ((t, answer) for answer in answered)
    yield from ((t, answer) for answer in copy.exit())


def call_batch(original: Any, rows: pa.Table) -> tuple[Any, Any]:
    """Let an operator work on a batch of rows: the operator to go on with, and a table."""
    answer = original.apply_batch(rows)
    if isinstance(answer, tuple) and len(answer) == 2 and callable(getattr(answer[0], "exit", None)):
        return answer
    raise BadResult(
        f"expected (operator, table) from {type(original).__name__}.apply_batch, got {answer!r}",
        hint="answer the operator to go on with, and a pyarrow.Table of time columns and declared columns",
    )


def answer_table(
    original: Any, schema: Schema, declared: Sequence[Column], answers: Iterable[tuple[Any, Any]]
) -> pa.Table:
    """Answer a table of what an operator put out, each with the time that it was given before; checked."""
    name, names = type(original).__name__, [c.name for c in declared]
    order = schema.order
    rows = []
    for at, answer in answers:
        if isinstance(answer, WM):
            continue
        if not isinstance(answer, DT) or not isinstance(answer.d, dict) or set(answer.d) != set(names):
            raise BadResult(
                f"expected DT(t, dict of {', '.join(names)}) from {name}, got {answer!r}",
                hint="the key's columns and the time are added",
            )
        if not (order.contains(answer.t) and order.le(at, answer.t)):
            raise BadResult(f"expected a time at or above {at!r}, which {name} was given, got {answer.t!r}")
        times = (answer.t,) if len(schema.time) == 1 else answer.t
        rows.append(dict(zip(schema.time, times, strict=True)) | answer.d)
    try:
        return table_of(rows, [*schema.times, *declared])
    except BadInput as error:
        raise BadResult(f"{error.what} from {name}") from None
