"""Kill running flows with SIGKILL at named points and at random times, and compare what comes out in the end.

    python -m tests.spark.crashes --kills 200

A process runs a flow to the end of its input. It is killed, with its JVM, at the point that it was told; the next one
goes on from the checkpoint. In the end the rows of all sinks, and the late rows, must be those of an undisturbed run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tidegate as tg
from tidegate.spark.streaming.engine import POINTS

__all__ = ["FLOWS", "STEPS", "Report", "torment"]

STEPS = 9
DDL = "t INT, u INT, k STRING, x INT"
Point = tuple[str, int]


def _total(flow: tg.Flow) -> tg.Stream:
    return flow.source("s", DDL, time="t", watermark=tg.bounded(3))


def _pairs(flow: tg.Flow) -> tg.Stream:
    return flow.source("s", DDL, time=("t", "u"), watermark=tg.bounded(3, 5))


def _deduplicated(flow: tg.Flow) -> tg.Stream:
    rows = _total(flow)
    latest = rows.where("x % 3 = 0").select("k", "x AS y")
    return rows.deduplicate(["k", "x % 4 AS rest"], within=4).join_asof(latest, on="k", how="left")


#: The flows that are killed: every kind of state is in one of them.
FLOWS: dict[str, Callable[[tg.Flow], tg.Stream]] = {
    "windows": lambda f: _total(f).window(6, every=3).aggregate(by="k", n="count(*)", total="sum(x)"),
    "sessions": lambda f: _total(f).where("x % 5 > 1").session(2).aggregate(by="k", n="count(*)"),
    "pairs": lambda f: _pairs(f).aggregate(by="k", total="sum(x)").accumulate(most="max(total)"),
    "deduplicated": _deduplicated,
    "running": lambda f: _total(f).accumulate(by="k", total="sum(x)").join(_total_again(f), on="k", how="full"),
}


def _total_again(flow: tg.Flow) -> tg.Stream:
    return flow.source("r", DDL, time="t", watermark=tg.bounded(3)).aggregate(by="k", least="min(x)")


@dataclass(frozen=True, slots=True)
class Report:
    """How often a flow was killed, and whether its output was the same in the end."""

    flow: str
    kills: int
    same: bool


def torment(name: str, directory: Path, points: list[Point], *, steps: int = STEPS, seed: int = 0) -> Report:
    """Run a flow once undisturbed, and once killed at each of the points in turn; ``("", ms)`` kills after a while."""
    rng = random.Random(f"{name} {seed}")
    for source in ("s", "r"):
        _write_input(directory / source, rng, steps)
    expected = _run(name, directory, "calm", None)
    assert expected is not None, "the undisturbed run failed"
    kills, found = 0, None
    for point in [*points, None, None]:
        found = _run(name, directory, "killed", point)
        if found is not None:
            break
        kills += 1
    return Report(name, kills, found == expected)


def _write_input(directory: Path, rng: random.Random, steps: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory.mkdir()
    types = [pa.int32(), pa.int32(), pa.string(), pa.int32()]
    for step in range(steps):
        rows = [
            (step * 2 + rng.randint(-3, 2), rng.randint(0, 5), rng.choice(["a", "b", None]), rng.randint(0, 9))
            for _ in range(20)
        ]
        rows += [(0, 0, "late", step), (None, 0, "null", step)]
        arrays = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
        path = directory / f"{step}.parquet"
        pq.write_table(pa.Table.from_arrays(arrays, names=["t", "u", "k", "x"]), path)
        os.utime(path, (1_000_000 + step, 1_000_000 + step))


def _run(name: str, directory: Path, place: str, point: Point | None) -> Any:
    """Run a flow in a process of its own; answer what came out, or None if it was killed."""
    command = [sys.executable, "-m", "tests.spark.crashes", "--work", str(directory), "--flow", name, "--place", place]
    if point is not None:
        command += ["--point", point[0], "--step", str(point[1])]
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}", "SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.run(
        command, cwd=root, env=environment, start_new_session=True, capture_output=True, text=True, check=False
    )
    if process.returncode == -signal.SIGKILL:
        return None
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout.splitlines()[-1])


def _kill() -> None:
    # The JVM is in the group of this process, which was given one of its own.
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _work(directory: Path, name: str, place: str, point: str | None, step: int) -> None:
    from tidegate.spark.session import local_session
    from tidegate.spark.streaming.errors import CheckpointClosed
    from tidegate.spark.streaming.start import start

    spark = local_session("crashes", master="local[2]", spark__sql__shuffle__partitions="2")
    flow = tg.Flow(name)
    flow.sink("out", FLOWS[name](flow))
    schema = "t INT, u INT, k STRING, x INT"
    inputs = {
        s.id: spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(directory / s.id))
        for s in flow.plan.sources
    }

    def probe(at: str, number: int) -> None:
        if (at, number) == (point, step):
            _kill()

    if point == "":
        threading.Timer(step / 1000, _kill).start()
    home = directory / place
    outputs = {"out": tg.parquet(str(home / "out"))}
    try:
        run = start(flow.plan, spark, inputs, outputs, str(home / "ck"), trigger={"availableNow": True}, probe=probe)
        run.await_termination()
    except CheckpointClosed:
        pass
    rows = [list(map(repr, row)) for row in tg.read(spark, str(home / "out")).collect()]
    late = spark.read.parquet(*(str(home / "ck" / "late" / source) for source in inputs)).drop("step")
    print(json.dumps({"rows": sorted(rows), "late": sorted([repr(r) for r in late.collect()])}))


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    for option in ("work", "flow", "place", "point"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--step", type=int, default=0)
    given = parser.parse_args()
    if given.work:
        _work(Path(given.work), given.flow, given.place, given.point, given.step)
        return
    rng, kills, seed = random.Random(given.seed), 0, given.seed
    while kills < given.kills:
        for name in FLOWS:
            places = [(rng.choice(POINTS), step) for step in range(STEPS)]
            places += [("", rng.randint(4000, 15000)) for _ in range(3)]
            rng.shuffle(places)
            with tempfile.TemporaryDirectory() as directory:
                report = torment(name, Path(directory), sorted(places, key=lambda p: p[1] % 100), seed=seed)
            kills += report.kills
            print(f"{report.flow}: {report.kills} kills, {'the same' if report.same else 'DIFFERENT'}", flush=True)
            if not report.same:
                sys.exit(1)
        seed += 1
    print(f"{kills} kills in all")


if __name__ == "__main__":
    _main()
