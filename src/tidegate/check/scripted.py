"""Example dataflows on simulated workers: operators that do what a trace says, with the capabilities that they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidegate.check.examples import Example, TraceStep, operator_of
from tidegate.check.replay import Choose, Machine
from tidegate.progress import Enter, Leave
from tidegate.sim import Capability, Dataflow, Message, SimulatedOperator, Simulation
from tidegate.sim.actions import Action, Deliver, Receive, Send, Work
from tidegate.time import Nat

__all__ = ["Simulated", "simulated_dataflow"]


class Simulated(Machine):
    """An example's operators on simulated workers, as many as it was written for.

    Data arrives when the trace lets it be received, and may overtake. With ``check`` the paper's model runs beside it.
    """

    def __init__(self, example: Example, *, check: bool = False) -> None:
        self.workers = example.workers
        self.simulation = Simulation(simulated_dataflow(example), workers=example.workers, check=check)
        self._example = example

    def do(self, step: TraceStep) -> None:
        given = step.receive or next(iter((*step.take, *step.drop)), None)
        name = operator_of(given[0] if given else self._example.sources[step.send[0][1]])
        operator = self.simulation.instances(name)[step.worker]
        operator.next = step
        if step.receive is None:
            self.simulation.perform(Work(step.worker, name))
        else:
            self.simulation.perform(self._arrival(step))
            self.simulation.perform(Receive(step.worker, name))
        operator.next = None

    def actions(self) -> list[Any]:
        return [a for a in self.simulation.enabled() if not isinstance(a, Work | Deliver | Receive)]

    def act(self, action: Action, choose: Choose) -> str:
        if isinstance(action, Send):
            unsent = list(self.simulation.protocol.temp[action.worker])
            some = tuple(i for i in range(len(unsent)) if not choose(2))
            if some and self.simulation.protocol.may_send(action.worker, [unsent[i] for i in some]):
                action = Send(action.worker, some)
        self.simulation.perform(action)
        return str(action)

    def knows(self, worker: int) -> bool:
        return worker in self.simulation.protocol.initialized

    def frontier(self, worker: int, location: str) -> frozenset[Any]:
        return frozenset(self.simulation.frontier(worker, location).times)

    def _arrival(self, step: TraceStep) -> Deliver:
        """Return how the message that a step receives arrives: from its sender, past what was sent before it."""
        assert step.receive is not None
        location, t = step.receive
        for sender in self.simulation.workers:
            for place, (name, port, u, _) in enumerate(self.simulation.on_their_way(sender, step.worker)):
                if (f"{name}.{port}", u) == (location, t):
                    return Deliver(sender, step.worker, place)
        return Deliver(step.worker, step.worker)  # refused: there is none


def simulated_dataflow(example: Example) -> Dataflow:
    """Return the dataflow of an example, whose operators wait for the steps of its trace."""
    flow = Dataflow(Nat())
    for name, operator in example.operators.items():
        inputs, outputs = operator.get("inputs", ()), operator.get("outputs", ())
        within = {(i, o): example.graph.summary(f"{name}.{i}", f"{name}.{o}") for i in inputs for o in outputs}
        order = example.order(f"{name}.{[*inputs, *outputs][0]}")
        flow.operator(
            name,
            _maker(example, name),
            inputs=inputs,
            outputs=outputs,
            order=order,
            starts_with=[l.partition(".")[2] for l in example.starts_with if operator_of(l) == name],
            summaries={ports: [s.change for s in along] for ports, along in within.items() if along},
        )
    for source, target in example.channels:
        flow.channel(source, target, route=_route(target), along=example.along(source, target))
    return flow


class Scripted(SimulatedOperator):
    """An operator that does what the next step says."""

    def __init__(self, example: Example, name: str) -> None:
        self.example = example
        self.name = name
        self.next: TraceStep | None = None
        self.held: list[Capability] = []

    def start(self, held: Mapping[str, Capability]) -> None:
        self.held = list(held.values())

    @property
    def active(self) -> bool:
        return self.next is not None

    def work(self) -> None:
        self._do(lambda output, t: self._usable(output, t).copy(at=t))

    def receive(self, message: Message) -> None:
        self._do(lambda output, t: message.capability(output, at=t))

    def _do(self, capability: Callable[[str, Any], Capability]) -> None:
        step = self.next
        assert step is not None
        held = [capability(l.partition(".")[2], t) for l, t in step.take]
        for (source, t), targets in self._sent(step).items():
            # One datum goes along every channel of its output, so it says who receives it.
            sender = capability(source.partition(".")[2], t)
            for receivers in zip(*targets.values(), strict=True):
                sender.send(dict(zip(targets, receivers, strict=True)))
            sender.drop()
        self.held += held
        for l, t in step.drop:
            gone = next(c for c in self.held if (c.location, c.time) == (l, t))
            gone.drop()
            self.held.remove(gone)

    def _sent(self, step: TraceStep) -> dict[tuple[str, Any], dict[str, list[int]]]:
        """Return the receivers of what a step sends, by output and time there, then by input."""
        found: dict[tuple[str, Any], dict[str, list[int]]] = {}
        for to, target, t in step.send:
            source = self.example.sources[target]
            along = self.example.along(source, target)
            if along is Leave:
                t = self._before_leaving(step, source, t)
            elif along is Enter:
                t = t[0] if len(t) == 2 else t[:-1]
            found.setdefault((source, t), {}).setdefault(target, []).append(to)
        return found

    def _before_leaving(self, step: TraceStep, source: str, t: Any) -> Any:
        """Return a time in the scope that is ``t`` outside, and for which there is a capability."""
        times = [c.time for c in self.held if c.location == source] + ([step.receive[1]] if step.receive else [])
        outside = (t,) if isinstance(t, int) else t
        return next(u for u in times if u[:-1] == outside)

    def _usable(self, output: str, t: Any) -> Capability:
        location = f"{self.name}.{output}"
        le = self.example.order(location).le
        return next(c for c in self.held if c.location == location and le(c.time, t))


def _maker(example: Example, name: str) -> Callable[[int, int], SimulatedOperator]:
    return lambda _worker, _workers: Scripted(example, name)


def _route(target: str) -> Callable[[Any], int]:
    return lambda datum: int(datum[target])
