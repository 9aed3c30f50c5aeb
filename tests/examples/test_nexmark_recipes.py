"""The page of recipes has the queries: each is there, and means what the file of queries says."""

from __future__ import annotations

import doctest
from typing import Any

import pytest
from examples.nexmark.queries import QUERIES, flow_of
from tests.test_docs import ROOT, blocks

from tidegate.flow import Stream


@pytest.fixture(scope="module")
def recipes() -> dict[str, Any]:
    """What the page makes. What it shows of that is a test of its own, and takes longer."""
    names: dict[str, Any] = {}
    for _, body in blocks(ROOT / "docs" / "nexmark-recipes.md"):
        for example in doctest.DocTestParser().get_examples(body):
            if not example.want:
                exec(compile(example.source, "nexmark-recipes.md", "exec"), names)
    return names


def meaning(stream: Stream) -> str:
    """Return a stream's fingerprint, which depends on all that comes before it."""
    stream.flow.sink("out", stream, replace=True)
    return stream.flow.plan.fingerprint(stream.id)


@pytest.mark.parametrize("query", QUERIES)
def test_each_recipe_is_the_query(recipes: dict[str, Any], query: str) -> None:
    """The stream that the page calls by the name of a query is the one that the query gives."""
    plan = flow_of(query).plan
    assert meaning(recipes[query]) == plan.fingerprint(plan.sinks[0].input)


def test_another_recipe_would_be_noticed(recipes: dict[str, Any]) -> None:
    """A session that ends a second later is another query."""
    plan = flow_of("q11").plan
    longer = recipes["bids"].session("3 seconds").aggregate(by="bidder", bids="count(*)")
    assert meaning(longer) != plan.fingerprint(plan.sinks[0].input)
