"""The progress protocol of the simulated workers with everything checked: the paper's model runs beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from tidegate.progress import Graph, Pointstamp
from tidegate.progress.tracker import TrackerConf
from tidegate.sim.errors import InvariantViolated
from tidegate.sim.protocol import SimulatedProtocol
from tidegate.time import ZMultiset

__all__ = ["CheckedProtocol", "statements", "steps"]

#: A statement returns None if it holds, else what breaks it.
Statement: TypeAlias = Callable[[], "str | None"]


class CheckedProtocol(SimulatedProtocol):
    """The same protocol, with the combined tracker of Figure 7 beside it.

    The model's guards are checked first, so that a forbidden action changes nothing. After each action all statements
    of the paper must hold of the model, and after each propagation the frontiers of both must agree.
    """

    def __init__(self, graph: Graph, capabilities: Mapping[int, Iterable[Pointstamp]]) -> None:
        super().__init__(graph, capabilities)
        self.conf = TrackerConf.start(graph, {w: ZMultiset(held) for w, held in self.caps.items()})
        self._check(self.conf, "the beginning")

    def recv_cap(self, w: int, p: Pointstamp) -> None:
        self._follow(self.conf.recv_cap(w, p), "recv_cap")
        super().recv_cap(w, p)

    def perf_op(
        self,
        w: int,
        neg: Mapping[Pointstamp, int],
        data: Iterable[tuple[int, Pointstamp]],
        self_: Mapping[Pointstamp, int],
    ) -> None:
        sent = list(data)
        self._follow(self.conf.perf_op(w, neg, sent, self_), "perf_op")
        super().perf_op(w, neg, sent, self_)

    def send_upd(self, w: int, P: Collection[Pointstamp]) -> None:
        self._follow(self.conf.send_upd(w, P), "send_upd")
        super().send_upd(w, P)

    def recv_upd(self, w: int, v: int) -> None:
        self._follow(self.conf.recv_upd(w, v), "recv_upd")
        super().recv_upd(w, v)

    def propagate(self, w: int) -> None:
        self._follow(self.conf.propagate(w), "propagate")
        super().propagate(w)
        for l in self.graph.locations:
            expected, got = self.conf.frontier(w, l), self.frontier(w, l)
            if expected != got:
                raise InvariantViolated(
                    f"expected the tracker's frontier to be the model's, {expected!r}, got {got!r}"
                ).at(f"location {l!r} on worker {w}")

    def _follow(self, then: TrackerConf, action: str) -> None:
        for name, statement in steps(self.conf, then):
            self._hold(name, statement, action)
        self._check(then, action)
        self.conf = then

    def _check(self, conf: TrackerConf, action: str) -> None:
        for name, statement in statements(conf):
            self._hold(name, statement, action)

    def _hold(self, name: str, statement: Statement, action: str) -> None:
        broken = statement()
        if broken is not None:
            raise InvariantViolated(f"expected {name} to hold: {broken}").at(action)


def statements(conf: TrackerConf) -> Iterator[tuple[str, Statement]]:
    """Return what the paper states about every configuration."""
    exch = conf.exch
    yield "positive capabilities", exch.caps_are_positive
    yield "invariant 1 of the exchange", exch.rec_is_positive
    yield "invariant 2 of the exchange", exch.rec_is_conserved
    yield "invariant 3 of the exchange", exch.info_is_justified
    yield "justified unsent changes", exch.temp_is_justified
    yield "justified messages", exch.messages_are_justified
    yield "lemma glob", exch.updates_are_witnessed
    yield "Safe of the exchange", exch.safe
    for w, prop in zip(exch.workers, conf.prop, strict=True):
        yield f"invariant 1 of propagation on {w}", prop.imp_is_positive
        yield f"invariant 2 of propagation on {w}", prop.imp_and_work_add_up
        yield f"Safe of propagation on {w}", prop.safe
        yield f"lemma implied_frontier on {w}", prop.converges
    yield "pts = glob", conf.pts_are_glob
    yield "updates can be received", conf.updates_can_be_received
    yield "Safe", conf.safe


def steps(conf: TrackerConf, then: TrackerConf) -> Iterator[tuple[str, Statement]]:
    """Return what the paper states about every step."""
    yield "Mono", lambda: conf.exch.mono(then.exch)
    yield "what is gone stays gone", lambda: conf.exch.stays_vacant(then.exch)
