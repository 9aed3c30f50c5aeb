"""Windows that take late rows, on streams: revisions, and what is late after all, as the specification has them."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows
from tests.local_engine import test_revised_joins as revised_joins
from tests.spark.engine import frame, rows
from tests.spark.steps import MARK, Cuts, engine_in, in_steps, run_steps, with_marks
from tests.spark.test_streaming_crashes import Died, Killer

import tidegate as tg
from tidegate.engine.keepers import keepers_of
from tidegate.engine.keepers.revised import RevisedWindows
from tidegate.engine.steps import source_rows as source_rows_module
from tidegate.engine.steps import step as step_module
from tidegate.engine.storage.errors import LateRow
from tidegate.flow.plan import Plan
from tidegate.spark.relation import frame_of
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united
from tidegate.spec import DT, WM
from tidegate.time import Antichain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DDL = "t INT, k STRING, x INT"


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Twice the small ones, and none of the great ones."""
    small = batch.filter(pc.less(batch.column("x"), 6))
    return pa.Table.from_batches([small, small]).combine_chunks().to_batches()[0] if small.num_rows else small


def spread(table: pa.Table) -> pa.Table:
    values = table.column("x").to_pylist()
    return pa.table({"most": pa.array([max(values)], pa.int32()), "n": pa.array([len(values)], pa.int32())})


def sums(late: str = "divert") -> tg.Flow:
    """Late rows go to one window, and those with small values to none."""
    found = tg.Flow("late")
    s = found.source("s", DDL, time="t", late=late)
    found.sink("sums", s.where("x > 1").window(4, lateness=3).aggregate(by="k", n="count(*)", xs="collect_list(x)"))
    return found


def flow() -> tg.Flow:
    """Late rows go three ways, and some of them none."""
    found = sums()
    s = tg.Stream(found, found.plan["s"])
    names = found.table("names", "k STRING, name STRING")
    mapped = s.map_batches(doubled, DDL).select("k", "x + 1 AS x").join(names, on="k", how="left")
    found.sink("spread", mapped.window(6, every=3, lateness=2).apply(spread, "most INT, n INT", by="name"))
    found.sink("strict", s.aggregate(by="k", n="count(*)"))
    return found


NAMES = [("a", "ann"), ("b", "bob")]


def cuts_of(rng: random.Random) -> Cuts:
    """Rows in any order, with watermarks among them, in steps."""
    given: list[tuple[Any, ...]] = []
    at = 0
    for _ in range(rng.randint(8, 24)):
        at += rng.choice([0, 0, 1, 2])
        if rng.random() < 0.3:
            given.append((at - 2, MARK, None))
        else:
            given.append((max(0, at - rng.choice([0, 0, 1, 3, 5, 8])), rng.choice(["a", "b", "c"]), rng.randint(0, 8)))
    return in_steps({"s": given}, rng, steps=rng.choice([3, 4]))


def events_of(cuts: Cuts) -> list[Any]:
    """What the specification is given: in each step the rows first, then the watermarks, or the last one again."""
    found: list[Any] = []
    last: list[Any] = []
    for cut in cuts:
        found += [DT(t, {"t": t, "k": k, "x": x}) for t, k, x in cut["s"] if k != MARK]
        last = [WM(t) for t, k, _ in cut["s"] if k == MARK] or last[-1:]
        found += last
    return found


def late_in(spark: SparkSession, directory: Path) -> list[tuple[Any, ...]]:
    """The late rows that are set aside."""
    place = directory / "checkpoint" / "late" / "s"
    found = [str(path) for path in place.glob("step=*")]
    read = spark.read.parquet(*found).where("reason = 'late'").select("row.*").collect() if found else []
    return sorted((tuple(row) for row in read), key=str)


def compare(spark: SparkSession, cuts: Cuts, *, restart: bool, fold: bool = True) -> None:
    expected = flow().reference(
        {"s": events_of(cuts), "names": [dict(zip(("k", "name"), n, strict=True)) for n in NAMES]}
    )
    with TemporaryDirectory() as directory:
        place = Path(directory)
        got = run_steps(spark, with_marks(flow().plan), cuts, {"names": NAMES}, place, restart=restart, fold=fold)
        late = late_in(spark, Path(directory))
    for sink in ("sums", "spread", "strict"):
        assert_same_rows(got[sink], [tuple(row.values()) for row in expected.rows(sink)])
    assert late == sorted((tuple(event.d.values()) for event in expected.late["s"]), key=str)


@drawn_examples(1, 30)
@given(rng=st.randoms(use_true_random=False), restart=st.booleans())
def test_revisions_and_late_rows_are_those_of_the_specification(
    spark: SparkSession, rng: random.Random, restart: bool
) -> None:
    """All revisions, and which rows no window took, wherever steps begin and end, with or without restarts."""
    compare(spark, cuts_of(rng), restart=restart)


@pytest.mark.slow
def test_what_was_answered_is_kept_as_long_as_late_rows_may_come(spark: SparkSession) -> None:
    """Rows of many small steps, put together by the engine's own rule, are there for a revision three units later."""
    cuts: Cuts = [{"s": [(t, "a", 5)]} for t in (0, 1, 2, 3, 3)]
    cuts += [{"s": [(6, "a", 5), (4, MARK, None)]}, {"s": [(2, "a", None), (5, MARK, None)]}, {"s": [(2, "a", 4)]}]
    compare(spark, cuts, restart=False, fold=False)


#: Window [0, 4) is answered after the first step and revised twice; in the end, rows of one group are too late for it.
SCRIPT: Cuts = [
    {"s": [(1, "a", 2), (2, "b", 3), (3, MARK, None)]},
    {"s": [(1, "a", 4), (2, "a", 5), (4, "a", 9), (0, "a", 1)]},
    {"s": [(3, "a", 3), (5, MARK, None)]},
    {"s": [(9, "b", 2), (6, MARK, None)]},
    {"s": [(1, "a", 2), (1, "a", 3), (0, "a", 3), (5, "c", 7)]},
]


def through(spark: SparkSession, directory: Path, probe: Any = lambda point, step: None) -> dict[str, Any]:
    """Run the script; after a death, a new engine is given the batch once more, as Spark would."""
    plan: Plan = with_marks(sums().plan)
    engine, number = engine_in(spark, plan, {}, directory, probe=probe), 0
    while number < len(SCRIPT):
        batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, SCRIPT[number]["s"])})
        try:
            engine.step(batch, number)
            number += 1
        except Died:
            engine = engine_in(spark, plan, {}, directory, probe=probe)
    found: dict[str, Any] = {s.name: sorted(rows(tg.read(spark, str(directory / s.name))), key=str) for s in plan.sinks}
    return found | {"late": late_in(spark, directory), "count": engine.marks["s"].late}


@pytest.fixture(scope="module")
def calm(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run gives that nothing happens to."""
    return through(spark, tmp_path_factory.mktemp("calm"))


@pytest.mark.slow
def test_a_window_is_answered_again_for_each_step_with_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    """What no window took is late, and counted row by row; what one took is not.

    A step with late rows that dies after its state was written is run again from the commit before.
    """
    killer = Killer("during commit", 1)
    found = through(spark, tmp_path, killer)
    assert killer.done
    revisions = [(k, n, xs, revision) for t, _, k, n, xs, revision in found["sums"] if t == 3]
    assert revisions == [("a", 1, [2], 0), ("a", 3, [2, 4, 5], 1), ("a", 4, [2, 4, 5, 3], 2), ("b", 1, [3], 0)]
    assert found["late"] == [(0, "a", 1), (0, "a", 3), (1, "a", 2), (1, "a", 3)]
    assert found["count"] == 4


@pytest.mark.slow
def test_a_replay_makes_the_same_revisions(spark: SparkSession, tmp_path: Path, calm: dict[str, Any]) -> None:
    """All that comes out is what a run gives that nothing happens to."""
    assert through(spark, tmp_path, Killer("during commit", 1)) == calm


def test_late_rows_fail_a_run_only_if_no_window_takes_them(spark: SparkSession, tmp_path: Path) -> None:
    """``late="fail"`` names how many there were."""
    plan = with_marks(sums(late="fail").plan)
    engine = engine_in(spark, plan, {}, tmp_path)
    first, second = (
        united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, c["s"])}) for c in SCRIPT[:2]
    )
    engine.step(first, 0)
    with pytest.raises(LateRow, match="no row of s below 4, got 1"):
        engine.step(second, 1)


def test_a_part_is_needed_as_long_as_its_windows_take_late_rows() -> None:
    """The last window of its last time, and then the lateness, must be complete before it is left out."""
    found = tg.Flow("late")
    rows = found.source("s", DDL, time="t", watermark=tg.bounded(0))
    found.sink("out", rows.window(100, lateness=50).aggregate(n="count(*)"))
    (keeper,) = keepers_of(found.plan).values()
    order = found.plan.sources[0].schema.order
    assert [keeper.outlived(0, (20,), Antichain(order, [t])) for t in (30, 100, 149, 150)] == [
        False,
        False,
        False,
        True,
    ]


def _answered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision counted twice: each row of a step counts as one of its own."""
    real = RevisedWindows.admitted

    def admitted(self: Any, step: Any, rows: Any, old: Any) -> Any:
        return real(self, step, rows, old).with_columns({"__came": "__came * 100 + x"})

    monkeypatch.setattr(RevisedWindows, "admitted", admitted)


def _admitted_by_the_new_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step's own watermark closes is closed for its rows too."""
    real = step_module.admit

    def admit(step: Any, keepers: Any, taken: Any, old: Any) -> Any:
        ahead = {id_: Antichain(f.order, [t + 3 for t in f if isinstance(t, int)] or list(f)) for id_, f in old.items()}
        return real(step, keepers, taken, ahead)

    monkeypatch.setattr(step_module, "admit", admit)


def _late_and_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late rows that were taken are late as well."""
    real = step_module.admit

    def admit(step: Any, keepers: Any, taken: Any, old: Any) -> Any:
        return taken, real(step, keepers, taken, old)[1]

    monkeypatch.setattr(step_module, "admit", admit)


def _counted_after_aggregation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late rows counted after aggregation: as many as there are groups."""
    real = source_rows_module._seen

    def seen(source: Any, parts: Any, beats: Any) -> Any:
        from dataclasses import replace

        found = real(source, parts, beats)
        return replace(found, late=min(found.late, 1))

    def left(*given: Any) -> Any:
        from dataclasses import replace

        found, late = real_admit(*given)
        grouped = {
            name: replace(t, seen=replace(t.seen, late=frame_of(t.late).select("t", "k").distinct().count()))
            if t.late
            else t
            for name, t in found.items()
        }
        return grouped, late

    real_admit = step_module.admit
    monkeypatch.setattr(source_rows_module, "_seen", seen)
    monkeypatch.setattr(step_module, "admit", left)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [
        _counted_after_aggregation,
        _answered_twice,
        _admitted_by_the_new_frontier,
        _late_and_taken,
    ],
)
def test_broken_engines_are_caught(
    spark: SparkSession, tmp_path: Path, calm: dict[str, Any], monkeypatch: pytest.MonkeyPatch, mutant: Any
) -> None:
    """Each deliberate mistake changes what comes out, or what is counted."""
    mutant(monkeypatch)
    assert through(spark, tmp_path) != calm


@pytest.mark.parametrize("how", ["full", *(pytest.param(how, marks=pytest.mark.slow) for how in ("inner", "semi"))])
def test_joins_are_revised(spark: SparkSession, how: str) -> None:
    """Late rows of both sides give a window and key again, whole, as the specification has it."""

    def run(plan: Plan, cuts: Cuts, place: Path) -> dict[str, list[tuple[Any, ...]]]:
        return run_steps(spark, plan, cuts, {}, place)

    revised_joins.check(revised_joins.script(how), revised_joins.SCRIPT, run)
