"""Strongly connected components of several graphs: a loop inside a loop, with times of three components.

The components are found by colours (Orzan). In each round of the outer loop, inside of which two inner loops run:

1. every vertex takes its own number for its colour and passes colours on along the edges; the greatest wins. This is an
   inner loop. When it has ended, all vertices with one colour can be reached from the vertex of that number;
2. from these vertices marks go back against the edges, as far as the colour is the same: the second inner loop. When it
   has ended, the marked vertices are a component;
3. vertices that are not marked go into the next round of the outer loop.

Times inside are (version, outer round, inner round). Only frontiers say that an inner loop has ended.

    a ──Enter──▶ e ──Enter──▶ p.edges
    p.again ──Leave──▶ f ──Enter──▶ p.alive      f adds one to the outer round
    p.colour ──▶ g ──▶ p.forth                   g and h add one to the inner round
    p.mark ──▶ h ──▶ p.back
    p.found ──Leave──▶ o ──Leave──▶ d
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tidegate.progress import Enter, Leave
from tidegate.sim.capability import Capability
from tidegate.sim.dataflow import Dataflow
from tidegate.sim.operator import Message, SimulatedOperator
from tidegate.sim.weak import Answers, Edge, Edges, Feedback
from tidegate.time import Antichain, Nat, Product

__all__ = ["Colours", "Graphs", "strong_components"]

#: Version and outer round; with the inner round it is a time.
Round: TypeAlias = tuple[int, int]
Time: TypeAlias = tuple[int, int, int]


def strong_components(graphs: Sequence[Sequence[Edge]]) -> Dataflow:
    """Build the dataflow that finds the strongly connected components of each graph, a version of its own."""
    flow = Dataflow(Product(Nat(), Nat(), Nat()))
    middle = Product(Nat(), Nat())
    flow.operator("a", lambda worker, workers: Graphs(graphs, worker, workers), outputs=["1"], order=Nat())
    flow.operator("e", lambda *_: Feedback(), inputs=["1"], outputs=["2"], order=middle)
    flow.operator(
        "p",
        lambda *_: Colours(),
        inputs=["edges", "alive", "forth", "back"],
        outputs=["colour", "mark", "again", "found"],
        summaries={
            **{(i, o): (0, 0, 0) for i in ("edges", "alive") for o in ("colour", "mark", "again", "found")},
            ("forth", "colour"): (0, 0, 0),
            ("back", "mark"): (0, 0, 0),
        },
    )
    for name, along, order in (("f", (0, 1), middle), ("g", (0, 0, 1), None), ("h", (0, 0, 1), None)):
        flow.operator(
            name, lambda *_: Feedback(), inputs=["1"], outputs=["2"], order=order, summaries={("1", "2"): along}
        )
    flow.operator("o", lambda *_: Feedback(), inputs=["1"], outputs=["2"], order=middle)
    flow.operator("d", lambda *_: Answers(), inputs=["1"], order=Nat())
    flow.channel("a.1", "e.1", along=Enter)
    flow.channel("e.2", "p.edges", along=Enter, route=_vertex)
    flow.channel("p.again", "f.1", along=Leave)
    flow.channel("f.2", "p.alive", along=Enter, route=_vertex)
    flow.channel("p.colour", "g.1")
    flow.channel("g.2", "p.forth", route=_vertex)
    flow.channel("p.mark", "h.1")
    flow.channel("h.2", "p.back", route=_vertex)
    flow.channel("p.found", "o.1", along=Leave)
    flow.channel("o.2", "d.1", along=Leave)
    return flow


def _vertex(datum: tuple[int, ...]) -> int:
    return datum[0]


class Graphs(Edges):
    """The input: each edge goes to both of its ends."""

    def data(self, edge: Edge) -> list[Any]:
        s, d = edge
        return [(s, d, True), (d, s, False)]

    def time(self, version: int) -> int:
        return version


class _Round:
    """What a worker knows of one round of the outer loop: of its own vertices that are still alive."""

    def __init__(self, message: Message) -> None:
        self.alive: set[int] = set()
        self.colour: dict[int, int] = {}
        self.marked: set[int] = set()
        #: The capabilities for what is still to be sent; a missing one was used and dropped.
        self.held = {output: message.capability(output) for output in ("colour", "mark", "again", "found")}


class Colours(SimulatedOperator):
    """The operator ``p``: the edges, colours and marks of a share of the vertices."""

    def __init__(self) -> None:
        #: By version and vertex: where edges lead to, and where they come from.
        self.following: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        self.preceding: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        self.rounds: dict[Round, _Round] = {}
        #: What came to an inner loop that has not begun here, as time, vertex and colour.
        self.early: defaultdict[tuple[str, Round], list[tuple[Time, int, int]]] = defaultdict(list)

    def receive(self, message: Message) -> None:
        at: Round = message.time[:2]
        if message.port in ("edges", "alive"):
            self.enlist(at, message)
            return
        output, take = ("colour", self.paint) if message.port == "forth" else ("mark", self.mark)
        known = self.rounds.get(at)
        if known is None or output in known.held:
            self.early[message.port, at].append((message.time, *message.data))
        else:
            now = message.capability(output)
            take(known, now, message.time, *message.data)
            now.drop()

    def proceed(self, frontiers: Mapping[str, Antichain[Any]]) -> None:
        for at in sorted(self.rounds):
            known = self.rounds[at]
            if "colour" in known.held and not any(frontiers[port].reaches((*at, 0)) for port in ("edges", "alive")):
                self.begin(at, known)
            if "colour" not in known.held and "mark" in known.held and _at_rest(frontiers["forth"], at):
                self.run_round(at, known)
            if "mark" not in known.held and _at_rest(frontiers["back"], at):
                self.end(known)
                del self.rounds[at]

    def enlist(self, at: Round, message: Message) -> None:
        """Record a vertex that is alive in a round; in the first round, with its edges."""
        if at not in self.rounds:
            self.rounds[at] = _Round(message)
        vertex, *edge = message.data
        self.rounds[at].alive.add(vertex)
        if edge:
            other, leaves = edge
            (self.following if leaves else self.preceding)[at[0], vertex].add(other)

    def begin(self, at: Round, known: _Round) -> None:
        """Give every vertex that is alive a colour, its own, and pass it on."""
        now = known.held.pop("colour")
        known.colour = dict.fromkeys(known.alive, -1)
        for vertex in sorted(known.alive):
            self.paint(known, now, now.time, vertex, vertex)
        for early in self.early.pop(("forth", at), ()):
            self.paint(known, now, *early)
        now.drop()

    def run_round(self, at: Round, known: _Round) -> None:
        """Mark the vertices whose colour is their own, and go back from them."""
        now = known.held.pop("mark")
        for vertex in sorted(known.alive):
            if known.colour[vertex] == vertex:
                self.mark(known, now, now.time, vertex, vertex)
        for early in self.early.pop(("back", at), ()):
            self.mark(known, now, *early)
        now.drop()

    def end(self, known: _Round) -> None:
        """Send what is marked to the output, and the rest into the next round."""
        for vertex in sorted(known.alive):
            if vertex in known.marked:
                known.held["found"].send((vertex, known.colour[vertex]))
            else:
                known.held["again"].send((vertex,))
        known.held["found"].drop()
        known.held["again"].drop()

    def paint(self, known: _Round, now: Capability, t: Time, vertex: int, colour: int) -> None:
        """Record a colour and, if it is the greatest so far, pass it on along the edges."""
        if vertex in known.alive and colour > known.colour[vertex]:
            known.colour[vertex] = colour
            for other in sorted(self.following[t[0], vertex]):
                now.send((other, colour), at=t)

    def mark(self, known: _Round, now: Capability, t: Time, vertex: int, colour: int) -> None:
        """Record a mark and, if the colour is that of the vertex, pass it on against the edges."""
        if known.colour.get(vertex) == colour and vertex not in known.marked:
            known.marked.add(vertex)
            for other in sorted(self.preceding[t[0], vertex]):
                now.send((other, colour), at=t)


def _at_rest(frontier: Antichain[Any], at: Round) -> bool:
    """Whether nothing can come any more in any inner round of an outer round."""
    return not any(f[0] <= at[0] and f[1] <= at[1] for f in frontier)
