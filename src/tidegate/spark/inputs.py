"""What is handed to a flow to run on Spark, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.engine.inputs import STEP
from tidegate.flow.errors import BadInput, BadTime, FlowError, nearest
from tidegate.flow.plan import Plan, Source, Table
from tidegate.flow.sqltypes import quoted
from tidegate.flow.watermarks import Published
from tidegate.spark.rows import columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["UNREADABLE", "check_inputs"]

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
