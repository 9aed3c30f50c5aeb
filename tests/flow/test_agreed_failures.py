"""What may fail is computed when Spark computes it: from left to right, and not after what decides."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import duckdb
import pytest

from tidegate.flow.aggregates import aggregation
from tidegate.flow.agreed.compile import compiled, compiled_condition
from tidegate.flow.agreed.queries import compiled_query
from tidegate.flow.duck import Duck
from tidegate.flow.schema import parse_schema

FAILS = "fails"
TYPES = {"z": "INT", "nul": "INT", "yes": "BOOLEAN", "no": "BOOLEAN", "un": "BOOLEAN", "a": "ARRAY<INT>"}
ROW = "(SELECT 0 AS z, NULL::INT AS nul, true AS yes, false AS no, NULL::BOOLEAN AS un, [0, 1] AS a)"

#: What Spark 4.3 answers on this row.
ANSWERS: dict[str, Any] = {
    "1 / z > 0": FAILS,
    "no AND 1 / z > 0": False,
    "yes OR 1 / z > 0": True,
    "1 / z > 0 AND no": FAILS,
    "1 / z > 0 OR yes": FAILS,
    "un AND 1 / z > 0": FAILS,
    "no AND (1 / z > 0 OR z = 7)": False,
    "(1 / z > 0 OR z = 7) AND no": FAILS,
    "yes AND no AND 1 / z > 0": False,
    "no OR un OR (yes AND z = 0) OR 1 / z > 0": True,
    "un AND yes AND z = 0": None,
    "yes AND (no AND (1 / z > 0 AND yes))": False,
    "(no AND yes) AND 1 / z > 0": False,
    "no OR ((yes OR no) OR 1 / z > 0)": True,
    "z IN (0, 1 / z)": True,
    "z IN (1 / z, 0)": FAILS,
    "z NOT IN (0, 1 / z)": False,
    "z BETWEEN 1 AND 1 / z": False,
    "z BETWEEN 1 / z AND 0": FAILS,
    "CASE z WHEN 0 THEN 2 WHEN 1 / z THEN 3 END": 2,
    "CASE 1 / z WHEN 1 THEN 2 ELSE 3 END": FAILS,
    "coalesce(z, 1 / z)": 0.0,
    "coalesce(z, 1 / z + 1 / z)": 0.0,
    "coalesce(nul, 1 / z)": FAILS,
    "nvl(z, z DIV z + z DIV z)": 0,
    "ifnull(nul, 7)": 7,
    "exists(a, x -> x = 0 OR 1 / x > 1)": True,
    "exists(a, x -> 1 / (x - 1) < 0)": True,
    "exists(a, x -> 1 / x < 0)": FAILS,
    "forall(a, x -> 1 / (x - 1) > 0)": False,
    "forall(a, x -> 1 / x > 0)": FAILS,
    "exists(array(1, NULL, 0), x -> 1 / x > 5)": FAILS,
    "exists(array(NULL, 1, 0), x -> 1 / x > 0)": True,
    "forall(array(NULL, 1, 0), x -> 1 / x > 1)": False,
    "exists(array(NULL, 1), x -> 1 / x > 5)": None,
    "forall(array(NULL, 1), x -> 1 / x > 0)": None,
    "exists(array(1, 2), x -> exists(a, y -> y = x AND 2 / y > 1))": True,
    "floor(1e19)": FAILS,
    "ceil(-1e19)": FAILS,
    "floor(double('nan'))": 0,
}


def computed(text: str) -> Any:
    """Compute an expression on the row: its value, or that it fails."""
    try:
        return duckdb.sql(f"SELECT {compiled(text, TYPES).sql} AS x FROM {ROW}").fetchall()[0][0]
    except duckdb.ConversionException:
        return FAILS


@pytest.mark.parametrize("text", ANSWERS)
def test_what_decides_comes_first(text: str) -> None:
    """An expression fails where Spark's fails, and nowhere else."""
    assert computed(text) == ANSWERS[text]


def test_rows_are_chosen_by_what_does_not_fail() -> None:
    """As in Spark, parts of conditions of rows that do not fail come first, and find rows quickly."""
    sql = compiled_condition("1 / z > 0 AND no", TYPES).sql
    assert duckdb.sql(f"SELECT count(*) FROM {ROW} WHERE {sql}").fetchall() == [(0,)]
    assert sql.startswith('(("no") AND (CASE WHEN NOT (("no")) THEN false ELSE ')
    joined = "SELECT l.z FROM l JOIN r ON 1 / l.z > r.z AND l.z = r.z"
    assert 'ON ((CAST("l"."z" = "r"."z" AS BOOLEAN)) AND' in compiled_query(joined, {"l": TYPES, "r": TYPES})[0]


def test_rows_are_joined_by_what_does_not_fail() -> None:
    """A length cannot fail: DuckDB finds pairs by it, also where it is in parentheses with what can fail."""
    types = {"s": "STRING", "d": "ARRAY<DOUBLE>"}
    condition = "(lower(l.s) != lower(r.s) AND length(l.s) = length(r.s)) AND length(r.s) > 3"
    sql = compiled_query(f"SELECT l.s FROM l JOIN r ON {condition}", {"l": types, "r": types})[0]
    assert 'ON ((CAST((CAST(length("l"."s") AS INT)) = (CAST(length("r"."s") AS INT)) AS BOOLEAN)) AND' in sql
    for text in (
        "reduce(d, CAST(0 AS DOUBLE), (a, x) -> a + x)",
        "zip_with(d, d, (x, y) -> abs(x - y) / 2)",
        "size(d)",
    ):
        assert not compiled(text, types).fails
    for text in ("reduce(d, CAST(0 AS DOUBLE), (a, x) -> a / x)", "zip_with(d, d, (x, y) -> x / y)", "lower(s)"):
        assert compiled(text, types).fails


def nested(depth: int) -> str:
    """Write conditions that may fail, in one another."""
    text = "1 / z > 0"
    for level in range(depth):
        word = ("AND", "OR")[level % 2]
        text = f"({text}) {word} (2 / z > {level} {word} un)"
    return text


def test_nested_conditions_are_not_long() -> None:
    """What is nested is written once: the text grows with the depth, and DuckDB computes it."""
    sizes = [len(compiled(nested(depth), TYPES).sql) for depth in (4, 8, 12, 16)]
    steps = [b - a for a, b in pairwise(sizes)]
    assert max(steps) < 1.2 * min(steps)
    assert sizes[-1] < 20_000
    assert computed(nested(16)) == FAILS
    many = " AND ".join(f"1 / (z + 1) > -{k}" for k in range(60))
    assert computed(many) is True


@pytest.mark.parametrize(
    "text",
    [
        "try_cast({} AS INT)",
        "concat({}, a)",
        "if({} BETWEEN 1 AND 2, 1, 2)",
        "CASE {} WHEN 1 THEN 1 ELSE 2 END",
        "transform(arrays_zip(array({}), a), x -> x.`0`)[0]",
        "nullif({}, 1)",
    ],
)
def test_arguments_are_written_and_translated_once(text: str) -> None:
    """The texts of nested calls grow with the depth, and so does the time in which they are made."""
    sizes = []
    for depth in (2, 4, 6, 8):
        nested = "a" if text.startswith("concat") else "z"
        for _ in range(depth):
            nested = text.format(nested)
        sizes.append(len(compiled(nested, TYPES).sql))
    steps = [b - a for a, b in pairwise(sizes)]
    assert max(steps) <= 1.2 * min(steps)


def test_arguments_of_chosen_rows_only_are_computed() -> None:
    """An argument that fails on rows that a FILTER leaves out is not computed on them."""
    schema = parse_schema("n INT, k INT")
    calls = aggregation(
        (), ["sum(10 / n) FILTER (WHERE n != 0) AS s", "count(1 / n) FILTER (WHERE k > n) AS c"], {}, schema
    )
    rows = [{"n": 0, "k": -1}, {"n": 2, "k": 3}, {"n": 5, "k": 1}]
    assert Duck().aggregates([rows], schema, calls, [{}], ()) == [(7.0, 1)]
    query = "SELECT max(10 / n) FILTER (WHERE n != 0) AS m FROM given"
    sql, _ = compiled_query(query, {"given": {"n": "INT"}})
    values = "SELECT unnest([0, 5, 2]) AS n"
    assert duckdb.sql(f"WITH given AS ({values}) {sql}").fetchall() == [(5.0,)]
