"""Random flows and loops on the local engine: against the specification, row for row."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.drawing import drawn_examples
from tests.flow import graphs
from tests.flow.case import assert_same_rows, rows_given
from tests.local_engine.engine import by_local
from tests.spark.loops import LOOPS, built, by_specification, drawn_graphs, rows_of
from tidegate.check.flows import DrawnFlow, flows
from tidegate.engine import lowering
from tidegate.engine.loops import rounds
from tidegate.flow import plan
from tidegate.flow.errors import BadLoop
from tidegate.local_engine.backend import LocalBackend
from tidegate.spec import DT

#: How many facts are few, how many are held of a round, how many are many to look through.
SIZES = [(9000, 9000, 9000), (3, 9000, 9000), (0, 9000, 9000), (9000, 9000, 0), (9000, 2, 0)]


def compare(drawn: DrawnFlow) -> None:
    expected = [tuple(row.values()) for row in drawn.flow.reference(drawn.inputs).rows("out")]
    assert_same_rows(by_local(drawn.flow, rows_given(drawn)), expected)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(drawn=flows(watermarks=False))
def test_the_local_engine_gives_what_the_specification_gives(drawn: DrawnFlow) -> None:
    """Whatever the operators and the times, both give the same rows."""
    compare(drawn)


def test_a_broken_operator_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: with a `distinct` that keeps every row, the rows differ."""
    flow = tg.Flow("mutant")
    flow.sink("out", flow.source("s0", "t INT, k STRING, x INT", time="t").distinct())
    row = {"t": 1, "k": "a", "x": 1}
    drawn = DrawnFlow(flow, {"s0": [DT(1, row), DT(1, row)]}, ("distinct",))
    compare(drawn)
    monkeypatch.setitem(lowering._LOWERINGS, plan.Distinct, lambda _operator, rows: rows)
    with pytest.raises(AssertionError, match="expected 1 rows, got 2"):
        compare(drawn)


@pytest.mark.parametrize("name", LOOPS)
@drawn_examples(3, 30)
@given(drawn=drawn_graphs, sizes=st.sampled_from(SIZES), repeats=st.booleans())
def test_drawn_graphs(
    name: str, drawn: tuple[bool, list[graphs.Edge]], sizes: tuple[int, int, int], *, repeats: bool
) -> None:
    """Loops of every kind, on any graph, whatever counts as few facts: repeated by a query, merged or looked up."""
    with pytest.MonkeyPatch.context() as patch:
        if not repeats:
            patch.setattr(LocalBackend, "repeated", lambda *_arguments, **_options: None)
        for name_of_size, size in zip(("_FEW", "_HELD", "_MANY"), sizes, strict=True):
            patch.setattr(rounds, name_of_size, size)
        given_rows = rows_of(drawn)
        flow = built(name, pairs=drawn[0])
        try:
            expected = by_specification(flow, given_rows)
        except BadLoop:
            # On this graph, a better fact leads to a worse one: what such a loop gives is left open.
            reject()
        assert_same_rows(by_local(flow, given_rows), expected)
