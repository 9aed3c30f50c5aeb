"""`accumulate`: aggregates over all rows at or below a time, by running windows, never by pairs of times.

On a total order, one running window over the rows themselves. On d time columns, the partial aggregates of each time
are put on each group's grid (every combination of the values that its times have), and d running windows, one along
each column, add up everything at or below each cell: each cell counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.aggregates import Aggregation
from tidegate.flow.sql import Sql
from tidegate.spark.lowering.calls import call_sql, finished, named_calls, runs_along
from tidegate.spark.lowering.cells import cell_columns, cell_merges, mergeable, merged, with_results
from tidegate.spark.lowering.rows import literal, quoted, row_order, sort_columns
from tidegate.spark.lowering.units import from_units, units_of
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["accumulate", "answers_of", "cells_of", "counted_at", "merged_cells"]

_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def accumulate(operator: plan.Accumulate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer, per group, aggregates over all rows at or below a time."""
    calls = operator.aggregation.calls
    along_rows = len(operator.schema.time) == 1 and operator.emit == "update" and not operator.every
    if along_rows and all(map(runs_along, calls)):
        return _running(operator, runtime, rows)
    return _on_grid(operator, runtime, rows)


def _running(operator: plan.Accumulate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Run along the rows of each group, and answer at the last row of each time."""
    aggregation, time = operator.aggregation, quoted(operator.schema.time[0])
    keys = {f"__k{i}": e.sql for i, e in enumerate(aggregation.by)}
    # Sorting by all columns costs, and only matters to those that see the order.
    ordered = any(call.order_sensitive for call in aggregation.calls)
    order = ", ".join(sort_columns(rows)) if ordered else time
    partition = f"PARTITION BY {', '.join(keys) or 'NULL'} ORDER BY {order}"
    whole = row_order(rows)
    results = {
        call.name: _over(call.sql if call.order_sensitive else call_sql(call, whole), f"{partition} {_SO_FAR}")
        for call in aggregation.calls
    }
    keyed = rows.withColumns({name: runtime.expr(sql) for name, sql in keys.items()}) if keys else rows
    run = keyed.select(
        runtime.expr(time, "__t0"),
        *keys,
        *runtime.exprs(results),
        runtime.expr(f"lead({time}) OVER ({partition})", "__next"),
    )
    answers = run.where(runtime.expr("__next IS NULL OR __next != __t0"))
    return _finished(operator, runtime, answers)


def _over(sql: str, frame: str) -> str:
    """Answer a call over a frame; where the call is wrapped in something, the frame goes to the call inside."""
    inside = Sql.of(sql).arguments("sort_array")
    return f"sort_array({inside[0]} OVER ({frame}))" if inside else f"{sql} OVER ({frame})"


@dataclass(frozen=True, slots=True)
class _Cells:
    """What is kept in each cell: its columns, how they are computed of rows, and how merged, with ``{over}``."""

    of_rows: dict[str, str]
    merged: dict[str, str]


def _on_grid(operator: plan.Accumulate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Keep partial aggregates in cells, and run along the cells of each group, once for each time column."""
    cells = cells_of(operator, runtime, rows)
    return answers_of(operator, runtime, cells.withColumn("__here", runtime.expr("__n")), rows)


def cells_of(operator: plan.Accumulate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer a cell for each group and time: the group ``__k…``, the time ``__t…``, the parts, and how many rows."""
    keys, times = _axes(operator)
    grouped = rows.groupBy(*runtime.exprs(keys | times))
    return grouped.agg(*runtime.exprs(_kept(operator, rows).of_rows), runtime.expr("count(*)", "__n"))


def merged_cells(
    operator: plan.Accumulate, runtime: Runtime, cells: DataFrame, rows: DataFrame, *apart: str
) -> DataFrame:
    """Answer cells of which none are of the same group and time, and ``apart``; ``__here`` is merged as well."""
    keys, times = _axes(operator)
    merges = cell_merges(operator.aggregation, rows) | {"__n": "sum(__n)", "__here": "sum(__here)"}
    return merged(runtime, cells, [*keys, *times, *apart], merges)


def answers_of(operator: plan.Accumulate, runtime: Runtime, found: DataFrame, rows: DataFrame) -> DataFrame:
    """Answer what is accumulated at each cell with rows of its own: ``__here`` says how many.

    With ``emit="complete"``, for every group at each time that has such a cell. ``rows`` gives the types.
    """
    keys, times = (list(names) for names in _axes(operator))
    kept = _kept(operator, rows)
    cells = found
    if len(times) > 1 or operator.emit == "complete":
        cells = _grid(operator, runtime, found, keys, times)
    for name in times:
        others = [*keys, *(other for other in times if other != name)]
        frame = f"PARTITION BY {', '.join(others) or 'NULL'} ORDER BY {name} {_SO_FAR}"
        running = [
            # A sum of decimals would widen from window to window.
            runtime.expr(merge.format(over=f"OVER ({frame})")).cast(found.schema[column].dataType).alias(column)
            for column, merge in (kept.merged | {"__n": "sum(__n) {over}"}).items()
        ]
        cells = cells.select(*keys, *times, "__here", *running)
    answers = cells.where(runtime.expr("__here > 0" if operator.emit == "update" else "__n > 0"))
    if operator.emit == "complete":
        answers = answers.join(found.where("__here > 0").select(*times).distinct(), times, "left_semi")
    if mergeable(operator.aggregation):
        return _finished(operator, runtime, with_results(operator.aggregation, runtime, answers, rows))
    return _finished(operator, runtime, _recomputed(operator, runtime, rows, answers, [*keys, *times]))


def _axes(operator: plan.Accumulate) -> tuple[dict[str, str], dict[str, str]]:
    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.aggregation.by)}
    return keys, {f"__t{i}": sql for i, sql in enumerate(counted_at(operator))}


def _kept(operator: plan.Accumulate, rows: DataFrame) -> _Cells:
    aggregation = operator.aggregation
    if not mergeable(aggregation):
        return _collected(aggregation, rows)
    merges = {name: f"{merge} {{over}}" for name, merge in cell_merges(aggregation, rows).items()}
    return _Cells(cell_columns(aggregation, rows), merges)


def counted_at(operator: plan.Accumulate) -> list[str]:
    """Answer the time columns from which on a row counts: its time, or the last unit of its period."""
    found, periods = [], dict(operator.every)
    for name in operator.schema.time:
        if name not in periods:
            found.append(quoted(name))
            continue
        at, period = units_of(operator.schema, name), periods[name]
        found.append(from_units(f"({at} - pmod({at}, {period}L) + {period - 1}L)", operator.schema[name].type or ""))
    return found


def _collected(aggregation: Aggregation, rows: DataFrame) -> _Cells:
    """Keep the rows: all columns if their order matters, else those that the calls read."""
    read = {name for call in aggregation.calls for name in call.columns}
    ordered = any(call_sql(call, "") != call.sql for call in aggregation.calls)
    columns = [name for name in rows.columns if ordered or name in read]
    fields = ", ".join(f"{literal(name)}, {quoted(name)}" for name in columns) or "'__row', 1"
    merged = "flatten(collect_list(__rows) {over})"
    return _Cells({"__rows": f"collect_list(named_struct({fields}))"}, {"__rows": merged})


def _grid(
    operator: plan.Accumulate, runtime: Runtime, found: DataFrame, keys: list[str], times: list[str]
) -> DataFrame:
    """Answer the cells of each group's grid: with ``update``, of the values that its own times have."""
    if operator.emit == "complete":
        grid = found.select(*keys).distinct() if keys else runtime.session.range(1).select()
        for name in times:
            grid = grid.crossJoin(found.select(name).distinct())
    else:
        axes = {f"__a{i}": f"collect_set({name})" for i, name in enumerate(times)}
        grid = found.groupBy(*keys).agg(*runtime.exprs(axes))
        for i, name in enumerate(times):
            remaining = [f"__a{j}" for j in range(i + 1, len(times))]
            grid = grid.select(*keys, *times[:i], runtime.expr(f"explode(__a{i})", name), *remaining)
    data = [name for name in found.columns if name not in (*keys, *times)]
    empty = grid.withColumns({name: runtime.expr("NULL").cast(found.schema[name].dataType) for name in data})
    # One row of a cell at most has data; this is a join without comparing keys, which may be null.
    only = {name: f"first({name}) IGNORE NULLS" for name in data}
    return found.unionByName(empty).groupBy(*keys, *times).agg(*runtime.exprs(only))


def _recomputed(
    operator: plan.Accumulate, runtime: Runtime, rows: DataFrame, answers: DataFrame, groups: list[str]
) -> DataFrame:
    """Compute the calls from the rows that each answer has collected."""
    spread = answers.select(*groups, runtime.expr("explode(__rows)", "__row")).select(*groups, "__row.*")
    whole = row_order(rows) if set(rows.columns) <= set(spread.columns) else "NULL"
    return spread.groupBy(*groups).agg(*runtime.exprs(named_calls(operator.aggregation, whole)))


def _finished(operator: plan.Accumulate, runtime: Runtime, results: DataFrame) -> DataFrame:
    aggregation = operator.aggregation
    columns = {name: f"__t{i}" for i, name in enumerate(operator.schema.time)}
    columns |= {e.name: f"__k{i}" for i, e in enumerate(aggregation.by)}
    calls = {call.name: call.name for call in aggregation.calls}
    named = results.select(*runtime.exprs(columns | calls))
    times = {name: quoted(name) for name in operator.schema.time}
    return named.select(*runtime.exprs(times | finished(aggregation)))
