"""Any aggregate function that Spark has, in every operator that aggregates: against batch Spark written by hand.

By hand, the rows of each answer are found by comparing all pairs of times, which is plain and slow.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.case import assert_same_rows
from tests.spark.engine import frame, rows

import tidegate as tg
from tidegate.engine.calls import has_running_form
from tidegate.engine.lowering.partials import partial
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.aggregates import aggregation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

COLUMNS = "k STRING, x INT, d DECIMAL(10,2), b BOOLEAN, s STRING"
#: Kept as partial aggregates wherever rows of several times are put together.
MERGEABLE = """count(*); count(x); count_if(b); sum(x); sum(d); avg(x); mean(x); min(s); max(d); bool_and(b)
    every(b); bool_or(b); some(b); any(b); bit_and(x); bit_or(x); bit_xor(x); regr_count(x, x)
    sum(x) FILTER (WHERE b); avg(x) FILTER (WHERE x > 100); count(*) FILTER (WHERE NOT b); sum(x) / count(*)"""
#: Computed along the rows on one time column; kept as rows on several.
RUNNING = """avg(d); stddev(x); std(x); stddev_pop(x); stddev_samp(x); variance(x); var_pop(x); var_samp(x); skewness(x)
    kurtosis(x); corr(x, d); covar_pop(x, d); covar_samp(x, d); percentile(x, 0.3); percentile_approx(x, 0.5)
    approx_percentile(x, 0.5); approx_count_distinct(x); regr_avgx(x, d); regr_avgy(x, d); regr_slope(x, d)
    regr_r2(x, d); regr_intercept(x, d); regr_sxx(x, d); regr_sxy(x, d); regr_syy(x, d); try_sum(x); try_avg(x)
    hll_sketch_estimate(hll_sketch_agg(x)); max(x) - min(x)"""
#: Kept as rows everywhere.
KEPT = """count(DISTINCT x); sum(DISTINCT x); count(DISTINCT x, s); median(x)
    percentile_cont(0.5) WITHIN GROUP (ORDER BY x); percentile_disc(0.5) WITHIN GROUP (ORDER BY x DESC)"""
#: Spark 4 fails on it beside several DISTINCT ones, also by hand.
ALONE = "listagg(s, ',') WITHIN GROUP (ORDER BY s)"
LISTS = {"mergeable": MERGEABLE, "running": RUNNING, "kept": KEPT, "alone": ALONE}


def texts(name: str) -> dict[str, str]:
    """The expressions of a list, each under a name."""
    found = [text.strip() for line in LISTS[name].split("\n") for text in line.split(";") if text.strip()]
    return {f"a{i}": text for i, text in enumerate(found)}


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> DataFrame:
    """Rows on a small grid of times, with nulls in everything but the times."""
    draw = random.Random(11)

    def some(value: Any) -> Any:
        return None if draw.random() < 0.15 else value

    schema = one_flow({"n": "count(*)"}, "t", "aggregate").plan["s"].schema
    values = [
        (
            draw.randint(0, 4),
            draw.randint(0, 3),
            draw.choice(["a", "b", None]),
            some(draw.randint(-5, 9)),
            some(Decimal(draw.randint(-500, 500)) / 100),
            some(draw.random() < 0.5),
            some(draw.choice("xyz")),
        )
        for _ in range(60)
    ]
    return frame(spark, schema, values).cache()


def one_flow(named: dict[str, str], time: Any, verb: str, **options: Any) -> tg.Flow:
    flow = tg.Flow("aggregates")
    stream = flow.source("s", f"t INT, u INT, {COLUMNS}", time=time)
    flow.sink("out", getattr(stream, verb)(by="k", **options, **named))
    return flow


def by_hand(given: DataFrame, named: dict[str, str], condition: str, *, complete: bool = False) -> DataFrame:
    """Return the aggregates of all rows below each time, by comparing every row with every time."""
    from pyspark.sql import functions as F  # noqa: N812

    cells = given.select("t", "u", "k").distinct()
    if complete:
        cells = given.select("t", "u").distinct().crossJoin(given.select("k").distinct())
    cells = cells.toDF("t_", "u_", "k_")
    below = cells.join(given, F.expr(f"k <=> k_ AND {condition}"))
    results = below.groupBy("t_", "u_", "k_").agg(*(F.expr(sql).alias(name) for name, sql in named.items()))
    return results.withColumnsRenamed({"t_": "t", "u_": "u", "k_": "k"})


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_at_each_time(spark: SparkSession, given: DataFrame, name: str) -> None:
    """`aggregate` gives what a `groupBy` gives."""
    named = texts(name)
    table = one_flow(named, ("t", "u"), "aggregate").compute(spark, {"s": given})["out"]
    assert_same_rows(rows(table), rows(by_hand(given, named, "t = t_ AND u = u_")))


@pytest.mark.parametrize("name", [pytest.param("mergeable", marks=pytest.mark.slow), "running", "kept"])
def test_so_far_on_one_clock(spark: SparkSession, given: DataFrame, name: str) -> None:
    """`accumulate` on one time column gives the aggregates of all rows at or below each time."""
    named = texts(name)
    flow = tg.Flow("aggregates")
    stream = flow.source("s", f"t INT, {COLUMNS}", time="t")
    flow.sink("out", stream.accumulate(by="k", **named))
    table = flow.compute(spark, {"s": given.drop("u")})["out"]
    expected = by_hand(given.selectExpr("t", "0 AS u", "k", "x", "d", "b", "s"), named, "t <= t_").drop("u")
    assert_same_rows(rows(table), rows(expected))


@pytest.mark.parametrize(
    ("name", "emit"),
    [
        ("mergeable", "update"),
        pytest.param("mergeable", "complete", marks=pytest.mark.slow),
        pytest.param("running", "update", marks=pytest.mark.slow),
        pytest.param("kept", "complete", marks=pytest.mark.slow),
    ],
)
def test_so_far_on_two_clocks(spark: SparkSession, given: DataFrame, name: str, emit: str) -> None:
    """`accumulate` on a product gives the aggregates of all rows at or below each pair of times."""
    named = texts(name)
    table = one_flow(named, ("t", "u"), "accumulate", emit=emit).compute(spark, {"s": given})["out"]
    expected = by_hand(given, named, "t <= t_ AND u <= u_", complete=emit == "complete")
    assert_same_rows(rows(table), rows(expected))


@pytest.mark.parametrize("verb", ["aggregate", "accumulate"])
def test_those_that_see_the_order_of_rows(spark: SparkSession, given: DataFrame, verb: str) -> None:
    """`first` and the like see rows sorted by time, then by all columns, however Spark spreads them."""
    named = {
        "first": "first(x)",
        "first_known": "first(x) IGNORE NULLS",
        "last": "last(s)",
        "any": "any_value(s)",
        "all": "collect_list(x)",
        "texts": "listagg(s, '-')",
        "best": "max_by(s, x)",
        "worst": "min_by(s, x)",
        "kinds": "collect_set(s)",
        "usual": "mode(s)",
        "few": "array_agg(x) FILTER (WHERE b)",
    }
    expected = []
    whole = sorted(rows(given), key=lambda row: [(value is not None, value) for value in row])
    for t, u, k in {row[:3] for row in whole}:
        same = [r for r in whole if r[2] == k and (r[:2] == (t, u) if verb == "aggregate" else r[0] <= t and r[1] <= u)]
        xs, ss = [r[3] for r in same], [r[6] for r in same]
        known = [s for s in ss if s is not None]
        order = [((r[3], *((v is not None, v) for v in r)), r[6]) for r in same if r[3] is not None]
        most = max((known.count(s) for s in known), default=0)
        expected.append(
            (
                *(t, u, k, xs[0], next((x for x in xs if x is not None), None), ss[-1], ss[0]),
                [x for x in xs if x is not None],
                "-".join(known) or None,
                max(order, default=(None, None))[1],
                min(order, default=(None, None))[1],
                sorted(set(known)),
                min((s for s in known if known.count(s) == most), default=None),
                [r[3] for r in same if r[3] is not None and r[5]],
            )
        )
    table = one_flow(named, ("t", "u"), verb).compute(spark, {"s": given.repartition(3)})["out"]
    assert_same_rows(rows(table), expected)


def test_the_lists_are_what_they_say() -> None:
    """Each list takes the way through the lowering that it is meant to test; `explain` knows what can be merged."""
    schema = one_flow({"n": "count(*)"}, "t", "aggregate").plan["s"].schema
    for name in LISTS:
        for call in aggregation((), (), texts(name), schema).calls:
            assert (partial(call, "struct(t)") is not None) == (name == "mergeable" or call.function in ("min", "max"))
            assert has_running_form(call) == (name not in ("kept", "alone"))


def test_hardly_an_aggregate_is_missing() -> None:
    """What is not tested here needs arguments of special types, or has no meaning on groups."""
    schema = one_flow({"n": "count(*)"}, "t", "aggregate").plan["s"].schema
    tested = {call.function for name in LISTS for call in aggregation((), (), texts(name), schema).calls}
    tested |= {"first", "first_value", "last", "last_value", "any_value", "collect_list", "array_agg", "string_agg"}
    tested |= {"max_by", "min_by", "collect_set", "mode"}
    # The sketch of histogram_numeric is not exact: it depends on the order in which rows come.
    special = (
        "sketch",
        "theta",
        "kll",
        "bitmap",
        "top_k",
        "union",
        "variant",
        "grouping",
        "measure",
        "tuple",
        "vector",
    )
    tested |= {"histogram_numeric"}
    assert {name for name in AGGREGATE_FUNCTIONS.keys() - tested if not any(word in name for word in special)} == set()
