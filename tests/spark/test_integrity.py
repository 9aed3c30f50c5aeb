"""What is damaged is refused with its reason, and never answered from; nothing is deleted, so that it can be mended."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.spark.damages import DAMAGES, damaged, flipped
from tests.spark.deaths import Died, Killer
from tests.spark.engine import frame
from tests.spark.place import DDL, Place
from tests.spark.place import counts as place_counts

import tidegate as tg
from tidegate.engine.commits.by_step import checked_steps
from tidegate.engine.commits.commit import Commit, Origin
from tidegate.engine.commits.upgrade import UPGRADES
from tidegate.engine.keepers import keeper
from tidegate.engine.steps import publishing, recovery
from tidegate.engine.steps import running as running_module
from tidegate.engine.steps import step as step_module
from tidegate.engine.storage import files as files_module
from tidegate.engine.storage.errors import BadCheckpoint, RunFailed
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import FORMAT, last_commit
from tidegate.engine.storage.manifest import list_files
from tidegate.engine.storage.sealed import unsealed
from tidegate.flow.errors import BadArgument
from tidegate.spark.hadoop import files_at
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming import parts as parts_module
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.host import SparkHost
from tidegate.spark.streaming.sources import united
from tidegate.spark.streaming.start import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KEYS = "abcdefgh"
#: Each step completes the times of the one before, and has a row without a time.
CUTS: list[list[tuple[Any, ...]]] = [
    [*((step * 10 + i % 2, k, 1) for i, k in enumerate(KEYS)), (None, "a", step)] for step in range(3)
]
EXPECTED = sorted((step * 10 + i % 2, k, 1) for step in range(3) for i, k in enumerate(KEYS))


class Steps:
    """Steps of a flow that counts, each in two partitions, whose checkpoint and output are in a directory."""

    def __init__(self, spark: SparkSession, path: Path, output: Any = None) -> None:
        self.spark = spark
        self.path = path
        self.output = output or tg.parquet(str(path / "out"))
        flow = tg.Flow("counts")
        rows = flow.source("s", DDL, time="t", watermark=tg.bounded(5))
        flow.sink("out", rows.aggregate(by="k", n="count(*)"))
        self.plan = flow.plan

    def engine(self, **options: Any) -> SparkEngine:
        files = files_at(self.spark, str(self.path / "checkpoint"))
        return prepare(self.plan, self.spark, {}, {"out": self.output}, files, **options)

    def run(self, *numbers: int, engine: SparkEngine | None = None) -> None:
        engine = engine or self.engine()
        runtime = spark_runtime(self.spark)
        for number in numbers:
            rows = frame(self.spark, self.plan.sources[0].schema, CUTS[number])
            with runtime.settings(spark__sql__shuffle__partitions="2"):
                engine.step(united(self.plan, runtime, {"s": rows}).repartition(2), number)

    def end(self, *numbers: int) -> None:
        """Run the steps that are left, to the end, and see that all rows are there."""
        engine = self.engine()
        self.run(*numbers, engine=engine)
        engine.finish()
        assert self.rows() == EXPECTED

    def die(self, point: str, number: int) -> None:
        """Run a step, and die at a point of it."""
        with pytest.raises(Died):
            self.run(number, engine=self.engine(probe=Killer(point, number)))

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in tg.read(self.spark, str(self.path / "out")).collect())

    def found(self, pattern: str) -> list[Path]:
        """Files below the directory, in order; there must be some."""
        paths = sorted(path for path in self.path.glob(pattern) if not path.name.startswith("."))
        assert paths, pattern
        return paths


@pytest.fixture(autouse=True)
def in_two_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are in several files too."""
    monkeypatch.setattr(keeper, "_FEW", 0)


@pytest.fixture
def steps(spark: SparkSession, tmp_path: Path) -> Steps:
    """A flow that counts, before its first step."""
    return Steps(spark, tmp_path)


def test_damaged_state_is_refused_at_the_start(steps: Steps) -> None:
    """Whatever happened to a file of it; when the file is put back, the run goes on, and the answers are right."""
    steps.run(0, 1)
    state = steps.found("checkpoint/state/*/0/*/*.parquet")
    for damage in DAMAGES.values():
        with (
            damaged(state[-1], damage),
            pytest.raises(BadCheckpoint, match=r"the state in .*/state/aggregate.* is not"),
        ):
            steps.engine()
    with damaged(state[-1].parent, shutil.rmtree), pytest.raises(BadCheckpoint, match="parquet is missing"):
        steps.engine()
    steps.end(2)


@pytest.mark.slow
def test_state_that_is_damaged_during_a_run_is_not_answered_from(steps: Steps) -> None:
    """The step that would read it fails with the file, and the next start goes on when it is put back."""
    engine = steps.engine()
    steps.run(0, engine=engine)
    (path, *_) = steps.found("checkpoint/state/*/0/*/*.parquet")
    for damage in ("emptied", "deleted", "a bit of the footer flipped"):
        with damaged(path, DAMAGES[damage]), pytest.raises(BadCheckpoint, match=path.name):
            steps.run(1, engine=engine)
    assert steps.rows() == []
    steps.end(1, 2)


@pytest.mark.parametrize(
    "kind", ["state/", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("out/_pending", "late/"))]
)
def test_rows_on_the_disk_of_a_worker_are_not_committed(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A file that the driver cannot see is missing in the sum of rows, of state, output and late rows alike."""
    real = parts_module.measured

    def elsewhere(files: Files, directory: str, rows: int) -> Any:
        place = Path(files.path(directory).removeprefix("file:"))
        if kind in str(place):
            next(place.glob("part-*")).unlink()
        return real(files, directory, rows)

    monkeypatch.setattr(parts_module, "measured", elsewhere)
    with pytest.raises(BadCheckpoint, match=r"\d rows were written to .*, and \d of them can be seen there"):
        steps.run(0, 1)
    monkeypatch.undo()
    steps.end(*range(1 if kind == "out/_pending" else 0, 3))


def test_a_damaged_commit_is_refused(steps: Steps) -> None:
    """One bit is enough; and so is the commit of an earlier step under the number of the last."""
    steps.run(0, 1)
    commit = steps.path / "checkpoint" / "commits" / "1"
    spot = commit.read_text().index('"late":')
    damages: list[Callable[[Path], Any]] = [
        lambda path: flipped(path, spot + len('"late": ')),
        lambda path: shutil.copy(path.with_name("0"), path),
        DAMAGES["emptied"],
        DAMAGES["truncated"],
    ]
    for damage in damages:
        with damaged(commit, damage):
            with pytest.raises(BadCheckpoint, match=r"expected .* in .*/commits/1"):
                steps.engine()
            with pytest.raises(BadCheckpoint, match=r"in .*/commits/1"):
                steps.rows()
    steps.end(2)


@pytest.mark.slow
def test_output_that_is_committed_and_not_published_must_be_there(steps: Steps) -> None:
    """Deleted or damaged, it is refused; half of it moved, the rest is moved, and if that is gone, it is refused."""
    steps.run(0)
    steps.die("after commit", 1)
    staged = steps.found("out/_pending/*/part-*.parquet")
    assert len(staged) == 2
    for damage in (name for name in DAMAGES if name != "another file added"):
        with damaged(staged[1], DAMAGES[damage]):
            with pytest.raises(BadCheckpoint, match=f"step 1 is committed, and its output in .*{staged[1].name}"):
                steps.engine()
            if "page" not in damage:
                with pytest.raises(BadCheckpoint, match=staged[1].name):
                    steps.rows()
    with damaged(staged[0].parent, shutil.rmtree), pytest.raises(BadCheckpoint, match=r"is missing, and in .* it is"):
        steps.engine()
    half = steps.path / "out" / "step=1"
    half.mkdir()
    staged[0].rename(half / staged[0].name)
    with damaged(staged[1], Path.unlink), pytest.raises(BadCheckpoint, match=f"{staged[1].name} is missing, and in"):
        steps.engine()
    assert [path.name for path in half.iterdir()] == [staged[0].name]
    assert len(steps.rows()) == len(KEYS)
    steps.engine()
    assert {path.name for path in half.glob("*.parquet")} == {path.name for path in staged}
    assert not list((steps.path / "out" / "_pending").iterdir())
    # A checkpoint that was put back to an earlier moment commits a step again: what is there is of another attempt.
    with damaged(half / staged[0].name, renamed), pytest.raises(BadCheckpoint, match="was put into"):
        steps.engine()
    ahead = "has the rows of step 2, and the last commit is of step 1"
    with damaged(half, lambda path: path.rename(half.with_name("step=2"))), pytest.raises(BadCheckpoint, match=ahead):
        steps.engine()
    steps.end(2)


def renamed(path: Path) -> None:
    path.rename(path.with_name(path.name.replace("part-", "part-9")))


@pytest.mark.slow
def test_what_is_handed_over_leaves_a_record(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that are gone without one are missed; with one they are not handed over again."""
    found: list[tuple[Any, ...]] = []
    steps = Steps(spark, tmp_path, tg.foreach(lambda rows, step: found.extend(map(tuple, rows.collect()))))
    steps.run(0)
    steps.die("after commit", 1)
    (staged,) = steps.found("checkpoint/output/out/_pending/*")
    for damage in (shutil.rmtree, lambda path: next(path.glob("part-*.parquet")).unlink()):
        with damaged(staged, damage), pytest.raises(BadCheckpoint, match=r"its output for sink 'out' in .* is missing"):
            steps.engine()
    assert found == []
    steps.engine()
    assert len(found) == len(KEYS)
    record = steps.path / "checkpoint" / "output" / "out" / "step=1"
    assert unsealed(record.read_text()) == {"step": 1, "rows": len(KEYS)}
    steps.engine()
    assert len(found) == len(KEYS)
    with damaged(record, Path.unlink), pytest.raises(BadCheckpoint, match="is missing"):
        steps.engine()
    later = record.with_name("step=2")
    with damaged(record, lambda path: shutil.copy(path, later)):
        with pytest.raises(BadCheckpoint, match=r"output/out has the rows of step 2, and the last commit is of step 1"):
            steps.engine()
        assert later.exists()
    engine = steps.engine()
    steps.run(2, engine=engine)
    assert [path.name for path in record.parent.glob("step=*")] == ["step=2"]
    engine.finish()
    assert sorted(found) == EXPECTED


@pytest.mark.slow
def test_reading_an_output_notices_what_is_gone(steps: Steps) -> None:
    """A file, a whole step, or its list of files; what is damaged inside is told by Parquet's own checksums."""
    engine = steps.engine()
    steps.run(0, 1, 2, engine=engine)
    engine.finish()
    out = steps.path / "out"
    for step in (1, 3):
        (path, *_) = steps.found(f"out/step={step}/part-*.parquet")
        for damage in DAMAGES:
            expected = Exception if "page" in damage else BadCheckpoint
            with damaged(path, DAMAGES[damage]), pytest.raises(expected):
                steps.rows()
        with damaged(path.parent, shutil.rmtree), pytest.raises(BadCheckpoint, match=r"is gone|is missing"):
            steps.rows()
    with damaged(out / "step=1", lambda path: path.rename(out / "step=0")), pytest.raises(BadCheckpoint):
        steps.rows()
    manifest = out / "step=1" / "_files.json"
    with (
        damaged(manifest, lambda path: flipped(path, 20)),
        pytest.raises(BadCheckpoint, match="expected the files of a step in"),
    ):
        steps.rows()
    with damaged(manifest, Path.unlink):
        assert steps.rows() == EXPECTED
    assert steps.rows() == EXPECTED


def test_reading_rows_that_were_set_aside_notices_what_is_gone(place: Place) -> None:
    """They are checked as outputs are."""
    place.feed.add((1, "a", 1), (None, "b", 2), (9, "a", 1))
    place.feed.add((2, "a", 1), (20, "b", 2))
    run = place.run(place_counts())
    assert (run.late("s").count(), run.rejected("s").count()) == (1, 1)
    for path in (place.path / "checkpoint" / "late" / "s").glob("step=*/part-*.parquet"):
        with damaged(path, Path.unlink), pytest.raises(BadCheckpoint, match=f"{path.name} is missing"):
            run.late("s")
        with damaged(path.parent, shutil.rmtree), pytest.raises(BadCheckpoint, match=r"is gone|is missing"):
            run.rejected("s")


def as_of_format_1(path: Path) -> None:
    """Write commits as earlier versions did: without files, sums and a checksum; and delete what they did not write."""
    for commit in (path / "checkpoint" / "commits").iterdir():
        found = unsealed(commit.read_text()) | {"format": 1}
        del found["aside"], found["number"], found["token"]
        found["state"] = {
            key: [[part[:4] for part in parts] for parts in states] for key, states in found["state"].items()
        }
        for publication in found["publish"]:
            del publication["files"]
        commit.write_text(json.dumps(found, indent=1))
    for manifest in path.rglob("_files.json"):
        manifest.unlink()
    for owner in path.glob("out/_tidegate.json"):
        owner.write_text(json.dumps(unsealed(owner.read_text())))


def test_a_checkpoint_of_the_first_format_goes_on(steps: Steps) -> None:
    """Its files are taken as they are, if they have the rows that it says; what comes after it is checked in full."""
    steps.run(0)
    steps.die("after commit", 1)
    as_of_format_1(steps.path)
    assert len(steps.rows()) == len(KEYS)
    state = steps.found("checkpoint/state/*/0/1-*/*.parquet")[0]
    with damaged(state, Path.unlink), pytest.raises(BadCheckpoint, match=r"it has \d rows, expected \d"):
        steps.engine()
    (staged, *_) = steps.found("out/_pending/*/part-*.parquet")
    with damaged(staged, Path.unlink), pytest.raises(BadCheckpoint, match=r"it has \d rows, expected 8"):
        steps.engine()
    steps.end(2)
    commit = last_commit(Files(steps.path / "checkpoint"))
    assert commit is not None
    assert commit["aside"] == {"late/s": 3}


@pytest.mark.slow
def test_what_fails_behind_a_commit_is_told_as_such(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step counts: it is the last one, and the next start publishes it."""
    engine = steps.engine()
    steps.run(0, engine=engine)

    def gone(*_: Any, **__: Any) -> None:
        raise ConnectionError("the session was stopped")

    with monkeypatch.context() as patched:
        patched.setattr(running_module, "publish", gone)
        with pytest.raises(RunFailed, match=r"(?s)was stopped.*hint: the step is committed"):
            steps.run(1, engine=engine)
    assert engine.last is not None
    assert engine.last.step == 1
    steps.end(2)


def _moved(path: Path) -> Path:
    return path.rename(path.with_name("moved"))


def _linked(path: Path) -> Path:
    path.with_name("link").symlink_to(path)
    return path.with_name("link")


def _moved_of_format_1(path: Path) -> Path:
    as_of_format_1(path)
    return _moved(path)


@pytest.mark.parametrize(
    "move", [_moved, *(pytest.param(move, marks=pytest.mark.slow) for move in (_linked, _moved_of_format_1))]
)
def test_rows_that_wait_go_with_their_checkpoint(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, move: Callable[[Path], Path]
) -> None:
    """A checkpoint that is at another path now hands over what it has committed, and sets aside what was late.

    If it is looked for where it was, the rows are lost.
    """
    found: list[tuple[Any, ...]] = []
    output = tg.foreach(lambda rows, step: found.extend(map(tuple, rows.collect())))
    steps = Steps(spark, tmp_path / "here", output)
    steps.run(0)
    steps.die("after commit", 1)
    moved = move(steps.path)
    steps.path = shutil.copytree(moved, tmp_path / "copy")
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "place_of", lambda files, publication: files.at(publication.root))
        steps.engine()
    assert found == []
    steps.path = moved
    engine = steps.engine()
    assert sorted(found) == EXPECTED[: len(KEYS)]
    assert engine.last is not None
    assert len(checked_steps(engine.files, "late/s", 1, {}, engine.last.aside["late/s"])) == 2
    assert not [*steps.path.glob("checkpoint/*/*/_pending/*")]
    steps.run(2, engine=engine)
    engine.finish()
    assert sorted(found) == EXPECTED


@pytest.mark.slow
def test_an_output_that_was_moved_with_rows_that_wait_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """They are neither swept nor forgotten; with the path that it had, they are published."""
    before, after = tmp_path / "before", tmp_path / "after"
    steps = Steps(spark, tmp_path, tg.parquet(str(before)))
    steps.run(0)
    steps.die("after commit", 1)
    before.rename(after)
    steps.output = tg.parquet(str(after))
    for _ in range(2):
        with pytest.raises(BadCheckpoint, match=r"(?s)rows of sink 'out' that are committed.*hint: was the directory"):
            steps.engine()
    assert [*after.glob("_pending/*/part-*.parquet")]
    after.rename(before)
    steps.output = tg.parquet(str(before))
    engine = steps.engine()
    assert sorted(map(tuple, tg.read(spark, before).collect())) == EXPECTED[: len(KEYS)]
    steps.run(2, engine=engine)
    engine.finish()
    assert sorted(map(tuple, tg.read(spark, before).collect())) == EXPECTED


@pytest.mark.slow
def test_rows_that_wait_are_read_by_another_spelling_of_the_path(steps: Steps) -> None:
    """An output is known by what is in it, not by how its path is written."""
    steps.run(0)
    steps.die("after commit", 1)
    (steps.path / "link").symlink_to(steps.path / "out")
    assert tg.read(steps.spark, str(steps.path / "link")).count() == len(KEYS)


@pytest.mark.parametrize("place", ["output", "output/out", "state/a/0", "late/s", "x/../clock"])
def test_an_output_where_the_checkpoint_keeps_its_own_is_refused(
    spark: SparkSession, tmp_path: Path, place: str
) -> None:
    """Of whatever kind it is; elsewhere below the checkpoint it is in nobody's way."""
    path = f"{tmp_path}/checkpoint/{place}"
    for output in (tg.parquet(path), tg.delta(path), tg.delta(f"file://{path}")):
        with pytest.raises(BadArgument, match=r"(?s)expected a place outside of .*sink 'out', got .*hint: "):
            Steps(spark, tmp_path, output).engine()
    for output in (tg.parquet(f"{tmp_path}/checkpoint/results"), tg.parquet(f"{tmp_path}/checkpoint-2/{place}")):
        Steps(spark, tmp_path, output).engine()


@pytest.mark.slow
def test_only_what_runs_have_left_is_swept(spark: SparkSession, tmp_path: Path) -> None:
    """A checkpoint deletes records of steps and attempts that it does not need, and nothing that is not its own."""
    steps = Steps(spark, tmp_path, tg.foreach(lambda rows, step: rows.count()))
    steps.run(0, 1)
    state = steps.found("checkpoint/state/*/0")[0].relative_to(tmp_path)
    foreign = [f"checkpoint/output/{name}" for name in ("hourly/step=0/part-0", "out/part-0.parquet", "out/step=x")]
    foreign += [f"{state}/step=0/part-0"]
    left = ["checkpoint/output/out/step=0", f"{state}/9-new-0.dead/part-0", f"{state}/9-new-dead/part-0"]
    for name in (*foreign, *left):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    def hand_over(point: str, step: int) -> None:
        # A run that has replaced this one meanwhile is ahead of it.
        if point == "sweeping":
            (tmp_path / "checkpoint/output/out/step=2").write_text("x")

    steps.engine(probe=hand_over)
    assert [name for name in (*foreign, *left) if (tmp_path / name).exists()] == foreign
    assert (tmp_path / "checkpoint/output/out/step=1").exists()
    assert (tmp_path / "checkpoint/output/out/step=2").exists()


def test_what_a_commit_names_is_on_the_disk_before_it(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of state and output, and each directory on the way to them; and the commit's own directory after it."""
    done: list[str] = []
    sync, link = os.fsync, os.link
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append(os.readlink(f"/proc/self/fd/{fd}")), sync(fd))[1])
    monkeypatch.setattr(os, "link", lambda old, new: (done.append(f"link {new}"), link(old, new))[1])
    engine = steps.engine()
    steps.run(0, engine=engine)

    def unsynced() -> set[str]:
        done.clear()
        number = engine.last.step + 1 if engine.last else 0
        steps.run(number, engine=engine)
        at = done.index(f"link {steps.path}/checkpoint/commits/{number}")
        assert f"{steps.path}/checkpoint/commits" in done[at:]
        commit = engine.last
        assert commit is not None
        new = [(p.path, p.files) for p in commit.parts if p.path.rpartition("/")[2].startswith(f"{number}-")]
        named = [*((f"{engine.files.root}/{path}", files) for path, files in new)]
        named += [(f"{p.root}/{p.staged}", p.files) for p in commit.publish]
        assert len(named) == 3
        places = [place.removeprefix("file:") for place, _ in named]
        wanted = {*places, *(str(Path(place).parent) for place in places)}
        wanted |= {f"{place.removeprefix('file:')}/{entry.name}" for place, files in named for entry in files}
        return wanted - set(done[:at])

    assert unsynced() == set()
    monkeypatch.setattr(step_module, "seal", lambda *_, **__: None)
    assert unsynced() != set()


def test_what_spark_has_written_of_earlier_batches_is_on_the_disk_before_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a power cut can only tear records of the last batch, which are not needed."""
    done: set[str] = set()
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (done.add(os.readlink(f"/proc/self/fd/{fd}")), sync(fd))[1])
    names = ["spark/metadata", "spark/commits/0", "spark/offsets/0", "spark/offsets/1", "spark/sources/0/1"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    files = Files(tmp_path)
    growing = SparkHost.records(cast("SparkHost", None), files)
    publishing.seal(files, Commit(1, Origin(), {}, {}, (), {}, {}), None, growing=growing)
    assert {str(tmp_path / name) for name in names} <= done
    assert {str(tmp_path / name).rpartition("/")[0] for name in names} <= done


def _state_unchecked(monkeypatch: pytest.MonkeyPatch, steps: Steps) -> None:
    """A start that does not look at state, and a bit of it that flipped."""
    monkeypatch.setattr(recovery, "check_part", lambda files, part, *, whole: None)
    flipped(steps.found("checkpoint/state/*/0/*/*.parquet")[-1], 40)


def _commit_unchecked(monkeypatch: pytest.MonkeyPatch, steps: Steps) -> None:
    """A checksum of commits that nobody looks at, and a count in one that changed."""
    monkeypatch.setattr(files_module, "opened", lambda found, required: found)
    commit = steps.path / "checkpoint" / "commits" / "1"
    commit.write_text(commit.read_text().replace('"rows": 18', '"rows": 19'))


def _published_if_it_is_gone(monkeypatch: pytest.MonkeyPatch, steps: Steps) -> None:
    """Output that is not where it was staged is taken for published, and it was deleted."""
    real = publishing.located

    def located(files: Files, entries: Any, first: str, second: str, *rest: Any, **options: Any) -> Any:
        late = first.startswith("late/")
        return real(files, entries, first, second, *rest, **options) if late else {first: [], second: []}

    monkeypatch.setattr(publishing, "located", located)
    shutil.rmtree(steps.found("out/_pending/*")[0])
    (steps.path / "out" / "step=1").mkdir()


def test_checks_that_are_left_out_let_damages_through(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check is what refuses the damage: with it the run is refused, and without it the run goes on."""
    steps.run(0)
    steps.die("after commit", 1)
    for name in ("checkpoint", "out"):
        shutil.copytree(steps.path / name, steps.path / "copy" / name)
    for mutant in (_state_unchecked, _commit_unchecked, _published_if_it_is_gone):
        for name in ("checkpoint", "out"):
            shutil.rmtree(steps.path / name)
            shutil.copytree(steps.path / "copy" / name, steps.path / name)
        with monkeypatch.context() as patched:
            mutant(patched, steps)
            patched.undo()
            with pytest.raises(BadCheckpoint):
                steps.engine()
            for name in ("checkpoint", "out"):
                shutil.rmtree(steps.path / name)
                shutil.copytree(steps.path / "copy" / name, steps.path / name)
            mutant(patched, steps)
            steps.engine()


@pytest.mark.slow
def test_rows_that_nobody_looks_for_are_lost(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sum of rows, a file on a worker's disk is missing in the answers."""
    real = parts_module.measured

    def measured(files: Files, directory: str, rows: int) -> Any:
        paths = sorted(Path(files.path(directory).removeprefix("file:")).glob("part-*"))
        if "state/" in directory and len(paths) > 1:
            paths[0].unlink()
            return list_files(files, directory)
        return real(files, directory, rows)

    monkeypatch.setattr(parts_module, "measured", measured)
    steps.run(0, 1)
    assert 0 < len(steps.rows()) < len(KEYS)


@pytest.mark.slow
def test_a_sink_without_a_record_loses_a_step(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If what is gone is taken for handed over, nobody notices that it never was."""
    found: list[Any] = []
    steps = Steps(spark, tmp_path, tg.foreach(lambda rows, step: found.extend(rows.collect())))
    steps.run(0)
    steps.die("after commit", 1)
    shutil.rmtree(steps.found("checkpoint/output/out/_pending/*")[0])
    with pytest.raises(BadCheckpoint, match="is missing"):
        steps.engine()
    monkeypatch.setattr(publishing, "_deliver", lambda *given, **options: None)
    steps.engine()
    assert found == []


def test_every_format_has_a_way_to_the_next() -> None:
    """A commit of any format that can be read becomes one of today."""
    assert len(UPGRADES) == FORMAT - 1
