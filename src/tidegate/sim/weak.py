"""Weakly connected components of an evolving graph: the dataflow of Figure 2.

Times are pairs: the version of the graph, and the round of the loop. Each vertex knows the least label that it has
received, at first its own. Whenever it receives a smaller one, it sends it to its neighbours, one round later.

    a.1 ──edges──▶ b.2    b.3 ──labels──▶ c.1    c.2 ──labels──▶ b.1    b.4 ──answers──▶ d.1

The loop is ``b.3, c.1, c.2, b.1``; ``c`` adds one to the round. ``b.4`` and ``d`` are the "additional outgoing
channel": on the way to ``d`` the round is dropped.

A version is answered when no time of that version *or of an earlier one* is in the frontiers of ``b``. The paper's
section 2 requires this only for times of that version; but a label that is still moving in version 0 can lead to one in
version 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tidegate.progress import Leave
from tidegate.sim.capability import Capability
from tidegate.sim.dataflow import Dataflow
from tidegate.sim.operator import Message, SimulatedOperator
from tidegate.time import Antichain, Nat, Product

__all__ = ["Answers", "Edges", "Feedback", "Labels", "weak_components"]

Edge: TypeAlias = tuple[int, int]
Time: TypeAlias = tuple[int, int]


def weak_components(versions: Sequence[Sequence[Edge]]) -> Dataflow:
    """Build the dataflow for a graph that grows: ``versions`` has the edges that each version adds."""
    flow = Dataflow(Product(Nat(), Nat()))
    flow.operator("a", lambda worker, workers: Edges(versions, worker, workers), outputs=["1"])
    flow.operator("b", lambda *_: Labels(), inputs=["1", "2"], outputs=["3", "4"], starts_with=["3"])
    flow.operator("c", lambda *_: Feedback(), inputs=["1"], outputs=["2"], summaries={("1", "2"): (0, 1)})
    flow.operator("d", lambda *_: Answers(), inputs=["1"], order=Nat())
    flow.channel("a.1", "b.2", route=lambda edge: int(edge[0]))
    flow.channel("b.3", "c.1")
    flow.channel("c.2", "b.1", route=lambda label: int(label[0]))
    flow.channel("b.4", "d.1", along=Leave)
    return flow


class Edges(SimulatedOperator):
    """The input ``a``: each worker reads a share of every version, and sends each edge in both directions."""

    def __init__(self, versions: Sequence[Sequence[Edge]], worker: int, workers: int) -> None:
        self.unread = [list(edges[worker::workers]) for edges in versions]
        self.version = 0

    def start(self, held: Mapping[str, Capability]) -> None:
        self.now = held["1"]

    @property
    def active(self) -> bool:
        return not self.now.dropped

    def work(self) -> None:
        if self.version < len(self.unread) and self.unread[self.version]:
            for datum in self.data(self.unread[self.version].pop(0)):
                self.now.send(datum)
            return
        self.version += 1
        if self.version < len(self.unread):
            self.now.downgrade(self.time(self.version))
        else:
            self.now.drop()

    def data(self, edge: Edge) -> list[Any]:
        """Return what is sent for an edge."""
        s, d = edge
        return [(s, d), (d, s)]

    def time(self, version: int) -> Any:
        """Return the time of a version."""
        return (version, 0)


class Labels(SimulatedOperator):
    """The operator ``b``: the labels and neighbours of a share of the vertices.

    A label that holds in a version holds in all later ones, and so does an edge. Together they make a label for the
    neighbour, in the later of their two versions. So versions share what they know and can be worked on side by side.
    """

    def __init__(self) -> None:
        #: What arrived at a time that is not complete.
        self.waiting: dict[Time, tuple[Capability, list[Edge], list[tuple[int, int]]]] = {}
        #: For each version that something arrived for: the capability to answer.
        self.owed: dict[int, Capability] = {}
        #: For each vertex its neighbours, with the version from which on they are neighbours.
        self.neighbours: defaultdict[int, dict[int, int]] = defaultdict(dict)
        #: For each vertex the labels that were the least when they came, with the version from which on they hold.
        self.labels: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def start(self, held: Mapping[str, Capability]) -> None:
        # With a pointstamp on b.3 at (0, 0), as the paper has it: until its share of the first version is complete.
        self.waiting[held["3"].time] = (held["3"], [], [])

    def receive(self, message: Message) -> None:
        t = message.time
        if t not in self.waiting:
            self.waiting[t] = (message.capability("3"), [], [])
        _, edges, labels = self.waiting[t]
        (edges if message.port == "2" else labels).append(message.data)
        if t[0] not in self.owed:
            self.owed[t[0]] = message.capability("4")

    def proceed(self, frontiers: Mapping[str, Antichain[Any]]) -> None:
        for t in sorted(self.waiting):
            if not any(frontier.reaches(t) for frontier in frontiers.values()):
                self.round(t, *self.waiting.pop(t))
        for version in sorted(self.owed):
            if not any(t[0] <= version for frontier in frontiers.values() for t in frontier):
                self.answer(version, self.owed.pop(version))

    def round(self, t: Time, now: Capability, edges: list[Edge], labels: list[tuple[int, int]]) -> None:
        """Process everything that came at a complete time, and send what follows from it."""
        version, number = t
        for s, d in edges:
            self.learn(now, s, s)
            if d not in self.neighbours[s]:
                self.neighbours[s][d] = version
                for since, label in self.labels[s]:
                    now.send((d, label), at=(max(since, version), number))
        for vertex, label in sorted(labels):
            self.learn(now, vertex, label)
        now.drop()

    def learn(self, now: Capability, vertex: int, label: int) -> None:
        """Record a label and, if it is the least so far in its version, tell the neighbours."""
        version, number = now.time
        if label < self.least(vertex, version):
            self.labels[vertex].append((version, label))
            for neighbour, since in self.neighbours[vertex].items():
                now.send((neighbour, label), at=(max(since, version), number))

    def least(self, vertex: int, version: int) -> float:
        """Return the least label of a vertex in a version, as far as is known."""
        return min((label for since, label in self.labels[vertex] if since <= version), default=float("inf"))

    def answer(self, version: int, now: Capability) -> None:
        """Send the labels that are new in a version that is complete."""
        for vertex in sorted(self.labels):
            label = self.least(vertex, version)
            if (version, label) in self.labels[vertex] and label < self.least(vertex, version - 1):
                now.send((vertex, label))
        now.drop()


class Feedback(SimulatedOperator):
    """The operator ``c``: everything goes on, one round later."""

    def receive(self, message: Message) -> None:
        now = message.capability("2")
        now.send(message.data)
        now.drop()


class Answers(SimulatedOperator):
    """The output ``d``: what is new in each version, and what was known of it when it was reported complete."""

    def __init__(self) -> None:
        self.new: defaultdict[int, dict[int, int]] = defaultdict(dict)
        #: The versions that are complete, with what is new in them.
        self.complete: dict[int, dict[int, int]] = {}

    def receive(self, message: Message) -> None:
        vertex, label = message.data
        self.new[message.time][vertex] = label

    def proceed(self, frontiers: Mapping[str, Antichain[Any]]) -> None:
        for version in sorted(self.new):
            if version not in self.complete and not frontiers["1"].reaches(version):
                self.complete[version] = dict(self.new[version])

    def answers(self, version: int) -> dict[int, int]:
        """Return the labels in a version, from what was known when each version became complete."""
        found: dict[int, int] = {}
        for v in sorted(self.complete):
            if v <= version:
                found |= self.complete[v]
        return found
