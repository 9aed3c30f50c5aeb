"""What goes wrong around a run: a lost executor, a full disk, clocks and sources that go back, inputs of odd shapes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark import executors
from tests.spark.engine import frame, rows
from tests.spark.place import DDL, Place, counts
from tests.spark.steps import Cuts, engine_in, run_steps

import tidegate as tg
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointInUse
from tidegate.flow.plan import Plan
from tidegate.spark import compute
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.sources import united
from tidegate.spec import DT, WM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def totals() -> Plan:
    flow = tg.Flow("totals")
    source = flow.source("s", DDL, time="t", watermark=tg.bounded(1))
    flow.sink("out", source.accumulate(by="k", total="sum(x)"))
    flow.sink("windows", source.window(4).aggregate(by="k", n="count(*)"))
    return flow.plan


def with_a_lost_executor(directory: Path, name: str) -> dict[str, Any]:
    """Run a flow in a process with executors, one of which is killed; return what that says."""
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "tests.spark.executors", str(directory), name]
    run = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=900, start_new_session=True
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_an_executor_lost_in_a_round_changes_nothing(tmp_path: Path) -> None:
    """What a round left on it cannot be worked out again; the step is, from its commit, and nothing else shows it."""
    found = with_a_lost_executor(tmp_path, "loop")
    assert (found["killed"], found["again"]) == (1, 1)
    least = {step: min(src for _, src, _ in links) for step, links in enumerate(executors.LINKS)}
    most = max(dst for links in executors.LINKS for _, _, dst in links)
    expected = [[step, node, low] for step, low in least.items() for node in range(low, most + 1)]
    assert found["rows"] == expected
    assert found["read"] == sum(map(len, executors.LINKS))


@pytest.mark.slow
def test_a_lost_executor_changes_nothing(tmp_path: Path) -> None:
    """One of two executors is killed within a step; Spark runs its tasks again, and the answers are the same."""
    found = with_a_lost_executor(tmp_path, "windows")
    assert (found["killed"], found["again"], found["read"]) == (1, 0, sum(map(len, executors.CUTS)))
    # The rows of a step that are late by the promise of the step before: below its greatest time less the delay.
    events: list[Any] = []
    bound = -1
    for cut in executors.CUTS:
        events += [DT(t, {"t": t, "k": k, "x": x}) for t, k, x in cut if t >= bound]
        bound = max(t for t, _, _ in cut) - 2
        events.append(WM(bound - 1))
    events.append(WM(100))
    flow = tg.Flow("executors")
    source = flow.source("s", DDL, time="t")
    flow.sink("out", source.accumulate(by="k", total="sum(x)").window(4).aggregate(by="k", most="max(total)"))
    expected = [tuple(row.values()) for row in flow.reference({"s": events}).rows("out")]
    assert [tuple(row) for row in found["rows"]] == sorted(
        (t, {"start": w["start"], "end": w["end"]}, *rest) for t, w, *rest in expected
    )


class Disk:
    """A file system of one megabyte in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def leave(self, free: int) -> None:
        """Fill it up to so many bytes."""
        self.clear()
        status = os.statvfs(self.path)
        with (self.path / "ballast").open("wb") as file:
            file.write(b"\0" * max(0, status.f_bavail * status.f_frsize - free))

    def clear(self) -> None:
        (self.path / "ballast").unlink(missing_ok=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small disk, where this process may mount one."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this process may not mount a small disk: that takes root")
    yield Disk(path)
    subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk_stops_a_run_and_nothing_is_lost(spark: SparkSession, disk: Disk) -> None:
    """Wherever in a step the disk is full, it is not committed; when there is room again, the answers are right."""
    plan = totals()
    cuts = [[(t, "ab"[t % 2], 1) for t in range(step * 3, step * 3 + 4)] for step in range(3)]
    failures: list[str] = []
    engine = engine_in(spark, plan, {}, disk.path)
    for number, (cut, free) in enumerate(zip(cuts, [0, 16 << 10, 48 << 10], strict=True)):
        batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, cut)})
        disk.leave(free)
        try:
            engine.step(batch, number)
        except Exception as error:
            failures.append(str(error))
            disk.clear()
            engine = engine_in(spark, plan, {}, disk.path)
            engine.step(batch, number)
        disk.clear()
    engine.finish()
    assert len(failures) >= 2
    assert all("No space left" in failure for failure in failures)
    found = {sink.name: sorted(rows(tg.read(spark, str(disk.path / sink.name))), key=str) for sink in plan.sinks}
    tables = compute(plan, spark, {"s": frame(spark, plan.sources[0].schema, [*chain(*cuts)])})
    assert found == {name: sorted(rows(table), key=str) for name, table in tables.items()}


def test_a_source_that_goes_back_in_time_is_late(place: Place) -> None:
    """Rows of the past come after their time is complete: they are set aside, and the frontier stays where it was."""
    place.feed.add((100, "a", 1), (110, "a", 1))
    place.feed.add((10, "a", 1), (20, "b", 1))
    place.feed.add((111, "b", 1), (130, "b", 1))
    run = place.run(counts())
    assert place.rows() == [(100, "a", 1), (110, "a", 1), (111, "b", 1)]
    assert sorted((row.row.t, row.bound) for row in run.late("s").collect()) == [(10, "108"), (20, "108")]


def test_half_a_checkpoint_that_was_put_back_from_another_day_is_refused(place: Place) -> None:
    """From the positions of an earlier step, Spark would give other rows under numbers that are committed already."""
    checkpoint = place.path / "checkpoint"
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts())
    shutil.copytree(checkpoint / "spark", place.path / "old")
    place.feed.add((6, "a", 1), (9, "a", 1))
    place.feed.add((12, "a", 1))
    place.run(counts())
    before = place.rows()
    shutil.rmtree(checkpoint / "spark")
    shutil.copytree(place.path / "old", checkpoint / "spark")
    place.feed.add((20, "a", 1))
    with pytest.raises(BadCheckpoint, match="do not belong together"):
        place.run(counts(), inputs={"s": _all_at_once(place)})
    assert place.rows() == before


def _all_at_once(place: Place) -> Any:
    return place.spark.readStream.schema(DDL).parquet(str(place.feed.path))


def test_a_clock_that_jumps_decides_nothing(place: Place) -> None:
    """Files that are dated back are read; a lock of another host from the future is alive, and an old one is not."""
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts())
    place.feed.add((4, "a", 1), (9, "a", 1))
    os.utime(place.feed.path / "0001.parquet", (900_000, 900_000))
    place.run(counts())
    assert place.rows() == [(1, "a", 1), (4, "a", 1), (5, "a", 1)]
    lock = place.path / "checkpoint" / "lock"
    lock.write_text(json.dumps({"host": "elsewhere", "boot": "x", "process": 1, "started": "1"}))
    os.utime(lock, (time.time() + 86_400, time.time() + 86_400))
    with pytest.raises(CheckpointInUse, match="on elsewhere"):
        place.start(counts())
    os.utime(lock, (time.time() - 86_400, time.time() - 86_400))
    place.run(counts())
    assert place.rows() == [(1, "a", 1), (4, "a", 1), (5, "a", 1)]


def test_an_empty_input_ends_with_nothing(place: Place) -> None:
    """No step runs before the end, which completes everything, and gives no rows."""
    run = place.run(counts())
    assert (run.status().state, run.status().step) == ("stopped", None)
    run = place.start(counts(), trigger={"processingTime": "0 seconds"})
    run.finish()
    assert (run.status().state, run.status().step) == ("ended", 0)
    assert place.rows() == []
    assert run.late("s").count() == 0


@pytest.mark.slow
def test_steps_without_rows_and_rows_of_one_key(spark: SparkSession, tmp_path: Path) -> None:
    """Empty steps before, between and after; one key with all the rows; other partitions in each step and restart."""
    plan = totals()
    many = [(t, "only", x) for t in range(3) for x in range(700)]
    cuts: Cuts = [{"s": part} for part in ([], many[:900], many[900:], [])]
    sizes = iter([1, 4, 3, 1])
    found = run_steps(spark, plan, cuts, {}, tmp_path, restart=True, partitions=lambda: next(sizes))
    each = sum(range(700))
    assert sorted(found["out"]) == [(t, "only", each * (t + 1)) for t in range(3)]
    assert [row[-2:] for row in found["windows"]] == [("only", 2100)]
