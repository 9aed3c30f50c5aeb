"""What readers see of flows, streams, windows and strategies: in a terminal, and in a notebook."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from tests.flow.case import ints, pairs

import tidegate as tg
from tidegate.flow.watermarks import Watermark
from tidegate.local_engine import compute


def edits() -> tg.Stream:
    flow = tg.Flow("edits")
    given = tg.bounded("10 minutes", by="page", idle="90 seconds")
    return flow.source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts", watermark=given)


def test_windows_are_shown_with_spans() -> None:
    """Whoever forgets what follows a window sees its lengths in words, and on several time columns which is meant."""
    assert repr(edits().window("1 hour", every="10 minutes", offset="90 seconds", lateness="1 day")) == (
        "Windowed(edits: windows of 1 hour, every 10 minutes, shifted by 90 seconds, revised for 1 day)"
    )
    assert repr(edits().session("30 minutes")) == "Windowed(edits: sessions with a gap of 30 minutes)"
    assert repr(pairs(tg.Flow("x")).window(5, over="w")) == "Windowed(s: windows of 5 over w)"
    assert repr(pairs(tg.Flow("x")).session(5, over="w")) == "Windowed(s: sessions with a gap of 5 over w)"


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        (tg.bounded("10 minutes"), "bounded('10 minutes')"),
        (tg.bounded("600 seconds", by="k", idle="1 hour"), "bounded('10 minutes', by='k', idle='1 hour')"),
        (tg.bounded(0, clock="90 seconds"), "bounded('0 days', clock='90 seconds')"),
        (tg.punctuated("x IS NULL"), "punctuated('x IS NULL')"),
        (tg.published("out/hourly"), "published('out/hourly')"),
        (tg.at_end(), "at_end()"),
    ],
)
def test_strategies_are_shown_as_they_are_written(strategy: Watermark, said: str) -> None:
    """Also in a plan, where delays are microseconds; what is shown there can be written again."""
    flow = tg.Flow("shown")
    flow.source("s", "t TIMESTAMP, k STRING, x INT", time="t", watermark=strategy)
    [source] = flow.plan.sources
    assert repr(source.watermark) == said
    assert f"watermark={said}" in str(flow.plan)
    again = tg.Flow("shown")
    again.source("s", "t TIMESTAMP, k STRING, x INT", time="t", watermark=eval(said, vars(tg.flow)))
    assert again.plan == flow.plan


def test_delays_of_integers_and_days_are_shown_in_their_units() -> None:
    """One for each time column; before they meet a source, as they were given."""
    flow = tg.Flow("shown")
    flow.source("s", "v DATE, w INT", time=("v", "w"), watermark=tg.bounded("2 weeks", 3))
    assert repr(flow.plan.sources[0].watermark) == "bounded('14 days', 3)"
    assert repr(tg.bounded("2 weeks", 3)) == "bounded('2 weeks', 3)"


def test_the_plan_is_shown_with_spans() -> None:
    """In its text, and in the line of each operator by which a checkpoint says what it holds."""
    s = edits()
    r = s.flow.source("r", "ts TIMESTAMP, page STRING, price INT", time="ts")
    asof = s.join_asof(r, on="page", within="2 hours")
    total = asof.deduplicate("page", within="1 day").accumulate(by="page", every="1 hour", n="count(*)")
    s.flow.sink("out", total.window("7 days", every="1 day").aggregate(n="max(n)"))
    text = str(s.flow.plan)
    for said in ("within=2 hours", "within=1 day", "every=1 hour of ts", "frame=windows of 7 days, every 1 day"):
        assert said in text
        assert said in s.flow.plan.text("window#1")
    assert "000000" not in text


def test_a_flow_and_a_stream_draw_themselves() -> None:
    """In a notebook a flow is its explanation, and a stream its columns and what comes before it; all is escaped."""
    s = edits()
    picked = s.where("bytes < 100")
    s.flow.sink("small", picked)
    s.gate()
    html = s.flow._repr_html_()
    assert html == s.flow.explain()._repr_html_()
    assert "bytes &lt; 100" in html
    shown = picked._repr_html_()
    assert "<caption>stream where#1 of flow edits</caption>" in shown
    assert "<tr><td>ts</td><td>TIMESTAMP</td><td>time</td></tr>" in shown
    assert "<title>flow edits</title>" in shown
    assert "gate#1" not in shown
    assert "<caption>table t of flow edits</caption>" in s.flow.table("t", "k STRING")._repr_html_()
    for part in (html, shown):
        ElementTree.fromstring(f"<div>{part}</div>")
    assert "<svg" in tg.Flow("empty")._repr_html_()


def test_a_stream_that_is_gone_is_shown_without_a_picture() -> None:
    """A notebook that shows an old stream does not fail; it says what happened."""
    flow = tg.Flow("gone")
    old = ints(flow).where("x > 1")
    flow.source("s", "t INT", time="t", replace=True)
    assert "no longer part of it" in old._repr_html_()
    assert "<svg" not in old._repr_html_()


def numbers(*xs: int | None) -> pa.Table:
    return pa.table({"t": pa.array(xs, pa.int32()), "k": ["<k>"] * len(xs), "x": pa.array(xs, pa.int32())})


def test_results_show_some_rows() -> None:
    """Five of each sink at most, or all; how many rows were rejected; and where the others are. All is escaped."""
    flow = tg.Flow("few")
    s = ints(flow)
    flow.sink("big", s.where("x > 1"))
    flow.sink("n", s.window(10).aggregate(n="count(*)"))
    html = flow.compute(tg.local(), {"s": numbers(*range(9), None)})._repr_html_()
    assert "<caption>big: 5 rows, and tables[&#x27;big&#x27;] has more</caption>" in html
    assert html.count("<td>&lt;k&gt;</td>") == 5
    assert "<caption>n: 1 row in all</caption>" in html
    assert "<td>{start: 0, end: 10}</td><td>9</td>" in html
    assert "rejected rows: 1 of s" in html
    ElementTree.fromstring(f"<div>{html}</div>")


def test_a_look_at_results_calls_no_function_and_runs_no_loop() -> None:
    """Whoever shows a result has not asked for it: of such sinks there are the columns, and why."""
    flow = tg.Flow("lazy")

    def never(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise AssertionError(batch)

    s = ints(flow)
    flow.sink("own", s.map_batches(never, "k STRING").where("k <> ''"))
    flow.sink("loop", s.iterate("SELECT x FROM input", "SELECT x FROM known", key="x", keep=()))
    html = flow.compute(tg.local(), {"s": numbers(1)})._repr_html_()
    assert "<caption>own: rows not computed, as map_batches#1 calls a function of yours</caption>" in html
    assert "<tr><td>k</td><td>STRING</td></tr>" in html
    assert "<caption>loop: rows not computed, as iterate#1 is a loop</caption>" in html


def test_a_look_at_results_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would take for ever is not waited for, nor what comes after it; then the results are as they were."""
    flow = tg.Flow("endless")
    s = ints(flow)
    flow.sink("pairs", s.join(s.select("x AS y"), on=(), where="x + y < -1").aggregate(n="count(*)"))
    flow.sink("same", s)
    many = 40_000  # DuckDB looks for an interrupt after each chunk of 2,048 rows, so after 80 million pairs
    given = pa.table({"t": pa.array([1] * many, pa.int32()), "k": ["a"] * many, "x": pa.array([1] * many, pa.int32())})
    tables = flow.compute(tg.local(), {"s": given})
    monkeypatch.setattr(compute, "TIME_LIMIT", 0.05)
    html = tables._repr_html_()
    assert html.count("as a glance takes no longer than 0.05 s") == 2
    assert "rejected" not in html
    assert tables["same"].limit(1).fetchall() == [(1, "a", 1)]


def test_a_look_at_results_that_fail_says_so() -> None:
    """A notebook shows what is wrong instead of a traceback."""
    flow = tg.Flow("fails")
    flow.sink("out", ints(flow).select("10 / (x - 1) AS y"))
    html = flow.compute(tg.local(), {"s": numbers(1)})._repr_html_()
    assert "rows not computed, as they fail: an expression failed: division by zero" in html


def test_a_run_shows_where_it_is(tmp_path: Path) -> None:
    """Its state, frontiers and counts; and what it failed with, escaped."""
    flow = tg.Flow("run")
    flow.sink("out", ints(flow).select("10 / x AS y"))
    given = pa.table({"t": pa.array([1], pa.int32()), "k": ["a"], "x": pa.array([2], pa.int32())})
    once = {"trigger": {"availableNow": True}}
    run = flow.start(tg.local(), {"s": iter([given])}, {"out": tg.memory("out")}, tmp_path / "ck", **once)
    run.await_termination()
    html = run._repr_html_()
    assert "flow run: ended, step 1, " in html
    assert " rows a second</div>" in html
    assert "<tr><td>out</td><td>everything is complete</td></tr>" in html
    ElementTree.fromstring(f"<div>{html}</div>")
    assert "<tr><td>s</td><td>1</td><td>0</td><td>0</td></tr>" in html
    bad = given.set_column(2, "x", pa.array([0], pa.int32()))
    failed = flow.start(tg.local(), {"s": iter([bad])}, {"out": tg.memory("out")}, tmp_path / "ck2", **once)
    with pytest.raises(tg.errors.RunFailed):
        failed.await_termination()
    assert "failed" in failed._repr_html_()
    assert "division by zero" in failed._repr_html_()
