"""Batches and readers as streams: what a run asks of them, and what it makes of what they give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import DDL, SCHEMA, counts
from tidegate.engine.storage.errors import BadCheckpoint, FlowChanged, RunFailed
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import last_commit
from tidegate.flow.errors import BadInput, TidegateError


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of its own."""
    return Place(tmp_path)


def batch(*rows: tuple[Any, ...], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def whole() -> tg.Flow:
    """A flow that answers when its input has ended."""
    flow = tg.Flow("whole")
    rows = flow.source("s", DDL, time="t", watermark=tg.at_end())
    flow.sink("out", rows.aggregate(by="k", total="sum(x)"))
    return flow


# Batches.


def test_batches_that_wait_together_may_have_their_columns_in_any_order(place: Place) -> None:
    """Each is read by the names of its columns, also where they differ from batch to batch."""
    turned = pa.schema([("x", pa.int32()), ("K", pa.string()), ("t", pa.int32())])
    given = [batch((1, "a", 5)), batch((7, "b", 2), schema=turned), batch((3, "a", 1))]
    place.run(whole(), inputs={"s": iter(given)})
    assert place.rows() == [(1, "a", 5), (2, "b", 7), (3, "a", 1)]


def test_a_batch_with_other_types_or_columns_is_refused(place: Place) -> None:
    """Beside one that is as declared: it is not cast to what the other has."""
    other = pa.schema([("t", pa.int32()), ("k", pa.string()), ("x", pa.float64())])
    with pytest.raises(BadInput, match="column x of type INT, got DOUBLE"):
        place.run(whole(), inputs={"s": iter([batch((1, "a", 1)), batch((1, "a", 1.5), schema=other)])})
    assert last_commit(Files(place.path / "checkpoint")) is None


def test_an_iterator_is_not_touched_if_the_start_is_refused(place: Place) -> None:
    """Whoever mends what was wrong can give the same iterator again."""
    asked: list[int] = []

    def rows() -> Iterator[pa.RecordBatch]:
        for number in range(3):
            asked.append(number)
            yield batch((number, "a", 1))

    given = rows()
    (place.path / "out").mkdir()
    (place.path / "out" / "mine.txt").write_text("not an output")
    with pytest.raises(BadCheckpoint, match="expected an empty directory"):
        place.start(whole(), inputs={"s": given})
    assert asked == []
    (place.path / "out" / "mine.txt").unlink()
    place.run(whole(), inputs={"s": given})
    assert [row[0] for row in place.rows()] == [0, 1, 2]


@pytest.mark.parametrize("trigger", [None, {"availableNow": True}, {"once": True}, {"processingTime": "1 hour"}])
def test_the_end_never_comes_before_rows_that_are_on_their_way(place: Place, trigger: Any) -> None:
    """A slow iterator is waited for, whatever ends the run: its rows are read before the checkpoint is closed."""
    more = Event()

    def slow(taken: int) -> Iterator[pa.RecordBatch]:
        for number in range(taken, 4):
            yield batch((number, "a", number))
            more.wait(0.15)

    run = place.start(whole(), inputs={"s": slow}, trigger=trigger)
    if trigger is None or "processingTime" in trigger:
        run.finish()
    assert run.await_termination(60)
    assert run.status().state == "ended"
    assert place.rows() == [(number, "a", number) for number in range(4)]


# Readers.


class Reader:
    """A connector of numbers: a row for each number between two offsets."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.stopped = 0

    def initialOffset(self) -> Any:
        return {"n": 0}

    def latestOffset(self) -> Any:
        return {"n": self.last}

    def partitions(self, start: Any, end: Any) -> Any:
        return [range(start["n"], end["n"])]

    def read(self, partition: Any) -> Iterator[Any]:
        yield from ((n, "a", n) for n in partition)

    def stop(self) -> None:
        self.stopped += 1


def test_offsets_are_told_as_they_are_after_a_restart(place: Place) -> None:
    """JSON has texts as keys: a reader with numbers as keys gets texts from the first time on."""

    class Numbered(Reader):
        asked: ClassVar[list[Any]] = []

        def initialOffset(self) -> Any:
            return {0: 0}

        def latestOffset(self) -> Any:
            return {0: self.last}

        def partitions(self, start: Any, end: Any) -> Any:
            self.asked.append((start, end))
            return [range(start["0"], end["0"])]

    for last in (2, 2, 5):
        place.run(counts(), inputs={"s": Numbered(last)})
    assert Numbered.asked == [({"0": 0}, {"0": 2}), ({"0": 2}, {"0": 5})]


def test_a_reader_may_change_one_offset_in_place(place: Place) -> None:
    """What it was before is not lost: an offset is copied when it is told."""

    class Mutable(Reader):
        offset: ClassVar[dict[str, int]] = {"n": 0}

        def initialOffset(self) -> Any:
            return self.offset

        def latestOffset(self) -> Any:
            self.offset["n"] = min(self.offset["n"] + 2, self.last)
            return self.offset

    run = place.start(whole(), inputs={"s": Mutable(6)}, trigger=None)
    run.finish()
    assert run.status().rows == {"s": 6}
    assert [row[0] for row in place.rows()] == list(range(6))


def test_a_reader_that_goes_back_is_refused(place: Place) -> None:
    """Its rows would be read twice, or an empty range would be taken for all there is."""
    place.run(counts(), inputs={"s": Reader(4)})
    with pytest.raises(BadInput, match=r"(?s)offsets that grow, got {'n': 2} after {'n': 4}.*source 's'"):
        place.run(counts(), inputs={"s": Reader(2)})


def test_an_offset_that_json_cannot_hold_is_refused(place: Place) -> None:
    """It could not be in a commit."""

    class Odd(Reader):
        def latestOffset(self) -> Any:
            return {"n": {1, 2}}

    with pytest.raises(BadInput, match=r"(?s)expected an offset that JSON can hold from Odd.*source 's'"):
        place.run(counts(), inputs={"s": Odd(2)})


def test_a_reader_may_be_told_where_it_is_and_how_much_is_wanted(place: Place) -> None:
    """As PySpark 4.2 has it, `latestOffset(start, limit)`; also with the start alone."""

    class Limited(Reader):
        starts: ClassVar[list[Any]] = []

        def latestOffset(self, start: Any, limit: Any) -> Any:  # type: ignore[override]
            self.starts.append(start)
            return {"n": min(start["n"] + 3, self.last)}

    class Started(Reader):
        def latestOffset(self, start: Any) -> Any:  # type: ignore[override]
            return {"n": self.last}

    run = place.start(whole(), inputs={"s": Limited(7)}, trigger=None)
    run.finish()
    assert run.status().rows == {"s": 7}
    assert [start["n"] for start in Limited.starts][:4] == [0, 3, 6, 7]
    place.path = place.path / "other"
    place.path.mkdir()
    assert place.run(whole(), inputs={"s": Started(3)}).status().rows == {"s": 3}


def test_available_now_reads_what_there_was_in_the_beginning(place: Place) -> None:
    """A reader that always has more would never end."""

    class Endless(Reader):
        def latestOffset(self) -> Any:
            self.last += 2
            return {"n": self.last}

    assert place.run(counts(), inputs={"s": Endless(0)}).status().rows == {"s": 2}


class Slices(Reader):
    """A reader that gives two rows at a time, unless all are asked for."""

    def getDefaultReadLimit(self) -> Any:
        return 2

    def latestOffset(self, start: Any, limit: Any) -> Any:  # type: ignore[override]
        return {"n": min(start["n"] + limit, self.last) if limit == 2 else self.last}


class Prepared(Slices):
    """A reader that is told to look once, and gives two rows at a time of what it saw."""

    seen = 0

    def prepareForTriggerAvailableNow(self) -> None:
        self.seen = self.last

    def latestOffset(self, start: Any, limit: Any) -> Any:
        assert limit == 2
        self.last += 1
        return {"n": min(start["n"] + limit, self.seen or 5)}


@pytest.mark.parametrize("kind", [Slices, Prepared])
@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"once": True}, None])
def test_a_reader_that_gives_a_little_at_a_time_is_read_to_the_end(place: Place, kind: Any, trigger: Any) -> None:
    """The end comes when there is no more, and not after what one step takes: no row is left behind a closed end."""
    run = place.start(whole(), inputs={"s": kind(5)}, trigger=trigger)
    if trigger is None:
        run.finish()
    assert run.await_termination(60)
    assert (run.status().rows, run.status().state) == ({"s": 5}, "ended")
    assert len(place.rows()) == 5


def test_a_reader_that_cannot_be_stopped_does_not_hold_the_checkpoint(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said, and the lock is released."""

    class Stubborn(Reader):
        def stop(self) -> None:
            raise ConnectionError("still busy")

    place.run(counts(), inputs={"s": Stubborn(3)})
    assert "source 's' could not be closed: still busy" in caplog.text
    assert place.run(counts(), inputs={"s": Stubborn(5)}).status().rows == {"s": 5}


def test_a_reader_is_stopped_if_the_start_is_refused(place: Place) -> None:
    """What it holds open is not left open."""
    place.feed.add((1, "a", 1))
    place.run(counts())
    reader = Reader(3)
    with pytest.raises(FlowChanged, match="has read from files, and got reader"):
        place.start(counts(), inputs={"s": reader})
    assert reader.stopped == 1


def test_what_a_reader_fails_with_is_told(place: Place) -> None:
    """With the source, and nothing of the step is committed."""

    class Failing(Reader):
        def read(self, partition: Any) -> Iterator[Any]:
            yield (0, "a", 1)
            raise TimeoutError("no answer")

    with pytest.raises(RunFailed, match=r"(?s)TimeoutError: no answer.*source 's'"):
        place.run(counts(), inputs={"s": Failing(3)})
    odd = Reader(3)
    odd.read = lambda partition: iter([(1, 2)])  # type: ignore[method-assign]
    with pytest.raises(TidegateError, match=r"(?s)expected rows of 3 values from Reader.read, got \(1, 2\)"):
        place.run(counts(), inputs={"s": odd})
    assert place.run(counts(), inputs={"s": Reader(3)}).status().rows == {"s": 3}
