"""Count and sum per key and minute with Bytewax: `python by_bytewax.py INPUT OUTPUT STATE`; - keeps none."""

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
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import run_main

MINUTE = timedelta(minutes=1)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def keyed(row: dict[str, Any]) -> tuple[str, tuple[datetime, int]]:
    """Return the key, the time and the amount of a row."""
    return row["key"], (datetime.fromisoformat(row["ts"]).replace(tzinfo=UTC), int(row["amount"]))


def line(item: Any) -> tuple[str, str]:
    """Return a window as a line of the output."""
    key, (window, (n, total)) = item
    minute = BEGIN + window * MINUTE
    return "out", f"{minute:%Y-%m-%dT%H:%M:%S},{key},{n},{total}"


def minutes(given: str, output: str) -> Dataflow:
    """Return the flow."""
    flow = Dataflow("minutes")
    if given.endswith(".csv"):
        rows = op.input("rows", flow, CSVSource(Path(given), batch_size=10_000))
    else:
        rows = op.map("parse", op.input("rows", flow, FileSource(given, batch_size=10_000)), json.loads)
    # By the times of rows alone, which are in order. Bytewax lets time go on with the clock of the machine too: in a
    # process that is paused, or gets little of the processor, rows are late.
    clock = win.EventClock(
        lambda value: value[0],
        wait_for_system_duration=timedelta(0),
        now_getter=lambda: BEGIN,
        to_system_utc=lambda at: None,  # noqa: ARG005
    )
    windows = win.fold_window(
        "minutes",
        op.map("keyed", rows, keyed),
        clock,
        win.TumblingWindower(length=MINUTE, align_to=BEGIN),
        builder=lambda: (0, 0),
        folder=lambda at, value: (at[0] + 1, at[1] + value[1]),
        merger=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    )
    op.output("out", op.map("line", windows.down, line), FileSink(output))
    return flow


if __name__ == "__main__":
    given, output, state = sys.argv[1:]
    began, processor = time.perf_counter(), time.process_time()
    recovery = None
    if state != "-":
        init_db_dir(Path(state), 1)
        recovery = RecoveryConfig(state)
    run_main(minutes(given, output), recovery_config=recovery)
    used = time.process_time() - processor
    print(json.dumps([{"seconds": time.perf_counter() - began, "processor": used}]))
