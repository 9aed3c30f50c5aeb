"""The demos: what ``tidegate demo`` can show. To add one, write a module with a function `show` and list it here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tidegate.extras import require

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["DEFAULT", "DEMOS", "Demo"]


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo: its name, what it shows in one line, and the module that has it, which is loaded when it is shown."""

    name: str
    about: str
    module: str
    #: Whether it starts Spark, which takes a while.
    spark: bool = False
    #: Whether it has something to show without it.
    without_spark: bool = False

    def show(self, console: Console) -> None:
        """Show it on a console."""
        if self.spark and not self.without_spark:
            require("spark", f"tidegate demo {self.name}")
        import_module(self.module).show(console)


DEMOS: Final = {
    demo.name: demo
    for demo in [
        Demo(
            "operators", "a stream on a partial order, step by step through four operators", "tidegate.demos.operators"
        ),
        Demo("ledger", "a flow on days and versions, in which a correction is not late", "tidegate.demos.ledger"),
        Demo(
            "histograms",
            "histograms on a partial order, the first paper's example, as a stream on Spark",
            "tidegate.demos.histograms",
            spark=True,
        ),
        Demo(
            "tides",
            "a day in a harbour: a flow on data that comes out of order, in this process and then on Spark",
            "tidegate.demos.tides",
            spark=True,
            without_spark=True,
        ),
        Demo(
            "git",
            "the history of the git repository you are in, on two clocks, on Spark",
            "tidegate.demos.history",
            spark=True,
        ),
        Demo(
            "authors",
            "who works with whom in the git repository you are in: a loop on Spark, over a graph that grows",
            "tidegate.demos.authors",
            spark=True,
        ),
    ]
}

#: What is shown if no name is given.
DEFAULT: Final = "tides"
