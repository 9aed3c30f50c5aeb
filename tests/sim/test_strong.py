"""A loop inside a loop on simulated workers: strongly connected components, against plain reachability."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.sim import Simulation
from tidegate.sim.strong import strong_components
from tidegate.sim.weak import Edge

vertices = st.integers(0, 5)
graphs = st.lists(st.lists(st.tuples(vertices, vertices), max_size=9), min_size=1, max_size=3)
seeds = st.integers(0, 2**32)
stalls = st.sampled_from([0.0, 0.02, 0.3])


def plain(edges: list[Edge]) -> dict[int, int]:
    """The greatest vertex of the component of each vertex: those that it reaches and that reach it."""
    reached = {v: {v} for edge in edges for v in edge}
    for _ in reached:
        for s, d in edges:
            for found in reached.values():
                if s in found:
                    found.add(d)
    return {v: max(u for u in reached[v] if v in reached[u]) for v in reached}


def answers(simulation: Simulation, version: int) -> dict[int, int]:
    """The components of a version, as they were known when it was said to be complete."""
    return {v: c for sink in simulation.instances("d") for v, c in sink.complete.get(version, {}).items()}


@given(graphs, st.integers(1, 4), seeds, stalls)
def test_components_are_those_of_plain_reachability(
    versions: list[list[Edge]], workers: int, seed: int, stalling: float
) -> None:
    """Under every schedule, on 1 to 4 workers, the components of every graph are found, and nothing is left over."""
    simulation = Simulation(strong_components(versions), workers=workers)
    simulation.run(seed=seed, stalls=stalling)
    for version, edges in enumerate(versions):
        assert answers(simulation, version) == plain(edges)
    assert all(not simulation.frontier(w, l) for w in simulation.workers for l in simulation.graph.locations)


def test_the_outer_loop_goes_round_more_than_once() -> None:
    """A path takes one outer round for each vertex: what the inner loops find shrinks what the next round has."""
    path = [(3, 2), (2, 1), (1, 0)]
    simulation = Simulation(strong_components([path]), workers=2)
    schedule = simulation.run(seed=3)
    assert answers(simulation, 0) == {v: v for v in range(4)}
    assert sum(str(action).endswith(" f") and str(action).startswith("receive") for action in schedule) == 3 + 2 + 1


@settings(max_examples=5)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=3), st.integers(1, 2), seeds)
def test_the_paper_holds_after_every_action(edges: list[Edge], workers: int, seed: int) -> None:
    """With times of one, two and three components, all that the paper states holds after every action."""
    simulation = Simulation(strong_components([edges]), workers=workers, check=True)
    simulation.run(seed=seed)
    assert answers(simulation, 0) == plain(edges)


@pytest.mark.slow
@settings(max_examples=30)
@given(graphs, st.integers(2, 3), seeds, stalls)
def test_the_paper_holds_after_every_action_of_longer_runs(
    versions: list[list[Edge]], workers: int, seed: int, stalling: float
) -> None:
    """The same on larger graphs."""
    simulation = Simulation(strong_components(versions), workers=workers, check=True)
    simulation.run(seed=seed, stalls=stalling)
    for version, edges in enumerate(versions):
        assert answers(simulation, version) == plain(edges)
