"""Previews of streams: the rows that the flow would give there, shown to a reader."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from tests.flow.case import instants, ints, pairs

import tidegate as tg
from tidegate.flow.show import html_table, text_table

ROWS = [{"t": t, "k": k, "x": x} for t, k, x in [(2, "b", 3), (1, "a", 1), (1, None, None), (None, "c", 0)]]


def values(preview: tg.flow.preview.Preview) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in preview]


def test_rows_are_shown_in_order_with_what_was_rejected() -> None:
    """The text has the stream, its columns, its rows, and why a row took no part."""
    assert repr(ints(tg.Flow("show")).preview(ROWS)) == (
        "s: 3 rows\n"
        "  t  k        x\n"
        "  1  NULL  NULL\n"
        "  1  a        1\n"
        "  2  b        3\n"
        "  1 row of s rejected: null time in t"
    )


def test_a_preview_changes_nothing() -> None:
    """Neither sinks nor operators are added, and streams that the flow's sinks do not need can be looked at."""
    flow = tg.Flow("same")
    stream = ints(flow).where("x > 1")
    before = (repr(flow), str(flow.plan))
    assert values(stream.preview(ROWS)) == [(2, "b", 3)]
    assert (repr(flow), str(flow.plan)) == before


def test_rows_that_are_moved_can_be_looked_at() -> None:
    """After `at`, alone and before what follows: rows that cannot be moved, or have no window then, are rejected."""
    stream = tg.Flow("moved").source("s", "t TINYINT, x TINYINT", time="t").at("x")
    rows = [{"t": 1, "x": 5}, {"t": 2, "x": 1}, {"t": 3, "x": 125}]
    moved, counted = stream.preview(rows), stream.window(10).aggregate(n="count(*)").preview(rows)
    assert (values(moved), moved.rejected) == ([(5, 5), (125, 125)], {"at#1": ["time would go back in t"]})
    assert [row["n"] for row in counted] == [1]
    assert counted.rejected["at#1"] == ["time out of range: t is not between -120 and 119", "time would go back in t"]


@pytest.mark.parametrize(
    "given",
    [
        tuple(ROWS),
        iter(ROWS),
        pa.Table.from_pylist(ROWS, pa.schema([("t", pa.int32()), ("k", pa.string()), ("x", pa.int32())])),
        {"s": ROWS},
        {"s": ROWS, "other": []},
    ],
    ids=["tuple", "iterator", "arrow", "mapping", "with others"],
)
def test_rows_come_in_many_forms(given: Any) -> None:
    """Dicts, Arrow, by name, and together with those of sources that are not needed."""
    flow = tg.Flow("forms")
    stream = ints(flow).aggregate(n="count(*)", total="sum(x)")
    ints(flow, "other")
    assert values(stream.preview(given)) == [(1, 2, 1), (2, 1, 3)]


def test_several_sources_are_given_by_name() -> None:
    """A join needs the rows of both; who gives one list is told how."""
    flow = tg.Flow("several")
    names = flow.table("names", "k STRING, name STRING")
    stream = ints(flow).join(names, on="k")
    given = {"s": ROWS, "names": [{"k": "a", "name": "Ann"}]}
    assert values(stream.preview(given)) == [(1, "a", 1, "Ann")]
    assert values(names.where("k > 'a'").preview([{"k": "b", "name": "Bob"}])) == [("b", "Bob")]
    with pytest.raises(tg.errors.BadInput) as caught:
        stream.preview(ROWS)
    assert str(caught.value) == (
        "expected a mapping from source to rows, as join#1 needs s, names; got list\n"
        "  at: preview(…) on join#1\n"
        "  at: flow 'several'\n"
        '  hint: preview({"s": [{…}], "names": [{…}]})'
    )
    with pytest.raises(tg.errors.BadInput, match="expected an input for 'names', got none"):
        stream.preview({"s": ROWS})


def test_what_is_no_rows_is_refused() -> None:
    """One row without a list, a column too many, a value of another type, a name that nobody has, a limit."""
    stream = ints(tg.Flow("refused"))
    refused = [
        (ROWS[0], "expected a mapping from source (s) to rows, got one with t, k, x"),
        ([ROWS[0] | {"y": 1}], "expected row 0 of s with columns t, k, x; it has y too many"),
        ([ROWS[0] | {"x": "one"}], "expected values of x INT, got 'one' (str) in row 0"),
        ([1], "expected row 0 of s as a dict of all columns, got 1 (int)"),
        ({"s": ROWS, "z": []}, "got an input 'z' that the flow has no source or table for"),
        (7, "expected rows, got int"),
    ]
    for given, said in refused:
        with pytest.raises(tg.errors.BadInput, match=re.escape(said)):
            stream.preview(given)
    with pytest.raises(tg.errors.BadArgument, match="expected a number of rows to show in limit=, got -1"):
        stream.preview(ROWS, limit=-1)


def test_what_fails_is_told_with_its_operator() -> None:
    """A value that an expression cannot take stops a preview as it stops a run."""
    stream = ints(tg.Flow("fails")).select("10 / x AS y")
    with pytest.raises(tg.errors.RunFailed) as caught:
        stream.preview([{"t": 1, "k": "a", "x": 0}])
    assert "select(…), select#1: an expression failed" in str(caught.value)
    assert "at: preview(…) on select#1\n  at: flow 'fails'" in str(caught.value)


def test_instants_are_shown_in_utc() -> None:
    """Whatever zone they came with, and also inside of windows."""
    stream = instants(tg.Flow("zones")).window("1 hour").aggregate(n="count(*)")
    there = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    found = stream.preview([{"t": there, "k": "a", "x": 1}])
    assert found.rows[0]["window"] == {"start": datetime(2026, 1, 1), "end": datetime(2026, 1, 1, 1)}
    assert "{start: 2026-01-01 00:00:00, end: 2026-01-01 01:00:00}" in repr(found)


def test_no_more_rows_are_shown_than_asked_for() -> None:
    """The others are counted, and are there."""
    found = pairs(tg.Flow("many")).preview([{"v": n, "w": 0, "k": "a", "x": n} for n in range(30)], limit=2)
    assert len(found) == 30
    assert repr(found).splitlines()[0] == "s: 30 rows"
    assert repr(found).splitlines()[-1] == "  … and 28 rows more"
    assert found._repr_html_().count("<tr>") == 3
    assert "… and 28 rows more" in found._repr_html_()


def test_a_preview_of_nothing_has_its_columns() -> None:
    """No rows in, no rows out; also for answers that may be revised."""
    stream = ints(tg.Flow("none")).window(5, lateness=3).aggregate(n="count(*)")
    assert repr(stream.preview([])) == "window#1: 0 rows\n  t  window  n  revision"


def test_values_cannot_break_out_of_a_table() -> None:
    """Marks of HTML and controls of terminals in names and values are shown, not obeyed; long ones are cut in text."""
    html = html_table(["<b>"], [("<script>\x1b[2J",)], caption="a&b")
    assert "<script>" not in html
    assert "&lt;script&gt;\\x1b[2J" in html
    text = text_table(["a\n", "b"], [("x" * 100, "\x1b[2J"), (b"\x00\xff", True)])
    assert text.splitlines()[1].startswith("x" * 59 + "…  \\x1b[2J")
    assert text.splitlines()[2].split() == ["X'00FF'", "true"]
