"""Checks the inputs of a flow on Spark, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.engine.inputs import STEP, check_columns
from tidegate.flow.clocks import Clock, declared_schema, given_schema
from tidegate.flow.errors import BadInput, FlowError
from tidegate.flow.plan import Plan, Source, Table
from tidegate.flow.sqltypes import quoted
from tidegate.flow.watermarks import Published
from tidegate.spark.rows import columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["UNREADABLE", "check_inputs"]

#: A column that a stream may have beside those of its source: the text of a row that does not parse. Spark uses this
#: name.
UNREADABLE = "_corrupt_record"


def check_inputs(flow: Plan, inputs: Any, *, streaming: bool = False) -> dict[str, Any]:
    """Return the input of each source and table, with the columns in the declared order. Raise if one is wrong.

    With ``streaming``, sources must be streaming DataFrames, or clocks; otherwise all inputs must be bounded.
    """
    try:
        flow.check_inputs(inputs, "DataFrame", "df")
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
            declared = given_schema(operator) if streams and isinstance(operator, Source) else declared_schema(operator)
            operator = replace(operator, schema=declared)
            given = inputs[operator.id]
            checked[operator.id] = (
                given
                if streams and isinstance(given, Clock)
                else _checked(operator, given, streaming=streams, also=also)
            )
        except FlowError as error:
            raise error.at(f"{operator.verb} {operator.id!r}").at(f"flow {flow.name!r}") from None
    return checked


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
    found = check_columns(
        operator,
        [c for c in columns_of(given.schema) if c.name not in also],
        selected=lambda names: "df.select(" + ", ".join(f'"{name}"' for name in names) + ")",
        cast=lambda c: f'df.withColumn("{c.name}", F.col("{c.name}").cast("{str(c.type).lower()}"))',
    )
    columns = (given[quoted(name)].alias(c.name) for c, name in zip(declared.columns, found, strict=True))
    return given.select(*columns, *also)
