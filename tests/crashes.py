"""Kill running flows with SIGKILL at named points, at random times and while they recover, and compare what comes out.

    python -m tests.spark.crashes --kills 200 --report crashes.jsonl
    python -m tests.spark.crashes --engine local --kills 500

A process runs a flow to the end of its input. It is killed, with its JVM if it has one, at the point that it was told;
the next one goes on from the checkpoint. In the end the rows of all sinks, and the late rows, must be those of an
undisturbed run. With a report, a second call goes on where the first one stopped.

With ``--spare``, only Python is killed. Its JVM is halted, and goes on with the jobs that it has while the next process
recovers and runs.

What a process does is the engine's: `tests/spark/crashes.py`, `tests/local_engine/crashes.py`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import count, takewhile
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from tests.crash_flows import FLOWS, STEPS, STORED, write_input
from tests.crash_tasks import Task, Work, perform, perform_apart
from tidegate.engine.steps.recovery import RECOVERY
from tidegate.engine.steps.step import POINTS

__all__ = ["FLOWS", "STEPS", "Point", "Report", "main", "plan", "torment"]

#: A point and the first step that dies there; or no point, and a share of the time that an undisturbed run takes.
Point = tuple[str, float]
#: The module with what a process does, for each engine.
ENGINES = {"spark": "tests.spark.crashes", "local": "tests.local_engine.crashes"}
#: How long a process may take before it counts as hanging.
_PATIENCE = 1800


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
    name: str,
    directory: Path,
    points: list[Point],
    *,
    steps: int = STEPS,
    seed: int = 0,
    spare: bool = False,
    engine: str = "spark",
) -> Report:
    """Run a flow once undisturbed, and once killed at each of the points in turn; ``spare`` lets its JVMs live on."""
    rng = random.Random(f"{name} {seed}")
    for source in ("s", "r"):
        write_input(directory / source, rng, steps)
    with _database(name) as dsn, _Spared(rng) as spared:
        expected = _run(engine, Task(directory, name, "calm", dsn=dsn))
        assert expected is not None, "the undisturbed run was killed"
        # On Spark, most of it is the start; locally it is steps, and those that are committed are not run again.
        calm = expected.pop("seconds") / (1 if engine == "spark" else 3)
        places: Counter[str] = Counter()
        for number, (point, where) in enumerate([*points, ("never", 0.0)]):
            task = Task(directory, name, "killed", point, where, spare=spare, dsn=dsn)
            if not point:
                task = replace(task, where=where * calm, before=_next_step(points[number:], steps))
            found = _run(engine, task, spared)
            # Whoever has come to the end leaves the points of recoveries to the next.
            if found is None:
                places[point or "at random"] += 1
        assert found is not None, "the last process was killed"
        del found["seconds"]
        # A local run takes the same files in the same steps, whatever happens to it.
        same = found == expected or (engine == "spark" and _cut_otherwise(name, expected, found))
        if not same:
            _tell(name, expected, found)
        return Report(name, seed, places.total(), dict(places), same)


def _next_step(points: list[Point], steps: int) -> int:
    """Return the step that the next process is to die in: whoever dies at random must not run beyond it."""
    return next((int(where) for point, where in points if point and where >= 0), steps)


def _cut_otherwise(name: str, expected: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether two runs read the same in other steps.

    Spark's source of files notes which ones come next before Spark notes that there is a batch. Whoever is killed in
    between gets them in one batch with the next ones: what is late, and in which step, is another then, and rightly so.
    """
    if found["steps"] == expected["steps"] or found["read"] != expected["read"]:
        return False
    print(f"{name}: cut into {found['steps']} steps instead of {expected['steps']}", file=sys.stderr, flush=True)
    return True


def _tell(name: str, expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Say what differs between two runs."""
    for kind in (kind for kind in expected if found[kind] != expected[kind]):
        if not isinstance(found[kind], list):
            print(f"{name}, {kind}: {found[kind]} instead of {expected[kind]}", file=sys.stderr, flush=True)
            continue
        right, wrong = (Counter(map(str, rows[kind])) for rows in (expected, found))
        missing, extra = dict(right - wrong), dict(wrong - right)
        print(f"{name}, {kind}: {missing} are missing, {extra} are too many", file=sys.stderr, flush=True)


@contextmanager
def _database(name: str) -> Iterator[str]:
    """A PostgreSQL server, for flows that write to one."""
    from tests.spark.postgres import binaries, server

    if name in STORED and binaries():
        with server() as dsn:
            yield dsn
    else:
        yield ""


class _Spared:
    """JVMs whose Python was killed: each is halted, and goes on after some seconds. None outlives this."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._groups: list[int] = []
        self._timers: list[Timer] = []

    def add(self, group: int) -> None:
        """Let the processes of a group, which are halted, go on while the next process starts or runs."""
        self._groups.append(group)
        self._timers.append(Timer(self._rng.uniform(2, 12), _signal, (group, signal.SIGCONT)))
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


def _run(engine: str, task: Task, spared: _Spared | None = None) -> Any:
    """Run a flow in a process of its own; return what came out, or None if it was killed."""
    out, err = task.directory / "out", task.directory / "err"
    pid, code = (_in_python if engine == "spark" else _in_copy)(engine, task, out, err)
    if code == -signal.SIGKILL:
        if spared and task.spare:
            spared.add(pid)
        return None
    said = err.read_text()[-3000:]
    assert code is not None, f"{task.name} hangs after it was told to die at {task.point}: {said}"
    assert code == 0, f"{task.name}, told to die at {task.point}, failed: {said}"
    return json.loads(out.read_text().splitlines()[-1])


def _in_python(engine: str, task: Task, out: Path, err: Path) -> tuple[int, int | None]:
    """Run a flow in a new Python; return the id of the process, and its exit code: None if it hangs."""
    root = Path(__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", ENGINES[engine], "--work", task.line]
    # Files, since pipes would be open for as long as a JVM lives.
    with out.open("w") as outs, err.open("w") as errs:
        process = subprocess.Popen(command, cwd=root, env=environment, start_new_session=True, stdout=outs, stderr=errs)
    try:
        return process.pid, process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        _signal(process.pid, signal.SIGKILL)
        process.wait()
        return process.pid, None


def _in_copy(engine: str, task: Task, out: Path, err: Path) -> tuple[int, int | None]:
    """Run a flow in a copy of a process that has loaded all modules, which takes longest, and done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([ENGINES[engine]])
    process = context.Process(target=perform_apart, args=(task, ENGINES[engine], str(out), str(err)))
    process.start()
    assert process.pid is not None
    process.join(_PATIENCE)
    if process.exitcode is None:
        process.kill()
        return process.pid, None
    return process.pid, process.exitcode


def main(work: Work, *, engine: str = "spark") -> None:
    """Kill flows; or, if this process is one that is killed, do the work of an engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="how many in all, those in the report included")
    parser.add_argument("--engine", choices=ENGINES, default=engine, help="where they run")
    parser.add_argument("--jobs", type=int, default=2, help="how many flows run at a time")
    parser.add_argument("--spare", action="store_true", help="kill Python only, and let its JVM go on a little later")
    parser.add_argument("--report", type=Path, help="a file with a line for each flow that was run")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        perform(Task.of(given.work), work)
    lines = given.report.read_text().splitlines() if given.report and given.report.exists() else []
    done = [Report(**json.loads(line)) for line in lines]
    lock = Lock()

    def one(task: tuple[str, int]) -> None:
        if sum(report.kills for report in done) >= given.kills:
            return
        with tempfile.TemporaryDirectory() as directory:
            try:
                options = {"seed": task[1], "spare": given.spare, "engine": given.engine}
                report = torment(task[0], Path(directory), plan(*task), **options)
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
