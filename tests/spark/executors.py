"""Run a flow on two executors, processes of their own, and kill one of them with SIGKILL in the middle of a step.

    python -m tests.spark.executors DIRECTORY windows|loop

The rows of the step that were kept on it are gone with it. Spark works them out again, but not those of the rounds of a
loop, which remember nothing: such a step fails, and is run again from its commit. Prints how many executors were
killed, how often a step was run again, and what came out.
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

__all__ = ["CUTS", "LINKS"]

CUTS = [[(t, "ab"[t % 2], x) for t in range(step * 4, step * 4 + 6) for x in range(50)] for step in range(3)]

# A chain that gets a lower end in each step, so that all of it gets a new label.
LINKS = [[(step, n, n + 1) for n in range(10 - 5 * step, 15 - 5 * step)] for step in range(3)]


def windows() -> Plan:
    """Windows over a running total: two operators with state, one after the other."""
    found = tg.Flow("executors")
    source = found.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(2))
    found.sink("out", source.accumulate(by="k", total="sum(x)").window(4).aggregate(by="k", most="max(total)"))
    return found.plan


def loop() -> Plan:
    """Components, which go round as often as the chain is long."""
    found = tg.Flow("executors")
    edges = found.source("edges", "t INT, src INT, dst INT", time="t", watermark=tg.bounded(0))
    found.sink("out", tg.graph.components(edges, "src", "dst"))
    return found.plan


#: Flows with the rows of their steps, and where one executor dies: the new rows are written and the answers are not;
#: and in the middle of the rounds of a step that goes on from what is known.
FLOWS = {
    "windows": (windows, CUTS, ("between state and output", 1)),
    "loop": (loop, LINKS, ("round", 2)),
}


def executors() -> list[int]:
    """Return the executors that this process started, by way of its JVM."""
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


def main(directory: Path, name: str) -> None:
    """Run the steps; in one of them, one executor dies."""
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    options = {"spark__driver__extraJavaOptions": java, "spark__executor__extraJavaOptions": java}
    master = "local-cluster[2,1,1024]"
    spark = local_session("executors", master=master, spark__executor__memory="512m", **options)
    build, cuts, place = FLOWS[name]
    plan = build()
    (source,) = plan.sources
    killed: list[int] = []
    failed: list[Exception] = []

    def probe(point: str, step: int) -> None:
        if (point, step) == place and not killed:
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)

    engine = engine_in(spark, plan, {}, directory, probe=probe)
    for number, cut in enumerate(cuts):
        batch = united(plan, spark_runtime(spark), {source.id: frame(spark, source.schema, cut).repartition(4)})
        try:
            engine.step(batch, number)
        except Exception as error:
            if failed or not killed:
                raise
            failed.append(error)
            engine = engine_in(spark, plan, {}, directory, probe=probe)
            engine.step(batch, number)
    engine.finish()
    found = sorted(rows(tg.read(spark, str(directory / "out"))))
    said = {"killed": len(killed), "again": len(failed), "rows": found, "read": engine.marks[source.id].rows}
    print(json.dumps(said), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
