"""A loop on simulated workers: facts and rows whose times may be of any order with joins.

Times inside are pairs: the time of a fact, and the round in which it was found. Every worker has all rows, and knows
the facts of its share of the keys. What follows from a fact goes, one round later, to the worker of its own key.

    a.rows ──rows──▶ b.rows    b.next ──facts──▶ c.1    c.2 ──facts──▶ b.facts    b.out ──answers──▶ d.in

The loop is ``b.next, c.1, c.2, b.facts``; ``c`` adds one to the round. On the way to ``d`` the round is dropped.

A fact that holds at a time holds at all later ones, and so does a row. Together they make a fact at the join of their
times. So different times are worked on side by side. A time is answered when nothing at it *or below it* is left in the
loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias
from zlib import crc32

from tidegate.progress import Leave
from tidegate.sim.capability import Capability
from tidegate.sim.dataflow import Dataflow
from tidegate.sim.operator import Message, SimulatedOperator
from tidegate.sim.weak import Feedback
from tidegate.time import Antichain, Nat, Order, Product

__all__ = ["LoopBody", "LoopInput", "LoopOutput", "Rules", "Timed", "loop"]

#: A row or a fact, with the time from which on it holds.
Timed: TypeAlias = tuple[Any, Any]


class Rules(Protocol):
    """What a loop computes: what follows from rows, what from facts and rows, and which facts have the same key."""

    def start(self, rows: Sequence[Timed]) -> Iterable[Timed]:
        """Return the facts that follow from rows alone, at the join of their times; None means from the beginning."""
        ...

    def step(self, facts: Sequence[Timed], rows: Sequence[Timed]) -> Iterable[Timed]:
        """Return the facts that follow each from one of ``facts`` and from rows."""
        ...

    def key(self, fact: Any) -> Hashable:
        """Return the key of a fact."""
        ...

    def merge(self, facts: Sequence[Any]) -> Any:
        """Merge facts with the same key into one; the order, and how often a fact is given, must not matter."""
        ...


def loop(order: Order[Any], rows: Sequence[Timed], rules: Rules, *, body: type[LoopBody] | None = None) -> Dataflow:
    """Build the dataflow of a loop over ``rows``, whose times are of ``order``; ``body`` replaces its operator ``b``.

    >>> from tidegate.sim import Simulation
    >>> class Reached:
    ...     def start(self, rows): return [(t, s) for t, (s, d) in rows if s == 1]
    ...     def step(self, facts, rows): return [(max(t, u), d) for t, x in facts for u, (s, d) in rows if s == x]
    ...     def key(self, fact): return fact
    ...     def merge(self, facts): return facts[0]
    >>> simulation = Simulation(loop(Nat(), [(0, (1, 2)), (3, (2, 5))], Reached()), workers=2)
    >>> _ = simulation.run(seed=1)
    >>> sorted(answer for sink in simulation.instances("d") for answer in sink.answers)
    [(0, 1), (0, 2), (3, 5)]
    """
    flow = Dataflow(Product(order, Nat()))
    make = body or LoopBody
    flow.operator("a", lambda worker, workers: LoopInput(rows[worker::workers], workers), outputs=["rows"])
    flow.operator("b", lambda w, n: make(order, rules, w, n), inputs=["rows", "facts"], outputs=["next", "out"])
    flow.operator(
        "c", lambda *_: Feedback(), inputs=["1"], outputs=["2"], summaries={("1", "2"): (order.summaries.neutral, 1)}
    )
    flow.operator("d", lambda *_: LoopOutput(), inputs=["in"], order=order)
    flow.channel("a.rows", "b.rows", route=lambda sent: int(sent[0]))
    flow.channel("b.next", "c.1")
    flow.channel("c.2", "b.facts", route=lambda fact: owner(rules.key(fact)))
    flow.channel("b.out", "d.in", along=Leave)
    return flow


def owner(key: Hashable) -> int:
    """Return a number for a key, the same in every process."""
    return crc32(repr(key).encode())


class LoopInput(SimulatedOperator):
    """The input ``a``: each worker reads a share of the rows, and sends each to all workers."""

    def __init__(self, rows: Sequence[Timed], workers: int) -> None:
        self.unread = list(rows)
        self.workers = workers
        #: For each time of which there are rows to read: the capability to send them.
        self.held: dict[Any, Capability] = {}

    def start(self, held: Mapping[str, Capability]) -> None:
        self.first = held["rows"]

    @property
    def active(self) -> bool:
        return not self.first.dropped or bool(self.unread)

    def work(self) -> None:
        if not self.first.dropped:
            self.held = {t: self.first.copy(at=(t, 0)) for t in dict.fromkeys(t for t, _ in self.unread)}
            self.first.drop()
            return
        t, row = self.unread.pop(0)
        for worker in range(self.workers):
            self.held[t].send((worker, row))
        if not any(t == u for u, _ in self.unread):
            self.held.pop(t).drop()


class LoopBody(SimulatedOperator):
    """The operator ``b``: on each worker all rows, and the facts of a share of the keys."""

    def __init__(self, order: Order[Any], rules: Rules, worker: int, workers: int) -> None:
        self.order, self.rules = order, rules
        self.worker, self.workers = worker, workers
        #: What arrived at a time and round that are not complete.
        self.waiting: dict[tuple[Any, int], tuple[Capability, list[Any], list[Any]]] = {}
        #: The times at which there is a row, each with the capability to answer at it.
        self.owed: dict[Any, Capability] = {}
        self.versions: list[Any] = []
        self.rows: list[Timed] = []
        #: For each key the facts that were better than what was known when they came.
        self.facts: defaultdict[Hashable, list[Timed]] = defaultdict(list)
        #: For each key the times at which something became known, and all joins of them.
        self.times: defaultdict[Hashable, list[Any]] = defaultdict(list)

    def receive(self, message: Message) -> None:
        at = message.time
        if at not in self.waiting:
            self.waiting[at] = (message.capability("next"), [], [])
        _, rows, facts = self.waiting[at]
        if message.port == "facts":
            facts.append(message.data)
            return
        rows.append(message.data[1])
        if at[0] not in self.versions:
            self.versions.append(at[0])
            self.owed[at[0]] = message.capability("out")

    def proceed(self, frontiers: Mapping[str, Antichain[Any]]) -> None:
        inner = Product(self.order, Nat())
        for at in sorted(self.waiting, key=inner.key):
            if not any(frontier.reaches(at) for frontier in frontiers.values()):
                now, rows, facts = self.waiting.pop(at)
                self.round(*at, now, rows, facts)
        for t in sorted(self.owed, key=self.order.key):
            if self.at_rest(t, frontiers):
                self.answer(t, self.owed.pop(t))

    def at_rest(self, t: Any, frontiers: Mapping[str, Antichain[Any]]) -> bool:
        """Whether nothing can come any more at a time or below it, in any round."""
        return not any(self.order.le(s, t) for frontier in frontiers.values() for s, _ in frontier)

    def round(self, t: Any, number: int, now: Capability, rows: list[Any], facts: list[Any]) -> None:
        """Process everything that came at a time in a round, and send what follows from it."""
        fresh = [known for fact in facts for known in self.learn(t, fact)]
        if rows:
            known = self.known()
            self.rows += [(t, row) for row in rows]
            self.follow(t, number, now, known)
            for begun, fact in self.rules.start(self.rows):
                since = t if begun is None else begun
                if self.order.le(t, since) and owner(self.rules.key(fact)) % self.workers == self.worker:
                    fresh += self.learn(since, fact)
        self.follow(t, number, now, fresh)
        now.drop()

    def follow(self, t: Any, number: int, now: Capability, facts: list[Timed]) -> None:
        """Send what follows from facts and all rows, if it is at or above ``t``; the rest was sent before."""
        for since, fact in self.rules.step(facts, self.rows) if facts else ():
            if self.order.le(t, since):
                now.send(fact, at=(since, number))

    def learn(self, t: Any, fact: Any) -> list[Timed]:
        """Record a fact; return what is now known of its key, at each time at which that changed."""
        key = self.rules.key(fact)
        times = list(dict.fromkeys([t, *(self.order.join(t, s) for s in self.times[key])]))
        before = [self.at(key, s) for s in times]
        self.facts[key].append((t, fact))
        found = [(s, self.at(key, s)) for s, old in zip(times, before, strict=True) if self.at(key, s) != old]
        if not found:
            self.facts[key].pop()
            return []
        self.times[key] += [s for s in times if s not in self.times[key]]
        return found

    def at(self, key: Hashable, t: Any) -> Any:
        """Return what is known so far of a key at a time; or None."""
        facts = [fact for s, fact in self.facts[key] if self.order.le(s, t)]
        return self.rules.merge(facts) if facts else None

    def known(self) -> list[Timed]:
        """Return what is known of every key at every time at which it changed."""
        return [(t, self.at(key, t)) for key, times in self.times.items() for t in times]

    def answer(self, t: Any, now: Capability) -> None:
        """Send what is known at a time, unless it was already known at the earlier times that have a row."""
        below = [s for s in self.versions if s != t and self.order.le(s, t)]
        for key in sorted(self.facts, key=repr):
            fact = self.at(key, t)
            earlier = [old for s in below if (old := self.at(key, s)) is not None]
            if fact is not None and (not earlier or self.rules.merge(earlier) != fact):
                now.send(fact)
        now.drop()


class LoopOutput(SimulatedOperator):
    """The output ``d``: what was answered at each time."""

    def __init__(self) -> None:
        self.answers: list[Timed] = []

    def receive(self, message: Message) -> None:
        self.answers.append((message.time, message.data))
