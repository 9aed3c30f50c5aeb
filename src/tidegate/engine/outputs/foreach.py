"""Results that are given to a function, step by step: one of the user's, or one that prints or collects them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidegate.engine.outputs.output import Output, Results, Sender
from tidegate.flow.errors import BadArgument
from tidegate.printable import printable

__all__ = ["Foreach", "console", "foreach", "foreach_batch", "memory"]

#: Names of temporary views that engines accept, with backquotes or without.
_VIEW = re.compile(r"`(?:[^`]|``)+`|(?!\d+$)\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Foreach(Output):
    """A function that is given the rows of a step and its number."""

    function: Callable[[Any, int], Any]

    needs_workers = False

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:  # noqa: ARG002
        """Call the function."""
        self.function(rows.native, step)


@dataclass(frozen=True, slots=True)
class _Shown(Output):
    """An output that shows the rows of a step on this machine."""

    show: Callable[[Results, int], None]

    needs_workers = False

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:  # noqa: ARG002
        """Show them."""
        self.show(rows, step)


def foreach(function: Callable[[Any, int], Any]) -> Foreach:
    """Call ``function(rows, step)`` after each step that had rows: a DataFrame on Spark, an Arrow table locally.

    It is called once for each step. If the run is killed during a call, or right after it, the next start calls it
    again with the same rows of the same step. To notice that, store the number of the step together with the rows.
    """
    if not callable(function):
        raise BadArgument(f"expected a function of (rows, step) in foreach(…), got {function!r}")
    return Foreach(function)


foreach_batch = foreach
"""The same as `foreach`, under the name that it has in PySpark."""


def console(*, rows: int = 20) -> Output:
    """Print up to ``rows`` rows of each step."""
    if not isinstance(rows, int) or isinstance(rows, bool):
        raise BadArgument(f"expected a number of rows in console(…), got {rows!r}", hint="console(rows=20)")

    def show(found: Results, step: int) -> None:
        print(printable(f"step {step}\n{found.shown(rows)}", lines=True))

    return _Shown(show)


def memory(name: str) -> Output:
    """Collect the rows of this run in a temporary view ``name``, for notebooks and tests: small results only.

    On Spark, ``spark.table(name)`` reads it; locally, ``session.connection.table(name)``.
    """
    if not isinstance(name, str) or not _VIEW.fullmatch(name):
        raise BadArgument(f"expected the name of a view in memory(…), got {name!r}", hint='memory("hourly")')
    collected: dict[int, Any] = {}

    def collect(found: Results, step: int) -> None:
        collected[step] = found.collected()
        found.remember(name, list(collected.values()))

    return _Shown(collect)
