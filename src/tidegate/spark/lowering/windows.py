"""Windows and sessions: rows are put into them, and each is answered at the time of its last unit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.plan import SessionFrame, WindowFrame
from tidegate.flow.schema import Schema
from tidegate.spark.arrow import applied, apply_in_arrow, struct_type
from tidegate.spark.lowering.calls import finished, listing, named_calls
from tidegate.spark.lowering.pairs import joined
from tidegate.spark.lowering.rows import columns_of, quoted, row_order, sort_columns
from tidegate.spark.lowering.units import from_units, units_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.settle import same_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["in_sessions", "in_windows", "window_aggregate", "window_answers", "window_apply", "window_join"]

# Rows that are in windows already have these: where their window begins, and how often it was answered before.
_PLACED = ("__start", "__revision")


def in_windows(frame: WindowFrame, schema: Schema, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Add ``__start``, in units: a row comes once for each window that it is in."""
    at, size, every = units_of(schema, frame.over), frame.size, frame.every
    # The last window that has begun by then; the first is the earliest whose end is still ahead.
    last = f"({at} - pmod({at} - {frame.offset}L, {every}L))"
    if size == every:
        return rows.withColumn("__start", runtime.expr(last))
    first = f"{last} - {every}L * (({last} + {size}L - 1L - {at}) DIV {every}L)"
    return rows.withColumn("__start", runtime.expr(f"explode(sequence({first}, {last}, {every}L))"))


def _placed(frame: WindowFrame, schema: Schema, runtime: Runtime, rows: DataFrame) -> DataFrame:
    return rows if "__start" in rows.columns else in_windows(frame, schema, runtime, rows)


def in_sessions(
    frame: SessionFrame, schema: Schema, runtime: Runtime, rows: DataFrame, groups: Mapping[str, str]
) -> DataFrame:
    """Add ``__session``, a number that tells the sessions of a group apart, and ``__at``, the time in units."""
    rows = rows.withColumn("__at", runtime.expr(units_of(schema, frame.over)))
    over = f"(PARTITION BY {', '.join(groups.values()) or 'NULL'} ORDER BY __at"
    begins = f"__at - lag(__at) OVER {over}) >= {frame.gap}L"
    marked = rows.withColumn("__begins", runtime.expr(f"CAST(coalesce({begins}, true) AS BIGINT)"))
    number = f"sum(__begins) OVER {over} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    return marked.withColumn("__session", runtime.expr(number)).drop("__begins")


def window_aggregate(operator: plan.WindowAggregate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer one row for each window or session and group that has rows."""
    aggregation, schema, frame = operator.aggregation, operator.schema, operator.frame
    groups = _others(frame, schema) | {e.name: e.sql for e in aggregation.by}
    if operator.embeds:
        rows, calls = listing(aggregation, runtime, rows)
    else:
        calls = named_calls(aggregation, row_order(rows.drop(*_PLACED)))
    if isinstance(frame, SessionFrame):
        framed = in_sessions(frame, schema, runtime, rows, groups)
        bounds = {"__start": "min(__at)", "__end": f"max(__at) + {frame.gap}L"}
        keys = groups | {"__session": "__session"}
        results = framed.groupBy(*runtime.exprs(keys)).agg(*runtime.exprs(bounds | calls))
    else:
        # Rows that are listed meet by key before they are copied into windows, so that each of them travels once.
        met = rows.repartition(*map(quoted, groups)) if operator.embeds and groups else rows
        framed = _placed(frame, schema, runtime, met)
        keys = {name: name for name in _PLACED if name in framed.columns} | groups
        results = framed.groupBy(*runtime.exprs(keys)).agg(*runtime.exprs(calls))
    return window_answers(operator, runtime, results)


def window_answers(operator: plan.WindowAggregate, runtime: Runtime, results: DataFrame) -> DataFrame:
    """Answer the rows that the operator gives, of the results of calls for each window and group."""
    aggregation, schema, frame = operator.aggregation, operator.schema, operator.frame
    if isinstance(frame, WindowFrame):
        results = results.withColumn("__end", runtime.expr(f"__start + {frame.size}L"))
    # What is computed at the end may read the bounds of the window.
    bounded = results.withColumn(_name(frame), runtime.expr(_bounds(frame, schema)))
    columns = _times(frame, schema) | {_name(frame): quoted(_name(frame))} | finished(aggregation)
    return bounded.select(*runtime.exprs(columns | _revision(frame, results)))


def window_apply(operator: plan.WindowApply, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Let the user's function turn the rows of each window or session and group into others."""
    frame, schema = operator.frame, operator.schema
    groups = _others(frame, schema) | {e.name: e.sql for e in operator.by}
    by = {f"__k{i}": e.sql for i, e in enumerate(operator.by)}
    given = rows.withColumns({name: runtime.expr(sql) for name, sql in by.items()})
    rows = rows.drop("__start")
    if isinstance(frame, SessionFrame):
        given = in_sessions(frame, schema, runtime, given, groups)
        within = f"(PARTITION BY {', '.join([*groups.values(), '__session'])})"
        given = given.withColumns(
            {
                "__start": runtime.expr(f"min(__at) OVER {within}"),
                "__end": runtime.expr(f"max(__at) OVER {within} + {frame.gap}L"),
            }
        )
    else:
        given = _placed(frame, schema, runtime, given)
        given = given.withColumn("__end", runtime.expr(f"__start + {frame.size}L"))
    keys = {f"__t{i}": sql for i, sql in enumerate(_times(frame, schema).values())}
    keys |= {"__frame": _bounds(frame, schema)}
    given = given.withColumns({name: runtime.expr(sql) for name, sql in keys.items()})
    revised = [name for name in rows.columns if name == "__revision"]
    rows = rows.drop(*revised)
    names = [*keys, *by, *revised]
    # The order is settled here, where it is the same for all types; Arrow only has to follow a number.
    order = f"row_number() OVER (PARTITION BY {', '.join(names)} ORDER BY {', '.join(sort_columns(rows))})"
    given = given.select(*names, *map(quoted, rows.columns), runtime.expr(order, "__order"))
    declared = [schema[name] for name in operator.columns]
    function = applied(operator, columns_of(rows.schema), _key(operator, names))
    key_fields = [given.schema[name] for name in names]
    result = apply_in_arrow(given.groupBy(*names), function, struct_type(declared, key_fields))
    columns = dict(zip([*schema.time, _name(frame), *(e.name for e in operator.by)], names, strict=False))
    columns |= {name: quoted(name) for name in operator.columns}
    return result.select(*runtime.exprs(columns | _revision(frame, result)))


def window_join(operator: plan.WindowJoin, runtime: Runtime, left: DataFrame, right: DataFrame) -> DataFrame:
    """Pair rows once for each window that both are in."""
    same_types(operator, left.schema, right.schema, operator.on)
    frame, schema = operator.frame, operator.schema
    equal = {"__start": "__start"} | _others(frame, schema)
    times = {name: "__start" if name == frame.over else quoted(name) for name in schema.time}
    # The last unit of a window follows from where it begins: that is all that has to travel.
    last = from_units(f"{quoted(frame.over)} + {frame.size}L - 1L", schema[frame.over].type or "")
    pairs = joined(operator, runtime, left, right, equal, times, partial(in_windows, frame, schema, runtime))
    return pairs.withColumn(frame.over, runtime.expr(last))


def _key(operator: plan.WindowApply, names: list[str]) -> dict[str, str]:
    """Answer which of the grouping columns a function of two parameters is given, and under which names."""
    inner = [_name(operator.frame), *(e.name for e in operator.by)]
    return dict(zip(inner, names[len(operator.schema.time) :], strict=False))


def _name(frame: WindowFrame | SessionFrame) -> str:
    return "session" if isinstance(frame, SessionFrame) else "window"


def _others(frame: WindowFrame | SessionFrame, schema: Schema) -> dict[str, str]:
    return {name: quoted(name) for name in schema.time if name != frame.over}


def _bounds(frame: WindowFrame | SessionFrame, schema: Schema) -> str:
    type_ = schema[frame.over].type or ""
    return f"named_struct('start', {from_units('__start', type_)}, 'end', {from_units('__end', type_)})"


def _times(frame: WindowFrame | SessionFrame, schema: Schema) -> dict[str, str]:
    """Answer the time columns of the result: the last unit of the window, and the others as they are."""
    last = from_units("__end - 1L", schema[frame.over].type or "")
    return {name: last if name == frame.over else quoted(name) for name in schema.time}


def _revision(frame: WindowFrame | SessionFrame, rows: DataFrame) -> dict[str, str]:
    if not getattr(frame, "lateness", 0):
        return {}
    return {"revision": "__revision" if "__revision" in rows.columns else "0"}
