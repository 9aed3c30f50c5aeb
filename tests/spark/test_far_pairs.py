"""Joins by sums with an upper bound on Spark: cheap checks come before them, and choose no other pairs."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.specified import by_reference
from tests.spark.engine import Rows, by_spark, frame

import tidegate as tg
from tidegate.flow.schema import parse_schema
from tidegate.spark.backend import SparkBackend
from tidegate.spark.far_pairs import without_far_pairs
from tidegate.spark.runtime import spark_runtime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLOSE = "reduce(zip_with(left.a, right.b, (x, y) -> abs(x - y)), CAST(0 AS DOUBLE), (s, t) -> s + t)"
#: The length of one list, as a sum: its terms do not depend on the elements.
LENGTHS = CLOSE.replace("zip_with(left.a, right.b, (x, y) -> abs(x - y))", "transform(left.a, x -> abs(right.d))")
#: A sum in a term, of a list of its own.
INNER = "aggregate(transform(left.a, z -> z), CAST(0 AS DOUBLE), (s, t) -> s + t)"
SQUARES = CLOSE.replace("abs(x - y)", "(x - y) * (x - y)")
NUMBERED = "aggregate(transform(left.a, (x, i) -> abs(x - right.d * i)), left.d, (s, t) -> t + s)"
TYPES = {
    "left.a": "ARRAY<DOUBLE>",
    "right.b": "ARRAY<DOUBLE>",
    "right.a": "ARRAY<DOUBLE>",
    "left.n": "ARRAY<INT>",
    "right.n": "ARRAY<INT>",
    "left.d": "DOUBLE",
    "right.d": "DOUBLE",
    "left.i": "INT",
    "right.j": "INT",
}


@pytest.mark.parametrize(
    "text",
    [
        f"{CLOSE} < 0.5",
        f"0.5 >= ({CLOSE})",
        f"({CLOSE} <= left.d)",
        f"{CLOSE} > 0 AND {CLOSE} < 0.5",
        f"left.i = right.j AND ((left.i > 3 OR right.j > 3) AND {CLOSE} < 0.5)",
        f"{LENGTHS} < 1",
        f"{SQUARES} < 1",
        f"{NUMBERED} < 1",
    ],
)
def test_few_terms_come_first(text: str) -> None:
    """Of sums over both sides, with the bound on either side, beside other conditions."""
    found = without_far_pairs(text, TYPES)
    assert "CASE WHEN size(left.a) > 32 AND NOT (" in found
    assert found.count("THEN false") == 2
    assert without_far_pairs(text, TYPES) == found


@pytest.mark.parametrize(
    "text",
    [
        "left.i = right.j",
        f"{CLOSE} > 0.5",
        f"{CLOSE} < 0.5 OR left.i = 1",
        f"NOT {CLOSE} < 0.5",
        f"{CLOSE.replace('abs(x - y)', 'x - y')} < 0.5",
        f"{CLOSE.replace('s + t', 's - t')} < 0.5",
        f"{CLOSE.replace('right.b', 'left.a')} < 0.5",
        f"{CLOSE.replace('abs(x - y)', 'abs(aggregate(left.a, x, (s, t) -> s + t) - y)')} < 0.5",
        f"{CLOSE.replace('abs(x - y)', 'abs(struct(x).x - y)')} < 0.5",
        f"{CLOSE.replace('abs(x - y)', 'abs(`struct`(x).x - y)')} < 0.5",
        f"{CLOSE.replace('reduce', '`reduce`')} < 0.5",
        f"{CLOSE.replace('reduce', '`reduce`').replace('- y', f'- {INNER}')} < 1000",
        f"{CLOSE.replace('zip_with', '`zip_with`')} < 0.5",
    ],
)
def test_near_misses_stay(text: str) -> None:
    """A lower bound, part of another condition, terms that may be negative, one side only, a lambda in a term, a struct
    that is named by its field, and functions whose names are quoted.
    """
    assert without_far_pairs(text, TYPES) == text


@pytest.mark.parametrize(
    "other",
    [
        "1 / left.i > 0",
        "element_at(left.a, 1) > 0",
        "hash(left.i) > 0",
        "rand() > 0.5",
        "extract(YEAR FROM current_date()) > 0",
        "reduce(zip_with(left.n, right.n, (x, y) -> abs(x - y)), 0, (s, t) -> s + t) < 5",
    ],
)
def test_what_may_fail_is_computed_for_the_same_pairs(other: str) -> None:
    """Nothing comes before a condition that may fail, or of which that is not known; wherever it stands."""
    for text in (f"{other} AND {CLOSE} < 0.5", f"{CLOSE} < 0.5 AND ({other})"):
        assert without_far_pairs(text, TYPES) == text


def test_conditions_that_find_rows_stay_outside() -> None:
    """Spark joins by equations and filters one side by the others, which it could not do inside of a CASE."""
    text = f"left.i = right.j AND ({CLOSE} < 0.5 AND exists(left.a, x -> x > 0) AND (left.d > 0 OR left.i = 7))"
    before = without_far_pairs(text, TYPES).split(" AND (CASE ")[0]
    assert before == "left.i = right.j AND exists(left.a, x -> x > 0) AND (left.d > 0 OR left.i = 7)"


def test_equations_of_what_is_computed_stay_outside() -> None:
    """Spark finds rows by them, although they have lambdas and read both sides."""
    sizes = " = ".join(f"size(filter({given}, x -> x > 0))" for given in ("left.a", "right.b"))
    assert without_far_pairs(f"{sizes} AND {CLOSE} < 0.5", TYPES).startswith(f"{sizes} AND (CASE WHEN")


@pytest.mark.parametrize(
    ("names", "term"),
    [
        ("x, y", "abs(x - y + length(r'x'))"),
        ("`1`, y", "abs(`1` - y + 1)"),
    ],
)
def test_literals_are_no_parameters(names: str, term: str) -> None:
    """Also if they are spelled like one."""
    found = without_far_pairs(CLOSE.replace("(x, y) -> abs(x - y)", f"({names}) -> {term}") + " < 0.5", TYPES)
    last = term.partition(" + ")[2]
    assert f"abs(get(left.a, __i) - get(right.b, __i) + {last}" in found


@pytest.mark.parametrize("name", ["double", "end", "`date`", "`left`"])
def test_words_of_sql_are_no_parameters_that_are_replaced(name: str) -> None:
    """They may be something else in the term: the condition stays as it was written."""
    term = f"({name}, y) -> abs({name.strip('`')} - y + CAST(left.i AS DOUBLE))"
    text = f"{CLOSE.replace('(x, y) -> abs(x - y)', term)} < 0.5"
    assert without_far_pairs(text, TYPES) == text


def test_fields_and_strings_are_no_parameters() -> None:
    """What is spelled like a parameter but is a field, a function or a text stays as it is."""
    types = TYPES | {"left.p": "STRUCT<x: DOUBLE>"}
    body = "abs(X - `y` + left.p.x + length('x'))"
    found = without_far_pairs(f"{CLOSE.replace('abs(x - y)', body)} < 0.5", types)
    assert "abs(get(left.a, __i) - get(right.b, __i) + left.p.x + length('x'))" in found


Lists = list[list[float | None] | None]


def drawn(rng: Random) -> Lists:
    """Return lists of which some are close: of several lengths, also empty and none, with NULL, NaN and infinities."""
    special: list[float | None] = [None, float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324]
    lists: Lists = [None, []]
    for length in (1, 31, 32, 33, 40, 70):
        base = [rng.uniform(-1, 1) for _ in range(length)]
        for noise in (0.0, 0.0, 1e-3, 0.02, 0.02, 1.0):
            found: list[float | None] = [x + rng.uniform(-noise, noise) for x in base]
            lists += [found, found[: rng.choice([3, 32, 35])]]
            if rng.random() < 0.5:
                other = [*found]
                other[rng.randrange(length)] = rng.choice(special)
                lists.append(other)
    return lists


def sides(spark: SparkSession, seed: int) -> tuple[Any, Any]:
    """Return the two sides of a join as DataFrames."""
    rng = Random(seed)
    given = [(i, values, rng.choice([0.0, 0.5, -1.0, None, float("nan")])) for i, values in enumerate(drawn(rng))]
    named = ("i INT, a ARRAY<DOUBLE>, d DOUBLE", "j INT, b ARRAY<DOUBLE>, d DOUBLE")
    left, right = (frame(spark, parse_schema(columns, time=()), given) for columns in named)
    return left, right


def pairs(rows: Any) -> list[tuple[Any, ...]]:
    """Return the pairs of a join, sorted."""
    return sorted(map(tuple, rows.collect()), key=repr)


def as_written(left: Any, right: Any, condition: str, how: str = "inner") -> list[tuple[Any, ...]]:
    """Return the pairs that Spark chooses by a condition as it is written."""
    from pyspark.sql.functions import expr

    names = ("i",) if how in ("left_semi", "left_anti") else ("i", "j")
    return pairs(left.alias("left").join(right.alias("right"), expr(condition), how).select(*names))


CONDITIONS = [
    f"{CLOSE} < 0.5",
    f"{CLOSE} > 0 AND 0.05 >= {CLOSE}",
    f"{CLOSE} <= left.d",
    f"{LENGTHS} < 17",
    f"{SQUARES} < 0.01 AND {CLOSE} < 30 AND left.i <> right.j",
    f"{NUMBERED} < 5",
]


@pytest.mark.spark
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_same_pairs_are_chosen(spark: SparkSession, condition: str) -> None:
    """Of drawn lists: close and far, of all lengths around the first terms."""
    left, right = sides(spark, CONDITIONS.index(condition))
    found = as_written(left, right, without_far_pairs(condition, TYPES))
    assert "THEN false" in without_far_pairs(condition, TYPES)
    assert found == as_written(left, right, condition)
    assert 0 < len(found) < left.count() ** 2 / 2


@pytest.mark.spark
@pytest.mark.parametrize("how", ["left", "right", "full", "semi", "anti"])
def test_every_kind_of_join_chooses_the_same(spark: SparkSession, how: str) -> None:
    """Rows without a match stay, in a join of two relations of the engine."""
    left, right = sides(spark, 7)
    backend = SparkBackend(spark_runtime(spark))
    condition = f"{CLOSE} < 0.5 AND left.i <> right.j"
    columns = {"i": "left.i"} if how in ("semi", "anti") else {"i": "left.i", "j": "right.j"}
    joined = backend.relation(left).join(backend.relation(right), condition, how, columns).frame
    theirs = {"semi": "left_semi", "anti": "left_anti"}.get(how, how)
    assert pairs(joined) == as_written(left, right, condition, theirs)
    assert "sequence" in str(joined._jdf.queryExecution().analyzed())


@pytest.mark.spark
@pytest.mark.parametrize(
    ("right_one", "wrong", "condition"),
    [
        ("NOT (", "(", f"{CLOSE} < 0.5"),
        ("< 0.5", "< 0.1", f"{CLOSE} < 0.5"),
        ("size(left.a) > 32", "size(left.a) >= 0", f"{LENGTHS} < 12"),
        ("sequence(0, size(left.a) - 1)", "sequence(0, size(left.a))", f"{LENGTHS} < 17"),
    ],
)
def test_a_wrong_check_is_found(spark: SparkSession, right_one: str, wrong: str, condition: str) -> None:
    """The comparisons above would find it: another comparison, another bound, and terms that the sum does not have."""
    left, right = sides(spark, 0)
    check, written = without_far_pairs(condition, TYPES).split(" ELSE ")
    assert right_one in check
    mutant = f"{check.replace(right_one, wrong)} ELSE {written}"
    assert as_written(left, right, mutant) != as_written(left, right, condition)


@pytest.mark.spark
def test_terms_that_may_be_negative_are_found(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that falls later would be excluded by its first terms."""
    monkeypatch.setattr("tidegate.flow.agreed.early._not_negative", lambda _: True)
    condition = f"{CLOSE.replace('abs(x - y)', 'x - y')} < 0.25"
    rising = [(0, [1.0] * 35 + [-1.0] * 35, 0.0)]
    zeros = [(0, [0.0] * 70, 0.0)]
    left = frame(spark, parse_schema("i INT, a ARRAY<DOUBLE>, d DOUBLE", time=()), rising)
    right = frame(spark, parse_schema("j INT, b ARRAY<DOUBLE>, d DOUBLE", time=()), zeros)
    assert as_written(left, right, condition) == [(0, 0)]
    assert as_written(left, right, without_far_pairs(condition, TYPES)) == []


@pytest.mark.spark
@pytest.mark.parametrize("early", [False, True])
def test_a_window_join_gives_what_the_specification_gives(spark: SparkSession, early: bool) -> None:
    """Pairs of close lists in windows, of a stream with itself."""
    flow = tg.Flow("close")
    rows = flow.source("s", "t INT, i INT, a ARRAY<DOUBLE>", time="t")
    others = rows.select("i AS j", "a AS b")
    where = f"{CLOSE} > 0 AND {CLOSE} < 0.5"
    joined = rows.window_join(others, size=10, on=(), where=where, early=early)
    flow.sink("out", joined.select("i", "j"))
    given: Rows = {"s": [(i // 8, i, values) for i, values in enumerate(drawn(Random(3)))]}
    found = sorted(by_spark(spark, flow, given))
    assert found == sorted(by_reference(flow, given))
    assert found
