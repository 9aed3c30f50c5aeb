"""Positions: whatever a source is read from, a run that dies goes on behind what is committed, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.deaths import Died, SerialKiller
from tests.local_engine.place import Place
from tests.spark.place import DDL, SCHEMA
from tidegate.engine.storage.errors import CheckpointClosed
from tidegate.engine.storage.files import Files
from tidegate.local_engine.streaming import feeds
from tidegate.local_engine.streaming.engine import LocalEngine
from tidegate.local_engine.streaming.feeds.batches import BatchFeed
from tidegate.local_engine.streaming.feeds.published import PublishedFeed
from tidegate.local_engine.streaming.feeds.readers import ReaderFeed
from tidegate.local_engine.streaming.start import prepare

ROWS = [(t, k, t * 10 + i) for t in range(5) for i, k in enumerate("ab")]
DEATHS = [("writing", 0), ("before commit", 1), ("during commit", 1), ("after commit", 1), ("recovering", 1)]
DEATHS += [("published", 2), ("after commit", 3), ("sweeping", 3), ("begin", 4)]


def table(t: int) -> pa.Table:
    rows = [row for row in ROWS if row[0] == t]
    return pa.Table.from_arrays(
        [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(SCHEMA)], schema=SCHEMA
    )


class Times:
    """A reader that gives the rows of one time after the other."""

    def initialOffset(self) -> Any:
        return {"t": 0}

    def latestOffset(self, start: Any) -> Any:
        return {"t": min(start["t"] + 1, 5)}

    def partitions(self, start: Any, end: Any) -> Any:
        return range(start["t"], end["t"])

    def read(self, partition: int) -> Iterator[Any]:
        yield from table(partition).to_batches()


def batches(taken: int) -> Iterator[pa.Table]:
    """The rows of one time after the other."""
    for t in range(taken, 5):
        yield table(t)


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let steps be cut in the same way each time: one batch, or one step of another flow, a step."""
    monkeypatch.setattr(feeds.batches, "_AHEAD", 1)
    monkeypatch.setattr(feeds.published, "_AT_ONCE", 1)


@pytest.fixture
def followed(tmp_path: Path) -> Path:
    """An output with a step for each time."""
    (tmp_path / "followed").mkdir()
    place = Place(tmp_path / "followed")
    flow = tg.Flow("followed")
    flow.sink("out", flow.source("s", DDL, time="t", watermark=tg.bounded(0)))
    for t in range(5):
        place.feed.add(*(row for row in ROWS if row[0] == t))
    place.start(flow, trigger=None).finish()
    return place.path / "out"


def given(kind: str, followed: Path) -> Any:
    return {
        "function": lambda: batches,
        "reader": Times,
        "published": lambda: tg.read_stream(tg.local(), followed),
    }[kind]()


def through(directory: Path, kind: str, followed: Path, probe: Any) -> list[Any]:
    """Run to the end of the input; after each death a new engine goes on from the checkpoint."""
    flow = tg.Flow("positions")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(1))
    flow.sink("out", rows.accumulate(by="k", total="sum(x)", n="count(*)"))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        inputs, outputs = {"s": given(kind, followed)}, {"out": tg.parquet(directory / "out")}
        try:
            files = Files(directory / "checkpoint")
            engine = prepare(flow.plan, tg.local(threads=1), inputs, outputs, files, probe=probe)
            while engine.step() or not engine.caught_up:
                engine.wait(0.01)
            engine.finish()
        except Died:
            engine.close()
            continue
        except CheckpointClosed:
            pass
        break
    return sorted(tg.read(tg.local(), directory / "out").fetchall())


EXPECTED = sorted((t, k, sum(x for u, l, x in ROWS if l == k and u <= t), t + 1) for t in range(5) for k in "ab")
KINDS = ["function", "reader", "published"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_dies_again_and_again_reads_every_row_once(tmp_path: Path, followed: Path, kind: str) -> None:
    """Batches from a function, offsets of a reader, steps of another flow."""
    killer = SerialKiller(DEATHS)
    assert through(tmp_path, kind, followed, killer) == EXPECTED
    assert not killer.left


def _too_early(kind: type[Any], back: Callable[[Any], None]) -> Callable[[pytest.MonkeyPatch], None]:
    """A feed that goes on before the position that it is given."""

    def mutate(monkeypatch: pytest.MonkeyPatch) -> None:
        real = kind.resume

        def resume(self: Any, position: Any, noted: Any) -> None:
            real(self, position, noted)
            if position:
                back(self)

        monkeypatch.setattr(kind, "resume", resume)

    return mutate


def _earlier_step(feed: Any) -> None:
    feed._at = {"step": -1, "rows": 0, "frontier": -1}


MUTANTS = {
    "function": _too_early(BatchFeed, lambda feed: setattr(feed, "_read_count", max(feed._read_count - 1, 0))),
    "reader": _too_early(ReaderFeed, lambda feed: feed._at.update(t=max(feed._at["t"] - 1, 0))),
    "published": _too_early(PublishedFeed, _earlier_step),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_position_of_the_step_before_is_caught(
    tmp_path: Path, followed: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Rows would come twice, or be late the second time."""
    MUTANTS[kind](monkeypatch)
    assert through(tmp_path, kind, followed, SerialKiller(DEATHS)) != EXPECTED


@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_with_the_position_of_the_step_before_is_caught(
    tmp_path: Path, followed: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The position is that behind the rows of the step, and not that before them."""
    real = LocalEngine._origin
    monkeypatch.setattr(LocalEngine, "_origin", lambda self, new_by_source: real(self, {}))
    assert through(tmp_path, kind, followed, SerialKiller(DEATHS)) != EXPECTED
