"""Capabilities and ports: what operators can not do, and that nothing has changed when they try."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tidegate.errors import BadValue, NotFound
from tidegate.progress import BadGraph, Forbidden
from tidegate.sim import (
    BrokenFrontier,
    Capability,
    Dataflow,
    Message,
    NotEnabled,
    Schedule,
    SimulatedOperator,
    Simulation,
)
from tidegate.time import Antichain, Nat, Product


class Once(SimulatedOperator):
    """A source that does one thing, once it is asked to work."""

    def __init__(self, do: Callable[[Capability], None]) -> None:
        self.do = do
        self.done = False

    def start(self, held: Mapping[str, Capability]) -> None:
        self.held = held["out"]

    @property
    def active(self) -> bool:
        return not self.done

    def work(self) -> None:
        self.do(self.held)
        self.done = True


class Sink(SimulatedOperator):
    """What arrives, and what it was told; it may do one thing with each message."""

    def __init__(self, do: Callable[[Message], None] = lambda message: None) -> None:
        self.do = do
        self.received: list[tuple[Any, Any]] = []
        self.frontiers: list[list[Any]] = []

    def receive(self, message: Message) -> None:
        self.do(message)
        self.received.append((message.time, message.data))

    def proceed(self, frontiers: Mapping[str, Antichain[Any]]) -> None:
        self.frontiers.append(list(frontiers["in"]))


def simulation(do: Callable[[Capability], None], sink: Callable[[Message], None] = lambda message: None) -> Simulation:
    flow = Dataflow(Nat())
    flow.operator("a", lambda *_: Once(do), outputs=["out"])
    flow.operator("b", lambda *_: Sink(sink), inputs=["in"], outputs=["out", "other"], summaries={("in", "out"): 2})
    flow.channel("a.out", "b.in", route=int)
    return Simulation(flow, workers=2, check=True)


def send_and_drop(held: Capability) -> None:
    held.send(0)
    held.drop()


def uses_dropped(held: Capability) -> None:
    held.send(1)
    held.drop()
    held.send(2)


def drops_twice(held: Capability) -> None:
    held.drop()
    held.drop()


def sends_below(held: Capability) -> None:
    held.downgrade(5)
    held.send(1, at=4)


def goes_back(held: Capability) -> None:
    held.downgrade(5)
    held.copy()
    held.downgrade(4)


MISUSES: list[tuple[Callable[[Capability], None], type[Exception], str]] = [
    (uses_dropped, Forbidden, r"send with the capability for a\.out at 0"),
    (drops_twice, Forbidden, r"drop with the capability for a\.out at 0"),
    (sends_below, BadValue, r"send with the capability for a\.out at 5"),
    (goes_back, BadValue, r"downgrade with the capability for a\.out at 5"),
]


@pytest.mark.parametrize(("misuse", "error", "place"), MISUSES)
def test_a_misused_capability_changes_nothing(
    misuse: Callable[[Capability], None], error: type[Exception], place: str
) -> None:
    """A use that is refused takes back all that the operator did in that call, and names the location and the time."""
    run = simulation(misuse)
    before, conf = run.enabled(), run.protocol.conf
    with pytest.raises(error, match=place):
        run.replay(Schedule.parse("work 0 a"))
    held = run.instances("a")[0].held
    assert run.enabled() == before
    assert run.protocol.conf == conf
    assert (held.time, held.dropped) == (0, False)
    assert not run.protocol.temp[0]


@pytest.mark.parametrize("misuse", [uses_dropped, drops_twice])
def test_a_dropped_capability_names_the_rule(misuse: Callable[[Capability], None]) -> None:
    """A use after the drop names the location, the time, the rule and the action."""
    with pytest.raises(Forbidden) as caught:
        simulation(misuse).replay(Schedule.parse("work 0 a"))
    message = str(caught.value)
    assert "rule: a capability is used only while it is held" in message
    assert "the capability for a.out at 0" in message
    assert "action 0, work 0 a" in message


def test_a_copy_that_was_taken_back_is_of_no_use() -> None:
    """A capability that a refused call had made does not survive it."""
    made: list[Capability] = []

    def copies(held: Capability) -> None:
        made.append(held.copy(at=3))
        held.send(1, at=-1)

    run = simulation(copies)
    with pytest.raises(BadValue):
        run.replay(Schedule.parse("work 0 a"))
    run.instances("a")[0].do = lambda held: made[0].send(1)
    with pytest.raises(Forbidden, match="got one that was dropped"):
        run.replay(Schedule.parse("work 0 a"))


def test_an_error_of_the_operator_says_which_action_it_was() -> None:
    """What an operator raises goes through, with a note of the action, and its capabilities are as before."""

    def fails(held: Capability) -> None:
        held.drop()
        raise ZeroDivisionError

    run = simulation(fails)
    with pytest.raises(ZeroDivisionError) as caught:
        run.replay(Schedule.parse("work 1 a"))
    assert caught.value.__notes__ == ["action 0, work 1 a"]
    assert not run.instances("a")[1].held.dropped


def test_capabilities_rest_between_calls() -> None:
    """A capability can be used in a call of its operator only."""
    run = simulation(lambda held: None)
    with pytest.raises(NotEnabled, match=r"a\.out at 0"):
        run.instances("a")[0].held.send(1)


def test_a_message_is_of_use_while_it_is_received() -> None:
    """A message that was kept gives no capability later."""
    kept: list[Message] = []
    run = simulation(send_and_drop, kept.append)
    run.run(seed=0)
    with pytest.raises(NotEnabled, match=r"the message at 0 at b\.in"):
        kept[0].capability("out")


def test_a_message_gives_later_times_along_the_summary_only() -> None:
    """From an input that adds 2, a message at 0 gives capabilities from 2 on, and none where no summary leads."""
    errors: list[type[Exception]] = []
    times: list[Any] = []

    def tries(message: Message) -> None:
        for output, at in (("out", 1), ("other", None), ("nowhere", None)):
            try:
                message.capability(output, at=at)
            except (BadValue, NotFound) as error:
                errors.append(type(error))
        for at in (None, 7):
            held = message.capability("out", at=at)
            times.append(held.time)
            held.drop()

    simulation(send_and_drop, tries).run(seed=0)
    assert errors == [BadValue, NotFound, NotFound] * 2
    assert times == [2, 7] * 2


def test_repeated_sends_under_one_capability() -> None:
    """An operator may send again and again under one capability, which the clocks protocol would forbid."""

    def sends(held: Capability) -> None:
        for i in range(4):
            held.send(i)
        held.drop()

    run = simulation(sends)
    run.run(seed=5)
    received = [datum for sink in run.instances("b") for _, datum in sink.received]
    assert sorted(received) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [sink.frontiers[-1] for sink in run.instances("b")] == [[], []]


def test_a_message_below_what_was_told_is_refused() -> None:
    """A message at a time that its operator was told is complete is an error that names the input and the frontier."""
    run = simulation(send_and_drop)
    run.replay(Schedule.parse("work 0 a; deliver 0>0"))
    run._instances[0, "b"].known_frontiers = {"in": Antichain(Nat(), [1])}
    with pytest.raises(BrokenFrontier, match=r"below the frontier \{1\}, got one at 0"):
        run.replay(Schedule.parse("receive 0 b"))


def nothing(worker: int, workers: int) -> SimulatedOperator:
    return SimulatedOperator()


def test_ports_are_checked_when_the_dataflow_is_built() -> None:
    """Unknown ports, second channels, second names and loops that do not advance are refused by name."""
    flow = Dataflow(Nat())
    flow.operator("a", nothing, inputs=["in"], outputs=["out"])
    with pytest.raises(BadValue, match="'a'"):
        flow.operator("a", nothing)
    with pytest.raises(NotFound, match="'nowhere'"):
        flow.operator("b", nothing, inputs=["in"], summaries={("in", "nowhere"): 0})
    with pytest.raises(NotFound, match=r"'a\.in'"):
        flow.channel("a.in", "a.out")
    with pytest.raises(NotFound, match=r"'b\.in'"):
        flow.channel("a.out", "b.in")
    flow.channel("a.out", "a.in")
    with pytest.raises(BadValue, match="second one"):
        flow.channel("a.out", "a.in")
    with pytest.raises(BadGraph, match=r"'a\.in'"):
        flow.graph()


@pytest.mark.parametrize("name", ["my op", "a;b", "my.op", "a\nb", "", 7])
def test_names_that_can_not_be_written_are_refused(name: Any) -> None:
    """A name that a location or a schedule could not hold is refused where it is given, for operators and ports."""
    flow = Dataflow(Nat())
    got = re.escape(f"without dots, semicolons and white space, got {name!r}")
    with pytest.raises(BadValue, match=f"a name for an operator {got}"):
        flow.operator(name, nothing, outputs=["1"])
    with pytest.raises(BadValue, match=f"a name for a port of operator 'a' {got}"):
        flow.operator("a", nothing, outputs=[name])
    assert not flow.nodes


@pytest.mark.parametrize(
    ("inputs", "outputs"), [(["p"], ["p"]), (["p", "p"], []), ([], ["p", "p"])], ids=["both", "inputs", "outputs"]
)
@pytest.mark.parametrize("summaries", [None, {}])
def test_each_port_has_a_name_of_its_own(
    inputs: list[str], outputs: list[str], summaries: dict[Any, Any] | None
) -> None:
    """Two ports of one name would be one location, so they are refused, whatever the summaries."""
    flow = Dataflow(Nat())
    with pytest.raises(BadValue, match="each port of operator 'a' to have a name of its own, got 'p' twice"):
        flow.operator("a", nothing, inputs=inputs, outputs=outputs, summaries=summaries)
    assert not flow.nodes


def test_ports_are_used_for_what_they_are() -> None:
    """A text is not a list of ports, capabilities are for outputs, and summaries lead from inputs to outputs."""
    flow = Dataflow(Nat())
    with pytest.raises(BadValue, match="several names for ports of operator 'a', got the text 'in'"):
        flow.operator("a", nothing, inputs="in")
    with pytest.raises(NotFound, match="one of the outputs of operator 'a', got 'in'"):
        flow.operator("a", nothing, inputs=["in"], starts_with=["in"])
    with pytest.raises(NotFound, match="one of the inputs of operator 'a', got 'out'"):
        flow.operator("a", nothing, inputs=["in"], outputs=["out"], summaries={("out", "in"): 1})


def test_orders_that_do_not_fit_are_refused() -> None:
    """A channel between operators of different orders needs Enter or Leave."""
    flow = Dataflow(Nat())
    flow.operator("a", nothing, outputs=["out"])
    flow.operator("b", nothing, inputs=["in"], order=Product(Nat(), Nat()))
    flow.channel("a.out", "b.in")
    with pytest.raises(BadGraph, match=r"from 'a\.out' to 'b\.in'"):
        Simulation(flow, workers=1)
