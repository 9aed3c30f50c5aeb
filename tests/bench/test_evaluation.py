"""What is run for the figures, in which order, and how it goes on after a kill; without any engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.aggregates.evaluation.asked import Asked, Pools
from bench.aggregates.evaluation.cell import Cell, _summary
from bench.aggregates.evaluation.command import write_results
from bench.aggregates.evaluation.evaluate import Evaluation
from bench.aggregates.evaluation.figures import found_in
from bench.aggregates.evaluation.pace import Pace
from bench.aggregates.evaluation.plan import Plan
from bench.aggregates.evaluation.sides import SIDES
from bench.aggregates.evaluation.store import Store
from bench.aggregates.evaluation.waits import Steps
from tests.bench.simulated import DRAWN, Killed, capacity, fake, run_all, small


@pytest.mark.parametrize("count", [1, 7, 20])
def test_who_is_killed_goes_on(tmp_path: Path, count: int) -> None:
    """No cell that is in the store is run again, and what comes out is what comes out of one go."""
    path = tmp_path / "cells.jsonl"
    ran: list[Cell] = []

    def measure(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
        if len(ran) == count:
            raise Killed
        ran.append(cell)
        return fake(session, cell, pools, place)

    first = small(tmp_path, measure, Store(path))
    with pytest.raises(Killed):
        run_all(first)
    again: list[Cell] = []

    def more(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
        again.append(cell)
        return fake(session, cell, pools, place)

    run_all(small(tmp_path, more, Store(path)))
    assert not set(ran) & set(again)
    assert len(again) == len(set(again))
    whole = Store(tmp_path / "whole.jsonl")
    run_all(small(tmp_path, fake, whole))
    assert found_in(Store(path)) == found_in(whole)


def test_runs_in_a_hurry_are_as_long_as_steps_ask_for(tmp_path: Path) -> None:
    """Steps of four seconds say nothing in a run of five: it is made longer, and what is found is what there is."""
    ran: list[Cell] = []

    def slow(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
        ran.append(cell)
        pace = Pace(cell.rate, cell.warm + cell.seconds + 1)
        steps = capacity(cell.rate, 1000.0, 4.0, pace)
        return {**_summary(cell, pace, steps, pools), "source_late": 0.0, "load": 1.0}

    evaluation = small(tmp_path, slow, Store(tmp_path / "cells.jsonl"))
    evaluation._warm_up = slow
    found = evaluation.sustained(Cell("spark", "AHM", 0.0, "A", seconds=5.0, warm=2.0))
    assert ran[-1].seconds >= 12
    assert 300 < found <= 1100
    # Whoever goes on meets the same cells.
    count = len(ran)
    again = small(tmp_path, slow, Store(tmp_path / "cells.jsonl"))
    again._warm_up = slow
    assert again.sustained(Cell("spark", "AHM", 0.0, "A", seconds=5.0, warm=2.0)) == found
    assert len(ran) == count


def test_what_is_not_answered_is_not_sustained(tmp_path: Path) -> None:
    """In a run of few steps nothing seems to grow: a rate of which a third is left over is given up all the same."""

    def measure(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
        found = fake(session, cell, pools, place)
        return found | {"sustained": True, "throughput": min(cell.rate, 700.0)}

    evaluation = small(tmp_path, measure, Store(tmp_path / "cells.jsonl"))
    assert 350 < evaluation.sustained(Cell("hand", "AHM", 0.0, seconds=12.0, warm=3.0)) <= 700 / 0.9


@pytest.mark.parametrize("hurry", [False, True])
def test_queries_are_warmed_up_on_each_side(tmp_path: Path, hurry: bool) -> None:
    """Before the first run that counts there is one that does not: of each form of a query; in a hurry, of its kind."""
    done: list[tuple[str, Cell]] = []

    def measure(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
        done.append(("measured", cell))
        return fake(session, cell, pools, place)

    def warm_up(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
        done.append(("warm", cell))
        return fake(session, cell, pools, place)

    evaluation = small(tmp_path, measure, Store(tmp_path / "cells.jsonl"))
    evaluation.plan = replace(evaluation.plan, hurry=hurry, names=("AHM", "HHM", "ahj"))
    evaluation._warm_up = warm_up
    run_all(evaluation)
    kinds = {(evaluation._like(cell)) for _, cell in done}
    for like in kinds:
        ran = [kind for kind, cell in done if evaluation._like(cell) == like]
        assert ran[0] == "warm"
        assert hurry or ran.count("warm") == 1
    assert any(cell.query == "HHM" and cell.side == "hand" for kind, cell in done if kind == "warm") != hurry


def test_a_search_in_a_hurry_begins_near_what_is_alike(tmp_path: Path) -> None:
    """By the query that differs in selectivity, by the same comparisons in other windows, by the form before it."""
    evaluation = small(tmp_path, fake, Store(tmp_path / "cells.jsonl"))
    evaluation._rates_found = {
        ("hand", Asked("LLM")): 1000.0,
        ("hand", Asked("LLJ", tumbling=True)): 100.0,
        ("spark", Asked("AHM")): 50.0,
    }
    near = evaluation._near
    assert near(Cell("hand", "HLM", 0.0)) == pytest.approx(1150.0)
    assert near(Cell("hand", "AHM", 0.0)) is None
    assert near(Cell("local", "HLM", 0.0)) is None
    # 100² * 3 pairs a second in windows of three seconds are as many as 54.8² * 10 in windows of ten.
    assert near(Cell("hand", "LHJ", 0.0, tumbling=True)) == pytest.approx(1.15 * 54.77, rel=1e-3)
    assert near(Cell("spark", "AHM", 0.0, "A+")) == 50.0
    assert near(Cell("spark", "AHM", 0.0, "A")) is None


def test_a_search_begins_where_one_with_other_code_ended(tmp_path: Path) -> None:
    """Whoever changes code measures again, and needs few runs for it if the change was small."""
    store, cell = Store(tmp_path / "cells.jsonl"), Cell("hand", "AHM", 0.0, seconds=12.0, warm=2.0)
    rate = small(tmp_path, fake, store).sustained(cell)
    ran: list[float] = []

    def measure(session: Any, given: Cell, *others: Any) -> dict[str, Any]:
        ran.append(given.rate)
        return fake(session, given, *others)

    again = small(tmp_path, measure, Store(store.path))
    again._codes = dict.fromkeys(SIDES, "changed")
    assert again.sustained(cell) == pytest.approx(rate, rel=0.5)
    assert ran[0] == rate
    assert len(ran) == 2


@pytest.mark.parametrize("step", [1.0, 2.0, 4.0])
def test_a_search_of_changed_code_has_runs_as_long_as_before(tmp_path: Path, step: float) -> None:
    """In shorter ones, of fewer steps, the same engine would seem to do less."""

    def slow(session: Any, cell: Cell, pools: Pools, place: Path) -> dict[str, Any]:
        pace = Pace(cell.rate, cell.warm + cell.seconds + 1)
        steps = capacity(cell.rate, 1000.0, step, pace)
        return {**_summary(cell, pace, steps, pools), "source_late": 0.0, "load": 1.0}

    cell, found = Cell("spark", "AHM", 0.0, "A", seconds=5.0, warm=2.0), []
    for code in ("old", "new"):
        evaluation = small(tmp_path, slow, Store(tmp_path / "cells.jsonl"))
        evaluation._warm_up = slow
        evaluation._codes = dict.fromkeys(SIDES, code)
        found.append(evaluation.sustained(cell))
    assert found[1] >= found[0] / 1.3


def test_pairs_of_figure_14_do_not_wait_for_their_window(tmp_path: Path) -> None:
    """Tidegate answers early there, as Spark does; in sliding windows, and composed, when a window is complete."""
    found = {}
    for name, options in {"14": {"tumbling": True}, "13": {}, "A+": {"tumbling": True, "form": "A+"}}.items():
        cell = Cell("local", "AHJ", 20.0, seconds=20.0, warm=10.0, **options)
        steps = Steps(tuple(at / 10 for at in range(1, 400)), tuple(2 * at for at in range(1, 400)), 40.0)
        found[name] = _summary(cell, Pace(cell.rate, 40), steps, Pools(tmp_path, DRAWN))["pairs"]["median"]
    assert found["14"] < 0.2
    assert min(found["13"], found["A+"]) > 1
    flags = [Asked("AHJ", tumbling=True).early, Asked("AHJ").early, Asked("AHM").early, Asked("AHJ", "A", True).early]
    assert flags == [True, False, False, False]


def test_pairs_that_wait_too_long_break_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's latency is that of pairs: where those of a long window wait, its last row alone need not."""
    # Such are Joins that answer when a window is complete.
    monkeypatch.setattr(Asked, "early", False)
    cell = Cell("local", "AHJ", 20.0, tumbling=True, seconds=20.0, warm=10.0, bound=8.0)
    pace = Pace(cell.rate, 40)
    steps = Steps(tuple(at / 10 for at in range(1, 400)), tuple(2 * at for at in range(1, 400)), 40.0)
    found = _summary(cell, pace, steps, Pools(tmp_path, DRAWN))
    # In each of two windows, rows of the first seconds wait for 8 s and more.
    assert found["windows"]["p99"] < 1
    assert found["exceeded"] == 4
    assert not found["sustained"]
    assert _summary(replace(cell, bound=15.0), pace, steps, Pools(tmp_path, DRAWN))["sustained"]


def test_sides_that_differ_are_not_timed(tmp_path: Path) -> None:
    """The report says so instead."""
    from bench.aggregates.evaluation.same import Differ

    def differ(*_: Any) -> int:
        raise Differ("AHM: local gives 1 answers that hand does not, and lacks 0")

    store = Store(tmp_path / "cells.jsonl")
    plan = replace(Plan(names=("AHM",)).short(), figures=(14, 10, 11))
    evaluation = Evaluation(plan, store, tmp_path, measure=fake, check=differ, warm_up=fake)
    run_all(evaluation)
    assert found_in(store).sustained == {}
    write_results(store, tmp_path / "out", None)
    assert "Sides differ, and were not timed: AHM" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_comparisons_grow_with_the_square_of_the_rate(tmp_path: Path) -> None:
    """They are the pairs of rows that share a window and a key: counted here one by one."""
    pools = Pools(tmp_path, {"texts": 400, "scans": 5, "inputs": 5})
    asked = Asked("LLJ", tumbling=True)
    keys = [len(change.split(" ")) for change in pools.table("texts")["change"].to_pylist()]
    # One window of three seconds has 399 rows at 133 rows a second.
    pairs = sum(a == b for a in keys[:399] for b in keys[:399])
    assert pools.comparisons(asked, 133) * 3 == pytest.approx(pairs, rel=0.02)
    assert pools.comparisons(Asked("ahj"), 100) == (100 * 2.0) ** 2 / 0.5
    assert pools.comparisons(Asked("AHM"), 100) == 0
