"""Crashes: whatever point of a step a run dies at, what comes out in the end is what an undisturbed run gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark import crashes
from tests.spark.deaths import Died, Killer, SerialKiller
from tests.spark.engine import frame, rows
from tests.spark.steps import Cuts, engine_in

import tidegate as tg
from tidegate.engine import marks as marks_module
from tidegate.engine.steps import recovery
from tidegate.engine.steps import step as step_module
from tidegate.engine.steps.source_rows import observe
from tidegate.engine.steps.step import POINTS
from tidegate.engine.steps.work import StepWork
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointClosed, RunFailed, Superseded
from tidegate.flow.plan import Plan
from tidegate.flow.watermarks import Bounded
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming import engine as engine_module
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.sources import united

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CUTS: Cuts = [
    {"s": [(1, "a", 1), (2, "b", 2), (2, "a", 3)]},
    {"s": [(2, "a", 4), (4, "b", 5), (5, "a", 6), (None, "a", 0)]},
    {"s": [(1, "b", 7), (5, "a", 8), (9, "b", 9)]},
]


def flow() -> Plan:
    found = tg.Flow("crashing")
    source = found.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(1))
    windows = source.window(4, every=2).aggregate(by="k", total="sum(x)")
    found.sink("windows", windows)
    found.sink("most", windows.accumulate(by="k", most="max(total)"))
    return found.plan


def through(spark: SparkSession, directory: Path, probe: Any = lambda point, step: None) -> dict[str, list[Any]]:
    """Run to the end; after each death, a new engine is given the batch once more, as Spark would."""
    plan = flow()

    def engine() -> SparkEngine | None:
        try:
            return engine_in(spark, plan, {}, directory, probe=probe)
        except CheckpointClosed:
            return None

    running, number = engine(), 0
    while running is not None and number <= len(CUTS):
        try:
            if number == len(CUTS):
                running.finish()
            else:
                inputs = {s.id: frame(spark, s.schema, CUTS[number][s.id]) for s in plan.sources}
                running.step(united(plan, spark_runtime(spark), inputs), number)
            number += 1
        except Died:
            running = engine()
    found = {sink.name: sorted(rows(tg.read(spark, str(directory / sink.name))), key=str) for sink in plan.sinks}
    late = spark.read.parquet(str(directory / "checkpoint" / "late" / "s"))
    found["late"] = sorted((row.step, row.reason, *row.row) for row in late.select("step", "reason", "row").collect())
    return found


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What a run gives that nothing happens to."""
    return through(spark, tmp_path_factory.mktemp("undisturbed"))


def test_late_and_rejected_rows_are_those_expected(undisturbed: dict[str, list[Any]]) -> None:
    """The input has one late row and one without a time, so that both are looked at after crashes too."""
    assert undisturbed["late"] == [(1, "null time in t", None, "a", 0), (2, "late", 1, "b", 7)]
    assert len(undisturbed["windows"]) > 5


_BEFORE = POINTS[: POINTS.index("publishing")]
#: Every point of a step, and some of the end of the input; those before the commit come again and again in one step.
DEATHS = [
    [*((point, 1) for point in _BEFORE), ("cleaning", 2), ("during commit", 3), ("after commit", 3)],
    [("handed over", 1), ("published", 2), ("publishing", 3)],
]


def test_every_point_is_died_at() -> None:
    """The two runs below leave none out."""
    assert {point for places in DEATHS for point, _ in places} == set(POINTS)


@pytest.mark.parametrize("places", DEATHS, ids=["before publishing", "from publishing on"])
def test_a_run_that_dies_again_and_again_gives_what_an_undisturbed_one_gives(
    spark: SparkSession, tmp_path: Path, undisturbed: dict[str, list[Any]], places: list[tuple[str, int]]
) -> None:
    """One run dies at one point after the other, and the next goes on; nothing is lost, and nothing comes twice."""
    killer = SerialKiller(places)
    assert through(spark, tmp_path, killer) == undisturbed
    assert not killer.left


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_dies_at_a_point_gives_what_an_undisturbed_one_gives(
    spark: SparkSession, tmp_path: Path, undisturbed: dict[str, list[Any]], point: str
) -> None:
    """Every named point of a step in the middle; nothing is lost, and nothing comes twice."""
    killer = Killer(point, 1)
    assert through(spark, tmp_path, killer) == undisturbed
    assert killer.done


@pytest.mark.slow
@pytest.mark.parametrize("point", ["during commit", "after commit", "publishing"])
def test_a_run_that_dies_at_the_end_gives_what_an_undisturbed_one_gives(
    spark: SparkSession, tmp_path: Path, undisturbed: dict[str, list[Any]], point: str
) -> None:
    """The end of the input is committed and published like any other step."""
    assert through(spark, tmp_path, Killer(point, 3)) == undisturbed


def test_of_two_runs_one_commits_a_step(spark: SparkSession, tmp_path: Path) -> None:
    """Without the lock, which keeps the second out, the commit itself lets one through, and its rows come once."""
    plan = flow()
    first, second = (engine_in(spark, plan, {}, tmp_path) for _ in range(2))
    batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, CUTS[0]["s"])})
    first.step(batch, 0)
    with pytest.raises(Superseded, match="step 0 of flow 'crashing'"):
        second.step(batch, 0)
    first.finish()
    found = sorted(rows(tg.read(spark, str(tmp_path / "windows"))), key=str)
    assert len(found) == len(set(map(str, found))) > 0


def _output_after_commit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Commit before output: what the commit names is not written yet."""
    real = step_module.write_results

    def write(*given: Any) -> Any:
        outputs, written = real(*given)
        for publication in written:
            rmtree(Path(publication.root.removeprefix("file:")) / publication.staged)
        return outputs, written

    monkeypatch.setattr(step_module, "write_results", write)


def _old_state(monkeypatch: pytest.MonkeyPatch) -> Any:
    """State of the wrong version: commits name the state of the first."""
    real, made = StepWork.folded, []

    def folded(self: StepWork, *given: Any) -> Any:
        made.append(real(self, *given))
        return made[0] if made[-1] else made[-1]

    monkeypatch.setattr(StepWork, "folded", folded)


def _early_watermark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A watermark one step early: rows are held against the frontier that they themselves give."""
    real = engine_module.split_by_source

    def split(flow: Plan, backend: Any, batch: Any, marks: Any, observed: Any, arrived: Any = None) -> Any:
        first = observe(backend, real(flow, backend, batch, marks))
        early = {s.id: marks[s.id].after(s, first[s.id].seen) for s in flow.sources}
        return real(flow, backend, batch, early, observed, arrived)

    monkeypatch.setattr(engine_module, "split_by_source", split)


def _no_delay(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A bound ahead of the rows: times are complete before their rows have come."""
    real = marks_module.policy_of
    monkeypatch.setattr(marks_module, "policy_of", lambda source: real(replace(source, watermark=Bounded((-3,)))))


def _publish_once(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Recovery that takes what is committed for published."""
    monkeypatch.setattr(recovery, "publish", lambda *given, **options: None)
    return Killer("after commit", 2)


def _again(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A batch that is committed already is run once more."""
    real = SparkEngine.step

    def step(self: SparkEngine, batch: Any, number: int) -> None:
        if self.last is not None and self.last.origin.batch == number:
            self.last = replace(self.last, origin=replace(self.last.origin, batch=number - 1))
        real(self, batch, number)

    monkeypatch.setattr(SparkEngine, "step", step)
    return Killer("after commit", 1)


def _swept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Recovery that takes the state of the last commit for a leftover."""
    real = recovery.sweep

    def sweep(run: Any, commit: Any, *given: Any, **options: Any) -> None:
        real(run, replace(commit, state={}), *given, **options)

    monkeypatch.setattr(recovery, "sweep", sweep)
    return Killer("published", 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [
        _output_after_commit,
        _publish_once,
        _again,
        _old_state,
        _early_watermark,
        _no_delay,
        _swept,
    ],
)
def test_broken_engines_are_caught(
    spark: SparkSession,
    tmp_path: Path,
    undisturbed: dict[str, list[Any]],
    monkeypatch: pytest.MonkeyPatch,
    mutant: Any,
) -> None:
    """Each deliberate mistake changes what comes out, or is refused by the engine itself."""
    probe = mutant(monkeypatch) or Killer("", -1)
    try:
        found = through(spark, tmp_path, probe)
    except BadCheckpoint:
        return
    except RunFailed as error:
        # State that a commit names may be gone.
        if "PATH_NOT_FOUND" not in error.what:
            raise
        return
    assert found != undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(crashes.FLOWS))
def test_killed_processes_are_continued_by_the_next(name: str, tmp_path: Path) -> None:
    """SIGKILL during the commit and while publishing: the output is that of an undisturbed run."""
    points: list[crashes.Point] = [("during commit", 0), ("publishing", 1)]
    report = crashes.torment(name, tmp_path, points, steps=2)
    assert report.kills == 2
    assert report.same


@pytest.mark.slow
def test_processes_killed_at_every_point(tmp_path: Path) -> None:
    """SIGKILL at every named point, step by step; every flow: ``python -m tests.spark.crashes --kills 200``."""
    report = crashes.torment("windows", tmp_path, crashes.plan("windows", 0))
    assert report.kills >= len(POINTS)
    assert report.same


@pytest.mark.slow
def test_a_jvm_that_outlives_its_python_changes_nothing(tmp_path: Path) -> None:
    """Python is killed in the middle of jobs, and its JVM goes on with them while the next process runs."""
    points: list[crashes.Point] = [("", 0.5), ("writing", 1), ("", 0.6), ("before commit", 2), ("publishing", 2)]
    report = crashes.torment("windows", tmp_path, points, steps=4, spare=True)
    assert report.kills >= 4
    assert report.same
