"""Crashes in this process: whatever point of a step a run dies at, what comes out is what an undisturbed run gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

import tidegate as tg
from tests import crashes
from tests.deaths import Died, Killer, SerialKiller
from tests.spark.place import DDL, Feed
from tidegate.engine.commits.commit import Commit
from tidegate.engine.steps import recovery
from tidegate.engine.steps import step as step_module
from tidegate.engine.steps.recovery import RECOVERY
from tidegate.engine.steps.step import POINTS
from tidegate.engine.steps.work import StepWork
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointClosed, Superseded
from tidegate.engine.storage.files import Files
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.local_engine.streaming.feeds.files import FileFeed
from tidegate.local_engine.streaming.start import prepare

CUTS = [
    [(1, "a", 1), (2, "b", 2), (2, "a", 3)],
    [(2, "a", 4), (4, "b", 5), (5, "a", 6), (None, "a", 0)],
    [(1, "b", 7), (5, "a", 8), (9, "b", 9)],
]


def flow() -> tg.Flow:
    found = tg.Flow("crashing")
    source = found.source("s", DDL, time="t", watermark=tg.bounded(1))
    windows = source.window(4, every=2).aggregate(by="k", total="sum(x)")
    found.sink("windows", windows)
    found.sink("most", windows.accumulate(by="k", most="max(total)"))
    return found


def engine_in(directory: Path, probe: Any) -> LocalEngine:
    """An engine that reads a file a step, and whose checkpoint and outputs are in a directory."""
    outputs = {name: tg.parquet(directory / name) for name in ("windows", "most")}
    inputs = {"s": tg.files(directory / "in", per_step=1)}
    return prepare(flow().plan, tg.local(threads=1), inputs, outputs, Files(directory / "checkpoint"), probe=probe)


def through(directory: Path, probe: Any = lambda point, step: None) -> dict[str, list[Any]]:
    """Run to the end; after each death, a new engine goes on from the checkpoint."""
    feed = Feed(directory / "in")
    for cut in CUTS:
        feed.add(*cut)
    while True:
        try:
            go_on(directory, probe)
        except Died:
            continue
        return found_in(directory)


def go_on(directory: Path, probe: Any) -> None:
    """Run to the end, from the checkpoint on."""
    try:
        engine = engine_in(directory, probe)
        while engine.step():
            pass
        engine.finish()
    except CheckpointClosed:
        pass


def found_in(directory: Path) -> dict[str, list[Any]]:
    """The rows of all sinks, and the late rows."""
    session = tg.local(threads=1)
    found: dict[str, list[Any]] = {
        name: sorted(tg.read(session, directory / name).fetchall(), key=repr) for name in ("windows", "most")
    }
    late = f"read_parquet('{directory}/checkpoint/late/s/step=*/*.parquet', hive_partitioning = false)"
    found["late"] = sorted(session.connection.sql(f"SELECT step, reason, row FROM {late}").fetchall(), key=repr)
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What a run gives that nothing happens to."""
    return through(tmp_path_factory.mktemp("undisturbed"))


def test_late_and_rejected_rows_are_those_expected(undisturbed: dict[str, list[Any]]) -> None:
    """The input has one late row and one without a time, so that both are looked at after crashes too."""
    assert [(step, reason) for step, reason, _ in undisturbed["late"]] == [(1, "null time in t"), (2, "late")]
    assert len(undisturbed["windows"]) > 5


@pytest.mark.parametrize("step", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_run_that_dies_again_and_again_gives_what_an_undisturbed_one_gives(
    tmp_path: Path, undisturbed: dict[str, list[Any]], step: int
) -> None:
    """Each point of the first step, of one in the middle and of the end of the input; recoveries, too."""
    before, after = POINTS[: POINTS.index("after commit")], POINTS[POINTS.index("after commit") :]
    # A commit is there once: of what comes after it, one run dies at the first point, and others at the rest.
    for number, point in enumerate(after):
        recoveries = [(place, step) for place in RECOVERY]
        places = [*(((early, step) for early in before) if not number else ()), (point, step), *recoveries]
        home = tmp_path / str(number)
        home.mkdir()
        killer = SerialKiller(places)
        assert through(home, killer) == undisturbed, point
        # Not every step completes something that is to be published.
        assert not killer.left or (step == 0 and point in ("publishing", "handed over")), point


def test_of_two_runs_one_commits_a_step(tmp_path: Path) -> None:
    """Without the lock, which keeps the second out, the commit itself lets one through, and its rows come once."""
    Feed(tmp_path / "in").add(*CUTS[0])
    first, second = (engine_in(tmp_path, lambda point, step: None) for _ in range(2))
    assert first.step()
    with pytest.raises(Superseded, match="step 0 of flow 'crashing'"):
        second.step()
    first.finish()
    found = [repr(row) for row in tg.read(tg.local(), tmp_path / "windows").fetchall()]
    assert len(found) == len(set(found)) > 0


def _output_after_commit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a commit names is not written yet."""
    real = step_module.write_results

    def write(*given: Any) -> Any:
        outputs, written = real(*given)
        for publication in written:
            rmtree(Path(publication.root.removeprefix("file:")) / publication.staged)
        return outputs, written

    monkeypatch.setattr(step_module, "write_results", write)


def _parts_after_commit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """State comes to its place when the commit that names it is there already."""
    commits, committed = LocalEngine._commit, LocalEngine.committed
    waiting: list[tuple[Path, Path]] = []

    def late(self: LocalEngine, commit: Commit) -> Commit:
        old = self.last.paths if self.last else set()
        new = [self.files.here / part.path for part in commit.parts if part.path not in old]
        waiting[:] = [(path.rename(path.with_name(f"_{path.name}")), path) for path in new]
        return commits(self, commit)

    def then(self: LocalEngine, *given: Any) -> None:
        for now, path in waiting:
            now.rename(path)
        committed(self, *given)

    monkeypatch.setattr(LocalEngine, "_commit", late)
    monkeypatch.setattr(LocalEngine, "committed", then)
    return Killer("after commit", 1)


def _position_after_publication(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Which files were taken is noted when their results are published, in the next commit."""
    real, before = LocalEngine._write_notes, dict[int, Any]()

    def notes(self: LocalEngine, attempt: Any, new_by_source: Any) -> Any:
        return real(self, attempt, before.pop(id(self), {})) | (before.update({id(self): new_by_source}) or {})

    monkeypatch.setattr(LocalEngine, "_write_notes", notes)
    return Killer("published", 1)


def _forgotten_position(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A feed that begins at the beginning."""
    monkeypatch.setattr(FileFeed, "resume", lambda *given: None)
    return Killer("begin", 1)


def _no_recovery(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Recovery that takes what is committed for published."""
    monkeypatch.setattr(recovery, "publish", lambda *given, **options: None)
    return Killer("after commit", 2)


def _old_state(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Commits name the state of the first."""
    real, made = StepWork.folded, []

    def folded(self: StepWork, *given: Any) -> Any:
        made.append(real(self, *given))
        return made[0] if made[-1] else made[-1]

    monkeypatch.setattr(StepWork, "folded", folded)
    return Killer("begin", 2)


def _swept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Recovery that takes the state of the last commit for a leftover."""
    real = recovery.sweep

    def sweep(run: Any, commit: Any, *given: Any, **options: Any) -> None:
        real(run, replace(commit, state={}), *given, **options)

    monkeypatch.setattr(recovery, "sweep", sweep)
    return Killer("published", 1)


MUTANTS = [
    _output_after_commit,
    _parts_after_commit,
    _position_after_publication,
    _forgotten_position,
    _no_recovery,
    _old_state,
    _swept,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_broken_engines_are_caught(
    tmp_path: Path, undisturbed: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch, mutant: Any
) -> None:
    """Each deliberate mistake changes what comes out, or is refused by the engine itself."""
    probe = mutant(monkeypatch) or Killer("", -1)
    try:
        found = through(tmp_path, probe)
    except BadCheckpoint:
        return
    assert found != undisturbed


def test_killed_processes_are_continued_by_the_next(tmp_path: Path) -> None:
    """SIGKILL during the commit, while recovering and while publishing: the output is that of an undisturbed run."""
    points: list[crashes.Point] = [("during commit", 0), ("publishing", 1), ("recovering", -1), ("", 0.3)]
    report = crashes.torment("windows", tmp_path, points, steps=2, engine="local")
    assert report.kills == 4
    assert report.same


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(crashes.FLOWS))
def test_processes_killed_at_every_point(name: str, tmp_path: Path) -> None:
    """SIGKILL at every named point, one step after the other: the output is that of an undisturbed run."""
    report = crashes.torment(name, tmp_path, crashes.plan(name, 0), engine="local")
    assert report.kills >= len(POINTS)
    assert report.same
