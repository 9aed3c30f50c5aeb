"""What is handed to a flow to run on, checked before anything is read; rows without a time are set aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.engine.units import from_units
from tidegate.flow.errors import BadInput, BadTime, FlowError, nearest
from tidegate.flow.expressions import Expression
from tidegate.flow.limits import OUT_OF_RANGE, Limit
from tidegate.flow.plan import Plan, Source, Table
from tidegate.flow.sqltypes import literal, quoted
from tidegate.flow.watermarks import Published, Punctuated
from tidegate.spark.rows import columns_of
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["STEP", "UNREADABLE", "check_inputs", "outside", "reason_of", "untimed", "with_time", "without_time"]

#: The column of a published output that has the step of each row.
STEP = "__step"
#: The column that a stream may have beside those of its source: the text of a row that did not parse. Spark's own name.
UNREADABLE = "_corrupt_record"


def check_inputs(flow: Plan, inputs: Any, *, streaming: bool = False) -> dict[str, DataFrame]:
    """Answer the input of each source and table with the declared columns, in the declared order; or raise.

    With ``streaming``, sources must be streaming DataFrames, otherwise all inputs must be bounded.
    """
    try:
        _check_names(flow, inputs)
    except FlowError as error:
        raise error.at(f"flow {flow.name!r}") from None
    checked = {}
    sources: list[Source | Table] = [*flow.sources, *flow.tables]
    for operator in sources:
        try:
            streams = streaming and isinstance(operator, Source)
            also = [STEP] if streams and isinstance(getattr(operator, "watermark", None), Published) else []
            if (
                streams
                and UNREADABLE not in operator.schema
                and UNREADABLE in getattr(inputs[operator.id], "columns", ())
            ):
                also.append(UNREADABLE)
            checked[operator.id] = _checked(operator, inputs[operator.id], streaming=streams, also=also)
        except FlowError as error:
            raise error.at(f"{operator.verb} {operator.id!r}").at(f"flow {flow.name!r}") from None
    return checked


def _check_names(flow: Plan, inputs: Any) -> None:
    if not isinstance(inputs, Mapping):
        raise BadInput(
            f"expected inputs as a mapping from name to DataFrame, got {type(inputs).__name__}",
            hint="{" + ", ".join(f'"{o.id}": df' for o in (*flow.sources, *flow.tables)) + "}",
        )
    declared = [operator.id for operator in (*flow.sources, *flow.tables)]
    unknown = [str(name) for name in inputs if name not in declared]
    for name in declared:
        if name not in inputs:
            near = nearest(name, unknown)
            hint = f"is it {near!r}?" if near else f"declared are {', '.join(declared)}"
            raise BadInput(f"expected an input for {name!r}, got none", hint=hint)
    for name in unknown:
        near = nearest(name, declared)
        hint = f"did you mean {near!r}?" if near else f"declared are {', '.join(declared)}"
        raise BadInput(f"got an input {name!r} that the flow has no source or table for", hint=hint)


def _checked(operator: Source | Table, given: Any, *, streaming: bool, also: Sequence[str]) -> DataFrame:
    from pyspark.sql import DataFrame

    if not isinstance(given, DataFrame):
        raise BadInput(f"expected a DataFrame, got {type(given).__name__}", hint="spark.read… or spark.createDataFrame")
    if streaming and not given.isStreaming:
        raise BadInput(
            "expected a streaming DataFrame, got a bounded one", hint="spark.readStream…, or flow.compute(…)"
        )
    if given.isStreaming and not streaming:
        raise BadInput("expected a bounded DataFrame, got a streaming one", hint="flow.start(…) runs on streams")
    declared = operator.schema
    missing_too = [name for name in also if name not in given.columns]
    if missing_too:
        raise BadInput(
            f"expected the stream of an output that publishes its frontier, got one without {', '.join(missing_too)}",
            hint="tg.read_stream(spark, path) with the path of tg.published(path)",
        )
    found = {c.name.lower(): c for c in columns_of(given.schema) if c.name not in also}
    if len(found) < len(given.columns) - len(also):
        raise BadInput(f"expected columns with different names, got {', '.join(given.columns)}", hint="rename some")
    missing = [c for c in declared.columns if c.name.lower() not in found]
    extra = [c for c in found.values() if c.name not in declared]
    if missing or extra:
        lines = [f"it lacks {c}" for c in missing] + [f"it also has {c}" for c in extra]
        raise BadInput(
            f"expected columns {', '.join(map(str, declared.columns))}; the input differs\n  " + "\n  ".join(lines),
            hint=_selection(operator, missing=bool(missing)),
        )
    for column in declared.columns:
        got = found[column.name.lower()]
        if got.type != column.type:
            kind = BadTime if column.name in declared.time else BadInput
            raise kind(
                f"expected column {column.name} of type {column.type}, got {got.type}",
                hint=f'df.withColumn("{column.name}", F.col("{column.name}").cast("{str(column.type).lower()}")), '
                "or declare the type that it has",
            )
    columns = (given[quoted(found[c.name.lower()].name)].alias(c.name) for c in declared.columns)
    return given.select(*columns, *also)


def _selection(operator: Source | Table, *, missing: bool) -> str:
    if missing:
        return f"rename or add columns first, or declare in {operator.verb}({operator.id!r}, …) those that there are"
    names = ", ".join(f'"{name}"' for name in operator.schema.names)
    return f"df.select({names}), or declare the others too"


def with_time(source: Source, runtime: Runtime, rows: DataFrame, limits: Sequence[Limit]) -> DataFrame:
    """Return the rows of a source that have a time, within its limits, and are no watermarks."""
    whole = [f"{quoted(name)} IS NOT NULL" for name in source.schema.time]
    inside = [f"NOT ({outside(limit)})" for limit in limits if not limit.whole]
    return _data(source, runtime, rows).where(runtime.expr(" AND ".join([*whole, *inside])))


def without_time(source: Source, runtime: Runtime, rows: DataFrame, limits: Sequence[Limit]) -> DataFrame:
    """Return the rows of a source that lack a time, or have one beyond its limits, each with the ``reason``."""
    bad = _data(source, runtime, rows).where(runtime.expr(untimed(limits)))
    return bad.withColumn("__reason" if "reason" in source.schema else "reason", runtime.expr(reason_of(limits)))


def untimed(limits: Sequence[Limit]) -> str:
    """Return the condition that a row lacks a time, or has one beyond its limits."""
    return " OR ".join(
        f"{quoted(limit.column)} IS NULL" + ("" if limit.whole else f" OR {outside(limit)}") for limit in limits
    )


def reason_of(limits: Sequence[Limit]) -> str:
    """Return SQL for the reason for which a row that is `untimed` is rejected."""
    names = [f"IF({quoted(limit.column)} IS NULL, {literal(limit.column)}, NULL)" for limit in limits]
    some = " OR ".join(f"{quoted(limit.column)} IS NULL" for limit in limits)
    lacking = f"concat('null time in ', concat_ws(', ', {', '.join(names)}))"
    beyond = [f"IF({outside(limit)}, {literal(str(limit))}, NULL)" for limit in limits if not limit.whole]
    if not beyond:
        return lacking
    return f"IF({some}, {lacking}, concat({literal(OUT_OF_RANGE)}, concat_ws(', ', {', '.join(beyond)})))"


def outside(limit: Limit) -> str:
    """Return the condition that a time is beyond its limits, as values of its type, so that files can be skipped."""
    if limit.low > limit.high:
        return f"{quoted(limit.column)} IS NOT NULL"
    low, high = (from_units(f"{bound}L", limit.type) for bound in (limit.low, limit.high))
    return f"{quoted(limit.column)} < {low} OR {quoted(limit.column)} > {high}"


def _data(source: Source, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer the rows that are no watermarks; one may lack a time column, which means every value of it."""
    if not isinstance(source.watermark, Punctuated):
        return rows
    condition = source.watermark.condition
    sql = condition.sql if isinstance(condition, Expression) else condition
    return rows.where(runtime.expr(f"NOT coalesce({sql}, false)"))
