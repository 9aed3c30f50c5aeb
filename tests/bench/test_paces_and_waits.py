"""Rows that come at a rate, and how long each waits for its answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from bench.aggregates.evaluation.pace import START, Pace, rows_of, send
from bench.aggregates.evaluation.waits import Frames, Steps, of_pairs, of_rows, of_windows
from pyarrow import parquet

POOL = pa.table({"id": pa.array(range(7), pa.int64()), "text": [f"t{i}" for i in range(7)]})


class Clock:
    """A clock that moves when somebody sleeps, and by a little each time that it is asked."""

    def __init__(self, each: float = 0.0) -> None:
        self.now, self.each = 1000.0, each

    def __call__(self) -> float:
        self.now += self.each
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_rows_come_when_they_are_due(tmp_path: Path) -> None:
    """Each file is in place when its last row is due, in order, and all rows come once, with their times."""
    pace, clock = Pace(rate=10, seconds=2, tick=0.5), Clock()
    late = send(pace, POOL, tmp_path, began=clock, clock=clock, sleep=clock.sleep)
    files = sorted(tmp_path.glob("*.parquet"))
    found = [row for file in files for row in parquet.read_table(file).to_pylist()]
    assert [row["id"] for row in found] == list(range(20))
    assert [(row["ts"] - START).total_seconds() for row in found] == [i / 10 for i in range(20)]
    assert [row["text"] for row in found[6:9]] == ["t6", "t0", "t1"]
    assert late == 0
    assert clock.now == pytest.approx(1002.0)


def test_a_source_that_falls_behind_says_by_how_much(tmp_path: Path) -> None:
    """Its clock goes on while it writes: the last files come late, and rows are due when they were."""
    pace, clock = Pace(rate=10, seconds=2, tick=0.1), Clock(each=0.2)
    assert send(pace, POOL, tmp_path, began=clock, clock=clock, sleep=clock.sleep, ahead=1) > 1
    assert pace.due(10) == 1.0


def test_rows_of_a_pool_are_repeated() -> None:
    """A pool that is too small is begun again, as often as needed."""
    rows = rows_of(POOL, 5, 18, 10.0)
    assert rows["text"].to_pylist() == [f"t{i % 7}" for i in range(5, 23)]


def test_latency_counts_from_when_a_row_was_due() -> None:
    """A row that the source sends a second late, and that is answered at once, has waited a second."""
    pace = Pace(rate=100, seconds=1, tick=0.5)
    # Both files come a second late, and a step is over a tenth of a second after each.
    steps = Steps(at=(1.6, 2.1), upto=(50, 100), until=3.0)
    waits = of_rows(pace, steps)
    assert min(wait.seconds for wait in waits) > 1.0
    assert max(wait.seconds for wait in waits) == pytest.approx(1.6, abs=0.1)
    assert sum(wait.weight for wait in waits) == 100
    # Whoever counts from the sending finds a tenth of a second and half a tick.
    sent = {row: 1.5 if row < 50 else 2.0 for row in range(100)}
    by_sending = [(steps.readable(row) or 0) - sent[row] for row in range(100)]
    assert max(by_sending) == pytest.approx(0.1)


def test_a_row_that_is_not_answered_has_waited_until_the_end() -> None:
    """It counts, by at least so long, and as not answered."""
    waits = of_rows(Pace(rate=10, seconds=1), Steps(at=(0.6,), upto=(5,), until=20.0))
    assert [wait.answered for wait in waits] == [True] * 5 + [False] * 5
    assert min(wait.seconds for wait in waits if not wait.answered) > 19


def test_pairs_of_a_complete_window_wait_for_its_end() -> None:
    """An engine that answers at once is sooner by pairs; by windows, both are measured from the last row."""
    pace, frames = Pace(rate=100, seconds=4, tick=0.1), Frames(2.0, 2.0)
    steps = Steps(tuple((i + 1) * 0.1 + 0.01 for i in range(40)), tuple((i + 1) * 10 for i in range(40)), until=5.0)
    at_once, complete = (of_pairs(pace, steps, frames, at_once=flag) for flag in (True, False))
    assert sum(wait.weight for wait in at_once) == sum(wait.weight for wait in complete)
    assert sum(wait.weight for wait in at_once) == pytest.approx(2 * 200**2, rel=0.01)
    mean = [sum(w.seconds * w.weight for w in waits) / sum(w.weight for w in waits) for waits in (at_once, complete)]
    assert mean[0] < 0.12
    # The later of two rows comes after two thirds of a window, on average.
    assert mean[1] == pytest.approx(2 / 3 + 0.1, abs=0.05)
    windows = [of_windows(pace, steps, frames, at_once=flag) for flag in (True, False)]
    assert [round(wait.seconds, 2) for wait in windows[0]] == [0.02, 0.02]
    # A window is complete when a row beyond it was seen: that of the next tick. The last has none here.
    assert [round(wait.seconds, 2) for wait in windows[1]] == [0.12, 0.02]


def test_windows_slide() -> None:
    """Each window is waited for; those that are not over do not count."""
    assert list(Frames(1.0, 0.5).ends(2.2)) == [(0.0, 1.0), (0.5, 1.5), (1.0, 2.0)]
