"""Runs on streams in this process: what they read, what comes out, how they go on, stop and end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import DDL, SCHEMA, counts
from tidegate.engine.storage.errors import (
    BadCheckpoint,
    CheckpointClosed,
    RunFailed,
)
from tidegate.flow.errors import BadInput
from tidegate.local_engine.streaming import parts


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of its own."""
    return Place(tmp_path)


def batch(*rows: tuple[Any, ...]) -> pa.RecordBatch:
    columns = [[row[i] for row in rows] for i in range(len(SCHEMA))]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def test_files_are_taken_once_and_a_later_start_goes_on(place: Place) -> None:
    """Each start takes what is new; what is not complete waits in the checkpoint."""
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.feed.add((2, "b", 1), (5, "a", 1))
    first = place.run(counts())
    assert place.rows() == [(1, "a", 1), (2, "a", 1), (2, "b", 1)]
    assert [step["rows"] for step in first.metrics()] == [{"s": 2}, {"s": 2}]
    assert first.status().state == "stopped"
    place.feed.add((9, "a", 1))
    run = place.run(counts())
    assert [step["rows"] for step in run.metrics()] == [{"s": 1}]
    assert run.status().rows == {"s": 5}
    assert place.rows() == [(1, "a", 1), (2, "a", 1), (2, "b", 1), (5, "a", 1)]
    place.start(counts(), trigger=None).finish()
    assert place.rows()[-1] == (9, "a", 1)
    with pytest.raises(CheckpointClosed):
        place.start(counts())


def test_files_come_in_the_order_of_their_times_whatever_they_are_called(place: Place) -> None:
    """A name that sorts before those that were taken, and an older time, are new all the same."""
    place.feed.add((5, "a", 1))
    place.run(counts(delay=10))
    place.feed.add((6, "a", 1))
    os.replace(place.feed.path / "0001.parquet", place.feed.path / "0000a.parquet")
    os.utime(place.feed.path / "0000a.parquet", (1, 1))
    pq.write_table(pa.Table.from_batches([batch((7, "a", 1))]), place.feed.path / "_hidden.parquet")
    assert place.run(counts(delay=10)).status().rows == {"s": 2}


def test_a_file_that_changes_is_an_error_and_one_that_is_deleted_is_not(place: Place) -> None:
    """Nobody would know which of its rows were taken."""
    place.feed.add((1, "a", 1))
    place.feed.add((2, "a", 1))
    place.run(counts())
    (place.feed.path / "0001.parquet").unlink()
    place.feed.add((3, "a", 1))
    assert place.run(counts()).status().rows == {"s": 3}
    pq.write_table(pa.Table.from_batches([batch((1, "a", 1), (9, "b", 2))]), place.feed.path / "0000.parquet")
    with pytest.raises(BadInput, match=r"(?s)0000.parquet, which had.*source 's'.*flow 'counts'"):
        place.run(counts())


def test_a_file_that_changes_while_it_is_read_is_an_error(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the step is committed, and the file is taken when it is whole."""
    from tidegate.local_engine.streaming.feeds import files

    place.feed.add((1, "a", 1), (9, "b", 1))
    real = files.rows_of_files

    def growing(*given: Any) -> Any:
        found = real(*given)
        pq.write_table(pa.Table.from_batches([batch((1, "a", 1), (9, "b", 1), (9, "c", 1))]), given[3][0])
        return found

    with monkeypatch.context() as patched:
        patched.setattr(files, "rows_of_files", growing)
        with pytest.raises(BadInput, match="when it was checked again"):
            place.run(counts())
    assert place.run(counts()).status().rows == {"s": 3}


def test_an_iterator_of_batches_ends_the_run(place: Place) -> None:
    """What it has given is all there is: everything is complete, and the checkpoint is closed."""
    run = place.run(counts(), inputs={"s": iter([batch((1, "a", 1)), batch((4, "a", 2), (4, "b", 1))])}, trigger=None)
    assert run.status().state == "ended"
    assert place.rows() == [(1, "a", 1), (4, "a", 1), (4, "b", 1)]


def test_an_iterator_has_no_position_and_a_function_has(place: Place) -> None:
    """A function is told how many batches were taken; an iterator is refused where there are commits."""
    batches = [batch((n, "a", 1)) for n in range(6)]
    asked: list[int] = []
    more = threading.Event()

    def from_number(taken: int) -> Iterator[pa.RecordBatch]:
        asked.append(taken)
        yield from batches[taken:3] if not more.is_set() else batches[taken:]
        more.wait(30)

    run = place.start(counts(), inputs={"s": from_number}, trigger=None)
    deadline = time.monotonic() + 30
    while run.status().rows != {"s": 3}:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert run.stop()
    more.set()
    with pytest.raises(BadCheckpoint, match=r"(?s)continue after 3 of them, got an iterator.*source 's'"):
        place.start(counts(), inputs={"s": iter(batches)})
    place.run(counts(), inputs={"s": from_number}, trigger=None)
    assert asked == [0, 3]
    assert place.rows() == [(n, "a", 1) for n in range(6)]


def test_an_iterator_that_fails_stops_the_run_with_its_error(place: Place) -> None:
    """What it gave before is not lost: it is committed, or will be asked for again."""

    def failing(taken: int) -> Iterator[pa.RecordBatch]:
        yield batch((taken, "a", 1))
        raise ConnectionError("the line is dead")

    with pytest.raises(RunFailed, match=r"(?s)ConnectionError: the line is dead.*flow 'counts'"):
        place.run(counts(), inputs={"s": failing})


def test_what_is_no_stream_is_refused(place: Place) -> None:
    """With what would be one."""
    for given, says in (
        (pa.Table.from_batches([batch((1, "a", 1))]), "expected a stream, got Table, which is bounded"),
        ("in/*.parquet", "expected a stream, got str"),
        (3, "expected a stream, got int"),
    ):
        with pytest.raises(BadInput, match=says):
            place.start(counts(), inputs={"s": given})
    with pytest.raises(BadInput, match=r"(?s)expected columns.*it lacks x INT"):
        place.run(counts(), inputs={"s": iter([batch((1, "a", 1)).drop_columns(["x"])])})


class Sensors:
    """A connector, as PySpark has them: rows between two numbers."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.asked: list[tuple[int, int]] = []
        self.done: list[int] = []
        self.stopped = False

    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def latestOffset(self) -> dict[str, int]:
        return {"n": self.last}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[tuple[int, int]]:
        self.asked.append((start["n"], end["n"]))
        middle = (start["n"] + end["n"]) // 2
        return [(start["n"], middle), (middle, end["n"])]

    def read(self, partition: tuple[int, int]) -> Iterator[Any]:
        for n in range(*partition):
            yield (n, "a", n) if n % 2 else batch((n, "a", n))

    def commit(self, end: dict[str, int]) -> None:
        self.done.append(end["n"])

    def stop(self) -> None:
        self.stopped = True


def test_a_reader_is_asked_for_what_lies_between_two_offsets(place: Place) -> None:
    """It is told what is committed, after the commit and before anything is published."""
    reader = Sensors(4)
    at: list[tuple[str, list[int]]] = []

    def probe(point: str, step: int) -> None:
        at.append((point, list(reader.done)))

    from tidegate.local_engine.streaming import start

    outputs = {"out": tg.parquet(place.path / "out")}
    options: dict[str, Any] = {"trigger": {"availableNow": True}, "probe": probe}
    start(
        counts().plan, place.session, {"s": reader}, outputs, place.path / "checkpoint", **options
    ).await_termination()
    assert dict(at)["after commit"] == []
    assert dict(at)["publishing"] == [4]
    assert reader.stopped
    again = Sensors(10)
    place.run(counts(), inputs={"s": again})
    assert (reader.asked, again.asked, again.done) == ([(0, 4)], [(4, 10)], [10])
    assert [row[0] for row in place.rows()] == list(range(7))


def test_outputs_of_every_kind(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Functions and objects of one's own get Arrow tables; the console shows rows; memory is a table of the session."""

    class Ledger:
        def __init__(self) -> None:
            self.claimed: list[Any] = []
            self.rows: dict[int, Any] = {}

        def claim(self, sender: Any, schema: pa.Schema) -> None:
            self.claimed.append((sender.sink, schema.names))

        def deliver(self, sender: Any, rows: pa.Table, step: int) -> None:
            self.rows[step] = rows.to_pylist()

    ledger, seen = Ledger(), dict[int, Any]()
    flow = tg.Flow("kinds")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0)).aggregate(by="k", n="count(*)")
    for name in ("called", "own", "shown", "held"):
        flow.sink(name, rows)
    place.feed.add((1, "a", 1), (2, "b", 1))
    place.feed.add((3, "a\x1b[2J", 1))
    outputs = {
        "called": tg.foreach(lambda rows, step: seen.update({step: rows.to_pylist()})),
        "own": ledger,
        "shown": tg.console(),
        "held": tg.memory("held"),
    }
    place.start(flow, outputs=outputs, trigger=None).finish()
    first, last = [{"t": 1, "k": "a", "n": 1}], [{"t": 3, "k": "a\x1b[2J", "n": 1}]
    assert seen == {0: first, 1: [{"t": 2, "k": "b", "n": 1}], 2: last}
    assert ledger.rows == seen
    assert ledger.claimed == [("own", ["t", "k", "n"])]
    assert sorted(place.session.connection.table("held").fetchall()) == [(1, "a", 1), (2, "b", 1), (3, "a\x1b[2J", 1)]
    said = capsys.readouterr().out
    assert "step 0\n+-+-+-+\n|t|k|n|\n+-+-+-+\n|1|a|1|" in said
    assert "a\\x1b[2J" in said


def test_a_flow_that_follows_another(place: Place) -> None:
    """Its frontier is the one that the other publishes; rows and frontiers come in steps of their own."""
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.feed.add((5, "b", 1))
    place.run(counts())
    other = tg.Flow("other")
    path = place.path / "out"
    read = other.source("s", "t INT, k STRING, n BIGINT", time="t", watermark=tg.published(path))
    other.sink("sums", read.accumulate(n="sum(n)"))

    def follow(**options: Any) -> tg.Run:
        outputs = {"sums": tg.parquet(place.path / "sums")}
        inputs = {"s": tg.read_stream(place.session, path)}
        return other.start(place.session, inputs, outputs, place.path / "other", **options)

    assert follow(trigger={"availableNow": True}).await_termination(60)
    assert place.rows("sums") == [(1, 1), (2, 2)]
    place.feed.add((9, "c", 1))
    place.start(counts(), trigger=None).finish()
    run = follow()
    assert run.await_termination(60)
    assert run.status().state == "ended"
    assert place.rows("sums") == [(1, 1), (2, 2), (5, 3), (9, 4)]


def test_a_silent_partition_is_let_go_by_the_clock(place: Place) -> None:
    """No row comes any more, and still times become complete."""
    flow = tg.Flow("devices")
    read = flow.source("s", DDL, time="t", watermark=tg.bounded(2, by="k", idle="1 second"))
    flow.sink("out", read.aggregate(by="k", total="sum(x)"))
    place.feed.add((10, "a", 1), (3, "b", 2))
    run = place.start(flow, trigger=None)
    deadline = time.monotonic() + 60
    while not place.rows():
        assert time.monotonic() < deadline
        assert run.is_active
        time.sleep(0.05)
    run.stop()
    assert place.rows() == [(3, "b", 2)]


@pytest.mark.parametrize("frame", ["window", "calendar", "session"])
def test_a_function_is_given_whole_windows_alone_and_once(place: Place, frame: str) -> None:
    """Not those that more rows may come to, and not those that it was given before."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    given: list[int] = []

    def counted(rows: pa.Table) -> pa.Table:
        given.append(rows.num_rows)
        return pa.table({"n": pa.array([rows.num_rows], pa.int64())})

    flow = tg.Flow("whole")
    read = flow.source("s", "ts TIMESTAMP", time="ts", watermark=tg.bounded("0 seconds"))
    framed = {
        "window": lambda: read.window("1 day"),
        "calendar": lambda: read.window("1 day", zone="Europe/Berlin"),
        "session": lambda: read.session("6 hours"),
    }[frame]()
    flow.sink("out", framed.apply(counted, "n BIGINT"))

    def batches(taken: int) -> Any:
        for hour in [1, 2, 4, 30, 31, 60, 61, 90][taken:]:
            yield pa.table({"ts": pa.array([begin + timedelta(hours=hour)], pa.timestamp("us", "UTC"))})
            time.sleep(0.05)

    place.run(flow, inputs={"s": batches}, trigger=None)
    assert given == [3, 2, 2, 1]
    assert [row[-1] for row in place.rows()] == given


def test_instants_and_nested_values(place: Place) -> None:
    """What is read has the types that the flow has, with a zone where Spark's instants have one."""
    flow = tg.Flow("typed")
    read = flow.source("s", "ts TIMESTAMP, at TIMESTAMP_NTZ, d DECIMAL(10,2)", time="ts", watermark=tg.at_end())
    flow.sink("out", read.with_columns(both="struct(ts, at)", many="array(d)"))
    at = datetime(2026, 1, 2, 3, 4, 5, 678901)
    table = pa.table({"ts": pa.array([at], pa.timestamp("us", "UTC")), "at": pa.array([at], pa.timestamp("us"))})
    table = table.append_column("d", pa.array([1], pa.decimal128(10, 2)))
    place.run(flow, inputs={"s": iter([table])})
    (row,) = place.rows()
    zoned = at.replace(tzinfo=UTC)
    assert (row[0].astimezone(UTC), row[1]) == (zoned, at)
    assert (row[3]["ts"].astimezone(UTC), row[3]["at"], [str(d) for d in row[4]]) == (zoned, at, ["1.00"])


def test_few_rows_in_and_many_out(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever expects few answers, and finds many, writes them all: each once."""
    monkeypatch.setattr(parts, "FEW", 5)
    flow = tg.Flow("many")
    read = flow.source("s", DDL, time="t", watermark=tg.bounded(0)).with_columns(n="sequence(1, x)").explode("n")
    flow.sink("out", read.gate())
    flow.sink("seen", read.accumulate(by="n", total="count(*)"))
    place.feed.add((1, "a", 4), (2, "b", 300))
    place.feed.add((3, "c", 1))
    place.start(flow, trigger=None).finish()
    assert sorted(n for *_, n in place.rows()) == sorted([*range(1, 5), *range(1, 301), 1])
    assert len(place.rows("seen")) == 305


def test_what_is_no_number_is_found_by_those_who_ask_for_it(place: Place) -> None:
    """Statistics of files say nothing of NaN, which is greater than all numbers."""
    flow = tg.Flow("nan")
    read = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", read.select("CAST(IF(x = 1, 'NaN', '1.5') AS DOUBLE) AS y"))
    place.feed.add((1, "a", 1), (2, "b", 2))
    place.run(flow)
    found = tg.read(place.session, place.path / "out")
    assert [row[0] for row in found.filter("y > 5").fetchall()] == [1]
    (file,) = (place.path / "out").glob("step=*/*.parquet")
    assert place.session.connection.sql(f"SELECT t FROM '{file}' WHERE y > 5").fetchall() == [(1,)]
