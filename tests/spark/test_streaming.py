"""Flows on streams: what a user sees of a run, from start to end."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from tests.spark.place import DDL, Feed, Place, counts
from typer.testing import CliRunner

import tidegate as tg
from tidegate.cli import app
from tidegate.engine.storage import lock as lock_module
from tidegate.engine.storage.errors import (
    BadCheckpoint,
    CheckpointClosed,
    CheckpointInUse,
    FlowChanged,
    LateRow,
    Superseded,
)
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import holder
from tidegate.flow.errors import BadArgument, BadInput

pytestmark = pytest.mark.spark


def test_answers_come_when_times_are_complete_and_late_rows_are_kept(place: Place) -> None:
    """A delay of 2 completes what is 2 behind; a later row is counted, readable, and says which bound it missed."""
    place.feed.add((1, "a", 1), (5, "a", 2), (None, "b", 3))
    place.feed.add((2, "a", 9), (3, "b", 4), (7, "b", 5))
    run = place.run(counts())
    assert place.rows() == [(1, "a", 1), (3, "b", 1)]
    status = run.status()
    assert (status.state, status.step, status.frontiers["out"]) == ("stopped", 1, "5")
    assert (status.rows["s"], status.late["s"], status.rejected["s"]) == (6, 1, 1)
    (late,) = run.late("s").collect()
    assert (late.time.t, late.source, late.step, late.reason, late.bound) == (2, "s", 1, "late", "3")
    assert tuple(late.row) == (2, "a", 9)
    (rejected,) = run.rejected("s").collect()
    assert (rejected.step, rejected.reason, tuple(rejected.row)) == (0, "null time in t", (None, "b", 3))
    assert [str(reason) for reason in run.why(6)] == ["s at 5 -> aggregate#1 at 5 -> sink out at 5"]
    assert run.why("4") == []
    assert [m["rows"] for m in run.metrics()] == [{"s": 3}, {"s": 3}]
    shown = CliRunner().invoke(app, ["inspect", str(place.path / "checkpoint")]).output
    assert "flow counts: step 1" in shown
    row = next(line for line in shown.splitlines() if "│ s " in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == ["s", "5", "6", "1", "1", "0"]


def test_a_run_goes_on_where_the_last_one_stopped_and_finish_completes_everything(place: Place) -> None:
    """Three starts on one checkpoint give each answer once; after the end nothing can follow."""
    place.feed.add((1, "a", 1), (4, "a", 1))
    place.run(counts())
    commits = place.path / "checkpoint" / "commits"
    (commits / ".1.of_a_run_that_was_killed.tmp").touch()
    place.feed.add((4, "a", 1), (9, "b", 1))
    place.run(counts())
    assert sorted(path.name for path in commits.iterdir()) == ["0", "1"]
    assert place.rows() == [(1, "a", 1), (4, "a", 2)]
    run = place.start(counts(), trigger={"processingTime": "0 seconds"})
    place.feed.add((9, "b", 1))
    run.finish()
    assert place.rows() == [(1, "a", 1), (4, "a", 2), (9, "b", 2)]
    assert run.status().state == "ended"
    assert run.status().frontiers == {"out": "everything is complete"}
    assert "  out: everything is complete\n" in str(run.status())
    with pytest.raises(CheckpointClosed, match="has ended"):
        place.start(counts())


def test_finish_raises_what_a_step_failed_with(place: Place) -> None:
    """The error of a step comes out as it is, and not as Spark's account of it."""
    place.feed.add((9, "a", 1))
    place.feed.add((1, "a", 1))
    run = place.start(counts(late="fail"), trigger={"processingTime": "0 seconds"})
    with pytest.raises(LateRow, match="no row of s below"):
        run.finish()
    assert run.status().state == "failed"


def test_the_end_of_the_input_completes_sources_that_say_so(place: Place) -> None:
    """With at_end and availableNow, the end is a step of its own; several sources share one query."""
    flow = tg.Flow("joined")
    left = flow.source("s", DDL, time="t")
    right = flow.source("r", DDL, time="t")
    names = flow.table("names", "k STRING, name STRING")
    joined = left.join(right.select("k", "x AS y"), on="k").join(names, on="k")
    flow.sink("out", joined)
    flow.sink("raw", left.where("x > 1").select("x"))
    other = Feed(place.path / "other")
    place.feed.add((1, "a", 1))
    place.feed.add((2, "b", 2))
    other.add((2, "b", 20), (1, "a", 10))
    table = place.spark.createDataFrame([("a", "ada"), ("b", "bob")], "k STRING, name STRING")
    run = place.run(flow, inputs={"r": other.stream(place.spark), "names": table})
    assert place.rows() == [(1, "a", 1, 10, "ada"), (2, "b", 2, 20, "bob")]
    assert place.rows("raw") == [(2, 2)]
    assert run.status().state == "ended"


def test_late_rows_fail_a_run_that_asks_for_it_and_are_counted_when_dropped(place: Place) -> None:
    """``late="fail"`` names the bound and commits nothing; ``late="drop"`` counts and keeps nothing."""
    place.feed.add((9, "a", 1))
    place.feed.add((1, "a", 1))
    with pytest.raises(LateRow, match="no row of s below 7, got 1"):
        place.run(counts(late="fail"))
    run = place.run(counts(late="drop"))
    assert run.status().late == {"s": 1}
    assert run.late("s").count() == 0


def test_a_second_run_is_kept_out_and_a_dead_holder_is_replaced(place: Place) -> None:
    """The lock names the holder; one that lives is left alone, one that is dead is not, and is kept out by a fence."""
    run = place.start(counts(), trigger={"processingTime": "1 second"})
    with pytest.raises(CheckpointInUse, match=f"process {os.getpid()}"):
        place.start(counts())
    run.stop()
    checkpoint = place.path / "checkpoint"
    assert sorted(path.name for path in (checkpoint / "locks").iterdir()) == ["1", "1.released"]
    dead = {"host": os.uname().nodename, "boot": "another", "process": 1, "started": "1"}
    (checkpoint / "locks" / "2").write_text(json.dumps(dead))
    os.utime(checkpoint / "locks" / "2", (1_000_000, 1_000_000))
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts())
    assert json.loads((checkpoint / "commits" / "0").read_text())["fence"]
    commit = json.loads((checkpoint / "commits" / "1").read_text())
    assert (commit["step"], commit["token"]["lock"]) == (0, 3)
    assert place.rows() == [(1, "a", 1)]


def test_a_run_that_has_nothing_to_do_stops_when_it_was_replaced(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat finds out; the run fails, and says which process on which host has taken over."""
    monkeypatch.setattr(lock_module, "_BEAT", 0.1)
    run = place.start(counts(), trigger={"processingTime": "1 second"})
    newer = {"host": "elsewhere", "boot": "x", "process": 42, "started": "1"}
    (place.path / "checkpoint" / "locks" / "2").write_text(json.dumps(newer))
    with pytest.raises(Superseded, match="process 42 on elsewhere works on"):
        run.await_termination(120)
    assert run.status().state == "failed"


def test_a_checkpoint_with_one_half_gone_is_refused(place: Place) -> None:
    """Neither half is guessed from the other; a commit that was cut short is named."""
    place.feed.add((1, "a", 1))
    place.run(counts())
    checkpoint = place.path / "checkpoint"
    commits = (checkpoint / "commits").rename(checkpoint / "elsewhere")
    with pytest.raises(BadCheckpoint, match="and no commits"):
        place.start(counts())
    commits.rename(checkpoint / "commits")
    spark_half = (checkpoint / "spark").rename(checkpoint / "away")
    with pytest.raises(BadCheckpoint, match="Spark's half"):
        place.start(counts())
    spark_half.rename(checkpoint / "spark")
    (checkpoint / "commits" / "0").write_text('{"step": 0, ')
    with pytest.raises(BadCheckpoint, match="can't be read"):
        place.start(counts())


def test_a_changed_flow_is_refused_unless_the_state_keeps_its_meaning(place: Place) -> None:
    """What comes after the state may change, and so may the delay; what the state means may not."""
    place.feed.add((1, "a", 1), (4, "a", 1))
    place.run(counts())
    other = tg.Flow("counts")
    rows = other.source("s", DDL, time="t", watermark=tg.bounded(2))
    other.sink("out", rows.aggregate(by="k", n="sum(x)"))
    with pytest.raises(FlowChanged, match=r"there is state of s\.aggregate"):
        place.start(other)
    same = tg.Flow("counts")
    rows = same.source("s", DDL, time="t", watermark=tg.bounded(0))
    same.sink("big", rows.aggregate(by="k", n="count(*)").where("n > 1"))
    place.feed.add((4, "a", 1), (9, "a", 1))
    place.run(same)
    assert place.rows("big") == [(4, "a", 2)]


def test_a_sink_does_not_come_back_to_a_directory_that_it_left(place: Place) -> None:
    """A sink may write elsewhere from some step on; what it left behind is not counted any more."""
    place.feed.add((1, "a", 1), (9, "a", 1))
    place.run(counts())
    place.feed.add((9, "b", 1), (20, "a", 1))
    place.run(counts(), outputs={"out": tg.parquet(place.path / "other")})
    assert place.rows("other") == [(9, "a", 1), (9, "b", 1)]
    with pytest.raises(BadCheckpoint, match="has results that sink 'out' wrote before it got another directory"):
        place.start(counts())


def test_an_output_belongs_to_one_checkpoint(place: Place) -> None:
    """A directory with anything in it, or of another checkpoint, is refused."""
    place.feed.add((1, "a", 1), (9, "a", 1))
    place.run(counts())
    inputs = {"s": place.feed.stream(place.spark)}
    taken = {"out": tg.parquet(str(place.path / "out"))}
    with pytest.raises(BadCheckpoint, match="is the output of sink 'out'"):
        counts().start(place.spark, inputs, taken, str(place.path / "checkpoint2"))
    with pytest.raises(BadCheckpoint, match="an empty directory"):
        counts().start(place.spark, inputs, {"out": tg.parquet(str(place.path / "in"))}, str(place.path / "c3"))
    with pytest.raises(BadCheckpoint, match="the output of a flow"):
        tg.read(place.spark, str(place.path / "in"))


def test_functions_are_called_with_the_rows_and_the_number_of_each_step(place: Place) -> None:
    """``foreach`` sees each step that has rows once; ``memory`` collects them in a view."""
    calls: list[tuple[int, list[Any]]] = []
    flow = counts(delay=0)
    flow.sink("seen", flow.source("u", DDL, time="t").select("x"))
    other = Feed(place.path / "other")
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.feed.add((2, "a", 1))
    place.feed.add((3, "a", 1))
    other.add((1, "z", 42))
    outputs = {
        "out": tg.foreach(lambda rows, step: calls.append((step, [tuple(r) for r in rows.collect()]))),
        "seen": tg.memory("seen_rows"),
    }
    place.run(flow, outputs=outputs, inputs={"u": other.stream(place.spark)})
    assert calls == [(0, [(1, "a", 1)]), (2, [(2, "a", 2)]), (3, [(3, "a", 1)])]
    assert [tuple(r) for r in place.spark.sql("SELECT * FROM seen_rows").collect()] == [(1, 42)]


def test_what_can_not_run_on_streams_is_refused_at_the_start(place: Place) -> None:
    """Refused with a word, before anything is read or written."""
    with pytest.raises(BadInput, match="a streaming DataFrame"):
        place.start(counts(), inputs={"s": place.spark.createDataFrame([], DDL)})
    with pytest.raises(BadArgument, match="no sink for"):
        place.start(counts(), outputs={"uot": tg.parquet("x")})
    assert not holder(Files(place.path / "checkpoint"))
    with pytest.raises(BadArgument, match="expected trigger as a mapping, got '10 seconds'"):
        place.start(counts(), trigger="10 seconds")
    with pytest.raises(BadArgument, match="unknown trigger 'availablenow'"):
        place.start(counts(), trigger={"availablenow": True})
    empty = tg.Flow("empty")
    empty.source("s", DDL, time="t")
    with pytest.raises(BadArgument, match="expected a flow with a sink, got none"):
        place.start(empty, outputs={})
    assert not (place.path / "checkpoint" / "id").exists()
