"""Patterns that end with ``$``: what they match before the end of line at the end of a text."""

from __future__ import annotations

import re
from itertools import product

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.flow.agreed.compile import Refused, compiled
from tidegate.flow.agreed.regexes import Regex

#: All short texts of these: ends of lines, a space, letters.
TEXTS = ["".join(letters) for size in range(5) for letters in product("ab \r\n\x85", repeat=size)]
#: Java's ``$`` in Python: at the end, and before the end of line there, but not between CR and LF.
DOLLAR = "(?:\\Z|(?=\r\n\\Z)|(?<!\r)(?=\n\\Z)|(?=[\r\x85\u2028\u2029]\\Z))"
IN_PYTHON = {r"\s": r"[\t\n\v\f\r ]", r"\D": "[^0-9]", ".": "[^\n\r\x85\u2028\u2029]"}
ATOMS = ["a", "b", r"\s", "[^a]", "[^b]", ".", r"[\r]", r"[\n]", r"[a\n]", r"\D", "(a)", r"(\s)", "[ab]"]
ATOMS += [r"(?:a\s*)", r"(?:\s+b)", r"(\s+)", r"(?:\s+b\s*)", r"(?:a?\s+)"]
QUANTIFIERS = ["", "", "", "+", "*", "?", "+?", "{2,}", "{1,2}"]
PATTERNS = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """A table with all texts."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    texts = TEXTS[::3]
    connection.execute(
        "CREATE TABLE texts AS SELECT unnest(?) AS s, unnest(?) AS row", [texts, list(range(len(texts)))]
    )
    return connection


def computed(connection: duckdb.DuckDBPyConnection, text: str) -> list[object] | None:
    """Compute an expression for all texts; None if it is refused."""
    try:
        sql = compiled(text, {"s": "STRING"}).sql
    except Refused:
        return None
    return [row[0] for row in connection.execute(f"SELECT {sql} FROM texts ORDER BY row").fetchall()]


@given(parts=PATTERNS, anchored=st.booleans())
def test_what_ends_with_a_dollar_matches_as_in_java(
    connection: duckdb.DuckDBPyConnection, parts: list[tuple[str, str]], anchored: bool
) -> None:
    """Whether a pattern is found, what it matches first, and all that it matches: as in Java, or it is refused."""
    written = ("^" if anchored else "") + "".join(atom + quantifier for atom, quantifier in parts) + "$"
    python = "".join(atom + quantifier for atom, quantifier in parts)
    for java, other in IN_PYTHON.items():
        python = python.replace(java, other)
    pattern = re.compile(("\\A" if anchored else "") + python + DOLLAR)
    texts = TEXTS[::3]
    escaped = written.replace("\\", "\\\\")
    assert computed(connection, f"s RLIKE '{escaped}'") == [bool(pattern.search(text)) for text in texts]
    first = computed(connection, f"regexp_extract(s, '{escaped}', 0)")
    assert first in (None, [found[0] if (found := pattern.search(text)) else "" for text in texts])
    replaced = computed(connection, f"regexp_replace(s, '{escaped}', '-')")
    assert replaced in (None, [pattern.sub("-", text) for text in texts])


@pytest.mark.parametrize("pattern", ["a", "ab", " ", r"\s", r"\s+", "[ab]", "[ab]+", "[a]", " +", r"[ \r]+", r"\n"])
def test_texts_are_split_as_by_their_pattern(connection: duckdb.DuckDBPyConnection, pattern: str) -> None:
    """Where a text is not split by a pattern, it is split at the same places; empty parts are there, too."""
    python = pattern
    for java, other in IN_PYTHON.items():
        python = python.replace(java, other)
    escaped = pattern.replace("\\", "\\\\")
    assert computed(connection, f"split(s, '{escaped}')") == [re.split(python, text) for text in TEXTS[::3]]


def test_two_in_a_row_that_are_not_looked_for_are_found(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison above would find it if a text with two separators in a row were split at each of them."""
    monkeypatch.setattr(Regex, "separators", property(lambda _: (" \n", False)))
    assert computed(connection, r"split(s, '[ \n]+')") != [re.split("[ \n]+", text) for text in TEXTS[::3]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"'a\r\n' RLIKE 'a\\s$'", False),
        (r"'a\n' RLIKE 'a\\s$'", True),
        (r"'a\r\n' RLIKE '\\s$'", True),
        (r"'a\r\n' RLIKE 'a\\r$'", False),
        (r"'\r\n' RLIKE '^$'", True),
        (r"regexp_replace('a \r\n', '\\s+$', '-')", "a-"),
        (r"regexp_replace('a\u0085', 'a\\s*$', '-')", "-\u0085"),
        (r"regexp_extract('a, b\n', '([^,]+)$', 1)", " b\n"),
        (r"regexp_extract(' x\n', '^\\s*([a-z]+)$', 1)", "x"),
        (r"regexp_replace('a\n', '[^,]*a$', '-')", "-\n"),
    ],
)
def test_ends_of_lines_at_the_end_are_sparks(text: str, expected: object) -> None:
    """What Spark 4.3 answers for texts that end with the end of a line."""
    assert duckdb.sql(f"SELECT {compiled(text, {}).sql}").fetchall() == [(expected,)]


@pytest.mark.parametrize("pattern", [r"\\s$", r"[^a]$", r"[\\n]+$", r"\\s+?$", r"a\\s{1,2}$", r"(?:a|\\s)+$"])
@pytest.mark.parametrize("call", ["regexp_replace('a', '{}', '-')", "regexp_extract('a', '{}', 0)"])
def test_what_could_match_the_end_of_line_again_is_refused(call: str, pattern: str) -> None:
    """Java goes on after the end of line that ``$`` looked past; where that could be seen, the call is refused."""
    with pytest.raises(Refused) as caught:
        compiled(call.format(pattern), {})
    assert caught.value.why == "the part of the pattern before $ can match a line end"
