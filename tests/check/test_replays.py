"""Example dataflows, replayed on everything that tracks progress: what is written with each step decides.

The frontiers in the files follow from the definition, by following all paths (`tests/check/oracle.py`). The paper says
of its own comparison, in section 7, that the propagation that it formalises and the one in Rust behave alike on all
example dataflows, and that the exchange is still to be compared. Rust does not run here; the shapes of its examples do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.check.oracle import frontiers
from tests.check.replaying import file_of, pointstamps
from tests.drawing import quick_or_long
from tidegate.check.examples import EXAMPLES, Example, Point, load_example, read_example
from tidegate.check.machines import Exchanging, Fast, Propagating, Single, Specified, machines
from tidegate.check.replay import Machine, replay
from tidegate.errors import BadValue
from tidegate.progress import (
    Enter,
    Forbidden,
    Graph,
    Leave,
)

KINDS = ("propagation", "all protocols", "fast tracker", "one tracker", "simulation")
every_example = pytest.mark.parametrize("name", EXAMPLES)


# The files.


@every_example
def test_written_frontiers_follow_from_the_definition(name: str) -> None:
    """Following all paths from all that exists gives the frontiers that the file has, after every step."""
    example, data = load_example(name), file_of(name)
    written = [example.frontiers, *(now for _, now in example.expected())]
    for exists, expected in zip(pointstamps(example), written, strict=True):
        assert all(n >= 0 for n in exists.values())
        assert frontiers(data, +exists) == expected


def test_the_oracle_says_what_can_be_worked_out_by_hand() -> None:
    """Round five of an inner loop leaves it without its round; one round of the outer loop later it begins at 0."""
    found = frontiers(file_of("nested"), [("body.done", (0, 0, 5))])
    assert found["body.done"] == {(0, 0, 5), (0, 1, 0)}
    assert (found["branch.in"], found["outer.2"], found["outer.1"]) == ({(0, 0)}, {(0, 1)}, set())
    assert (found["inner.1"], found["inner.2"], found["inner.out"]) == ({(0, 1, 0)}, {(0, 1, 1)}, {(0, 1, 0)})
    assert (found["probe.in"], found["input.out"]) == ({0}, set())


@every_example
def test_an_example_ends_and_only_says_what_changes(name: str) -> None:
    """In the end nothing exists and all frontiers are empty; a step names a frontier only if it is another one."""
    example = load_example(name)
    assert not +pointstamps(example)[-1]
    known = dict(example.frontiers)
    for step in example.trace:
        assert not [l for l, times in step.then.items() if known[l] == times]
        known |= step.then
    assert not any(known.values())


def test_the_examples_have_what_they_are_for() -> None:
    """Scopes within scopes, several summaries along one edge, frontiers of several times, up to three workers."""
    depth = {o.get("time", 1) for name in EXAMPLES for o in load_example(name).operators.values()}
    assert depth == {1, 2, 3}
    assert {load_example(name).workers for name in EXAMPLES} == {2, 3}
    assert any(
        len(times) > 2 for name in EXAMPLES for _, now in load_example(name).expected() for times in now.values()
    )
    assert len(load_example("either").graph.summary("either.in", "either.out")) == 2
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("holds"), "holds"),
        (lambda data: data["frontiers"].pop("barrier.in"), "barrier.in"),
        (lambda data: data["trace"][0]["drop"].append(["barrier.out", 0]), "a step of one operator"),
        (lambda data: data["trace"][0]["then"].update(nowhere=[]), "nowhere"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(change: Callable[[Any], Any], message: str) -> None:
    """What is missing, or can not be done by one operator, is named."""
    data = file_of("barrier")
    change(data)
    with pytest.raises(BadValue, match=message):
        read_example(data)


# Everything that tracks progress agrees.


@every_example
@pytest.mark.parametrize("kind", KINDS)
def test_frontiers_are_as_written_after_every_step(name: str, kind: str) -> None:
    """On each machine, and with each number of workers, all know the written frontiers once all are told."""
    example = load_example(name)
    for make in machines(example)[kind]:
        assert replay(example, make()) is None


@given(st.sampled_from(EXAMPLES), st.sampled_from(KINDS), st.data())
@settings(max_examples=quick_or_long(40, 300), deadline=None)
def test_any_schedule_is_safe_and_ends_as_written(name: str, kind: str, data: st.DataObject) -> None:
    """Whoever tells and hears what when: nobody passes what may still appear, nor goes back, and all agree at last."""
    example = load_example(name)
    make = data.draw(st.sampled_from(range(len(machines(example)[kind]))))
    chosen = Random(data.draw(st.integers(0, 2**32)))
    patience = data.draw(st.integers(1, 20))
    assert replay(example, machines(example)[kind][make](), chosen.randrange, patience=patience) is None


@given(st.sampled_from(EXAMPLES), st.data())
@settings(max_examples=20, deadline=None)
def test_any_order_of_changes_and_propagation_gives_the_same(name: str, data: st.DataObject) -> None:
    """The changes of a step are a batch: Rust adds them up, the paper makes them one by one, in whatever order."""
    example = load_example(name)
    machine = Propagating(example)
    choose = Random(data.draw(st.integers(0, 2**32))).randrange
    for step, expected in [(None, example.frontiers), *example.expected()]:
        if step is not None:
            machine.do(step)
        while actions := machine.actions():
            machine.act(actions[choose(len(actions))], choose)
        assert {l: machine.frontier(0, l) for l in expected} == expected


# The replay can fail: trackers that are wrong.


def without(graph: Graph, edge: tuple[Any, Any]) -> Graph:
    """The graph with one edge forgotten."""
    orders = {l: graph.order(l) for l in graph.locations}
    summaries = {(l, m): _given(s) for l in graph.locations for m, s in graph.successors(l).items() if (l, m) != edge}
    return Graph(orders, summaries, locations=graph.locations)


def _given(along: Collection[Any]) -> Any:
    [first, *_] = along
    return Leave if first.leaves else Enter if first.enters else [s.change for s in along]


def another(example: Example, operator: str, summary: Any) -> Graph:
    """The graph of the example with another summary in one operator."""
    changed = {**example.operators[operator], "summaries": {"in out": summary}}
    return replace(example, operators={**example.operators, operator: changed}).graph


@every_example
def test_a_tracker_that_forgets_an_edge_is_caught(name: str) -> None:
    """Whichever summary is forgotten, some step shows it; but for the barrier, into which no row ever comes."""
    example = load_example(name)
    graph = example.graph
    unseen = [
        (l, m)
        for l in graph.locations
        for m in graph.successors(l)
        if replay(example, Single(example, without(graph, (l, m)))) is None
    ]
    assert unseen == ([("barrier.in", "barrier.out")] if name == "barrier" else [])


@pytest.mark.parametrize(
    ("name", "operator", "summary"),
    [
        ("pingpong", "feedback", 2),
        ("barrier", "feedback", 2),
        ("delay", "shift", 4),
        ("delay", "shift", 0),
        ("iterate", "feedback", [1, 0]),
        ("nested", "outer_feedback", [0, 2]),
        ("either", "either", [0, 2]),
        ("either", "either", [0, 0]),
    ],
)
@pytest.mark.parametrize("machine", [Single, Propagating, lambda e, g: Fast(e, 2, g), lambda e, g: Specified(e, 2, g)])
def test_a_tracker_with_another_summary_is_caught(
    name: str, operator: str, summary: Any, machine: Callable[[Example, Graph], Machine]
) -> None:
    """Too much makes it pass what may still appear, too little makes it expect what can not."""
    example = load_example(name)
    assert replay(example, machine(example, another(example, operator, summary))) is not None


class MinusFirst(Fast):
    """Workers that tell of what is gone before they tell of what came of it."""

    def send(self, worker: int, some: Collection[Point]) -> None:
        temp = self.live.temp[worker]
        for sign in (-1, 1):
            if part := [p for p in some if temp.get(p, 0) * sign > 0]:
                super().send(worker, part)

    def may_send(self, worker: int, some: Collection[Point]) -> bool:
        return False


class NewestFirst(Fast):
    """Workers that hear of the newest update first."""

    def hear(self, sender: int, worker: int) -> None:
        self.live.updates[sender, worker].rotate(1)
        super().hear(sender, worker)
        self.live.updates[sender, worker].rotate(-1)


class KeepsBackAnything(Fast):
    """Workers that keep back whatever they like."""

    def may_send(self, worker: int, some: Collection[Point]) -> bool:
        return True


class CountsOnce(Fast):
    """Workers that do not count how many others begin with the same capability."""

    def start(self, graph: Graph, held: Mapping[int, list[Point]]) -> None:
        super().start(graph, held)
        everything = {(l, t) for own in held.values() for l, t in own}
        self.live.unpropagated = {w: [(l, t, 1) for l, t in everything] for w in held}


def caught(mutant: type[Exchanging]) -> set[str]:
    """The examples of which some schedule tells the mutant from the real one."""
    return {
        name
        for name in EXAMPLES
        if any(
            replay(load_example(name), mutant(load_example(name), 2), Random(seed).randrange, patience=12) is not None
            for seed in range(100)
        )
    }


@pytest.mark.parametrize("mutant", [MinusFirst, NewestFirst, KeepsBackAnything, CountsOnce])
def test_broken_exchanges_are_caught(mutant: type[Exchanging]) -> None:
    """Each is told apart by every example, under some schedule."""
    assert caught(mutant) == set(EXAMPLES)


def test_minus_before_plus_is_refused_by_the_protocol() -> None:
    """What a worker gave up it may not tell of before what it took for that: in words, `send_upd` must be justified."""
    step = load_example("delay").trace[0]
    machine = Specified(load_example("delay"), 2)
    machine.do(step)
    with pytest.raises(Forbidden, match=r"'input.out', 2[^\n]*\n  rule: send_upd: justified"):
        machine.send(0, step.drop)
    machine.send(0, [*step.drop, *step.take])


def test_a_mismatch_says_where_and_what() -> None:
    """The text names the example, the step, what was done since, and the frontier."""
    example = load_example("delay")
    found = replay(example, Fast(example, 1, another(example, "shift", 4)))
    assert str(found) == (
        "delay, after the beginning, 0 propagates: worker 0 expects {4} at shift.out, but 3 may still appear"
    )
