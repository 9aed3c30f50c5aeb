"""Joins in windows that answer early: pairs come in the step of their later row, each once, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.flow.specified import by_reference
from tests.local_engine.place import Place
from tests.local_engine.steps import run_locally
from tests.spark.steps import Cuts
from tidegate.engine.keepers.early_pairs import EarlyPairs
from tidegate.engine.keepers.keeper import HeldState
from tidegate.engine.storage.errors import FlowChanged
from tidegate.local_engine.streaming import parts

#: Rows of both sides come in one step, in several, before and after each other, and late.
CUTS: Cuts = [
    {"a": [(0, "p", 1), (3, "p", 2)], "b": [(1, "p", 10)]},
    {"a": [], "b": [(2, "p", 20), (5, "q", 30)]},
    {"a": [(4, "p", 3), (4, None, 4)], "b": []},
    {"a": [(9, "q", 5)], "b": [(4, None, 40), (7, "q", 50)]},
    # Below 6 all is complete: these are late.
    {"a": [(5, "q", 6)], "b": [(3, "p", 60)]},
    {"a": [(7, "q", 7)], "b": [(9, "q", 70)]},
]
#: The rows that are on time.
ON_TIME = {side: [row for cut in CUTS for row in cut[side] if row[-1] not in (6, 60)] for side in "ab"}


def flow_of(*, early: bool = True) -> tg.Flow:
    flow = tg.Flow("early")
    left = flow.source("a", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(3))
    right = flow.source("b", "t INT, k STRING, y INT", time="t", watermark=tg.bounded(3))
    flow.sink("out", left.window_join(right, on="k", size=4, every=2, early=early))
    return flow


def answers(place: Path, **options: Any) -> list[tuple[Any, ...]]:
    return run_locally(flow_of().plan, CUTS, {}, place, **options)["out"]


@pytest.mark.parametrize("how", ["", "restart", "cold", "parts"])
def test_the_pairs_are_those_of_the_specification(tmp_path: Path, how: str) -> None:
    """Whether a run is started again in between, has lost what it holds in memory, or keeps state in many parts."""
    options = {"restart": how == "restart", "cold": how == "cold", "fold": how != "parts"}
    assert_same_rows(answers(tmp_path, **options), by_reference(flow_of(early=False), ON_TIME))


def test_a_pair_comes_with_its_later_row(tmp_path: Path) -> None:
    """After each step there are the pairs of all rows so far, and the end of the input brings no others."""
    answers(tmp_path)
    so_far: list[tuple[Any, ...]] = []
    for step in range(len(CUTS) + 1):
        tables = [pq.read_table(path) for path in (tmp_path / "out" / f"step={step}").glob("*.parquet")]
        so_far += [tuple(row.values()) for table in tables for row in table.to_pylist()]
        came = {side: [row for cut in CUTS[: step + 1] for row in cut[side] if row in ON_TIME[side]] for side in "ab"}
        assert_same_rows(so_far, by_reference(flow_of(early=False), came))
    assert len(so_far) == 14


def _old_with_new_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """New left rows meet all right ones, and new right rows nobody."""
    real = EarlyPairs.answer

    def answer(self: EarlyPairs, held: HeldState, moved: Any) -> Any:
        return real(self, held, moved) if held.new_parts(0) else held.answers(None)

    monkeypatch.setattr(EarlyPairs, "answer", answer)


def _all_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row of the state counts as new."""
    monkeypatch.setattr(HeldState, "new_parts", lambda self, port: self.states[port].parts)


def _new_with_new_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are forgotten after their step."""
    monkeypatch.setattr(EarlyPairs, "outlived", lambda self, port, last, at: True)


def _when_due_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps answer only if a window becomes complete in them."""
    monkeypatch.setattr(EarlyPairs, "on_arrival", False)


@pytest.mark.parametrize("mutant", [_old_with_new_is_left_out, _all_with_all, _new_with_new_only, _when_due_only])
def test_broken_joins_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Any) -> None:
    """The comparison can fail, for each of these."""
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        assert_same_rows(answers(tmp_path), by_reference(flow_of(early=False), ON_TIME))


def test_few_rows_on_many_are_written_by_lookups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many answers there may be is said by all rows that a step read, not by those that it read last."""
    written: list[int] = []
    real = parts.write_pieces

    def counted(backend: Any, pieces: Any, place: Path, **options: Any) -> Any:
        found = real(backend, pieces, place, **options)
        written.append(len(pieces))
        return found

    monkeypatch.setattr(parts, "write_pieces", counted)
    flow = tg.Flow("many")
    rows = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.window_join(rows.select("k AS other", "x AS y"), on=(), size=9999, where="x < y", early=True))
    place = Place(tmp_path)
    place.feed.add(*((1, f"{i}", i) for i in range(parts.VERY_FEW + 1)))
    place.feed.add((2, "new", 0), (2, "newer", 9))
    place.run(flow)
    assert written == [1, 2]
    n = parts.VERY_FEW + 1
    assert len(place.rows()) == n * (n - 1) // 2 + (n - 1) + (n - 10) + 9 + 1


@pytest.mark.parametrize("first", [True, False])
def test_a_checkpoint_of_one_is_refused_by_the_other(tmp_path: Path, first: bool) -> None:
    """Otherwise pairs would be lost, or come twice."""

    def flow(*, early: bool) -> tg.Flow:
        flow = tg.Flow("early")
        rows = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(3))
        flow.sink("out", rows.window_join(rows.select("k", "x AS y"), on="k", size=4, early=early))
        return flow

    place = Place(tmp_path)
    place.feed.add((1, "a", 1))
    place.run(flow(early=first))
    with pytest.raises(FlowChanged):
        place.run(flow(early=not first))
