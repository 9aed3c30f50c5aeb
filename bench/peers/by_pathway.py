"""The questions of `bench.peers` for Pathway.

`python -m bench.peers.by_pathway QUESTION INPUT OUTPUT STATE`; the state - keeps none.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from typing import Any

import pathway as pw

from bench.peers.paced import TICK, Paced

WINDOWS = pw.temporal.tumbling(timedelta(minutes=1))
MINUTE = "%Y-%m-%dT%H:%M:%S"


class Row(pw.Schema):  # type: ignore[misc]
    """The columns of the input."""

    ts: str
    key: str
    amount: int


class Key(pw.Schema):  # type: ignore[misc]
    """The column of rows that come at a rate."""

    key: str


def rows(given: str) -> pw.Table:
    """Return the rows of a file."""
    # The name is what persistence finds the input by.
    read = pw.io.csv.read if given.endswith(".csv") else pw.io.jsonlines.read
    found = read(given, schema=Row, mode="static", name="rows")
    return found.with_columns(at=found.ts.dt.strptime("%Y-%m-%dT%H:%M:%S.%f"))


def count(given: str, output: str) -> None:
    """Count and sum per key and minute."""
    found = rows(given)
    windows = found.windowby(found.at, window=WINDOWS, instance=found.key)
    result = windows.reduce(
        minute=pw.this._pw_window_start.dt.strftime(MINUTE),
        key=pw.this._pw_instance,
        n=pw.reducers.count(),
        total=pw.reducers.sum(pw.this.amount),
    )
    pw.io.csv.write(result, output)


def join(given: str, output: str) -> None:
    """Pair low and high amounts of a key in a minute."""
    found = rows(given)
    low, high = found.filter(pw.this.amount < 200), found.filter(pw.this.amount >= 800)
    pairs = low.window_join(high, low.at, high.at, WINDOWS, low.key == high.key)
    result = pairs.select(
        minute=low.at.dt.floor(timedelta(minutes=1)).dt.strftime(MINUTE), key=low.key, low=low.amount, high=high.amount
    )
    pw.io.csv.write(result, output)


class Arriving(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """Rows as they come."""

    def __init__(self, paced: Paced) -> None:
        super().__init__()
        self.paced = paced

    def run(self) -> None:
        """Give the rows that are due, and let them be answered."""
        while not self.paced.over:
            for _, key in self.paced.due():
                self.next(key=key)
            self.commit()
            time.sleep(TICK)


def so_far(paced: Paced) -> None:
    """Count the rows of each key so far."""
    arriving = pw.io.python.read(Arriving(paced), schema=Key, autocommit_duration_ms=None, name="rows")
    counted = arriving.groupby(pw.this.key).reduce(pw.this.key, n=pw.reducers.count())

    def changed(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:  # noqa: ARG001
        if is_addition:
            paced.answer(row["key"], row["n"])

    pw.io.subscribe(counted, on_change=changed)


if __name__ == "__main__":
    question, given, output, state = sys.argv[1:]
    paced = Paced(given) if question == "latency" else None
    began, processor = time.perf_counter(), time.process_time()
    if paced:
        so_far(paced)
    else:
        {"count": count, "join": join}[question](given, output)
    kept = None if state == "-" else pw.persistence.Config(pw.persistence.Backend.filesystem(state))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, persistence_config=kept)
    took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - processor}
    print(json.dumps([took | (paced.report() if paced else {})]))
