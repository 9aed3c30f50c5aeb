"""Loops of flows with a feedback edge, on simulated workers: they say what the specification says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.flow import graphs
from tests.flow.graphs import Edge

import tidegate as tg
from tidegate.check.loops import simulated
from tidegate.flow.loops.query import Branch
from tidegate.flow.values import freeze
from tidegate.sim.loop import LoopBody, Timed
from tidegate.spec import DT

Build = Callable[[tg.Stream], tg.Stream]

LOOPS: dict[str, Build] = {
    "components": lambda edges: edges.iterate(
        start="SELECT src AS node, src AS label FROM input UNION ALL SELECT dst, dst FROM input",
        step="SELECT e.dst AS node, k.label FROM known k JOIN input e ON e.src = k.node "
        "UNION ALL SELECT e.src, k.label FROM known k JOIN input e ON e.dst = k.node",
        key="node",
        keep="min(label) AS label",
    ),
    "distances with the last node": lambda edges: edges.iterate(
        start="SELECT src AS node, 0 AS dist, src AS via FROM input WHERE src = 0",
        step="SELECT dst AS node, k.dist + e.weight AS dist, k.node AS via FROM known k, input e WHERE e.src = k.node",
        key="node",
        keep=("min(dist) AS dist", "min_by(via, dist) AS via"),
    ),
    "reached from a table": lambda edges: edges.iterate(
        start="SELECT node FROM seeds",
        step="SELECT e.dst AS node FROM known k JOIN input e ON e.src = k.node "
        "UNION ALL SELECT s.next FROM known k JOIN seeds s ON s.node = k.node WHERE s.next IS NOT NULL",
        key="node",
        keep=(),
        also={"seeds": edges.flow.table("seeds", "node INT, next INT")},
    ),
    "marks that go on together only": lambda edges: edges.iterate(
        start="SELECT src AS node, weight AS marks FROM input WHERE src < 2",
        step="SELECT dst AS node, k.marks FROM known k, input e WHERE e.src = k.node AND (node < 2 OR k.marks & 3 = 3)",
        key="node",
        keep="bit_or(marks) AS marks",
    ),
}
SEEDS = [{"node": 2, "next": 7}, {"node": 7, "next": None}, {"node": 7, "next": 3}]
small = st.one_of(
    st.tuples(st.just(False), graphs.edges(st.integers(0, 2), nodes=4, most=6)),
    st.tuples(st.just(True), graphs.edges(st.tuples(st.integers(0, 1), st.integers(0, 1)), nodes=4, most=5)),
)
workers = st.integers(1, 3)
seeds = st.integers(0, 2**32)


def both(
    build: Build,
    pairs: bool,
    drawn: list[Edge],
    count: int,
    seed: int,
    stalls: float = 0.02,
    body: type[LoopBody] = LoopBody,
) -> tuple[Counter[Any], Counter[Any]]:
    """What the specification says, and what the workers say: facts with their times."""
    flow = tg.Flow("loop")
    edges = graphs.source(flow, pairs=pairs)
    flow.sink("out", build(edges))
    tables = {table.id: SEEDS for table in flow.plan.tables}
    events = graphs.events(edges.schema, drawn)
    rows: list[Timed] = [(event.t, ("input", event.d)) for event in events]
    found = simulated(flow.plan, rows, tables, workers=count, seed=seed, stalls=stalls, body=body)
    n = len(edges.schema.time)
    expected = [
        (e.t, list(e.d.values())[n:]) for e in flow.reference({"edges": events, **tables})["out"] if isinstance(e, DT)
    ]
    return (
        Counter((t, freeze(values)) for t, values in expected),
        Counter((t, freeze(list(fact.values()))) for t, fact in found),
    )


@given(
    name=st.sampled_from(sorted(LOOPS)),
    drawn=small,
    count=workers,
    seed=seeds,
    stalls=st.sampled_from([0.0, 0.02, 0.3]),
)
def test_workers_say_what_the_specification_says(
    name: str, drawn: tuple[bool, list[Edge]], count: int, seed: int, stalls: float
) -> None:
    """Under every schedule, on 1 to 3 workers, on total and product orders: the same facts at the same times."""
    expected, found = both(LOOPS[name], *drawn, count, seed, stalls)
    assert found == expected


# Mutants: each must be caught by the comparison above, on a graph that is made for it.


class Hasty(LoopBody):
    """It answers when all rows of a time have come, whatever still goes round."""

    def at_rest(self, t: Any, frontiers: Any) -> bool:
        return not any(self.order.le(s, t) for s, _ in frontiers["rows"])


class OneSided(LoopBody):
    """New rows do not meet what is known already."""

    def known(self) -> list[Timed]:
        return []


class Apart(LoopBody):
    """What two sides of a product know is not put together where both are known."""

    def learn(self, t: Any, fact: Any) -> list[Timed]:
        return [(s, known) for s, known in super().learn(t, fact) if s == t]


CHAIN: list[Edge] = [(0, 0, 1, 1), (0, 1, 2, 1), (0, 2, 3, 1), (1, 3, 4, 1)]
FORK: list[Edge] = [(0, 0, 1, 1), (1, 0, 2, 1)]
DIAMOND: list[Edge] = [((0, 0), 2, 3, 1), ((0, 1), 0, 2, 1), ((1, 0), 1, 2, 2), ((1, 1), 9, 9, 1)]
MUTANTS: list[tuple[type[LoopBody], str, bool, list[Edge]]] = [
    (Hasty, "components", False, CHAIN),
    (OneSided, "distances with the last node", False, FORK),
    (Apart, "marks that go on together only", True, DIAMOND),
]


@pytest.mark.parametrize(("mutant", "name", "pairs", "drawn"), MUTANTS)
def test_a_mutant_shows(mutant: type[LoopBody], name: str, pairs: bool, drawn: list[Edge]) -> None:
    """A stale round, half of the semi-naive step, or a join of times that is left out is found by the comparison."""
    runs = [both(LOOPS[name], pairs, drawn, 2, seed, body=mutant) for seed in range(3)]
    assert any(expected != found for expected, found in runs)
    expected, found = both(LOOPS[name], pairs, drawn, 2, 0)
    assert expected == found


def test_the_lesser_of_two_times_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact that holds since the earliest of its rows, and not since the latest, is found by the comparison."""
    times = Branch.times

    def earliest(self: Branch, columns: Any) -> tuple[str, ...]:
        return tuple(sql.replace("greatest", "least") for sql in times(self, columns))

    monkeypatch.setattr(Branch, "times", earliest)
    expected, found = both(LOOPS["components"], False, CHAIN, 2, 0)
    assert expected != found
