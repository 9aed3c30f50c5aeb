"""What a process of a crash test is told: which flow to run, where to die, and in which form to say what came out."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

import tidegate as tg
from tests.crash_flows import FLOWS
from tidegate.flow.plan import Plan

__all__ = ["Task", "Work", "kill", "perform", "perform_apart"]


@dataclass(frozen=True, slots=True)
class Task:
    """What a process is told to run, and where to die."""

    directory: Path
    name: str
    place: str
    #: Where it dies: a point and the first step; or, at an empty point, after so many seconds. None is nowhere.
    point: str | None = None
    where: float = 0.0
    #: The step before which it dies at the latest, if it dies at random.
    before: int = 0
    #: Whether a JVM lives on.
    spare: bool = False
    #: How to connect to PostgreSQL, for flows that write to it.
    dsn: str = ""

    @classmethod
    def of(cls, line: str) -> Task:
        """Return what a line says."""
        said = json.loads(line)
        return cls(**said | {"directory": Path(said["directory"])})

    @property
    def line(self) -> str:
        """Return all of it in a line."""
        return json.dumps(asdict(self) | {"directory": str(self.directory)})

    @property
    def home(self) -> Path:
        """Where its checkpoint and its outputs are."""
        return self.directory / self.place

    def flow(self) -> tuple[Plan, dict[str, Any]]:
        """Return the flow and its outputs."""
        flow = tg.Flow(self.name)
        stream = FLOWS[self.name](flow)
        flow.sink("out", stream)
        outputs: dict[str, Any] = {"out": tg.parquet(str(self.home / "out"))}
        if self.dsn:
            from tests.spark.postgres import PASSWORD

            flow.sink("table", stream)
            outputs["table"] = tg.postgres(self.place, dsn=self.dsn, password=PASSWORD)
        return flow.plan, outputs

    def probe(self, die: Callable[[], None]) -> Callable[[str, int], None]:
        """Return a probe that dies where it was told; who dies at random dies at the latest before a step."""

        def probe(at: str, number: int) -> None:
            # Not every step comes to every point: one that completes nothing has nothing to publish.
            late = self.point == "" and at == "begin" and number >= self.before
            if late or (at == self.point and number >= self.where):
                die()

        return probe

    def die_at_random(self, die: Callable[[], None]) -> None:
        """Die after the time that was told, if it was."""
        if self.point == "":
            Timer(self.where, die).start()

    def found(self, commit: Any, rows: list[Any], late: list[str]) -> dict[str, Any]:
        """Return what came out, in the form in which it is compared."""
        assert commit is not None
        read = [marks["rows"] for marks in commit["sources"].values()]
        found: dict[str, Any] = {"rows": sorted(rows), "late": sorted(late), "steps": commit["step"], "read": read}
        if self.dsn:
            found["table"] = _table(self.place, self.dsn)
            assert len(found["table"]) == len(rows)
        return found


def kill() -> None:
    """End this process, and all of its group, which is its own."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _table(name: str, dsn: str) -> list[Any]:
    import psycopg

    from tests.spark.postgres import PASSWORD

    with psycopg.connect(dsn, password=PASSWORD) as connection:
        return sorted(repr(row) for row in connection.execute(f"SELECT * FROM {name}"))


#: What a process of an engine does: it runs a flow to the end of its input, and returns what came out.
Work = Callable[[Task], dict[str, Any]]


def perform(task: Task, work: Work) -> None:
    """Do the work, say what came of it, and end this process."""
    began = time.monotonic()
    found = work(task)
    print(json.dumps(found | {"seconds": time.monotonic() - began}), flush=True)
    # A timer that has not gone off yet must not kill what has ended.
    os._exit(0)


def perform_apart(task: Task, module: str, out: str, err: str) -> None:
    """Do the work of an engine in a process that is a copy of another one, with a group and files of its own."""
    os.setsid()
    for name, stream in ((out, sys.stdout), (err, sys.stderr)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream.fileno())
    # What a killed process leaves there goes with the rest.
    tempfile.tempdir = str(task.directory)
    perform(task, import_module(module).work)
