"""The combined tracker of Figure 7: progress exchanged between workers, and propagated on each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from tidegate.progress.errors import Forbidden
from tidegate.progress.exchange import ExchangeConf
from tidegate.progress.graph import Graph, Location, Pointstamp
from tidegate.progress.pointstamp import Bag, CouldResultIn
from tidegate.progress.propagation import PropagationConf
from tidegate.progress.table import DefaultTable
from tidegate.progress.updates import Changes, Worker, check_worker, first_message
from tidegate.time import Antichain, ZMultiset

__all__ = ["Tracker", "TrackerConf"]


@dataclass(frozen=True, slots=True)
class TrackerConf:
    """A configuration of the combined tracker, with its actions and what is stated about it.

    A statement returns None if it holds, else what breaks it.
    """

    exch: ExchangeConf
    prop: tuple[PropagationConf, ...]
    #: The workers that have propagated at least once.
    init: frozenset[Worker]

    @classmethod
    def start(
        cls,
        graph: Graph,
        capabilities: Mapping[Any, Bag[Any]],
        *,
        exchange: type[ExchangeConf] = ExchangeConf,
        propagation: type[PropagationConf] = PropagationConf,
    ) -> Self:
        """Build an initial configuration: both parts are initial, and no worker has propagated.

        Variants of the two parts can be given, to see how the whole behaves with them.
        """
        exch = exchange.init(CouldResultIn(graph), capabilities)
        return cls(exch, tuple(propagation.init(graph, _by_location(exch.glob[w])) for w in exch.workers), frozenset())

    # Actions.

    def recv_cap(self, w: Worker, p: Pointstamp) -> Self:
        """Let ``w`` receive a capability for ``p`` that was sent to it."""
        return replace(self, exch=self.exch.recv_cap(w, p))

    def perf_op(self, w: Worker, neg: Bag[Any], data: Bag[Any], own: Bag[Any]) -> Self:
        """Let ``w`` drop the capabilities ``neg``, send those in ``data`` to others and take ``own`` (Δself)."""
        return replace(self, exch=self.exch.perf_op(w, neg, data, own))

    def send_upd(self, w: Worker, P: Iterable[Pointstamp]) -> Self:
        """Let ``w`` send its changes to the pointstamps in ``P`` to all workers, itself included."""
        return replace(self, exch=self.exch.send_upd(w, P))

    def recv_upd(self, w: Worker, v: Worker) -> Self:
        """Let the worker ``v`` receive the oldest update from ``w``, and change its own pointstamps by it."""
        check_worker(self.exch.workers, v)
        self.guard_initialized(v)
        head, _ = first_message(self.exch.msg, w, v)
        prop = self.of(v)
        for (l, t), n in head.items():
            prop = prop.change_multiplicity(l, t, n)
        return replace(self, exch=self.exch.recv_upd(w, v), prop=self._with(v, prop))

    def propagate(self, w: Worker) -> Self:
        """Let ``w`` propagate until nothing is pending."""
        check_worker(self.exch.workers, w)
        return replace(self, prop=self._with(w, self.of(w).propagate_all()), init=self.init | {w})

    # Guards.

    def guard_initialized(self, v: Worker) -> None:
        """Only a worker that has propagated can receive updates."""
        if v not in self.init:
            raise Forbidden(
                "recv_upd: init w'",
                f"expected worker {v!r} to propagate once before it receives updates, got none",
                hint=f"call propagate({v!r}) first",
            )

    # Reading.

    def of(self, w: Worker) -> PropagationConf:
        """Return the local propagation of ``w``."""
        check_worker(self.exch.workers, w)
        return self.prop[self.exch.workers.index(w)]

    def frontier(self, w: Worker, l: Location) -> Antichain[Any]:
        """Return the least times that ``w`` still expects at ``l``."""
        return self.of(w).frontier(l)

    def implied_frontier(self, w: Worker, l: Location) -> Antichain[Any]:
        """Return the least times that could still appear at ``l``, given what ``w`` believes to exist."""
        return self.of(w).implied_frontier(l)

    # Statements.

    def pts_are_glob(self) -> str | None:
        """The pointstamps that a worker propagates are those that it believes to exist."""
        for w, prop in zip(self.exch.workers, self.prop, strict=True):
            expected = DefaultTable(prop.pts.default, _multisets(self.exch.glob[w]))
            if prop.pts != expected:
                return f"worker {w!r} propagates {prop.pts!r}, but believes in {expected!r}"
        return None

    def updates_can_be_received(self) -> str | None:
        """No update asks a worker to change a time that it no longer expects."""
        for (w, v), queue in self.exch.msg.items():
            if v in self.init and queue:
                prop = self.of(v)
                for l, t in queue[0]:
                    if not prop.expects(l, t):
                        return f"an update from {w!r} changes {t!r} at {l!r}, where {v!r} expects {prop.frontier(l)!r}"
        return None

    def safe(self) -> str | None:
        """Safe: every worker that has propagated expects what exists anywhere, wherever it could lead."""
        rec = self.exch.rec
        for w, prop in zip(self.exch.workers, self.prop, strict=True):
            if w not in self.init:
                continue
            for (l, t), n in rec.items():
                if n <= 0:
                    continue
                for m, paths in prop.graph.path_summaries(l).items():
                    for u in (s.results_in(t) for s in paths):
                        if not prop.expects(m, u):
                            return (
                                f"{t!r} at {l!r} exists and leads to {u!r} at {m!r}, "
                                f"where {w!r} expects {prop.frontier(m)!r}"
                            )
        return None

    def _with(self, w: Worker, prop: PropagationConf) -> tuple[PropagationConf, ...]:
        i = self.exch.workers.index(w)
        return (*self.prop[:i], prop, *self.prop[i + 1 :])


class Tracker:
    """The combined tracker as an object: a configuration, and actions that replace it or raise.

    ``capabilities`` gives each worker its pointstamps, pairs of a location and a time.

    >>> from tidegate.time import Nat
    >>> graph = Graph(Nat(), {("a", "b"): 0})
    >>> tracker = Tracker(graph, {"w1": [("a", 0)], "w2": [("a", 0)]})
    >>> for w in ("w1", "w2"):
    ...     tracker.propagate(w)
    ...     tracker.perf_op(w, neg=[("a", 0)])
    ...     tracker.send_upd(w, [("a", 0)])
    >>> list(tracker.frontier("w1", "b"))
    [0]
    >>> for w in ("w1", "w2"):
    ...     tracker.recv_upd(w, "w1")
    >>> tracker.propagate("w1")
    >>> list(tracker.frontier("w1", "b")), list(tracker.frontier("w2", "b"))
    ([], [0])
    """

    __slots__ = ("conf",)

    def __init__(self, graph: Graph, capabilities: Mapping[Any, Bag[Any]]) -> None:
        self.conf = TrackerConf.start(graph, capabilities)

    def recv_cap(self, w: Worker, p: Pointstamp) -> None:
        """Let ``w`` receive a capability for ``p`` that was sent to it."""
        self.conf = self.conf.recv_cap(w, p)

    def perf_op(
        self,
        w: Worker,
        neg: Bag[Any] = (),
        data: Bag[Any] = (),
        own: Bag[Any] = (),
    ) -> None:
        """Let ``w`` drop the capabilities ``neg``, send those in ``data`` to others and take ``own`` (Δself)."""
        self.conf = self.conf.perf_op(w, neg, data, own)

    def send_upd(self, w: Worker, P: Iterable[Pointstamp]) -> None:
        """Let ``w`` send its changes to the pointstamps in ``P`` to all workers, itself included."""
        self.conf = self.conf.send_upd(w, P)

    def recv_upd(self, w: Worker, v: Worker) -> None:
        """Let the worker ``v`` receive the oldest update from ``w``, and change its own pointstamps by it."""
        self.conf = self.conf.recv_upd(w, v)

    def propagate(self, w: Worker) -> None:
        """Let ``w`` propagate until nothing is pending."""
        self.conf = self.conf.propagate(w)

    def frontier(self, w: Worker, l: Location) -> Antichain[Any]:
        """Return the least times that ``w`` still expects at ``l``."""
        return self.conf.frontier(w, l)

    def implied_frontier(self, w: Worker, l: Location) -> Antichain[Any]:
        """Return the least times that could still appear at ``l`` by what ``w`` believes to exist."""
        return self.conf.implied_frontier(w, l)

    def __repr__(self) -> str:
        return f"Tracker({self.conf!r})"


def _by_location(M: Changes) -> dict[Location, dict[Any, int]]:
    found: dict[Location, dict[Any, int]] = {}
    for (l, t), n in M.items():
        found.setdefault(l, {})[t] = n
    return found


def _multisets(M: Changes) -> dict[Location, Changes]:
    return {l: ZMultiset(counts) for l, counts in _by_location(M).items()}
