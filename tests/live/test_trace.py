"""The trace of a run: small, without secrets, and nothing that a run needs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import counts
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import NOBODY
from tidegate.engine.trace import Trace
from tidegate.live.checkpoint import checkpoint_at


@pytest.mark.parametrize(
    "harm",
    [
        shutil.rmtree,
        lambda path: (shutil.rmtree(path), path.write_text("a file")),
        lambda path: [(path / name).unlink() or (path / name).mkdir() for name in ("flow", "now", "steps")],
        lambda path: [(path / name).write_bytes(b"\xff\x00{") for name in ("flow", "now", "steps", "steps.before")],
    ],
)
def test_a_run_goes_on_whatever_has_become_of_its_trace(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    """The rows are those of an undisturbed run; what can be written of the trace is written anew."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (9, "b", 2))
    place.run(counts())
    harm(tmp_path / "checkpoint" / "trace")
    place.feed.add((12, "c", 5))
    place.run(counts())
    assert place.rows() == [(1, "a", 1), (9, "b", 1)]
    assert tg.read(place.session, tmp_path / "out").fetchall()


def test_it_does_not_grow_without_bound(tmp_path: Path) -> None:
    """After many steps it has half a megabyte at most, and the last few hundred steps are there, in order."""
    trace = Trace(Files(tmp_path), NOBODY, every=0.0)
    trace.begin({"format": 1})
    most = 0
    for step in range(3000):
        trace.end_step({"step": step, "seconds": 0.5, "padding": "x" * 400}, {"state": (1, 2)})
        if step % 100 == 0:
            most = max(most, sum(path.stat().st_size for path in (tmp_path / "trace").iterdir()))
    assert most < 600_000
    found = [step["step"] for step in checkpoint_at(tmp_path).steps()]
    assert found == list(range(3000 - len(found), 3000))
    assert len(found) >= 300


def test_quick_steps_are_written_together(tmp_path: Path) -> None:
    """Within a moment, only the first is written at once; the others when the run ends, at the latest."""
    trace = Trace(Files(tmp_path), NOBODY, every=3600.0)
    trace.begin({"format": 1})
    for step in range(5):
        trace.begin_step(step)
        trace.end_step({"step": step, "seconds": 0.5}, {})
    place = checkpoint_at(tmp_path)
    assert place.steps() == []
    trace.end("it broke")
    assert [step["step"] for step in place.steps()] == list(range(5))
    assert (place.activity()["over"], place.activity()["failure"]) == (True, "it broke")


@pytest.mark.parametrize("letter", ["x", "ж", "😀"])
def test_a_long_failure_leaves_nothing_behind(tmp_path: Path, letter: str) -> None:
    """What the next run is doing can be read after a failure of many letters, which take up to twelve bytes each."""
    trace = Trace(Files(tmp_path), NOBODY, every=0.0)
    trace.begin({"format": 1})
    trace.end(letter * 2000)
    assert checkpoint_at(tmp_path).activity()["failure"] == letter * 1000
    trace = Trace(Files(tmp_path), NOBODY, every=0.0)
    trace.begin({"format": 1})
    trace.begin_step(7)
    assert checkpoint_at(tmp_path).activity()["step"] == 7


def test_a_trace_without_a_thread_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no thread can be started, as when the process is ending, the run goes on, and its end is written."""

    def refused(timer: Timer) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Timer, "start", refused)
    trace = Trace(Files(tmp_path), NOBODY, every=3600.0)
    trace.begin({"format": 1})
    trace.end_step({"step": 0, "seconds": 0.5}, {})
    trace.end("")
    assert [step["step"] for step in checkpoint_at(tmp_path).steps()] == [0]


def test_an_end_that_cannot_be_written_is_nobodys_failure() -> None:
    """Whatever the file system says: a run gives its lock back after this."""
    Trace(Files(Path("/", "x" * 300)), NOBODY).end("it broke")


def test_a_description_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    """Where it can't be put, the hidden file is deleted again: the next start would leave one more."""
    (tmp_path / "trace" / "flow").mkdir(parents=True)
    Trace(Files(tmp_path), NOBODY).begin({"format": 1})
    assert sorted(path.name for path in (tmp_path / "trace").iterdir()) == ["flow", "now", "steps", "steps.before"]


def test_a_line_that_was_cut_costs_no_other(tmp_path: Path) -> None:
    """What a killed run has left of a line is left out, and the next run's lines are read."""
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "steps").write_text('\n{"step": 0, "seconds": 0.1}\n{"step": 1, "sec')
    trace = Trace(Files(tmp_path), NOBODY, every=0.0)
    trace.begin({"format": 1})
    trace.end_step({"step": 1, "seconds": 0.5}, {})
    assert [step["step"] for step in checkpoint_at(tmp_path).steps()] == [0, 1]


def test_it_says_nothing_of_how_an_output_is_reached(tmp_path: Path) -> None:
    """A directory is named; of any other output its kind alone, because the rest may be secret."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1))
    place.run(counts(), outputs={"out": tg.foreach(lambda rows, step: None)})
    described = json.loads((tmp_path / "checkpoint" / "trace" / "flow").read_text())
    assert [sink["output"] for sink in described["sinks"]] == ["foreach"]
