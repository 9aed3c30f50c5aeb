"""The machines on which example dataflows are replayed: the paper's, the fast tracker's, and simulated workers."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

from tidegate.check.examples import Example, Point, TraceStep
from tidegate.check.replay import Choose, Machine
from tidegate.check.scripted import Simulated
from tidegate.progress import Graph, Progress, PropagationConf, TrackerConf
from tidegate.progress.support import justified
from tidegate.sim.checked import statements, steps
from tidegate.sim.protocol import SimulatedProtocol
from tidegate.time import ZMultiset

__all__ = ["Exchanging", "Fast", "Propagating", "Single", "Specified", "machines"]


def machines(example: Example) -> dict[str, Sequence[Callable[[], Machine]]]:
    """Return functions that build the machines for an example, by name; each call begins with a new machine.

    There can be fewer workers than the example was written for: each then does what several did. If there are more,
    the others do nothing.
    """
    several = range(1, example.workers + 2)
    return {
        "propagation": [lambda: Propagating(example)],
        "all protocols": [lambda n=n: Specified(example, n) for n in several],  # type: ignore[misc]
        "fast tracker": [lambda n=n: Fast(example, n) for n in several],  # type: ignore[misc]
        "one tracker": [lambda: Single(example)],
        "simulation": [lambda: Simulated(example), lambda: Simulated(example, check=True)],
    }


def _held(example: Example, workers: int) -> dict[int, list[Point]]:
    """Return what each worker holds in the beginning."""
    found: dict[int, list[Point]] = {w: [] for w in range(workers)}
    for w in range(example.workers):
        found[w % workers] += [(l, example.least(l)) for l in example.starts_with]
    return found


class Single(Machine):
    """One tracker for all workers, as in the engines: it gets the changes of a step together, without messages."""

    workers = 1
    scheduled = False

    def __init__(self, example: Example, graph: Graph | None = None) -> None:
        self.progress = Progress(graph or example.graph)
        self.progress.update([(l, t, 1) for l, t in _held(example, 1)[0]])

    def do(self, step: TraceStep) -> None:
        self.progress.update([(l, t, n) for (l, t), n in step.changes().items()])

    def actions(self) -> list[Any]:
        return []

    def act(self, action: Any, choose: Choose) -> str:
        raise NotImplementedError

    def knows(self, worker: int) -> bool:  # noqa: ARG002
        return True

    def frontier(self, worker: int, location: str) -> frozenset[Any]:  # noqa: ARG002
        return frozenset(self.progress.frontier(location).times)


class Propagating(Machine):
    """The local propagation of Figure 6 alone, on one worker that knows of every change at once.

    The schedule decides on the order in which the changes of a step are made, and which minimal time comes next.
    """

    workers = 1

    def __init__(self, example: Example, graph: Graph | None = None) -> None:
        held: dict[str, Counter[Any]] = {}
        for l, t in _held(example, 1)[0]:
            held.setdefault(l, Counter())[t] += 1
        self.conf = PropagationConf.init(graph or example.graph, held)
        #: What is being changed, and what comes after it.
        self._batch: list[tuple[str, Any, int]] = []
        self._changes: list[tuple[str, Any, int]] = []
        self._rested = False

    def do(self, step: TraceStep) -> None:
        self._changes += [(l, t, n) for (l, t), n in step.changes().items() if n]

    def actions(self) -> list[Any]:
        if not self._batch:
            # Propagation must end before more is changed; the first propagation comes before all changes.
            if pending := self.conf.minimal_pending():
                return pending
            self._rested = True
            self._batch, self._changes = self._changes, []
        return list(self._batch)

    def act(self, action: Any, choose: Choose) -> str:  # noqa: ARG002
        if len(action) == 3:
            self._batch.remove(action)
            self.conf = self.conf.change_multiplicity(*action)
            return "{} at {} changes by {:+d}".format(*action)
        self.conf = self.conf.propagate(*action)
        return "{} at {} is propagated".format(*action)

    def knows(self, worker: int) -> bool:  # noqa: ARG002
        # While something is pending, a frontier may be too far ahead, and come back: so do not read it.
        return self._rested and not self._batch and not any(self.conf.pending())

    def frontier(self, worker: int, location: str) -> frozenset[Any]:  # noqa: ARG002
        return frozenset(self.conf.frontier(location).times)

    def broken(self) -> str | None:
        conf = self.conf
        found = (conf.imp_is_positive(), conf.imp_and_work_add_up(), conf.safe(), conf.converges())
        return next((wrong for wrong in found if wrong is not None), None)


class Exchanging(Machine):
    """Several workers, each with its own view, which send each other what changed."""

    def __init__(self, example: Example, workers: int, graph: Graph | None = None) -> None:
        self.workers = workers
        self.start(graph or example.graph, _held(example, workers))

    @abstractmethod
    def start(self, graph: Graph, held: Mapping[int, list[Point]]) -> None:
        """Begin with what each worker holds."""

    @abstractmethod
    def perform(self, worker: int, step: TraceStep) -> None:
        """Let a worker receive, take, send and drop."""

    @abstractmethod
    def unsent(self, worker: int) -> Collection[Point]:
        """Return the pointstamps whose changes a worker has not sent."""

    @abstractmethod
    def may_send(self, worker: int, some: Collection[Point]) -> bool:
        """Whether the worker may send these changes, and keep the others back."""

    @abstractmethod
    def send(self, worker: int, some: Collection[Point]) -> None:
        """Let a worker send these changes."""

    @abstractmethod
    def updates(self) -> list[tuple[int, int]]:
        """Return the pairs of sender and receiver for which an update can be received now."""

    @abstractmethod
    def hear(self, sender: int, worker: int) -> None:
        """Let a worker receive the oldest update of another."""

    @abstractmethod
    def unsettled(self, worker: int) -> bool:
        """Whether the worker has something to propagate."""

    @abstractmethod
    def propagate(self, worker: int) -> None:
        """Let a worker bring its frontiers up to date."""

    def do(self, step: TraceStep) -> None:
        self.perform(step.worker, step)

    def actions(self) -> list[Any]:
        everyone = range(self.workers)
        found: list[Any] = [("send", w) for w in everyone if self.unsent(w)]
        found += [("hear", v, w) for v, w in self.updates()]
        return found + [("propagate", w) for w in everyone if self.unsettled(w)]

    def act(self, action: Any, choose: Choose) -> str:
        match action:
            case ("send", w):
                unsent = self.unsent(w)
                some = [p for p in unsent if not choose(2)]
                if not some or not self.may_send(w, some):
                    some = list(unsent)
                self.send(w, some)
                return f"{w} tells of {', '.join(f'{l} at {t}' for l, t in some)}"
            case ("hear", v, w):
                self.hear(v, w)
                return f"{w} hears {v}"
            case (_, w):
                self.propagate(w)
        return f"{action[1]} propagates"


class Specified(Exchanging):
    """The state machines of the paper: the exchange of Figure 4 and the propagation of Figure 6, as in Figure 7.

    Their guards refuse what the protocol does not allow. What the paper states is checked when all workers know
    everything.
    """

    conf: TrackerConf

    def start(self, graph: Graph, held: Mapping[int, list[Point]]) -> None:
        self.conf = TrackerConf.start(graph, held)
        self.known = self.conf

    def perform(self, worker: int, step: TraceStep) -> None:
        received = () if step.receive is None else (step.receive,)
        for p in received:
            self.conf = self.conf.recv_cap(worker, p)
        sent = [(to, (l, t)) for to, l, t in step.send]
        self.conf = self.conf.perf_op(worker, [*received, *step.drop], sent, step.take)

    def unsent(self, worker: int) -> Collection[Point]:
        return list(self.conf.exch.temp[worker])

    def may_send(self, worker: int, some: Collection[Point]) -> bool:
        exch = self.conf.exch
        kept = ZMultiset({p: n for p, n in exch.temp[worker].items() if p not in some})
        return justified(exch.order, exch.caps[worker], kept)

    def send(self, worker: int, some: Collection[Point]) -> None:
        self.conf = self.conf.send_upd(worker, some)

    def updates(self) -> list[tuple[int, int]]:
        found = [pair for pair, queue in self.conf.exch.msg.items() if queue and pair[1] in self.conf.init]
        return cast("list[tuple[int, int]]", found)

    def hear(self, sender: int, worker: int) -> None:
        self.conf = self.conf.recv_upd(sender, worker)

    def unsettled(self, worker: int) -> bool:
        return worker not in self.conf.init or any(self.conf.of(worker).pending())

    def propagate(self, worker: int) -> None:
        self.conf = self.conf.propagate(worker)

    def knows(self, worker: int) -> bool:
        return worker in self.conf.init

    def frontier(self, worker: int, location: str) -> frozenset[Any]:
        return frozenset(self.conf.frontier(worker, location).times)

    def broken(self) -> str | None:
        before, self.known = self.known, self.conf
        for name, statement in (*statements(self.conf), *steps(before, self.conf)):
            if (wrong := statement()) is not None:
                return f"{name}: {wrong}"
        return None


class Fast(Exchanging):
    """The fast tracker on every worker, as on the simulated ones."""

    live: SimulatedProtocol

    def start(self, graph: Graph, held: Mapping[int, list[Point]]) -> None:
        self.live = SimulatedProtocol(graph, held)

    def perform(self, worker: int, step: TraceStep) -> None:
        received = () if step.receive is None else (step.receive,)
        for p in received:
            self.live.recv_cap(worker, p)
        sent = [(to, (l, t)) for to, l, t in step.send]
        self.live.perf_op(worker, Counter([*received, *step.drop]), sent, Counter(step.take))

    def unsent(self, worker: int) -> Collection[Point]:
        return cast("list[Point]", list(self.live.temp[worker]))

    def may_send(self, worker: int, some: Collection[Point]) -> bool:
        return self.live.may_send(worker, some)

    def send(self, worker: int, some: Collection[Point]) -> None:
        self.live.send_upd(worker, some)

    def updates(self) -> list[tuple[int, int]]:
        return [(v, w) for (v, w), queue in self.live.updates.items() if queue and w in self.live.initialized]

    def hear(self, sender: int, worker: int) -> None:
        self.live.recv_upd(sender, worker)

    def unsettled(self, worker: int) -> bool:
        return worker not in self.live.initialized or bool(self.live.unpropagated[worker])

    def propagate(self, worker: int) -> None:
        self.live.propagate(worker)

    def knows(self, worker: int) -> bool:
        return worker in self.live.initialized

    def frontier(self, worker: int, location: str) -> frozenset[Any]:
        return frozenset(self.live.frontier(worker, location).times)
