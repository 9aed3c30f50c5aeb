"""What an operator may still need of the rows that it was given, once times are complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.plan import Operator, SessionFrame, WindowFrame
from tidegate.flow.schema import Schema
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.rows import quoted, sort_columns
from tidegate.spark.lowering.units import units_of
from tidegate.spark.lowering.windows import in_sessions
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier, complete, complete_at, encoded, is_complete

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["PER_TIME", "due", "outlived", "retained", "retained_apart"]

#: Operators whose answer at a time depends on the rows of that time only.
PER_TIME = (plan.Gate, plan.Aggregate, plan.Distinct, plan.Join)


def outlived(operator: Operator, port: int, schema: Schema, frontier: Frontier) -> Callable[[tuple[int, ...]], bool]:
    """Answer the test whether of an input nothing is needed any more at a time, in units, and below it.

    Where that does not follow from times alone, nothing is outlived.
    """
    match operator:
        case plan.Accumulate() | plan.Iterate() | plan.Deduplicate():
            return lambda at: False  # noqa: ARG005
        case plan.WindowAggregate(frame=SessionFrame()) | plan.WindowApply(frame=SessionFrame()):
            return lambda at: False  # noqa: ARG005
        case plan.JoinAsof() if port == 1:
            return lambda at: False  # noqa: ARG005
    frame = getattr(operator, "frame", None)
    if isinstance(frame, WindowFrame):
        return lambda at: is_complete(schema, frontier, _last_window(frame, schema, at))
    return lambda at: is_complete(schema, frontier, at)


def due(
    operator: Operator, port: int, schema: Schema, old: Frontier, new: Frontier
) -> Callable[[tuple[int, ...]], bool]:
    """Answer the test whether rows of an input that begin at a time, in units, may have an answer between frontiers.

    Where an answer does not wait for rows of that input, none is due to them.
    """
    if isinstance(operator, plan.JoinAsof) and port == 1:
        return lambda at: False  # noqa: ARG005
    if isinstance(operator, (*PER_TIME, plan.Deduplicate, plan.JoinAsof)):
        return lambda at: is_complete(schema, new, at)
    frame = getattr(operator, "frame", None)
    if isinstance(frame, WindowFrame):
        # On a total order: windows that ended before were answered, whatever else of them is still held.
        answered = [n for (n,) in encoded(schema, old) if isinstance(n, int)] if len(schema.time) == 1 else []
        return lambda at: is_complete(
            schema, new, _first_window(frame, schema, (max(*at, *answered),) if answered else at)
        )
    return lambda at: True  # noqa: ARG005


def retained_apart(operator: Operator) -> bool:
    """Answer whether what is needed of some rows can be told without looking at the others."""
    return not isinstance(operator, plan.Deduplicate) and not isinstance(getattr(operator, "frame", None), SessionFrame)


def retained(
    operator: Operator, port: int, schema: Schema, runtime: Runtime, rows: DataFrame, frontier: Frontier
) -> DataFrame:
    """Answer the rows of an input that answers at times that are not complete may still depend on.

    ``schema`` is that of the input. With these rows alone, an operator answers at every time that is not complete as it
    would with all that it was given.
    """
    match operator:
        case plan.Accumulate() | plan.Iterate():
            # A row takes part in all later answers.
            return rows
        case plan.WindowAggregate(frame=WindowFrame() as frame) | plan.WindowApply(frame=WindowFrame() as frame):
            return _in_open_windows(frame, schema, runtime, rows, frontier)
        case plan.WindowJoin(frame=frame):
            return _in_open_windows(frame, schema, runtime, rows, frontier)
        case plan.WindowAggregate(frame=SessionFrame() as frame, aggregation=aggregation):
            groups = {e.name: e.sql for e in aggregation.by}
            return _in_open_sessions(frame, schema, runtime, rows, frontier, groups)
        case plan.WindowApply(frame=SessionFrame() as frame, by=by):
            return _in_open_sessions(frame, schema, runtime, rows, frontier, {e.name: e.sql for e in by})
        case plan.JoinAsof() if port == 1:
            return _latest(operator, schema, runtime, rows, frontier)
        case plan.Deduplicate():
            return _last_kept(operator, schema, runtime, rows, frontier)
    return rows.where(runtime.expr(f"NOT ({complete(schema, frontier)})"))


def _first_window(frame: WindowFrame, schema: Schema, at: tuple[int, ...]) -> list[int]:
    """Answer a time, in units, moved to the end of the first window that it is in."""
    over = schema.time.index(frame.over)
    return [n + (frame.offset + frame.size - 1 - n) % frame.every if i == over else n for i, n in enumerate(at)]


def _last_window(frame: WindowFrame, schema: Schema, at: tuple[int, ...]) -> list[int]:
    """Answer a time, in units, moved to where the last window that it is in takes no late rows any more."""
    over, more = schema.time.index(frame.over), frame.size - 1 + frame.lateness
    return [n - (n - frame.offset) % frame.every + more if i == over else n for i, n in enumerate(at)]


def _in_open_windows(
    frame: WindowFrame, schema: Schema, runtime: Runtime, rows: DataFrame, frontier: Frontier
) -> DataFrame:
    at = units_of(schema, frame.over)
    last = f"{at} - pmod({at} - {frame.offset}L, {frame.every}L) + {frame.size - 1}L"
    done = complete_at(schema, frontier, frame.over, last)
    return rows.where(runtime.expr(f"NOT ({done})"))


def _in_open_sessions(
    frame: SessionFrame,
    schema: Schema,
    runtime: Runtime,
    rows: DataFrame,
    frontier: Frontier,
    by: dict[str, str],
) -> DataFrame:
    groups = {name: quoted(name) for name in schema.time if name != frame.over} | by
    framed = in_sessions(frame, schema, runtime, rows, groups)
    within = f"(PARTITION BY {', '.join([*groups.values(), '__session'])})"
    framed = framed.withColumn("__last", runtime.expr(f"max(__at) OVER {within} + {frame.gap - 1}L"))
    done = complete_at(schema, frontier, frame.over, "__last")
    return framed.where(runtime.expr(f"NOT ({done})")).select(*map(quoted, rows.columns))


def _latest(
    operator: plan.JoinAsof, schema: Schema, runtime: Runtime, rows: DataFrame, frontier: Frontier
) -> DataFrame:
    """Keep of the complete rows of a key the latest: those before it will never be found again."""
    keys = [*map(quoted, operator.on), *(quoted(name) for name in schema.time if name != operator.over)]
    carried = dict(zip(rows.columns, sort_columns(rows), strict=True))
    order = [quoted(operator.over), *(carried[name] for name in operator.right_columns)]
    return _first_of_complete(schema, runtime, rows, frontier, keys, [f"{sql} DESC" for sql in order])


def _last_kept(
    operator: plan.Deduplicate, schema: Schema, runtime: Runtime, rows: DataFrame, frontier: Frontier
) -> DataFrame:
    """Keep of the complete rows of a key the last that was let through: what comes next is measured from it."""
    done = complete(schema, frontier)
    kept = lower_operator(operator, runtime, rows.where(runtime.expr(done)))
    keys = [*(e.sql for e in operator.by), *(quoted(name) for name in schema.time if name != operator.over)]
    last = _first_of_complete(schema, runtime, kept, frontier, keys, [f"{quoted(operator.over)} DESC"])
    if operator.within is not None:
        at = f"{units_of(schema, operator.over)} + {operator.within - 1}L"
        past = complete_at(schema, frontier, operator.over, at)
        last = last.where(runtime.expr(f"NOT ({past})"))
    return last.unionByName(rows.where(runtime.expr(f"NOT ({done})")))


def _first_of_complete(
    schema: Schema, runtime: Runtime, rows: DataFrame, frontier: Frontier, keys: list[str], order: list[str]
) -> DataFrame:
    """Answer the rows that are not complete, and of the complete ones the first of each key."""
    parts = ", ".join(["__done", *keys])
    number = f"row_number() OVER (PARTITION BY {parts} ORDER BY {', '.join(order)})"
    numbered = rows.withColumn("__done", runtime.expr(complete(schema, frontier))).withColumn(
        "__nth", runtime.expr(number)
    )
    return numbered.where(runtime.expr("NOT __done OR __nth = 1")).select(*map(quoted, rows.columns))
