"""Joins in windows that take late rows: revisions, and what is late after all, as the specification has them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows
from tests.local_engine.steps import run_locally
from tests.spark.steps import MARK, Cuts, with_marks
from tidegate.engine.keepers import keepers_of, revised_joins
from tidegate.engine.keepers.revised import Revised
from tidegate.engine.keepers.revised_joins import RevisedJoins
from tidegate.engine.steps import lateness
from tidegate.flow.plan import WindowJoin
from tidegate.spec import WM
from tidegate.time import TOP, Antichain

KINDS = ("inner", "left", "right", "full", "semi")
#: Rows that only fill up steps, for the specification: it takes the events of two inputs in turn.
FAR = 10_000


def joined(
    times: tuple[str, ...], how: str, *, where: str | None = None, alone: bool = False, **window: Any
) -> tg.Flow:
    """Two sources joined in windows, or ``alone`` one with itself."""
    flow = tg.Flow("late")
    ddl = f"{', '.join(f'{name} INT' for name in times)}, k STRING, x INT"
    sources = [flow.source(name, ddl, time=times) for name in ("a", "b")]
    left, right = sources[0], sources[0 if alone else 1].select("k", "x AS y")
    over = {"over": times[0]} if len(times) > 1 else {}
    flow.sink("out", left.window_join(right, on="k", where=where, how=how, **window, **over))
    if alone:
        flow.sink("other", sources[1].gate())
    return flow


def cuts_of(rng: random.Random, times: int) -> Cuts:
    """Rows in any order, with watermarks among them, in steps."""
    cuts: Cuts = []
    at = 0
    for _ in range(rng.randint(2, 7)):
        at += rng.choice([0, 1, 2, 4])
        cuts.append({name: _step_of(rng, times, at) for name in ("a", "b")})
    return cuts


def _step_of(rng: random.Random, times: int, at: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        first = max(0, at - rng.choice([0, 0, 1, 3, 5, 8]))
        others = [rng.randint(0, 1)] * (times - 1)
        rows.append((first, *others, rng.choice(["p", "q", None]), rng.randint(0, 4)))
    if rng.random() < 0.6:
        rows.append((at - rng.choice([1, 2]), *[rng.choice([0, 1, None])] * (times - 1), MARK, None))
    return rows


def events_of(flow: tg.Flow, cuts: Cuts) -> dict[str, list[Any]]:
    """What the specification is given: in each step the rows of both first, then the watermarks, or the last again."""
    found: dict[str, list[Any]] = {"a": [], "b": []}
    names = flow.plan["a"].schema.names
    n = len(names) - 2
    last = {name: WM(-FAR if n == 1 else (-FAR,) * n) for name in found}
    far = dict(zip(names, (FAR,) * n + ("filling", None), strict=True))
    for cut in cuts:
        rows = {name: [dict(zip(names, row, strict=True)) for row in cut[name] if row[-2] != MARK] for name in found}
        length = max(map(len, rows.values()))
        for name, events in found.items():
            events += [*rows[name], *[far] * (length - len(rows[name]))]
            for mark in (row[:n] for row in cut[name] if row[-2] == MARK):
                bounds = tuple(TOP if part is None else part for part in mark)
                last[name] = WM(bounds[0] if n == 1 else bounds)
            events.append(last[name])
    return found


def late_in(directory: Path, source: str) -> list[tuple[Any, ...]]:
    """The late rows of a source that are set aside."""
    tables = [pq.read_table(p) for p in (directory / "checkpoint" / "late" / source).glob("step=*/*.parquet")]
    rows = [row for table in tables for row in table.to_pylist() if row["reason"] == "late"]
    return [tuple(row["row"].values()) for row in rows]


Run = Callable[[Any, Cuts, Path], dict[str, list[tuple[Any, ...]]]]


def check(flow: tg.Flow, cuts: Cuts, run: Run = lambda plan, cuts, place: run_locally(plan, cuts, {}, place)) -> None:
    """Compare all revisions, and what is late, with the specification."""
    expected = flow.reference(events_of(flow, cuts))
    rows = [tuple(row.values()) for row in expected.rows("out")]
    with TemporaryDirectory() as directory:
        got = run(with_marks(flow.plan), cuts, Path(directory))
        assert_same_rows(got["out"], [row for row in rows if row[0] < FAR])
        for source in ("a", "b"):
            late = [tuple(event.d.values()) for event in expected.late[source] if event.d["k"] != "filling"]
            assert_same_rows(late_in(Path(directory), source), late)


FLOWS = st.builds(
    joined,
    times=st.sampled_from([("t",), ("t", "u")]),
    how=st.sampled_from(KINDS),
    where=st.sampled_from([None, "left.x <= right.y"]),
    alone=st.booleans(),
    size=st.sampled_from([2, 4]),
    every=st.sampled_from([1, 2]),
    lateness=st.sampled_from([1, 3, 6]),
)


@drawn_examples(4, 60)
@given(flow=FLOWS, rng=st.randoms(use_true_random=False), how=st.sampled_from(["", "restart", "cold", "parts"]))
def test_revisions_and_late_rows_are_those_of_the_specification(flow: tg.Flow, rng: random.Random, how: str) -> None:
    """Of every kind, wherever steps begin and end, with restarts, and with state in one part or in many."""
    options: dict[str, Any] = {"restart": how == "restart", "cold": how == "cold", "fold": how != "parts"}
    cuts = cuts_of(rng, len(flow.plan["a"].schema.time))
    check(flow, cuts, lambda plan, cuts, place: run_locally(plan, cuts, {}, place, **options))


#: Window [0, 4) is answered after the first step; q matches in the second only, p in the first, and again in the third.
SCRIPT: Cuts = [
    {"a": [(1, "p", 1), (2, "q", 2), (3, MARK, None)], "b": [(0, "p", 3), (3, None, 4), (3, MARK, None)]},
    {"a": [(2, "p", 0)], "b": [(1, "q", 4), (3, "q", 1)]},
    {"a": [], "b": [(1, "p", 3), (2, "r", 3)]},
    {"a": [(9, MARK, None)], "b": [(9, MARK, None), (9, "p", 1)]},
    {"a": [(1, "p", 2)], "b": [(0, None, 2)]},
]


def script(how: str) -> tg.Flow:
    """The flow for the script."""
    return joined(("t",), how, where="left.x <= right.y", size=4, lateness=3)


@pytest.mark.parametrize("how", KINDS)
def test_each_kind_gives_what_the_specification_gives(how: str) -> None:
    """One script for all kinds: first answers, revisions, keys without an answer, NULL keys, and rows too late."""
    check(script(how), SCRIPT)


def test_a_revision_has_the_whole_window_and_key(tmp_path: Path) -> None:
    """What matched before comes again, what did not is replaced; other keys are not answered again."""
    got = run_locally(with_marks(script("left").plan), SCRIPT, {}, tmp_path)["out"]
    assert sorted((row[2:] for row in got if row[1] == "q"), key=str) == [(2, 4, 1), (2, None, 0)]
    first, second = [(1, 3, 0)], [(0, 3, 1), (1, 3, 1)]
    assert_same_rows([row[2:] for row in got if row[1] == "p"], first + second + 2 * [(0, 3, 2), (1, 3, 2)])


def test_the_first_answer_has_revision_0(tmp_path: Path) -> None:
    """Also where a window was complete long before: until then, the key had no answer."""
    got = run_locally(with_marks(script("inner").plan), SCRIPT, {}, tmp_path)["out"]
    assert [row for row in got if row[1] == "q"] == [(3, "q", 2, 4, 0)]


def test_state_is_let_go_after_the_lateness() -> None:
    """The last window of a part's last time, and then the lateness, must be complete before it is left out."""
    (keeper,) = keepers_of(script("inner").plan).values()
    assert isinstance(keeper, RevisedJoins)
    order = script("inner").plan["a"].schema.order
    for port in (0, 1):
        found = [keeper.outlived(port, (2,), Antichain(order, [t])) for t in (3, 4, 6, 7)]
        assert found == [False, False, False, True]


def _without_the_other_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only late rows of the left side make a revision."""
    real = RevisedJoins._changed
    monkeypatch.setattr(RevisedJoins, "_changed", lambda self, sides: real(self, sides[:1]))


def _every_step_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers without rows are counted as revisions, too."""
    whole = dict.fromkeys(KINDS, (0, 1))
    monkeypatch.setattr(revised_joins, "_WHOLE", whole)


def _new_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision has the rows of its own step only."""
    real = RevisedJoins._with_equal_keys
    monkeypatch.setattr(
        RevisedJoins, "_with_equal_keys", lambda self, rows, changed: real(self, rows.where("__fresh"), changed)
    )


def _let_go_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are let go once their window is answered."""
    monkeypatch.setattr(Revised, "keep", lambda self, _held, _port, rows, at: rows.where(f"NOT ({self.ended(at)})"))


def _one_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late rows reach the first input only."""
    real = lateness.admit

    def admit(*given: Any) -> Any:
        taken, admitted = real(*given)
        return taken, {name: {p: rows for p, rows in own.items() if p == 0} for name, own in admitted.items()}

    monkeypatch.setattr("tidegate.engine.steps.step.admit", admit)


@pytest.mark.parametrize(
    ("mutant", "how"),
    [
        (_without_the_other_side, "inner"),
        (_without_the_other_side, "full"),
        (_every_step_counts, "inner"),
        (_every_step_counts, "semi"),
        (_every_step_counts, "right"),
        (_new_rows_only, "left"),
        (_let_go_early, "inner"),
        (_one_input, "right"),
    ],
)
def test_broken_revisions_are_found(monkeypatch: pytest.MonkeyPatch, mutant: Any, how: str) -> None:
    """The comparison can fail, for each of these."""
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(script(how), SCRIPT)


def test_without_lateness_a_join_keeps_its_state() -> None:
    """The fingerprint of a join without lateness does not depend on there being such."""
    flow = joined(("t",), "inner", size=4)
    (operator,) = (o for o in flow.plan if isinstance(o, WindowJoin))
    assert "revision" not in operator.schema.names
    assert not isinstance(keepers_of(flow.plan)[operator.id], RevisedJoins)


def test_what_neither_input_takes_is_late_once(tmp_path: Path) -> None:
    """A stream that is joined with itself gives a late row to both inputs; a row that none takes is one row."""
    flow = joined(("t",), "full", alone=True, size=2, lateness=1)
    cuts: Cuts = [{"a": [(5, "p", 1), (5, MARK, None)], "b": []}, {"a": [(1, "p", 1), (4, "p", 2)], "b": []}]
    got = run_locally(with_marks(flow.plan), cuts, {}, tmp_path)["out"]
    assert {row[-1] for row in got} == {0, 1}
    assert late_in(tmp_path, "a") == [(1, "p", 1)]
