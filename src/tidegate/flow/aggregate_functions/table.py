"""The table of aggregate functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions.record import AS_WRITTEN, AggregateFunction, LoopRule, PartialForm
from tidegate.flow.functions import words
from tidegate.flow.values import freeze, sort_key

__all__ = ["AGGREGATE_FUNCTIONS", "function_of_node", "loop_rule", "same_type"]


# Types.


def same_type(type_: str | None) -> str | None:
    """Return the type of the argument."""
    return type_


def _sum_type(type_: str | None) -> str | None:
    if type_ in sqltypes.INTEGERS:
        return "BIGINT"
    return "DOUBLE" if type_ in sqltypes.FRACTIONS else None


def _sum_of_digits(type_: str | None) -> str | None:
    if type_ is None or not type_.startswith("DECIMAL"):
        return _sum_type(type_)
    precision, scale = type_.removeprefix("DECIMAL(").removesuffix(")").split(",")
    return f"DECIMAL({min(int(precision) + 10, 38)},{scale})"


def _double_type(type_: str | None) -> str | None:  # noqa: ARG001
    return "DOUBLE"


def _text_type(type_: str | None) -> str | None:  # noqa: ARG001
    return "STRING"


def _average_type(type_: str | None) -> str | None:
    return "DOUBLE" if _sum_type(type_) else None


def _list_type(type_: str | None) -> str | None:
    return f"ARRAY<{type_}>" if type_ else None


# Partial results.


def _merged_by(function: str) -> PartialForm:
    return PartialForm((("{call}", f"{function}({{a}})"),), "{a}", merge=function)


def _picked(function: str, at: str) -> PartialForm:
    """Return the form of a function that picks the value of the least or greatest row, by ``at``."""
    least = function.removesuffix("_by")
    first = (f"{function}(struct({{x}} AS v), {at}){{f}}", f"{function}({{a}}, {{b}})")
    return PartialForm((first, (f"{least}({at}){{f}}", f"{least}({{b}})")), "{a}.v")


_AVERAGE = PartialForm(
    # As in Spark: a sum of large integers does not overflow.
    (("sum(CAST({x} AS DOUBLE)){f}", "sum({a})"), ("count({x}){f}", "sum({b})")),
    # On no values at all, the average is null, and not a division by zero.
    "{a} / nullif({b}, 0)",
    # Spark divides decimals with more digits than SQL's division has; and intervals in a way of their own.
    type="DOUBLE",
)
#: What `min_by` and `max_by` compare rows by: equal ones are compared by their order.
_TIED = "IF({y} IS NULL, NULL, struct({y} AS a, {o} AS o))"


# Loops.


def _least(values: list[Any]) -> Any:
    return min(values, key=sort_key, default=None)


def _greatest(values: list[Any]) -> Any:
    return max(values, key=sort_key, default=None)


def _folded(function: Callable[[Any, Any], Any]) -> Callable[[list[Any]], Any]:
    return lambda values: reduce(function, values) if values else None


def _union(values: list[Any]) -> list[Any]:
    elements = {freeze(element): element for value in values for element in value}
    return sorted(elements.values(), key=lambda element: (element is None, sort_key(element)))


_ORDER = ("a type with an order", lambda type_: not type_.startswith("MAP"))
_INTEGER = ("an integer", lambda type_: type_ in sqltypes.INTEGERS)
_TRUTH = ("a BOOLEAN", lambda type_: type_ == "BOOLEAN")
_ARRAY = ("an ARRAY", lambda type_: type_.startswith("ARRAY"))
_PLAIN = "{function}({x})"
_BEST = "(CASE WHEN {y} IS NOT NULL THEN struct({fields}) END)"


# The table.


def _double(*names: str, nodes: tuple[str, ...] = (), duckdb: str = "", arguments: int = 1) -> AggregateFunction:
    takes = ("DOUBLE",) * arguments if duckdb else ()
    return AggregateFunction(names=names, nodes=nodes, type="DOUBLE", duckdb=duckdb, duckdb_takes=takes)


_TEXTS = "IF(size({values}) = 0, NULL, array_join(transform({values}, __v -> CAST(__v AS STRING)), {y}))"

_RECORDS = (
    AggregateFunction(
        names=("count",),
        nodes=("Count",),
        type="BIGINT",
        partial=_merged_by("sum"),
        duckdb=AS_WRITTEN,
        duckdb_takes=("T…",),
    ),
    AggregateFunction(
        names=("count_if",),
        nodes=("CountIf",),
        type="BIGINT",
        partial=_merged_by("sum"),
        duckdb=AS_WRITTEN,
        duckdb_takes=("BOOLEAN",),
    ),
    AggregateFunction(names=("approx_count_distinct",), nodes=("ApproxDistinct",), type="BIGINT"),
    AggregateFunction(
        names=("sum",),
        nodes=("Sum",),
        type=_sum_type,
        partial=_merged_by("sum"),
        duckdb=AS_WRITTEN,
        duckdb_type=_sum_of_digits,
        duckdb_takes=("I|F|D",),
    ),
    AggregateFunction(
        names=("avg",),
        nodes=("Avg",),
        type=_average_type,
        arguments=1,
        partial=_AVERAGE,
        duckdb=AS_WRITTEN,
        duckdb_takes=("I|F",),
    ),
    AggregateFunction(
        names=("mean",),
        type=_average_type,
        arguments=1,
        partial=_AVERAGE,
        duckdb="AVG({d}{x}){f}{v}",
        duckdb_takes=("I|F",),
    ),
    AggregateFunction(
        names=("min",),
        nodes=("Min",),
        type=same_type,
        partial=_merged_by("min"),
        picks=True,
        duckdb=AS_WRITTEN,
        compares="ARG_MIN",
        duckdb_takes=("O",),
        loop=LoopRule(*_ORDER, _PLAIN, _least),
    ),
    AggregateFunction(
        names=("max",),
        nodes=("Max",),
        type=same_type,
        partial=_merged_by("max"),
        picks=True,
        duckdb=AS_WRITTEN,
        compares="ARG_MAX",
        duckdb_takes=("O",),
        loop=LoopRule(*_ORDER, _PLAIN, _greatest),
    ),
    AggregateFunction(
        names=("min_by",),
        nodes=("ArgMin",),
        type=same_type,
        arguments=2,
        sorted="min_by({x}, IF({y} IS NULL, NULL, struct({y}, {o}))){f}",
        partial=_picked("min_by", _TIED),
        duckdb="ARG_MIN_NULL({x}, {k}){w}{v}",
        duckdb_takes=("T", "O"),
        loop=LoopRule(*_ORDER, f"min{_BEST}", _least, by="min"),
    ),
    AggregateFunction(
        names=("max_by",),
        nodes=("ArgMax",),
        type=same_type,
        arguments=2,
        sorted="max_by({x}, IF({y} IS NULL, NULL, struct({y}, {o}))){f}",
        partial=_picked("max_by", _TIED),
        duckdb="ARG_MAX_NULL({x}, {k}){w}{v}",
        duckdb_takes=("T", "O"),
        loop=LoopRule(*_ORDER, f"max{_BEST}", _greatest, by="max"),
    ),
    AggregateFunction(
        names=("bit_or",),
        nodes=("BitwiseOrAgg",),
        type=same_type,
        partial=_merged_by("bit_or"),
        duckdb=AS_WRITTEN,
        duckdb_takes=("I",),
        loop=LoopRule(*_INTEGER, _PLAIN, _folded(lambda a, b: a | b)),
    ),
    AggregateFunction(
        names=("bit_and",),
        nodes=("BitwiseAndAgg",),
        type=same_type,
        partial=_merged_by("bit_and"),
        duckdb=AS_WRITTEN,
        duckdb_takes=("I",),
        loop=LoopRule(*_INTEGER, _PLAIN, _folded(lambda a, b: a & b)),
    ),
    AggregateFunction(
        names=("bit_xor",),
        nodes=("BitwiseXorAgg",),
        type=same_type,
        partial=_merged_by("bit_xor"),
        duckdb=AS_WRITTEN,
        duckdb_takes=("I",),
    ),
    AggregateFunction(
        names=("bool_or", "some", "any"),
        nodes=("LogicalOr",),
        type="BOOLEAN",
        partial=_merged_by("bool_or"),
        duckdb="BOOL_OR({x}){f}{v}",
        duckdb_takes=("BOOLEAN",),
        loop=LoopRule(*_TRUTH, _PLAIN, _folded(lambda a, b: a or b)),
    ),
    AggregateFunction(
        names=("bool_and", "every"),
        nodes=("LogicalAnd",),
        type="BOOLEAN",
        partial=_merged_by("bool_and"),
        duckdb="BOOL_AND({x}){f}{v}",
        duckdb_takes=("BOOLEAN",),
        loop=LoopRule(*_TRUTH, _PLAIN, _folded(lambda a, b: a and b)),
    ),
    AggregateFunction(
        names=("collect_union",),
        loop=LoopRule(*_ARRAY, "array_sort(array_distinct(flatten(collect_list({x}))))", _union),
    ),
    AggregateFunction(
        names=("first", "first_value", "any_value"),
        nodes=("First", "FirstValue", "AnyValue"),
        type=same_type,
        order_sensitive=True,
        sorted="min_by({x}, {at}){f}",
        partial=_picked("min_by", "{at}"),
        duckdb="FIRST({x} {o}){f}{v}",
        duckdb_takes=("T", "truth?"),
    ),
    AggregateFunction(
        names=("last", "last_value"),
        nodes=("Last", "LastValue"),
        type=same_type,
        order_sensitive=True,
        sorted="max_by({x}, {at}){f}",
        partial=_picked("max_by", "{at}"),
        duckdb="LAST({x} {o}){f}{v}",
        duckdb_takes=("T", "truth?"),
    ),
    AggregateFunction(
        names=("collect_list", "array_agg"),
        nodes=("ArrayAgg",),
        type=_list_type,
        order_sensitive=True,
        lists=True,
        sorted="{values}",
        unsorted_with=("within",),
        duckdb="COALESCE(LIST({d}{x} {o}){n}{v}, [])",
        duckdb_takes=("T",),
    ),
    AggregateFunction(
        names=("listagg", "string_agg"),
        order_sensitive=True,
        sorted=_TEXTS,
        unsorted_with=("within",),
        duckdb="STRING_AGG({d}{x}, {y} {o}){f}{v}",
        duckdb_type=_text_type,
        duckdb_takes=("STRING", "text?"),
    ),
    AggregateFunction(
        names=("collect_set",),
        nodes=("ArrayUniqueAgg",),
        type=_list_type,
        sorted="sort_array({call})",
        duckdb="COALESCE(LIST(DISTINCT {x}){n}{v}, [])",
        duckdb_takes=("O",),
    ),
    AggregateFunction(
        names=("mode",),
        nodes=("Mode",),
        type=same_type,
        arguments=1,
        sorted="mode({x}, true){f}",
        unsorted_with=("within", "nulls"),
    ),
    _double("stddev", "stddev_samp", nodes=("Stddev", "StddevSamp"), duckdb=AS_WRITTEN),
    _double("std", duckdb="STDDEV_SAMP({x}){f}{v}"),
    _double("stddev_pop", nodes=("StddevPop",), duckdb=AS_WRITTEN),
    _double("variance", "var_samp", nodes=("Variance",), duckdb=AS_WRITTEN),
    _double("var_pop", nodes=("VariancePop",), duckdb=AS_WRITTEN),
    _double("corr", nodes=("Corr",), duckdb=AS_WRITTEN, arguments=2),
    _double("covar_pop", nodes=("CovarPop",), duckdb=AS_WRITTEN, arguments=2),
    _double("covar_samp", nodes=("CovarSamp",), duckdb=AS_WRITTEN, arguments=2),
    _double("kurtosis", nodes=("Kurtosis",)),
    _double("skewness", nodes=("Skewness",)),
    AggregateFunction(names=("regr_count",), partial=_merged_by("sum")),
    AggregateFunction(
        names=("median",),
        framed=False,
        duckdb="QUANTILE_CONT({x}, 0.5){f}{v}",
        duckdb_type=_double_type,
        duckdb_takes=("I|F",),
    ),
    AggregateFunction(
        names=("percentile",),
        duckdb="QUANTILE_CONT({x}, {y}){f}{v}",
        duckdb_type=_double_type,
        duckdb_takes=("I|F", "share"),
    ),
    AggregateFunction(names=("percentile_cont",), framed=False),
    AggregateFunction(names=("percentile_disc",), framed=False),
    AggregateFunction(names=("grouping",), framed=False),
    AggregateFunction(names=("grouping_id",), framed=False),
)

#: All others that Spark has; a test compares these and the records with Spark's own list.
_OTHERS = words(
    """
    approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg count_min_sketch histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float measure
    percentile_approx regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    schema_of_variant_agg theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_union_agg_double tuple_union_agg_integer vector_avg vector_sum
    """
)

#: The records by name, in small letters.
AGGREGATE_FUNCTIONS: Final[dict[str, AggregateFunction]] = {
    **{name: record for record in _RECORDS for name in record.names},
    **{name: AggregateFunction(names=(name,)) for name in sorted(_OTHERS)},
}

_BY_NODE = {node: record for record in _RECORDS for node in record.nodes}


def function_of_node(node: str) -> AggregateFunction | None:
    """Return the function whose calls are nodes of a class, or None."""
    return _BY_NODE.get(node)


def loop_rule(name: str) -> LoopRule:
    """Return how a loop merges by a function that has such a rule."""
    rule = AGGREGATE_FUNCTIONS[name].loop
    if rule is None:
        raise KeyError(name)
    return rule
