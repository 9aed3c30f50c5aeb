"""The dataflow graph that progress is tracked on: locations, the orders of their times, summaries along edges."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any, TypeAlias

from tidegate.errors import NotFound, WrongType
from tidegate.progress.cycles import check_cycles
from tidegate.progress.errors import BadGraph
from tidegate.progress.scope import AnyOrder, Enter, Leave, outer
from tidegate.progress.summary import Summary, minimal_summaries
from tidegate.time import Antichain, NoSuchTime, Order, Poset

__all__ = ["Graph", "Location", "Pointstamp"]

Location: TypeAlias = Hashable
Pointstamp: TypeAlias = tuple[Location, Any]


class Graph:
    """A weighted directed graph as in the paper's Figure 5, with an order for each location.

    ``orders`` is one order for all locations, or a mapping from location to order. ``summaries`` maps pairs of
    locations to the summary along that edge, written as the order's own summaries are: ``1`` for `Nat`, ``(0, 1)`` for
    a product. A list, a set or an antichain holds several, of which the minimal ones are kept. `Enter` and `Leave`
    connect a location with one in a scope. ``locations`` names those that no edge mentions.

    Required: summaries are monotone and fit the orders at both ends, no edge leads from a location to itself, and every
    cycle advances time. Figure 5 requires one order for all locations, and summaries that never lower a time. `Leave`,
    from ``(t, 5)`` to ``t``, does not fit that. So here each location has its order, and a cycle must strictly increase
    the part of the time that it keeps all the way round. If a cycle leaves no scope, that is the paper's condition.

    >>> from tidegate.time import Nat, Product
    >>> scopes = {"in": Nat(), "head": Product(Nat(), Nat()), "tail": Product(Nat(), Nat()), "out": Nat()}
    >>> graph = Graph(scopes, {("in", "head"): Enter, ("head", "tail"): (0, 0), ("tail", "head"): (0, 1),
    ...                        ("tail", "out"): Leave})
    >>> graph.could_result_in(("in", 3), ("tail", (3, 7))), graph.could_result_in(("tail", (3, 7)), ("out", 3))
    (True, True)
    >>> graph.path_summary("tail", "tail"), graph.path_summary("tail", "out"), graph.path_summary("out", "in")
    ((<(0, 0)>,), (<Leave>,), ())
    """

    __slots__ = ("_from", "_orders", "_predecessors", "_successors", "locations", "uniform")

    def __init__(
        self,
        orders: AnyOrder | Mapping[Any, AnyOrder],
        summaries: Mapping[tuple[Any, Any], Any],
        *,
        locations: Iterable[Location] = (),
    ) -> None:
        _check_edges(summaries)
        named = dict.fromkeys(l for edge in summaries for l in edge) | dict.fromkeys(locations)
        if not isinstance(orders, Mapping):
            check_order(orders)
            orders = dict.fromkeys(named, orders)
        self._orders: dict[Location, AnyOrder] = dict(orders)
        for l, order in self._orders.items():
            check_order(order, f"location {l!r}")
        #: All locations, in the order of their first mention.
        self.locations: tuple[Location, ...] = tuple(self._orders)
        for l in named:
            self.check_location(l)
        #: Whether all locations have one order, as in the paper.
        self.uniform: bool = len(set(self._orders.values())) <= 1
        self._successors: dict[Location, dict[Location, tuple[Summary, ...]]] = {l: {} for l in self.locations}
        self._predecessors: dict[Location, dict[Location, tuple[Summary, ...]]] = {l: {} for l in self.locations}
        for (l, m), given in summaries.items():
            edge = tuple(minimal_summaries(self._edge(l, m, s) for s in self._several(l, given)))
            if edge:
                self._successors[l][m] = self._predecessors[m][l] = edge
        check_cycles(self._orders, self._successors)
        # Path summaries by their first location: computed when first asked for, because there are quadratically many.
        self._from: dict[Location, dict[Location, tuple[Summary, ...]]] = {}

    def order(self, l: Location) -> AnyOrder:
        """Return the order of the times at ``l``."""
        self.check_location(l)
        return self._orders[l]

    def successors(self, l: Location) -> Mapping[Location, tuple[Summary, ...]]:
        """Return the locations that an edge from ``l`` leads to, with the antichain of summaries along it."""
        self.check_location(l)
        return self._successors[l]

    def predecessors(self, l: Location) -> Mapping[Location, tuple[Summary, ...]]:
        """Return the locations from which an edge leads to ``l``, with the antichain of summaries along it."""
        self.check_location(l)
        return self._predecessors[l]

    def summary(self, l: Location, m: Location) -> tuple[Summary, ...]:
        """Return the antichain of summaries along the edge from ``l`` to ``m``; it is empty if there is no edge."""
        self.check_location(m)
        return self.successors(l).get(m, ())

    def path_summary(self, l: Location, m: Location) -> tuple[Summary, ...]:
        """Return the antichain of minimal summaries over all paths from ``l`` to ``m``, the empty path included."""
        self.check_location(m)
        return self.path_summaries(l).get(m, ())

    def path_summaries(self, l: Location) -> Mapping[Location, tuple[Summary, ...]]:
        """Return the path summaries from ``l`` to each location that can be reached from it.

        The search ends, because going round a cycle gives nothing below the path without it. The exception is a cycle
        that leaves a scope and enters it again at its least time; there, a second round gives nothing below the first.
        """
        found = self._from.get(l)
        if found is None:
            found = self._from[l] = self._search(l)
        return found

    def could_result_in(self, p: Pointstamp, q: Pointstamp) -> bool:
        """Whether a datum at the pointstamp ``p`` could lead to one at ``q``: a partial order on pointstamps.

        >>> from tidegate.time import Nat
        >>> loop = Graph(Nat(), {("a", "b"): 0, ("b", "a"): 1})
        >>> loop.could_result_in(("a", 2), ("b", 2)), loop.could_result_in(("b", 2), ("a", 2))
        (True, False)
        """
        self.check(*p, extended=True)
        self.check(*q, extended=True)
        return self.leads_to(p, q)

    def leads_to(self, p: Pointstamp, q: Pointstamp) -> bool:
        """Whether ``p`` could result in ``q``, without a check that both are in this graph."""
        (l, t), (m, u) = p, q
        le = self._orders[m].le
        return any(le(s.results_in(t), u) for s in self.path_summaries(l).get(m, ()))

    def check_location(self, l: Location) -> None:
        """Raise `NotFound` unless ``l`` is a location of this graph."""
        if l not in self._orders:
            known = ", ".join(map(repr, self.locations[:10])) + (", …" if len(self.locations) > 10 else "")
            raise NotFound(f"expected a location of the graph, got {l!r}", hint=f"the graph has {known}")

    def check(self, l: Location, t: object, *, extended: bool = False) -> None:
        """Raise `NotFound` or `NotATime` unless ``t`` is a time at the location ``l``."""
        try:
            self.check_location(l)
        except NotFound as error:
            raise error.at(f"time {t!r}") from None
        order = self._orders[l]
        if not order.contains(t, extended=extended):
            raise order.not_a_time(t).at(f"location {l!r}")

    def __repr__(self) -> str:
        edges = sum(map(len, self._successors.values()))
        return f"<Graph of {len(self.locations)} locations and {edges} edges>"

    def _several(self, l: Location, given: Any) -> list[Any]:
        if isinstance(given, list | Antichain):
            return list(given)
        if not isinstance(given, Set):
            return [given]
        # A summary of a finite order is itself a set, so there a set of summaries is a set of sets.
        sets = isinstance(self._orders[l].summaries.neutral, frozenset)
        return list(given) if not sets or (given and all(isinstance(s, frozenset) for s in given)) else [given]

    def _edge(self, l: Location, m: Location, given: Any) -> Summary:
        place = f"the edge from {l!r} to {m!r}"
        if l == m:
            raise BadGraph(
                f"expected an edge between two locations, got one from {l!r} to itself",
                hint="put a second location on the loop, such as the port that the feedback leaves from",
            ).at(place)
        source, target = self._orders[l], self._orders[m]
        if given is Enter or isinstance(given, Enter):
            if outer(target) != source:
                raise _does_not_fit("Enter", source, target, f"such as Product({source!r}, Nat())").at(place)
            try:
                return Summary.enter(target)
            except NoSuchTime as error:
                raise error.at(place) from None
        if given is Leave or isinstance(given, Leave):
            if outer(source) != target:
                raise _does_not_fit("Leave", source, target, f"{outer(source)!r}").at(place)
            return Summary.leave(source)
        if source != target:
            raise _does_not_fit(repr(given), source, target, f"{source!r}, or Enter or Leave as the summary").at(place)
        if not source.summaries.contains(given):
            raise _not_monotone(source, given).at(place)
        return Summary.local(source, given)

    def _search(self, l: Location) -> dict[Location, tuple[Summary, ...]]:
        order = self.order(l)
        start = Summary.local(order, order.summaries.neutral)
        found: dict[Location, list[Summary]] = {l: [start]}
        queue = deque([(l, start)])
        while queue:
            at, path = queue.popleft()
            if path not in found[at]:
                continue  # a smaller one was found in the meantime
            for m, edge in self._successors[at].items():
                known = found.setdefault(m, [])
                for s in edge:
                    longer = path.followed_by(s)
                    if not any(k.le(longer) for k in known):
                        known[:] = [k for k in known if not longer.le(k)]
                        known.append(longer)
                        queue.append((m, longer))
        return {m: tuple(paths) for m, paths in found.items()}


def check_order(order: object, place: str = "") -> None:
    """Raise `WrongType` unless ``order`` is an order of times."""
    if not isinstance(order, Order):
        what = f"the class {order.__name__}" if isinstance(order, type) else f"{order!r} ({type(order).__name__})"
        error = WrongType(f"expected an order, got {what}", hint="write Nat(), not Nat")
        raise error.at(place) if place else error


def _check_edges(summaries: object) -> None:
    if not isinstance(summaries, Mapping):
        raise WrongType(f"expected a mapping from edges to summaries, got {summaries!r}", hint="write {('a', 'b'): 0}")
    for edge in summaries:
        if not isinstance(edge, tuple) or len(edge) != 2:
            raise WrongType(f"expected an edge, a pair of two locations, got {edge!r}", hint="write ('a', 'b')")


def _does_not_fit(given: str, source: AnyOrder, target: AnyOrder, expected: str) -> BadGraph:
    return BadGraph(
        f"expected the summary {given} to fit the orders at both ends, got {source!r} and {target!r}",
        hint=f"from {source!r} it leads to {expected}",
    )


def _not_monotone(order: AnyOrder, given: Any) -> BadGraph:
    expected = order.summaries._expected()
    what = f"expected a summary of {order!r}, {expected}; got {given!r} ({type(given).__name__})"
    hint = "a summary never lowers a time, and keeps t <= u; give several as a list"
    if isinstance(order, Poset) and isinstance(given, frozenset) and all(isinstance(p, tuple) for p in given):
        moves = {p[0]: p[-1] for p in given}
        for x in order.elements:
            for y in order.elements:
                a, b = moves.get(x, x), moves.get(y, y)
                if {a, b} <= set(order.elements) and order.le(x, y) and not order.le(a, b):
                    hint = f"{x!r} <= {y!r}, but they become {a!r} and {b!r}; {hint}"
                    return BadGraph(what, hint=hint)
    return BadGraph(what, hint=hint)
