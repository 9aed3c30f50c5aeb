"""The evaluation's parts without any engine: paces, waits, the rule, the search, the store, and the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bench.aggregates.evaluation.asked import Asked, Pools
from bench.aggregates.evaluation.cell import Cell, _summary
from bench.aggregates.evaluation.command import write_results
from bench.aggregates.evaluation.evaluate import Evaluation
from bench.aggregates.evaluation.figures import figures, found_in
from bench.aggregates.evaluation.pace import START, Pace, rows_of, send
from bench.aggregates.evaluation.page import page
from bench.aggregates.evaluation.plan import FORMS, Plan
from bench.aggregates.evaluation.rule import Rule, seconds_of, typical
from bench.aggregates.evaluation.sides import SIDES
from bench.aggregates.evaluation.store import Store, digest
from bench.aggregates.evaluation.sustain import Outcome, search
from bench.aggregates.evaluation.waits import Frames, Steps, by_second, of_pairs, of_rows, of_windows
from pyarrow import parquet

POOL = pa.table({"id": pa.array(range(7), pa.int64()), "text": [f"t{i}" for i in range(7)]})


#: Few rows.
DRAWN = {"texts": 50, "scans": 5, "inputs": 5}


class Clock:
    """A clock that moves when somebody sleeps, and by a little each time that it is asked."""

    def __init__(self, each: float = 0.0) -> None:
        self.now, self.each = 1000.0, each

    def __call__(self) -> float:
        self.now += self.each
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


# The source.


def test_rows_come_when_they_are_due(tmp_path: Path) -> None:
    """Each file is in place when its last row is due, in order, and all rows come once, with their times."""
    pace, clock = Pace(rate=10, seconds=2, tick=0.5), Clock()
    late = send(pace, POOL, tmp_path, began=clock, clock=clock, sleep=clock.sleep)
    files = sorted(tmp_path.glob("*.parquet"))
    found = [row for file in files for row in parquet.read_table(file).to_pylist()]
    assert [row["id"] for row in found] == list(range(20))
    assert [(row["ts"] - START).total_seconds() for row in found] == [i / 10 for i in range(20)]
    assert [row["text"] for row in found[6:9]] == ["t6", "t0", "t1"]
    assert late == 0
    assert clock.now == pytest.approx(1002.0)


def test_a_source_that_falls_behind_says_by_how_much(tmp_path: Path) -> None:
    """Its clock goes on while it writes: the last files come late, and rows are due when they were."""
    pace, clock = Pace(rate=10, seconds=2, tick=0.1), Clock(each=0.2)
    assert send(pace, POOL, tmp_path, began=clock, clock=clock, sleep=clock.sleep, ahead=1) > 1
    assert pace.due(10) == 1.0


def test_rows_of_a_pool_are_repeated() -> None:
    """A pool that is too small is begun again, as often as needed."""
    rows = rows_of(POOL, 5, 18, 10.0)
    assert rows["text"].to_pylist() == [f"t{i % 7}" for i in range(5, 23)]


# Waits.


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


def test_latency_counts_from_when_a_row_was_due() -> None:
    """A row that the source sends a second late, and that is answered at once, has waited a second."""
    pace = Pace(rate=100, seconds=1, tick=0.5)
    # Both files come a second late, and a step is over a tenth of a second after each.
    steps = Steps(at=(1.6, 2.1), upto=(50, 100), until=3.0)
    waits = of_rows(pace, steps)
    assert min(wait.seconds for wait in waits) > 1.0
    assert max(wait.seconds for wait in waits) == pytest.approx(1.6, abs=0.1)
    assert sum(wait.weight for wait in waits) == 100
    # Whoever counts from the sending finds a tenth of a second and half a tick.
    sent = {row: 1.5 if row < 50 else 2.0 for row in range(100)}
    by_sending = [(steps.readable(row) or 0) - sent[row] for row in range(100)]
    assert max(by_sending) == pytest.approx(0.1)


def test_a_row_that_is_not_answered_has_waited_until_the_end() -> None:
    """It counts, by at least so long, and as not answered."""
    waits = of_rows(Pace(rate=10, seconds=1), Steps(at=(0.6,), upto=(5,), until=20.0))
    assert [wait.answered for wait in waits] == [True] * 5 + [False] * 5
    assert min(wait.seconds for wait in waits if not wait.answered) > 19


def test_pairs_of_a_complete_window_wait_for_its_end() -> None:
    """An engine that answers at once is sooner by pairs; by windows, both are measured from the last row."""
    pace, frames = Pace(rate=100, seconds=4, tick=0.1), Frames(2.0, 2.0)
    steps = Steps(tuple((i + 1) * 0.1 + 0.01 for i in range(40)), tuple((i + 1) * 10 for i in range(40)), until=5.0)
    at_once, complete = (of_pairs(pace, steps, frames, at_once=flag) for flag in (True, False))
    assert sum(wait.weight for wait in at_once) == sum(wait.weight for wait in complete)
    assert sum(wait.weight for wait in at_once) == pytest.approx(2 * 200**2, rel=0.01)
    mean = [sum(w.seconds * w.weight for w in waits) / sum(w.weight for w in waits) for waits in (at_once, complete)]
    assert mean[0] < 0.12
    # The later of two rows comes after two thirds of a window, on average.
    assert mean[1] == pytest.approx(2 / 3 + 0.1, abs=0.05)
    windows = [of_windows(pace, steps, frames, at_once=flag) for flag in (True, False)]
    assert [round(wait.seconds, 2) for wait in windows[0]] == [0.02, 0.02]
    # A window is complete when a row beyond it was seen: that of the next tick. The last has none here.
    assert [round(wait.seconds, 2) for wait in windows[1]] == [0.12, 0.02]


def test_windows_slide() -> None:
    """Each window is waited for; those that are not over do not count."""
    assert list(Frames(1.0, 0.5).ends(2.2)) == [(0.0, 1.0), (0.5, 1.5), (1.0, 2.0)]


# The rule, and the search.


def simulated(
    known: float,
    *,
    seconds: float = 20,
    warm: float = 5,
    overhead: float = 0.3,
    power: int = 1,
    rule: Rule | None = None,
) -> Callable[[float, int], Outcome]:
    """What runs of an engine with a known capacity come to, as cells do."""

    def measure(rate: float, run: int) -> Outcome:
        pace = Pace(rate, warm + seconds + 1)
        steps = capacity(rate, known, overhead, pace, power)
        of_seconds = seconds_of(by_second(of_rows(pace, steps)), warm, warm + seconds)
        took = [b - a for a, b in zip(steps.at, steps.at[1:], strict=False)]
        kept = (rule or Rule()).kept(of_seconds, typical(took))
        inside = [(at, upto) for at, upto in zip(steps.at, steps.upto, strict=True) if warm <= at < warm + seconds]
        answered = (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]) if len(inside) > 1 else 0.0
        return Outcome(kept, answered)

    return measure


@pytest.mark.parametrize("guess", [20, 900, 50_000])
@pytest.mark.parametrize("known", [137.0, 1000.0, 23_000.0])
def test_the_search_finds_a_known_capacity(known: float, guess: float) -> None:
    """Wherever it begins, it ends a little below what the engine can do: never above it by more than the tolerance."""
    found = search(simulated(known), guess, tolerance=1.1)
    assert 0.75 * known <= found.rate <= 1.1 * known
    assert found.beyond <= 1.1 * found.rate
    assert len(found.tried) <= 16


@pytest.mark.parametrize("guess", [20, 900, 50_000])
@pytest.mark.parametrize(("known", "power"), [(137.0, 1), (1000.0, 1), (300.0, 2)])
def test_a_search_in_a_hurry_takes_few_runs(known: float, guess: float, power: int) -> None:
    """It goes by what was answered of a rate that was too high: near what is sustained, few runs are enough."""
    tolerance = 1.3
    found = search(simulated(known, power=power), guess, tolerance=tolerance, power=power, hurry=True)
    assert 0.7 * known <= found.rate <= 1.1 * known
    assert found.beyond <= tolerance * found.rate
    assert len(found.tried) <= 12
    for share in (0.8, 1.1, 1.5):
        near = search(simulated(known, power=power), share * known, tolerance=tolerance, power=power, hurry=True)
        assert len(near.tried) <= 4


def test_a_search_in_a_hurry_never_takes_a_bound_for_a_rate() -> None:
    """What is reported as sustained was run, and sustained; only what is too high may be known without a run."""
    ran: dict[float, bool] = {}

    def measure(rate: float, run: int) -> Outcome:
        ran[rate] = rate <= 640
        # What is answered of too much is less than what can be: the bound is wrong, and no rate is reported for it.
        return Outcome(rate <= 640, min(rate, 500.0))

    found = search(measure, 1000, tolerance=1.3, hurry=True)
    assert ran[found.rate]


def test_the_search_finds_a_capacity_in_comparisons() -> None:
    """If the work of a row grows with the rate, so does what is compared: the rate goes with the root of it."""
    found = search(simulated(300.0, power=2), 5000, tolerance=1.1, power=2)
    assert 0.75 * 300 <= found.rate <= 1.1 * 300


def test_a_rate_that_does_not_bind_is_not_accepted() -> None:
    """In 20 s rows of an engine that is a fifth too slow never wait for 15 s; without the growth, they would pass."""

    class NotBinding(Rule):
        """The rule without what makes it bind."""

        def kept(self, latencies: Any, step: float) -> bool:
            return bool(latencies) and self.exceeded(latencies) <= self.times

    accepted = search(simulated(1000.0, rule=NotBinding()), 500, tolerance=1.1).rate
    assert accepted > 1.2 * 1000
    assert search(simulated(1000.0), 500, tolerance=1.1).rate <= 1.1 * 1000


def test_a_rate_has_to_hold_in_all_runs() -> None:
    """One run of three that fails is enough, and the search goes on below."""

    def measure(rate: float, run: int) -> Outcome:
        return Outcome(rate <= (90 if run == 2 else 100), min(rate, 95.0))

    once = search(measure, 50, tolerance=1.02, runs=1)
    often = search(measure, 50, tolerance=1.02, runs=3)
    assert 95 < once.rate <= 100
    assert 85 < often.rate <= 90


def test_what_is_never_sustained_has_no_rate() -> None:
    """The search ends, and says so."""
    found = search(lambda rate, run: Outcome(False, 0.0), 1000)
    assert found.rate == 0
    assert found.beyond <= 1


# The store, and going on.


def test_a_store_keeps_whole_lines(tmp_path: Path) -> None:
    """A line that a kill has left half is not there, and does not spoil the next."""
    path = tmp_path / "cells.jsonl"
    store = Store(path)
    store.put("code", {"a": 1}, {"x": 1.5})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"code": "code", "cell": {"a": 2}, "resu')
    again = Store(path)
    assert again.get("code", {"a": 1}) == {"x": 1.5}
    assert again.get("code", {"a": 2}) is None
    again.put("code", {"a": 2}, {"x": 2})
    assert Store(path).get("code", {"a": 2}) == {"x": 2}
    assert Store(path).get("other", {"a": 1}) is None


def test_the_report_is_of_the_code_that_ran_last(tmp_path: Path) -> None:
    """An older search with longer runs does not stand in for a newer one; other sides keep what they have."""
    store = Store(tmp_path / "cells.jsonl")
    for code, side, rate, seconds in (
        ("old", "local", 900.0, 600.0),
        ("any", "hand", 100.0, 600.0),
        ("new", "local", 500.0, 8.0),
    ):
        cell = Cell(side, "AHM", rate, seconds=seconds)
        store.put(
            code, cell.parameters, fake(None, replace(cell, seconds=8.0, warm=1.0), Pools(tmp_path, DRAWN), tmp_path)
        )
        store.put(
            code, replace(cell, rate=0.0).parameters | {"runs": 1, "tolerance": 1.3}, {"rate": rate, "beyond": None}
        )
    found = found_in(store)
    assert {key[0]: one.rate for key, one in found.sustained.items()} == {"hand": 100.0, "local": 500.0}
    assert list(found.cells["local", "dedicated", "AHM", False]) == [500.0]


def test_what_was_not_measured_again_stays_and_is_named(tmp_path: Path) -> None:
    """One query ran with new code, one began to: the others keep what older code did, and the page names them."""
    store = Store(tmp_path / "cells.jsonl")
    for code, query, rate, ended in (
        ("old", "AHM", 900.0, True),
        ("old", "HHM", 800.0, True),
        ("old", "LHM", 700.0, True),
        ("new", "AHM", 500.0, True),
        ("new", "HHM", 400.0, False),
    ):
        cell = Cell("local", query, rate, seconds=8.0, warm=1.0)
        store.put(code, cell.parameters, fake(None, cell, Pools(tmp_path, DRAWN), tmp_path))
        if ended:
            key = replace(cell, rate=0.0).parameters | {"runs": 1, "tolerance": 1.3}
            store.put(code, key, {"rate": rate, "beyond": None})
    found = found_in(store)
    assert {key[2]: one.rate for key, one in found.sustained.items()} == {"AHM": 500.0, "HHM": 800.0, "LHM": 700.0}
    assert list(found.cells["local", "dedicated", "HHM", False]) == [800.0]
    said = " ".join(page(found).split())
    assert "Measured with older code than others of their side:** Tidegate, local: HHM, LHM." in said


def test_what_other_machines_did_is_not_compared(tmp_path: Path) -> None:
    """A store that was copied begins anew elsewhere, and the report is of the machine that ran last."""
    path = tmp_path / "cells.jsonl"
    for machine, rate in (("slow", 100.0), ("quick", 900.0)):
        cell = Cell("hand", "AHM", rate, seconds=8.0, warm=1.0)
        store = Store(path, machine)
        assert store.get("code", cell.parameters) is None
        store.put("code", cell.parameters, fake(None, cell, Pools(tmp_path, DRAWN), tmp_path))
        key = replace(cell, rate=0.0).parameters | {"runs": 1, "tolerance": 1.3}
        assert store.get("code", key) is None
        store.put("code", key, {"rate": rate, "beyond": None})
    found = found_in(Store(path))
    assert found.machine == "quick"
    assert [one.rate for one in found.sustained.values()] == [900.0]
    assert Store(path, "slow").get("code", key) == {"rate": 100.0, "beyond": None}


def test_the_code_of_a_side_is_what_its_figures_depend_on(tmp_path: Path) -> None:
    """Spark by hand is not measured again because Tidegate changes, and no engine because the other one does."""
    packages = ("flow/agreed", "cli", "engine", "local_engine", "spark")
    for name in ("bench/aggregates/queries", "bench/aggregates/evaluation", *(f"src/tidegate/{p}" for p in packages)):
        (tmp_path / name).mkdir(parents=True)
    parts = ("asked", "by_hand", "cell", "pace", "rule", "sides", "waits")
    names = [f"bench/aggregates/evaluation/{part}.py" for part in parts]
    names += ["bench/aggregates/measure.py", "bench/latency.py"]
    for name in names:
        (tmp_path / name).write_text("", encoding="utf-8")

    def codes() -> dict[str, str]:
        return {side: digest(side, root=tmp_path) for side in SIDES}

    def changed_by(name: str, text: str) -> set[str]:
        before = codes()
        (tmp_path / name).write_text(text, encoding="utf-8")
        after = codes()
        return {side for side in SIDES if before[side] != after[side]}

    assert changed_by("src/tidegate/engine/new.py", "x = 1") == {"spark", "local"}
    assert changed_by("src/tidegate/engine/new.py", '"""In other words."""\nx = 1  # one') == set()
    assert changed_by("src/tidegate/local_engine/new.py", "x = 1") == {"local"}
    assert changed_by("src/tidegate/flow/agreed/new.py", "x = 1") == {"local"}
    assert changed_by("src/tidegate/spark/new.py", "x = 1") == {"spark"}
    assert changed_by("src/tidegate/cli/run.py", "x = 2") == set()
    for name in names:
        assert changed_by(name, "changed") == set(SIDES), name
    assert digest("hand", root=tmp_path, version=lambda _: "0") != digest("hand", root=tmp_path)


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


def test_a_rate_that_a_form_lacks_stays_empty(tmp_path: Path) -> None:
    """Nothing was measured there: that is not a latency of 0."""
    store = Store(tmp_path / "cells.jsonl")
    evaluation = small(tmp_path, fake, store)
    evaluation.plan = replace(evaluation.plan, forms=FORMS)
    run_all(evaluation)
    whole = page(found_in(store))
    cells = [entry for entry in store.entries() if entry["cell"].get("form") == "A" and entry["cell"].get("rate")]
    rate = max(entry["cell"]["rate"] for entry in cells if entry["cell"]["query"] == "AHM")
    fewer = Store(tmp_path / "fewer.jsonl")
    for entry in store.entries():
        if (entry["cell"].get("form"), entry["cell"].get("query"), entry["cell"].get("rate")) != ("A", "AHM", rate):
            fewer.put(entry["code"], entry["cell"], entry["result"])
    row = f"| {rate:,.0f} | "
    (there,) = (line for line in whole.splitlines() if line.startswith(row))
    (lacks,) = (line for line in page(found_in(fewer)).splitlines() if line.startswith(row))
    assert [before != now for before, now in zip(there.split("|"), lacks.split("|"), strict=True)].count(True) == 2
    assert lacks.endswith(" |  |")


def test_what_differs_with_new_code_is_left_out(tmp_path: Path) -> None:
    """What older code did of a query is not shown if the sides no longer answer the same."""
    store = Store(tmp_path / "cells.jsonl")
    run_all(small(tmp_path, fake, store))
    assert any(key[2] == "AHM" for key in found_in(store).sustained)
    store.put("new", {"same": "AHM", "sides": ["hand"]}, {"differs": "AHM: spark gives more"})
    assert not any(key[2] == "AHM" for key in found_in(store).sustained)


def test_the_report_says_what_came_out(tmp_path: Path) -> None:
    """Tables, goals, and figures that are numbered as the paper's; a page is written between two marks."""
    store = Store(tmp_path / "cells.jsonl", "two cores")
    run_all(small(tmp_path, fake, store))
    found = found_in(store)
    drawn = figures(found)
    assert {name.split(".")[0].rsplit("-", 1)[0] for name in drawn} == {
        *("figure-9", "figure-10", "figure-11", "figure-12", "figure-13", "figure-14-maps", "figure-14-joins")
    }
    page = tmp_path / "docs.md"
    (tmp_path / "figures").mkdir()
    page.write_text("before\n<!-- evaluation -->\nold\n<!-- end of evaluation -->\nafter\n", encoding="utf-8")
    write_results(store, tmp_path / "out", page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- evaluation -->")
    assert text.endswith("<!-- end of evaluation -->\nafter\n")
    assert "old" not in text
    words = " ".join(text.split())
    assert "evaluate` on two cores." in words
    assert "Goal, as much as Spark by hand: 1 of 1" in words
    assert "Goal, 20 times Spark by hand: 0 of 1; missed: ahj" in words
    # The paper has texts only, so they are told from scans.
    assert re.search(r"greatest rate: on texts, [\d.]+ times the throughput .* rows \(sooner: \d of 1", words)
    # Both latencies of Joins are there.
    assert re.search(r"greatest rate: on scans, .* of pairs \(sooner: \d of 1.* of windows \(sooner: \d of 1", words)
    # The paper's share stands beside ours.
    assert re.search(r"\| AHM \|[^\n]* % \(paper: 84 %\) \|", text)
    assert "A rate that all of these sides sustain, 50 % of what the slower of them does" in words
    drawn = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert {"figure-14-maps-latency", "figure-14-joins-pairs", "figure-14-joins-windows"} <= drawn
    # What the paper's text says of its figure stands beneath ours.
    svg = (tmp_path / "figures" / "figure-10-throughput.svg").read_text(encoding="utf-8")
    assert "A has about 50 % less than dedicated, A+ about 16 % less." in " ".join(re.sub("<[^>]*>", " ", svg).split())


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
