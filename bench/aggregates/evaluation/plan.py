"""How much of the evaluation is run: the paper's, all of it in a hurry, or a few minutes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from bench.aggregates.evaluation.asked import Asked
from bench.aggregates.queries import QUERIES

__all__ = ["FORMS", "Plan"]

#: What Figures 9 to 13 compare.
FORMS = ("dedicated", "A+", "A")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to run. The defaults are the paper's: ten minutes, three runs, all queries."""

    names: tuple[str, ...] = tuple(QUERIES)
    figures: tuple[int, ...] = (14, 10, 12, 9, 11, 13)
    sides: tuple[str, ...] = ("hand", "spark", "local")
    seconds: float = 600.0
    warm: float = 30.0
    runs: int = 3
    tolerance: float = 1.1
    #: Of the greatest rate that dedicated operators sustain, what Figures 10 and 12 show.
    shares: tuple[float, ...] = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5)
    #: Of the synthetic Map: outputs for each row, and rounds of work, from less than a microsecond on.
    selectivities: tuple[float, ...] = (0.1, 1, 3)
    work: tuple[int, ...] = (1, 30, 300, 1000, 2500)
    #: What Figures 9 to 13 compare; the first is what the others are shares of.
    forms: tuple[str, ...] = FORMS
    #: The rate at which all sides are compared, of the greatest that the slowest sustains.
    common: float = 0.5
    #: How long a query runs on a side in a process before anything of it is measured, in seconds.
    warm_up: float = 6.0
    #: Whether a search also goes by what was answered of a rate that was too high.
    hurry: bool = False

    def coarse(self) -> Plan:
        """Return a plan of some hours: everything, in short runs, once, and a search in a hurry."""
        return replace(
            self,
            seconds=5.0,
            warm=2.0,
            runs=1,
            tolerance=1.3,
            shares=(0.4, 0.8, 1.2),
            work=(1, 300, 2500),
            warm_up=5.0,
            hurry=True,
        )

    def short(self) -> Plan:
        """Return a plan of about ten minutes: short runs, once, of a Map and a Join, for Figures 14 and 10.

        What was asked for by name stays.
        """
        everything = Plan()
        return replace(
            self.coarse(),
            names=("AHM", "ahj") if self.names == everything.names else self.names,
            forms=FORMS[:2] if self.forms == everything.forms else self.forms,
            figures=(14, 10) if self.figures == everything.figures else self.figures,
            tolerance=1.5,
            selectivities=(1,),
            work=(1, 1000),
        )

    def span(self, asked: Asked) -> tuple[float, float]:
        """Return how long a run warms up and is measured: of Joins, some windows at least."""
        if (frames := asked.frames) is None:
            return self.warm, self.seconds
        # A window that began in the warm-up is not counted.
        whole = max(2, ceil(self.seconds / frames.every / 2) * 2)
        return ceil(max(self.warm, frames.size) / frames.every) * frames.every, whole * frames.every
