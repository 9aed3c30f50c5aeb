"""The questions of `bench.peers` for Bytewax.

`python -m bench.peers.by_bytewax QUESTION INPUT OUTPUT STATE`; the state - keeps none.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.connectors.files import CSVSource, FileSink, FileSource
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import run_main

from bench.peers.paced import TICK, Paced

MINUTE = timedelta(minutes=1)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WINDOWS = win.TumblingWindower(length=MINUTE, align_to=BEGIN)


def keyed(row: dict[str, Any]) -> tuple[str, tuple[datetime, int]]:
    """Return the key, the time and the amount of a row."""
    return row["key"], (datetime.fromisoformat(row["ts"]).replace(tzinfo=UTC), int(row["amount"]))


def line(item: Any) -> tuple[str, str]:
    """Return two numbers of a window as a line of the output."""
    key, (window, (first, second)) = item
    minute = BEGIN + window * MINUTE
    return "out", f"{minute:%Y-%m-%dT%H:%M:%S},{key},{first},{second}"


def rows(flow: Dataflow, given: str) -> Stream[tuple[str, tuple[datetime, int]]]:
    """Return the rows of a file, by key."""
    if given.endswith(".csv"):
        found = op.input("rows", flow, CSVSource(Path(given), batch_size=10_000))
    else:
        found = op.map("parse", op.input("rows", flow, FileSource(given, batch_size=10_000)), json.loads)
    return op.map("keyed", found, keyed)


def clock(wait: timedelta) -> win.EventClock:
    """Return a clock that goes by the times of rows alone, which are in order.

    Bytewax lets time go on with the clock of the machine too: in a process that is paused, or gets little of the
    processor, rows are late.
    """
    return win.EventClock(
        lambda value: value[0],
        wait_for_system_duration=wait,
        now_getter=lambda: BEGIN,
        to_system_utc=lambda at: None,  # noqa: ARG005
    )


def count(flow: Dataflow, given: str, output: str) -> None:
    """Count and sum per key and minute."""
    windows = win.fold_window(
        "minutes",
        rows(flow, given),
        clock(timedelta(0)),
        WINDOWS,
        builder=lambda: (0, 0),
        folder=lambda at, value: (at[0] + 1, at[1] + value[1]),
        merger=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    )
    op.output("out", op.map("line", windows.down, line), FileSink(output))


def join(flow: Dataflow, given: str, output: str) -> None:
    """Pair low and high amounts of a key in a minute."""
    found = rows(flow, given)
    low = op.filter("low", found, lambda row: row[1][1] < 200)
    high = op.filter("high", found, lambda row: row[1][1] >= 800)
    # The two sides of a batch of 36 seconds come one after the other.
    pairs = win.join_window("pairs", clock(2 * MINUTE), WINDOWS, low, high, insert_mode="product", emit_mode="final")
    whole = op.filter("whole", pairs.down, lambda item: None not in item[1][1])
    amounts = op.map_value("amounts", whole, lambda value: (value[0], (value[1][0][1], value[1][1][1])))
    op.output("out", op.map("line", amounts, line), FileSink(output))


class Arriving(DynamicSource[tuple[str, int]], StatelessSourcePartition[tuple[str, int]]):  # type: ignore[misc]
    """Rows as they come."""

    def __init__(self, paced: Paced) -> None:
        self.paced = paced

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Arriving:  # noqa: ARG002
        """Return the one partition."""
        return self

    def next_batch(self) -> list[tuple[str, int]]:
        """Return the rows that are due."""
        if self.paced.over:
            raise StopIteration
        return [(key, i) for i, key in self.paced.due()]

    def next_awake(self) -> datetime:
        """Return when to ask again."""
        return datetime.now(UTC) + timedelta(seconds=TICK)


class Answered(DynamicSink[tuple[str, int]], StatelessSinkPartition[tuple[str, int]]):  # type: ignore[misc]
    """Answers as they come."""

    def __init__(self, paced: Paced) -> None:
        self.paced = paced

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Answered:  # noqa: ARG002
        """Return the one partition."""
        return self

    def write_batch(self, items: list[tuple[str, int]]) -> None:
        """Note the answers."""
        for key, n in items:
            self.paced.answer(key, n)


def so_far(flow: Dataflow, paced: Paced) -> None:
    """Count the rows of each key so far."""
    arriving = op.input("rows", flow, Arriving(paced))
    counted = op.stateful_map("so_far", arriving, lambda n, _: ((n or 0) + 1, (n or 0) + 1))
    op.output("out", counted, Answered(paced))


if __name__ == "__main__":
    question, given, output, state = sys.argv[1:]
    paced = Paced(given) if question == "latency" else None
    began, processor = time.perf_counter(), time.process_time()
    flow = Dataflow(question)
    if paced:
        so_far(flow, paced)
    else:
        {"count": count, "join": join}[question](flow, given, output)
    recovery = None
    if state != "-":
        init_db_dir(Path(state), 1)
        recovery = RecoveryConfig(state)
    run_main(flow, recovery_config=recovery)
    took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - processor}
    print(json.dumps([took | (paced.report() if paced else {})]))
