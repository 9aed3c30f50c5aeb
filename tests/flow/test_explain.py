"""Explanations: what is said, and what is pointed out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.flow.case import ints, pairs
from tests.flow.edits import edits_by_topic

import tidegate as tg
from tidegate.flow import plan
from tidegate.flow.explain.growing import growing
from tidegate.spec import Operator, map_op


class Echo(Operator[Any, Any]):
    """Every row once more; it does not tell what it knows."""

    def apply(self, event: Any) -> tuple[Echo, list[Any]]:
        return self, [event]


class EchoWithState(Echo):
    """The same, which tells what it knows."""

    def state(self) -> None:
        return None

    def resume(self, state: None) -> EchoWithState:
        return self


def test_the_text_says_what_is_done_held_and_moved() -> None:
    """Operators, their columns, their watermarks, what they hold and until when, and how times move."""
    text = str(edits_by_topic().explain())
    for said in (
        "bounded by 10 minutes; late rows stop the run",
        "join ← where#1, pages",
        "windows of 1 hour, every 10 minutes",
        "count(*) AS n by topic",
        "columns ts TIMESTAMP, `window` STRUCT<start: TIMESTAMP, end: TIMESTAMP>, topic STRING, n BIGINT; time: ts",
        "holds partial aggregates per window and group, until its end is complete",
        "holds rows per session and group, until its end is complete",
        "time + at least 30 minutes - 1 microsecond",
        "hourly     sink ← window#1",
        "session.aggregate ← join#1",
    ):
        assert said in text, text


def test_the_text_says_what_a_new_sink_begins_with() -> None:
    """Added to a flow with a checkpoint, a sink has rows that come then; after an operator with state, new answers."""
    flow = tg.Flow("sinks")
    clicks = flow.source("clicks", "t INT, page STRING", time="t", watermark=tg.bounded(1))
    flow.sink("rows", clicks.where("page IS NOT NULL"))
    flow.sink("counts", clicks.aggregate(by="page", n="count(*)").select("page"))
    text = str(flow.explain())
    for name, said in (
        ("rows", "if it is added to a checkpoint later, it begins with rows that come then"),
        (
            "counts",
            "if it is added later to operators that a checkpoint has, it begins with times that become complete then",
        ),
    ):
        assert text[text.index(f"{name:<13}sink ←") :].splitlines()[1].strip() == said


def test_a_loop_is_shown() -> None:
    """What is kept, for how long it goes round, each branch of its queries, and the edge that leads back."""
    flow = tg.Flow("graph")
    edges = flow.source("edges", "t INT, src INT, dst INT", time="t", watermark=tg.bounded(1))
    flow.sink("parts", tg.graph.components(edges, "src", "dst"))
    flow.sink("ranks", tg.graph.pagerank(edges, "src", "dst", rounds=3))
    text = str(flow.explain())
    for said in (
        "emit update, until nothing changes, at most 10000 rounds",
        "keep min(label) AS label, for each node",
        "start: SELECT dst, dst FROM input",
        "↻ step: SELECT e.src, k.label FROM known k JOIN input e ON e.dst = k.node",
        "holds rows of all inputs, and what is known of each key, for ever",
        "emit complete, exactly 3 rounds, known being replaced",
        "↻ step: degrees = SELECT src, count(*) AS n FROM input GROUP BY src",
    ):
        assert said in text, text
    assert flow.explain().mermaid().count('-->|"round + 1"|') == 2


def test_each_member_of_a_union_is_shown_as_it_is() -> None:
    """However UNION is written, members are on lines of their own; and a text that says UNION ALL is no union."""
    flow = tg.Flow("union")
    edges = flow.source("edges", "t INT, src STRING, dst STRING", time="t")
    step = "SELECT k.node FROM known k union all SELECT e.dst FROM input e WHERE e.src = 'a UNION ALL b'"
    flow.sink("out", edges.iterate("SELECT src AS node FROM input", step, key="node", keep=()))
    lines = [line.strip() for line in str(flow.explain()).splitlines()]
    assert [line for line in lines if line.startswith("↻")] == [
        "↻ step: SELECT k.node FROM known k",
        "↻ step: SELECT e.dst FROM input e WHERE e.src = 'a UNION ALL b'",
    ]


def test_what_is_chosen_and_kept_is_said() -> None:
    """Of top, last and latest: which rows, by which order, when there are answers, and how many rows are kept."""
    flow = tg.Flow("chosen")
    s = ints(flow)
    flow.sink("top", s.top(3, by="k", order="x DESC, k NULLS LAST", every=10))
    flow.sink("last", s.window(5, every=2).last(2))
    flow.sink("latest", s.session(5).latest("k"))
    text = str(flow.explain())
    for said in (
        "emit update, every 10 of t",
        "the first 3 rows by x DESC, k NULLS LAST for each k",
        "3 rows per group, for ever",
        "windows of 5, every 2",
        "the last 2 rows",
        "2 rows per window and group, until its end is complete",
        "the last row for each k",
        "session.top",
        "+ at least 5 - 1",
    ):
        assert said in text, text


def test_a_join_that_is_revised_says_so() -> None:
    """How long windows are revised, and so how long rows of both sides are held."""
    flow = tg.Flow("late")
    left, right = (flow.source(name, "ts TIMESTAMP, k STRING", time="ts") for name in "ab")
    flow.sink("out", left.window_join(right, on="k", size="1 hour", lateness="1 day"))
    shown = str(flow.explain())
    assert "windows of 1 hour, revised for 1 day" in shown
    assert "holds rows of both sides in a window, until 1 day after its end on both" in shown


def test_early_pairs_are_told_of() -> None:
    """When a pair comes, and how long rows are held all the same."""
    flow = tg.Flow("early")
    left, right = (flow.source(name, "ts TIMESTAMP, k STRING", time="ts") for name in "ab")
    flow.sink("out", left.window_join(right, on="k", size="1 hour", early=True))
    shown = str(flow.explain())
    assert "a pair comes as soon as both rows are there" in shown
    assert "holds rows of both sides in a window, until its end is complete on both" in shown
    assert "on an endless one, window_join#1 keeps all rows for ever" in shown
    assert "if it is added to a checkpoint later, it begins with rows that come then" in shown


def test_what_is_forgotten_is_said() -> None:
    """After which silence groups begin anew, and that state is let go then; so that there is nothing to warn of."""
    flow = tg.Flow("forgets")
    s = flow.source("s", "t TIMESTAMP, k STRING, x INT", time="t", watermark=tg.bounded("1 minute"))
    flow.sink("xs", s.accumulate(by="k", xs="collect_list(x)", every="1 hour", forget="1 day"))
    flow.sink("top", s.top(3, by="k", order="x", forget="2 days"))
    flow.sink("once", s.deduplicate("k", forget="1 hour"))
    flow.sink("own", s.process(map_op(lambda t, row: {"n": 1}), by="k", schema="n INT", forget="3 days"))
    text = str(flow.explain())
    for said in (
        "emit update, every 1 hour of t, anew after 1 day of silence",
        "rows per group, until 1 day after its last row",
        "3 rows per group, until 2 days after its last row",
        "the first for each k, anew after 1 hour of silence",
        "every key, until 1 hour after its last row",
        "a copy for each k, anew after 3 days of silence",
        "a copy of the operator for each key, until 3 days after its last row",
    ):
        assert said in text, text
    assert flow.explain().warnings == ()


def test_a_sound_flow_has_no_warnings() -> None:
    """Nothing is pointed out where times complete and state is bounded."""
    assert edits_by_topic().explain().warnings == ()


WARNED: dict[str, Callable[[tg.Flow], tg.Stream]] = {
    "nothing is complete before the end of its input": lambda f: f.source("s", "t INT", time="t").gate(),
    "if one k is silent, gate#1 waits for ever": lambda f: f.source(
        "s", "t INT, k STRING", time="t", watermark=tg.bounded(1, by="k")
    ).gate(),
    "every row is kept for ever, for count(DISTINCT x)": lambda f: ints(f).accumulate(n="count(DISTINCT x)"),
    "every row is kept for ever, for stddev(x)": lambda f: ints(f).accumulate(n="stddev(x)", first="first(x)"),
    "state is kept for every time, unless punctuations have a NULL": lambda f: f.source(
        "s", "v INT, w INT, x INT", time=("v", "w"), watermark=tg.punctuated("x IS NULL")
    ).accumulate(n="count(*)"),
    "state is kept for every time, unless punctuations": lambda f: f.source(
        "s", "v INT, w INT, x INT", time=("v", "w"), watermark=tg.punctuated("x IS NULL")
    ).latest("x"),
    "times × groups": lambda f: ints(f).top(3, by="k", order="x DESC", emit="complete"),
    "ends only when all are silent": lambda f: ints(f).session(5).last(2),
    "every key is kept for ever": lambda f: ints(f).deduplicate("k"),
    "3 rows are kept for each k for ever": lambda f: ints(f).top(3, by="k", order="x"),
    "a row is kept for each k for ever": lambda f: ints(f).latest("k"),
    "a total is kept for each k for ever": lambda f: ints(f).accumulate(by="k", n="count(*)"),
    "a total is kept for each k, x % 2 AS odd for ever": lambda f: pairs(f).accumulate(
        by=["k", "x % 2 AS odd"], n="count(*)"
    ),
    "the latest row of r is kept for each k for ever": lambda f: ints(f).join_asof(ints(f, "r", "k STRING"), on="k"),
    "every row of the left is kept for ever": lambda f: ints(f).interval_join(
        ints(f, "r", "k STRING"), on="k", lower=0
    ),
    "every row of the left and the right is kept for ever": lambda f: ints(f).interval_join(
        ints(f, "r", "k STRING"), on="k"
    ),
    "Echo has no state() and resume(state), so every row is kept": lambda f: ints(f).process(Echo(), (), "y INT"),
    "a copy of EchoWithState is kept for each k for ever": lambda f: ints(f).process(EchoWithState(), "k", "y INT"),
    "all rows that go into the loop, and what follows from them, are kept for ever": lambda f: tg.graph.components(
        ints(f), "x", "x"
    ),
    "all rows that go into the loop are kept for ever": lambda f: tg.graph.pagerank(ints(f), "x", "x", rounds=3),
    "one session of all rows ends only when all are silent": lambda f: ints(f).session(5).aggregate(n="count(*)"),
    "times × groups rows": lambda f: ints(f).accumulate(by="k", emit="complete", n="count(*)"),
    "all pairs of rows of a time": lambda f: ints(f, "l").join(ints(f, "r", "y INT"), on=()),
    "times × keys rows": lambda f: tg.graph.components(ints(f), "x", "x", emit="complete"),
    "goes its 3 rounds from the beginning": lambda f: tg.graph.pagerank(ints(f), "x", "x", rounds=3),
    "each row is in 1000 windows": lambda f: ints(f).window(1000, every=1).aggregate(n="count(*)"),
}


@pytest.mark.parametrize("said", WARNED)
def test_what_may_go_wrong_is_pointed_out(said: str) -> None:
    """A flow that never completes, holds state without bound, or explodes: each is named, with what to do."""
    flow = tg.Flow("risky")
    flow.sink("out", WARNED[said](flow))
    found = [warning for warning in flow.explain().warnings if said in warning.what]
    assert len(found) == 1
    assert found[0].hint
    assert said in str(flow.explain())


BOUNDED: dict[str, Callable[[tg.Stream], tg.Stream]] = {
    "one total": lambda s: s.accumulate(n="count(*)"),
    "deduplicate within a span": lambda s: s.deduplicate("k", within=5),
    "join_asof within a span": lambda s: s.join_asof(s.rename(y="x"), on="k", within=5),
    "interval_join with bounds": lambda s: s.interval_join(s.rename(y="x"), on="k", lower=0, upper=5),
    "join_asof with one row": lambda s: s.join_asof(s.select("x AS y"), on=()),
    "one copy with state": lambda s: s.process(EchoWithState(), (), "y INT"),
    "windows": lambda s: s.window(5).aggregate(by="k", n="count(*)"),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_state_with_a_bound_is_no_concern(name: str) -> None:
    """Nothing is pointed out where what is kept does not grow with the run."""
    flow = tg.Flow("bounded")
    source = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(1))
    flow.sink("out", BOUNDED[name](source))
    assert flow.explain().warnings == ()


@pytest.mark.parametrize(("type_", "span"), [("INT", "30"), ("DATE", '"30 days"'), ("TIMESTAMP", '"30 days"')])
def test_what_forgets_is_no_concern(type_: str, span: str) -> None:
    """With a span after which a key is let go, state is bounded; without one, that is advised, as it is written."""
    flow = tg.Flow("forgets")
    stream = flow.source("s", f"t {type_}, k STRING, x INT", time="t").accumulate(by="k", n="count(*)")
    operator = flow._operators[stream.id]
    assert isinstance(operator, plan.Accumulate)
    assert list(growing(replace(operator, forget=5))) == []
    [concern] = growing(operator)
    assert concern.hint == f"let silent ones go: forget={span}"


def test_rows_pass_an_open_source_without_a_warning() -> None:
    """Where nothing waits for completeness, a source that completes at its end is no concern."""
    flow = tg.Flow("open")
    flow.sink("out", ints(flow).where("x > 1"))
    assert flow.explain().warnings == ()


def test_a_flow_without_a_sink_is_pointed_out() -> None:
    """A flow that is not finished yet can be explained; what is missing is said."""
    flow = tg.Flow("unfinished")
    ints(flow).where("x > 1")
    assert [warning.what for warning in flow.explain().warnings] == ["nothing leaves the flow: it has no sink"]
    assert str(tg.Flow("empty").explain())


def test_mermaid_names_every_operator_and_edge() -> None:
    """The chart has a node for each operator and sink, and an edge for each input."""
    chart = edits_by_topic().explain().mermaid()
    assert chart.startswith("flowchart TD")
    assert chart.count("-->") == 7
    assert "window#35;1" in chart
    assert not re.search(r"[^&]#(?!35;|quot;)", chart)


def test_notebooks_get_a_picture_and_the_warnings() -> None:
    """A notebook shows the picture by itself, and below it what is pointed out."""
    flow = tg.Flow("open")
    flow.sink("out", ints(flow).gate())
    explanation = flow.explain()
    assert explanation._repr_svg_().startswith("<svg")
    assert "nothing is complete before" in explanation._repr_html_()
