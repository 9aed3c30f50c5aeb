"""An evaluation without any engine: what sides of known capacities would do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.aggregates.evaluation.asked import Pools
from bench.aggregates.evaluation.cell import Cell, _summary
from bench.aggregates.evaluation.evaluate import Evaluation
from bench.aggregates.evaluation.pace import Pace
from bench.aggregates.evaluation.plan import Plan
from bench.aggregates.evaluation.store import Store
from bench.aggregates.evaluation.waits import Steps

__all__ = ["DRAWN", "Killed", "capacity", "fake", "run_all", "small"]

#: Few rows.
DRAWN = {"texts": 50, "scans": 5, "inputs": 5}


def capacity(rate: float, rows_a_second: float, overhead: float, pace: Pace, power: int = 1) -> Steps:
    """What an engine does that takes so long for a step, and so long for each row, with a known capacity.

    With a power, the work of a row grows with the rate: a row is compared with those of a window.
    """
    at, upto, now, done = [], [], 0.0, 0
    each = (rate ** (power - 1)) / rows_a_second**power
    arrived = [(part.due, part.first + part.rows) for part in pace.parts()]
    while done < pace.rows and now < pace.seconds + 60:
        there = max((rows for due, rows in arrived if due <= now), default=0)
        if there <= done:
            now = next(due for due, rows in arrived if rows > done)
            continue
        now += overhead + each * (there - done)
        done = there
        at.append(now)
        upto.append(done)
    return Steps(tuple(at), tuple(upto), now)


def fake(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
    """Return what a side of a known capacity does: local four times as much as Spark by hand, A half of A+."""
    known = {"hand": 1000.0, "spark": 800.0, "local": 4000.0}[cell.side]
    known *= {"dedicated": 1.0, "A+": 0.8, "A": 0.4}[cell.form] * (0.1 if cell.asked.joins else 1)
    pace = Pace(cell.rate, cell.warm + cell.seconds + (cell.asked.frames.every if cell.asked.frames else 0) + 1)
    steps = capacity(cell.rate, known, 0.05, pace)
    return {**_summary(cell, pace, steps, pools), "source_late": 0.0, "load": 1.0}


class Killed(Exception):
    """Stands for a kill."""


def small(tmp_path: Path, measure: Any, store: Store) -> Evaluation:
    """Return an evaluation of a Map and a Join that measures nothing real."""
    plan = replace(Plan(names=("AHM", "ahj")).short(), seconds=12.0, figures=(14, 10, 12, 9, 11, 13), work=(1, 1000))
    evaluation = Evaluation(
        plan, store, tmp_path, measure=measure, check=lambda *_: 1, warm_up=fake, cost=lambda _, work: work / 50
    )
    evaluation._pools = Pools(tmp_path, DRAWN)
    return evaluation


def run_all(evaluation: Evaluation) -> None:
    """Run all tasks."""
    for task in evaluation.tasks():
        task.run()
