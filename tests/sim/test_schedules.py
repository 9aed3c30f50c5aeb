"""Schedules: the same seed chooses the same, what was printed can be replayed, and stalls hold back what they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import BadValue
from tidegate.sim import Adversary, Dataflow, NotEnabled, Schedule, SimulatedOperator, Simulation, Unfinished
from tidegate.sim.actions import Action, Deliver, Hear, Proceed, Propagate, Receive, Send, Work
from tidegate.sim.capability import Capability
from tidegate.sim.operator import Message
from tidegate.sim.weak import weak_components
from tidegate.time import Nat

VERSIONS = [[(0, 1), (2, 3)], [(1, 2)]]
workers = st.integers(0, 20)
names = st.sampled_from(["a", "b", "long_name"])
actions = st.one_of(
    st.builds(Work, workers, names),
    st.builds(Deliver, workers, workers, st.integers(0, 3)),
    st.builds(Receive, workers, names),
    st.builds(Proceed, workers, names),
    st.builds(Send, workers, st.none() | st.lists(workers, min_size=1, max_size=3).map(tuple)),
    st.builds(Hear, workers, workers),
    st.builds(Propagate, workers),
)


def observed(simulation: Simulation) -> Any:
    """Everything that a schedule decides."""
    return (
        [sink.complete for sink in simulation.instances("d")],
        simulation.protocol.temp,
        simulation.protocol.updates,
        {(w, l): simulation.frontier(w, l) for w in simulation.workers for l in simulation.graph.locations},
    )


@given(st.lists(actions))
def test_a_schedule_can_be_read_back(chosen: list[Action]) -> None:
    """What is printed is read back as the same actions."""
    schedule = Schedule(chosen)
    assert Schedule.parse(str(schedule)) == schedule


@given(st.integers(0, 2**32), st.integers(1, 3))
def test_the_same_seed_chooses_the_same(seed: int, count: int) -> None:
    """A run depends on its seed only."""
    first, second = (Simulation(weak_components(VERSIONS), workers=count) for _ in range(2))
    assert first.run(seed=seed) == second.run(seed=seed)
    assert observed(first) == observed(second)


@given(st.integers(0, 2**32), st.data())
def test_every_prefix_can_be_replayed_from_its_text(seed: int, data: st.DataObject) -> None:
    """A printed schedule, cut off anywhere, leads another simulation to the same configuration."""
    whole = Simulation(weak_components(VERSIONS), workers=2).run(seed=seed)
    cut = data.draw(st.integers(0, len(whole)))
    printed = str(Schedule(whole.actions[:cut]))
    first, second = (Simulation(weak_components(VERSIONS), workers=2) for _ in range(2))
    first.replay(Schedule.parse(printed))
    second.replay(whole.actions[:cut])
    assert observed(first) == observed(second)
    assert first.enabled() == second.enabled()


def test_a_run_can_be_checked_when_it_is_replayed() -> None:
    """A schedule that was found without checks can be replayed with them."""
    schedule = Simulation(weak_components(VERSIONS), workers=2).run(seed=11)
    checked = Simulation(weak_components(VERSIONS), workers=2, check=True)
    checked.replay(schedule)
    assert checked.schedule == schedule


@given(st.integers(0, 2**32))
def test_what_is_stalled_does_not_act_while_something_else_can(seed: int) -> None:
    """A stalled worker or queue acts again only after nothing else could."""
    adversary = Adversary(seed, stalls=0.3)
    first, second, third = Work(0, "a"), Hear(1, 0), Deliver(0, 1)
    last = adversary.choose([first, second, third])
    for _ in range(50):
        stalled = list(adversary.stalled)
        chosen = adversary.choose([first, second, third])
        free = [a for a in (first, second, third) if a.worker not in adversary.stalled]
        if set(stalled) <= set(adversary.stalled) and free:
            assert chosen.worker not in stalled
        last = chosen
    assert last in (first, second, third)


def test_a_stalled_worker_holds_back_the_others_only_where_it_must() -> None:
    """While a worker never acts, the others go on until what it could still send holds them back, and say so."""
    simulation = Simulation(weak_components([[(0, 2), (2, 4)]]), workers=2)
    # Everything but worker 1 acts for as long as it can.
    while actions := [a for a in simulation.enabled() if a.worker == 0]:
        simulation.perform(actions[0])
    held = {(reason.location, reason.time): reason for reason in simulation.why(0, "d.1", 0)}
    # Its own edges wait for what the input of worker 1 may still send.
    assert set(held) == {("a.1", (0, 0)), ("b.3", (0, 0)), ("b.4", (0, 0))}
    assert str(held["a.1", (0, 0)]) == "a.1 at (0, 0) -> b.2 at (0, 0) -> b.4 at (0, 0) -> d.1 at 0"
    assert [reason.location for reason in simulation.why(0, "b.2", (0, 0))] == ["a.1"]
    assert simulation.instances("d")[0].complete == {}
    simulation.run(seed=1)
    assert simulation.instances("d")[0].answers(0) == {0: 0, 2: 0, 4: 0}


class Two(SimulatedOperator):
    """A source that sends 0 and 1, at the same time."""

    def start(self, held: Mapping[str, Capability]) -> None:
        self.now = held["out"]

    @property
    def active(self) -> bool:
        return not self.now.dropped

    def work(self) -> None:
        for number in (0, 1):
            self.now.send(number)
        self.now.drop()


class Seen(SimulatedOperator):
    """What arrived, in the order in which it did."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def receive(self, message: Message) -> None:
        self.seen.append((message.port, message.data))


def two() -> Dataflow:
    """Two channels from worker 0 to worker 1, each with two data on its way."""
    flow = Dataflow(Nat())
    flow.operator("a", lambda *_: Two(), outputs=["out"])
    flow.operator("b", lambda *_: Seen(), inputs=["x", "y"])
    for port in ("x", "y"):
        flow.channel("a.out", f"b.{port}", route=lambda _: 1)
    return flow


def test_data_between_two_workers_may_overtake() -> None:
    """What was sent last may arrive first, on either channel; the model that runs along forbids none of them."""
    orders = set()
    for seed in range(200):
        simulation = Simulation(two(), workers=2, check=True)
        simulation.replay(Schedule.parse("work 0 a"))
        schedule = simulation.run(seed=seed, stalls=0)
        again = Simulation(two(), workers=2)
        again.replay(Schedule.parse(str(schedule)))
        seen = simulation.instances("b")[1].seen
        assert again.instances("b")[1].seen == seen
        orders.add(tuple(seen))
    assert ("x", 1) in {order[0] for order in orders}
    assert ("y", 1) in {order[0] for order in orders}


def test_what_overtakes_arrives_first() -> None:
    """The position is that in the queue of the pair, whichever channel it is on."""
    simulation = Simulation(two(), workers=2)
    simulation.replay(Schedule.parse("work 0 a; deliver 0>1 3; deliver 0>1 1; deliver 0>1; deliver 0>1"))
    simulation.replay(Schedule.parse("; ".join(["receive 1 b"] * 4)))
    assert simulation.instances("b")[1].seen == [("y", 1), ("y", 0), ("x", 0), ("x", 1)]


@pytest.mark.parametrize(
    "action",
    [
        "deliver 0>1",
        "deliver 0>1 2",
        "receive 0 b",
        "proceed 0 b",
        "send 0",
        "send 0 3",
        "hear 0>1",
        "hear 0>7",
        "propagate 7",
        "work 0 b",
        "work 0 nowhere",
        "work 7 a",
    ],
)
def test_what_is_not_enabled_is_refused(action: str) -> None:
    """An action that can not happen now is named, and changes nothing."""
    simulation = Simulation(weak_components(VERSIONS), workers=2)
    before, enabled = observed(simulation), simulation.enabled()
    with pytest.raises(NotEnabled, match=f"action 0, {action}"):
        simulation.replay(Schedule.parse(action))
    assert observed(simulation) == before
    assert simulation.enabled() == enabled
    assert len(simulation.schedule) == 0


@pytest.mark.parametrize(
    "text",
    [
        "rest",
        "work",
        "work a 0",
        "deliver 0-1",
        "deliver 0>1 -1",
        "deliver 0>1>2 1",
        "hear 0>1>2",
        "send 0 1+",
        "propagate -1",
    ],
)
def test_what_is_not_a_schedule_is_refused(text: str) -> None:
    """A text that is no action is quoted."""
    with pytest.raises(BadValue, match="expected an action"):
        Schedule.parse(f"work 0 a; {text}")


def test_a_run_that_does_not_come_to_rest_ends() -> None:
    """The limit of actions ends a run, with what was performed so far kept."""
    simulation = Simulation(weak_components(VERSIONS), workers=2)
    with pytest.raises(Unfinished, match="within 10 actions"):
        simulation.run(seed=0, limit=10)
    assert len(simulation.schedule) == 10


def test_no_worker_is_refused() -> None:
    """A simulation needs a worker."""
    with pytest.raises(ValueError, match="at least one worker"):
        Simulation(weak_components(VERSIONS), workers=0)
