"""What is not known to agree is refused, by name and with its place."""

from __future__ import annotations

import pytest
from tests.flow.agreed_expressions import SCHEMA, TYPES, translated

from tidegate.flow.aggregates import aggregation
from tidegate.flow.agreed.compile import Refused
from tidegate.flow.duck import Duck
from tidegate.flow.errors import BadExpression, NotSupported
from tidegate.flow.translate import admitted, check_functions

#: What means something else in DuckDB, or may, and what is said about it.
REFUSED = {
    "dt - du": "DATE - DATE",
    "ts - tt": "TIMESTAMP - TIMESTAMP",
    "CAST(d AS STRING)": "CAST(DOUBLE AS STRING)",
    "CAST(d AS DECIMAL(10,2))": "CAST(DOUBLE AS DECIMAL(10,2))",
    "string(f)": "CAST(FLOAT AS STRING)",
    "hash(i)": "hash",
    "xxhash64(i)": "xxhash64",
    "initcap(s)": "initcap",
    "dec / 3": "DECIMAL(10,2) / INT",
    "s + 1": "+ of STRING and INT",
    "s = 1": "= of STRING and INT",
    "i || s": "INT where STRING is needed",
    "i | j & n": "| beside &",
    "s || u + 1": "+ beside ||",
    "i = j = n": "= of a condition",
    "s RLIKE u": "RLIKE with a pattern that is not a literal",
    "s RLIKE '(?i)a'": "RLIKE with this pattern",
    "s RLIKE '\\\\bfoo'": "RLIKE with this pattern",
    "regexp_replace(s, 'a*', '-')": "regexp_replace",
    "regexp_replace(s, 'a', 'b', 2)": "regexp_replace(STRING, STRING, STRING, INT)",
    "regexp_extract(s, '(a)+')": "regexp_extract",
    "s ILIKE 'a'": "ilike",
    "s LIKE u": "LIKE with a pattern that is not a literal",
    "s LIKE 'a\\\\b'": "LIKE with this pattern",
    "split(s, '')": "split",
    "split(s, ',', 2)": "split(STRING, STRING, INT)",
    "date_format(ts, 'w')": "date_format",
    "date_trunc('decade', ts)": "date_trunc",
    "ts + INTERVAL '1 2' DAY TO HOUR": "TIMESTAMP + this interval",
    "dt + INTERVAL 1 HOUR": "DATE + this interval",
    "CAST(s AS TIMESTAMP)": "CAST(STRING AS TIMESTAMP)",
    "CAST(arr AS ARRAY<STRING>)": "CAST(ARRAY<INT> AS ARRAY<STRING>)",
    "st < su": "STRUCT<a: INT, b: STRING> < STRUCT<a: INT, b: STRING>",
    "locate('a', s, 2)": "locate(STRING, STRING, INT)",
    "round(d, -1)": "round",
    "round(f, 2)": "round(FLOAT, INT)",
    "array_sort(arr, (x, y) -> x - y)": "array_sort(ARRAY<INT>, a function)",
    "trim(i)": "trim(INT)",
    "current_date": "the column current_date",
    "named_struct('a')": "named_struct with a name that has no value",
    "named_struct('a', 1, 'b')": "named_struct with a name that has no value",
    "named_struct()": "named_struct without fields",
    "named_struct('a', 1, 'A', 2)": "named_struct with two fields of the same name",
    "struct(x -> x)": "lambda",
    "1.5BD": "the literal 1.5BD",
    "NULL + NULL": "+ of NULL and NULL",
    "round(NULL, 2)": "round(NULL, INT)",
    "regexp_replace(s, '\\\\s$', '')": "regexp_replace",
    "try_cast(i / n AS INT)": "try_cast of an expression that can itself fail",
    "s AND bo": "STRING as a condition",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_may_differ_is_refused(text: str) -> None:
    """What is not in the table is refused by name, types included, with its place."""
    with pytest.raises(Refused) as caught:
        translated(text)
    assert caught.value.what == REFUSED[text]
    start, end = caught.value.span
    assert 0 <= start < end <= len(text)


@pytest.mark.parametrize("text", ["xxhash64(i)", "timestampdiff(DAY, ts, tt)", "initcap(s)", "mode(i)"])
def test_a_function_is_refused_by_its_name(text: str) -> None:
    """What no types agree for is refused before types are known, and so is what only the engine may write."""
    check_functions("upper(s) || string(i)")
    with pytest.raises(NotSupported, match=f"cannot compute {text.partition('(')[0]} as Spark does"):
        check_functions(text)


def test_a_refusal_in_a_call_points_at_the_place() -> None:
    """What is refused in an argument of an aggregate is shown where it stands in the call."""
    calls = aggregation((), ["max(i) + sum(length(initcap(s))) AS x"], {}, SCHEMA)
    with pytest.raises(
        NotSupported, match=r"cannot compute initcap .*\n  sum\(length\(initcap\(s\)\)\)\n             \^{7}\n"
    ):
        Duck().aggregates([[]], SCHEMA, calls, [{}], ())


def test_a_refusal_points_at_the_place() -> None:
    """The message shows the expression, with carets below what is refused."""
    with pytest.raises(NotSupported) as caught:
        admitted("i + length(initcap(s))", TYPES, who="the local engine")
    assert str(caught.value) == (
        "the local engine cannot compute initcap as Spark does\n"
        "  i + length(initcap(s))\n"
        "             ^^^^^^^\n"
        "  hint: run this flow on Spark instead"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("s RLIKE 'a++'", "the pattern has a possessive quantifier, such as *+ or ++, which DuckDB does not have"),
        ("s RLIKE 'a|b$'", "$ is supported only at the end of the pattern, outside of groups and of |"),
        ("s RLIKE '(a'", "the pattern ends inside of (…) or […], or after a backslash"),
        ("regexp_extract(s, '(a)+')", "a group of the pattern is repeated, as in (a)+"),
        ("split(s, '')", "the pattern can match an empty text, or ends with $"),
        ("date_format(ts, 'w')", "w in a format is not supported"),
        ("round(d, -1)", "the number of decimals is not between 0 and 15"),
    ],
)
def test_a_refusal_says_why(text: str, why: str) -> None:
    """If only some arguments of a function are refused, the message says in a sentence what is wrong with them."""
    with pytest.raises(Refused) as caught:
        translated(text)
    assert caught.value.why == why


@pytest.mark.parametrize(
    "text", ["max_by(s, i, 2)", "sum(s)", "avg(dec)", "max(m)", "median(dec)", "first(s) OVER (ORDER BY i)"]
)
def test_an_aggregate_of_other_arguments_is_refused(text: str) -> None:
    """An argument or a type for which a function is not known to agree is refused, not ignored."""
    with pytest.raises((NotSupported, BadExpression)):
        Duck().aggregates([[]], SCHEMA, aggregation((), [f"{text} AS x"], {}, SCHEMA), [{}], ())
