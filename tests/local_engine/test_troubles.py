"""Troubles of the machine: a full disk, little memory, two processes on one checkpoint, files that were cut short."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import counts
from tidegate.engine.storage import disk
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointInUse, RunFailed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of its own."""
    return Place(tmp_path)


def in_process(code: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Run code in another Python, which sees these tests."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"} | options.pop("env", {})
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, **options)


@contextmanager
def room(size: int) -> Iterator[None]:
    """Let no file grow beyond a size: as far as a program can see, the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("size", [0, 100, 700])
def test_a_full_disk_fails_the_step_and_nothing_is_lost(place: Place, size: int) -> None:
    """Whether state, results or the commit do not fit; when there is room, the next start runs the step again."""
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts())
    place.feed.add(*((t, f"{t:050}", 1) for t in range(5, 40)))
    with room(size), pytest.raises((RunFailed, OSError)):
        place.run(counts())
    place.start(counts(), trigger=None).finish()
    wanted = {(1, "a", 1), (5, "a", 1), *((t, f"{t:050}", 1) for t in range(5, 40))}
    assert place.rows() == sorted(wanted)


@pytest.mark.parametrize("after", range(1, 12))
def test_a_disk_that_fills_up_at_any_file_loses_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """One small file after the other cannot be written: a commit, a promise, a record that rows were handed over."""
    real, left = disk.write_hidden, [after]

    def write(at: Path, text: str) -> Path:
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(at))
        return real(at, text)

    for step in range(3):
        place.feed.add((step * 5, "a", 1), (step * 5 + 1, "b", 1))
    with monkeypatch.context() as patched:
        patched.setattr(disk, "write_hidden", write)
        try:
            place.start(counts(), trigger=None).finish()
        except (RunFailed, OSError) as error:
            assert "No space left" in str(error)  # noqa: PT017
            assert left[0] <= 0
            patched.undo()
            place.start(counts(), trigger=None).finish()
    assert place.rows() == sorted((step * 5 + i, k, 1) for step in range(3) for i, k in enumerate("ab"))


_HOLDS = """
import sys
from pathlib import Path
import tidegate as tg
from tests.spark.place import counts
at = Path(sys.argv[1])
outputs = {"out": tg.parquet(at / "out")}
run = counts().start(tg.local(), {"s": tg.files(at / "in")}, outputs, at / "checkpoint")
print("started", flush=True)
sys.stdin.read()
run.stop()
"""


def test_a_checkpoint_belongs_to_one_process_at_a_time(place: Place) -> None:
    """The second is refused while the first lives, also if that one has nothing to do; not after it was killed."""
    place.feed.add((1, "a", 1), (9, "b", 1))
    other = in_process(_HOLDS, str(place.path), stdin=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "started\n"
        with pytest.raises(CheckpointInUse):
            place.start(counts())
    finally:
        other.kill()
        other.communicate()
    place.start(counts(), trigger=None).finish()
    assert place.rows() == [(1, "a", 1), (9, "b", 1)]


def damage(path: Path) -> None:
    """Cut a file short."""
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("checkpoint/state/aggregate*/0/*/*.parquet", "is not what was written"),
        ("checkpoint/state/taken-*/0/*/*.parquet", "is not what was written"),
        ("checkpoint/commits/*", "commits"),
        ("out/step=*/*.parquet", "is not what was written|output"),
    ],
)
def test_files_that_were_cut_short_are_told(place: Place, pattern: str, says: str) -> None:
    """State, the files that were taken, the last commit, and results: nothing goes on from what is not whole."""
    place.feed.add((1, "a", 1), (9, "b", 1))
    place.run(counts())
    found = sorted(place.path.glob(pattern))
    assert found
    damage(found[-1])
    with pytest.raises(BadCheckpoint, match=says):
        place.run(counts())


def test_state_that_is_larger_than_memory_goes_to_the_disk(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that do not fit into the memory of a session are right all the same, and leave nothing behind."""
    monkeypatch.chdir(place.path)
    place.session = tg.local(threads=1, memory="40MB")
    flow = tg.Flow("many")
    read = flow.source("s", "t INT, k BIGINT, x INT", time="t", watermark=tg.bounded(0))
    flow.sink("out", read.accumulate(by="k", total="sum(x)").where("k % 250000 = 7"))
    rows = 500_000

    def batches(taken: int) -> Iterator[pa.Table]:
        for step in range(taken, 3):
            made = (
                f"SELECT {step}::INT t, range % {2 * rows} k, 1::INT x FROM range({step * rows}, {(step + 1) * rows})"
            )
            yield duckdb.connect().sql(made).to_arrow_table()

    spilled: list[int] = []

    def probe(point: str, step: int) -> None:
        sizes = place.session.connection.cursor().execute("SELECT sum(size) FROM duckdb_temporary_files()").fetchone()
        spilled.append((sizes and sizes[0]) or 0)

    from tidegate.local_engine.streaming import start

    outputs = {"out": tg.parquet(place.path / "out")}
    start(flow.plan, place.session, {"s": batches}, outputs, place.path / "checkpoint", probe=probe).await_termination()
    assert max(spilled) > 10_000_000
    assert place.rows() == [
        (0, 7, 1),
        (0, 250007, 1),
        (1, 500007, 1),
        (1, 750007, 1),
        (2, 7, 2),
        (2, 250007, 2),
    ]
    assert not list(place.path.glob(".tmp"))


def test_memory_that_does_not_suffice_is_told(place: Place) -> None:
    """With what would help; nothing of the step is committed."""
    place.session = tg.local(threads=1, memory="12MB")
    place.session.connection.execute("SET max_temp_directory_size = '1MB'")
    flow = tg.Flow("many")
    read = flow.source("s", "t INT, k BIGINT", time="t", watermark=tg.bounded(0))
    flow.sink("out", read.accumulate(by="k", n="count(*)"))
    rows = pa.table({"t": pa.array([0] * 500_000, pa.int32()), "k": pa.array(range(500_000), pa.int64())})
    with pytest.raises(RunFailed, match=r"(?s)Out of Memory.*let it hold more: tg.local\(memory=…\).*nothing of this"):
        place.run(flow, inputs={"s": iter([rows])})
    assert not (place.path / "checkpoint" / "commits").exists()


_SPILLS = """
import os, sys
import tidegate as tg
session = tg.local(memory="20MB", threads=1)
session.connection.execute("CREATE TABLE t AS SELECT hash(range)::VARCHAR FROM range(1000000)")
print(sum(len(files) for _, _, files in os.walk(sys.argv[1])) > 0, os.listdir("."))
"""


def test_what_does_not_fit_is_in_the_directory_for_temporary_files_and_gone_in_the_end(tmp_path: Path) -> None:
    """Not in the working directory, where DuckDB would have it."""
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    process = in_process(_SPILLS, str(there), cwd=here, env={"TMPDIR": str(there)})
    assert process.communicate()[0] == "True []\n"
    assert list(there.iterdir()) == []
