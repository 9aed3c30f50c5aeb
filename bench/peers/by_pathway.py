"""Count and sum per key and minute with Pathway: `python by_pathway.py INPUT OUTPUT STATE`; - keeps none."""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta

import pathway as pw


class Row(pw.Schema):  # type: ignore[misc]
    """The columns of the input."""

    ts: str
    key: str
    amount: int


def minutes(given: str, output: str) -> None:
    """Build the flow."""
    # The name is what persistence finds the input by.
    read = pw.io.csv.read if given.endswith(".csv") else pw.io.jsonlines.read
    rows = read(given, schema=Row, mode="static", name="rows")
    rows = rows.with_columns(at=rows.ts.dt.strptime("%Y-%m-%dT%H:%M:%S.%f"))
    windows = rows.windowby(rows.at, window=pw.temporal.tumbling(timedelta(minutes=1)), instance=rows.key)
    result = windows.reduce(
        minute=pw.this._pw_window_start.dt.strftime("%Y-%m-%dT%H:%M:%S"),
        key=pw.this._pw_instance,
        n=pw.reducers.count(),
        total=pw.reducers.sum(pw.this.amount),
    )
    pw.io.csv.write(result, output)


if __name__ == "__main__":
    given, output, state = sys.argv[1:]
    began, processor = time.perf_counter(), time.process_time()
    minutes(given, output)
    kept = None if state == "-" else pw.persistence.Config(pw.persistence.Backend.filesystem(state))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, persistence_config=kept)
    used = time.process_time() - processor
    print(json.dumps([{"seconds": time.perf_counter() - began, "processor": used}]))
