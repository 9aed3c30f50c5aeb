"""The questions of `bench.peers` for the local engine.

`python -m bench.peers.by_tidegate QUESTION INPUT OUTPUT STATE [TIMES]`. With TIMES, it is run that often in one
process, each time with a checkpoint and an output of its own: the first has to load what a start needs, and the others
do not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import pyarrow as pa

import tidegate as tg
from bench.peers.paced import TICK, Paced


def rows(flow: tg.Flow) -> tg.Stream:
    """Return the rows of a file."""
    return flow.source("rows", "ts TIMESTAMP, key STRING, amount INT", time="ts", watermark=tg.bounded("0 seconds"))


def count() -> tg.Flow:
    """Count and sum per key and minute."""
    flow = tg.Flow("count")
    flow.sink("out", rows(flow).window("1 minute").aggregate(by="key", n="count(*)", total="sum(amount)"))
    return flow


def join() -> tg.Flow:
    """Pair low and high amounts of a key in a minute."""
    flow = tg.Flow("join")
    found = rows(flow)
    low = found.where("amount < 200").select("key", "amount AS low")
    high = found.where("amount >= 800").select("key", "amount AS high")
    flow.sink("out", low.window_join(high, on="key", size="1 minute"))
    return flow


def so_far() -> tg.Flow:
    """Count the rows of each key so far. A row is answered when its time is complete: when the next one is there."""
    flow = tg.Flow("so_far")
    arriving = flow.source("rows", "i BIGINT, key STRING", time="i", watermark=tg.bounded(0))
    flow.sink("out", arriving.accumulate(by="key", n="count(*)"))
    return flow


def arriving(paced: Paced) -> Iterator[pa.Table]:
    """Yield rows as they come."""
    while not paced.over:
        if due := paced.due():
            numbers, keys = zip(*due, strict=True)
            yield pa.table({"i": pa.array(numbers, pa.int64()), "key": pa.array(keys, pa.string())})
        time.sleep(TICK)


def answer(paced: Paced, answered: pa.Table) -> None:
    """Note the answers."""
    for key, n in zip(answered["key"].to_pylist(), answered["n"].to_pylist(), strict=True):
        paced.answer(key, n)


def run(question: str, given: str, output: str, state: str) -> dict[str, float]:
    """Run a flow to its end."""
    began, processor = time.perf_counter(), time.process_time()
    session, more = tg.local(threads=2), {}
    if question == "latency":
        paced = Paced(given)
        place = tg.foreach(lambda answered, step: answer(paced, answered))  # noqa: ARG005
        so_far().start(session, {"rows": arriving(paced)}, {"out": place}, state).await_termination()
        more = paced.report()
    else:
        flow = {"count": count, "join": join}[question]()
        flow.start(session, {"rows": tg.files(given)}, {"out": tg.parquet(output)}, state).finish()
    return {"seconds": time.perf_counter() - began, "processor": time.process_time() - processor} | more


if __name__ == "__main__":
    question, given, output, state, times = [*sys.argv[1:], "1"][:5]
    print(json.dumps([run(question, given, f"{output}/{turn}", f"{state}/{turn}") for turn in range(int(times))]))
