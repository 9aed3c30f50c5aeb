"""What a failing test says: which rows differ, in which columns, and what still waits for what."""

from __future__ import annotations

import pytest
from tests.testing.flows import counts, hourly

import tidegate as tg
import tidegate.testing as tt
from tidegate.testing.assertions import explain_difference
from tidegate.testing.differences import Rows, difference


def test_a_row_that_is_not_there_yet_says_what_it_waits_for(engine: tt.Engine) -> None:
    """The source that holds its time is named, and the call that moves it on."""
    test = tt.trial(hourly, engine)
    test.send("edits", {"ts": "2026-01-01 00:10:00", "page": "home"})
    with pytest.raises(AssertionError) as caught:
        test.expect("hourly", [{"ts": "2026-01-01 00:59:59.999999", "page": "home", "n": 1}])
    assert str(caught.value) == (
        "sink 'hourly': expected 1 row, got 0\n"
        "     ts                          page  n\n"
        "  -  2026-01-01 00:59:59.999999  home  1  missing\n"
        f"  at: flow 'edits' on {engine.name}\n"
        "  hint: the row at 2026-01-01 00:59:59.999999 is not there yet: that time is not complete, as source 'edits' "
        "has promised nothing yet\n"
        "  hint: test.advance('edits', '2026-01-01 00:59:59.999999'), or test.finish()"
    )
    test.advance("edits", "2026-01-01 00:30:00")
    with pytest.raises(AssertionError, match=r"may still give rows from 2026-01-01 00:30:00.000001 on"):
        test.expect("hourly", [{"ts": "2026-01-01 00:59:59.999999", "page": "home", "n": 1}])
    with pytest.raises(
        AssertionError, match=r"is not complete from 2026-01-01 00:30:00\.000001 on: advance its sources"
    ):
        test.expect("hourly", [{"page": "home", "n": 1}])
    # The hint is right.
    test.advance("edits", "2026-01-01 00:59:59.999999")
    test.expect("hourly", [{"ts": "2026-01-01 00:59:59.999999", "page": "home", "n": 1}])


def test_near_misses_are_marked_by_column_and_late_rows_named(engine: tt.Engine) -> None:
    """What was expected and what came instead stand below each other; a row that was late explains a count."""
    test = tt.trial(counts, engine)
    test.send("s", (1, "a"), (1, "b"), tg.WM(1), (1, "a"), (None, "c"))
    with pytest.raises(AssertionError) as caught:
        test.expect("out", [(1, "a", 2), (1, "b", 1), (2, "c", 1)])
    lines = str(caught.value).splitlines()
    assert lines[:6] == [
        "sink 'out': expected 3 rows, got 2",
        "     t  k  n",
        "     1  b  1",
        "  -  1  a  2",
        "  +  1  a  1  n is 1, not 2",
        "  -  2  c  1  missing",
    ]
    assert "  hint: 1 of source 's' came too late, and took no part: {t: 1, k: a}" in lines
    assert "  hint: 1 of source 's' could not take part: {t: NULL, k: c, reason: null time in t}" in lines


def test_a_strategy_of_its_own_is_named() -> None:
    """Where a test cannot move time, the hint says what does."""
    test = tt.trial(hourly, watermarks="declared")
    test.send("edits", {"ts": "2026-01-01 00:10:00", "page": "home"})
    with pytest.raises(AssertionError, match="its watermarks are bounded by 10 minutes"):
        test.expect("hourly", [{"ts": "2026-01-01 00:59:59.999999", "page": "home", "n": 1}])


def test_what_is_compared() -> None:
    """Multisets, doubles within a tolerance, and types: 1 is not true."""
    same = difference([{"x": 0.3}, {"x": None}], [{"x": None}, {"x": 0.1 + 0.2}], ["x"], [])
    assert not same
    assert difference([{"x": 1}, {"x": 1}], [{"x": 1}], ["x"], []).missing == [{"x": 1}]
    assert difference([{"x": True}], [{"x": 1}], ["x"], ["x"])
    assert difference([{"x": [1, {"a": float("nan")}]}], [{"x": [1, {"a": float("nan")}]}], ["x"], []).same
    many = [{"x": n} for n in range(9)]
    assert difference(many, [*many, {"x": 99}], ["x"], ["x"]).table(["x"], ["x"]).endswith("… and 6 more as expected")


def test_an_assertion_on_rows_is_explained() -> None:
    """For pytest: a list of rows that a trial gave, beside another one."""
    test = tt.trial(counts)
    test.send("s", (1, "a"))
    lines = explain_difference(test.rows("out"), [{"t": 1, "k": "a", "n": 1}])
    assert lines is not None
    assert lines[:3] == ["rows of 'out'", "   t  k  n", "-  1  a  1  missing"]
    assert lines[4] == "hint: test.advance('s', 1), or test.finish()"
    rows = Rows([{"t": 2}, {"t": 1}], ["t"])
    assert [row["t"] for row in rows] == [1, 2]
    assert str(rows) == "t\n1\n2"
    assert "in another order" in (explain_difference([{"t": 2}, {"t": 1}], rows) or [""])[-1]
    assert explain_difference(rows, 3) is None
