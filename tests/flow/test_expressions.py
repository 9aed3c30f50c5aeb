"""Expressions: how texts are bound, split and named."""

from __future__ import annotations

import pytest

from tidegate.flow.aggregates import aggregation
from tidegate.flow.expressions import bind
from tidegate.flow.schema import parse_schema

SCHEMA = parse_schema(
    "ts TIMESTAMP, page STRING, bytes INT, `odd name` DOUBLE, arr ARRAY<INT>, p STRUCT<a: INT, b: STRUCT<c: STRING>>",
    time=("ts",),
)


@pytest.mark.parametrize(
    ("text", "name", "sql", "type_"),
    [
        ("bytes", "bytes", "bytes", "INT"),
        ("BYTES", "bytes", "bytes", "INT"),
        ("Bytes  AS  b", "b", "bytes", "INT"),
        ("bytes b", "b", "bytes", "INT"),
        ("bytes /* in bytes */ / 1024 AS kib", "kib", "bytes / 1024", "DOUBLE"),
        ("bytes -- in bytes\n + 1 AS `one more`", "one more", "bytes + 1", "INT"),
        ("`odd name` * 2 AS x", "x", "`odd name` * 2", "DOUBLE"),
        ("p.a", "a", "p.a", "INT"),
        ("P.B.C AS c", "c", "p.B.C", "STRING"),
        ("transform(arr, bytes -> bytes + 1) AS x", "x", "transform(arr, bytes -> bytes + 1)", None),
        ("1L + bytes AS x", "x", "1L + bytes", "BIGINT"),
        ("- bytes*-1+( BYTES ) AS x", "x", "-bytes * -1 + (bytes)", "INT"),
        ("arr [ 0 ] AS x", "x", "arr[0]", "INT"),
        ("bytes IN(1,2) AS x", "x", "bytes IN(1, 2)", "BOOLEAN"),
        ("'Bytes' AS x", "x", "'Bytes'", "STRING"),
        ("page LIKE ANY ('a%', 'b%') AS x", "x", "page LIKE ANY ('a%', 'b%')", "BOOLEAN"),
        ("my_function(bytes) AS x", "x", "my_function(bytes)", None),
        ("EXTRACT(HOUR FROM ts) AS x", "x", "EXTRACT(HOUR FROM ts)", None),
    ],
)
def test_a_text_is_bound(text: str, name: str, sql: str, type_: str | None) -> None:
    """Columns are spelled as declared, blanks and comments reduced, and the type derived where that is certain."""
    bound = bind(text, SCHEMA)
    assert (bound.name, bound.sql, bound.type) == (name, sql, type_)


@pytest.mark.parametrize(
    "name",
    """timestamp date time user value key order group table index type year hour count sum min max first last start end
    window session left right name id row rank comment uuid show set position level offset limit map array
    filter partition range rows version valid state desc language text string""".split(),  # noqa: SIM905
)
def test_columns_may_be_called_what_sql_calls_something_else(name: str) -> None:
    """Names that are words of SQL work as columns, without quotes."""
    schema = parse_schema({name: "INT", "other": "INT"})
    assert bind(f"other < {name} + 1", schema).columns == ("other", name)
    assert aggregation(name, [f"sum({name}) AS z"], {}, schema).outputs[0].columns == (name,)


@pytest.mark.parametrize(
    ("text", "calls", "finish"),
    [
        ("count(*) AS x", ["count(*)"], "__0"),
        ("sum(Bytes) / count(*) AS x", ["sum(bytes)", "count(*)"], "__0 / __1"),
        ("sum(bytes) + SUM(bytes) AS x", ["sum(bytes)", "SUM(bytes)"], "__0 + __1"),
        ("sum(bytes) * sum(bytes) AS x", ["sum(bytes)"], "__0 * __0"),
        ("round(avg(bytes), 2) AS x", ["avg(bytes)"], "round(__0, 2)"),
        ("upper(page) || max(page) AS x", ["max(page)"], "upper(page) || __0"),
        ("max(bytes) FILTER (WHERE bytes > 1) AS x", ["max(bytes) FILTER (WHERE bytes > 1)"], "__0"),
        ("first(bytes) IGNORE NULLS AS x", ["first(bytes) IGNORE NULLS"], "__0"),
        (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY BYTES) + 1 AS x",
            ["percentile_cont(0.5) WITHIN GROUP (ORDER BY bytes)"],
            "__0 + 1",
        ),
    ],
)
def test_aggregates_are_split_into_calls(text: str, calls: list[str], finish: str) -> None:
    """Each call of an aggregate function stands alone; what is made of the results is a scalar."""
    (output,) = aggregation("page", [text], {}, SCHEMA).outputs
    assert [call.sql for call in output.calls] == calls
    assert output.finish == finish


def test_a_call_is_taken_apart() -> None:
    """An engine is told the function, its arguments, and whether it is distinct or filtered."""
    text = "count(DISTINCT page, bytes + 1) FILTER (WHERE Bytes > 1) AS x"
    (call,) = aggregation((), [text], {}, SCHEMA).outputs[0].calls
    assert (call.function, call.arguments, call.distinct, call.where) == (
        "count",
        ("page", "bytes + 1"),
        True,
        "bytes > 1",
    )
    assert not call.mergeable


def test_what_follows_a_call_is_kept() -> None:
    """The order within a group, and what is done with nulls, come with the call, spelled as declared."""
    text = "listagg(page, ',') WITHIN GROUP (ORDER BY Bytes DESC) FILTER (WHERE bytes > 1) AS x"
    (call,) = aggregation((), [text], {}, SCHEMA).outputs[0].calls
    assert call.arguments == ("page", "','")
    assert call.rest == "WITHIN GROUP (ORDER BY bytes DESC)"
    assert call.where == "bytes > 1"


def test_calls_are_shared_between_outputs() -> None:
    """The same call in two outputs is computed once."""
    found = aggregation((), [], {"n": "count(*)", "mean": "sum(bytes) / count(*)"}, SCHEMA)
    assert [call.sql for call in found.calls] == ["count(*)", "sum(bytes)"]


def test_what_is_split_can_be_put_together_again() -> None:
    """The whole expression is kept as well, with columns spelled as declared."""
    (output,) = aggregation("page", ["SUM(Bytes) / count(*) AS x"], {}, SCHEMA).outputs
    assert output.sql == "SUM(bytes) / count(*)"


def test_a_string_that_says_what_a_result_is_called_stays_a_string() -> None:
    """Results of calls are put back where their names stand, and not where a text has the same letters."""
    (output,) = aggregation("page", ["'__0' || max(page) AS x"], {}, SCHEMA).outputs
    assert (output.sql, output.finish) == ("'__0' || max(page)", "'__0' || __0")


def test_a_function_on_arrays_is_not_the_filter_of_a_call() -> None:
    """The word filter begins a clause behind a call, and is a function inside of one."""
    text = "percentile_cont(0.5) WITHIN GROUP (ORDER BY size(filter(arr, x -> x > 1))) AS x"
    (call,) = aggregation((), [text], {}, SCHEMA).outputs[0].calls
    assert (call.where, call.rest) == (None, "WITHIN GROUP (ORDER BY size(filter(arr, x -> x > 1)))")
