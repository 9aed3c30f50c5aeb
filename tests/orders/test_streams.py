"""Partial orders on streams: frontiers, late and rejected rows, orders that grow, and flows that follow each other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.flow.cases.ordered import PAPER, WORDS, counted, left, right
from tests.orders.streams import IN_FEW_STEPS, IN_MANY_STEPS, LocalStreams, Streams, answers, frontier, stepped
from tidegate.cli import app
from tidegate.engine.frontiers import of_user
from tidegate.engine.keepers import accumulated
from tidegate.engine.storage.errors import FlowChanged
from tidegate.flow.errors import BadInput
from tidegate.flow.orders import Ordered
from tidegate.flow.orders.coordinates import PosetCoordinates, SumCoordinates
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.orders.realizer import numbered
from tidegate.spec import WM, ihist_op
from tidegate.time import Inl, Inr, Int, Poset, Sum

MARKS = tg.punctuated("word = 'WM'")


def histograms(order: Poset = PAPER, watermark: Any = MARKS) -> tg.Flow:
    """The histograms of the first paper."""
    flow = tg.Flow("histograms")
    words = flow.source("s", "t STRING, word STRING", time=tg.ordered("t", order), watermark=watermark)
    flow.sink("out", words.accumulate(by="word", n="count(*)", emit="complete"))
    return flow


@IN_MANY_STEPS
def test_the_paper_s_stream_in_steps(streams: Streams) -> None:
    """Figure 1, row by row: after each watermark the histograms of the times that it completes, and no others."""
    cuts = [[WORDS[0], WORDS[1]], [("t1", "WM")], WORDS[2:], [("t5", "WM")]]
    engine = streams.stepped(histograms(), cuts[:1])
    assert frontier(engine) == "t0"
    engine = streams.stepped(histograms(), cuts[:2], begin=1)
    assert frontier(engine) == "t2 or t3 or t4"
    assert sorted(streams.answers(histograms())) == [("t0", "a", 1), ("t1", "a", 1), ("t1", "c", 1)]
    engine = streams.stepped(histograms(), cuts, begin=2)
    assert frontier(engine) == "t4"
    assert ("t5", "a", 3) in streams.answers(histograms())
    assert not [row for row in streams.answers(histograms()) if row[0] == "t4"]


@IN_FEW_STEPS
def test_the_frontier_becomes_empty_when_all_elements_are_complete(streams: Streams) -> None:
    """Of points there would always be greater ones; of the order's elements there are none."""
    engine = streams.stepped(histograms(), [[*WORDS, ("t4", "WM"), ("t5", "WM")]])
    assert frontier(engine) == "everything is complete"
    assert len(streams.answers(histograms())) == 12


def test_elements_that_are_taken_for_open_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: if all elements are open whatever the frontier is, nothing becomes complete."""
    monkeypatch.setattr(PosetCoordinates, "elements_from", lambda self, frontier: [x for x, _ in self.points])
    with pytest.raises(AssertionError):
        test_the_frontier_becomes_empty_when_all_elements_are_complete(LocalStreams(tmp_path))


STRANGE: list[tuple[Any, ...]] = [("t0", "late"), ("t9", "strange"), (None, "none"), ("t9", "WM")]


@IN_FEW_STEPS
def test_rows_that_are_not_in_the_order_are_counted(streams: Streams) -> None:
    """A row that is late or rejected takes no part; a watermark that is not in the order completes nothing."""
    engine = streams.stepped(histograms(), [[*WORDS[:2], ("t1", "WM")], STRANGE])
    assert (engine.marks["s"].late, engine.marks["s"].rejected) == (1, 3)
    assert frontier(engine) == "t2 or t3 or t4"
    assert sorted(streams.answers(histograms())) == [("t0", "a", 1), ("t1", "a", 1), ("t1", "c", 1)]


@IN_MANY_STEPS
def test_late_and_rejected_rows_have_the_user_s_columns(streams: Streams) -> None:
    """They are told with the reason, by a run that reads files."""
    cuts: list[list[tuple[Any, ...]]] = [[("t1", "WM")], STRANGE]
    for number, rows in enumerate(cuts):
        streams.write_file(number, t=[t for t, _ in rows], word=[word for _, word in rows])
    given = {"s": streams.files("t STRING, word STRING")}
    with streams.start(histograms(), given, trigger={"availableNow": True}) as run:
        assert run.await_termination(120)
        rejected, late = streams.dicts(run.rejected("s")), streams.dicts(run.late("s"))
    assert sorted((row["time"]["t"] or "", row["reason"], row["row"]["word"]) for row in rejected) == [
        ("", "null time in t", "none"),
        ("t9", "t is not in the order", "WM"),
        ("t9", "t is not in the order", "strange"),
    ]
    assert [(row["time"], row["bound"], row["row"]) for row in late] == [
        ({"t": "t0"}, "t2 or t3 or t4", {"t": "t0", "word": "late"})
    ]


def test_why_is_told_in_the_order_s_own_times(tmp_path: Path) -> None:
    """Operators that only engines have are not on the path."""
    (tmp_path / "in").mkdir()
    outputs = {"out": tg.parquet(tmp_path / "out")}
    given = {"s": tg.files(tmp_path / "in" / "*.parquet")}
    with histograms().start(tg.local(), given, outputs, tmp_path / "checkpoint") as run:
        assert [str(reason) for reason in run.why("t5")] == ["s at t0 -> accumulate#1 at t0 -> sink out at t0"]
        assert set(run.frontiers()["out"]) == {"t0"}
        with pytest.raises(tg.TidegateError, match="expected one of the 6 elements of a Poset, got 't9'"):
            run.why("t9")


@IN_FEW_STEPS
def test_an_order_may_grow_between_two_runs(streams: Streams) -> None:
    """Old answers stay, state goes on, and the new elements are not complete, though all old ones are."""
    done = [*WORDS, ("t1", "WM"), ("t4", "WM"), ("t5", "WM")]
    streams.stepped(histograms(), [done])
    larger = histograms(
        Poset([*((x, y) for x in PAPER.elements for y in PAPER.successors(x)), ("t4", "u0"), ("t1", "u1")])
    )
    engine = streams.stepped(larger, [done, [("u0", "x"), ("u1", "y"), ("u1", "WM")]], begin=1)
    assert frontier(engine) == "u0"
    new = [row for row in streams.answers(larger) if row[0].startswith("u")]
    assert sorted(new) == [("u1", "a", 1), ("u1", "c", 1), ("u1", "y", 1)]
    engine.finish()
    assert ("u0", "d", 1) in streams.answers(larger)
    assert len(streams.answers(larger)) == 12 + 3 + 4


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("t0", "t1"), ("t1", "t4")], "is not the one that the checkpoint was made with"),
        ([("t1", "t0"), ("t0", "t4"), ("t0", "t2"), ("t2", "t5"), ("t0", "t3"), ("t3", "t5")], "is not the one"),
        (
            [*((x, y) for x in PAPER.elements for y in PAPER.successors(x)), ("new", "t1")],
            "the new element 'new' of t in source s is below 't1', which is complete",
        ),
    ],
    ids=["smaller", "turned", "below what is complete"],
)
@IN_FEW_STEPS
def test_another_order_is_refused(streams: Streams, pairs: list[tuple[str, str]], message: str) -> None:
    """State holds the points of the old one, and what was answered is final."""
    streams.stepped(histograms(), [[*WORDS, ("t1", "WM")]])
    with pytest.raises(FlowChanged, match=message):
        streams.stepped(histograms(Poset(pairs)), [[], []], begin=1)


#: Three elements that do not compare have two axes. A crown on them needs three; without its middle element, two do.
UNRELATED = Poset([], elements=["a0", "a1", "a2"])
CROWN = Poset([(f"a{i}", f"b{j}") for i in range(3) for j in range(3) if i != j])


def test_an_order_that_grows_where_there_is_no_room_is_refused(tmp_path: Path) -> None:
    """No old pair has changed, and nothing new is below what is complete; and still the points do not suffice."""
    cuts = [[("a0", "x"), ("a1", "y"), ("a2", "z"), ("a0", "WM")]]
    stepped(histograms(UNRELATED), cuts, tmp_path)
    message = (
        "^the order of t in source s has new elements, and there is no room for them between the points that the "
        "checkpoint has of the old ones: 'b0', 'b1', 'b2'\n  at: flow 'histograms'\n  hint: begin with a new checkpoint"
    )
    with pytest.raises(FlowChanged, match=message):
        stepped(histograms(CROWN), [*cuts, [("b0", "w")]], tmp_path, begin=1)
    # The run that was refused has changed nothing: on the old order, and on one that has room, the flow continues.
    stepped(histograms(UNRELATED), [*cuts, [("a1", "WM")]], tmp_path, begin=1)
    two = histograms(Poset([(f"a{i}", f"b{j}") for i in range(3) for j in (0, 2) if i != j]))
    stepped(two, [*cuts, [], [("b0", "w"), ("b2", "w")]], tmp_path, begin=2).finish()
    assert sorted(answers(two, tmp_path)) == [
        *(("a0", "x", 1), ("a1", "y", 1), ("a2", "z", 1)),
        *(("b0", "w", 1), ("b0", "y", 1), ("b0", "z", 1)),
        *(("b2", "w", 1), ("b2", "x", 1), ("b2", "y", 1)),
    ]


@IN_FEW_STEPS
def test_one_bound_for_each_side_of_a_sum(streams: Streams) -> None:
    """What one side has seen says nothing of the other."""
    flow = tg.Flow("sides")
    source = flow.source(
        "s", "t STRUCT<side: STRING, value: INT>, x INT", time=tg.ordered("t", Sum(Int(), Int())),
        watermark=tg.bounded(0, 2),
    )  # fmt: skip
    flow.sink("out", source.accumulate(n="sum(x)"))
    cuts = [[(left(1), 1), (left(5), 2)], [(right(1), 4), (right(4), 8), (left(3), 16)]]
    engine = streams.stepped(flow, cuts[:1])
    assert frontier(engine) == "left 5 or right any"
    engine = streams.stepped(flow, cuts, begin=1)
    assert frontier(engine) == "left 5 or right 2"
    assert engine.marks["s"].late == 1
    assert set(of_user(engine.flow["s"].schema, engine.marks["s"].frontier)) == {Inl(5), Inr(2)}
    assert_same_rows(streams.answers(flow), [(left(1), 1), (right(1), 4)])


def test_sides_that_share_a_bound_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: if the axis of a side is looked at whatever side a row is on, the other side moves too."""
    monkeypatch.setattr(SumCoordinates, "encode", lambda self, t: (0, 0, t.t, t.t))
    with pytest.raises(AssertionError):
        test_one_bound_for_each_side_of_a_sum(LocalStreams(tmp_path))


@IN_MANY_STEPS
def test_a_flow_follows_another_by_the_order_s_own_times(streams: Streams) -> None:
    """The frontier is published in elements, whatever the points of either flow are."""
    first = tg.Flow("first")
    words = first.source("s", "t STRING, word STRING", time=tg.ordered("t", PAPER), watermark=MARKS)
    first.sink("out", words.aggregate(n="count(*)"))
    engine = streams.in_directory("first").stepped(first, [[*WORDS, ("t1", "WM")]])
    second = tg.Flow("second")
    path = str(streams.directory / "first" / "out")
    counts = second.source("c", "t STRING, n BIGINT", time=tg.ordered("t", PAPER), watermark=tg.published(path))
    second.sink("out", counts.accumulate(total="sum(n)"))
    following = streams.in_directory("second")

    def follow() -> tg.Run:
        given = {"c": tg.read_stream(streams.session, path)}
        with following.start(second, given, trigger={"availableNow": True}) as run:
            assert run.await_termination(120)
        return run

    assert set(follow().frontiers()["out"]) == {"t2", "t3", "t4"}
    engine.finish()
    follow()
    assert sorted(following.answers(second)) == [("t0", 1), ("t1", 2), ("t2", 2), ("t3", 2), ("t4", 3), ("t5", 5)]


@pytest.mark.parametrize(
    ("time", "said"), [(["t1"], "complete: no source"), (["t5"], "may still give rows from t2 or t3")]
)
def test_the_command_line_tells_why_in_the_order_s_own_times(tmp_path: Path, time: list[str], said: str) -> None:
    """The checkpoint says how the elements are ordered: nobody needs the flow."""
    stepped(histograms(), [[*WORDS, ("t1", "WM")]], tmp_path)
    result = CliRunner().invoke(app, ["why", str(tmp_path / "checkpoint"), *time])
    assert said in result.stdout
    assert "t2 or t3 or t4" in CliRunner().invoke(app, ["inspect", str(tmp_path / "checkpoint")]).stdout
    wrong = CliRunner().invoke(app, ["why", str(tmp_path / "checkpoint"), "t9"])
    assert wrong.exit_code


def test_an_order_that_grows_changes_no_fingerprint() -> None:
    """State goes on under its old name; another kind of order has another."""
    order = Poset([("a", "b"), ("a", "c")])
    larger = Poset([("a", "b"), ("a", "c"), ("c", "d")])
    plans = [plan_on_points(histograms(o).plan) for o in (order, larger)]
    prints = [plan.fingerprints() for plan in plans]
    assert prints[0] == prints[1]
    assert plans[0] != plans[1]
    assert prints[0]["accumulate#1"] == "e292418bfdd7722b"


LARGER = Poset([*((x, y) for x in PAPER.elements for y in PAPER.successors(x)), ("t1", "u1"), ("t4", "u0")])
VERBS: dict[str, Callable[[tg.Stream], tg.Stream]] = {
    "update": lambda s: s.accumulate(n="count(*)"),
    "complete": lambda s: s.accumulate(by="word", n="count(*)", emit="complete"),
    "rows": lambda s: s.accumulate(words="collect_list(word)"),
    "top": lambda s: s.top(3, order="word"),
    "process": lambda s: s.process(ihist_op(s.schema.order), by=(), schema="word STRING, n BIGINT", out=counted),
    "iterate": lambda s: s.iterate(
        start="SELECT word, 1 AS n FROM input", step="SELECT k.word, k.n FROM known k", key="word", keep="max(n) AS n"
    ),
}


@pytest.mark.parametrize("verb", VERBS)
@IN_MANY_STEPS
def test_state_that_was_folded_goes_on_in_an_order_that_has_grown(streams: Streams, verb: str) -> None:
    """A new element beside the frontier sees all rows below it, also those that were complete and merged long ago."""

    def flow(order: Poset) -> tg.Flow:
        found = tg.Flow("growing")
        words = found.source("s", "t STRING, word STRING", time=tg.ordered("t", order), watermark=MARKS)
        found.sink("out", VERBS[verb](words))
        return found

    cuts = [[("t0", "a"), ("t1", "c")], [("t1", "WM")], [("t2", "b")], [("t4", "d"), ("t2", "WM")]]
    streams.stepped(flow(PAPER), cuts, fold_from=lambda parts: 0)
    more = [*cuts, [("u1", "y"), ("u0", "z"), ("t3", "b")], [("u1", "WM")]]
    streams.stepped(flow(LARGER), more, begin=4, fold_from=lambda parts: 0).finish()
    events = [WM(t) if word == "WM" else {"t": t, "word": word} for cut in more for t, word in cut]
    expected = [tuple(row.values()) for row in flow(LARGER).reference({"s": events}).rows("out")]
    assert_same_rows(streams.answers(flow(LARGER)), expected)


def test_cells_that_are_merged_by_the_frontier_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: what is right for points that cannot become more loses rows here."""
    monkeypatch.setattr(accumulated, "PosetCoordinates", SumCoordinates)
    with pytest.raises(AssertionError):
        test_state_that_was_folded_goes_on_in_an_order_that_has_grown(LocalStreams(tmp_path), "update")


@IN_FEW_STEPS
def test_two_orders_in_one_flow_each_go_on_with_their_own(streams: Streams) -> None:
    """One could have grown into the other; and elements of one are of another type."""
    flow = tg.Flow("two")
    small, large = Poset([("a", "b")]), Poset([("a", "b"), ("a", "c")])
    days = Poset([(date(2026, 1, 2), date(2026, 1, 1))])
    for name, type_, order in (("s", "STRING", small), ("r", "STRING", large), ("q", "DATE", days)):
        source = flow.source(name, f"t {type_}, x INT", time=tg.ordered("t", order))
        flow.sink(f"out_{name}", source.accumulate(n="sum(x)"))
    rows: dict[str, list[tuple[Any, ...]]] = {"s": [("a", 1)], "r": [("c", 2)], "q": [(date(2026, 1, 2), 3)]}
    streams.stepped(flow, [rows])
    streams.stepped(flow, [rows], begin=1).finish()
    assert {name: streams.answers(flow, f"out_{name}") for name in rows} == rows


def test_a_run_goes_on_when_all_elements_are_complete(tmp_path: Path) -> None:
    """It is stopped, and not ended: the next one may have more elements."""
    (tmp_path / "in").mkdir()
    given = {"s": tg.files(tmp_path / "in" / "*.parquet")}
    outputs = {"out": tg.parquet(tmp_path / "out")}

    def put(name: str, rows: list[tuple[str, str]]) -> None:
        table = pa.table({"t": [t for t, _ in rows], "word": [w for _, w in rows]})
        pq.write_table(table, tmp_path / "in" / f".{name}")
        (tmp_path / "in" / f".{name}").rename(tmp_path / "in" / name)

    put("0.parquet", [("a", "x"), ("b", "WM")])
    with histograms(Poset([("a", "b")])).start(tg.local(), given, outputs, tmp_path / "checkpoint") as run:
        # Rows are counted a moment before the frontier is told.
        while run.status().frontiers != {"out": "everything is complete"}:
            assert not run.await_termination(0.05)
        assert run.is_active
    put("1.parquet", [("c", "y")])
    with histograms(Poset([("a", "b"), ("b", "c")])).start(tg.local(), given, outputs, tmp_path / "checkpoint") as run:
        assert run.status().frontiers == {"out": "c"}
        run.finish()
    assert sorted(tg.read(tg.local(), str(tmp_path / "out")).fetchall()) == [
        ("a", "x", 1), ("c", "x", 1), ("c", "y", 1)
    ]  # fmt: skip


def test_a_promise_says_nothing_of_elements_that_it_does_not_know() -> None:
    """Of a smaller order, all that is complete is: the new elements of a follower are open."""
    small, large = (
        PosetCoordinates.of(given, numbered(given.order))  # type: ignore[arg-type]
        for given in (
            Ordered(("t",), Poset([("a", "b")]), ("STRING",)),
            Ordered(("t",), Poset([("a", "b"), ("a", "c")]), ("STRING",)),
        )
    )
    everything = small.written_frontier([])
    assert everything == [["b"]]
    assert large.read_frontier(everything) == [large.encode("c")]
    with pytest.raises(BadInput, match="got 'c', which is complete"):
        small.read_frontier(large.written_frontier([]))


def test_a_time_of_a_sum_is_written_in_one_way(tmp_path: Path) -> None:
    """With a value on both sides it would be two times that are one: such a row is rejected, by all alike."""
    flow = tg.Flow("sides")
    kind = "STRUCT<side: STRING, left: INT, right: INT>"
    flow.sink(
        "out", flow.source("s", f"t {kind}, x INT", time=tg.ordered("t", Sum(Int(), Int()))).aggregate(n="sum(x)")
    )
    rows = [{"t": {"side": "left", "left": 1, "right": other}, "x": 1} for other in (None, 7)]
    schema = pa.schema(
        {"t": pa.struct({"side": pa.string(), "left": pa.int32(), "right": pa.int32()}), "x": pa.int32()}
    )
    tables = flow.compute(tg.local(), {"s": pa.Table.from_pylist(rows, schema=schema)})
    assert tables["out"].fetchall() == [({"side": "left", "left": 1, "right": None}, 1)]
    assert tables.rejected["s"].fetchall()[0][-1] == "t is not in the order"
    reference = flow.reference({"s": rows})
    assert len(reference.rows("out")) == 1
    assert [r.reason for r in reference.rejected["s"]] == ["t is not in the order"]


def test_state_of_a_sum_becomes_less_on_each_side(tmp_path: Path) -> None:
    """What is complete on a side is merged, however far the other one is."""
    flow = tg.Flow("sides")
    source = flow.source(
        "s", "t STRUCT<side: STRING, value: INT>, x INT", time=tg.ordered("t", Sum(Int(), Int())),
        watermark=tg.bounded(0, 0),
    )  # fmt: skip
    flow.sink("out", source.accumulate(n="sum(x)"))
    cuts = [[(left(i), 1), (right(i), 1)] for i in range(8)]
    engine = stepped(flow, cuts, tmp_path, fold_from=lambda parts: 0)
    assert engine.last is not None
    assert sum(state.rows for states in engine.last.state.values() for state in states) <= 4
