"""Processing time: rows at the time at which they arrive, ticks, and windows that end without rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.engine.policies.clocked import BehindClock, ByTicks
from tidegate.engine.storage.files import Files
from tidegate.flow.clocks import Arrival
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.local_engine.streaming.start import prepare

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """An instant so many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


class Hand:
    """A clock that is set by hand, in seconds after noon; and rows that come when they are given."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session = tg.local(threads=1)
        self.shown = 0.0
        self.tables: list[pa.Table] = []
        self.engine: LocalEngine | None = None

    def __call__(self) -> float:
        return NOON.timestamp() + self.shown

    def begin(self, flow: tg.Flow, **inputs: Any) -> None:
        """Start a flow, or go on from the last commit."""
        self.end()
        given = {name: self._batches if i is None else i for name, i in inputs.items()}
        places = {sink.name: tg.parquet(self.path / sink.name) for sink in flow.plan.sinks}
        self.engine = prepare(flow.plan, self.session, given, places, Files(self.path / "ck"), clock=self)

    def end(self) -> None:
        """Let go of what runs."""
        if self.engine is not None:
            self.engine.close()
            self.engine = None

    def _batches(self, taken: int) -> Iterator[pa.Table]:
        """Those tables that were given by then, behind so many, and that are to come."""
        engine = self.engine
        while engine is None or engine is self.engine:
            engine = self.engine
            if taken < len(self.tables):
                yield self.tables[taken]
                taken += 1
            else:
                time.sleep(0.002)

    def step(self, shown: float, *rows: pa.Table) -> bool:
        """Set the clock, give some rows, and make a step of what is new; return whether there was something."""
        assert self.engine is not None
        self.shown = shown
        self.tables += rows
        for feed in self.engine._feeds.values():
            feed.wait(0.2 if rows else 0)
        return self.engine.step()

    def rows(self, sink: str = "out") -> list[tuple[Any, ...]]:
        """Return what was answered so far."""
        if not (self.path / sink / "_tidegate.json").exists():
            return []
        found = tg.read(self.session, self.path / sink).fetchall()
        return sorted(tuple(v.astimezone(UTC) if isinstance(v, datetime) else v for v in row) for row in found)


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Hand]:
    """A clock at noon."""
    found = Hand(tmp_path)
    yield found
    found.end()


def keys(*names: str) -> pa.Table:
    return pa.table({"k": list(names)})


def timed(*rows: tuple[float, str]) -> pa.Table:
    instants = pa.array([at(s) for s, _ in rows], pa.timestamp("us", "UTC"))
    return pa.table({"ts": instants, "k": [k for _, k in rows]})


def arriving() -> tg.Flow:
    flow = tg.Flow("arriving")
    clicks = flow.source("s", "k STRING", time=tg.arrival())
    flow.sink("out", clicks.window("10 seconds").aggregate(by="k", n="count(*)").select("k", "n"))
    return flow


def test_rows_have_the_time_at_which_they_arrive(hand: Hand) -> None:
    """All rows of a step have one time; windows of them end by the clock, without rows."""
    hand.begin(arriving(), s=None)
    assert hand.step(1, keys("a", "b"))
    assert hand.step(4, keys("a"))
    assert hand.rows() == []
    hand.step(12)
    end = at(10) - timedelta(microseconds=1)
    assert hand.rows() == [(end, "a", 2), (end, "b", 1)]


def test_a_clock_that_goes_back_gives_no_row_a_time_that_is_complete(hand: Hand) -> None:
    """Rows go on at the latest time that there was, and none is late."""
    hand.begin(arriving(), s=None)
    hand.step(11, keys("a"))
    hand.step(3, keys("a"))
    hand.step(4, keys("b"))
    assert hand.engine is not None
    assert hand.engine.marks["s"].late == 0
    hand.step(25)
    end = at(20) - timedelta(microseconds=1)
    assert hand.rows() == [(end, "a", 2), (end, "b", 1)]


def test_who_goes_on_goes_on_after_the_last_time(hand: Hand) -> None:
    """The time of a step is in its commit: a run on a machine whose clock is behind goes on after it."""
    hand.begin(arriving(), s=None)
    hand.step(15, keys("a"))
    hand.begin(arriving(), s=None)
    hand.step(2, keys("a"))
    hand.step(40)
    assert hand.rows() == [(at(20) - timedelta(microseconds=1), "a", 2)]


def test_what_arrives_in_one_step_arrives_at_one_time(hand: Hand) -> None:
    """Rows of two sources that come together have equal times."""
    flow = tg.Flow("two")
    a, b = (flow.source(name, "k STRING", time=tg.arrival()) for name in ("a", "b"))
    flow.sink("out", a.join(b, on="k"))
    hand.begin(flow, a=None, b=iter([keys("x")]))
    hand.step(1, keys("x"))
    hand.step(3)
    assert [k for _, k in hand.rows()] == ["x"]


def test_a_source_that_had_times_of_its_own_begins_after_them(hand: Hand) -> None:
    """Where rows were ahead of the clock, arrivals go on from there, and none is late."""

    def flow(**how: Any) -> tg.Flow:
        found = tg.Flow("changes")
        schema = "k STRING" if isinstance(how["time"], Arrival) else "ts TIMESTAMP, k STRING"
        found.sink("out", found.source("s", schema, **how))
        return found

    hand.begin(flow(time="ts", watermark=tg.bounded("1 second", clock="1 second")), s=None)
    hand.step(1, timed((100, "a")))
    hand.tables.append(keys("b"))
    hand.begin(flow(time=tg.arrival("ts")), s=None)
    hand.step(3)
    assert hand.engine is not None
    assert hand.engine.marks["s"].late == 0
    assert hand.rows()[1][0] >= at(99)


def test_who_begins_to_listen_hears_what_the_others_hear(hand: Hand) -> None:
    """Beats go on behind the last one that anybody has heard, whoever listens from now on."""

    def flow(**clock: str) -> tg.Flow:
        found = tg.Flow("listening")
        for name, more in (("a", clock), ("b", {"clock": "1 second"})):
            strategy = tg.bounded("1 minute", **more)
            read = found.source(name, "ts TIMESTAMP, k STRING", time="ts", watermark=strategy)
            found.sink(f"{name}_out", read.gate())
        return found

    hand.begin(flow(), a=iter([]), b=None)
    for second in range(1, 9):
        hand.step(second, *([timed((1, "x"))] if second == 1 else []))
    hand.begin(flow(clock="1 second"), a=iter([]), b=None)
    hand.step(20)
    assert hand.engine is not None
    assert {name: m.memory.clock.latest for name, m in hand.engine.marks.items()} == {
        name: int(at(20).timestamp() * 1_000_000) for name in ("a", "b")
    }


def test_a_run_that_hears_the_clock_ends_all_the_same(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats and ticks are nothing to wait for, however long a step takes."""
    real = LocalEngine._step

    def slow(self: LocalEngine, *given: Any) -> None:
        time.sleep(1.1)
        real(self, *given)

    monkeypatch.setattr(LocalEngine, "_step", slow)
    outputs = {"out": tg.parquet(hand.path / "out")}
    run = arriving().start(
        hand.session, {"s": iter([keys("a")])}, outputs, hand.path / "ck", trigger={"availableNow": True}
    )
    assert run.await_termination(20)
    ticks = tg.Flow("ticks")
    ticks.sink("out", ticks.source("t", "ts TIMESTAMP", time="ts"))
    run = ticks.start(
        hand.session, {"t": tg.clock("1 millisecond")}, {"out": tg.parquet(hand.path / "ticks")}, hand.path / "ck2"
    )
    run.finish()
    assert run.status().state == "ended"


def test_arrival_on_bounded_rows_is_a_column(hand: Hand) -> None:
    """For `compute`, what arrived when is given."""
    rows = pa.table({"arrived": pa.array([at(1), at(4), at(12)], pa.timestamp("us", "UTC")), "k": ["a", "a", "a"]})
    found = arriving().compute(hand.session, {"s": rows})["out"].fetchall()
    assert sorted(n for *_, n in found) == [1, 2]


def test_windows_end_without_rows_behind_the_clock(hand: Hand) -> None:
    """A bound by the clock moves on in silence; by rows alone, the last window would stay open."""
    flow = tg.Flow("behind")
    read = flow.source("s", "ts TIMESTAMP, k STRING", time="ts", watermark=tg.bounded("1 minute", clock="5 seconds"))
    flow.sink("out", read.window("10 seconds").aggregate(by="k", n="count(*)").select("k", "n"))
    hand.begin(flow, s=None)
    hand.step(8, timed((1, "a"), (7, "a")))
    hand.step(14)
    assert hand.rows() == []
    hand.step(16)
    assert hand.rows() == [(at(10) - timedelta(microseconds=1), "a", 2)]
    hand.step(17, timed((9, "late"), (12, "b")))
    assert hand.engine is not None
    assert hand.engine.marks["s"].late == 1
    hand.begin(flow, s=None)
    hand.step(30)
    assert hand.rows()[1:] == [(at(20) - timedelta(microseconds=1), "b", 1)]


def test_partitions_and_the_clock(hand: Hand) -> None:
    """A partition that is behind holds nothing back that is behind the clock."""
    flow = tg.Flow("both")
    strategy = tg.bounded("1 minute", by="k", clock="5 seconds")
    read = flow.source("s", "ts TIMESTAMP, k STRING", time="ts", watermark=strategy)
    flow.sink("out", read.aggregate(by="k", n="count(*)"))
    hand.begin(flow, s=None)
    hand.step(3, timed((1, "a"), (2, "b")))
    hand.step(7)
    assert hand.rows() == [(at(1), "a", 1)]


def test_ticks_are_rows_that_complete_themselves(hand: Hand) -> None:
    """Rounded down, each once and later than the one before; missed ones do not come."""
    flow = tg.Flow("ticks")
    ticks = flow.source("t", "ts TIMESTAMP", time="ts")
    rows = flow.source("s", "ts TIMESTAMP, k STRING", time="ts", watermark=tg.bounded("0 seconds", clock="0 seconds"))
    flow.sink("out", ticks.join_asof(rows, how="left"))
    hand.begin(flow, t=tg.clock("10 seconds"), s=None)
    assert hand.step(1, timed((0, "a")))
    hand.step(9)
    hand.step(12)
    hand.step(41)
    hand.step(42)
    assert hand.rows() == [(at(0), "a"), (at(10), "a"), (at(40), "a")]
    hand.begin(flow, t=tg.clock("10 seconds"), s=None)
    hand.step(35)
    hand.step(52)
    assert hand.rows()[3:] == [(at(50), "a")]


def test_nobody_waits_for_a_clock_to_end(tmp_path: Path) -> None:
    """With all there is, a run takes one tick, and ends; without bound, it ends with the other inputs."""
    flow = tg.Flow("ends")
    ticks = flow.source("t", "ts TIMESTAMP", time="ts")
    rows = flow.source("s", "ts TIMESTAMP, k STRING", time="ts")
    flow.sink("out", rows)
    flow.sink("ticks", ticks)
    for number, trigger in enumerate([{"availableNow": True}, None]):
        place = tmp_path / str(number)
        outputs = {name: tg.parquet(place / name) for name in ("out", "ticks")}
        inputs = {"t": tg.clock("1 second"), "s": iter([timed((1, "a"))])}
        run = flow.start(tg.local(), inputs, outputs, place / "ck", trigger=trigger)
        assert run.await_termination(30)
        assert len(tg.read(tg.local(), place / "out").fetchall()) == 1


def test_what_a_clock_cannot_do() -> None:
    """A clock shows instants, and a source of ticks has nothing else."""
    flow = tg.Flow("bad")
    with pytest.raises(tg.TidegateError, match="expected one time column of type TIMESTAMP with clock="):
        flow.source("s", "t INT", time="t", watermark=tg.bounded(1, clock="1 second"))
    with pytest.raises(tg.TidegateError, match="expected no watermark"):
        flow.source("s", "k STRING", time=tg.arrival(), watermark=tg.bounded("1 second"))
    with pytest.raises(tg.TidegateError, match="expected columns without arrived"):
        flow.source("s", "arrived TIMESTAMP, k STRING", time=tg.arrival())
    ticks = flow.source("t", "ts TIMESTAMP, k STRING", time="ts")
    flow.sink("out", ticks)
    with pytest.raises(tg.TidegateError, match="expected one column, a TIMESTAMP"):
        flow.start(tg.local(), {"t": tg.clock("1 second")}, {"out": tg.memory("out")}, "never")


def test_a_clock_that_is_trusted_is_noticed(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows at what the clock shows are late where it goes back: the tests above would fail."""
    monkeypatch.setattr(LocalEngine, "arrival_time", lambda self: int(self.clock() * 1_000_000))
    hand.begin(arriving(), s=None)
    hand.step(15, keys("a"))
    hand.begin(arriving(), s=None)
    hand.step(2, keys("a"))
    assert hand.engine is not None
    assert hand.engine.marks["s"].late == 1


def test_a_tick_that_does_not_complete_itself_is_noticed(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strategies that do not move with the clock leave answers out."""
    monkeypatch.setattr(ByTicks, "after", lambda _self, memory, frontier, _seen: (memory, frontier))
    with pytest.raises(AssertionError):
        test_ticks_are_rows_that_complete_themselves(hand)


def test_a_bound_that_does_not_hear_is_noticed(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the clock, windows stay open."""
    monkeypatch.setattr(
        BehindClock, "after", lambda self, memory, frontier, seen: (memory, self.other.after(None, frontier, seen)[1])
    )
    with pytest.raises(AssertionError):
        test_windows_end_without_rows_behind_the_clock(hand)
