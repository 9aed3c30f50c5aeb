"""Count and sum per key and minute with Tidegate's local engine: `python by_tidegate.py INPUT OUTPUT STATE [TIMES]`.

With TIMES, it is run that often in one process, each time with a checkpoint and an output of its own: the first has to
load what a start needs, and the others do not.
"""

from __future__ import annotations

import json
import sys
import time

import tidegate as tg


def minutes() -> tg.Flow:
    """Build the flow."""
    flow = tg.Flow("minutes")
    rows = flow.source("rows", "ts TIMESTAMP, key STRING, amount INT", time="ts", watermark=tg.bounded("0 seconds"))
    flow.sink("minutes", rows.window("1 minute").aggregate(by="key", n="count(*)", total="sum(amount)"))
    return flow


if __name__ == "__main__":
    given, output, state, times = [*sys.argv[1:], "1"][:4]
    took = []
    for turn in range(int(times)):
        began, processor = time.perf_counter(), time.process_time()
        place = {"minutes": tg.parquet(f"{output}/{turn}")}
        run = minutes().start(tg.local(threads=2), {"rows": tg.files(given)}, place, f"{state}/{turn}")
        run.finish()
        took.append({"seconds": time.perf_counter() - began, "processor": time.process_time() - processor})
    print(json.dumps(took))
