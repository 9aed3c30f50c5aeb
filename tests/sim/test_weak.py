"""Weakly connected components on simulated workers, against a union-find; and what a broken frontier would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from tidegate.sim import BrokenFrontier, InvariantViolated, Schedule, Simulation, shrink
from tidegate.sim.actions import Propagate, Receive
from tidegate.sim.protocol import SimulatedProtocol
from tidegate.sim.weak import Edge, Labels, weak_components
from tidegate.time import Antichain

Versions = list[list[Edge]]

vertices = st.integers(0, 7)
versions_of_edges = st.lists(st.lists(st.tuples(vertices, vertices), max_size=5), min_size=1, max_size=4)
seeds = st.integers(0, 2**32)
stalls = st.sampled_from([0.0, 0.02, 0.3])


def union_find(versions: Versions, version: int) -> dict[int, int]:
    """The least vertex of the component of each vertex, over the edges up to a version."""
    parent: dict[int, int] = {}

    def root(x: int) -> int:
        parent.setdefault(x, x)
        while parent[x] != x:
            x = parent[x]
        return x

    for edges in versions[: version + 1]:
        for s, d in edges:
            a, b = root(s), root(d)
            parent[max(a, b)] = min(a, b)
    return {x: root(x) for x in parent}


def answers(simulation: Simulation, version: int) -> dict[int, int]:
    """The labels of a version, as they were known when it was said to be complete."""
    return {vertex: label for sink in simulation.instances("d") for vertex, label in sink.answers(version).items()}


def at_rest(simulation: Simulation) -> bool:
    """Return whether nothing is left: all frontiers are empty on all workers."""
    return all(not simulation.frontier(w, l) for w in simulation.workers for l in simulation.graph.locations)


@given(versions_of_edges, st.integers(1, 4), seeds, stalls)
def test_labels_are_the_components_of_every_version(
    versions: Versions, workers: int, seed: int, stalling: float
) -> None:
    """Under every schedule, on 1 to 4 workers, each version's labels are those of a union-find over its edges."""
    simulation = Simulation(weak_components(versions), workers=workers)
    simulation.run(seed=seed, stalls=stalling)
    for version in range(len(versions)):
        assert answers(simulation, version) == union_find(versions, version)
    assert at_rest(simulation)


@settings(max_examples=10)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=2), min_size=1, max_size=2),
    st.integers(1, 3),
    seeds,
    stalls,
)
def test_the_paper_holds_after_every_action(versions: Versions, workers: int, seed: int, stalling: float) -> None:
    """The model that runs along never forbids what a worker does, and all that the paper states holds all the time."""
    simulation = Simulation(weak_components(versions), workers=workers, check=True)
    simulation.run(seed=seed, stalls=stalling)
    assert answers(simulation, len(versions) - 1) == union_find(versions, len(versions) - 1)
    assert at_rest(simulation)


@pytest.mark.slow
@settings(max_examples=60)
@given(versions_of_edges, st.integers(2, 4), seeds, stalls)
def test_the_paper_holds_after_every_action_of_longer_runs(
    versions: Versions, workers: int, seed: int, stalling: float
) -> None:
    """The same on larger graphs and more workers."""
    simulation = Simulation(weak_components(versions), workers=workers, check=True)
    simulation.run(seed=seed, stalls=stalling)
    for version in range(len(versions)):
        assert answers(simulation, version) == union_find(versions, version)


def test_versions_are_worked_on_side_by_side() -> None:
    """An edge of the next version can be in the loop while an earlier version still goes round."""
    path = [[(i, i + 1) for i in range(6)], [(10, 11)]]

    def overlaps(seed: int) -> bool:
        simulation = Simulation(weak_components(path), workers=2)
        together = False
        received: set[int] = set()
        adversary_sees = Labels.receive

        def receive(self: Labels, message: Any) -> None:
            nonlocal together
            if message.port == "1":
                received.add(message.time[0])
                together = together or (message.time[0] == 0 and 1 in received)
            adversary_sees(self, message)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Labels, "receive", receive)
            simulation.run(seed=seed)
        return together and answers(simulation, 1) == union_find(path, 1)

    assert any(overlaps(seed) for seed in range(50))


def test_waiting_for_the_version_alone_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read to the letter, section 2 answers a version while an earlier one can still lead to a lesser label in it."""

    def proceed(self: Labels, frontiers: Mapping[str, Antichain[Any]]) -> None:
        for t in sorted(self.waiting):
            if not any(frontier.reaches(t) for frontier in frontiers.values()):
                self.round(t, *self.waiting.pop(t))
        for version in sorted(self.owed):
            if not any(t[0] == version for t in frontiers["1"]) and not frontiers["2"].reaches((version, 0)):
                self.answer(version, self.owed.pop(version))

    versions = [[(0, 2)], [(0, 1)]]
    monkeypatch.setattr(Labels, "proceed", proceed)
    simulation = Simulation(weak_components(versions), workers=2, check=True)
    simulation.run(seed=1)
    assert answers(simulation, 1) == {0: 0, 1: 1, 2: 0}
    assert union_find(versions, 1) == {0: 0, 1: 0, 2: 0}


def test_b_starts_with_a_pointstamp_on_its_way_into_the_loop() -> None:
    """Section 2: each instance of b begins with (0, 0) at b.3, and holds it until its share of the input is there."""
    simulation = Simulation(weak_components([[(0, 1)]]), workers=2, check=True)
    held = {("a.1", (0, 0)): 2, ("b.3", (0, 0)): 2}
    for w in simulation.workers:
        simulation.perform(Propagate(w))
        assert list(simulation.frontier(w, "c.1")) == [(0, 0)]
        # One trip round the loop later.
        assert list(simulation.frontier(w, "b.1")) == [(0, 1)]
    assert {(r.location, r.time): r.count for r in simulation.why(0, "c.1", (0, 0))} == held
    simulation.run(seed=3)
    assert at_rest(simulation)


# Mutants: frontiers that are told too early. A run has to show it: in the answers, in a message that was not to come
# any more, or, with the model beside it, in a statement of the paper.


def ignores_other_workers(patch: pytest.MonkeyPatch) -> None:
    """A worker believes only what it did itself."""
    recv_upd = SimulatedProtocol.recv_upd

    def own_only(self: SimulatedProtocol, w: int, v: int) -> None:
        recv_upd(self, w, v)
        if w != v:
            self.unpropagated[v] = [(l, t, n) for l, t, n in self.unpropagated[v] if n < 0]

    patch.setattr(SimulatedProtocol, "recv_upd", own_only)


def hides_data_on_its_way(patch: pytest.MonkeyPatch) -> None:
    """What a worker sends to others is not told."""
    perf_op = SimulatedProtocol.perf_op
    patch.setattr(SimulatedProtocol, "perf_op", lambda self, w, neg, data, self_: perf_op(self, w, neg, [], self_))


def sends_drops_first(patch: pytest.MonkeyPatch) -> None:
    """A worker may send what it dropped and keep back what it added, whether that is justified or not."""
    patch.setattr(
        SimulatedProtocol,
        "may_send",
        lambda self, w, P: any(p in P for p in self.temp[w]) and all(self.temp[w][p] < 0 for p in P),
    )


def one_step_ahead(patch: pytest.MonkeyPatch) -> None:
    """Operators are told that all times of the frontier are complete, and that the next ones are not."""
    frontier = SimulatedProtocol.frontier

    def early(self: SimulatedProtocol, w: int, l: Any) -> Antichain[Any]:
        told = frontier(self, w, l)
        return Antichain.minimal(told.order, [u for t in told for u in told.order.successors(t)])

    patch.setattr(SimulatedProtocol, "frontier", early)


@pytest.mark.parametrize("mutant", [ignores_other_workers, hides_data_on_its_way, sends_drops_first, one_step_ahead])
def test_a_frontier_told_too_early_shows(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mutant leads to a broken frontier or to wrong labels in some run."""
    mutant(monkeypatch)
    assert find(st.tuples(versions_of_edges, st.integers(2, 3), seeds), lambda run: goes_wrong(*run), settings=SEARCH)


SEARCH = settings(max_examples=500, derandomize=True, database=None, phases=[Phase.generate])


def goes_wrong(versions: Versions, workers: int, seed: int) -> bool:
    simulation = Simulation(weak_components(versions), workers=workers)
    try:
        simulation.run(seed=seed, limit=5_000)
    except BrokenFrontier:
        return True
    return any(answers(simulation, v) != union_find(versions, v) for v in range(len(versions)))


def test_a_schedule_that_shows_a_mutant_shrinks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long schedule that shows a broken frontier a few actions are left, each of them needed."""
    one_step_ahead(monkeypatch)
    flow = weak_components([[(0, 1), (1, 2)], [(2, 3)]])

    def shows(schedule: Schedule) -> bool:
        try:
            Simulation(flow, workers=2).replay(schedule, skip=True)
        except BrokenFrontier:
            return True
        return False

    simulation = Simulation(flow, workers=2)
    with pytest.raises(BrokenFrontier):
        simulation.run(seed=2)
    # What raised was not performed: the message that arrives below the frontier.
    whole = Schedule([*simulation.schedule, *(a for a in simulation.enabled() if isinstance(a, Receive))])
    short = shrink(whole, shows)
    assert shows(short)
    assert len(short) < 10 < len(whole)
    assert not any(shows(Schedule([*short.actions[:i], *short.actions[i + 1 :]])) for i in range(len(short)))


def test_the_model_notices_a_tracker_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the model beside it, a frontier that is one step ahead is named with its location and worker."""
    one_step_ahead(monkeypatch)
    with pytest.raises(InvariantViolated, match=r"expected the tracker's frontier to be the model's"):
        Simulation(weak_components([[(0, 1)]]), workers=2, check=True).run(seed=1)
