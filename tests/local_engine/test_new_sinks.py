"""What a sink begins with that a flow did not have before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import tidegate as tg

SCHEMA = pa.schema([("t", pa.int32()), ("k", pa.string())])
BATCHES = [pa.RecordBatch.from_pylist([{"t": t, "k": "x"}], schema=SCHEMA) for t in range(6)]


def _run(place: Path, upto: int, *sinks: str) -> dict[str, list[tuple[object, ...]]]:
    """Run a flow with some sinks on the first batches, and return what is in their outputs."""
    flow = tg.Flow("counts")
    rows = flow.source("rows", "t INT, k STRING", time="t", watermark=tg.bounded(0))
    counted = rows.accumulate(by="k", n="count(*)")
    for sink in sinks:
        flow.sink(sink, rows if sink == "rows" else counted)

    def batches(taken: int) -> Iterator[pa.RecordBatch]:
        return iter(BATCHES[taken:upto])

    outputs = {sink: tg.parquet(str(place / sink)) for sink in sinks}
    run = flow.start(tg.local(), {"rows": batches}, outputs, str(place / "checkpoint"), trigger={"availableNow": True})
    run.await_termination()
    return {sink: sorted(tg.read(tg.local(), str(place / sink)).fetchall()) for sink in sinks}


def test_a_new_sink_begins_with_what_becomes_complete_from_then_on(tmp_path: Path) -> None:
    """It has no earlier answers, but those that it has count all rows; a stream without state gives new rows."""
    assert _run(tmp_path, 3, "old") == {"old": [(0, "x", 1), (1, "x", 2)]}
    found = _run(tmp_path, 6, "old", "new", "rows")
    assert found["old"] == [(t, "x", t + 1) for t in range(5)]
    assert found["new"] == [(t, "x", t + 1) for t in range(2, 5)]
    assert found["rows"] == [(3, "x"), (4, "x"), (5, "x")]
