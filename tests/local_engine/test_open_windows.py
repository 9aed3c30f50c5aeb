"""Rows of windows that are not complete take no part in an answer; all rows of those that are do."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import tidegate as tg
from tests.flow.specified import by_reference
from tests.local_engine.steps import run_locally
from tidegate.engine.frontiers import Frontier, complete_at
from tidegate.engine.keepers.windows import RowsInWindows
from tidegate.engine.relation import Relation
from tidegate.engine.units import units_of

#: Each time is in two windows, which begin at even numbers; some rows are ahead of the frontier.
ROWS = [(at, "ab"[at % 2], at) for at in (0, 1, 3, 2, 5, 4, 6, 9, 8, 12)]


def pairs() -> tg.Flow:
    flow = tg.Flow("pairs")
    stream = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(3))
    others = stream.select("k", "x AS y")
    flow.sink("out", stream.window_join(others, on="k", size=4, every=2, how="full"))
    return flow


def answers(place: Path) -> list[tuple[Any, ...]]:
    return sorted(run_locally(pairs().plan, [{"s": [row]} for row in ROWS], {}, place)["out"])


def test_complete_windows_are_answered_whole(tmp_path: Path) -> None:
    """Step by step, as the specification does at once."""
    assert answers(tmp_path) == sorted(by_reference(pairs(), {"s": ROWS}))


def placed_in(flow: tg.Flow, rows: list[tuple[Any, ...]], place: Path) -> list[list[Any]]:
    """Return the times of the rows that are put into windows, for each step with an answer."""
    placed: list[list[Any]] = []
    right = RowsInWindows._lowered

    def lowered(self: Any, held: Any, *given: Relation) -> Relation:
        placed.append(sorted(row["t"] for row in given[0].few()))
        return right(self, held, *given)

    with patch.object(RowsInWindows, "_lowered", lowered):
        run_locally(flow.plan, [{"s": [row]} for row in rows], {}, place)
    return placed


def test_a_step_places_no_rows_of_open_windows(tmp_path: Path) -> None:
    """They would be joined for nothing: of all rows that wait, only those of complete windows are lowered."""
    # After 5, times below 2 are complete; after 9, those below 6, and the rows at 6 and 9 wait.
    assert placed_in(pairs(), ROWS, tmp_path)[:2] == [[0, 1], [0, 1, 2, 3, 4, 5]]


def test_a_step_places_no_rows_ahead_of_the_calendar(tmp_path: Path) -> None:
    """Of windows of a month, rows are left out whose own day is not complete."""
    flow = tg.Flow("months")
    stream = flow.source("s", "t DATE, x INT", time="t", watermark=tg.bounded("1 day"))
    flow.sink("out", stream.window("1 month").top(1, order="x"))
    days = [date(2026, 1, 5), date(2026, 1, 20), date(2026, 2, 1), date(2026, 2, 8)]
    # When 8 February has come, 7 February may still come.
    assert placed_in(flow, [(day, 1) for day in days], tmp_path)[0] == days[:3]


def test_windows_that_lose_rows_are_found(tmp_path: Path) -> None:
    """The comparison can fail: if rows wait for the last window that they are in, the first one lacks them."""

    def too_few(self: Any, port: int, rows: Relation, at: Frontier) -> Relation:
        schema, frame = self.inputs[port], self.frame
        n = units_of(schema, frame.over)
        last = f"{n} - pmod({n} - {frame.offset}L, {frame.every}L) + {frame.size - 1}L"
        return rows.where(complete_at(schema, at, frame.over, last))

    with patch.object(RowsInWindows, "_in_complete_windows", too_few), pytest.raises(AssertionError):
        assert answers(tmp_path) == sorted(by_reference(pairs(), {"s": ROWS}))
