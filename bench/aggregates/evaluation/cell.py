"""One run of a side at a rate: started, warmed up, fed at that rate, and what came of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from bisect import bisect_right
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from bench.aggregates.evaluation.asked import Asked, Pools
from bench.aggregates.evaluation.pace import START, Pace, arguments, rows_of, write_file
from bench.aggregates.evaluation.rule import Rule, seconds_of, typical
from bench.aggregates.evaluation.sides import Session, Started, start
from bench.aggregates.evaluation.stolen import processors
from bench.aggregates.evaluation.waits import Steps, Wait, by_second, of_pairs, of_rows, of_windows
from bench.latency import percentiles

__all__ = ["Cell", "run_cell"]

_ROOT = Path(__file__).parents[3]
#: Before the rows that come at a rate: so many files, of so many rows, all answered before the first of those is due.
_WARM_FILES, _WARM_ROWS = 3, 50
#: How long it is waited for something, in seconds, before it is given up.
_PATIENCE = 120.0
#: How much room files of rows may need, in bytes.
_ROOM = 6_000_000_000


@dataclass(frozen=True, slots=True)
class Cell:
    """What is run: a side, a query in a form, a rate, for how long, and the number of the run."""

    side: str
    query: str
    rate: float
    form: str = "dedicated"
    tumbling: bool = False
    #: How long it is measured, and for how long before that rows come at the rate without being counted.
    seconds: float = 600.0
    warm: float = 30.0
    bound: float = 15.0
    run: int = 0

    @property
    def asked(self) -> Asked:
        """Return the query."""
        return Asked(self.query, self.form, self.tumbling)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return it as values, by which it is known again."""
        return asdict(self)


def run_cell(session: Session, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
    """Run a cell in a directory of its own; return latencies, throughput and whether the rate was sustained."""
    asked = cell.asked
    # After what is measured, rows still come: what was due at the end is answered under the same load.
    pace = Pace(cell.rate, cell.warm + cell.seconds + (min(asked.frames.every, 2.0) if asked.frames else 0) + 1)
    rows = {part.name: part.rows for part in pace.parts()}
    load, before = os.getloadavg()[0], processors()
    command = [sys.executable, "-m", "bench.aggregates.evaluation.pace"]
    # Spark may still write when its query is stopped.
    with (
        TemporaryDirectory(prefix="tidegate-bench-", dir=_memory(place), ignore_cleanup_errors=True) as source,
        TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as directory,
    ):
        given, work = Path(source), Path(directory)
        command.append(arguments(pace, pools.file(asked.source), given))
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as sender:
            assert sender.stdin is not None
            assert sender.stdout is not None
            try:
                _expect(sender.stdout.readline(), "ready")
                rows |= _warm_files(pools.table(asked.source), given)
                started = start(session, cell.side, asked, given, work)
                try:
                    warm = _WARM_FILES * _WARM_ROWS
                    _wait_for(started, rows, warm, time.time() + _PATIENCE)
                    sender.stdin.write("go\n")
                    sender.stdin.flush()
                    began = float(sender.stdout.readline())
                    found = _wait_for_end(started, rows, warm + pace.rows, began + pace.seconds, cell.bound)
                    stopped = time.time()
                    lag = _last_line(sender, stopped - began - pace.seconds)
                finally:
                    started.stop()
            finally:
                # It is done, or nobody waits for it any longer.
                sender.kill()
    steps = Steps(
        tuple(at - began for at, _ in found), tuple(max(0, upto - warm) for _, upto in found), stopped - began
    )
    stolen = processors().since(before)
    return {**_summary(cell, pace, steps, pools), "source_late": lag, "load": load, "stolen": stolen}


def _memory(place: Path) -> Path:
    """Return where files of rows are kept: in memory, if there is room, so that no side waits for what others write.

    Results and checkpoints are on the disk.
    """
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and disk_usage(shared).free > _ROOM else place


def _expect(found: str, wanted: str) -> None:
    if found.strip() != wanted:
        raise RuntimeError(f"expected {wanted!r} of the source, got {found!r}")


def _last_line(sender: subprocess.Popen[str], at_least: float) -> float:
    """Return by how much the source was late at most; one that is not done is late by so much at least."""
    assert sender.stdout is not None
    try:
        sender.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return at_least
    return float(sender.stdout.readline())


def _warm_files(pool: pa.Table, given: Path) -> dict[str, int]:
    """Write files of rows long before the first one; return how many rows they have."""
    found = {}
    for number in range(_WARM_FILES):
        rows = rows_of(pool, 0, _WARM_ROWS, 100.0)
        earlier = pa.array(
            (START - timedelta(seconds=120 - number - i / _WARM_ROWS) for i in range(_WARM_ROWS)), rows["ts"].type
        )
        name = f"-{number}.parquet"
        write_file(rows.set_column(0, rows.schema.field("ts"), earlier), given / name)
        found[name] = _WARM_ROWS
    return found


def _wait_for(started: Started, rows: dict[str, int], count: int, until: float) -> list[tuple[float, int]]:
    """Wait until so many rows can be read; return the steps."""
    while True:
        started.check()
        found = started.steps(rows)
        if found and found[-1][1] >= count:
            return found
        if time.time() > until:
            raise RuntimeError(f"expected {count} rows to be answered, got {found[-1][1] if found else 0}")
        time.sleep(0.1)


def _wait_for_end(
    started: Started, rows: dict[str, int], count: int, ended: float, bound: float
) -> list[tuple[float, int]]:
    """Wait until so many rows can be read, or it is clear that they wait too long; return the steps.

    Where nothing is behind, what was sent last is read in the step that runs, or in the next.
    """
    while True:
        started.check()
        found = started.steps(rows)
        if found and found[-1][1] >= count:
            return found
        now = time.time()
        took = [b - a for (a, _), (b, _) in pairwise(found)]
        longest = max([*took, now - found[-1][0] if found else now - ended])
        if now > ended + min(bound + 2, max(3.0, 2.5 * longest)):
            return found
        time.sleep(0.1)


def _summary(cell: Cell, pace: Pace, steps: Steps, pools: Pools) -> dict[str, Any]:
    """Return what a run was like, of what was due in the time that is measured."""
    asked, frames = cell.asked, cell.asked.frames
    first, last = cell.warm, cell.warm + cell.seconds
    at_once = cell.side == "hand" or asked.early
    waits = {"rows": of_rows(pace, steps, complete=cell.form != "dedicated")}
    # Whether an engine keeps up is seen by how long rows wait until they are taken in, also where answers come later.
    seconds = seconds_of(by_second(waits["rows"]), first, last)
    if frames is not None:
        waits = {
            "pairs": of_pairs(pace, steps, frames, at_once=at_once),
            "windows": of_windows(pace, steps, frames, at_once=at_once),
        }
    counted = {name: [wait for wait in found if first <= wait.due < last] for name, found in waits.items()}
    # The paper's latency of a Join is that of its pairs; a window whose last rows wait long has not kept up either.
    rule = Rule(bound=cell.bound)
    exceeded = max(rule.exceeded(seconds_of(by_second(found), first, last)) for found in waits.values())
    took = [b - a for a, b in zip(steps.at, steps.at[1:], strict=False) if first <= b < last]
    answered = all(found and all(wait.answered for wait in found) for found in counted.values())
    step = max(typical(took), pace.tick)
    throughput = _throughput(steps, first, last)
    result: dict[str, Any] = {name: _said(found) for name, found in counted.items()}
    return result | {
        "sustained": answered and rule.kept(seconds, step) and exceeded <= rule.times,
        "throughput": throughput,
        "comparisons": pools.comparisons(asked, cell.rate) * throughput / cell.rate,
        "step": step,
        # Where no two steps ended in time, one takes as long at least.
        "quickest": max(min(took, default=cell.seconds), pace.tick),
        "growth": rule.growth(seconds),
        "exceeded": exceeded,
        "seconds": {str(second): round(value, 4) for second, value in seconds.items()},
    }


def _said(waits: list[Wait]) -> dict[str, float] | None:
    if not waits:
        return None
    half, most, nearly_all = percentiles((wait.seconds, wait.weight) for wait in waits)
    weight = sum(wait.weight for wait in waits)
    average = sum(wait.seconds * wait.weight for wait in waits) / weight
    return {"mean": average, "median": half, "p95": most, "p99": nearly_all, "count": weight}


def _throughput(steps: Steps, first: float, last: float) -> float:
    """Return the rows a second that were answered in the time that counts; a step answers evenly while it runs.

    An engine that takes rows in quickly, and then stands still while it joins them, has not answered them: what a step
    does that never ended counts for nothing.

    >>> _throughput(Steps(at=(1.0, 3.0, 6.0), upto=(100, 300, 900), until=6.0), 1.0, 5.0)
    150.0
    >>> _throughput(Steps(at=(1.0, 3.0), upto=(100, 300), until=20.0), 1.0, 5.0)
    50.0
    """
    return (_answered(steps, last) - _answered(steps, first)) / (last - first)


def _answered(steps: Steps, at: float) -> float:
    """Return how many rows were answered at some time."""
    place = bisect_right(steps.at, at)
    before, so_far = (steps.at[place - 1], steps.upto[place - 1]) if place else (0.0, 0)
    if place == len(steps.at):
        return float(so_far)
    return so_far + (steps.upto[place] - so_far) * (at - before) / (steps.at[place] - before)
