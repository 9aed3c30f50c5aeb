"""Sums with an upper bound: a condition on the first terms comes before them, and chooses no other rows."""

from __future__ import annotations

from random import Random

import duckdb
import pytest

from tidegate.flow.agreed.compile import compiled, compiled_condition
from tidegate.flow.agreed.early import FIRST, of_first_terms
from tidegate.flow.agreed.parsing import parse_plain

CLOSE = "reduce(zip_with(a, b, (x, y) -> abs(x - y)), CAST(0 AS DOUBLE), (s, t) -> s + t)"
LISTS = {"a": "ARRAY<DOUBLE>", "b": "ARRAY<DOUBLE>", "n": "ARRAY<INT>"}


@pytest.mark.parametrize(
    "text",
    [
        f"{CLOSE} < 0.5",
        f"0.5 >= ({CLOSE})",
        f"({CLOSE} <= d)",
        "aggregate(transform(a, x -> x * x), 1D, (s, t) -> t + s) < 2",
    ],
)
def test_the_first_terms_come_first(text: str) -> None:
    """Of absolute values and of squares, with the bound on either side."""
    found = of_first_terms(parse_plain(text))
    assert found is not None
    assert f", 1, {FIRST})" in found.sql()


@pytest.mark.parametrize(
    "text",
    [
        f"{CLOSE} > 0.5",
        f"{CLOSE} = 0.5",
        CLOSE.replace("abs(x - y)", "x - y") + " < 0.5",
        CLOSE.replace("abs(x - y)", "x * y") + " < 0.5",
        CLOSE.replace("s + t", "s - t") + " < 0.5",
        CLOSE.replace("s + t", "s + s") + " < 0.5",
        CLOSE.replace("zip_with(a,", "zip_with(reverse(a),") + " < 0.5",
        f"{CLOSE} < abs(d)",
        "reduce(filter(a, x -> x > 0), CAST(0 AS DOUBLE), (s, t) -> s + t) < 0.5",
    ],
)
def test_near_misses_stay(text: str) -> None:
    """A lower bound, terms that may be negative, what is no sum, and what would be computed twice."""
    assert of_first_terms(parse_plain(text)) is None


def test_what_may_fail_is_not_looked_at_early() -> None:
    """A sum of integers fails where it is too large: it is computed as it is written."""
    text = "reduce(transform(n, x -> abs(x)), 0, (s, t) -> s + t) < 5"
    assert of_first_terms(parse_plain(text)) is not None
    assert compiled(text, LISTS).fails
    assert "list_slice" not in compiled_condition(text, LISTS).sql


def test_the_same_rows_are_chosen() -> None:
    """Lists of all lengths around the first terms, with NULL, NaN and infinities among them, close and not."""
    rng = Random(7)
    special = [None, float("nan"), float("inf"), -0.0]

    def drawn(base: list[float | None]) -> list[float | None]:
        noise = rng.choice([0.0, 0.001, 0.1, 5.0])
        found = [None if x is None else x + rng.uniform(-noise, noise) for x in base]
        if found and rng.random() < 0.2:
            found[rng.randrange(len(found))] = rng.choice(special)
        return found

    rows = []
    for i in range(600):
        length = rng.choice([0, 1, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST])
        base: list[float | None] = [rng.uniform(-1, 1) for _ in range(length)]
        rows.append((i, None if rng.random() < 0.05 else drawn(base), drawn(base[: rng.choice([length, length, 3])])))
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows (i INT, a DOUBLE[], b DOUBLE[])")
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    for bound in (0.0, 0.05, 0.5, 30.0):
        text = f"{CLOSE} < {bound}"
        early, whole = compiled_condition(text, LISTS).sql, compiled(text, LISTS).sql
        assert "list_slice" in early
        assert "list_slice" not in whole
        found = [connection.execute(f"SELECT i FROM rows WHERE {sql} ORDER BY i").fetchall() for sql in (early, whole)]
        assert found[0] == found[1]
        assert found[0] or bound == 0.0


def test_a_bound_that_is_too_low_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above would find it if terms that may be negative were taken."""
    monkeypatch.setattr("tidegate.flow.agreed.early._not_negative", lambda _: True)
    text = CLOSE.replace("abs(x - y)", "x - y") + " < 0.5"
    early, whole = compiled_condition(text, LISTS).sql, compiled(text, LISTS).sql
    ones, zeros = "CASE WHEN i < 32 THEN 1.0::DOUBLE ELSE -1.0 END", "0.0::DOUBLE"
    a, b = (f"list_transform(range(64), lambda i: {each})" for each in (ones, zeros))
    row = f"(SELECT {a} AS a, {b} AS b)"
    counts = [duckdb.sql(f"SELECT count(*) FROM {row} WHERE {sql}").fetchall() for sql in (early, whole)]
    assert counts == [[(0,)], [(1,)]]


def test_fields_are_no_parameters() -> None:
    """A field of a struct that is spelled like a parameter is another value: nothing is added up instead."""
    types = {"a": "ARRAY<DOUBLE>", "p": "STRUCT<s: DOUBLE, t: DOUBLE>"}
    assert "list_sum" in compiled("reduce(a, CAST(0 AS DOUBLE), (s, t) -> S + t)", types).sql
    assert "list_sum" not in compiled("reduce(a, CAST(0 AS DOUBLE), (s, t) -> p.s + p.t)", types).sql
