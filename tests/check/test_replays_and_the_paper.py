"""What the paper says of implementations of progress tracking, in words, on the example dataflows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.check.oracle import edges, frontiers, locations
from tests.check.replaying import file_of, pointstamps
from tidegate.check.examples import EXAMPLES, load_example
from tidegate.check.machines import Fast, Single, Specified
from tidegate.check.scripted import Simulated
from tidegate.progress import ClocksConf, CouldResultIn, Forbidden, Propagation
from tidegate.sim.protocol import SimulatedProtocol

every_example = pytest.mark.parametrize("name", EXAMPLES)


@every_example
def test_clocks_can_not_replay_what_sends_and_keeps_its_capability(name: str) -> None:
    """Section 3: sending while the capability is kept is not upright. The clocks protocol refuses the first such step.

    It is what Naiad's `SendBy` does, what Rust allows everywhere, and what the exchange protocol was made for.
    """
    example = load_example(name)
    held = [(l, example.least(l)) for l in example.starts_with for _ in range(example.workers)]
    clocks = ClocksConf.init(CouldResultIn(example.graph), range(example.workers), held)
    for step in example.trace:
        changes = step.changes()
        neg, pos = {p: -n for p, n in changes.items() if n < 0}, {p: n for p, n in changes.items() if n > 0}
        if pos and not neg:
            with pytest.raises(Forbidden, match="perf_op: upright"):
                clocks.perf_op(step.worker, neg, pos)
            return
        clocks = clocks.perf_op(step.worker, neg, pos)
    assert name in {"barrier", "event_driven", "either", "nested", "pagerank"}


def test_every_worker_counts_the_capabilities_that_all_begin_with() -> None:
    """Section 4, Init: in the beginning a view has each capability as often as there are workers that hold it."""
    example = load_example("barrier")
    for n in (1, 2, 3, 4):
        machine = Specified(example, n)
        assert all(machine.conf.exch.glob[w]["barrier.out", 0] == 3 for w in range(n))


def test_nothing_is_heard_before_the_first_propagation() -> None:
    """Section 6: a worker counts as initialised when it has propagated; before that the model lets it hear nothing."""
    example = load_example("hello")
    machine = Specified(example, 2)
    machine.do(example.trace[0])
    machine.send(0, machine.unsent(0))
    assert machine.updates() == []
    with pytest.raises(Forbidden, match="recv_upd: init"):
        machine.hear(0, 1)
    machine.propagate(1)
    assert machine.updates() == [(0, 1)]


def test_propagation_ends_before_more_is_changed() -> None:
    """Section 6: both propagate until no worklist has anything. In between, what is to be expected may be refused."""
    p = Propagation(load_example("delay").graph, {"input.out": {0: 1}})
    p.propagate_all()
    p.change_multiplicity("input.out", 2, 1)
    p.change_multiplicity("input.out", 0, -1)
    p.propagate("input.out", 0)
    with pytest.raises(Forbidden, match="at or above the frontier"):
        p.change_multiplicity("input.out", 2, -1)
    p.propagate_all()
    p.change_multiplicity("input.out", 2, -1)


@pytest.mark.parametrize("name", ["iterate", "nested"])
def test_a_scope_is_one_operator_to_those_outside(name: str) -> None:
    """In Rust a scope has its own tracker and tells outside what its outputs may still send; here all is one graph.

    It comes to the same: what is in the scope, as capabilities of its outputs without their rounds, gives the frontiers
    outside that are written.
    """
    example, data = load_example(name), file_of(name)
    inside = {n for n, o in data["operators"].items() if o.get("time", 1) > 1}
    within = [(l, m) for l, m in data["channels"] if {l.split(".")[0], m.split(".")[0]} <= inside]
    leaving = [l for l, m in data["channels"] if l.split(".")[0] in inside and m.split(".")[0] not in inside]
    outside = {
        "operators": {n: o for n, o in data["operators"].items() if n not in inside}
        | {"scope": {"inputs": ["in"], "outputs": [l.replace(".", "_") for l in leaving]}},
        "channels": [
            [
                f"scope.{l.replace('.', '_')}" if l in leaving else l,
                "scope.in" if m.split(".")[0] in inside else m,
            ]
            for l, m in data["channels"]
            if [l, m] not in [list(pair) for pair in within]
        ],
    }
    reach = {l: reachable({**data, "channels": within}, l) for l in locations(data)}
    written = [example.frontiers, *(now for _, now in example.expected())]
    for exists, expected in zip(pointstamps(example), written, strict=True):
        seen = [(l, t) for l, t in +exists if l.split(".")[0] not in inside]
        seen += [
            (f"scope.{out.replace('.', '_')}", t[0])
            for l, t in +exists
            if l.split(".")[0] in inside
            for out in leaving
            if out in reach[l]
        ]
        found = frontiers(outside, seen)
        assert all(found[l] == times for l, times in expected.items() if l in found)
        assert {l for l in found if not l.startswith("scope.")} == {
            l for l in expected if l.split(".")[0] not in inside
        }


def reachable(data: Mapping[str, Any], location: str) -> set[str]:
    found, todo, steps = {location}, [location], edges(data)
    while todo:
        for m, _ in steps.get(todo.pop(), ()):
            if m not in found:
                found.add(m)
                todo.append(m)
    return found


def test_one_tracker_is_enough_where_a_step_is_told_as_a_whole() -> None:
    """On one worker, with every step told at once, the protocol is a single tracker, and nothing is on its way."""
    for name in EXAMPLES:
        example = load_example(name)
        alone, single = Fast(example, 1), Single(example)
        alone.propagate(0)
        for step in example.trace:
            step = step.on(1)
            alone.do(step)
            single.do(step)
            if alone.unsent(0):
                alone.send(0, alone.unsent(0))
                alone.hear(0, 0)
            assert not any(alone.live.updates.values())
            alone.propagate(0)
            assert all(alone.frontier(0, l) == single.frontier(0, l) for l in example.frontiers)


def test_simulated_workers_hold_what_the_trace_says() -> None:
    """The operators of the simulation really hold and send: what exists there is what the steps add up to."""
    example = load_example("nested")
    machine = Simulated(example, check=True)
    for number, step in enumerate(example.trace):
        machine.do(step)
        live: SimulatedProtocol = machine.simulation.protocol
        held = Counter(p for w in machine.simulation.workers for p in live.caps[w].elements())
        for v in machine.simulation.workers:
            for w in machine.simulation.workers:
                held.update((f"{n}.{p}", t) for n, p, t, _ in machine.simulation.on_their_way(v, w))
        assert held == +pointstamps(example)[number + 1]


def test_the_page_names_every_example_and_counts_those_that_clocks_refuse() -> None:
    """docs/progress.md has each example in its table, and the number of those with a send that keeps its capability."""
    page = (Path(__file__).parents[2] / "docs" / "progress.md").read_text(encoding="utf-8")
    part = page.partition("## Example dataflows")[2].partition("\n## ")[0]
    assert [name for name in EXAMPLES if f"`{name}`" not in part] == []
    refused = [n for n in EXAMPLES if any(all(k >= 0 for k in s.changes().values()) for s in load_example(n).trace)]
    words = {12: "twelve", 17: "seventeen"}
    assert f"refuses {words[len(refused)]} of the {words[len(EXAMPLES)]} examples" in " ".join(part.split())
