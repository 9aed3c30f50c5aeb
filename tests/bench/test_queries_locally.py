"""The 24 queries on the local engine give what a few lines of plain Python give, as on Spark, and in every form."""

from __future__ import annotations

import pytest
from bench.aggregates.queries import PUBLISHED, QUERIES
from tests.bench.given import CHANGES, PAIRS, QUICK, changed, edges, given, rounded
from tests.flow.case import assert_same_rows
from tests.flow.plain import plain
from tests.flow.specified import by_reference
from tests.local_engine.engine import by_local


@pytest.mark.parametrize(
    ("name", "using"),
    [
        pytest.param(name, using, marks=pytest.mark.slow if using else [])
        for name in QUERIES
        for using in ("", "A", "A+")
    ],
)
def test_queries_give_what_plain_python_gives(name: str, using: str) -> None:
    """Dedicated, and composed of A or of A+: the rows that Spark has to give for the same input."""
    rows = given(name)
    expected = plain(name, *rows.values())
    assert expected
    flow = QUERIES[name]()
    found = by_local(flow.to_aggregates(using=using) if using else flow, rows)
    assert_same_rows(sorted(map(rounded, found)), sorted(map(rounded, expected)))


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in QUERIES])
def test_the_reference_gives_what_plain_python_gives(name: str) -> None:
    """It admits the expressions of all queries."""
    rows = given(name)
    found = by_reference(QUERIES[name](), rows)
    assert_same_rows(sorted(map(rounded, found)), sorted(map(rounded, plain(name, *rows.values()))))


@pytest.mark.parametrize(("program", "name"), [(program, name) for program in PUBLISHED for name in PUBLISHED[program]])
def test_published_queries_give_what_plain_python_gives(program: str, name: str) -> None:
    """Where a program of the authors differs from their table, it is there as well, and gives other rows on these."""
    rows = given(name)
    expected = plain(name, *rows.values(), published=program)
    found = by_local(PUBLISHED[program][name](), rows)
    assert_same_rows(sorted(map(rounded, found)), sorted(map(rounded, expected)))
    assert sorted(map(rounded, expected)) != sorted(map(rounded, plain(name, *rows.values())))


@pytest.mark.parametrize("name", [name for name in PUBLISHED["spark"] if name.endswith("J")])
@pytest.mark.parametrize("program", PAIRS)
def test_joins_of_texts_differ_at_their_edges(program: str, name: str) -> None:
    """The table and each program give the pairs that were worked out by hand, and so does plain Python."""
    rows = edges(name)
    found = by_local((PUBLISHED[program] if program else QUERIES)[name](), {"texts": rows})
    for pairs in (found, plain(name, rows, published=program)):
        assert {row[2][0] + row[3][0] for row in pairs} == PAIRS[program]
    assert_same_rows(sorted(found), sorted(plain(name, rows, published=program)))


def test_changes_are_split_as_java_splits_them() -> None:
    """What is empty at the end is no part, and an end of line after a blank is one."""
    for engine in (by_local, by_reference):
        pairs = engine(QUERIES["LLJ"](), {"texts": changed()})
        assert {(int(row[2][-2]), row[1]) for row in pairs} == set(enumerate(CHANGES.values()))
