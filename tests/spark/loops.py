"""Loops of every kind, on graphs that are drawn: each is run by the specification and by the engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.flow import graphs
from tests.flow.graphs import SOURCE

import tidegate as tg
from tidegate.spec import DT

Built = Callable[[tg.Stream, tg.Stream, tg.Stream], tg.Stream]


def _nearest(edges: tg.Stream, sources: tg.Stream, table: tg.Stream) -> tg.Stream:
    return edges.iterate(
        start="SELECT src AS node, 0 AS cost, src AS via, src AS origin FROM input WHERE src < 2",
        step="SELECT e.dst AS node, k.cost + e.weight AS cost, k.node AS via, k.origin FROM known k "
        "JOIN input e ON e.src = k.node WHERE k.cost + e.weight < 30",
        key="node",
        keep=("min(cost) AS cost", "min_by(via, cost) AS via", "min_by(origin, cost) AS origin"),
    )


def _bits(edges: tg.Stream, sources: tg.Stream, table: tg.Stream) -> tg.Stream:
    # What two facts together allow is more than what each of them does: nodes with two bits give a third.
    return edges.iterate(
        start="SELECT src AS node, CASE dst % 3 WHEN 0 THEN 1 WHEN 1 THEN 2 ELSE 4 END AS bits FROM input",
        step="SELECT e.dst AS node, k.bits FROM known k JOIN input e ON e.src = k.node "
        "UNION ALL SELECT k.node, k.bits | 8 FROM known k WHERE k.bits % 8 IN (3, 5, 6, 7)",
        key="node",
        keep="bit_or(bits) AS bits",
    )


def _sets(edges: tg.Stream, sources: tg.Stream, table: tg.Stream) -> tg.Stream:
    return edges.iterate(
        start="SELECT dst AS node, array(src) AS before, weight AS heaviest FROM input",
        step="SELECT e.dst AS node, k.before, k.heaviest FROM known k JOIN input e ON e.src = k.node",
        key="node",
        keep=("collect_union(before) AS before", "max(heaviest) AS heaviest"),
    )


def _seeded(edges: tg.Stream, sources: tg.Stream, table: tg.Stream) -> tg.Stream:
    return edges.iterate(
        start="SELECT node, false AS timed FROM listed UNION ALL SELECT node, true FROM sources",
        step="SELECT e.dst AS node, k.timed FROM known k JOIN input e ON e.src = k.node "
        "UNION ALL SELECT l.node, k.timed FROM known k JOIN sources s ON s.node = k.node "
        "JOIN listed l ON l.node > k.node",
        key="node",
        keep="bool_or(timed) AS timed",
        also={"sources": sources, "listed": table},
    )


def _pairs(edges: tg.Stream, sources: tg.Stream, table: tg.Stream) -> tg.Stream:
    return edges.iterate(
        start="SELECT src AS a, dst AS b FROM input",
        step="SELECT k.a, e.dst AS b FROM known k JOIN input e ON e.src = k.b",
        key=("a", "b"),
        keep=(),
        emit="complete",
    )


def _counted(edges: tg.Stream, sources: tg.Stream, table: tg.Stream) -> tg.Stream:
    return edges.iterate(
        start="SELECT src AS node, 1L AS paths FROM input UNION ALL SELECT node, 1L FROM listed",
        step="WITH linked AS (SELECT src, dst FROM input UNION ALL SELECT node, node FROM sources) "
        "SELECT l.dst AS node, k.paths FROM known k JOIN linked l ON l.src = k.node",
        key="node",
        keep="sum(paths) AS paths",
        rounds=2,
        also={"sources": sources, "listed": table},
    )


LOOPS: dict[str, Built] = {
    "components": lambda e, s, t: tg.graph.components(e, "src", "dst"),
    "all components": lambda e, s, t: tg.graph.components(e, "src", "dst", emit="complete"),
    "distances": lambda e, s, t: tg.graph.shortest_paths(e, "src", "dst", "weight", SOURCE),
    "reachable": lambda e, s, t: tg.graph.reachable(e, "src", "dst", s),
    "reachable from a table": lambda e, s, t: tg.graph.reachable(e, "src", "dst", t, emit="complete"),
    "triangles": lambda e, s, t: tg.graph.triangles(e, "src", "dst"),
    "nearest": _nearest,
    "bits": _bits,
    "sets": _sets,
    "seeded": _seeded,
    "pairs": _pairs,
    "counted": _counted,
    "ranks": lambda e, s, t: tg.graph.pagerank(e, "src", "dst", rounds=2),
}


#: Whether times are pairs, and the edges of a graph that changes.
drawn_graphs = st.one_of(
    st.tuples(st.just(False), graphs.edges(st.integers(0, 3), most=14)),
    st.tuples(st.just(True), graphs.edges(st.tuples(st.integers(0, 2), st.integers(0, 2)), most=10)),
)


def built(name: str, *, pairs: bool) -> tg.Flow:
    """A flow with one loop: ``edges`` and ``sources`` are streams, ``listed`` is a table."""
    flow = tg.Flow("loop")
    edges = graphs.source(flow, pairs=pairs)
    times = "v INT, w INT" if pairs else "version INT"
    sources = flow.source("sources", f"{times}, node INT", time=("v", "w") if pairs else "version")
    flow.sink("out", LOOPS[name](edges, sources, flow.table("listed", "node INT")))
    return flow


def by_specification(flow: tg.Flow, rows: dict[str, list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """What the specification answers."""
    plan = flow.plan
    named = {
        o.id: [dict(zip(o.schema.names, r, strict=True)) for r in rows[o.id]] for o in (*plan.sources, *plan.tables)
    }
    given: dict[str, list[Any]] = {t.id: named[t.id] for t in plan.tables}
    given |= {s.id: [DT(s.schema.time_of(row), row) for row in named[s.id]] for s in plan.sources}
    return [tuple(row.values()) for row in flow.reference(given).rows("out")]


def rows_of(drawn: tuple[bool, list[graphs.Edge]]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all inputs: sources and a table are made of the edges that there are."""
    pairs, edges = drawn
    found = graphs.rows(edges)
    return {
        "edges": found,
        "sources": [(*row[: 1 + pairs], row[-2]) for row in found if row[-1] > 6],
        "listed": [(row[-3],) for row in found if row[-1] == 5],
    }


def on_both_orders(
    total: Sequence[graphs.Edge], pairs: Sequence[graphs.Edge], *, short: set[tuple[str, str]]
) -> list[Any]:
    """Parameters for each loop and order; all but the ``short`` ones are left to the long run."""
    return [
        pytest.param(
            name,
            (order == "pairs", list(edges)),
            id=f"{order}-{name}",
            marks=[] if (order, name) in short else pytest.mark.slow,
        )
        for order, edges in (("total", total), ("pairs", pairs))
        for name in LOOPS
    ]
