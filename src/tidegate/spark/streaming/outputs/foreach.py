"""Results that are given to a function, step by step: one of the user's, or one that prints or collects them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.flow.errors import BadArgument
from tidegate.printable import printable
from tidegate.spark.streaming.outputs.output import Output, Sender

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Foreach", "console", "foreach", "memory"]

#: Names that Spark takes for a temporary view, with backquotes and without.
_VIEW = re.compile(r"`(?:[^`]|``)+`|(?!\d+$)\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Foreach(Output):
    """A function that is given the rows of a step and its number."""

    function: Callable[[DataFrame, int], Any]

    needs_workers = False

    def deliver(self, sender: Sender, rows: DataFrame, step: int) -> None:  # noqa: ARG002
        """Call the function."""
        self.function(rows, step)


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
