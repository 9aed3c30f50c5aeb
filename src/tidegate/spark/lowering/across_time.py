"""Other operators that look across times: deduplication, joins as of a time, and operators of the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.spark.arrow import map_in_arrow, struct_type
from tidegate.spark.lowering.rows import columns_of, quoted, row_order, sort_columns
from tidegate.spark.lowering.units import to_units, units_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.settle import same_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["answer_columns", "answer_type", "by_key", "deduplicate", "join_asof", "process"]


def deduplicate(operator: plan.Deduplicate, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Keep the least row per key, and again ``within`` after the last one kept."""
    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.by)}
    keys |= {f"__o{i}": quoted(name) for i, name in enumerate(operator.schema.time) if name != operator.over}
    whole = f"struct({', '.join(map(quoted, rows.columns))})"
    at, order = units_of(operator.schema, operator.over), row_order(rows)
    groups = rows.groupBy(*runtime.exprs(keys or {"__all": "1"}))
    if operator.within is None:
        least = groups.agg(runtime.expr(f"min_by({whole}, struct({at}, {order}))", "__row"))
        return least.select("__row.*")
    # One pass over the sorted rows of a key; only kept rows are copied.
    sorted_rows = f"array_sort(collect_list(struct({at} AS at, {order} AS o, {whole} AS row)))"
    found = groups.agg(runtime.expr(sorted_rows, "__rows"))
    nothing = "named_struct('last', CAST(NULL AS BIGINT), 'kept', slice(__rows, 1, 0))"
    fresh = f"a.last IS NULL OR r.at >= a.last + {operator.within}L"
    keep = "named_struct('last', r.at, 'kept', concat(a.kept, array(r)))"
    kept = f"aggregate(__rows, {nothing}, (a, r) -> IF({fresh}, {keep}, a)).kept"
    return found.select(runtime.expr(f"explode({kept})", "__kept")).select("__kept.row.*")


def join_asof(operator: plan.JoinAsof, runtime: Runtime, left: DataFrame, right: DataFrame) -> DataFrame:
    """Pair each left row with the latest right row at or below it: both in one running window, right rows first."""
    same_types(operator, left.schema, right.schema, operator.on)
    schema, over = operator.schema, operator.over
    keys = {f"__k{i}": quoted(name) for i, name in enumerate(operator.on)}
    keys |= {f"__o{i}": quoted(name) for i, name in enumerate(schema.time) if name != over}
    keyed = keys | {"__at": quoted(over)}
    own = {f"__l{i}": quoted(name) for i, name in enumerate(operator.left_columns)}
    lefts = left.select(*runtime.exprs(keyed | {"__side": "1"} | own))
    # Only right rows carry a value: the running window looks for the last of them. Ties go to the greatest.
    carried = [quoted(over), *map(quoted, operator.right_columns)]
    ties = _ties(right, operator.right_columns)
    rights = right.select(*runtime.exprs(keyed | {"__side": "0", "__right": f"struct({', '.join(carried)})"} | ties))
    both = lefts.unionByName(rights, allowMissingColumns=True)
    order = ", ".join(["__at", "__side", *(ties or ["__right"])])
    frame = f"PARTITION BY {', '.join(keys) or 'NULL'} ORDER BY {order}"
    latest = f"last(__right) IGNORE NULLS OVER ({frame} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    found = both.withColumn("__found", runtime.expr(latest)).where(runtime.expr("__side = 1"))
    # Null keys share a partition, and never match.
    allowed = [f"__k{i} IS NOT NULL" for i in range(len(operator.on))]
    if operator.within is not None:
        type_ = schema[over].type or ""
        age = f"{to_units('__at', type_)} - {to_units(f'__found.{quoted(over)}', type_)}"
        allowed.append(f"{age} <= {operator.within}L")
    if allowed:
        found = found.withColumn("__found", runtime.expr(f"IF({' AND '.join(allowed)}, __found, NULL)"))
    if operator.how == "inner":
        found = found.where(runtime.expr("__found IS NOT NULL"))
    columns = {name: "__at" if name == over else f"__o{i}" for i, name in enumerate(schema.time)}
    columns |= {name: f"__k{i}" for i, name in enumerate(operator.on)}
    columns |= dict(zip(operator.left_columns, own, strict=True))
    columns |= {name: f"__found.{quoted(name)}" for name in operator.right_columns}
    return found.select(*runtime.exprs(columns))


def _ties(rows: DataFrame, names: tuple[str, ...]) -> dict[str, str]:
    """Answer columns to sort by where the carried value itself has no order, as maps have none."""
    chosen = [sql for name, sql in zip(rows.columns, sort_columns(rows), strict=True) if name in names]
    if chosen == [quoted(name) for name in rows.columns if name in names]:
        return {}
    return {f"__s{i}": sql for i, sql in enumerate(chosen)}


def process(operator: plan.Process, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Run one copy of the user's operator for each key, over the rows of the key in an order that extends time's."""
    from tidegate.spark.processing import processed

    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.by)}
    given = rows.select("*", *runtime.exprs(keys))
    given = by_key(runtime, given, keys, sort_columns(rows))
    declared = [operator.schema[name] for name in operator.columns]
    function = processed(operator, columns_of(rows.schema), declared)
    answers = map_in_arrow(given, function, answer_type(operator, given))
    return answers.select(*runtime.exprs(answer_columns(operator)))


def by_key(runtime: Runtime, rows: DataFrame, keys: Iterable[str], order: Sequence[str]) -> DataFrame:
    """Bring the rows of a key together, in some order; ``__order`` counts them."""
    number = f"row_number() OVER (PARTITION BY {', '.join(keys) or 'NULL'} ORDER BY {', '.join(order)})"
    return rows.withColumn("__order", runtime.expr(number))


def answer_type(operator: plan.Process, given: DataFrame) -> StructType:
    """Answer the columns that come from Python: time, key, and what was declared."""
    names = [*operator.schema.time, *(f"__k{i}" for i in range(len(operator.by)))]
    return struct_type([operator.schema[name] for name in operator.columns], [given.schema[name] for name in names])


def answer_columns(operator: plan.Process) -> dict[str, str]:
    """Answer the columns of the result, from what comes from Python."""
    columns = {name: quoted(name) for name in operator.schema.time}
    columns |= {e.name: f"__k{i}" for i, e in enumerate(operator.by)}
    return columns | {name: quoted(name) for name in operator.columns}
