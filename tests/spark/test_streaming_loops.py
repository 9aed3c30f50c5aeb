"""Loops on streams: whatever the steps, the specification's answers; what is known survives restarts and crashes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.flow import graphs
from tests.flow.case import assert_same_rows
from tests.spark.engine import frame, rows
from tests.spark.loops import LOOPS, built, by_specification, drawn_graphs, on_both_orders, rows_of
from tests.spark.steps import engine_in, in_steps, run_steps, with_watermarks
from tests.spark.test_loops import GRID, LINE, some

import tidegate as tg
from tidegate.engine.keepers import loops
from tidegate.engine.loops import queries, rounds
from tidegate.engine.storage.state import State
from tidegate.flow.errors import NotConverging
from tidegate.flow.plan import Plan
from tidegate.flow.watermarks import Bounded
from tidegate.spark.hadoop import files_at
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.parts import PartCache, write_part
from tidegate.spark.streaming.sources import united

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Rows = dict[str, list[tuple[Any, ...]]]


def on_stream(flow: tg.Flow, given_rows: Rows, rng: random.Random, *, pairs: bool) -> tuple[Plan, Rows]:
    """The plan with delays, and rows in an order in which none is late by them: by time, but not quite."""
    delays = Bounded((2, 9) if pairs else (2,))
    plan = with_watermarks(flow.plan, {s.id: delays for s in flow.plan.sources})
    arrival = {s.id: sorted(given_rows[s.id], key=lambda row: row[0] + rng.uniform(0, 2)) for s in plan.sources}
    return plan, {**given_rows, **arrival}


def compare(
    spark: SparkSession, name: str, drawn: tuple[bool, list[graphs.Edge]], rng: random.Random, *, restart: bool
) -> None:
    flow, given_rows = built(name, pairs=drawn[0]), rows_of(drawn)
    plan, arriving = on_stream(flow, given_rows, rng, pairs=drawn[0])
    cuts = in_steps({s.id: arriving[s.id] for s in plan.sources}, rng, steps=3)
    with TemporaryDirectory() as directory:
        got = run_steps(spark, plan, cuts, given_rows, Path(directory), restart=restart)
    assert_same_rows(got["out"], by_specification(flow, given_rows))


@pytest.mark.parametrize(("name", "drawn"), on_both_orders(LINE, GRID, short={("pairs", "components")}))
def test_steps_give_what_the_specification_gives(
    spark: SparkSession, name: str, drawn: tuple[bool, list[graphs.Edge]]
) -> None:
    """Every kind of loop, in three steps, each of which knows nothing but the checkpoint."""
    compare(spark, name, drawn, random.Random(name), restart=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
@some
@given(
    drawn=drawn_graphs, rng=st.randoms(use_true_random=False), restart=st.booleans(), many=st.sampled_from([0, 20_000])
)
def test_drawn_steps(
    spark: SparkSession,
    name: str,
    drawn: tuple[bool, list[graphs.Edge]],
    rng: random.Random,
    restart: bool,
    many: int,
) -> None:
    """On any graph, cut anywhere, whether what is known counts as much and is looked up, or is merged as a whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "_MANY", many)
        compare(spark, name, drawn, rng, restart=restart)


# One small history: two components, a third that comes in two steps, and an edge that joins the first two.

HISTORY = [[(1, 0, 1, 0), (1, 2, 3, 0)], [(3, 4, 5, 0)], [(3, 5, 0, 0)], [(4, 1, 2, 0)]]
TRUTH = [(1, 0, 0), (1, 1, 0), (1, 2, 2), (1, 3, 2), (3, 4, 0), (3, 5, 0), (4, 2, 0), (4, 3, 0)]


def history(
    spark: SparkSession, directory: Path, *, steps: int = len(HISTORY), **options: Any
) -> list[tuple[Any, ...]]:
    """Run some steps of the history, each by an engine of its own; return the rows that came out."""
    plan = with_watermarks(built("components", pairs=False).plan, dict.fromkeys(("edges", "sources"), Bounded((0,))))
    engine = None
    for number, edges in enumerate(HISTORY[:steps]):
        engine = engine_in(spark, plan, {"listed": []}, directory, **options)
        if engine.last is not None and engine.last.step >= number:
            continue
        inputs = {s.id: frame(spark, s.schema, edges if s.id == "edges" else [(edges[0][0], 9)]) for s in plan.sources}
        engine.step(united(plan, spark_runtime(spark), inputs), number)
    if engine is not None:
        engine.finish()
    return rows(tg.read(spark, str(directory / "out")))


@pytest.mark.slow
def test_a_crash_inside_a_round_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    """A step that dies in a round is run again from its commit; and while it goes round, it says what it waits for."""
    seen: list[str] = []

    def probe(point: str, step: int) -> None:
        if (point, step) == ("round", 1) and not seen:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        history(spark, tmp_path, steps=2, probe=probe)
    seen.append("a crash")
    expected = [*(row for row in TRUTH if row[0] == 1), (3, 4, 4), (3, 5, 4)]
    assert_same_rows(history(spark, tmp_path, steps=2, probe=probe), expected)


def test_a_version_waits_for_its_round(spark: SparkSession, tmp_path: Path) -> None:
    """While a step goes round, `why` names the loop, the version and the round; when it is at rest, nothing waits."""
    plan = with_watermarks(built("components", pairs=False).plan, dict.fromkeys(("edges", "sources"), Bounded((0,))))
    found: list[str] = []

    def probe(point: str, step: int) -> None:
        if point == "round":
            found.append("; ".join(map(str, engine.tracking.why("out", 1))))

    engine = engine_in(spark, plan, {"listed": []}, tmp_path, probe=probe)
    chain = [(1, n, n + 1, 0) for n in range(3)]
    inputs = {
        s.id: frame(spark, s.schema, [*chain, (2, 9, 9, 0)] if s.id == "edges" else [(2, 0)]) for s in plan.sources
    }
    engine.step(united(plan, spark_runtime(spark), inputs), 0)
    assert len(found) == 4
    assert all("rounds of " in text and f"(1, {number})" in text for number, text in enumerate(found))
    assert engine.tracking.why("out", 1) == []


@pytest.mark.slow
def test_a_loop_that_does_not_come_to_rest_is_stopped(spark: SparkSession, tmp_path: Path) -> None:
    """The error says how many facts still change in each round; nothing of the step is committed."""
    flow = tg.Flow("endless")
    edges = graphs.source(flow)
    endless = edges.iterate(
        start="SELECT src AS node, 0 AS x FROM input",
        step="SELECT e.dst AS node, k.x + 1 AS x FROM known k JOIN input e ON e.src = k.node",
        key="node",
        keep="max(x) AS x",
        limit=5,
    )
    flow.sink("out", endless)
    with pytest.raises(NotConverging, match="after 5 rounds\n  facts that changed in the last rounds: 2, 2, 2, 2, 2"):
        run_steps(spark, flow.plan, [{"edges": [(1, 0, 1, 0), (1, 1, 0, 0)]}], {}, tmp_path)


def test_large_parts_of_state_stay_in_the_cache(spark: SparkSession, tmp_path: Path) -> None:
    """What one step has cached is found by the next, in a session of its own, until it is forgotten."""
    runtime, files, cache = spark_runtime(spark), files_at(spark, str(tmp_path)), PartCache()
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    numbers = spark.range(30_000)
    large, small = (write_part(files, runtime, numbers.limit(n), f"part/{n}") for n in (30_000, 10))
    assert cache.read(files, runtime, [large, small], numbers.schema).count() == 30_010
    later = replace(runtime, session=spark.newSession())
    plan = cache.read(files, later, [large, small], numbers.schema)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("InMemoryTableScan") == 1
    cache.forget([large.path])
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before + 1
    cache.forget()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before


# Engines with a mistake.


def _forgetful(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queries.Queries, "resume", lambda self, known: [])


def _hasty(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(loops, "newly_complete", lambda schema, old, new: "true")
    patch.setattr(loops, "complete", lambda schema, new: "true")


def _oblivious(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "grown", lambda self, part: self if "found" in part.path else _grown(self, part))


_grown = State.grown


@pytest.mark.slow
@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(_forgetful, id="forgetful"),
        pytest.param(_hasty, id="hasty"),
        pytest.param(_oblivious, id="oblivious"),
    ],
)
def test_mistakes_are_seen(
    spark: SparkSession, tmp_path: Path, mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """New rows that do not meet what is known, answers before their time, facts that are not kept: the rows differ."""
    mistake(monkeypatch)
    with pytest.raises(AssertionError):
        assert_same_rows(history(spark, tmp_path), TRUTH)
