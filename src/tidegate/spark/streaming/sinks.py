"""Where results go: directories of Parquet files, functions of the user's, or systems that have transactions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from tidegate.flow.arguments import checked_directory
from tidegate.flow.errors import BadArgument
from tidegate.printable import printable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = [
    "Foreach",
    "Output",
    "Parquet",
    "Sender",
    "Transactional",
    "console",
    "foreach",
    "memory",
    "parquet",
]


@dataclass(frozen=True, slots=True)
class Parquet:
    """A directory with one directory of Parquet files for each step that had rows."""

    path: str


@dataclass(frozen=True, slots=True)
class Foreach:
    """A function that is given the rows of a step and its number."""

    function: Callable[[DataFrame, int], Any]


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose rows they are: a sink of a flow with this checkpoint; the first columns are the times."""

    checkpoint: str
    flow: str
    sink: str
    time: tuple[str, ...]


@runtime_checkable
class Transactional(Protocol):
    """A place that stores the number of a step together with its rows, so that no step is written twice."""

    def claim(self, sender: Sender, schema: StructType) -> None:
        """Make ready for rows of a sender, or raise if they do not fit or the place is someone else's."""
        ...

    def deliver(self, sender: Sender, rows: DataFrame, step: int) -> None:
        """Write the rows of a step and its number in one transaction; nothing if the step is there already."""
        ...


#: Names that Spark takes for a temporary view, with backquotes and without.
_VIEW = re.compile(r"`(?:[^`]|``)+`|(?!\d+$)\w+", re.ASCII)

Output: TypeAlias = Parquet | Foreach | Transactional


def parquet(path: str | os.PathLike[str]) -> Parquet:
    """Write results to ``path``, a directory ``step=N`` for each step; `read` reads what is committed.

    Each row is there exactly once, whatever happens. The directory must be empty, or belong to the same checkpoint.
    """
    return Parquet(checked_directory(path, "parquet(…)", hint='parquet("out/hourly")'))


def foreach(function: Callable[[DataFrame, int], Any]) -> Foreach:
    """Call ``function(rows, step)`` after each step that had rows.

    The rows of a step are the same whenever it is called. It is called once, and once more for the last step if the
    run was killed during the call or right after it: store the number of the step together with the rows to tell.
    """
    if not callable(function):
        raise BadArgument(f"expected a function of (rows, step) in foreach(…), got {function!r}")
    return Foreach(function)


def console(*, rows: int = 20) -> Foreach:
    """Print up to ``rows`` rows of each step."""
    if not isinstance(rows, int) or isinstance(rows, bool):
        raise BadArgument(f"expected a number of rows in console(…), got {rows!r}", hint="console(rows=20)")

    def show(frame: DataFrame, step: int) -> None:
        table: Any = frame
        print(printable(f"step {step}\n{table._show_string(rows, False, False)}", lines=True))

    return Foreach(show)


def memory(name: str) -> Foreach:
    """Collect the rows of this run in a temporary view ``name``, for notebooks and tests: small results only."""
    if not isinstance(name, str) or not _VIEW.fullmatch(name):
        raise BadArgument(f"expected the name of a view in memory(…), got {name!r}", hint='memory("hourly")')
    collected: dict[int, list[Any]] = {}

    def collect(frame: DataFrame, step: int) -> None:
        collected[step] = frame.collect()
        rows = [row for part in collected.values() for row in part]
        frame.sparkSession.createDataFrame(rows, frame.schema).createOrReplaceTempView(name)

    return Foreach(collect)
