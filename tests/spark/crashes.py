"""Kill running flows with SIGKILL at named points, at random times and while they recover, and compare what comes out.

    python -m tests.spark.crashes --kills 200 --report crashes.jsonl

A process runs a flow to the end of its input. It is killed, with its JVM, at the point that it was told; the next one
goes on from the checkpoint. In the end the rows of all sinks, and the late rows, must be those of an undisturbed run.
With a report, a second call goes on where the first one stopped.

With ``--spare``, only Python is killed. Its JVM is halted, and goes on with the jobs that it has while the next process
recovers and runs.
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
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import tidegate as tg
from tidegate.engine.steps.recovery import RECOVERY
from tidegate.engine.steps.step import POINTS
from tidegate.spark.hadoop import files_at
from tidegate.spec import DT, WM

__all__ = ["FLOWS", "STEPS", "Report", "plan", "torment"]

STEPS = 9
DDL = "t INT, u INT, k STRING, x INT"
#: A point and the first step that dies there; or no point, and a share of the time that an undisturbed run takes.
Point = tuple[str, float]
#: How long a process may take before it counts as hanging.
_PATIENCE = 1800


def _total(flow: tg.Flow, name: str = "s") -> tg.Stream:
    return flow.source(name, DDL, time="t", watermark=tg.bounded(3))


def _pairs(flow: tg.Flow) -> tg.Stream:
    return flow.source("s", DDL, time=("t", "u"), watermark=tg.bounded(3, 5))


def _deduplicated(flow: tg.Flow) -> tg.Stream:
    rows = _total(flow)
    latest = rows.where("x % 3 = 0").select("k", "x AS y")
    return rows.deduplicate(["k", "x % 4 AS rest"], within=4).join_asof(latest, on="k", how="left")


def _growing(flow: tg.Flow) -> tg.Stream:
    """Edges of which those of every step lead to new nodes, so that every step has rounds."""
    return _total(flow).select("t * 4 + x AS src", "t * 4 + (x * 3 + u) % 10 AS dst")


def _joined(flow: tg.Flow) -> tg.Stream:
    others = _total(flow, "r").aggregate(by="k", least="min(x)")
    return _total(flow).accumulate(by="k", total="sum(x)").join(others, on="k", how="full")


@dataclass(frozen=True)
class Balance:
    """An operator of one's own: what the rows of a key come to, at each time."""

    total: int = 0

    def apply(self, event: Any) -> tuple[Balance, list[Any]]:
        if isinstance(event, WM):
            return self, [DT(event.t, {"total": self.total})]
        return Balance(self.total + event.d["x"]), []

    def exit(self) -> list[Any]:
        return []


#: The flows that are killed: every kind of state is in one of them. Those in ``_STORED`` also write to PostgreSQL.
FLOWS: dict[str, Callable[[tg.Flow], tg.Stream]] = {
    "windows": lambda f: _total(f).window(6, every=3).aggregate(by="k", n="count(*)", total="sum(x)"),
    "revised": lambda f: _total(f).where("x > 2").window(6, every=3, lateness=20).aggregate(by="k", total="sum(x)"),
    "sessions": lambda f: _total(f).where("x % 5 > 1").session(2).aggregate(by="k", n="count(*)"),
    "pairs": lambda f: _pairs(f).aggregate(by="k", total="sum(x)").accumulate(most="max(total)"),
    "deduplicated": _deduplicated,
    "joined": _joined,
    "loops": lambda f: tg.graph.components(_growing(f), "src", "dst"),
    "processed": lambda f: _total(f).process(Balance(), by="k", schema="total INT"),
    "stored": lambda f: _total(f).accumulate(by="k", total="sum(x)"),
}
_STORED = {"stored"}


@dataclass(frozen=True, slots=True)
class Report:
    """How often a flow was killed, where, and whether its output was the same in the end."""

    flow: str
    seed: int
    kills: int
    places: dict[str, int]
    same: bool


def plan(name: str, seed: int, *, steps: int = STEPS) -> list[Point]:
    """Return where the processes that run a flow die: once in each step, after some of those while recovering.

    Every named point comes, from a step on that the seed chooses; rounds, too. The end of the input is a step too.
    """
    rng = random.Random(f"{name} {seed}")
    places: list[Point] = []
    for step, point in enumerate(rng.sample(POINTS, len(POINTS))[: steps + 1]):
        if name == "loops" and step in (3, 6):
            places.append(("round", step))
        places.append((point, step))
        committed = POINTS.index(point) > POINTS.index("during commit")
        # Before the first commit there is nothing to recover from: the process would run to the end of the input.
        if committed or (rng.random() < 0.25 and step):
            places.append((rng.choice(RECOVERY), -1))
        if rng.random() < 0.3:
            places.append(("", rng.uniform(0.2, 0.6)))
    return places


def torment(
    name: str, directory: Path, points: list[Point], *, steps: int = STEPS, seed: int = 0, spare: bool = False
) -> Report:
    """Run a flow once undisturbed, and once killed at each of the points in turn; ``spare`` lets its JVMs live on."""
    rng = random.Random(f"{name} {seed}")
    for source in ("s", "r"):
        _write_input(directory / source, rng, steps)
    with _database(name) as dsn, _Spared(rng) as spared:
        started = time.monotonic()
        expected = _run(name, directory, "calm", None, dsn)
        calm = time.monotonic() - started
        assert expected is not None, "the undisturbed run was killed"
        places: Counter[str] = Counter()
        for number, (point, where) in enumerate([*points, ("never", 0.0)]):
            die = (point, where) if point else ("", where * calm, _next_step(points[number:], steps))
            found = _run(name, directory, "killed", die, dsn, spared if spare else None)
            # Whoever has come to the end leaves the points of recoveries to the next.
            if found is None:
                places[point or "at random"] += 1
        assert found is not None, "the last process was killed"
        return Report(name, seed, places.total(), dict(places), _same(name, expected, found))


def _next_step(points: list[Point], steps: int) -> int:
    """Return the step that the next process is to die in: whoever dies at random must not run beyond it."""
    return next((int(where) for point, where in points if point and where >= 0), steps)


def _same(name: str, expected: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether two runs gave the same; say on the way what differs.

    Spark's source of files notes which ones come next before Spark notes that there is a batch. Whoever is killed in
    between gets them in one batch with the next ones: what is late, and in which step, is another then, and rightly so.
    """
    if found["steps"] != expected["steps"]:
        print(f"{name}: cut into {found['steps']} steps instead of {expected['steps']}", file=sys.stderr, flush=True)
        return bool(found["read"] == expected["read"])
    for kind in (kind for kind in expected if found[kind] != expected[kind]):
        right, wrong = (Counter(map(str, rows[kind])) for rows in (expected, found))
        missing, extra = dict(right - wrong), dict(wrong - right)
        print(f"{name}, {kind}: {missing} are missing, {extra} are too many", file=sys.stderr, flush=True)
    return found == expected


@contextmanager
def _database(name: str) -> Iterator[str]:
    """A PostgreSQL server, for flows that write to one."""
    from tests.spark.postgres import binaries, server

    if name in _STORED and binaries():
        with server() as dsn:
            yield dsn
    else:
        yield ""


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


class _Spared:
    """JVMs whose Python was killed: each is halted, and goes on after some seconds. None outlives this."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._groups: list[int] = []
        self._timers: list[threading.Timer] = []

    def add(self, group: int) -> None:
        """Let the processes of a group, which are halted, go on while the next process starts or runs."""
        self._groups.append(group)
        self._timers.append(threading.Timer(self._rng.uniform(2, 12), _signal, (group, signal.SIGCONT)))
        self._timers[-1].start()

    def __enter__(self) -> _Spared:
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()
        for group in self._groups:
            _signal(group, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _run(
    name: str,
    directory: Path,
    place: str,
    point: Point | tuple[str, float, int] | None,
    dsn: str,
    spared: _Spared | None = None,
) -> Any:
    """Run a flow in a process of its own; return what came out, or None if it was killed."""
    command = [sys.executable, "-m", "tests.spark.crashes", "--work", str(directory), "--flow", name, "--place", place]
    if point is not None:
        command += ["--point", point[0], "--at", str(point[1])]
        command += [f"--before={step}" for step in point[2:]]
    if spared:
        command.append("--spare")
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}", "SPARK_LOCAL_IP": "127.0.0.1", "DSN": dsn}
    # Files, since pipes would be open for as long as a JVM lives.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, cwd=root, env=environment, start_new_session=True, stdout=out, stderr=err)
        try:
            code = process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            _signal(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        out.seek(0)
        err.seek(0)
        if code == -signal.SIGKILL:
            if spared:
                spared.add(process.pid)
            return None
        said = err.read()[-3000:]
        assert code is not None, f"{name} hangs after it was told to die at {point}: {said}"
        assert code == 0, f"{name}, told to die at {point}, failed: {said}"
        return json.loads(out.read().splitlines()[-1])


def _kill(jvm: int | None) -> None:
    """End this process, and all of its group, which is its own; if a JVM is given, halt that one instead."""
    if jvm is None:
        os.killpg(os.getpgid(0), signal.SIGKILL)
    else:
        os.kill(jvm, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGKILL)


def _work(directory: Path, name: str, place: str, point: str | None, where: float, before: int, *, spare: bool) -> None:
    from tests.spark.sessions import quick_session

    from tidegate.engine.storage.errors import CheckpointClosed
    from tidegate.engine.storage.log import last_commit
    from tidegate.spark.streaming.start import start

    began = time.monotonic()
    spark = quick_session("crashes")
    jvm = spark.sparkContext._gateway.proc.pid if spare else None
    flow = tg.Flow(name)
    stream = FLOWS[name](flow)
    home = directory / place
    flow.sink("out", stream)
    outputs: dict[str, Any] = {"out": tg.parquet(str(home / "out"))}
    if os.environ["DSN"]:
        from tests.spark.postgres import PASSWORD

        flow.sink("table", stream)
        outputs["table"] = tg.postgres(place, dsn=os.environ["DSN"], password=PASSWORD)
    inputs = {
        s.id: spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(directory / s.id))
        for s in flow.plan.sources
    }

    def probe(at: str, number: int) -> None:
        # Not every step comes to every point: one that completes nothing has nothing to publish.
        if (at == point and number >= where) or (point == "" and at == "begin" and number >= before):
            _kill(jvm)

    if point == "":
        threading.Timer(max(0.0, where - (time.monotonic() - began)), _kill, (jvm,)).start()
    try:
        run = start(flow.plan, spark, inputs, outputs, str(home / "ck"), trigger={"availableNow": True}, probe=probe)
        run.await_termination()
        run = start(flow.plan, spark, inputs, outputs, str(home / "ck"), probe=probe)
        run.finish()
    except CheckpointClosed:
        pass
    rows = [list(map(repr, row)) for row in tg.read(spark, str(home / "out")).collect()]
    late = [row for source in inputs for row in spark.read.parquet(str(home / "ck" / "late" / source)).collect()]
    found: dict[str, Any] = {"rows": sorted(rows), "late": sorted(map(repr, late))}
    commit = last_commit(files_at(spark, str(home / "ck")))
    assert commit is not None
    found |= {"steps": commit["step"], "read": [marks["rows"] for marks in commit["sources"].values()]}
    if os.environ["DSN"]:
        found["table"] = _table(place)
        assert len(found["table"]) == len(rows)
    # A timer that has not gone off yet must not kill what has ended.
    print(json.dumps(found), flush=True)
    os._exit(0)


def _table(name: str) -> list[Any]:
    import psycopg
    from tests.spark.postgres import PASSWORD

    with psycopg.connect(os.environ["DSN"], password=PASSWORD) as connection:
        return sorted(repr(row) for row in connection.execute(f"SELECT * FROM {name}"))


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="how many in all, those in the report included")
    parser.add_argument("--jobs", type=int, default=2, help="how many flows run at a time")
    parser.add_argument("--spare", action="store_true", help="kill Python only, and let its JVM go on a little later")
    parser.add_argument("--report", type=Path, help="a file with a line for each flow that was run")
    for option in ("work", "flow", "place", "point"):
        parser.add_argument(f"--{option}", help=argparse.SUPPRESS)
    parser.add_argument("--at", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--before", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        _work(Path(given.work), given.flow, given.place, given.point, given.at, given.before, spare=given.spare)
        return
    lines = given.report.read_text().splitlines() if given.report and given.report.exists() else []
    done = [Report(**json.loads(line)) for line in lines]
    lock = threading.Lock()

    def one(task: tuple[str, int]) -> None:
        if sum(report.kills for report in done) >= given.kills:
            return
        with tempfile.TemporaryDirectory() as directory:
            try:
                report = torment(task[0], Path(directory), plan(*task), seed=task[1], spare=given.spare)
            except AssertionError as error:
                print(error, file=sys.stderr, flush=True)
                report = Report(*task, 0, {}, same=False)
        with lock:
            done.append(report)
            print(f"{report.flow}: {report.kills} kills, {'the same' if report.same else 'DIFFERENT'}", flush=True)
            if given.report:
                with given.report.open("a") as file:
                    file.write(json.dumps(asdict(report)) + "\n")

    known = {(report.flow, report.seed) for report in done}
    for seed in takewhile(lambda _: sum(report.kills for report in done) < given.kills, count()):
        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(one, [(name, seed) for name in FLOWS if (name, seed) not in known]))
    _summary(done)
    sys.exit(0 if all(report.same for report in done) else 1)


def _summary(reports: list[Report]) -> None:
    places: Counter[str] = Counter()
    for report in reports:
        places.update(report.places)
    for place, kills in places.most_common():
        print(f"{kills:5} {place}")
    flows = len({report.flow for report in reports})
    different = [f"{report.flow} with seed {report.seed}" for report in reports if not report.same]
    outcome = f"DIFFERENT: {', '.join(different)}" if different else "all the same"
    print(f"{places.total():5} kills of {flows} flows; {outcome}")


if __name__ == "__main__":
    _main()
