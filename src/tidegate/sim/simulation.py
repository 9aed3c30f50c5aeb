"""A dataflow on simulated workers, where any enabled action can come next."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tidegate.errors import TidegateError
from tidegate.progress import Location, Pointstamp, Reason
from tidegate.sim.actions import Action, Deliver, Hear, Proceed, Propagate, Receive, Schedule, Send, Work
from tidegate.sim.capability import Ledger
from tidegate.sim.checked import CheckedProtocol
from tidegate.sim.dataflow import Dataflow
from tidegate.sim.errors import NotEnabled, Unfinished
from tidegate.sim.instance import OperatorInstance
from tidegate.sim.protocol import SimulatedProtocol
from tidegate.sim.scheduler import Adversary
from tidegate.time import Antichain

__all__ = ["Simulation"]


class Simulation:
    """A dataflow on ``workers`` workers. They share nothing but the data and the progress updates that they send.

    Progress updates arrive in the order in which they were sent. Data may overtake other data, as in the paper's model.

    `enabled` returns what can happen next and `perform` does it; `run` leaves the choice to an adversary. With
    ``check`` the paper's model runs beside it, and everything that the paper states is checked after every action.

    >>> from tidegate.sim.weak import weak_components
    >>> flow = weak_components([[(1, 2)], [(2, 3)]])
    >>> simulation = Simulation(flow, workers=2)
    >>> schedule = simulation.run(seed=7)
    >>> found = [part for sink in simulation.instances("d") for part in sink.answers(1).items()]
    >>> sorted(found)
    [(1, 1), (2, 1), (3, 1)]
    >>> again = Simulation(flow, workers=2)
    >>> again.replay(schedule)
    >>> again.schedule == schedule
    True
    """

    def __init__(self, flow: Dataflow, *, workers: int, check: bool = False) -> None:
        if workers < 1:
            raise ValueError(f"expected at least one worker, got {workers}")
        self.flow = flow
        self.graph = flow.graph()
        self.workers = range(workers)
        #: What was performed so far.
        self.schedule = Schedule()
        self._instances = {
            (w, name): OperatorInstance(node, w, workers, self.graph)
            for w in self.workers
            for name, node in flow.nodes.items()
        }
        held = {w: [p for (v, _), i in self._instances.items() if v == w for p in i.held] for w in self.workers}
        self.protocol = CheckedProtocol(self.graph, held) if check else SimulatedProtocol(self.graph, held)
        #: Per (sender, receiver): data on its way, oldest first, as operator, port, time and datum.
        self._data: dict[tuple[int, int], deque[tuple[str, str, Any, Any]]] = {
            (v, w): deque() for v in self.workers for w in self.workers
        }
        #: Instances that do not know the newest frontiers of their worker yet, as worker and operator.
        self._news: set[tuple[int, str]] = set()

    def instances(self, operator: str) -> list[Any]:
        """Return what each worker made of an operator (`SimulatedOperator`), by worker."""
        return [self._instances[w, operator].operator for w in self.workers]

    def frontier(self, worker: int, location: Location) -> Antichain[Any]:
        """Return the least times that a worker still expects at a location."""
        return self.protocol.frontier(worker, location)

    def why(self, worker: int, location: Location, t: Any) -> list[Reason]:
        """Return what, as far as the worker knows, could still reach the location at ``t`` or below."""
        return self.protocol.why(worker, location, t)

    def on_their_way(self, sender: int, worker: int) -> list[tuple[str, str, Any, Any]]:
        """Return the data that a worker sent to another and that has not arrived: operator, port, time and datum."""
        return list(self._data[sender, worker])

    def enabled(self) -> list[Action]:
        """Return what can happen next.

        Two actions have variants that are not listed: a worker may send only some of its changes, and a datum may
        overtake older ones.
        """
        protocol = self.protocol
        found: list[Action] = []
        for (w, name), instance in self._instances.items():
            if instance.operator.active:
                found.append(Work(w, name))
            if instance.inbox:
                found.append(Receive(w, name))
            if (w, name) in self._news:
                found.append(Proceed(w, name))
        for w in self.workers:
            if protocol.temp[w]:
                found.append(Send(w))
            if w not in protocol.initialized or protocol.unpropagated[w]:
                found.append(Propagate(w))
        found += [Deliver(v, w) for (v, w), queue in self._data.items() if queue]
        found += [Hear(v, w) for (v, w), queue in protocol.updates.items() if queue and w in protocol.initialized]
        return found

    def perform(self, action: Action) -> None:
        """Perform an action; if it is refused, no queue, capability or count has changed."""
        try:
            match action:
                case Work():
                    self._work(action)
                case Deliver():
                    self._deliver(action)
                case Receive():
                    self._receive(action)
                case Proceed():
                    self._proceed(action)
                case Send():
                    self._send(action)
                case Hear():
                    self._hear(action)
                case Propagate():
                    self._propagate(action)
        except Exception as error:
            place = f"action {len(self.schedule)}, {action}"
            if isinstance(error, TidegateError):
                error.at(place)
            else:  # from the operator itself
                error.add_note(place)
            raise
        self.schedule.actions.append(action)

    def run(self, *, seed: int, stalls: float = 0.02, limit: int = 100_000) -> Schedule:
        """Perform actions that an `Adversary` chooses until none is enabled; return all that were performed."""
        adversary = Adversary(seed, stalls=stalls)
        while actions := self.enabled():
            if len(self.schedule) >= limit:
                raise Unfinished(
                    f"expected the dataflow to come to rest within {limit} actions, got {len(actions)} still enabled",
                    hint="let operators drop all their capabilities in the end, or raise the limit",
                )
            self.perform(self._partly(adversary.choose(actions), adversary))
        return self.schedule

    def replay(self, schedule: Iterable[Action], *, skip: bool = False) -> None:
        """Perform the actions of a schedule; with ``skip``, leave out those that are not enabled."""
        for action in schedule:
            try:
                self.perform(action)
            except NotEnabled:
                if not skip:
                    raise

    def _partly(self, action: Action, adversary: Adversary) -> Action:
        if isinstance(action, Deliver):
            waiting = len(self._data[action.sender, action.worker])
            if waiting > 1 and adversary.random.random() < 0.5:
                return replace(action, overtakes=adversary.random.randrange(waiting))
        if isinstance(action, Send):
            unsent = list(self.protocol.temp[action.worker])
            some = tuple(i for i in range(len(unsent)) if adversary.random.random() < 0.5)
            if len(some) < len(unsent) and self.protocol.may_send(action.worker, [unsent[i] for i in some]):
                return Send(action.worker, some)
        return action

    # Actions.

    def _work(self, action: Work) -> None:
        instance = self._instance(action)
        _enabled(instance.operator.active, f"operator {action.operator!r} to be active")
        instance.call(instance.operator.work, lambda ledger: self._settle(instance, ledger))

    def _deliver(self, action: Deliver) -> None:
        queue = self._data.get((action.sender, action.worker))
        enough = queue is not None and action.overtakes < len(queue)
        _enabled(enough, f"data from worker {action.sender} to worker {action.worker}")
        assert queue is not None
        name, port, t, data = queue[action.overtakes]
        instance = self._instances[action.worker, name]
        self.protocol.recv_cap(action.worker, (instance.node.at(port), t))
        del queue[action.overtakes]
        instance.inbox.append((port, t, data))

    def _receive(self, action: Receive) -> None:
        instance = self._instance(action)
        _enabled(bool(instance.inbox), f"a message that has arrived for operator {action.operator!r}")
        message = instance.message()
        consumed = (instance.node.at(message.port), message.time)
        instance.call(
            lambda: instance.operator.receive(message), lambda ledger: self._settle(instance, ledger, consumed)
        )
        instance.inbox.popleft()

    def _proceed(self, action: Proceed) -> None:
        instance = self._instance(action)
        _enabled((action.worker, action.operator) in self._news, f"news for operator {action.operator!r}")
        frontiers = self._frontiers(instance)
        instance.call(lambda: instance.operator.proceed(frontiers), lambda ledger: self._settle(instance, ledger))
        instance.known_frontiers = frontiers
        self._news.discard((action.worker, action.operator))

    def _send(self, action: Send) -> None:
        unsent = list(self.protocol.temp.get(action.worker, ()))
        some = range(len(unsent)) if action.some is None else action.some
        _enabled(bool(some) and max(some) < len(unsent), f"changes that worker {action.worker} has not sent")
        self.protocol.send_upd(action.worker, [unsent[i] for i in some])

    def _hear(self, action: Hear) -> None:
        queue = self.protocol.updates.get((action.sender, action.worker))
        _enabled(bool(queue), f"a progress update from worker {action.sender} to worker {action.worker}")
        _enabled(action.worker in self.protocol.initialized, f"worker {action.worker} to propagate before it hears")
        self.protocol.recv_upd(action.sender, action.worker)

    def _propagate(self, action: Propagate) -> None:
        _enabled(action.worker in self.workers, f"one of the workers 0 to {len(self.workers) - 1}")
        self.protocol.propagate(action.worker)
        for (w, name), instance in self._instances.items():
            if w == action.worker and instance.node.inputs:
                news = self._frontiers(instance) != instance.known_frontiers
                (self._news.add if news else self._news.discard)((w, name))

    def _instance(self, action: Work | Receive | Proceed) -> OperatorInstance:
        instance = self._instances.get((action.worker, action.operator))
        _enabled(instance is not None, "a worker and an operator of the dataflow")
        assert instance is not None
        return instance

    def _frontiers(self, instance: OperatorInstance) -> dict[str, Antichain[Any]]:
        node = instance.node
        return {port: self.frontier(instance.worker, node.at(port)) for port in node.inputs}

    def _settle(self, instance: OperatorInstance, ledger: Ledger, consumed: Pointstamp | None = None) -> None:
        """Turn what an operator did into one ``perf_op`` and put what it sent into the queues."""
        changes = Counter[Pointstamp](ledger.changes)
        if consumed is not None:
            changes[consumed] -= 1
        sent: list[tuple[int, str, str, Any, Any]] = []
        for location, t, data in ledger.sent:
            for channel in self.flow.channels.get(location, ()):
                (summary,) = self.graph.summary(location, channel.target)
                to = instance.worker if channel.route is None else channel.route(data) % len(self.workers)
                name, _, port = channel.target.partition(".")
                sent.append((to, name, port, summary.results_in(t), data))
        if not sent and not any(changes.values()):
            return
        self.protocol.perf_op(
            instance.worker,
            {p: -n for p, n in changes.items() if n < 0},
            [(to, (f"{name}.{port}", t)) for to, name, port, t, _ in sent],
            {p: n for p, n in changes.items() if n > 0},
        )
        for to, name, port, t, data in sent:
            self._data[instance.worker, to].append((name, port, t, data))


def _enabled(met: bool, expected: str) -> None:
    if not met:
        raise NotEnabled(
            f"expected {expected}, got none",
            hint="a schedule is replayed on the dataflow and workers that it was made on",
        )
