"""Run a flow on two executors, processes of their own, and kill one of them with SIGKILL in the middle of a step.

    python -m tests.spark.executors DIRECTORY

The rows of the step that were kept on it are gone with it. Prints how many executors were killed and what came out.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from tests.spark.engine import frame, rows
from tests.spark.steps import engine_in

import tidegate as tg
from tidegate.flow.plan import Plan
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.session import local_session
from tidegate.spark.streaming.sources import united

__all__ = ["CUTS", "flow"]

CUTS = [[(t, "ab"[t % 2], x) for t in range(step * 4, step * 4 + 6) for x in range(50)] for step in range(3)]


def flow() -> Plan:
    """Windows over a running total: two operators with state, one after the other."""
    found = tg.Flow("executors")
    source = found.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(2))
    found.sink("out", source.accumulate(by="k", total="sum(x)").window(4).aggregate(by="k", most="max(total)"))
    return found.plan


def executors() -> list[int]:
    """Answer the executors that this process started, by way of its JVM."""
    parents, found = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if "CoarseGrainedExecutorBackend" in (path / "cmdline").read_text():
                found.append(int(path.name))
        except OSError:
            continue  # it has ended meanwhile

    def ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and ours(parents[process]))

    return sorted(filter(ours, found))


def main(directory: Path) -> None:
    """Run the steps; in the second, one executor dies when the new rows are written, and the answers are not."""
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    options = {"spark__driver__extraJavaOptions": java, "spark__executor__extraJavaOptions": java}
    master = "local-cluster[2,1,1024]"
    spark = local_session("executors", master=master, spark__executor__memory="512m", **options)
    plan, killed = flow(), []

    def probe(point: str, step: int) -> None:
        if (point, step) == ("between state and output", 1) and not killed:
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)

    engine = engine_in(spark, plan, {}, directory, probe=probe)
    for number, cut in enumerate(CUTS):
        batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, cut).repartition(4)})
        engine.step(batch, number)
    engine.finish()
    found = sorted(rows(tg.read(spark, str(directory / "out"))))
    print(json.dumps({"killed": len(killed), "rows": found, "read": engine.marks["s"].rows}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
