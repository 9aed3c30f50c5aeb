"""Random flows on local streams: whatever the steps, the specification's answers, row for row."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows
from tests.local_engine.steps import run_locally
from tests.spark.steps import in_steps, marked_rows, with_marks
from tests.spark.test_streaming_flows import FORMS, rewritten, shuffled
from tidegate.check.flows import DrawnFlow, flows
from tidegate.engine.storage.state import State
from tidegate.spec import DT, WM

HOW = st.sampled_from(["", "", "restart", "cold"])


@drawn_examples(7, 60)
@given(drawn=flows(max_operators=3), rng=st.randoms(use_true_random=False), how=HOW, form=FORMS)
def test_steps_give_what_the_specification_gives(drawn: DrawnFlow, rng: random.Random, how: str, form: str) -> None:
    """Wherever steps begin and end, in whatever order rows come, with restarts, and without what is held in tables."""
    compare(drawn, rng, how=how, form=form)


def compare(drawn: DrawnFlow, rng: random.Random, *, how: str = "", form: str = "dedicated") -> None:
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    plan = with_marks(rewritten(drawn.flow, form).plan)
    rows = {s.id: marked_rows(s, shuffled(drawn.inputs[s.id], rng)) for s in plan.sources}
    tables = {t.id: [tuple(row[name] for name in t.schema.names) for row in drawn.inputs[t.id]] for t in plan.tables}
    fold = rng.random() < 0.7
    cuts = in_steps(rows, rng, steps=rng.choice([1, 2, 3]) if fold else 8)
    with TemporaryDirectory() as directory:
        got = run_locally(plan, cuts, tables, Path(directory), restart=how == "restart", cold=how == "cold", fold=fold)
    assert_same_rows(got["out"], expected)


def test_state_that_is_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: with state that forgets what a step adds, answers are missing."""
    flow = tg.Flow("mutant")
    flow.sink("out", flow.source("s0", "t INT, k STRING, x INT", time="t").aggregate(by="k", n="count(*)"))
    events = [DT(1, {"t": 1, "k": "a", "x": 1}), WM(0), DT(1, {"t": 1, "k": "a", "x": 2}), WM(1)]
    drawn = DrawnFlow(flow, {"s0": events}, ("aggregate",))
    compare(drawn, random.Random(3))
    monkeypatch.setattr(State, "grown", lambda self, part: self)
    with pytest.raises(AssertionError, match="expected 1 rows, got 0"):
        compare(drawn, random.Random(3))
