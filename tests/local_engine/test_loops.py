"""Loops on the local engine: DuckDB goes round by itself while little changes."""

from __future__ import annotations

from typing import Any

import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.local_engine.engine import by_local
from tests.spark.loops import built, by_specification
from tidegate.engine.loops import rounds
from tidegate.flow.errors import NotConverging
from tidegate.local_engine.backend import LocalBackend


def counted_rounds(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Note how many rounds each query repeats, of which a loop is made."""
    found: list[int | None] = []
    real = LocalBackend.repeated

    def repeated(*arguments: Any, **options: Any) -> Any:
        block = real(*arguments, **options)
        found.append(block and max(block.rows.fetch().column("__round").to_pylist()))
        return block

    monkeypatch.setattr(LocalBackend, "repeated", repeated)
    return found


def components(edges: list[tuple[int, int, int]]) -> list[tuple[Any, ...]]:
    """Run components on edges: a version, and two nodes."""
    flow = tg.Flow("components")
    given = flow.source("edges", "version INT, src INT, dst INT", time="version")
    flow.sink("out", tg.graph.components(given, "src", "dst"))
    return by_local(flow, {"edges": edges})


def test_a_long_chain_is_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rounds as nodes: they are all repeated by one query, in one version and in two."""
    found = counted_rounds(monkeypatch)
    assert sorted(components([(0, i, i + 1) for i in range(100)])) == [(0, i, 0) for i in range(101)]
    later = components([(0, i, i + 1) for i in range(1, 100)] + [(1, 1, 0)])
    assert sorted(later) == [(0, i, 1) for i in range(1, 101)] + [(1, i, 0) for i in range(101)]
    assert found == [100, 100]


def test_many_facts_at_once_are_a_round_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub in a chain: a query ends when there are many facts; after the round that follows, another one goes on."""
    monkeypatch.setattr(rounds, "_FEW", 20)
    found = counted_rounds(monkeypatch)
    chain = [(0, i, i + 1, 1) for i in range(6)]
    hub = [(0, 6, i, 1) for i in range(10, 60)] + [(0, 59, 60, 1), (0, 60, 61, 1)]
    flow = built("distances", pairs=False)
    given = {"edges": [*chain, *hub], "sources": [(0, 0)], "listed": []}
    assert_same_rows(by_local(flow, given), by_specification(flow, given))
    assert found == [7, 1]


@pytest.mark.parametrize("limit", [4, 11, 30])
def test_a_loop_without_an_end_says_what_changed_last(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """The last rounds before the limit are counted, whichever were repeated by a query."""
    found = counted_rounds(monkeypatch)
    flow = tg.Flow("endless")
    edges = flow.source("edges", "version INT, src INT, dst INT", time="version")
    step = "SELECT e.dst AS node, k.x + 1 AS x FROM known k JOIN input e ON e.src = k.node"
    start = "SELECT src AS node, 0 AS x FROM input"
    flow.sink("out", edges.iterate(start=start, step=step, key="node", keep="max(x) AS x", limit=limit))
    numbers = ", ".join(["2"] * min(limit, 10))
    with pytest.raises(
        NotConverging, match=f"after {limit} rounds\n  facts that changed in the last rounds: {numbers}\n"
    ):
        by_local(flow, {"edges": [(1, 0, 1), (1, 1, 0)]})
    assert found == ([limit - 10] if limit > 10 else [])
