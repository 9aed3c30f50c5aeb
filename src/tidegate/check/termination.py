"""A search for propagation that never ends: random graphs and changes, adversarial choices, and the proof's claim.

The paper leaves open whether `propagate_all` terminates. ``docs/progress.md`` gives an argument that it does. The
search tries to break both: a run that is too long, and a step that the argument rules out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tidegate.progress import BadGraph, Enter, Forbidden, Graph, Leave, Pointstamp, PropagationConf
from tidegate.progress.scope import depth, outer
from tidegate.time import Inl, Inr, Lexicographic, Nat, Order, Product, Sum

__all__ = ["Searched", "random_graph", "random_pointstamps", "search", "settle"]

Choose = Callable[[Sequence[Pointstamp]], Pointstamp]


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search saw: runs of `propagate_all`, all steps, and the longest run with its graph."""

    runs: int
    steps: int
    longest: int
    longest_on: str
    counterexample: str | None


def search(random: Random, *, graphs: int, most_steps: int = 20_000) -> Searched:
    """Draw graphs and changes, propagate under adversarial choices, and stop at the first counterexample."""
    runs = steps = longest = 0
    longest_on = ""
    for _ in range(graphs):
        graph = random_graph(random)
        conf = PropagationConf.init(graph, random_pointstamps(random, graph))
        for _ in range(random.randint(1, 4)):
            if random.random() < 0.4:
                conf = _changed(random, _halfway(random, conf))
            taken, rest, broken = settle(conf, _chooser(random), most_steps=most_steps)
            runs, steps = runs + 1, steps + taken
            if taken > longest:
                longest, longest_on = taken, _describe(graph)
            if broken is not None:
                return Searched(runs, steps, longest, longest_on, f"{broken}, on {_describe(graph)} from {conf!r}")
            conf = _changed(random, rest)
    return Searched(runs, steps, longest, longest_on, None)


def settle(conf: PropagationConf, choose: Choose, *, most_steps: int) -> tuple[int, PropagationConf, str | None]:
    """Propagate until nothing is pending; return the number of steps, the end, and what went wrong, if anything did.

    A frontier may change only at times that are in an implied frontier, or were in imp at the start; with scopes, at
    that very location. There are finitely many of these, which is why propagation ends.
    """
    graph = conf.graph
    expected = {l: set(conf.implied_frontier(l)) | set(conf.imp[l]) for l in graph.locations}
    if graph.uniform:
        everywhere = set[Any]().union(*expected.values())
        expected = dict.fromkeys(graph.locations, everywhere)
    steps = 0
    while pending := conf.minimal_pending():
        l, t = choose(pending)
        then = conf.propagate(l, t)
        steps += 1
        if t not in expected[l] and then.frontier(l) != conf.frontier(l):
            return steps, then, f"the frontier of {l!r} changes at {t!r}, which the argument rules out"
        if steps > most_steps:
            return steps, then, f"not at rest after {steps} steps"
        conf = then
    broken = [f"the frontier of {l!r} is not implied" for l in expected if conf.frontier(l) != conf.implied_frontier(l)]
    return steps, conf, broken[0] if broken else None


def random_graph(random: Random) -> Graph:
    """Draw a graph of up to 8 locations in up to 4 nested scopes, as dense as the rule for cycles allows."""
    flat: list[Order[Any]] = [Nat(), Product(Nat(), Nat()), Product(Nat(), Nat(), Nat())]
    chain = [random.choice([*flat, Lexicographic(Nat(), Nat()), Sum(Nat(), Nat())])]
    for _ in range(random.choice([0, 0, 0, 1, 2, 3, 4])):
        chain.append(random.choice([Product, Lexicographic])(chain[-1], Nat()))
    orders = {f"l{i}": random.choice(chain) for i in range(random.randint(2, 8))}
    pairs = [(l, m) for l in orders for m in orders if l != m and _fit(orders[l], orders[m])]
    random.shuffle(pairs)
    edges: dict[tuple[str, str], Any] = {}
    graph = Graph(orders, edges)
    for l, m in pairs[: random.randint(1, 20)]:
        trial = {**edges, (l, m): _edge(random, orders[l], orders[m])}
        try:
            graph = Graph(orders, trial)
        except BadGraph:
            continue  # leave the edge out; without it the graph is one
        edges = trial
    return graph


def random_pointstamps(random: Random, graph: Graph) -> dict[Any, dict[Any, int]]:
    """Draw up to five pointstamps."""
    drawn: dict[Any, dict[Any, int]] = {}
    for _ in range(random.randint(1, 5)):
        l = random.choice(graph.locations)
        drawn.setdefault(l, {})[_time(random, graph.order(l))] = random.randint(1, 2)
    return drawn


def _changed(random: Random, conf: PropagationConf) -> PropagationConf:
    """Change counts where it is allowed: take away some of what is there, and add what is still expected."""
    for _ in range(random.randint(1, 6)):
        there = [(l, t) for l, M in conf.pts.items() for t in M]
        if there and random.random() < 0.6:
            l, t = random.choice(there)
            n = -conf.pts[l][t]
        else:
            l = random.choice(conf.graph.locations)
            t, n = _time(random, conf.graph.order(l)), 1
        try:
            conf = conf.change_multiplicity(l, t, n)
        except Forbidden:
            continue
    return conf


def _halfway(random: Random, conf: PropagationConf) -> PropagationConf:
    """Propagate some of what is pending, so that changes come in between."""
    for _ in range(random.randint(1, 8)):
        if pending := conf.minimal_pending():
            conf = conf.propagate(*random.choice(pending))
    return conf


def _chooser(random: Random) -> Choose:
    """Draw a scheduler: first come, last come, at random, or one that neglects some locations as long as it can."""
    neglected = {f"l{i}" for i in range(8) if random.random() < 0.5}

    def neglect(pending: Sequence[Pointstamp]) -> Pointstamp:
        favoured = [p for p in pending if p[0] not in neglected]
        return random.choice(favoured or pending)

    schedulers: list[Choose] = [lambda pending: pending[0], lambda pending: pending[-1], random.choice, neglect]
    return random.choice(schedulers)


def _fit(a: Order[Any], b: Order[Any]) -> bool:
    return a == b or outer(a) == b or outer(b) == a


def _edge(random: Random, a: Order[Any], b: Order[Any]) -> Any:
    if a != b:
        return Enter if depth(a) < depth(b) else Leave
    return [_summary(random, a) for _ in range(random.choice([1, 1, 2, 3]))]


def _summary(random: Random, order: Order[Any]) -> Any:
    if isinstance(order, Product | Lexicographic):
        return tuple(_summary(random, part) for part in order.parts)
    if isinstance(order, Sum):
        return (_summary(random, order.left), _summary(random, order.right))
    return random.choice([0, 0, 0, 1, 1, 2])


def _time(random: Random, order: Order[Any]) -> Any:
    if isinstance(order, Product | Lexicographic):
        return tuple(_time(random, part) for part in order.parts)
    if isinstance(order, Sum):
        return Inl(_time(random, order.left)) if random.random() < 0.5 else Inr(_time(random, order.right))
    return random.randint(0, 4)


def _describe(graph: Graph) -> str:
    orders = sorted({repr(graph.order(l)) for l in graph.locations}, key=len)
    return f"{graph!r} in {' and '.join(orders)}"
