"""Scripts: a trial as a program that does the same; and flows as the code that builds them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.flow.test_cases import TABLES
from tests.testing.flows import counts, hourly, joined

import tidegate as tg
import tidegate.testing as tt
from tidegate.testing.flow_code import flow_code
from tidegate.testing.scripts import literal
from tidegate.time import TOP, Inl, Poset


def test_a_trial_is_a_program_that_does_the_same(engine: tt.Engine) -> None:
    """Steps, watermarks, restarts, tables and expectations are in it; with another expectation it fails as well."""
    test = tt.trial(joined, engine, tables={"names": [("a", "Ann")]})
    test.step({"left": [(1, "a", 1)], "right": [(1, "a", 2), tg.WM(1)]})
    test.restart()
    test.advance("left", 1)
    test.expect("out", [(1, "a", 1, 2, "Ann")])
    test.send("left", (1, "a", 3), (2, "a", None))
    test.late("left")
    test.finish()
    program = test.script()
    assert program.splitlines()[-8:] == [
        f"test = tt.trial(flow, {engine.name!r}, tables={{'names': [{{'k': 'a', 'name': 'Ann'}}]}})",
        "test.step({'left': [{'t': 1, 'k': 'a', 'x': 1}], 'right': [{'t': 1, 'k': 'a', 'y': 2}, tg.WM(1)]})",
        "test.restart()",
        "test.advance('left', 1)",
        "test.expect('out', [{'t': 1, 'k': 'a', 'x': 1, 'y': 2, 'name': 'Ann'}])",
        "test.send('left', {'t': 1, 'k': 'a', 'x': 3}, {'t': 2, 'k': 'a'})",
        "print(test.late('left'))",
        "test.finish()",
    ]
    done: dict[str, object] = {}
    exec(program, done)
    again = done["test"]
    assert isinstance(again, tt.Trial)
    assert again.rows("out") == test.rows("out")
    with pytest.raises(tt.NotAsExpected, match="name is Ann, not Ben"):
        exec(program.replace("'name': 'Ann'}])\ntest.send", "'name': 'Ben'}])\ntest.send"), {})


def test_strategies_and_clocks_are_in_the_program() -> None:
    """What is declared acts there too."""
    test = tt.trial(hourly(), watermarks="declared", now="2026-01-01")
    test.clock("2026-01-01 00:05:00")
    test.send("edits", {"ts": "2026-01-01 03:00:00"})
    program = test.script()
    assert "watermark=tg.bounded('10 minutes')" in program
    assert "test = tt.trial(flow, 'specification', watermarks=\"declared\", now='2026-01-01 00:00:00')" in program
    assert "test.clock('2026-01-01 00:05:00')" in program
    exec(program, {})


@pytest.mark.parametrize("table", TABLES)
def test_flows_are_written_as_the_code_that_builds_them(table: str) -> None:
    """All cases of all operators: the code builds a flow of the same meaning, or says which function it lacks."""
    for case in TABLES[table]:
        flow = tg.Flow("case")
        flow.sink("out", case.build(flow))
        code = flow_code(flow.plan)
        assert code is not None, flow.plan
        assert not code.opaque or any(o.verb in ("map_batches", "window.apply", "process") for o in flow.plan), (
            code.text
        )


def test_code_that_builds_another_flow_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is run, and compared: a writer that loses an option is found out."""
    flow = counts(watermark=tg.bounded(3))
    assert flow_code(flow.plan) is not None
    monkeypatch.setattr("tidegate.flow.watermarks.Bounded.__repr__", lambda self: "bounded(4)")
    assert flow_code(flow.plan) is None


def test_what_cannot_be_written_is_named() -> None:
    """A function that nobody can import has a line to fill in; a factory that can be imported is used instead."""
    flow = tg.Flow("opaque")
    flow.sink("out", flow.source("s", "t INT", time="t").map_batches(lambda batch: batch, "x INT"))
    program = tt.trial(flow).script()
    assert "function_1 = ...  # test_what_cannot_be_written_is_named.<locals>.<lambda>, as the test has it" in program
    assert "from tests.testing.test_scripts import opaque_flow\n" in tt.trial(opaque_flow).script()
    assert "flow = opaque_flow()" in tt.trial(opaque_flow).script()


def opaque_flow() -> tg.Flow:
    """A flow with a function of its own."""
    flow = tg.Flow("opaque")
    flow.sink("out", flow.source("s", "t INT, x INT", time="t").map_batches(lambda batch: batch, "x INT"))
    return flow


def test_rewritten_flows_are_described() -> None:
    """What only a rewrite makes has no code; the plan is there to be read."""
    flow = tg.Flow("rewritten")
    flow.sink("out", flow.source("s", "t INT, x INT", time="t").where("x > 1"))
    program = tt.trial(flow.to_aggregates(using="A")).script()
    assert "# flow rewritten" in program
    assert "flow = ...  # this flow cannot be written as code" in program


def test_values_are_written_as_tests_write_them() -> None:
    """Whatever a column or a time can have is read again as it was."""
    assert literal((1, TOP)) == "(1, tg.TOP)"
    assert literal(Inl(3)) == "('left', 3)"
    assert literal([Decimal("1.50"), b"x", float("inf")]) == "['1.50', b'x', float('inf')]"
    flow = tg.Flow("versions")
    source = flow.source("s", "v STRING", time=tg.ordered("v", Poset([("a", "b")])))
    flow.sink("out", source.gate())
    test = tt.trial(flow)
    test.send("s", ("a",), tg.WM("a"))
    assert "tg.ordered('v', Poset([('a', 'b')]))" in test.script()
    exec(test.script(), {})
