"""A commit that was changed on the disk: no run goes on from it, and nobody is told what it says."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.local_engine.place import Place
from tests.spark.place import counts
from tidegate.cli import app
from tidegate.engine.steps import resuming
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.sealed import sealed, unsealed


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A checkpoint after one step, and one more file that was not read yet."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts())
    place.feed.add((9, "a", 1))
    return place


def change(place: Place, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the only commit, with a checksum of what it is then; return its file."""
    (commit,) = (place.path / "checkpoint" / "commits").iterdir()
    found = unsealed(commit.read_text())
    change(found)
    commit.write_text(sealed(found))
    return commit


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda c: c["sources"]["s"].pop("rows"), "got one without rows"),
        (lambda c: c["sources"]["s"].pop("frontier"), "got one without frontier"),
        (lambda c: c["sources"]["s"].update(late="none"), "expected int as late of"),
        (lambda c: c.update(state={key: [{}] for key in c["state"]}), "expected a list as the parts of a state"),
        (lambda c: c.update(state={}), r"expected the state of s\..*aggregate\("),
        (lambda c: c["positions"].update(s=None), "expected _Position as an object with kind, at"),
        (lambda c: c.pop("engine"), "got an object without 'engine'"),
        (lambda c: c.update(step=True), "got True \\(bool\\) for 'step'"),
    ],
)
def test_a_start_and_inspect_refuse_it_and_name_the_file(
    place: Place, damage: Callable[[dict[str, Any]], object], told: str
) -> None:
    """Whatever is missing or of another type, and nothing is published."""
    before = place.rows()
    shutil.copytree(place.path / "checkpoint", place.path / "copy")
    commit = change(place, damage)
    with pytest.raises(BadCheckpoint, match=told) as refused:
        place.run(counts())
    assert f"checkpoint/commits/{commit.name}" in str(refused.value)
    result = CliRunner().invoke(app, ["inspect", str(place.path / "checkpoint")])
    assert isinstance(result.exception, SystemExit)
    assert f"checkpoint/commits/{commit.name}" in "".join(result.output.split())
    shutil.rmtree(place.path / "checkpoint")
    (place.path / "copy").rename(place.path / "checkpoint")
    assert place.rows() == before


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda c: c["positions"].clear(), "expected a position for s"),
        (lambda c: c["flow"].pop("origins"), "got one without origins"),
        (lambda c: c["flow"].update(state=[]), "expected an object as state of"),
        (lambda c: c["flow"].update(kept=None), "expected an object as kept of"),
        (lambda c: c["flow"].update(sources=[["s"]]), "expected a list of 3 values as sources of"),
    ],
)
def test_a_start_refuses_what_would_let_it_begin_anew(
    place: Place, damage: Callable[[dict[str, Any]], object], told: str
) -> None:
    """A source without a position, and a flow that can't be compared."""
    commit = change(place, damage)
    with pytest.raises(BadCheckpoint, match=told) as refused:
        place.run(counts())
    assert f"checkpoint/commits/{commit.name}" in str(refused.value)


def test_a_start_refuses_a_commit_with_fewer_states_of_an_operator(place: Place) -> None:
    """The error names the operator, before a step would fail for it."""
    change(place, lambda c: c.update(state={key: found[:-1] for key, found in c["state"].items()}))
    with pytest.raises(BadCheckpoint, match=r"expected 1 states of aggregate#1 .* got 0"):
        place.run(counts())


def test_a_start_refuses_to_read_files_again(place: Place) -> None:
    """A commit that knows of fewer files than were read does not let them be read twice; the error names the source."""
    change(place, lambda c: c["state"].pop("taken-s"))
    with pytest.raises(BadCheckpoint, match="expected the names of the 1 files that were read, got 0") as refused:
        place.run(counts())
    assert "source 's'" in str(refused.value)


def test_without_the_check_a_start_goes_on_with_no_position(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: nothing else refuses it. Files that were read are known by name, other rows are not."""
    change(place, lambda c: c["positions"].clear())
    monkeypatch.setattr(resuming, "check_whole", lambda *_: None)
    place.run(counts())
    assert place.rows() == [(1, "a", 1), (5, "a", 1)]


@pytest.mark.parametrize("times", [[None], [["t", 1]], [["t"]]])
def test_a_start_refuses_times_of_an_output_that_are_none(place: Place, times: list[Any]) -> None:
    """What an output promises to those who follow it is compared, so it is read as what it should be."""
    (owner,) = place.path.rglob("_tidegate.json")
    owner.write_text(sealed(unsealed(owner.read_text()) | {"time": times}))
    with pytest.raises(BadCheckpoint, match=r"the time columns in .*_tidegate.json"):
        place.run(counts())
