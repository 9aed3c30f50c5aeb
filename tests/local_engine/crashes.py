"""What a process does that runs a flow locally and is killed: see `tests/crashes.py`. Nothing of it loads Spark.

python -m tests.local_engine.crashes --kills 500
"""

from __future__ import annotations

from typing import Any

import tidegate as tg
from tests.crash_tasks import Task, kill
from tests.crashes import main
from tidegate.engine.storage.errors import CheckpointClosed
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import last_commit
from tidegate.local_engine.streaming.start import start

__all__ = ["work"]


def work(task: Task) -> dict[str, Any]:
    """Run a flow to the end of its input; return what came out."""
    session = tg.local(threads=1)
    plan, outputs = task.flow()
    inputs = {s.id: tg.files(task.directory / s.id, per_step=1) for s in plan.sources}
    checkpoint = task.home / "ck"
    probe = task.probe(kill)
    task.die_at_random(kill)
    try:
        run = start(plan, session, inputs, outputs, checkpoint, trigger={"availableNow": True}, probe=probe)
        run.await_termination()
        start(plan, session, inputs, outputs, checkpoint, probe=probe).finish()
    except CheckpointClosed:
        pass
    rows = [list(map(repr, row)) for row in tg.read(session, task.home / "out").fetchall()]
    late: list[str] = []
    for source in inputs:
        found = f"read_parquet('{checkpoint}/late/{source}/step=*/*.parquet', hive_partitioning = false)"
        late += map(repr, session.connection.sql(f"SELECT * FROM {found}").fetchall())
    return task.found(last_commit(Files(checkpoint)), rows, late)


if __name__ == "__main__":
    main(work, engine="local")
