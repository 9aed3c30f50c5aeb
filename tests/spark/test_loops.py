"""Loops on bounded inputs: in every version, the specification's answers."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.flow import graphs
from tests.flow.case import assert_same_rows
from tests.spark.engine import by_spark, frame
from tests.spark.loops import LOOPS, built, by_specification, drawn_graphs, on_both_orders, rows_of

import tidegate as tg
from tidegate.engine.loops import rounds
from tidegate.flow.errors import BadInput, BadLoop, NotConverging
from tidegate.spark.backend import SparkBackend
from tidegate.spark.runtime import spark_runtime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# A loop takes several jobs of Spark a round.
some = drawn_examples(1, 4)
GRID = [
    ((0, 1), 0, 1, 7),
    ((1, 0), 1, 2, 5),
    ((1, 1), 5, 4, 9),
    ((0, 1), 2, 0, 5),
    ((2, 0), 0, 4, 8),
    ((1, 2), 2, 4, 1),
]
LINE = [(0, 3, 2, 5), (1, 0, 1, 9), (1, 2, 1, 1), (2, 4, 4, 5), (3, 4, 3, 8), (3, 1, 0, 2), (3, 3, 0, 7)]


@pytest.mark.parametrize(("name", "drawn"), on_both_orders(LINE, GRID, short={("total", "seeded"), ("pairs", "bits")}))
def test_loops_give_what_the_specification_gives(
    spark: SparkSession, name: str, drawn: tuple[bool, list[graphs.Edge]]
) -> None:
    """Every kind of loop, on a total order and on a product, on a graph that changes in several versions."""
    compare(spark, name, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
@some
@given(drawn=drawn_graphs, sizes=st.sampled_from([(9000, 9000, 9000), (0, 9000, 9000), (9000, 9000, 0), (9000, 2, 0)]))
def test_drawn_graphs(
    spark: SparkSession, name: str, drawn: tuple[bool, list[graphs.Edge]], sizes: tuple[int, int, int]
) -> None:
    """On any graph, whatever counts as few facts and as much that is known: held, merged or looked up."""
    with pytest.MonkeyPatch.context() as patch:
        for name_of_size, size in zip(("_FEW", "_HELD", "_MANY"), sizes, strict=True):
            patch.setattr(rounds, name_of_size, size)
        compare(spark, name, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("many", [20_000, 0], ids=["merged", "looked up"])
def test_the_driver_holds_few_facts_of_a_hub(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """One fact leads to many in a round: they are not brought to the driver, and nothing else changes."""
    held: list[int | None] = []

    real = SparkBackend.kept_few

    def kept_few(*arguments: Any, **options: Any) -> Any:
        block = real(*arguments, **options)
        held.append(None if block is None else block.size)
        return block

    monkeypatch.setattr(SparkBackend, "kept_few", kept_few)
    monkeypatch.setattr(rounds, "_HELD", 10)
    monkeypatch.setattr(rounds, "_MANY", many)
    chain = [(0, i, i + 1, 1) for i in range(4)]
    compare(spark, "distances", (False, [*chain, *((0, 4, i, 1) for i in range(10, 40))]))
    assert None in held
    assert all(rows is None or rows <= 10 for rows in held)


def compare(spark: SparkSession, name: str, drawn: tuple[bool, list[graphs.Edge]]) -> None:
    flow, rows = built(name, pairs=drawn[0]), rows_of(drawn)
    assert_same_rows(by_spark(spark, flow, rows), by_specification(flow, rows))


def test_rounds_run_when_a_sink_is_asked_for(spark: SparkSession) -> None:
    """`compute` checks a flow with a loop and runs nothing; the loop goes round, once, when its sink is asked for."""
    flow = tg.Flow("endless")
    edges = graphs.source(flow)
    step = "SELECT e.dst AS node, k.x + 1 AS x FROM known k JOIN input e ON e.src = k.node"
    start = "SELECT src AS node, 0 AS x FROM input"
    flow.sink("out", edges.iterate(start=start, step=step, key="node", keep="max(x) AS x", limit=4))
    flow.sink("edges", edges.select("src"))
    tables = flow.compute(spark, {"edges": frame(spark, edges.schema, [(1, 0, 1, 0), (1, 1, 0, 0)])})
    assert ("out" in tables, "in" in tables, list(tables)) == (True, False, ["out", "edges"])
    assert tables["edges"].count() == 2
    with pytest.raises(NotConverging, match="after 4 rounds\n  facts that changed in the last rounds: 2, 2, 2, 2"):
        tables["out"]


def test_an_error_in_a_loop_is_not_taken_for_a_missing_sink(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A KeyError that comes out of the rounds reaches the user as what it is, also from `get`; a wrong name is told."""
    flow = tg.Flow("loop")
    edges = graphs.source(flow)
    flow.sink("out", tg.graph.components(edges.select("src", "dst"), "src", "dst"))
    tables = flow.compute(spark, {"edges": frame(spark, edges.schema, [(1, 0, 1, 0)])})
    with pytest.raises(BadInput, match=r"expected the name of a sink \(out\), got 'outs'"):
        tables["outs"]
    assert tables.get("outs") is None

    def broken(*args: object, **options: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(sys.modules["tidegate.engine.tables"], "lower", broken)
    for ask in (tables.__getitem__, tables.get):
        with pytest.raises(KeyError) as caught:
            ask("out")
        assert (type(caught.value), caught.value.args) == (KeyError, ("lost",))
    monkeypatch.undo()
    assert tables["out"].count() == 2


def test_start_and_step_give_facts_of_one_type(spark: SparkSession) -> None:
    """Where a type was open when the flow was built, Spark settles it; it does not convert one in silence."""
    flow = tg.Flow("types")
    edges = graphs.source(flow)
    start = "SELECT src AS node, nvl2(weight, 0, 1) AS x FROM input"
    step = "SELECT e.dst AS node, bigint(bround(k.x, 0)) AS x FROM known k JOIN input e ON e.src = k.node"
    flow.sink("out", edges.iterate(start=start, step=step, key="node", keep="min(x) AS x"))
    with pytest.raises(BadLoop, match="expected x of one type, got INT from start and BIGINT from step"):
        flow.compute(spark, {"edges": frame(spark, edges.schema, [])})


def test_queries_of_any_form_read_frames_of_other_sessions(spark: SparkSession) -> None:
    """A step has a session of its own; tables are of the session that the flow was started with."""
    query = built("ranks", pairs=False).plan["iterate#1"].start
    edges = spark.createDataFrame([(1, 2), (2, 3)], "src INT, dst INT")
    elsewhere = SparkBackend(replace(spark_runtime(spark), session=spark.newSession()))
    found = elsewhere.query(query, {"input": SparkBackend(spark_runtime(spark)).relation(edges)})
    assert sorted(found.fetch().column("node").to_pylist()) == [1, 2, 3]


def test_queries_of_any_form_leave_what_is_cached_in_the_cache(spark: SparkSession) -> None:
    """What a version asks once is not worked out again in each round; nor does a user's own table leave the cache."""
    query = built("ranks", pairs=False).plan["iterate#1"].start
    edges = spark.createDataFrame([(1, 2), (2, 3)], "src INT, dst INT").persist()
    backend = SparkBackend(spark_runtime(spark))
    backend.query(query, {"input": backend.relation(edges)})
    assert edges.storageLevel.useMemory
    edges.unpersist()


@pytest.mark.slow
def test_a_chain_of_a_thousand_rounds(spark: SparkSession) -> None:
    """A thousand rounds come to the right end, and leave few blocks behind, beside those that were there before."""
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    flow = tg.Flow("chain")
    flow.sink("out", tg.graph.components(graphs.source(flow), "src", "dst"))
    found = by_spark(spark, flow, {"edges": [(1, n, n + 1, 0) for n in range(1000)]})
    assert_same_rows(found, [(1, n, 0) for n in range(1001)])
    assert spark.sparkContext._jsc.getPersistentRDDs().size() < before + 10
