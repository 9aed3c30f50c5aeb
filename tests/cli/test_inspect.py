"""``tidegate inspect`` and ``tidegate why``: what is in a checkpoint, told without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tidegate as tg
from tidegate.cli import app
from tidegate.engine.commits.commit import Commit, Origin
from tidegate.engine.marks import Marks, Seen
from tidegate.engine.storage.published import Promise
from tidegate.engine.storage.sealed import sealed, unsealed
from tidegate.engine.storage.state import Part, State


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint whose last commit is of step 7; one source is at (3, 1), the other has seen nothing."""
    flow = tg.Flow("ledger")
    left = flow.source("left", "v INT, w INT, x INT", time=("v", "w"), watermark=tg.bounded(2, 1))
    flow.source("right", "v INT, w INT, x INT", time=("v", "w"))
    flow.sink("out", left.aggregate(n="count(*)"))
    a, b = flow.plan.sources
    marks = {"left": Marks.start(a).after(a, Seen(rows=9, late=2, greatest=(5, 2))), "right": Marks.start(b)}
    state = {"aggregate-1": (State((Part("x", 4), Part("y", 1))),)}
    commit = Commit(7, Origin(batch=7), marks, state, (), {}, {"name": "ledger"})
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "6").write_text("{}")
    (tmp_path / "commits" / "7").write_text(sealed(commit.to_json(flow.plan)))
    return tmp_path


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    """A checkpoint of a flow with partitions, and one that follows another flow."""
    flow = tg.Flow("devices")
    a = flow.source("devices", "t INT, k STRING", time="t", watermark=tg.bounded(2, by="k"))
    b = flow.source("counts", "t INT, k STRING", time="t", watermark=tg.published("out"))
    flow.sink("out", a.union(b))
    devices, counts = flow.plan.sources
    seen = Seen(rows=3, partitions=(("a", (30,)), ("b", (12,)), (None, (20,))))
    told = Seen(rows=5, steps=((0, 3), (1, 2)), lines=(Promise(1, 9, ((4,),)).line, Promise(2, 9, ((7,),)).line))
    marks = {"devices": Marks.start(devices).after(devices, seen), "counts": Marks.start(counts).after(counts, told)}
    commit = Commit(0, Origin(batch=0), marks, {}, (), {}, {"name": "devices"})
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text(sealed(commit.to_json(flow.plan)))
    return tmp_path


def test_why_names_the_partition_and_the_rows_that_are_waited_for(devices: Path) -> None:
    """Not only the source: what of it is behind, and what a published frontier waits for."""
    assert run("why", devices, "11")[1].splitlines() == [
        "source devices may still give rows from 10 on: k b is behind the others, at 12",
        "source counts may still give rows from any on: the frontier that step 1 of the other flow published "
        "waits for 4 rows",
    ]


def run(*given: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(part) for part in given])
    return result.exit_code, result.output


def test_inspect_shows_sources_and_state(checkpoint: Path) -> None:
    """The last step, how far each source is, what was late, and how many rows are held; and who holds the lock."""
    (checkpoint / "lock").write_text(json.dumps({"process": 42, "host": "here"}))
    code, text = run("inspect", checkpoint)
    assert code == 0
    assert "flow ledger: step 7, on Spark" in text
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    assert ["left", "(3, 1)", "9", "2", "0", "0"] in cells
    assert ["right", "(any, any)", "0", "0", "0", "0"] in cells
    assert ["aggregate-1", "0", "5", "2"] in cells
    assert "held by process 42 on here" in text


def test_inspect_shows_ticks_as_times(tmp_path: Path) -> None:
    """How far a clock was read is a time, and not a number of microseconds."""
    flow = tg.Flow("ticking")
    flow.sink("out", flow.source("ticks", "ts TIMESTAMP", time="ts"))
    (source,) = flow.plan.sources
    origin = Origin("local", positions={"ticks": {"kind": "ticks", "at": {"tick": 1_767_225_600_000_000}}})
    known = {"name": "ticking", "origins": {"ticks": "ticks"}}
    commit = Commit(0, origin, {"ticks": Marks.start(source)}, {}, (), {}, known)
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text(sealed(commit.to_json(flow.plan)))
    code, text = run("inspect", tmp_path)
    assert (code, "tick 2026-01-01 00:00:00" in text) == (0, True), text


def test_why_names_the_sources_that_hold_a_time_back(checkpoint: Path) -> None:
    """A source holds back what is at or above its frontier, in all columns."""
    assert run("why", checkpoint, "3", "1") == (
        0,
        "source left may still give rows from (3, 1) on\nsource right may still give rows from (any, any) on\n",
    )
    assert "left" not in run("why", checkpoint, "9", "0")[1]
    assert run("why", checkpoint, "-3", "1")[0] == 0


@pytest.mark.parametrize("key", ["time", "frontier", "shown"])
def test_why_refuses_a_commit_with_a_source_that_cannot_be_read(checkpoint: Path, key: str) -> None:
    """Without the source, the time would be called complete. The error names the file and the source."""
    commit = checkpoint / "commits" / "7"
    found = unsealed(commit.read_text())
    del found["sources"]["right"][key]
    commit.write_text(sealed(found))
    code, text = run("why", checkpoint, "9", "0")
    assert code == 1
    assert "commits/7" in "".join(text.split())
    assert "right" in text


def test_what_is_no_checkpoint_or_no_time_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    """With a word, and exit code 1."""
    assert run("why", checkpoint, "3")[0] == 1
    assert run("why", checkpoint, "3", "soon")[0] == 1
    assert run("inspect", checkpoint / "commits")[0] == 1
    (tmp_path / "commits" / "8").write_text("{")
    code, text = run("inspect", checkpoint)
    assert code == 1
    assert "can't be read" in text


#: What a terminal obeys: the title of its window, a cleared screen, a text that runs backwards, a line of its own.
OBEYED = "b\x1b]0;x\x07\x1b[2J\x9b1m\u202e\r\n[red]"


def hostile(directory: Path) -> Path:
    """A checkpoint with names and values that a terminal would obey, as a file may have them."""
    flow = tg.Flow("devices")
    a = flow.source("devices", "t INT, k STRING", time="t", watermark=tg.bounded(2, by="k"))
    flow.sink("out", a)
    (source,) = flow.plan.sources
    marks = Marks.start(source).after(source, Seen(partitions=(("a", (30,)), (OBEYED, (12,)))))
    commit = Commit(
        0, Origin(batch=0), {"devices": marks}, {OBEYED: (State((Part("x", 4),)),)}, (), {}, {"name": OBEYED}
    )
    coded = commit.to_json(flow.plan)
    coded["sources"] = {OBEYED: coded["sources"]["devices"]}
    (directory / "commits").mkdir()
    (directory / "commits" / "0").write_text(sealed(coded))
    return directory


def test_what_a_terminal_would_obey_is_printed_and_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of rows and names in files are escaped, also where they look like markup."""
    checkpoint = hostile(tmp_path)
    code, text = run("why", checkpoint, "11")
    assert code == 0
    assert text.count(OBEYED.encode("unicode_escape").decode()) == 2
    assert all(c.isprintable() or c == "\n" for c in text)
    monkeypatch.setenv("COLUMNS", "400")
    code, text = run("inspect", checkpoint)
    assert (code, text.count("\\x1b]0;x\\x07\\x1b[2J\\x9b1m\\u202e\\r\\n[red]")) == (0, 3)
    assert all(c.isprintable() or c == "\n" for c in text)
    monkeypatch.setattr("tidegate.cli.inspect.printable", lambda text: text)
    assert "\x1b" in run("why", checkpoint, "11")[1]


def test_a_time_may_say_its_zone(tmp_path: Path) -> None:
    """It is meant in UTC if it does not; a value that is no time is answered with one that is."""
    flow = tg.Flow("f")
    flow.sink("out", flow.source("s", "t TIMESTAMP", time="t", watermark=tg.bounded("1 hour")))
    (source,) = flow.plan.sources
    marks = Marks.start(source).after(source, Seen(greatest=(1767225600000000,)))
    (tmp_path / "commits").mkdir()
    coded = Commit(0, Origin(batch=0), {"s": marks}, {}, (), {}, {"name": "f"}).to_json(flow.plan)
    (tmp_path / "commits" / "0").write_text(sealed(coded))
    assert "may still give rows" in run("why", tmp_path, "2026-01-01T01:00:00+01:00")[1]
    assert "complete" in run("why", tmp_path, "2026-01-01T00:00:00+02:00")[1]
    code, text = run("why", tmp_path, "soon")
    assert (code, 'hint: such as "1970-01-01 00:00:00"' in text) == (1, True)
