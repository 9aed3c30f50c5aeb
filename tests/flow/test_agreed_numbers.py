"""Texts of the engine that differ in moving numbers only: they are translated once, and mean what each of them says."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from tidegate.flow.agreed import compile as module
from tidegate.flow.agreed.compile import compiled, compiled_condition
from tidegate.flow.agreed.values import Value

TYPES = {"ts": "TIMESTAMP", "n": "BIGINT", "k": "STRING"}
TEXTS = [
    "unix_micros(ts) < __moving(unix_micros(ts), {0}L)",
    "CASE WHEN n < __moving(n, {0}L) THEN 1 WHEN n >= __moving(pmod(n, 7L), {1}L) THEN 2 ELSE 0 END",
    "NOT (n >= __moving(n, -{0}L)) OR n = __moving(n + {1}L, {0}L)",
    "pmod(n, {0}L) + __moving(n, {1}L) * 12L",
    "k = '{0}L' AND n > __moving(n, {1}L)",
    "{0}L + 0.5",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_translation_is_that_of_the_text_itself(text: str) -> None:
    """Whatever the numbers, and however often others were translated before."""
    for numbers in ((12345, 99999), (1767225600123456, 8070605040302010), (54321, 54321)):
        sql = text.format(*numbers)
        alone = module._compiled.__wrapped__(sql, tuple(TYPES.items()), True, False, False)
        found = compiled(sql, TYPES, engine=True)
        assert (found.type, found.fails, answers(found)) == (alone.type, alone.fails, answers(alone))


def answers(value: Value) -> list[Any]:
    """What a translation gives on a few rows."""
    numbers = "(0), (7), (12345), (54321), (99999), (-12345), (1767225600123456), (NULL)"
    rows = f"SELECT n, make_timestamp(n) AS ts, CAST(n AS VARCHAR) || 'L' AS k FROM (VALUES {numbers}) AS given(n)"
    return duckdb.sql(f"SELECT {value.sql} FROM ({rows})").fetchall()


def test_a_new_number_is_no_new_translation() -> None:
    """So that a step does not pay for a frontier that has moved."""
    before = module._compiled.cache_info().misses
    for number in range(100_000, 100_050):
        compiled_condition(f"n < __moving(n, {number}L) AND n <> 7", TYPES, engine=True)
    assert module._compiled.cache_info().misses == before + 1
