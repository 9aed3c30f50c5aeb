"""What a condition of a join computes of one row, which may fail: once for each row, and fails where it did before."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import duckdb
import pytest

import tidegate as tg
from tests.flow.specified import by_reference
from tests.local_engine.engine import by_local
from tidegate.flow.schema import Column
from tidegate.flow.sql import Sql
from tidegate.local_engine.hoisted import JoinCondition, _on

#: Texts that differ in their case, one of another length, none at all; and one whose small form is not known.
TEXTS = ["Ab", "aB", "cd", "CD", "efg", None]
UNKNOWN = "\N{GREEK CAPITAL LETTER SIGMA}x"
WHERE = "lower(left.s) <> lower(right.o) AND length(left.s) = length(right.o) AND left.k < 5 AND right.m < 5"
SIDES = (
    ("left", (Column("s", "STRING"), Column("k", "INT"))),
    ("right", (Column("o", "STRING"), Column("m", "INT"))),
)


def joined(how: str, where: str = WHERE) -> tg.Flow:
    flow = tg.Flow("texts")
    texts = flow.source("texts", "ts INT, s STRING, k INT", time="ts")
    others = texts.select("s AS o", "k AS m")
    flow.sink("out", texts.join(others, on=(), how=how, where=where))
    return flow


def rows_of(*more: tuple[str, int]) -> dict[str, list[tuple[Any, ...]]]:
    return {"texts": [(1, text, 1) for text in TEXTS] + [(1, *own) for own in more]}


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_joins_find_the_same_pairs(how: str) -> None:
    """Of every kind, with NULL among the texts, and one that cannot be computed in a row that other parts rule out."""
    found = by_local(joined(how), rows_of((UNKNOWN, 9)))
    # The reference computes all parts of a condition in their order.
    expected = by_reference(joined(how), rows_of(("?x", 9)))
    assert sorted(map(repr, found)) == sorted(repr(row).replace("?x", UNKNOWN) for row in expected)
    assert ("Ab", "cd") in [(row[1], row[3]) for row in found]


def fails(run: Callable[[], object]) -> bool:
    try:
        run()
    except duckdb.ConversionException:
        return True
    return False


def test_a_pair_that_cannot_be_computed_fails() -> None:
    """It fails as it would if nothing were computed before rows meet."""
    assert fails(lambda: by_local(joined("inner"), rows_of((UNKNOWN, 1))))


@pytest.mark.parametrize("how", ["inner", "left", "full"])
@pytest.mark.parametrize("own", ["right.m = 1", "lower(right.o) = 'ab'"])
def test_what_may_fail_waits_for_the_parts_before_it(how: str, own: str) -> None:
    """A part that fails for some pairs is not computed for those that a part with hoisted columns rules out."""
    flow = joined(how, f"lower(left.s) = 'x' AND {own} AND 1 / (left.k - right.m) > 0")
    rows: dict[str, list[tuple[Any, ...]]] = {"texts": [(1, "ab", 1), (1, "cd", 1), (1, "X", 2)]}
    assert sorted(map(repr, by_local(flow, rows))) == sorted(map(repr, by_reference(flow, rows)))


ATOMS = ["lower(left.s) <> lower(right.o)", "lower(left.s) = 'ab'", "right.o = 'aB'", "left.k = right.m", "left.k < 2"]
ATOMS += ["upper(right.o) > 'B'", "right.m BETWEEN 1 AND 2", "left.s IS NULL", "NOT left.k = 1"]


def drawn_condition(rng: Random, depth: int = 3) -> str:
    """Return a condition of AND, OR and NOT, with parentheses wherever they are needed, and elsewhere now and then."""
    if not depth or rng.random() < 0.25:
        return rng.choice(ATOMS)
    word = rng.choice(["AND", "AND", "OR"])
    parts = [drawn_condition(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    text = f" {word} ".join(f"({part})" if " OR " in part or rng.random() < 0.3 else part for part in parts)
    return f"NOT ({text})" if rng.random() < 0.15 else f"({text})"


def assert_same_pairs(seeds: int) -> None:
    for seed in range(seeds):
        where = drawn_condition(Random(seed))
        rows: dict[str, list[tuple[Any, ...]]] = {"texts": [(1, text, i % 3) for i, text in enumerate(TEXTS + TEXTS)]}
        found, expected = (sorted(map(repr, run(joined("inner", where), rows))) for run in (by_local, by_reference))
        assert found == expected, where


def test_alternatives_stay_together() -> None:
    """Parts that OR connects are one part of the condition, also where AND connects it with hoisted ones."""
    assert_same_pairs(40)


def test_alternatives_that_lose_their_parentheses_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without its parentheses, an alternative is true whatever the other parts say."""
    right = Sql.all_conjuncts

    def bare(sql: Sql) -> list[str]:
        parts = map(Sql.of, right(sql))
        return [str(one[1:-1] if str(one[0:1]) == "(" and one.closing(0) == len(one) - 1 else one) for one in parts]

    monkeypatch.setattr(Sql, "all_conjuncts", bare)
    _on.cache_clear()
    with pytest.raises(AssertionError):
        assert_same_pairs(40)
    _on.cache_clear()


def test_pairs_that_are_left_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would find it if pairs without a value were passed over."""
    monkeypatch.setattr(JoinCondition, "sql", lambda on, translated: translated(f"{on.rest} AND {on.reading}"))
    assert not fails(lambda: by_local(joined("inner"), rows_of((UNKNOWN, 1))))


@pytest.mark.parametrize(
    "condition",
    [
        "length(left.s) = length(right.o)",
        "lower(concat(left.s, right.o)) = 'x'",
        "exists(array(1), left -> lower(right.o) = 'x')",
        "left.k + left.k = right.m",
        "lower(left.s) = right.o AND left.k + right.m > 0 AND CAST(right.o AS INT) + left.k > 2",
        "lower(left.s) = 'x' AND 1 / (left.k - right.m) > 0",
    ],
)
def test_other_conditions_stay(condition: str) -> None:
    """What cannot fail, reads both sides, is in a function of elements, is no call, or may fail for another reason."""
    assert _on(condition, SIDES, 0, False) == (JoinCondition(condition), ())


def test_what_is_read_twice_is_computed_once() -> None:
    """Calls with the same text are one column, and only for rows that the other parts let pass."""
    on, values = _on("(lower(left.s) <> right.o AND (left.k < 5)) AND lower(left.s) <> 'a'", SIDES, 3, False)
    assert (on.rest, on.columns) == ("left.k < 5", ('"left"."__once3"',))
    assert [value.sql.startswith('CASE WHEN ((CAST("left"."k" < ') for value in values] == [True]


#: Three inequalities and another condition, without an equation: DuckDB's own semi and anti joins would be wrong.
NO_EQUATION = "left.p <= right.q AND right.p <= left.q AND left.u <= right.v AND (left.v = right.u OR left.p = right.v)"
RANGES = [(i, *(float(Random(4 * i + j).randrange(40)) for j in range(4))) for i in range(60)]


def ranges(how: str, where: str) -> tg.Flow:
    flow = tg.Flow("ranges")
    rows = flow.source("rows", "ts INT, p DOUBLE, q DOUBLE, u DOUBLE, v DOUBLE", time="ts")
    flow.sink(
        "out",
        rows.join(flow.table("others", "id INT, p DOUBLE, q DOUBLE, u DOUBLE, v DOUBLE"), on=(), how=how, where=where),
    )
    return flow


@pytest.mark.parametrize("how", ["semi", "anti"])
@pytest.mark.parametrize(
    "where",
    [
        NO_EQUATION,
        NO_EQUATION.rpartition(" AND ")[0],
        NO_EQUATION.replace("left.p <= right.q", "left.q = right.q").replace("left.v = right.u", "left.v > right.u"),
    ],
    ids=["other", "comparisons", "equation"],
)
def test_rows_are_chosen_by_inequalities(how: str, where: str) -> None:
    """With and without another condition, and with an equation."""
    given = {"rows": RANGES, "others": RANGES[3:23]}
    found = by_local(ranges(how, where), given)
    assert sorted(found) == sorted(by_reference(ranges(how, where), given))
    assert 0 < len(found) < len(RANGES)


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_the_fault_of_duckdb_is_still_there(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: with the condition as it is. If it no longer does, `in_join` can go."""
    monkeypatch.setattr("tidegate.local_engine.backend.in_join", lambda how, condition, ranged: condition)
    given = {"rows": RANGES, "others": RANGES[3:23]}
    found = by_local(ranges(how, NO_EQUATION), given)
    assert sorted(found) != sorted(by_reference(ranges(how, NO_EQUATION), given))
