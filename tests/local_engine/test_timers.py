"""Timers in `process`: what may be asked for, how it goes on from a checkpoint, and what is let go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.flow.cases.process import Alarms, Forgetful
from tests.local_engine.steps import Cut, engine_in, run_locally
from tidegate.engine.keepers import processed
from tidegate.engine.keepers.processed import TIMERS
from tidegate.engine.timing import Timers
from tidegate.flow import errors
from tidegate.spec import DT, WM, Operator

#: The rows of z only say how late it is.
CUTS = [
    *[[(1, "a", 3), (2, "b", 7)], [(2, "a", 4)], [(5, "b", 1), (5, "c", 0)]],
    *[[(7, "z", None)], [(10, "z", None)], [(12, "c", None), (11, "a", None)]],
]
EXPECTED = [
    *[(1, "a", 1, 1), (2, "a", 2, 1), (4, "a", 2, 0), (6, "a", 2, 0), (11, "a", 3, 1)],
    *[(2, "b", 1, 1), (5, "b", 2, 1), (6, "b", 2, 0), (9, "b", 2, 0)],
    *[(5, "c", 1, 1), (12, "c", 2, 1)],
]


def alarms(operator: Any) -> tg.Flow:
    """A flow of calls, complete as soon as a row comes."""
    flow = tg.Flow("alarms")
    source = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(0))
    flow.sink("out", source.where("k <> 'z'").process(operator, by="k", schema="n INT, fresh INT"))
    return flow


def compare(operator: Any, directory: Path, **options: Any) -> None:
    plan = alarms(operator).plan
    for name, cuts in (("steps", CUTS), ("one step", [[row for cut in CUTS for row in cut]])):
        got = run_locally(plan, [{"s": cut} for cut in cuts], {}, directory / name, **options)
        assert_same_rows(got["out"], EXPECTED)


@pytest.mark.parametrize("operator", [Alarms(), Forgetful()])
@pytest.mark.parametrize("options", [{}, {"restart": True}, {"cold": True}, {"fold": False}])
def test_calls_come_once_wherever_steps_end(operator: Any, options: Any, tmp_path: Path) -> None:
    """Each call comes in the step that completes its time, over restarts; asked for twice, it comes once."""
    compare(operator, tmp_path, **options)


def test_pickled_copies_have_timers(tmp_path: Path) -> None:
    """What is kept of a copy does not matter."""
    pytest.importorskip("pyspark")
    compare(Forgetful(), tmp_path, allow_pickle=True)


@pytest.mark.parametrize("operator", [Alarms(), Forgetful()])
def test_timers_that_have_come_are_let_go(operator: Any, tmp_path: Path) -> None:
    """After all have come, no state has any."""
    plan = alarms(operator).plan
    reader = Cut(plan["s"].schema, [*CUTS, [(99, "z", None)]])
    engine = engine_in(plan, {"s": reader}, {}, tmp_path, fold_from=lambda _: 0)
    kept = []
    for number in range(len(CUTS) + 1):
        reader.released = number + 1
        engine.step()
        assert engine.last is not None
        ((_, states),) = engine.last.state.items()
        kept.append(states[TIMERS].rows)
    assert kept == [1, 1, 2, 1, 0, 0, 0]


class Asking(Operator[Any, Any]):
    """It asks for a time, in every call."""

    timers = True

    def __init__(self, t: Any) -> None:
        self.t = t

    def apply(self, event: Any) -> tuple[Asking, list[Any]]:
        return self, [tg.Timer(self.t)] if isinstance(event, WM) else []


class Undeclared(Asking):
    """It has not said so."""

    timers = False


class AtTheEnd(Asking):
    """It asks when nothing comes any more."""

    def apply(self, event: Any) -> tuple[AtTheEnd, list[Any]]:
        return self, []

    def exit(self) -> list[Any]:
        return [tg.Timer(self.t)]


BROKEN = {
    "a time that is not later": (
        Asking(1),
        "expected a timer from Asking at a time strictly above 1, the time of this",
    ),
    "a call without rows": (Asking(4), "expected no timer from Asking in its call at 4, which has no rows, got Timer"),
    "no time": (Asking("soon"), "expected a timer from Asking at a time strictly above 1"),
    "undeclared": (Undeclared(4), "expected no timer from Undeclared here, got Timer"),
    "at the end": (AtTheEnd(4), "expected no timer from AtTheEnd here, got Timer"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_asked_for_is_refused(name: str) -> None:
    """By the specification and by the engine, in the same words."""
    operator, message = BROKEN[name]
    with pytest.raises(errors.BadResult, match=message):
        alarms(operator).reference({"s": [DT(1, {"t": 1, "k": "a", "x": 1})]})
    with pytest.raises(Exception, match=message):
        alarms(operator).compute(tg.local(), {"s": _table()})["out"].fetchall()


def _table() -> Any:
    import pyarrow as pa

    return pa.table({"t": pa.array([1], pa.int32()), "k": ["a"], "x": pa.array([1], pa.int32())})


def test_timers_and_batches_do_not_go_together() -> None:
    """An operator that is given many times at once cannot be called between them."""
    operator = Asking(4)
    operator.apply_batch = lambda rows: rows  # type: ignore[attr-defined]
    with pytest.raises(errors.BadArgument, match="with timers or with apply_batch, got Asking with both"):
        alarms(operator)


def test_the_explanation_tells_of_timers() -> None:
    """They are in what an operator does, and in what it holds."""
    text = str(alarms(Alarms()).explain())
    assert "a copy may ask to be called at a later time" in text
    assert "holds rows and timers until their time is complete" in text


def _unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows are looked at to see whether there is an answer."""
    monkeypatch.setattr(processed._Copies, "waiting", (0,))


def _lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timers are let go when states are folded."""
    keep = processed._Copies.keep
    monkeypatch.setattr(
        processed._Copies,
        "keep",
        lambda self, held, port, rows, at: rows.where("false") if port == TIMERS else keep(self, held, port, rows, at),
    )


def _too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come before timers of earlier times."""
    monkeypatch.setattr(Timers, "before", lambda _self, _t: [])


@pytest.mark.parametrize("mutant", [_unheard, _lost, _too_late])
def test_broken_timers_are_found(mutant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail, for each of these."""
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match="expected"):
        compare(Alarms(), tmp_path)
