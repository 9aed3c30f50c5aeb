"""`top`, and what is forgotten, on local streams: how much is kept, and that wrong keepers are found."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tidegate as tg
from tests.local_engine.steps import Cut, engine_in
from tests.local_engine.test_random_streams import compare
from tidegate.check.flows import DrawnFlow, Visits, VisitsWithState
from tidegate.engine.keepers import accumulated, last_rows, processed, resumed, windows
from tidegate.engine.keepers.accumulated import FirstRows
from tidegate.engine.lowering import ranks, tops
from tidegate.flow.errors import BadResult
from tidegate.spec import DT, WM
from tidegate.time import TOP

Build = Callable[[tg.Stream], tg.Stream]


def kept(build: Build, steps: list[list[tuple[Any, ...]]], directory: Path, *, time: tuple[str, ...] = ("t",)) -> int:
    """How many rows are kept after some steps."""
    flow = tg.Flow("kept")
    columns = ", ".join(f"{name} INT" for name in time)
    delays = [0 for _ in time]
    flow.sink("out", build(flow.source("s", f"{columns}, k STRING, x INT", time=time, watermark=tg.bounded(*delays))))
    reader = Cut(flow.plan.sources[0].schema, steps)
    engine = engine_in(flow.plan, {"s": reader}, {}, directory, fold_from=lambda parts: 0)
    for number in range(len(steps)):
        reader.released = number + 1
        engine.step()
    return int(engine.metrics[-1].state_rows)


def test_so_many_rows_are_kept_for_each_key(tmp_path: Path) -> None:
    """Of a hundred rows of a key: n, and those that wait; of windows n for each pane; the rest is let go."""
    steps = [[(10 * i + j, k, j) for j in range(10) for k in "ab"] for i in range(10)]
    ways: dict[str, tuple[Build, int]] = {
        "top": (lambda s: s.top(3, by="k", order="x DESC"), 2 * 3 + 2),
        "complete": (lambda s: s.last(3, by="k", emit="complete"), 2 * 3 + 2),
        "latest": (lambda s: s.latest("k", every=50), 2 * 1 + 2 * 10),
        # The window from 90 is open, and so is, of one from 80, the pane from 90.
        "windows": (lambda s: s.window(20, every=10).top(3, by="k", order="x DESC"), 2 * 3 * 2),
    }
    for name, (build, most) in ways.items():
        assert 0 < kept(build, steps, tmp_path / name) <= most, name


def test_on_a_product_rows_are_kept_for_what_later_times_tell_apart(tmp_path: Path) -> None:
    """Of a grid of complete times, n rows for each time that represents some; all below the frontier have one."""
    steps = [[(i, j, "a", j) for j in range(10)] for i in range(10)]
    assert 0 < kept(lambda s: s.top(2, by="k", order="x"), steps, tmp_path, time=("v", "w")) <= 2 + 10


def drawn(build: Build, events: list[Any], time: tuple[str, ...] = ("t",)) -> DrawnFlow:
    """A flow on a source of such rows: times, key, number."""
    flow = tg.Flow("mutant")
    names = [*time, "k", "x"]
    flow.sink(
        "out", build(flow.source("s", ", ".join(f"{n} INT" if n != "k" else "k STRING" for n in names), time=time))
    )
    rows = [
        e if isinstance(e, WM) else DT(e[0] if len(time) == 1 else e[: len(time)], dict(zip(names, e, strict=True)))
        for e in events
    ]
    return DrawnFlow(flow, {"s": rows}, ("top",))


def by_all_columns(patch: pytest.MonkeyPatch) -> None:
    """A keeper that lets go by another order than that of the answers."""

    def merged(self: FirstRows, held: Any, cells: Any, *apart: str) -> Any:
        wrong = replace(self.operator, order=(), descending=(), nulls_first=())
        return accumulated.first_of_each(wrong, cells, ["__k0", *self._times, *apart], held.input_types()).without(
            "__nth"
        )

    patch.setattr(FirstRows, "merged", merged)


def for_each_key_alone(patch: pytest.MonkeyPatch) -> None:
    """A keeper with n rows for a key, whatever their times are: a row that is later in one column hides another."""
    first = accumulated.first_of_each
    wrong = lambda operator, rows, groups, own: first(  # noqa: E731
        operator, rows, [name for name in groups if not name.startswith("__t")], own
    )
    patch.setattr(accumulated, "first_of_each", wrong)


def for_each_window(patch: pytest.MonkeyPatch) -> None:
    """A keeper with n rows for the stretch of a window, not of a pane: windows that overlap need others."""
    patch.setattr(windows, "first_of_pane", lambda frame, schema: f"t - pmod(t, {frame.size})")


def without_ties(patch: pytest.MonkeyPatch) -> None:
    """A lowering that takes the greatest of what is equal."""
    over = ranks.first_of_each
    wrong = lambda operator, rows, groups, own: over(operator, rows, groups, _Reversed(own))  # noqa: E731
    patch.setattr(tops, "first_of_each", wrong)
    patch.setattr(accumulated, "first_of_each", wrong)


class _Reversed:
    """Columns whose order is the other way round."""

    def __init__(self, rows: Any) -> None:
        self.order = list(reversed(rows.order))


def one_block(patch: pytest.MonkeyPatch) -> None:
    """A lowering that looks at the last place only, of those that make up a time."""
    patch.setattr(tops, "_SIZES", "array(1L)")


TWO = ("t", "u")
MUTANTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], DrawnFlow]] = {
    "by all columns": (
        by_all_columns,
        drawn(
            lambda s: s.top(1, by="k", order="x DESC"),
            [(1, "a", 1), WM(1), (2, "a", 7), WM(2), *(e for t in range(3, 9) for e in ((t, "a", t - 2), WM(t)))],
        ),
    ),
    "for each key alone": (
        for_each_key_alone,
        drawn(
            lambda s: s.top(1, by="k", order="x DESC"),
            [(0, 5, "a", 9), (5, 0, "a", 8), WM((TOP, 1)), WM((1, TOP)), (6, 2, "a", 1), WM((7, 7))],
            TWO,
        ),
    ),
    "for each window": (
        for_each_window,
        drawn(
            lambda s: s.window(4, every=2).top(1, by="k", order="x DESC"),
            [(1, "a", 9), (2, "a", 1), WM(2), (9, "a", 0), WM(9)],
        ),
    ),
    "without ties": (
        without_ties,
        drawn(lambda s: s.top(1, order="k"), [(1, "a", 2), (1, "a", 1), WM(1), (2, "a", 0), WM(2)]),
    ),
    "one block": (one_block, drawn(lambda s: s.top(1, order="x"), [(1, "a", 1), (2, "a", 2), (3, "a", 3), WM(3)])),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_keeper_that_is_wrong_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: each of these gives other rows than the specification, on some cuts."""
    mutant, flow = MUTANTS[name]
    _compare_often(flow)
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match="expected"):
        _compare_often(flow)


def _compare_often(flow: DrawnFlow) -> None:
    for seed in range(4):
        compare(flow, random.Random(seed))


def test_what_is_forgotten_is_let_go(tmp_path: Path) -> None:
    """Keys that are silent for the span leave nothing behind, in every operator that forgets; others stay."""
    steps = [[(10 * i + j, f"{i} {j}", j) for j in range(10)] + [(10 * i, "always", i)] for i in range(4)]
    ways: dict[str, Build] = {
        "accumulate": lambda s: s.accumulate(by="k", n="count(*)", forget=11),
        "rows": lambda s: s.accumulate(by="k", xs="collect_list(x)", forget=11),
        "top": lambda s: s.top(2, by="k", order="x", emit="complete", forget=11),
        "deduplicate": lambda s: s.deduplicate("k", forget=11),
        "played": lambda s: s.process(Visits(10), by="k", schema="n INT", forget=11),
        "resumed": lambda s: s.process(VisitsWithState(10), by="k", schema="n INT", forget=11),
    }
    for name, build in ways.items():
        # Those of two steps, the one that is always there, and of that one some rows.
        assert 10 < kept(build, steps, tmp_path / name) <= 28, name


def lets_go_too_early(patch: pytest.MonkeyPatch) -> None:
    """A keeper that forgets a unit before the span is over."""
    patch.setattr(
        accumulated._AccumulatingKeeper,
        "_forgotten",
        lambda self, at: accumulated.complete_at(self.operator.schema, at, "t", f"{accumulated.UNTIL} - 2L"),
    )


def goes_on_from_the_frontier(patch: pytest.MonkeyPatch) -> None:
    """A keeper that moves what is complete to the frontier, as if a group had just had a row."""
    patch.setattr(
        accumulated._Cells,
        "_at_last_rows",
        lambda self, cells, at: cells.with_columns(
            {"__t0": f"IF(__waits, __t0, {max([-1, *at])} - 1)", "__here": "IF(__waits, __here, 0L)"}
        ),
    )


def does_not_count_what_was_dropped(patch: pytest.MonkeyPatch) -> None:
    """A keeper of `deduplicate` that keeps the last row let through, and not the last that came."""
    kept = last_rows._last_of_complete
    wrong = lambda schema, rows, at, keys, order: kept(schema, rows, at, keys, ["- t"])  # noqa: E731
    patch.setattr(last_rows, "_last_of_complete", wrong)


def plays_nothing_again(patch: pytest.MonkeyPatch) -> None:
    """A keeper of `process` that lets the rows go that a copy was given."""
    patch.setattr(processed, "not_forgotten", lambda operator, rows, at: rows.where("false"))


def exits_by_what_was_known_before(patch: pytest.MonkeyPatch) -> None:
    """A keeper of `process` that lets a copy exit although it was given rows since."""
    patch.setattr(resumed, "latest", lambda operator, known, at: known)


SILENT = [*(e for t in range(1, 9) for e in ((t * 3, "a", t), WM(t * 3), (t * 3 + 1, "b", t), WM(t * 3 + 1)))]
FORGETFUL: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Build]] = {
    "too early": (lets_go_too_early, lambda s: s.accumulate(by="k", n="count(*)", forget=4)),
    "too early, of rows": (lets_go_too_early, lambda s: s.top(9, by="k", order="x", forget=4)),
    "from the frontier": (goes_on_from_the_frontier, lambda s: s.top(9, by="k", order="x", forget=3)),
    "nothing is played again": (plays_nothing_again, lambda s: s.process(Visits(3), "k", "n INT", forget=4)),
    "what was known before": (
        exits_by_what_was_known_before,
        lambda s: s.process(VisitsWithState(3), "k", "n INT", forget=4),
    ),
    "dropped rows do not count": (does_not_count_what_was_dropped, lambda s: s.deduplicate("k", forget=4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGETFUL)
def test_a_keeper_that_forgets_wrongly_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: each of these gives other rows than the specification, on some cuts."""
    mutant, build = FORGETFUL[name]
    flow = drawn(build, SILENT)
    _compare_often(flow)
    mutant(monkeypatch)
    with pytest.raises((AssertionError, BadResult), match="expected"):
        _compare_often(flow)


@pytest.mark.parametrize("kind", [Visits, VisitsWithState])
def test_a_copy_that_is_forgotten_answers_no_earlier(kind: type[Visits], tmp_path: Path) -> None:
    """What it answers at its exit is at the last unit of the silence, or later: else there is an error, everywhere."""
    flow = drawn(lambda s: s.process(kind(2), "k", "n INT", forget=4), SILENT)
    with pytest.raises(BadResult, match="expected at exit times at or above 27, when the key is forgotten, got 26"):
        flow.flow.reference(flow.inputs)
    with pytest.raises(BadResult, match="expected at exit times at or above"):
        kept(
            lambda s: s.process(kind(2), "k", "n INT", forget=4),
            [[(0, "a", 1)], [(9, "b", 1)], [(20, "b", 1)]],
            tmp_path,
        )
