"""Cells: the partial aggregates of one group in one place of time, in DataFrames; computed, merged and finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidegate.flow.aggregates import Aggregation
from tidegate.spark.lowering.partials import Partial, partial
from tidegate.spark.lowering.rows import quoted, row_order
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["cell_columns", "cell_merges", "mergeable", "merged", "with_results"]


def mergeable(aggregation: Aggregation) -> bool:
    """Answer whether all calls have a partial form, so that no rows have to be kept."""
    return all(partial(call, "NULL") for call in aggregation.calls)


def cell_columns(aggregation: Aggregation, rows: DataFrame) -> dict[str, str]:
    """Answer the columns of a cell besides its place, by how they are computed of rows."""
    return {
        name: sql for part in _parts(aggregation, rows) for name, sql in zip(part.columns, part.of_rows, strict=True)
    }


def cell_merges(aggregation: Aggregation, rows: DataFrame) -> dict[str, str]:
    """Answer the columns of a cell besides its place, by how they are computed of those of other cells."""
    return {
        name: sql for part in _parts(aggregation, rows) for name, sql in zip(part.columns, part.merged, strict=True)
    }


def merged(runtime: Runtime, cells: DataFrame, places: Sequence[str], merges: Mapping[str, str]) -> DataFrame:
    """Answer one cell for each place: ``places`` are the columns that say where a cell is."""
    # A sum of decimals would widen each time.
    found = [runtime.expr(merge).cast(cells.schema[name].dataType).alias(name) for name, merge in merges.items()]
    return cells.groupBy(*map(quoted, places)).agg(*found)


def with_results(aggregation: Aggregation, runtime: Runtime, cells: DataFrame, rows: DataFrame) -> DataFrame:
    """Add the results of calls, of the types that Spark gives the calls themselves on ``rows``."""
    calls = aggregation.calls
    types = runtime.once(
        ("types", aggregation, rows.schema.json()),
        lambda: rows.groupBy().agg(*runtime.exprs({call.name: call.sql for call in calls})).schema,
    )
    results = {
        call.name: runtime.expr(part.finish).cast(types[call.name].dataType)
        for call, part in zip(calls, _parts(aggregation, rows), strict=True)
    }
    return cells.withColumns(results)


def _parts(aggregation: Aggregation, rows: DataFrame) -> list[Partial]:
    order = row_order(rows)
    return [part for call in aggregation.calls if (part := partial(call, order)) is not None]
