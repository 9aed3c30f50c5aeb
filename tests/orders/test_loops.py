"""Loops on partial orders: where they are while they go round, in times that there are; and orders of many axes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow.parquet as pq
import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.flow.cases.ordered import left, right
from tests.local_engine.engine import arrow_rows, by_local
from tidegate.engine import tracking
from tidegate.engine.loops.facts import Facts
from tidegate.local_engine.streaming.start import start
from tidegate.time import Inl, Inr, Int, Poset, Sum

SIDES = "STRUCT<side: STRING, value: INT>"
DIAMOND = Poset([("r", "b"), ("r", "c"), ("b", "t"), ("c", "t")])


def asked_in_rounds(
    columns: str, time: Any, steps: list[list[tuple[Any, ...]]], directory: Path, ask: Callable[[tg.Run], Any]
) -> list[Any]:
    """What a run answers in each round of the last of some steps; rows with ``n = 0`` are watermarks."""
    flow = tg.Flow("rounds")
    edges = flow.source("s", f"{columns}, n INT, m INT", time=time, watermark=tg.punctuated("n = 0"))
    flow.sink("out", tg.graph.components(edges, "n", "m", emit="complete"))
    there, runs, seen = Event(), list[tg.Run](), list[Any]()

    def probe(point: str, step: int) -> None:
        if (point, step) == ("round", len(steps) - 1):
            assert there.wait(30)
            seen.append(ask(runs[0]))

    schema = flow.plan["s"].schema
    (directory / "in").mkdir()
    for number, rows in enumerate(steps):
        pq.write_table(arrow_rows(schema, rows), directory / "in" / f"{number}.parquet")
    given = {"s": tg.files(directory / "in" / "*.parquet", per_step=1)}
    outputs = {"out": tg.parquet(directory / "out")}
    run = start(
        flow.plan, tg.local(), given, outputs, directory / "checkpoint", trigger={"availableNow": True}, probe=probe
    )
    runs.append(run)
    there.set()
    run.await_termination(60)
    assert seen
    return seen


#: A step that completes the first time, and one that goes round for two that do not compare.
ON_DIAMOND = [
    [("r", 1, 2), ("r", 0, 0)],
    [("b", 2, 3), ("c", 4, 5), ("c", 5, 6), ("b", 0, 0), ("c", 0, 0)],
]


def test_where_a_run_is_while_it_goes_round(tmp_path: Path) -> None:
    """What goes round begins at b and c, whose numbers have a lower bound that no element has."""

    def ask(run: tg.Run) -> Any:
        paths = {(str(place), t) for reason in run.why("t") for place, t in reason.path if "rounds" in str(place)}
        return set(run.frontiers()["out"]), run.status().frontiers["out"], run.why("r"), paths

    found = asked_in_rounds("t STRING", tg.ordered("t", DIAMOND), ON_DIAMOND, tmp_path, ask)
    assert {(frozenset(frontier), shown) for frontier, shown, _, _ in found} == {(frozenset("bc"), "b or c")}
    assert [why for _, _, why, _ in found] == [[] for _ in found]
    assert found[0][3] == {("rounds of iterate#1", ("b", 0)), ("rounds of iterate#1", ("c", 0))}


def test_a_bound_that_is_no_element_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: as the axes have it, the lower bound is no time that can be told."""
    monkeypatch.setattr(tracking, "settled", lambda schema, frontier: frontier)
    with pytest.raises(tg.TidegateError, match="KeyError") as caught:
        test_where_a_run_is_while_it_goes_round(tmp_path)
    # What only engines have is not among the operators that it may have failed in.
    assert "one of the operators select#1, where#1, iterate#1" in caught.value.places


def test_both_sides_of_a_sum_are_told_while_they_go_round(tmp_path: Path) -> None:
    """A lower bound of both sides is on neither."""
    steps = [[(left(1), 1, 2), (right(1), 4, 5), (left(1), 0, 0), (right(1), 0, 0)]]

    def ask(run: tg.Run) -> Any:
        reasons = [*run.why(Inl(1)), *run.why(Inr(1))]
        return {t for reason in reasons for place, t in reason.path if "rounds" in str(place)}

    found = asked_in_rounds(f"t {SIDES}", tg.ordered("t", Sum(Int(), Int())), steps, tmp_path, ask)
    assert found[0] == {(Inl(1), 0), (Inr(1), 0)}


def test_what_is_complete_stays_so_while_a_loop_goes_round(tmp_path: Path) -> None:
    """On a product, too, the lower bound of what goes round may be below times that were complete before."""
    steps = [[(0, 0, 1, 2), (0, 0, 0, 0)], [(0, 5, 2, 3), (5, 0, 4, 5), (0, 5, 0, 0), (5, 0, 0, 0)]]

    def ask(run: tg.Run) -> Any:
        frontier = run.frontiers()["out"]
        return frontier.reaches((0, 0)), run.why((0, 0))

    assert set(map(str, asked_in_rounds("t INT, v INT", ("t", "v"), steps, tmp_path, ask))) == {"(False, [])"}


def crown(size: int) -> Poset:
    """An order of so many axes: each of the lower elements is below all of the upper ones but one."""
    return Poset([(f"a{i}", f"b{j}") for i in range(size) for j in range(size) if i != j])


def by_both(flow: tg.Flow, rows: list[tuple[Any, ...]]) -> None:
    """Compare a bounded run with the specification."""
    names = flow.plan["s"].schema.names
    expected = flow.reference({"s": [dict(zip(names, row, strict=True)) for row in rows]}).rows("out")
    assert expected
    assert_same_rows(by_local(flow, {"s": rows}), [tuple(row.values()) for row in expected])


def test_a_loop_on_an_order_of_many_axes_comes_to_an_end() -> None:
    """Of each key there are a few facts; a grid of their times on eight axes would have millions of cells."""
    order = crown(8)
    flow = tg.Flow("crown")
    edges = flow.source("s", "t STRING, n INT, m INT", time=tg.ordered("t", order))
    flow.sink("out", tg.graph.components(edges, "n", "m"))
    by_both(flow, [(str(t), i, (i + 1) % 7) for i, t in enumerate(order.elements)])


def test_what_follows_from_three_times_together_is_found() -> None:
    """Of two facts that merge to a third value, it holds from the least time at or above both; and so on for three."""
    flow = tg.Flow("masks")
    bits = flow.source("s", "t STRING, k STRING, bit INT", time=tg.ordered("t", crown(4)))
    found = bits.iterate(
        start="SELECT k, bit FROM input",
        step="SELECT 'all' AS k, k.bit FROM known k WHERE k.bit = 7",
        key="k",
        keep="bit_or(bit) AS bit",
        emit="complete",
    )
    flow.sink("out", found)
    by_both(flow, [("a0", "x", 1), ("a1", "x", 2), ("a2", "x", 4), ("b3", "y", 1), ("b0", "y", 2)])


def test_facts_that_are_not_compared_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: if facts of different times are not merged, what follows from them together is missing."""
    monkeypatch.setattr(Facts, "_compared", Facts._changing)
    with pytest.raises(AssertionError):
        test_what_follows_from_three_times_together_is_found()
