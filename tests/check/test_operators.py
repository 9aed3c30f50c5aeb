"""`check_operator`: it passes the papers' operators, and catches every mutant with its default settings."""

import pytest

from tests.check.mutants import MUTANTS, PAIRS, Machine
from tests.drawing import quick_or_long
from tidegate.check import BLOCKS, OperatorFails, check_operator
from tidegate.spec import DT, WM, Lasso, Operator, batch_op
from tidegate.time import Nat

EXAMPLES = quick_or_long(30, 300)
#: The first mutant of each building block; the others are for the long run.
FIRST = {block: name for name, (block, _) in reversed(MUTANTS.items())}.values()


@pytest.mark.parametrize("name", BLOCKS)
def test_the_papers_operators_have_all_four_properties(name):
    """Nothing is found against an operator of the papers."""
    report = BLOCKS[name].check(examples=EXAMPLES)
    assert report.ok, str(report)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in FIRST else pytest.mark.slow) for n in MUTANTS])
def test_every_mutant_is_caught(name):
    """A broken building block fails at least one property, with a stream that shows it."""
    block, op = MUTANTS[name]
    report = BLOCKS[block].check(op, stop_early=True)
    assert not report.ok
    assert all(finding.stream is not None for finding in report.findings if not finding.ok)


def test_there_are_enough_mutants():
    """At least fifteen, over all building blocks."""
    assert len(MUTANTS) >= 15
    assert {block for block, _ in MUTANTS.values()} >= {"batch_op", "incr_op", "ihist_op", "union_op", "join_op"}


def test_the_counterexample_is_the_smallest_and_is_drawn():
    """A report shows the shortest stream that breaks a property, as a picture, and what came out."""
    op = Machine((), lambda tds, e: (tds, [e] if isinstance(e, WM) else []))

    def times(events):
        return {e.t for e in events if isinstance(e, DT)}

    report = check_operator(op, Nat(), completeness=lambda events, out: times(events) == times(out))
    finding = report["completeness"]
    assert finding.stream == [DT(0, "a")]
    text = str(report)
    assert "✗  completeness" in text
    assert "✓  monotonicity" in text
    assert "–  soundness: not checked" in text
    assert "│ DT 0 a │" in text
    with pytest.raises(OperatorFails, match="completeness"):
        report.raise_if_broken()


def test_productivity_is_checked_where_it_can_fail():
    """An operator that keeps watermarks to itself is caught, although every stream that ends is productive."""
    op = Machine((), lambda s, e: (s, [e] if isinstance(e, DT) else []))
    finding = check_operator(op, PAIRS)["productivity"]
    assert not finding.ok
    assert isinstance(finding.stream, list | Lasso)


def test_an_operator_that_raises_is_reported():
    """An exception of the operator is a finding, with the stream that causes it."""

    def explode(state, event):
        if isinstance(event, WM):
            raise RuntimeError("no watermarks, please")
        return state, [event]

    report = check_operator(Machine((), explode), Nat())
    assert "RuntimeError: no watermarks, please" in report["monotonicity"].because
    assert report["monotonicity"].stream == [WM(0)]


def test_the_report_is_the_same_every_time():
    """Two checks with the same arguments find the same."""
    op = MUTANTS["batch_completes_only_what_is_strictly_below"][1]
    assert BLOCKS["batch_op"].check(op) == BLOCKS["batch_op"].check(op)


class Hoard(Operator):
    """Gives out all it holds at each watermark; it changes itself, rather than to answer another."""

    def __init__(self):
        self.held = []

    def apply(self, event):
        if isinstance(event, DT):
            self.held.append(event)
            return self, []
        given, self.held = self.held, []
        return self, [*given, event]


def test_an_operator_that_changes_itself_begins_each_stream_anew():
    """What it held at the end of one stream does not come out in the next."""
    hoard = Hoard()
    report = check_operator(hoard, Nat(), soundness=lambda events, output: output in events)
    assert report["soundness"].ok, str(report)
    assert hoard.held == []


def test_checks_may_stop_at_the_first_property_that_is_broken():
    """What comes before is the same finding, and what comes after is not checked; without a mistake, all is checked."""
    block, op = MUTANTS["join_ignores_times"]
    whole, early = BLOCKS[block].check(op), BLOCKS[block].check(op, stop_early=True)
    broken = next(i for i, finding in enumerate(whole.findings) if not finding.ok)
    assert early.findings[: broken + 1] == whole.findings[: broken + 1]
    assert not any(finding.checked for finding in early.findings[broken + 1 :])
    assert all(f.checked for f in BLOCKS["batch_op"].check(examples=20, stop_early=True).findings)


def test_the_default_inputs_are_plain_streams():
    """Without a specification, monotonicity and productivity are checked."""
    report = check_operator(batch_op(PAIRS), PAIRS, examples=50)
    assert report.ok
    assert [f.checked for f in report.findings] == [False, False, True, True]
