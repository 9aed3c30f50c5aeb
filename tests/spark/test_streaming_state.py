"""State on streams: partial aggregates, what `process` knows, and what a step rewrites."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.flow.case import assert_same_rows
from tests.flow.guarded import GUARDED, guarded
from tests.flow.specified import by_reference
from tests.spark.engine import all_by_spark, frame
from tests.spark.steps import engine_in, in_steps, run_steps

import tidegate as tg
from tidegate.engine.keepers.keeper import WaitingRows
from tidegate.engine.keepers.windows import RowsInWindows
from tidegate.engine.lowering import panes
from tidegate.engine.steps.work import StepWork
from tidegate.engine.storage.errors import PickleRefused
from tidegate.engine.storage.state import Part, State
from tidegate.flow.plan import Plan
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united
from tidegate.spec import DT, Operator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.spark.streaming.engine import SparkEngine

pytestmark = pytest.mark.spark

COLUMNS = "k STRING, x INT, y BIGINT, d DECIMAL(10,2), b BOOLEAN, s STRING"
#: All that have a partial form, on nulls, decimals, great numbers and rows that are filtered out.
MERGEABLE = """count(*); count(x); count_if(b); sum(x); sum(d); avg(x); avg(y); min(s); max(d); bool_and(b); bool_or(b)
    bit_and(x); bit_or(x); bit_xor(x); regr_count(x, x); sum(x) FILTER (WHERE b); avg(x) FILTER (WHERE x > 100)
    first(x); last(x) IGNORE NULLS; min_by(s, x); max_by(s, x); sum(x) / count(*)"""


def aggregates() -> dict[str, str]:
    texts = [text.strip() for line in MERGEABLE.split("\n") for text in line.split(";") if text.strip()]
    return {f"a{i}": text for i, text in enumerate(texts)}


def flow_of(verb: str) -> tg.Flow:
    flow = tg.Flow(verb.replace(" ", "_"))
    time: Any = ("t", "u") if "pairs" in verb else "t"
    delays = (3, 3) if "pairs" in verb else (3,)
    stream = flow.source("s", f"t INT, u INT, {COLUMNS}", time=time, watermark=tg.bounded(*delays))
    named = aggregates()
    if verb.startswith("aggregate"):
        out = stream.aggregate(by="k", **named)
    elif verb.startswith("sliding"):
        # Panes are three long, and begin at 2, 5, 8 …
        out = stream.window(9, every=6, offset=2, over="t").aggregate(by="k", **named)
    else:
        out = stream.accumulate(by="k", **named)
    flow.sink("out", out)
    return flow


def drawn_rows(seed: int, n: int = 60) -> list[tuple[Any, ...]]:
    """Rows whose times go forward, by up to three units back; nulls in everything else."""
    draw = random.Random(seed)

    def some(value: Any) -> Any:
        return None if draw.random() < 0.2 else value

    return [
        (
            i // 4 - draw.randint(0, 3),
            i // 4 - draw.randint(0, 3),
            draw.choice(["a", "b", None]),
            some(draw.randint(-5, 9)),
            some(2**62),
            some(Decimal(draw.randint(-500, 500)) / 100),
            some(draw.random() < 0.5),
            some(draw.choice("xyz")),
        )
        for i in range(n)
    ]


def both(spark: SparkSession, flow: tg.Flow, rows: list[tuple[Any, ...]], directory: Path, **options: Any) -> None:
    """Compare steps, some of them without rows, with the bounded engine."""
    cuts = in_steps({"s": rows}, random.Random(len(rows)), steps=4)
    cuts.insert(2, {"s": []})
    got = run_steps(spark, flow.plan, cuts, {}, directory, **options)
    assert_same_rows(got["out"], all_by_spark(spark, flow, {"s": rows})["out"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [
        "sliding",
        pytest.param("aggregate", marks=pytest.mark.slow),
        pytest.param("aggregate pairs", marks=pytest.mark.slow),
        pytest.param("sliding pairs", marks=pytest.mark.slow),
        pytest.param("accumulate", marks=pytest.mark.slow),
        pytest.param("accumulate pairs", marks=pytest.mark.slow),
    ],
)
def test_partial_aggregates_give_what_rows_give(spark: SparkSession, tmp_path: Path, verb: str) -> None:
    """Every aggregate with a partial form, on nulls, decimals and empty steps, on one clock and on two."""
    flow = flow_of(verb)
    kept = engine_in(spark, flow.plan, {}, tmp_path / "types").run.kept.values()
    assert any("__0a" in type_.names for own in kept for type_ in own.types.states)
    both(spark, flow, drawn_rows(7), tmp_path / "run")


def small_windows() -> tuple[tg.Flow, list[tuple[Any, ...]]]:
    flow = tg.Flow("mutant")
    stream = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(3))
    flow.sink("out", stream.window(4, every=2, offset=1).aggregate(by="k", n="count(*)", s="sum(x)"))
    return flow, [(i // 2 - i % 3, "ab"[i % 2], i) for i in range(20)]


@pytest.mark.slow
def test_a_part_that_is_counted_twice_is_found(spark: SparkSession, tmp_path: Path) -> None:
    """The comparison can fail: with a fold that keeps what it has folded, sums are too large."""

    def folded(work: StepWork, id_: str, port: int, at: Any) -> State:
        return State((*work.states[id_][port].parts[:1], *true_fold(work, id_, port, at).parts))

    flow, rows = small_windows()
    both(spark, flow, rows, tmp_path / "true")
    true_fold = StepWork._folded
    with patch.object(StepWork, "_folded", folded), pytest.raises(AssertionError):
        both(spark, flow, rows, tmp_path / "mutant")


@pytest.mark.slow
def test_panes_that_are_too_long_are_found(spark: SparkSession, tmp_path: Path) -> None:
    """The comparison can fail: with panes as long as windows, rows are in windows that they should not be in."""
    flow, rows = small_windows()
    with patch.object(panes, "gcd", max), pytest.raises(AssertionError):
        both(spark, flow, rows, tmp_path)


@pytest.mark.slow
def test_parts_that_are_left_out_too_early_are_found(spark: SparkSession, tmp_path: Path) -> None:
    """The comparison can fail: if a part is outlived when its rows are complete, windows lose rows."""
    flow, rows = small_windows()

    with patch.object(RowsInWindows, "outlived", WaitingRows.outlived), pytest.raises(AssertionError):
        both(spark, flow, rows, tmp_path)


@pytest.mark.slow
def test_answers_that_are_held_back_are_found(spark: SparkSession, tmp_path: Path) -> None:
    """The comparison can fail: if windows are taken to end one unit later, some are never answered."""
    flow, _ = small_windows()
    cuts = [{"s": [(at, "a", at)]} for at in (0, 5, 6)]
    right = RowsInWindows._end_of_first_window

    def too_late(*given: Any) -> list[int]:
        return [at + 1 for at in right(*given)]

    answers = run_steps(spark, flow.plan, cuts, {}, tmp_path / "true")
    with patch.object(RowsInWindows, "_end_of_first_window", too_late):
        fewer = run_steps(spark, flow.plan, cuts, {}, tmp_path / "mutant")
    with pytest.raises(AssertionError):
        assert_same_rows(fewer["out"], answers["out"])


@dataclass(frozen=True)
class Total(Operator[Any, Any]):
    """The total so far at each time that is complete, and once more at the end."""

    total: int = 0
    last: Any = None

    def apply(self, event: Any) -> tuple[Any, list[Any]]:
        if isinstance(event, DT):
            return type(self)(self.total + (event.d["x"] or 0), event.t), []
        return self, [DT(event.t, {"y": self.total})]

    def exit(self) -> Iterable[Any]:
        return [] if self.last is None else [DT(10_000, {"y": self.total})]


class TotalWithState(Total):
    """The same, which tells what it knows."""

    def state(self) -> Any:
        return (self.total, {"last": self.last})

    def resume(self, state: Any) -> TotalWithState:
        return TotalWithState(state[0], state[1]["last"])


class Batched(TotalWithState):
    """The same on all rows of a key at once."""

    def apply_batch(self, rows: pa.Table) -> tuple[Batched, pa.Table]:
        sums = rows.group_by("t", use_threads=False).aggregate([("x", "sum")])
        totals = pc.cumulative_sum(pc.fill_null(sums["x_sum"], 0), start=self.total).cast(pa.int32())
        return Batched(totals[-1].as_py(), 0), pa.table({"t": sums["t"], "y": totals})

    def resume(self, state: Any) -> Batched:
        return Batched(state[0], state[1]["last"])


class Wrong(TotalWithState):
    """A mutant that forgets."""

    def resume(self, state: Any) -> Wrong:
        return Wrong(0, state[1]["last"])


def totals(operator: Any) -> tg.Flow:
    flow = tg.Flow("totals")
    stream = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(3))
    flow.sink("out", stream.process(operator, by="k", schema="y INT"))
    return flow


ROWS = [(i // 3 - i % 4, ["a", "b", None][i % 7 % 3], i if i % 5 else None) for i in range(40)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "allow_pickle", "kept"),
    [
        pytest.param(TotalWithState(), False, "values", marks=pytest.mark.slow),
        (Batched(), False, "values"),
        pytest.param(Total(), True, "pickles", marks=pytest.mark.slow),
        pytest.param(Total(), False, "rows", marks=pytest.mark.slow),
    ],
)
def test_what_an_operator_knows_is_kept(
    spark: SparkSession, tmp_path: Path, operator: Any, allow_pickle: bool, kept: str
) -> None:
    """Whatever is kept of a key, each step goes on from there, with engines that know nothing but the checkpoint."""
    both(spark, totals(operator), ROWS, tmp_path, restart=True, allow_pickle=allow_pickle)
    (key,) = (path.name for path in (tmp_path / "checkpoint" / "state").iterdir())
    assert key.endswith(f"-{kept}")


def test_an_operator_has_its_say_at_the_end_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    """What copies answer at their exit comes out, also if all rows were answered before, and none are held."""
    flow = tg.Flow("totals")
    stream = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(0))
    flow.sink("out", stream.where("x > 0").process(TotalWithState(), by="k", schema="y INT"))
    cuts = [{"s": [(1, "a", 5)]}, {"s": [(9, "a", -1)]}]
    got = run_steps(spark, flow.plan, cuts, {}, tmp_path)
    assert_same_rows(got["out"], all_by_spark(spark, flow, {"s": cuts[0]["s"] + cuts[1]["s"]})["out"])


@pytest.mark.slow
def test_an_operator_that_forgets_is_found(spark: SparkSession, tmp_path: Path) -> None:
    """The comparison can fail: with a ``resume`` that drops the total, answers differ."""
    with pytest.raises(AssertionError):
        both(spark, totals(Wrong()), ROWS, tmp_path)


def feed(spark: SparkSession, plan: Plan, engine: SparkEngine, step: int, rows: list[tuple[Any, ...]]) -> None:
    batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, rows)})
    engine.step(batch, step)


def test_pickles_are_read_only_if_that_is_allowed(spark: SparkSession, tmp_path: Path) -> None:
    """A checkpoint with pickled state is refused unless the user says so, and the error says how."""
    plan = totals(Total()).plan
    feed(spark, plan, engine_in(spark, plan, {}, tmp_path, allow_pickle=True), 0, [(1, "a", 1), (9, "a", 2)])
    with pytest.raises(PickleRefused, match="allow_pickle=True"):
        engine_in(spark, plan, {}, tmp_path)
    engine_in(spark, plan, {}, tmp_path, allow_pickle=True)


@pytest.mark.slow
def test_a_small_step_leaves_large_state_alone(spark: SparkSession, tmp_path: Path) -> None:
    """After a step with many groups, steps with few write few rows, and what was large stays where it is."""
    flow = tg.Flow("large")
    stream = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(0))
    flow.sink("out", stream.accumulate(by="k", s="sum(x)"))
    plan = flow.plan
    engine = engine_in(spark, plan, {}, tmp_path)
    feed(spark, plan, engine, 0, [(0, f"k{i}", 1) for i in range(400)])
    large = {part.path for part in parts_of(engine)}
    for step in range(1, 12):
        feed(spark, plan, engine, step, [(step, f"k{step}", 1), (step, "k0", 1)])
        assert large <= {part.path for part in parts_of(engine)}
        assert len(parts_of(engine)) <= 8
    last = [str(path) for path in (tmp_path / "out").glob("step=11/*.parquet")]
    assert pa.concat_tables([pq.read_table(path, partitioning=None) for path in last]).sort_by("k").to_pylist() == [
        {"t": 10, "k": "k0", "s": 11},
        {"t": 10, "k": "k10", "s": 2},
    ]


def parts_of(engine: SparkEngine) -> list[Part]:
    assert engine.last is not None
    return [part for states in engine.last.state.values() for state in states for part in state.parts]


@pytest.mark.slow
def test_parts_that_are_outlived_are_left_out_without_a_job(spark: SparkSession, tmp_path: Path) -> None:
    """Where times go forward, a part is dropped whole: no step writes state a second time."""
    flow, _ = small_windows()
    plan = flow.plan
    engine = engine_in(spark, plan, {}, tmp_path)
    for step in range(10):
        feed(spark, plan, engine, step, [(step * 4 + i, "a", i) for i in range(4)])
        assert all("-new-" in part.path for part in parts_of(engine))
        assert len(parts_of(engine)) <= 4


def test_state_that_was_changed_on_disk_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A byte that is not as it was written is an error, and no wrong answer."""
    flow = tg.Flow("changed")
    source = flow.source("s", "t INT, x BIGINT", time="t", watermark=tg.bounded(0))
    flow.sink("out", source.distinct())
    engine = engine_in(spark, flow.plan, {}, tmp_path)
    feed(spark, flow.plan, engine, 0, [(9, 2**40 + i) for i in range(50)])
    (part,) = parts_of(engine)
    file = max(
        Path(engine.files.path(part.path).removeprefix("file:")).glob("*.parquet"), key=lambda f: f.stat().st_size
    )
    content = bytearray(file.read_bytes())
    # The pages come first in a file, after four bytes that say what it is.
    content[len(content) // 8] ^= 1
    file.write_bytes(content)
    with pytest.raises(Exception, match=r"(?i)checksum|crc|corrupt"):
        feed(spark, flow.plan, engine, 1, [(10, 1)])


@pytest.mark.parametrize("where", ["left.kind = 'a' AND right.y > 0", "left.x = 6 AND left.x = 7", "left.x = NULL"])
def test_sources_of_which_a_join_keeps_no_row_are_read(spark: SparkSession, tmp_path: Path, where: str) -> None:
    """Spark does not read what a condition is known to exclude; its rows still count, and move the frontier."""
    flow = tg.Flow("tagged")
    a, c = (flow.source(name, "t INT, x INT", time="t", watermark=tg.bounded(0)) for name in "ac")
    b = flow.source("b", "t INT, y INT", time="t", watermark=tg.bounded(0))
    both = a.with_columns(kind="'a'").union(c.with_columns(kind="'c'"))
    flow.sink("out", both.window_join(b, on=(), size=2, where=where))
    rows = {name: [(t, t) for t in range(6)] for name in "abc"}
    cuts = in_steps(rows, random.Random(1), steps=3)
    assert_same_rows(run_steps(spark, flow.plan, cuts, {}, tmp_path)["out"], by_reference(flow, rows))


@pytest.mark.parametrize("where", GUARDED)
@pytest.mark.parametrize("how", ["semi", "inner", "anti"])
def test_no_condition_is_evaluated_for_rows_that_are_excluded_before(
    spark: SparkSession, tmp_path: Path, how: str, where: str
) -> None:
    """Spark would evaluate it below the join with the table, for a row of which the number can't be computed."""
    flow, rows, tables = guarded(how, where)
    expected = by_reference(flow, rows | tables)
    assert expected
    cuts = [{"a": rows["a"][:2], "c": rows["c"][:2]}, {"a": rows["a"][2:], "c": rows["c"][2:]}]
    assert_same_rows(run_steps(spark, flow.plan, cuts, tables, tmp_path)["out"], expected)


@pytest.mark.parametrize(("how", "kept"), [("inner", [3, 3]), ("left", [10, 3])])
def test_joins_keep_only_rows_that_may_be_in_an_answer(
    spark: SparkSession, tmp_path: Path, how: str, kept: list[int]
) -> None:
    """Of x and y from 0 to 9 only 4, 5 and 6 can match; the answers are those of the specification."""
    flow = tg.Flow("pairs")
    left = flow.source("a", "t INT, x INT", time="t", watermark=tg.bounded(3))
    right = flow.source("b", "t INT, y INT", time="t", watermark=tg.bounded(3))
    where = "left.x > 3 AND right.y < 7 AND left.x = right.y"
    flow.sink("out", left.window_join(right, on=(), size=4, where=where, how=how))
    rows = {side: [(0, i) for i in range(10)] for side in "ab"}
    engine = engine_in(spark, flow.plan, {}, tmp_path)
    inputs = {source.id: frame(spark, source.schema, rows[source.id]) for source in flow.plan.sources}
    engine.step(united(flow.plan, spark_runtime(spark), inputs), 0)
    assert engine.last is not None
    (states,) = engine.last.state.values()
    assert [state.rows for state in states] == kept
    engine.finish()
    got = tg.read(spark, str(tmp_path / "out")).collect()
    assert_same_rows([tuple(row) for row in got], by_reference(flow, rows))
