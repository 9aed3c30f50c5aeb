"""What a process does that runs a flow on Spark and is killed, with its JVM or without: see `tests/crashes.py`.

python -m tests.spark.crashes --kills 200 --report crashes.jsonl
"""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.crash_flows import DDL
from tests.crash_tasks import Task, kill
from tests.crashes import FLOWS, STEPS, Point, Report, main, plan, torment

import tidegate as tg

__all__ = ["FLOWS", "STEPS", "Point", "Report", "plan", "torment", "work"]


def work(task: Task) -> dict[str, Any]:
    """Run a flow to the end of its input; return what came out."""
    from tests.spark.sessions import quick_session

    from tidegate.engine.storage.errors import CheckpointClosed
    from tidegate.engine.storage.log import last_commit
    from tidegate.spark.hadoop import files_at
    from tidegate.spark.streaming.start import start

    # Before there is a session: it is killed while Spark starts, too.
    jvm: list[int] = []
    task.die_at_random(lambda: _kill(jvm))
    spark = quick_session("crashes")
    if task.spare:
        jvm.append(spark.sparkContext._gateway.proc.pid)
    plan, outputs = task.flow()
    inputs = {
        s.id: spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(task.directory / s.id))
        for s in plan.sources
    }
    checkpoint = str(task.home / "ck")
    probe = task.probe(lambda: _kill(jvm))
    try:
        start(plan, spark, inputs, outputs, checkpoint, trigger={"availableNow": True}, probe=probe).await_termination()
        start(plan, spark, inputs, outputs, checkpoint, probe=probe).finish()
    except CheckpointClosed:
        pass
    rows = [list(map(repr, row)) for row in tg.read(spark, str(task.home / "out")).collect()]
    late = [row for source in inputs for row in spark.read.parquet(f"{checkpoint}/late/{source}").collect()]
    return task.found(last_commit(files_at(spark, checkpoint)), rows, list(map(repr, late)))


def _kill(jvm: list[int]) -> None:
    """End this process and its JVM; if a JVM is given, halt that one instead."""
    if not jvm:
        kill()
    os.kill(jvm[0], signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(work)
