"""A place to run flows in, locally: a directory that files are added to, a checkpoint and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tidegate as tg
from tests.spark.place import Feed
from tidegate.local_engine.session import Local

__all__ = ["Place"]


class Place:
    """A feed, a checkpoint and outputs in one directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.feed = Feed(path / "in")
        self.session: Local = tg.local(threads=2)

    def start(self, flow: tg.Flow, **options: Any) -> tg.Run:
        outputs = {s.name: tg.parquet(self.path / s.name) for s in flow.plan.sinks} | options.pop("outputs", {})
        inputs = {"s": tg.files(self.feed.path, per_step=1)} | options.pop("inputs", {})
        options.setdefault("trigger", {"availableNow": True})
        return flow.start(self.session, inputs, outputs, self.path / "checkpoint", **options)

    def run(self, flow: tg.Flow, **options: Any) -> tg.Run:
        run = self.start(flow, **options)
        assert run.await_termination(120)
        return run

    def rows(self, sink: str = "out") -> list[tuple[Any, ...]]:
        return sorted(tg.read(self.session, self.path / sink).fetchall())
