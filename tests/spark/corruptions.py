"""Damage every kind of file of a checkpoint and of its outputs, and see what the next start makes of it.

    python -m tests.spark.corruptions --report corruptions.jsonl

A run is recorded: its directory is copied at named moments, as a kill would leave it. For each kind of file in such a
copy and each kind of damage, the copy is put back, one file is damaged, and the flow is started again with the rest of
its input. It must give the rows of an undisturbed run, or refuse with an error of ours; anything else is a bug.
``--without CHECK`` leaves one of our checks out: the harness must then find that.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from tests.spark.damages import DAMAGES, flipped

import tidegate as tg
from tidegate.engine.storage.errors import CheckpointClosed
from tidegate.errors import TidegateError
from tidegate.spark.streaming.start import start
from tidegate.spec import DT, WM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CHECKS", "HARMS", "MOMENTS", "Trial", "Verdict", "run_all", "without"]

SCHEMA = pa.schema([("t", pa.int32()), ("k", pa.string()), ("x", pa.int32())])
DDL = "t INT, k STRING, x INT"
#: How many files of input there are, one a step, and the step in which copies are made.
FILES, STEP = 6, 3
#: The moments at which a directory is copied: points of step `STEP`, and after the run was stopped.
MOMENTS = ("between state and output", "after commit", "handed over", "published", "stopped")


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

    def state(self) -> int:
        return self.total

    def resume(self, state: int) -> Balance:
        return Balance(state)


def flow() -> tg.Flow:
    """A flow with several kinds of state, two directories and a function as outputs, and late and rejected rows."""
    found = tg.Flow("damaged")
    rows = found.source("s", DDL, time="t", watermark=tg.bounded(2))
    found.sink("windows", rows.window(6, every=3).aggregate(by="k", n="count(*)", total="sum(x)"))
    found.sink("totals", rows.accumulate(by="k", total="sum(x)").join_asof(rows.select("k", "x AS y"), on="k"))
    found.sink("seen", rows.process(Balance(), by="k", schema="total INT"))
    return found


class Place:
    """A directory with the input, the checkpoint and the outputs of a run; damage happens below ``run``."""

    def __init__(self, spark: SparkSession, path: Path, seed: int) -> None:
        self.spark = spark
        self.input = path / "in"
        self.run = path / "run"
        #: What the sink that is a function was given, by step.
        self.seen: dict[int, list[str]] = {}
        self._seed = seed
        self.input.mkdir(parents=True)

    def feed(self, number: int) -> None:
        """Add a file of input, with a row that is late and one that has no time."""
        rows = [(3 * number + i % 4, "abc"[(i + self._seed) % 3], i * (self._seed + 1)) for i in range(12)]
        rows += [(0, "late", number), (None, "null", number)]
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(SCHEMA)]
        path = self.input / f"{number}.parquet"
        pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), path)
        # Spark takes the oldest first, and of those of one millisecond any.
        os.utime(path, (1_000_000 + number, 1_000_000 + number))

    def start(self, probe: Callable[[str, int], None] = lambda point, step: None) -> tg.Run:
        def remember(rows: Any, step: int) -> None:
            self.seen[step] = sorted(map(repr, rows.collect()))

        outputs = {name: tg.parquet(str(self.run / name)) for name in ("windows", "totals")}
        stream = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(self.input))
        return start(
            flow().plan,
            self.spark,
            {"s": stream},
            {**outputs, "seen": tg.foreach(remember)},
            str(self.run / "checkpoint"),
            trigger={"availableNow": True},
            probe=probe,
        )

    def go_on(self) -> dict[str, list[str]]:
        """Run what input there is to the end; return all rows that came out, those set aside too."""
        run = self.start()
        run.await_termination(120)
        found = {name: tg.read(self.spark, str(self.run / name)) for name in ("windows", "totals")}
        found |= {"late": run.late("s"), "rejected": run.rejected("s")}
        collected = {name: sorted(map(repr, rows.collect())) for name, rows in found.items()}
        return collected | {"seen": [f"{step}: {row}" for step, rows in sorted(self.seen.items()) for row in rows]}


@dataclass(frozen=True)
class Recording:
    """A run that was recorded: copies of its directory, and what the function had been given, by moment."""

    place: Place
    copies: Path
    seen: Mapping[str, Mapping[int, list[str]]]

    def files(self, moment: str) -> list[str]:
        """The files of a copy, relative to it."""
        root = self.copies / moment
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())

    def put_back(self, moment: str) -> None:
        """Make the directory what it was at a moment."""
        shutil.rmtree(self.place.run, ignore_errors=True)
        shutil.copytree(self.copies / moment, self.place.run)
        self.place.seen = {step: list(rows) for step, rows in self.seen[moment].items()}


def record(spark: SparkSession, path: Path, seed: int) -> Recording:
    """Run the first files of an input, copy the directory at each moment, then make the rest of the input ready."""
    place = Place(spark, path, seed)
    copies, seen = path / "copies", {}

    def copy(moment: str) -> None:
        if not (copies / moment).exists():
            shutil.copytree(place.run, copies / moment)
            seen[moment] = {step: list(rows) for step, rows in place.seen.items()}

    def probe(point: str, step: int) -> None:
        if step == STEP - 1 and point == "published":
            copy("earlier")
        if step == STEP and point in MOMENTS:
            copy(point)

    for number in range(STEP + 1):
        place.feed(number)
    place.start(probe).await_termination(120)
    copy("stopped")
    for number in range(STEP + 1, FILES):
        place.feed(number)
    return Recording(place, copies, seen)


def kind_of(path: str) -> str:
    """What kind of file a path is: names of attempts, numbers and hashes do not matter.

    >>> kind_of("checkpoint/state/a1b2c3d4e5/0/3-0a1b2c3d/part-00000-9f.snappy.parquet")
    'checkpoint/state/…/part'
    >>> kind_of("totals/step=3/part-00001.parquet"), kind_of("checkpoint/commits/3")
    ('totals/step=…/part', 'checkpoint/commits/…')
    """
    hidden = "." if re.search(r"/\.[^/]*\.crc$", path) else ""
    path = re.sub(r"/\.?part-[^/]*$", f"/{hidden}part{'.crc' if hidden else ''}", path)
    path = re.sub(r"(?<=state/).*(?=/\.?part)", "…", path)
    path = re.sub(r"[0-9a-f]{8,}(-[0-9a-f]+)*", "…", path)
    return re.sub(r"\d+(-…)?", "…", path)


#: What happens to a file: it returns whether it changed anything. It gets a file of its kind from an earlier step, and
#: one of another run, if there are such files.
Harm = Callable[[Path, Path | None, Path | None], bool]


def _by(damage: Callable[[Path], Any]) -> Harm:
    def harm(file: Path, earlier: Path | None, other: Path | None) -> bool:
        if not file.stat().st_size:
            return False
        damage(file)
        return True

    return harm


def _replace(file: Path, by: Path | None) -> bool:
    if by is None or by.read_bytes() == file.read_bytes():
        return False
    shutil.copyfile(by, file)
    return True


def _flip(share: float) -> Harm:
    return _by(lambda file: flipped(file, int(share * (file.stat().st_size - 1))))


def _other_number(file: Path, earlier: Path | None, other: Path | None) -> bool:
    """Move the first frontier that a file names ahead: it is still a file of JSON, and all that it names is there."""
    found = file.read_bytes()
    changed = re.sub(rb'(?<="frontier": \[\[)(?=\d)', b"9", found, count=1)
    file.write_bytes(changed)
    return changed != found


HARMS: dict[str, Harm] = {
    **{name: _by(DAMAGES[name]) for name in ("emptied", "truncated", "deleted", "another file added")},
    "a bit flipped in the first third": _flip(0.3),
    "a bit flipped in the middle": _flip(0.55),
    "a bit flipped near the end": _flip(0.97),
    "another number": _other_number,
    "put back from an earlier step": lambda file, earlier, other: _replace(file, earlier),
    "swapped with another run's": lambda file, earlier, other: _replace(file, other),
    "deleted with its directory": _by(lambda file: shutil.rmtree(file.parent)),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """One damage to one file, as it was at a moment."""

    moment: str
    kind: str
    file: str
    harm: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a trial: ``right`` rows; ``refused`` by an error of ours; or a bug, in capital letters."""

    trial: Trial
    outcome: str
    said: str = ""

    @property
    def good(self) -> bool:
        return self.outcome in ("right", "refused", "nothing changed")


def trials(recording: Recording) -> Iterator[Trial]:
    """For each moment, each kind of file that is there, its oldest and its newest, and each damage.

    Kinds that were damaged at an earlier moment are damaged again at the moments of which more is to be feared: when a
    step is committed and not yet published, and when the run has been stopped.
    """
    before: set[str] = set()
    for moment in MOMENTS:
        kinds: dict[str, list[str]] = {}
        for file in recording.files(moment):
            kinds.setdefault(kind_of(file), []).append(file)
        for kind, files in sorted(kinds.items()):
            if kind in before and moment not in ("after commit", "stopped"):
                continue
            for file in sorted({min(files, key=_numbers), max(files, key=_numbers)}):
                for harm in HARMS:
                    yield Trial(moment, kind, file, harm)
        before |= set(kinds)


def _numbers(path: str) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"(?<![0-9a-f])\d+(?![0-9a-f])", path)], path


def try_out(recording: Recording, other: Recording, expected: Mapping[str, list[str]], trial: Trial) -> Verdict:
    """Damage a file, go on, and compare."""
    recording.put_back(trial.moment)
    earlier = _like(recording, "earlier", trial, last=True)
    foreign = _like(other, trial.moment, trial, last=False)
    if not HARMS[trial.harm](recording.place.run / trial.file, earlier, foreign):
        return Verdict(trial, "nothing changed")
    try:
        found = recording.place.go_on()
    except CheckpointClosed as error:
        return Verdict(trial, "ODD ERROR", f"closed: {error}")
    except TidegateError as error:
        return Verdict(trial, "refused", str(error))
    except Exception as error:
        return Verdict(trial, "ODD ERROR", f"{type(error).__name__}: {str(error)[:500]}")
    different = [name for name in expected if found[name] != expected[name]]
    if not different:
        return Verdict(trial, "right")
    counts = ", ".join(f"{name}: {len(found[name])} rows, expected {len(expected[name])}" for name in different)
    return Verdict(trial, "WRONG ROWS", counts)


def _like(recording: Recording, moment: str, trial: Trial, *, last: bool) -> Path | None:
    """A file of the same kind: of the same path if there is one, else the newest or the oldest."""
    root = recording.copies / moment
    if (root / trial.file).exists() and not (last and trial.moment == moment):
        return root / trial.file
    files = [file for file in recording.files(moment) if kind_of(file) == trial.kind]
    return root / (max if last else min)(files, key=_numbers) if files else None


def _there(files: Any, path: str, entry: Any, size: int | None, **options: Any) -> str:
    """Take a file that is there for what was written, whatever is in it."""
    return "is missing" if size is None else ""


#: Checks that can be left out: the places of a function, and what stands there instead.
CHECKS: dict[str, tuple[list[str], Callable[..., Any]]] = {
    "parts": (
        [
            f"tidegate.{module}.check_part"
            for module in ("spark.streaming.parts", "engine.steps.publishing", "engine.steps.recovery")
        ],
        lambda *given, **options: None,
    ),
    "files": (["tidegate.engine.storage.manifest._difference"], _there),
    "seals": (["tidegate.engine.storage.sealed._checksum"], lambda content: 0),
}


@contextmanager
def without(check: str) -> Iterator[None]:
    """Leave a check out for a while."""
    places, instead = CHECKS[check]
    with ExitStack() as patches:
        for place in places:
            module, _, name = place.rpartition(".")
            patches.enter_context(patch.object(import_module(module), name, instead))
        yield


def run_all(
    spark: SparkSession,
    path: Path,
    *,
    only: str = "",
    share: float = 1.0,
    seed: int = 0,
    see: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """Try out the trials whose text has the pattern ``only``, or a share of them drawn by a seed; return verdicts."""
    recording, other = record(spark, path / "one", seed=0), record(spark, path / "other", seed=1)
    recording.put_back("stopped")
    expected = recording.place.go_on()
    assert all(expected.values()), "the undisturbed run gives nothing to compare"
    chosen = [trial for trial in trials(recording) if re.search(only, f"{trial.moment} {trial.file} {trial.harm}")]
    drawn = random.Random(seed).sample(chosen, round(share * len(chosen)))
    verdicts = []
    for trial in drawn:
        verdicts.append(try_out(recording, other, expected, trial))
        see(verdicts[-1])
    return verdicts


def _main() -> None:
    from tests.spark.sessions import quick_session

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=Path, help="a file to write a line of JSON to for each trial")
    parser.add_argument("--only", default="", help="trials whose moment, file and damage have this pattern")
    parser.add_argument("--share", type=float, default=1.0, help="how many of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="for drawing")
    parser.add_argument("--without", choices=sorted(CHECKS), help="a check to leave out")
    given = parser.parse_args()
    spark = quick_session("corruptions")
    spark.sparkContext.setLogLevel("OFF")
    began = time.monotonic()

    def see(verdict: Verdict) -> None:
        if not verdict.good:
            print(f"{verdict.outcome}: {verdict.trial}\n    {verdict.said}", flush=True)
        if given.report:
            with given.report.open("a") as file:
                file.write(json.dumps(asdict(verdict)) + "\n")

    with tempfile.TemporaryDirectory() as directory, without(given.without) if given.without else nullcontext():
        verdicts = run_all(spark, Path(directory), only=given.only, share=given.share, seed=given.seed, see=see)
    _summary(verdicts, time.monotonic() - began)
    sys.exit(0 if all(verdict.good for verdict in verdicts) else 1)


def _summary(verdicts: list[Verdict], seconds: float) -> None:
    by_kind: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        by_kind.setdefault(verdict.trial.kind, Counter())[verdict.outcome] += 1
    for kind, outcomes in sorted(by_kind.items()):
        print(f"{kind:60} {', '.join(f'{n} {outcome}' for outcome, n in sorted(outcomes.items()))}")
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    print(f"{len(verdicts)} trials in {seconds:.0f} s: {', '.join(f'{n} {o}' for o, n in sorted(outcomes.items()))}")


if __name__ == "__main__":
    _main()
