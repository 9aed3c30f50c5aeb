"""Lexicographic orders: the numbers of times, and streams with frontiers, late and rejected rows, and restarts."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import tidegate as tg
from tests.orders.streams import answers, frontier, stepped
from tidegate.cli import app
from tidegate.engine.frontiers import of_user
from tidegate.engine.storage.errors import FlowChanged
from tidegate.flow.orders import LexicographicCoordinates, Ordered
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.sqltypes import WIDE
from tidegate.time import BOTTOM, TOP, EventTime, Int, Lexicographic, Nat

MARKS = tg.punctuated("k = 'WM'")
INTS = Lexicographic(Int(), Int())
LEAST, GREATEST = -(2**31), 2**31 - 1
#: Columns whose numbers fit into a BIGINT, and such whose do not; both with the same values.
WIDTHS = {"narrow": "a SMALLINT, b INT", "wide": "a INT, b BIGINT"}
widths = pytest.mark.parametrize("columns", WIDTHS.values(), ids=WIDTHS)


def totals(columns: str, order: Lexicographic = INTS, watermark: Any = MARKS) -> tg.Flow:
    """A running total."""
    flow = tg.Flow("totals")
    time = tg.ordered(("a", "b"), order)
    rows = flow.source("s", f"{columns}, k STRING, x INT", time=time, watermark=watermark)
    flow.sink("out", rows.accumulate(n="sum(x)"))
    return flow


def packed(*types: str) -> LexicographicCoordinates:
    """The numbers of times of columns of integer types."""
    return LexicographicCoordinates(Ordered(tuple("abc"[: len(types)]), Lexicographic(*(Int() for _ in types)), types))


@given(st.data(), st.sampled_from([("TINYINT", "INT"), ("INT", "INT"), ("TINYINT", "BIGINT", "SMALLINT")]))
def test_numbers_compare_as_times_do(data: st.DataObject, types: tuple[str, ...]) -> None:
    """Whatever their signs; and a number says its time again."""
    at = packed(*types)
    times = st.tuples(*(st.one_of(st.integers(*r), st.sampled_from([*r, -1, 0, 1])) for r in at.given.ranges))
    t, u = data.draw(times), data.draw(times)
    assert (at.encode(t) <= at.encode(u)) == at.order.le(t, u)
    assert at.decode(at.encode(t)) == t


@given(st.integers(-128, 127), st.integers(-(2**15), 2**15 - 1))
def test_after_each_number_comes_the_next_time(a: int, b: int) -> None:
    """There are no numbers between those of times: a frontier is always the number of one, or after them all."""
    at = packed("TINYINT", "SMALLINT")
    (n,) = at.encode((a, b))
    after = at.settled([(n + 1,)])
    rolls = b == 2**15 - 1
    expected = (a + 1, BOTTOM) if rolls else (a, b + 1)
    assert [at.bound(point) for point in after] == ([] if (a, rolls) == (127, True) else [expected])


def test_the_narrowest_type_that_holds_all_numbers_is_taken() -> None:
    """Numbers that are natural need half as many for each column."""
    naturals = Lexicographic(Nat(), Nat())
    found = [
        plan_on_points(totals(columns, order).plan)["s"].schema.times[0].type
        for columns, order in [
            ("a SMALLINT, b INT", INTS),
            ("a INT, b INT", INTS),
            ("a INT, b INT", naturals),
            ("a BIGINT, b BIGINT", naturals),
        ]
    ]
    assert found == ["BIGINT", WIDE, "BIGINT", WIDE]


def test_every_value_of_the_last_columns_is_above_each_of_them() -> None:
    """In the specification, and as a number: what is complete with it ends where the next value of the first begins."""
    assert INTS.le((1, GREATEST), (1, TOP))
    assert not INTS.le((2, LEAST), (1, TOP))
    assert INTS.not_below((1, TOP)) == [(2, BOTTOM)]
    at = packed("INT", "INT")
    assert at.encode((1, TOP)) == at.encode((1, GREATEST))
    assert at.encode((2, BOTTOM)) == (at.encode((1, TOP))[0] + 1,)


@widths
def test_a_stream_in_steps(tmp_path: Path, columns: str) -> None:
    """Watermarks complete all times up to theirs; with NULL, all that begin alike; restarts change nothing."""
    cuts = [
        [(1, 5, "x", 1), (1, -3, "x", 2), (2, -9, "x", 4), (1, 4, "WM", None)],
        [(1, 6, "x", 8), (1, 5, "x", 16), (1, None, "WM", None)],
        [(1, 7, "late", 32), (2, -10, "x", 64), (2, None, "x", 0), (None, 3, "WM", None), (2, -9, "WM", None)],
        [(2, -8, "x", 128)],
    ]
    engine = stepped(totals(columns), cuts[:1], tmp_path)
    assert frontier(engine) == "(1, 5)"
    assert answers(totals(columns), tmp_path) == [(1, -3, 2)]
    engine = stepped(totals(columns), cuts[:2], tmp_path, begin=1)
    assert frontier(engine) == "(2, any)"
    schema = engine.flow["s"].schema
    assert set(of_user(schema, engine.marks["s"].frontier)) == {(2, BOTTOM)}
    assert sorted(answers(totals(columns), tmp_path)) == [(1, -3, 2), (1, 5, 19), (1, 6, 27)]
    engine = stepped(totals(columns), cuts[:3], tmp_path, begin=2)
    assert frontier(engine) == "(2, -8)"
    assert (engine.marks["s"].late, engine.marks["s"].rejected) == (1, 2)
    assert sorted(answers(totals(columns), tmp_path))[3:] == [(2, -10, 91), (2, -9, 95)]
    engine = stepped(totals(columns), cuts, tmp_path, begin=3)
    engine.finish()
    assert sorted(answers(totals(columns), tmp_path))[5:] == [(2, -8, 223)]


@pytest.mark.parametrize(
    ("columns", "last"), [("a TINYINT, b TINYINT", 127), ("a INT, b BIGINT", None)], ids=["narrow", "wide"]
)
def test_when_the_last_time_is_complete_everything_is(tmp_path: Path, columns: str, last: int | None) -> None:
    """After the last number there is no time."""
    top = 127 if last else GREATEST
    cuts: list[list[tuple[Any, ...]]] = [[(top, 0, "x", 1)], [(top, last, "WM", None)]]
    engine = stepped(totals(columns), cuts[:1], tmp_path)
    assert frontier(engine) == "(any, any)"
    engine = stepped(totals(columns), cuts, tmp_path, begin=1)
    assert frontier(engine) == "everything is complete"
    assert answers(totals(columns), tmp_path) == [(top, 0, 1)]


@widths
def test_late_and_rejected_rows_have_the_user_s_columns(tmp_path: Path, columns: str) -> None:
    """They are told with the reason, in the times that the user knows."""
    flow = totals(columns, Lexicographic(Int(), Nat()))
    types = {
        c.name: {"SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64()} for c in flow.plan["s"].schema.times
    }
    arrow = [types[c.name][c.type or ""] for c in flow.plan["s"].schema.times]
    (tmp_path / "in").mkdir()
    steps = [
        [(1, None, "WM", None)],
        [
            (1, 9, "late", 1),
            (2, -1, "strange", 2),
            (None, None, "none", 3),
            (3, None, "none", 4),
            (None, 1, "WM", None),
        ],
    ]
    for i, rows in enumerate(steps):
        values = list(zip(*rows, strict=True))
        kinds = [*arrow, pa.string(), pa.int32()]
        arrays = [pa.array(column, kind) for column, kind in zip(values, kinds, strict=True)]
        pq.write_table(pa.table(arrays, names=["a", "b", "k", "x"]), tmp_path / "in" / f"{i}.parquet")
    inputs = {"s": tg.files(tmp_path / "in" / "*.parquet", per_step=1)}
    outputs = {"out": tg.parquet(tmp_path / "out")}
    with flow.start(tg.local(), inputs, outputs, tmp_path / "checkpoint", trigger={"availableNow": True}) as run:
        run.await_termination(30)
        rejected = run.rejected("s").fetchall()
        late = run.late("s").fetchall()
    assert sorted((row[3], str(row[0])) for row in rejected) == [
        ("(a, b) is not in the order", "{'a': 2, 'b': -1}"),
        ("null time in a", "{'a': None, 'b': 1}"),
        ("null time in a, b", "{'a': None, 'b': None}"),
        ("null time in b", "{'a': 3, 'b': None}"),
    ]
    assert [(row[0], row[4], row[5]["k"]) for row in late] == [({"a": 1, "b": 9}, "(2, 0)", "late")]


@widths
def test_why_is_told_in_the_user_s_times(tmp_path: Path, columns: str) -> None:
    """Also by the command line, which knows the checkpoint alone."""
    (tmp_path / "in").mkdir()
    outputs = {"out": tg.parquet(tmp_path / "run")}
    given = {"s": tg.files(tmp_path / "in" / "*.parquet")}
    with totals(columns).start(tg.local(), given, outputs, tmp_path / "other") as run:
        assert [str(reason) for reason in run.why((1, 2))] == [
            "s at (BOTTOM, BOTTOM) -> accumulate#1 at (BOTTOM, BOTTOM) -> sink out at (BOTTOM, BOTTOM)"
        ]
        assert set(run.frontiers()["out"]) == {(BOTTOM, BOTTOM)}
        with pytest.raises(tg.TidegateError, match=r"expected a time of \(a, b\), got 1"):
            run.why(1)
    stepped(totals(columns), [[(1, 3, "WM", None)]], tmp_path)
    checkpoint = str(tmp_path / "checkpoint")
    assert "complete: no source" in CliRunner().invoke(app, ["why", checkpoint, "1", "3"]).stdout
    assert "may still give rows from (1, 4)" in CliRunner().invoke(app, ["why", checkpoint, "1", "4"]).stdout
    assert "may still give rows from (1, 4)" in CliRunner().invoke(app, ["why", checkpoint, "2", "0"]).stdout
    assert "(1, 4)" in CliRunner().invoke(app, ["inspect", checkpoint]).stdout


@widths
def test_a_flow_follows_another(tmp_path: Path, columns: str) -> None:
    """The frontier is published in the user's times."""
    stepped(totals(columns), [[(1, 5, "x", 1), (1, 9, "x", 2), (3, -3, "x", 4), (1, None, "WM", None)]], tmp_path)
    path = str(tmp_path / "out")
    second = tg.Flow("second")
    time, watermark = tg.ordered(("a", "b"), INTS), tg.published(path)
    counts = second.source("c", f"{columns}, n BIGINT", time=time, watermark=watermark)
    second.sink("out", counts.last(1))
    outputs = {"out": tg.parquet(tmp_path / "second")}
    inputs = {"c": tg.read_stream(tg.local(), path)}
    checkpoint = tmp_path / "checkpoint of the second"
    with second.start(tg.local(), inputs, outputs, checkpoint, trigger={"availableNow": True}) as run:
        run.await_termination(30)
        assert set(run.frontiers()["out"]) == {(2, BOTTOM)}
    assert sorted(tg.read(tg.local(), str(tmp_path / "second")).fetchall()) == [(1, 5, 1, 1), (1, 9, 3, 1)]


def test_who_follows_has_the_same_kind_of_order(tmp_path: Path) -> None:
    """Of a frontier (1, 5), a product would take (2, 3) for complete, and lose it."""
    stepped(totals("a SMALLINT, b INT"), [[(1, 4, "WM", None)]], tmp_path)
    path = str(tmp_path / "out")
    second = tg.Flow("second")
    counts = second.source("c", "a SMALLINT, b INT, n BIGINT", time=("a", "b"), watermark=tg.published(path))
    second.sink("out", counts.gate())
    outputs = {"out": tg.parquet(tmp_path / "second")}
    with pytest.raises(tg.TidegateError, match="got one of a SMALLINT, b INT, ordered by Lexicographic from"):
        second.start(tg.local(), {"c": tg.read_stream(tg.local(), path)}, outputs, tmp_path / "other")


def test_days_and_instants_in_a_frontier(tmp_path: Path) -> None:
    """They are shown as they are, and complete as they should."""
    flow = totals("a DATE, b TIMESTAMP", Lexicographic(EventTime("day"), EventTime()))
    first, noon = date(2026, 1, 1), datetime(2026, 1, 1, 12)
    cuts: list[list[tuple[Any, ...]]] = [
        [(first, noon, "x", 1), (first, noon, "WM", None)],
        [(first, None, "WM", None)],
    ]
    engine = stepped(flow, cuts[:1], tmp_path)
    assert frontier(engine) == "(2026-01-01, 2026-01-01 12:00:00.000001)"
    engine = stepped(flow, cuts, tmp_path, begin=1)
    assert frontier(engine) == "(2026-01-02, any)"


def test_other_numbers_are_another_flow(tmp_path: Path) -> None:
    """State holds numbers: with natural numbers only, or as a product, they would be others."""
    stepped(totals("a SMALLINT, b INT"), [[(1, 5, "x", 1)]], tmp_path)
    with pytest.raises(FlowChanged):
        stepped(totals("a SMALLINT, b INT", Lexicographic(Int(), Nat())), [[], []], tmp_path, begin=1)
    product = tg.Flow("totals")
    rows = product.source("s", "a SMALLINT, b INT, k STRING, x INT", time=("a", "b"), watermark=MARKS)
    product.sink("out", rows.accumulate(n="sum(x)"))
    with pytest.raises(FlowChanged):
        stepped(product, [[], []], tmp_path, begin=1)


def test_explain_advises_nothing_that_is_refused() -> None:
    """There are no lengths of time; and times are told apart for no longer than along one column."""
    flow = tg.Flow("explained")
    rows = flow.source("s", "a INT, b INT, k STRING, x INT", time=tg.ordered(("a", "b"), INTS), watermark=MARKS)
    flow.sink("once", rows.deduplicate("k"))
    flow.sink("as_of", rows.join_asof(rows.select("k", "x AS y"), on="k"))
    flow.sink("sums", rows.accumulate(by="k", n="sum(x)"))
    text = str(flow.explain())
    assert "times are values of (a, b), ordered by Lexicographic(Int(), Int())" in text
    assert not any(word in text for word in ("within", "forget", "window", "cannot tell them apart", "NULL in a time"))
    assert "over=" not in str(flow.plan)
