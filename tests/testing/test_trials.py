"""Trials: the same test on the specification, the local engine and, in the long run, Spark."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from tests.testing.flows import counts, hourly, joined

import tidegate as tg
import tidegate.testing as tt
from tidegate.time import Poset


def test_events_in_answers_out(engine: tt.Engine) -> None:
    """Rows wait until time is moved past them; then the answer is there, once."""
    test = tt.trial(hourly, engine)
    test.send("edits", {"ts": "2026-01-01 00:10:00", "page": "home", "bytes": 512})
    assert test.rows("hourly") == []
    test.advance("edits", "2026-01-01 01:00:00")
    test.expect("hourly", [{"page": "home", "n": 1, "kib": 0.5}])
    test.expect("hourly", [])
    assert test.rows("hourly")[0]["window"] == {"start": datetime(2026, 1, 1), "end": datetime(2026, 1, 1, 1)}


def test_what_came_too_late_or_has_no_time_can_be_read(engine: tt.Engine) -> None:
    """The strategy that the source declares does not act: by hand, a row is late after what was told, and only then."""
    test = tt.trial(hourly(), engine)
    test.send("edits", ("2026-01-01 05:00:00", "home", 1), ("2026-01-01 00:10:00", "home", 1), (None, "home", 2))
    test.advance("edits", "2026-01-01 00:59:59.999999")
    test.send("edits", {"ts": "2026-01-01 00:20:00", "page": "late"}, {"ts": "2026-01-01 01:00:00", "page": "home"})
    assert [row["page"] for row in test.late("edits")] == ["late"]
    assert [(row["bytes"], row["reason"]) for row in test.rejected("edits")] == [(2, "null time in ts")]
    test.expect("hourly", [{"page": "home", "n": 1}])
    test.finish()
    test.expect("hourly", [{"page": "home", "n": 1}, {"page": "home", "n": 1}])


def test_why_a_time_is_not_complete(engine: tt.Engine) -> None:
    """Each source that holds it is named, with where it is; nobody does when all have moved on."""
    test = tt.trial(joined, engine, tables={"names": [("a", "Ann")]})
    test.advance("left", 5)
    reasons = {reason.location: reason.time for reason in test.why("out", 4)}
    assert list(reasons) == ["right"]
    test.advance("right", 4)
    assert test.why("out", 4) == []
    assert test.open_from("out") == [5]


def test_several_sources_and_a_table(engine: tt.Engine) -> None:
    """Rows of two sources come in one step; a time is complete when both say so."""
    test = tt.trial(joined, engine, tables={"names": [{"k": "a", "name": "Ann"}, {"k": "b", "name": "Bo"}]})
    test.step({"left": [(1, "a", 1), (1, "b", 2)], "right": [(1, "a", 3), tg.WM(1)]})
    test.expect("out", [])
    test.advance("left", 1)
    test.expect("out", [(1, "a", 1, 3, "Ann"), (1, "b", 2, None, "Bo")])


def test_going_on_from_the_checkpoint(engine: tt.Engine) -> None:
    """A restart loses nothing and gives nothing twice."""
    test = tt.trial(counts, engine)
    test.send("s", (1, "a"), (2, "a"))
    test.restart()
    test.advance("s", 1)
    test.restart()
    test.send("s", (2, "a"), tg.WM(2), (1, "late"))
    test.expect("out", [(1, "a", 1), (2, "a", 2)])
    assert [row["k"] for row in test.late("s")] == ["late"]
    test.finish()
    test.expect("out", [])


def test_pairs_of_times(engine: tt.Engine) -> None:
    """On a product order, what is complete is what is below some watermark; TOP stands for every value."""
    flow = tg.Flow("pairs")
    flow.sink("out", flow.source("s", "v INT, w INT, k STRING", time=("v", "w")).aggregate(by="k", n="count(*)"))
    test = tt.trial(flow, engine)
    test.send("s", (1, 5, "a"), (5, 1, "a"), (3, 3, "a"))
    test.advance("s", (1, 5))
    test.expect("out", [(1, 5, "a", 1)])
    test.advance("s", (tg.TOP, 1))
    test.expect("out", [(5, 1, "a", 1)])
    test.send("s", (9, 0, "late"), (2, 2, "a"), tg.WM((3, 3)))
    test.expect("out", [(2, 2, "a", 1), (3, 3, "a", 1)])
    assert [row["k"] for row in test.late("s")] == ["late"]


def test_two_sources_whose_watermarks_do_not_compare(engine: tt.Engine) -> None:
    """What both have completed is complete, though neither watermark is below the other."""
    flow = tg.Flow("met")
    left, right = (flow.source(name, "v INT, w INT, k STRING", time=("v", "w")) for name in ("left", "right"))
    flow.sink("out", left.join(right, on="k"))
    test = tt.trial(flow, engine)
    test.step({"left": [(3, 3, "a"), tg.WM((3, 5))], "right": [(3, 3, "a"), tg.WM((5, 3))]})
    test.expect("out", [(3, 3, "a")])


def test_times_of_a_finite_order(engine: tt.Engine) -> None:
    """Versions of a graph: what is below the version that is complete is complete."""
    flow = tg.Flow("versions")
    order = Poset([("base", "left"), ("base", "right"), ("left", "merge"), ("right", "merge")])
    source = flow.source("s", "version STRING, x INT", time=tg.ordered("version", order))
    flow.sink("out", source.accumulate(total="sum(x)"))
    test = tt.trial(flow, engine)
    test.send("s", ("base", 1), ("left", 2), ("merge", 4))
    test.advance("s", "left")
    test.expect("out", [("base", 1), ("left", 3)])
    test.send("s", ("right", 8))
    test.finish()
    test.expect("out", [("right", 9), ("merge", 15)])


def test_windows_that_take_late_rows(engine: tt.Engine) -> None:
    """A late row that a window admits is answered for in its step, as a revision, and is not late."""
    flow = tg.Flow("revised")
    source = flow.source("s", "t INT, k STRING", time="t")
    flow.sink("out", source.window(10, lateness=20).aggregate(n="count(*)"))
    test = tt.trial(flow, engine)
    test.send("s", (1, "a"), tg.WM(9))
    test.expect("out", [{"n": 1, "revision": 0}])
    test.send("s", (2, "a"))
    test.expect("out", [{"n": 2, "revision": 1}])
    test.advance("s", 40)
    test.send("s", (3, "a"))
    assert [row["t"] for row in test.late("s")] == [3]
    test.expect("out", [])


def test_an_operator_is_asked_for_its_exit_at_the_end_only(engine: tt.Engine) -> None:
    """What only the end of the input lets out is not there before."""
    from tests.flow.cases.process import Running

    flow = tg.Flow("processed")
    source = flow.source("s", "t INT, k STRING, x INT", time="t")
    flow.sink("out", source.process(Running(), by="k", schema="y INT"))
    test = tt.trial(flow, engine)
    test.send("s", (1, "a", 5))
    test.expect("out", [])
    test.finish()
    test.expect("out", [(1, "a", 5), (1, "a", 1000)])


def test_functions_are_given_complete_windows_only(engine: tt.Engine) -> None:
    """Whatever is asked meanwhile, a function of the user's sees a window once it is whole."""
    seen: set[int] = set()

    def counted(table: pa.Table) -> pa.Table:
        seen.add(table.num_rows)
        return pa.table({"n": pa.array([table.num_rows], pa.int32())})

    flow = tg.Flow("applied")
    source = flow.source("s", "t INT, k STRING", time="t")
    flow.sink("out", source.window(10).apply(counted, "n INT", by="k"))
    test = tt.trial(flow, engine)
    test.send("s", (1, "a"), (11, "a"))
    test.expect("out", [])
    test.send("s", (2, "a"), tg.WM(9))
    test.expect("out", [{"k": "a", "n": 2}])
    assert seen - {0} == {2}


def test_a_row_that_must_not_be_late_fails_the_step(engine: tt.Engine) -> None:
    """With late="fail", the step that takes the row raises."""
    test = tt.trial(counts(late="fail"), engine)
    test.advance("s", 5)
    with pytest.raises(tg.TidegateError, match=r"late|came after its time was complete"):
        test.send("s", (1, "a"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: t.send("edit", {}), "expected the name of a source (edits), got 'edit'"),
        (lambda t: t.send("edit", {}), "hint: did you mean edits?"),
        (lambda t: t.rows("hour"), "expected the name of a sink (hourly), got 'hour'"),
        (lambda t: t.send("edits", {"pag": 1}), "expected a row with columns ts, page, bytes, got 'pag'"),
        (lambda t: t.send("edits", {}, {"pag": 1}), "at: event 1 for source 'edits'"),
        (lambda t: t.send("edits", ("2026-01-01",)), "expected a row with 3 values (ts, page, bytes), got 1"),
        (lambda t: t.send("edits", {"ts": "noon"}), "expected a value of type TIMESTAMP, got 'noon'"),
        (lambda t: t.send("edits", 3), "expected a row as a dict, got 3 (int)"),
        (lambda t: t.advance("edits", 3), "got 3"),
        (lambda t: t.advance("edits", (1, 2)), "expected a time of ts, got (1, 2)"),
        (lambda t: t.expect("hourly", [{"n": 1}, {"page": "a"}]), "with the same columns, got n and page"),
        (lambda t: t.expect("hourly", [{"m": 1}]), "expected an expected row with columns ts, window, page"),
        (lambda t: t.clock("2026-01-01"), "expected a trial whose sources follow their own strategies"),
        (lambda t: (t.finish(), t.send("edits", {})), "got step after finish() or close()"),
        (lambda t: t.rejected("hourly"), "expected the name of a source (edits), got 'hourly'"),
    ],
)
def test_what_a_trial_cannot_do_it_says(call: Any, said: str) -> None:
    """Errors name the flow, what was expected, what came, and what to do."""
    with pytest.raises(tg.TidegateError) as caught:
        call(tt.trial(hourly()))
    assert said in str(caught.value)
    assert "flow 'edits'" in str(caught.value)


def test_what_makes_no_trial_is_refused() -> None:
    """Tables, clocks, engines and flows are looked at before anything runs."""
    with pytest.raises(tg.TidegateError, match="expected the rows of table 'names', got none"):
        tt.trial(joined)
    with pytest.raises(tg.TidegateError, match=r"expected rows of tables .*, got 'left'[\s\S]*test\.send"):
        tt.trial(joined, tables={"left": [], "names": []})
    with pytest.raises(tg.TidegateError, match="got 'locall'\n  hint: did you mean local"):
        tt.trial(counts, "locall")
    with pytest.raises(tg.TidegateError, match="expected a flow, or a function that builds one"):
        tt.trial(lambda: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(tg.TidegateError, match="expected a flow with a sink"):
        tt.trial(tg.Flow("empty"))
    with pytest.raises(tg.TidegateError, match='with watermarks="declared", got one for'):
        tt.trial(counts, clocks={"s": "1 second"})
    with pytest.raises(tg.TidegateError, match=r"ask after test\.finish"):
        tt.trial(counts, "local-bounded").rows("out")


def test_all_rows_at_once() -> None:
    """On a bounded engine, answers come with the end, and nothing is late."""
    test = tt.trial(counts, "local-bounded")
    test.send("s", (1, "a"), tg.WM(1), (1, "a"), (None, "b"))
    test.finish()
    test.expect("out", [(1, "a", 2)])
    assert [row["reason"] for row in test.rejected("s")] == ["null time in t"]
    assert test.late("s") == test.why("out", 1) == []


@pytest.mark.spark
@pytest.mark.slow
def test_the_same_on_spark(tidegate_spark: Any, tmp_path: Any) -> None:
    """Every test above that takes an engine, on Spark."""
    for test in (
        test_events_in_answers_out,
        test_what_came_too_late_or_has_no_time_can_be_read,
        test_why_a_time_is_not_complete,
        test_several_sources_and_a_table,
        test_going_on_from_the_checkpoint,
        test_pairs_of_times,
        test_times_of_a_finite_order,
        test_windows_that_take_late_rows,
    ):
        test(tt.Engine("spark", tidegate_spark, tmp_path))
