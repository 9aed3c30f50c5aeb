"""Files as a stream: which ones are taken, each once, by whatever path they are found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import SCHEMA, counts
from tidegate.engine.storage.errors import FlowChanged
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import last_commit
from tidegate.flow.errors import BadInput


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of its own."""
    return Place(tmp_path)


def write(path: Path, *rows: tuple[Any, ...], schema: pa.Schema = SCHEMA) -> None:
    """Write a file of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), path)


def read(place: Place, given: Any) -> dict[str, int]:
    """How many rows of each source were read, after all that there is."""
    return place.run(counts(delay=100), inputs={"s": given}).status().rows


def test_names_that_look_like_patterns_are_names(place: Place) -> None:
    """`a[1].parquet` is not `a1.parquet`; neither is a name with a star, or a quote."""
    for number, name in enumerate(("a1", "a[1]", "b*", "b'c", "d?")):
        write(place.feed.path / f"{name}.parquet", *[(number, name, 1)] * (number + 1))
    place.start(counts(delay=100), inputs={"s": tg.files(place.feed.path, per_step=1)}, trigger=None).finish()
    assert place.rows() == [(0, "a1", 1), (1, "a[1]", 2), (2, "b*", 3), (3, "b'c", 4), (4, "d?", 5)]


def test_a_name_with_brackets_may_be_given_itself(place: Place) -> None:
    """What is there under that very name is meant, and not what it matches."""
    write(place.feed.path / "a1.parquet", (1, "a1", 1))
    write(place.feed.path / "a[1].parquet", (1, "a[1]", 1), (2, "a[1]", 1))
    assert read(place, tg.files(place.feed.path / "a[1].parquet")) == {"s": 2}


def test_a_directory_is_the_same_however_it_is_spelled(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were taken are known after a restart, through a link, a detour, a scheme and a relative path."""
    write(place.feed.path / "a.parquet", (1, "a", 1))
    assert read(place, tg.files(place.feed.path)) == {"s": 1}
    (place.path / "link").symlink_to(place.feed.path)
    monkeypatch.chdir(place.path)
    spellings = [place.feed.path / ".." / "in", place.path / "link", f"file://{place.feed.path}", "in", "in/*.parquet"]
    for spelled in [*spellings, f"file:{place.feed.path}", "link/*", "./in//a.parquet"]:
        assert read(place, tg.files(spelled)) == {"s": 1}, spelled
    given = tg.files("in")
    monkeypatch.chdir("/")
    assert read(place, given) == {"s": 1}
    write(place.feed.path / "b.parquet", (1, "b", 1))
    assert read(place, given) == {"s": 2}


def test_a_file_that_is_found_twice_is_taken_once(place: Place) -> None:
    """By a pattern that matches a directory and what is in it, or through a link beside the file."""
    write(place.feed.path / "day=1" / "a.parquet", (1, "a", 1))
    (place.feed.path / "b.parquet").symlink_to(place.feed.path / "day=1" / "a.parquet")
    assert read(place, tg.files(place.feed.path / "**")) == {"s": 1}


def test_what_is_hidden_anywhere_below_is_not_taken(place: Place) -> None:
    """Writers that are at work have directories such as `_temporary`; those above the pattern do not count."""
    base = place.path / "_data" / ".in"
    write(base / "a.parquet", (1, "a", 1))
    write(base / "deep" / "er" / "b.parquet", (1, "b", 1))
    for hidden in ("_temporary/0/c.parquet", "deep/_c.parquet", ".d/e.parquet", "deep/.f.parquet"):
        write(base / hidden, (1, "hidden", 1))
    for pattern in ("**/*.parquet", "**", "", "*"):
        place.path = base / ".." / f"for {pattern.replace('/', ' ').replace('*', 'x')}"
        place.path.mkdir()
        assert read(place, tg.files(f"{base}/{pattern}")) == {"s": 2}, pattern


def test_a_pattern_may_match_datasets(place: Place) -> None:
    """A directory that it matches is read, with all that is in it."""
    write(place.feed.path / "one.parquet" / "part-0.parquet", (1, "a", 1))
    write(place.feed.path / "one.parquet" / "_SUCCESS", (1, "hidden", 1))
    write(place.feed.path / "two.parquet", (1, "b", 1))
    assert read(place, tg.files(place.feed.path / "*.parquet")) == {"s": 2}


def test_files_whose_types_differ_are_refused_and_not_cast(place: Place) -> None:
    """DuckDB would read all of them as the first."""
    wide = pa.schema([("t", pa.int32()), ("k", pa.string()), ("x", pa.float64())])
    write(place.feed.path / "a.parquet", (1, "a", 1))
    write(place.feed.path / "b.parquet", (2, "a", 1.5), schema=wide)
    with pytest.raises(BadInput, match=r"(?s)x of type INT, got DOUBLE.*b.parquet.*source 's'"):
        read(place, tg.files(place.feed.path))


def test_files_may_have_their_columns_in_any_order(place: Place) -> None:
    """Each is read by the names of its columns."""
    other = pa.schema([("x", pa.int32()), ("K", pa.string()), ("t", pa.int32())])
    write(place.feed.path / "a.parquet", (1, "a", 5))
    write(place.feed.path / "b.parquet", (7, "b", 2), schema=other)
    place.start(counts(), inputs={"s": tg.files(place.feed.path)}, trigger=None).finish()
    assert place.rows() == [(1, "a", 1), (2, "b", 1)]


def two() -> tg.Flow:
    """A flow of two sources."""
    flow = tg.Flow("two")
    for name in ("s", "r"):
        rows = flow.source(name, "t INT, k STRING, x INT", time="t", watermark=tg.bounded(100))
        flow.sink(f"out_{name}", rows.aggregate(by="k", n="count(*)"))
    return flow


def test_the_position_of_a_source_that_gave_nothing_is_in_the_commit(place: Place) -> None:
    """It would be forgotten otherwise, and begin anew: rows would come twice."""
    write(place.feed.path / "a.parquet", (1, "a", 1))
    write(place.path / "other" / "b.parquet", (1, "b", 1))
    inputs = {"s": tg.files(place.feed.path), "r": tg.files(place.path / "other")}
    place.run(two(), inputs=inputs)
    for name in ("c", "d"):
        write(place.feed.path / f"{name}.parquet", (2, name, 1))
        place.run(two(), inputs=inputs)
    commit = last_commit(Files(place.path / "checkpoint"))
    assert commit is not None
    assert {name: at["at"] for name, at in commit["positions"].items()} == {"s": {"files": 3}, "r": {"files": 1}}
    assert place.run(two(), inputs=inputs).status().rows == {"s": 3, "r": 1}


def test_another_kind_of_stream_cannot_go_on(place: Place) -> None:
    """A position among files means nothing to an iterator, nor the other way round."""
    place.feed.add((1, "a", 1))
    place.run(counts())
    with pytest.raises(FlowChanged, match=r"(?s)has read from files, and got batches.*source 's'"):
        place.start(counts(), inputs={"s": lambda taken: iter([])})


def test_once_takes_all_there_is_and_does_not_close_the_checkpoint(place: Place) -> None:
    """However many files a step takes otherwise; what comes later is read by the next start."""
    for number in range(5):
        place.feed.add((number, "a", 1))
    run = place.run(counts(delay=100), trigger={"once": True})
    assert [step["rows"] for step in run.metrics()] == [{"s": 5}]
    place.feed.add((9, "a", 1))
    assert place.run(counts(delay=100), trigger={"once": True}).status().rows == {"s": 6}


def test_the_end_comes_after_all_files_that_are_there(place: Place) -> None:
    """`finish` reads what there is, however many steps that takes, before it closes the checkpoint."""
    for number in range(6):
        place.feed.add((number, "a", 1))
    place.start(counts(), trigger={"processingTime": "1 hour"}).finish()
    assert [row[0] for row in place.rows()] == list(range(6))


def test_a_source_that_waits_for_its_end_gets_all_files_first(place: Place) -> None:
    """With `availableNow` and `at_end`, all that there was when it began is read before everything is complete."""
    flow = tg.Flow("whole")
    rows = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.at_end())
    flow.sink("out", rows.aggregate(by="k", n="count(*)"))
    for number in range(4):
        place.feed.add((number % 2, "a", 1))
    assert place.run(flow).status().state == "ended"
    assert place.rows() == [(0, "a", 2), (1, "a", 2)]


def test_files_of_one_time_are_taken_in_the_order_of_their_names(place: Place) -> None:
    """Else rows would be late in one run that are not in another."""
    # In no order that a listing would have by itself.
    for number, name in ((2, "c"), (0, "a"), (4, "e"), (1, "b"), (3, "d")):
        write(place.feed.path / f"{name}.parquet", (number, name, 1))
        os.utime(place.feed.path / f"{name}.parquet", (5, 5))
    run = place.run(counts(delay=0))
    assert len(run.metrics()) == 5
    assert run.status().late == {"s": 0}
