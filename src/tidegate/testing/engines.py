"""The engines that a trial can use, by name, and the protocol by which a trial drives them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.extras import require
from tidegate.flow.errors import BadArgument, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.flow.clocks import Clock
    from tidegate.flow.plan import Plan
    from tidegate.progress import Reason
    from tidegate.testing.trials import Trial

__all__ = ["ENGINES", "Driver", "Engine", "Setting", "SourceInput"]

#: The names of the engines, and what they run on. Bounded ones take all rows at once, as `Flow.compute` does.
ENGINES: Mapping[str, str] = {
    "specification": "the executable specification, in plain Python: milliseconds",
    "local": "the local engine, step by step, with a checkpoint",
    "spark": "the Spark engine, step by step, with a checkpoint",
    "local-bounded": "the local engine on all rows at once: answers come with finish()",
    "spark-bounded": "Spark on all rows at once: answers come with finish()",
}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SourceInput:
    """What a source gets in a step: rows, and then the times that are complete after them."""

    rows: tuple[Row, ...] = ()
    complete: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a trial consists of: the plan, rows of tables, clocks, and whether declared watermark strategies act."""

    plan: Plan
    tables: Mapping[str, list[Row]]
    clocks: Mapping[str, Clock]
    declared: bool
    now: datetime


class Driver(ABC):
    """A flow on an engine that runs step by step."""

    @abstractmethod
    def step(self, given: Mapping[str, SourceInput], *, partitions: int = 1) -> None:
        """Make a step with what some sources get. ``partitions`` is how many Spark splits the rows into."""

    def set_clock(self, now: datetime) -> None:  # noqa: B027
        """Set the clock, and make a step with its ticks and beats."""

    def restart(self) -> None:  # noqa: B027
        """Start a new engine, which continues from the last commit."""

    @abstractmethod
    def finish(self) -> None:
        """End the input."""

    @abstractmethod
    def rows(self, sink: str) -> list[Row]:
        """Return all answers of a sink so far."""

    @abstractmethod
    def late(self, source: str) -> list[Row]:
        """Return the rows of a source that came too late."""

    @abstractmethod
    def rejected(self, name: str) -> list[Row]:
        """Return the rows that a source or an operator rejected, with one more column: the reason."""

    @abstractmethod
    def why(self, sink: str, t: Any) -> list[Reason]:
        """Return what holds a time back at a sink."""

    @abstractmethod
    def open_from(self, sink: str) -> list[Any]:
        """Return the least times of a sink that are not complete."""

    def close(self) -> None:  # noqa: B027
        """Release everything."""


@dataclass(slots=True)
class Engine:
    """An engine by name, with what it needs: a Spark session, and a directory for checkpoints.

    Without a directory, trials use a temporary one, in memory if possible. Without a session, a local one is started.

    >>> Engine("local").bounded, Engine("local-bounded").bounded
    (False, True)
    """

    name: str = "specification"
    spark: SparkSession | None = None
    directory: Path | None = None
    #: Options that are passed on to the engine. Only tests of the engines themselves set them.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: All trials that use this engine.
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise BadArgument(
                f"expected the name of an engine ({'; '.join(ENGINES)}), got {self.name!r}",
                hint=did_you_mean(self.name, ENGINES),
            )

    def __str__(self) -> str:
        return self.name

    @property
    def bounded(self) -> bool:
        """Whether it takes all rows at once."""
        return self.name.endswith("bounded")

    def drive(self, setting: Setting) -> Driver:
        """Return a driver of a flow on this engine. No step was made yet."""
        if self.name == "specification":
            from tidegate.testing.specification import SpecificationDriver

            return SpecificationDriver(setting)
        if self.name == "local-bounded":
            from tidegate.testing.bounded import LocalBounded

            return LocalBounded(setting)
        if self.name == "local":
            from tidegate.testing.local import LocalDriver

            return LocalDriver(setting, self.directory, **self.options)
        require("spark", f"to try a flow on {self.name!r}")
        if self.spark is None:
            from tidegate.spark.session import local_session

            self.spark = local_session("tidegate.testing", master="local[2]", spark__sql__shuffle__partitions="2")
        if self.name == "spark-bounded":
            from tidegate.testing.bounded import SparkBounded

            return SparkBounded(setting, self.spark)
        from tidegate.testing.on_spark import SparkDriver

        return SparkDriver(setting, self.spark, self.directory, **self.options)
