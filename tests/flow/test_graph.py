"""Graphs that change, on the specification: every version is what a plain algorithm says of its edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.flow import graphs
from tests.flow.graphs import SOURCE, Edge, Known

import tidegate as tg
from tidegate.flow.errors import BadArgument, NotConverging, UnknownColumn
from tidegate.spec import DT, WM

Built = Callable[..., tg.Stream]

ALGORITHMS: dict[str, tuple[Built, Known]] = {
    "components": (lambda e, **o: tg.graph.components(e, "src", "dst", **o), graphs.union_find),
    "shortest_paths": (
        lambda e, **o: tg.graph.shortest_paths(e, "src", "dst", "weight", SOURCE, **o),
        graphs.dijkstra,
    ),
    "reachable": (lambda e, **o: tg.graph.reachable(e, "src", "dst", SOURCE, **o), graphs.reached),
    "triangles": (lambda e, **o: tg.graph.triangles(e, "src", "dst", **o), graphs.triples),
}
either_order = st.one_of(
    st.tuples(st.just(False), graphs.on_total),
    st.tuples(st.just(True), graphs.on_pairs),
)


def answers(build: Built, drawn: list[Edge], *, pairs: bool, **options: Any) -> tuple[Any, dict[Any, list[Any]]]:
    """What the specification answers at each time: rows without their time."""
    flow = tg.Flow("graph")
    edges = graphs.source(flow, pairs=pairs)
    flow.sink("out", build(edges, **options))
    found: dict[Any, list[Any]] = {}
    for event in flow.reference({"edges": graphs.events(edges.schema, drawn)})["out"]:
        assert isinstance(event, DT)
        found.setdefault(event.t, []).append(tuple(event.d.values())[len(edges.schema.time) :])
    return edges.schema, found


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "components"])
@given(drawn=either_order)
def test_complete_is_what_is_true_of_each_version(name: str, drawn: tuple[bool, list[Edge]]) -> None:
    """At every time that carries an edge, all facts, each once, are those of the edges at or below it."""
    build, known = ALGORITHMS[name]
    schema, found = answers(build, drawn[1], pairs=drawn[0], emit="complete")
    for t, expected in graphs.versions(schema, drawn[1], known).items():
        assert sorted(found.get(t, [])) == sorted(expected)


@given(drawn=either_order)
def test_update_is_what_is_new_in_each_version(drawn: tuple[bool, list[Edge]]) -> None:
    """Updates at or below a time make what is true there; none could be left out, as none was known below."""
    build, known = ALGORITHMS["components"]
    schema, found = answers(build, drawn[1], pairs=drawn[0], emit="update")
    for t, expected in graphs.versions(schema, drawn[1], known).items():
        below = best([row for s, rows in found.items() if s != t and schema.order.le(s, t) for row in rows])
        assert best([*below, *found.get(t, [])]) == expected
        assert below.isdisjoint(found.get(t, []))


def best(rows: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Of the labels of a node, the least."""
    return {(node, min(label for n, label in rows if n == node)) for node, _ in rows}


@given(
    # Versions share nothing: two times, or three of a product, show all that more would.
    drawn=st.one_of(
        st.tuples(st.just(False), graphs.edges(st.integers(0, 1))),
        st.tuples(st.just(True), graphs.edges(st.sampled_from([(0, 1), (1, 0), (1, 1)]))),
    ),
    rounds=st.integers(1, 3),
    damping=st.sampled_from([0.0, 0.5, 0.85, 1.0]),
)
def test_pagerank_is_a_power_iteration(drawn: tuple[bool, list[Edge]], rounds: int, damping: float) -> None:
    """In every version ranks are those of a plain power iteration, within 1e-12 of each other, and sum to one."""

    def build(edges: tg.Stream) -> tg.Stream:
        return tg.graph.pagerank(edges, "src", "dst", rounds=rounds, damping=damping)

    schema, found = answers(build, drawn[1], pairs=drawn[0])
    expected = graphs.versions(schema, drawn[1], lambda e: graphs.power_iteration(e, rounds, damping).items())
    assert set(found) == set(expected)
    for t, ranks in expected.items():
        got, wanted = dict(found[t]), dict(ranks)
        assert set(got) == set(wanted)
        assert all(math.isclose(got[node], wanted[node], rel_tol=1e-12, abs_tol=1e-15) for node in wanted)
        assert math.isclose(sum(got.values()), 1, rel_tol=1e-9)


SHAPES: dict[str, list[Edge]] = {
    "a chain of 60": [(1, n, n + 1, 1) for n in range(60)],
    "a chain that comes from its end": [(60 - n, n, n + 1, 1) for n in range(0, 60, 6)],
    "a star": [(1, 9, n, n % 3) for n in range(30)],
    "a clique": [(1, a, b, 1) for a in range(8) for b in range(8)],
    "self-loops": [(1, 5, 5, 0), (2, 0, 0, 3)],
    "parallel edges": [(1, 0, 1, 5), (1, 0, 1, 5), (2, 0, 1, 2), (3, 0, 1, 7)],
    "no edges": [],
    "one edge joins two": [(1, 0, 1, 1), (1, 2, 3, 1), (7, 1, 2, 1)],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_shapes(name: str, shape: str) -> None:
    """Deep, wide, dense, degenerate and empty graphs are answered like any other."""
    build, known = ALGORITHMS[name]
    schema, found = answers(build, SHAPES[shape], pairs=False, emit="complete")
    assert {t: set(rows) for t, rows in found.items()} == {
        t: rows for t, rows in graphs.versions(schema, SHAPES[shape], known).items() if rows
    }


def test_an_edge_without_an_end_is_passed_over() -> None:
    """A NULL end or weight is no node and no distance."""
    drawn: list[Any] = [(1, 0, 1, 2), (1, None, 1, 1), (1, 1, None, 1), (1, 1, 2, None)]
    assert sorted(answers(ALGORITHMS["components"][0], drawn, pairs=False)[1][1]) == [(0, 0), (1, 0), (2, 0)]
    assert sorted(answers(ALGORITHMS["shortest_paths"][0], drawn, pairs=False)[1][1]) == [(0, 0), (1, 2)]


def test_sources_may_be_a_table_or_a_stream() -> None:
    """A source of a table holds from the beginning; one of a stream, from its time on, and its time is a version."""
    for timed, expected in ((False, {1: [(4,), (5,)], 3: [(6,)]}), (True, {2: [(4,), (5,)], 3: [(6,)]})):
        flow = tg.Flow("graph")
        edges = graphs.source(flow)
        if timed:
            seeds = flow.source("seeds", "version INT, seed INT", time="version")
        else:
            seeds = flow.table("seeds", "seed INT")
        flow.sink("out", tg.graph.reachable(edges, "src", "dst", seeds))
        rows = {
            "edges": graphs.events(edges.schema, [(1, 4, 5, 0), (3, 5, 6, 0)]),
            "seeds": [DT(2, {"version": 2, "seed": 4})] if timed else [{"seed": 4}],
        }
        found: dict[Any, list[Any]] = {}
        for event in flow.reference(rows)["out"]:
            found.setdefault(event.t, []).append((event.d["node"],))
        assert found == expected


def test_arguments_are_checked() -> None:
    """What is no stream, no column, no source or no damping is refused with a word."""
    edges = graphs.source(tg.Flow("graph"))
    with pytest.raises(UnknownColumn, match="unknown column from"):
        tg.graph.components(edges, "from", "dst")
    with pytest.raises(BadArgument, match="expected a stream"):
        tg.graph.components([(0, 1)], "src", "dst")
    with pytest.raises(BadArgument, match="expected sources as a stream, a table"):
        tg.graph.reachable(edges, "src", "dst", 1.5)
    with pytest.raises(BadArgument, match="expected sources with one column besides time"):
        tg.graph.reachable(edges, "src", "dst", edges)
    with pytest.raises(BadArgument, match="expected damping as a number from 0 to 1, got 2"):
        tg.graph.pagerank(edges, "src", "dst", damping=2)
    with pytest.raises(BadArgument, match="expected rounds to be a whole number of at least 1, got 0"):
        tg.graph.pagerank(edges, "src", "dst", rounds=0)
    with pytest.raises(BadArgument, match="expected a number as weight, got BOOLEAN"):
        tg.graph.shortest_paths(edges, "src", "dst", "weight > 3", 0)


def test_an_edge_that_comes_late_does_not_get_in() -> None:
    """A version is final: an edge below a watermark is set aside, and later versions do not have it either."""
    flow = tg.Flow("graph")
    edges = graphs.source(flow)
    flow.sink("out", tg.graph.components(edges, "src", "dst"))
    on_time, late, then = graphs.events(edges.schema, [(1, 2, 3, 0), (1, 1, 2, 0), (2, 3, 4, 0)])
    results = flow.reference({"edges": [on_time, WM(1), late, then, WM(2)]})
    assert results["out"] == [
        DT(1, {"version": 1, "node": 2, "label": 2}),
        DT(1, {"version": 1, "node": 3, "label": 2}),
        WM(1),
        DT(2, {"version": 2, "node": 4, "label": 2}),
        WM(2),
    ]
    assert results.late == {"edges": [late]}


def test_a_version_waits_for_all_inputs_that_have_a_time() -> None:
    """An answer comes when the stream and those in also are complete there; a table holds nothing up."""
    flow = tg.Flow("graph")
    edges = graphs.source(flow)
    seeds = flow.source("seeds", "version INT, seed INT", time="version")
    flow.sink("out", tg.graph.reachable(edges, "src", "dst", seeds))
    first, second = graphs.events(edges.schema, [(1, 4, 5, 0), (2, 5, 6, 0)])
    events = flow.reference(
        {"edges": [first, WM(1), second, WM(2)], "seeds": [DT(1, {"version": 1, "seed": 4}), WM(1)]}
    )["out"]
    assert events[:3] == [DT(1, {"version": 1, "node": 4}), DT(1, {"version": 1, "node": 5}), WM(1)]
    # The end of the input completes the rest.
    assert [event for event in events[3:] if event != WM(1)] == [DT(2, {"version": 2, "node": 6})]


def test_a_negative_cycle_is_stopped() -> None:
    """Distances that fall for ever are an error after as many rounds as are allowed."""

    def build(edges: tg.Stream) -> tg.Stream:
        return tg.graph.shortest_paths(edges, "src", "dst", "weight", SOURCE, limit=20)

    with pytest.raises(NotConverging, match="still change after 20 rounds"):
        answers(build, [(1, 0, 1, -1), (1, 1, 0, 0)], pairs=False)
