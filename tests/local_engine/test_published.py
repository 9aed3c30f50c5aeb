"""Following the output of another flow: its steps in order, whole, with the columns and times that it has."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import DDL, counts
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.published import PROMISES
from tidegate.flow.errors import BadInput
from tidegate.local_engine.streaming.feeds import published

OUT = "t INT, k STRING, n BIGINT"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of its own."""
    return Place(tmp_path)


def follower(place: Place, ddl: str = OUT, **options: Any) -> tg.Flow:
    """A flow that follows what `counts` gives."""
    flow = tg.Flow("following")
    options = {"time": "t", "watermark": tg.published(place.path / "out")} | options
    flow.sink("seen", flow.source("s", ddl, **options).select("k", "n"))
    return flow


def follow(place: Place, flow: tg.Flow, at: str = "other", **options: Any) -> tg.Run:
    inputs = {"s": tg.read_stream(place.session, place.path / "out")}
    outputs = {"seen": tg.parquet(place.path / "seen")} | options.pop("outputs", {})
    options.setdefault("trigger", {"availableNow": True})
    run = flow.start(place.session, inputs, outputs, place.path / at, **options)
    assert run.await_termination(60)
    return run


def made(place: Place, steps: Iterable[int]) -> None:
    """Let `counts` make steps, each of which completes a time."""
    for t in steps:
        place.feed.add((t, "a", 1))
    place.run(counts(delay=0))


def test_a_listing_without_a_step_is_not_believed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory may be listed with a step and without the one before it: neither is taken, and nothing is lost."""
    made(place, range(5))
    real, gone = Files.names, {"step=3"}

    def names(self: Files, *given: Any) -> list[str]:
        return [name for name in real(self, *given) if name not in gone]

    monkeypatch.setattr(Files, "names", names)
    run = follow(place, follower(place, watermark=tg.bounded(0)))
    assert run.status().rows == {"s": 2}
    gone.clear()
    assert follow(place, follower(place, watermark=tg.bounded(0))).status().rows == {"s": 4}


def test_a_step_whose_manifest_is_not_there_yet_is_waited_for(place: Place) -> None:
    """Its files may not be all: an earlier version moves them one by one."""
    made(place, range(4))
    (manifest,) = sorted(place.path.glob("out/step=*/_files.json"))[-1:]
    aside = manifest.rename(place.path / "aside")
    flow = follower(place, watermark=tg.bounded(0))
    assert follow(place, flow).status().rows == {"s": 2}
    aside.rename(manifest)
    assert follow(place, flow).status().rows == {"s": 3}


def test_a_file_that_is_damaged_is_not_read(place: Place) -> None:
    """Its size and the number of its rows are in the manifest."""
    made(place, range(4))
    (file,) = sorted(place.path.glob("out/step=*/*.parquet"))[-1:]
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(BadCheckpoint, match=r"(?s)the output of step 3.*source 's'"):
        follow(place, follower(place))


def more(name: str = "counts") -> tg.Flow:
    """`counts` with one more column."""
    flow = tg.Flow(name)
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.aggregate(by="k", n="count(*)").with_columns(twice="n * 2"))
    return flow


def test_an_output_that_got_a_column_is_read_with_it(place: Place) -> None:
    """Rows from before have none; who declares the column gets NULL, who does not is told."""
    made(place, range(3))
    place.feed.add((3, "b", 1))
    place.start(more(), trigger=None).finish()
    found = tg.read(place.session, place.path / "out")
    assert sorted(found.fetchall()) == [(0, "a", 1, None), (1, "a", 1, None), (2, "a", 1, 2), (3, "b", 1, 2)]
    flow = tg.Flow("both")
    source = flow.source("s", f"{OUT}, twice BIGINT", time="t", watermark=tg.published(place.path / "out"))
    flow.sink("seen", source.select("n", "twice"))
    follow(place, flow)
    assert sorted(tg.read(place.session, place.path / "seen").fetchall(), key=repr) == [
        (0, 1, None),
        (1, 1, None),
        (2, 1, 2),
        (3, 1, 2),
    ]
    with pytest.raises(BadInput, match="twice"):
        follow(place, follower(place), at="third")


def test_times_in_another_order_are_refused(place: Place) -> None:
    """A frontier of (t, u) is none of (u, t)."""
    flow = tg.Flow("pairs")
    rows = flow.source("s", "t INT, u INT", time=("t", "u"), watermark=tg.bounded(0, 0))
    flow.sink("out", rows)
    table = pa.table({"t": pa.array([1], pa.int32()), "u": pa.array([2], pa.int32())})
    place.run(flow, inputs={"s": iter([table])})
    turned = tg.Flow("turned")
    read = turned.source("s", "t INT, u INT", time=("u", "t"), watermark=tg.published(place.path / "out"))
    turned.sink("seen", read)
    with pytest.raises(BadInput, match="expected a frontier of times u INT, t INT, got one of t INT, u INT"):
        follow(place, turned)


def test_what_is_no_output_is_refused(place: Place) -> None:
    """A directory of files, and one that is not there: what is committed in them, nobody knows."""
    place.feed.add((1, "a", 1))
    for path in (place.feed.path, place.path / "nowhere"):
        with pytest.raises(BadCheckpoint, match="expected the output of a flow in"):
            tg.read(place.session, path)
        flow = tg.Flow("wrong")
        flow.sink("seen", flow.source("s", DDL, time="t", watermark=tg.bounded(0)))
        with pytest.raises(BadCheckpoint, match=r"(?s)expected the output of a flow in.*source 's'"):
            flow.start(
                place.session,
                {"s": tg.read_stream(place.session, path)},
                {"seen": tg.parquet(place.path / "seen")},
                place.path / "ck",
            )


def test_rows_of_another_output_than_the_frontier_are_refused(place: Place) -> None:
    """The frontier of one says nothing about the rows of the other."""
    made(place, range(3))
    flow = tg.Flow("mixed")
    source = flow.source("s", OUT, time="t", watermark=tg.published(place.path / "elsewhere"))
    flow.sink("seen", source)
    with pytest.raises(BadInput, match="expected rows of the output whose frontier the source follows"):
        follow(place, flow)


def test_an_output_that_begins_anew_is_not_taken_for_the_one_that_was_followed(place: Place) -> None:
    """Its steps have the same numbers, and other rows."""
    made(place, range(3))
    follow(place, follower(place))
    for name in ("out", "checkpoint"):
        shutil.rmtree(place.path / name)
    made(place, range(4))
    with pytest.raises(BadCheckpoint, match=r"(?s)got that of another checkpoint.*source 's'"):
        follow(place, follower(place))


def test_more_steps_than_one_step_takes_are_all_taken(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a run that ends when it has read what there is."""
    monkeypatch.setattr(published, "_AT_ONCE", 2)
    made(place, range(8))
    run = follow(place, follower(place, watermark=tg.at_end()))
    assert run.status().rows == {"s": 7}
    assert run.status().state == "ended"


def test_frontiers_are_followed_through_steps_without_rows(place: Place) -> None:
    """A step that completes times, and gives nothing, lets the follower complete them too."""
    flow = tg.Flow("counts")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.where("x > 1").aggregate(by="k", n="count(*)"))
    for t, x in ((1, 2), (2, 1), (5, 1)):
        place.feed.add((t, "a", x))
    place.run(flow)
    run = follow(place, follower(place))
    assert run.status().frontiers == {"seen": "5"}
    assert run.status().rows == {"s": 1}


def test_a_file_scheme_names_the_same_output(place: Place) -> None:
    """`file://` and plain paths are one place, for outputs, checkpoints, reading and following."""
    place.feed.add((1, "a", 1), (9, "b", 1))
    at = f"file://{place.path}"
    flow = counts()
    outputs = {"out": tg.parquet(f"{at}/out")}
    inputs = {"s": tg.files(f"{at}/in")}
    flow.start(place.session, inputs, outputs, f"{at}/checkpoint").finish()
    assert place.rows() == [(1, "a", 1), (9, "b", 1)]
    assert sorted(tg.read(place.session, f"{at}/out").fetchall()) == place.rows()
    assert not list(place.path.glob("file:*"))
    other = follower(place, watermark=tg.published(f"{at}/out"))
    assert follow(place, other).status().rows == {"s": 2}


def test_a_frontier_that_cannot_be_read_is_told(place: Place) -> None:
    """It is not taken for one that was never published."""
    made(place, range(4))
    (place.path / "out" / PROMISES / "3.json").write_text("{")
    with pytest.raises(BadCheckpoint, match=r"(?s)3.json.*source 's'"):
        follow(place, follower(place))
