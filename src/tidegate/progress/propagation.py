"""Local propagation, as in Figure 6: pointstamp changes travel along the graph until every frontier is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tidegate.progress.errors import Forbidden
from tidegate.progress.graph import Graph, Location, Pointstamp
from tidegate.progress.pointstamp import is_count, not_a_count
from tidegate.progress.summary import Summary
from tidegate.progress.table import DefaultTable
from tidegate.progress.updates import NOTHING, Changes
from tidegate.time import Antichain, ZMultiset, minimal

__all__ = ["Propagation", "PropagationConf"]


@dataclass(frozen=True, slots=True)
class PropagationConf:
    """A configuration of local propagation, with its actions and what is stated about it.

    A statement returns None if it holds, else what breaks it.
    """

    graph: Graph = field(compare=False, repr=False)
    #: Per location: the times that are there.
    pts: DefaultTable[Location, Changes]
    #: Per location: the times that may appear there, as far as is known.
    imp: DefaultTable[Location, Changes]
    #: Per location: changes that are not propagated yet.
    work: DefaultTable[Location, Changes]

    @classmethod
    def init(cls, graph: Graph, pointstamps: Mapping[Any, Mapping[Any, int]]) -> Self:
        """Build an initial configuration: nothing is known, and the frontiers of what is there are still pending."""
        for l, counts in pointstamps.items():
            graph.check_location(l)
            for t, n in counts.items():
                graph.check(l, t)
                if not is_count(n):
                    raise not_a_count(n).at(f"location {l!r}, time {t!r}")
        pts = DefaultTable(NOTHING, {l: ZMultiset(counts) for l, counts in pointstamps.items()})
        conf = cls(graph, pts, DefaultTable(NOTHING), DefaultTable(NOTHING))
        return replace(conf, work=DefaultTable(NOTHING, {l: conf.frontier_of(l, M) for l, M in pts.items()}))

    # Actions.

    def change_multiplicity(self, l: Location, t: Any, n: int) -> Self:
        """Count ``n`` more (or, below zero, fewer) of the time ``t`` at ``l``."""
        self.graph.check(l, t)
        if not is_count(n):
            raise not_a_count(n).at(f"location {l!r}, time {t!r}")
        self.guard_change(l, t, n)
        self.guard_implied(l, t)
        before = self.pts[l]
        after = before.add(t, n)
        change = self.filter_pts(l, before, after)
        return replace(self, pts=self.pts.set(l, after), work=self.work.set(l, self.work[l] + change))

    def propagate(self, l: Location, t: Any) -> Self:
        """Apply what is pending for the time ``t`` at ``l``, and pass on how the frontier there changed."""
        self.graph.check(l, t, extended=True)
        self.guard_pending(l, t)
        self.guard_minimal(l, t)
        before = self.imp[l]
        after = before.add(t, self.work[l][t])
        work = self.work.set(l, ZMultiset({u: n for u, n in self.work[l].items() if u != t}))
        change = self.filter_imp(l, before, after)
        if len(change):
            for m, edge in self.graph.successors(l).items():
                work = work.set(m, work[m] + shift(change, edge))
        return replace(self, imp=self.imp.set(l, after), work=work)

    def propagate_all(self, *, choose: Callable[[Sequence[Pointstamp]], Pointstamp] | None = None) -> Self:
        """Propagate until nothing is pending; ``choose`` picks among what may come next."""
        conf = self
        while (p := conf.next_pending() if choose is None else _chosen(conf, choose)) is not None:
            conf = conf.propagate(*p)
        return conf

    # Guards and filters, each a method of its own: an exploration can leave one out to see what it is for.

    def guard_change(self, l: Location, t: Any, n: int) -> None:
        """A change must change something."""
        if n == 0:
            raise Forbidden("change_multiplicity: n ≠ 0", f"expected a change other than 0 of {t!r} at {l!r}, got 0")

    def guard_implied(self, l: Location, t: Any) -> None:
        """Only times that may still appear at the location can change."""
        rule = "change_multiplicity: some t' <= t in the frontier of imp l"
        if self.expects(l, t):
            return
        if any(self.work.items()) and not any(self.imp.items()):
            raise Forbidden(
                rule,
                f"expected a first propagation before the time {t!r} at {l!r} changes, got none",
                hint="call propagate_all(), or give the time as an initial pointstamp",
            )
        raise Forbidden(
            rule,
            f"expected a time at or above the frontier {self.frontier(l)!r} of {l!r}, got {t!r}",
            hint="what the frontier has passed can not come back; change times that are still to be expected",
        )

    def guard_pending(self, l: Location, t: Any) -> None:
        """Only what is pending can be propagated."""
        if t not in self.work[l]:
            raise Forbidden(
                "propagate: t ∈ work l", f"expected the time {t!r} to be pending at {l!r}, got {self.work[l]!r}"
            )

    def guard_minimal(self, l: Location, t: Any) -> None:
        """Smaller times must be propagated first."""
        for m, u in self.pending():
            if self.before(m, u, l, t):
                raise Forbidden(
                    "propagate: no smaller time in any worklist",
                    f"expected a minimal time, got {t!r} at {l!r} while {u!r} is pending at {m!r}",
                    hint=f"propagate {u!r} at {m!r} first",
                )

    def filter_pts(self, l: Location, before: Changes, after: Changes) -> Changes:
        """Return what a change to ``pts`` adds to the worklist: how its frontier changed, and no more."""
        return self.frontier_of(l, after) - self.frontier_of(l, before)

    def filter_imp(self, l: Location, before: Changes, after: Changes) -> Changes:
        """Return what a change to ``imp`` passes to the successors: how its frontier changed, and no more."""
        return self.frontier_of(l, after) - self.frontier_of(l, before)

    def before(self, m: Location, u: Any, l: Location, t: Any) -> bool:
        """Whether the time ``u`` at ``m`` must be propagated before ``t`` at ``l``.

        With one order for all locations it is ``u < t``, as in Figure 6. Times of different orders cannot be compared,
        and those of unrelated scopes should not be; there, the one must come first if it could result in the other.
        """
        if self.graph.uniform:
            return self.graph.order(l).lt(u, t)
        return (m, u) != (l, t) and self.graph.leads_to((m, u), (l, t))

    # Reading.

    def frontier_of(self, l: Location, M: Changes) -> Changes:
        """Return the minimal times at ``l`` that have a positive count in ``M``, each once."""
        return ZMultiset(minimal(self.graph.order(l), [t for t, n in M.items() if n > 0]))

    def frontier(self, l: Location) -> Antichain[Any]:
        """Return the least times that may still appear at ``l``, as far as has been propagated."""
        return Antichain(self.graph.order(l), self.frontier_of(l, self.imp[l]))

    def expects(self, l: Location, t: Any) -> bool:
        """Whether the frontier of ``l`` has a time at or below ``t``."""
        le = self.graph.order(l).le
        return any(n > 0 and le(u, t) for u, n in self.imp[l].items())

    def implied_frontier(self, l: Location) -> Antichain[Any]:
        """Return the least times that may still appear at ``l``, computed from all pointstamps and path summaries."""
        order = self.graph.order(l)
        return Antichain.minimal(
            order,
            [
                s.results_in(t)
                for m, M in self.pts.items()
                for s in self.graph.path_summary(m, l)
                for t, n in M.items()
                if n > 0
            ],
        )

    def pending(self) -> Iterator[Pointstamp]:
        """Return the times in the worklists."""
        return ((l, t) for l, M in self.work.items() for t in M)

    def minimal_pending(self) -> list[Pointstamp]:
        """Return the times in the worklists that may be propagated next."""
        pending = list(self.pending())
        return [(l, t) for l, t in pending if not any(self.before(m, u, l, t) for m, u in pending)]

    def next_pending(self) -> Pointstamp | None:
        """Return one of the times that may be propagated next, always the same one, or None."""
        if self.graph.uniform:
            order = self.graph.order(self.graph.locations[0])
            return min(self.pending(), key=lambda p: order.key(p[1]), default=None)
        least: Pointstamp | None = None
        for m, u in self.pending():
            if least is None or self.before(m, u, *least):
                least = (m, u)
        return least

    # Notions and statements.

    def work_vacant(self, l: Location, t: Any) -> bool:
        """Whether nothing that is pending could result in the time ``t`` at ``l``."""
        return not any(self.graph.leads_to(p, (l, t)) for p in self.pending())

    def imp_is_positive(self) -> str | None:
        """Invariant 1: implications have positive counts."""
        return next(
            (f"imp of {l!r} has {n} of {t!r}" for l, M in self.imp.items() for t, n in M.items() if n < 0), None
        )

    def imp_and_work_add_up(self) -> str | None:
        """Invariant 2: imp and work are the frontier of pts and the frontiers of the predecessors' imp, moved along."""
        for l in self.graph.locations:
            expected = self.frontier_of(l, self.pts[l])
            for m, edge in self.graph.predecessors(l).items():
                expected = expected + shift(self.frontier_of(m, self.imp[m]), edge)
            if self.imp[l] + self.work[l] != expected:
                return f"imp and work of {l!r} are {self.imp[l] + self.work[l]!r}, expected {expected!r}"
        return None

    def safe(self) -> str | None:
        """Safe: if nothing is pending, every time that is there is expected at all locations that it can reach."""
        for l, M in self.pts.items():
            for t in (t for t, n in M.items() if n > 0):
                for m, paths in self.graph.path_summaries(l).items():
                    for u in (s.results_in(t) for s in paths):
                        if not self.expects(m, u) and self.work_vacant(m, u):
                            return f"{t!r} at {l!r} leads to {u!r} at {m!r}, whose frontier is {self.frontier(m)!r}"
        return None

    def converges(self) -> str | None:
        """Lemma implied_frontier: if nothing is pending, frontiers are the implied ones."""
        for l in self.graph.locations:
            known, implied = self.frontier(l), self.implied_frontier(l)
            for t in known.times ^ implied.times:
                if self.work_vacant(l, t):
                    return f"frontier of {l!r} is {known!r}, but {implied!r} is implied; nothing is pending for {t!r}"
        return None


class Propagation:
    """Local propagation as an object: a configuration, and actions that replace it or raise.

    ``pointstamps`` is ``{location: {time: count}}``. Frontiers are known after `propagate_all`.

    >>> from tidegate.time import Nat
    >>> graph = Graph(Nat(), {("in", "loop"): 0, ("loop", "back"): 0, ("back", "loop"): 1, ("loop", "out"): 0})
    >>> p = Propagation(graph, {"in": {2: 1}})
    >>> p.propagate_all()
    >>> list(p.frontier("out")), list(p.frontier("back"))
    ([2], [2])
    >>> p.change_multiplicity("loop", 3, +1)
    >>> p.change_multiplicity("in", 2, -1)
    >>> p.propagate_all()
    >>> list(p.frontier("in")), list(p.frontier("out"))
    ([], [3])
    """

    __slots__ = ("conf",)

    def __init__(self, graph: Graph, pointstamps: Mapping[Any, Mapping[Any, int]]) -> None:
        self.conf = PropagationConf.init(graph, pointstamps)

    def change_multiplicity(self, l: Location, t: Any, n: int) -> None:
        """Count ``n`` more (or, below zero, fewer) of the time ``t`` at ``l``."""
        self.conf = self.conf.change_multiplicity(l, t, n)

    def propagate(self, l: Location, t: Any) -> None:
        """Apply what is pending for the time ``t`` at ``l``, and pass on how the frontier there changed."""
        self.conf = self.conf.propagate(l, t)

    def propagate_all(self) -> None:
        """Propagate until nothing is pending."""
        self.conf = self.conf.propagate_all()

    def frontier(self, l: Location) -> Antichain[Any]:
        """Return the least times that may still appear at ``l``, as far as has been propagated."""
        return self.conf.frontier(l)

    def implied_frontier(self, l: Location) -> Antichain[Any]:
        """Return the least times that may still appear at ``l``, computed from all pointstamps and path summaries."""
        return self.conf.implied_frontier(l)

    def __repr__(self) -> str:
        return f"Propagation({self.conf!r})"


def shift(M: Changes, edge: Sequence[Summary]) -> Changes:
    """Return ``M`` moved along each of the summaries of an edge, added up."""
    total: dict[Any, int] = {}
    for s in edge:
        for t, n in M.items():
            u = s.results_in(t)
            total[u] = total.get(u, 0) + n
    return ZMultiset(total)


def _chosen(conf: PropagationConf, choose: Callable[[Sequence[Pointstamp]], Pointstamp]) -> Pointstamp | None:
    candidates = conf.minimal_pending()
    return choose(candidates) if candidates else None
