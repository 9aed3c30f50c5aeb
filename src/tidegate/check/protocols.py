"""Models of the progress protocols for `explore`: where a protocol begins, and every step that it allows.

A model bounds only the changes that come from outside: operations of workers, or changed counts. Sending, receiving and
propagating follow from those and are not bounded: every order of them is explored to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from tidegate.progress import ClocksConf, ExchangeConf, Forbidden, Pointstamp, PropagationConf, TrackerConf
from tidegate.time import Antichain

__all__ = ["ClocksModel", "ExchangeModel", "ModelState", "Moving", "PropagationModel", "TrackerModel"]

C = TypeVar("C", bound=Hashable)


class ModelState(NamedTuple, Generic[C]):
    """The state of a model: a configuration, and how many changes from outside may still come."""

    conf: C
    left: int


Steps: TypeAlias = Iterator[tuple[str, ModelState[C]]]


class Moving(NamedTuple):
    """A configuration of local propagation, how many changes may still come, and the frontiers when it last rested."""

    conf: PropagationConf
    left: int
    rest: tuple[Antichain[Any], ...] | None


@dataclass(frozen=True)
class ClocksModel:
    """The clocks protocol over the pointstamps ``universe``, with up to ``operations`` operations.

    ``neg`` and ``pos`` bound how many pointstamps one operation takes away and adds.
    """

    start: ClocksConf
    universe: Sequence[Any]
    operations: int = 2
    neg: int = 1
    pos: int = 1

    def initial(self) -> list[ModelState[ClocksConf]]:
        """Return the start with all operations left."""
        return [ModelState(self.start, self.operations)]

    def steps(self, state: ModelState[ClocksConf]) -> Steps[ClocksConf]:
        """Return all operations, sends and receipts."""
        conf, left = state
        for w in conf.workers if left else ():
            for neg in _bags(self.universe, self.neg):
                for pos in _bags(self.universe, self.pos):
                    if neg != pos:
                        label = f"perf_op {w}: drop {_set(neg)}, add {_set(pos)}"
                        yield from _attempt(label, left - 1, conf.perf_op, w, neg, pos)
        yield from _updates(conf, conf, left)


@dataclass(frozen=True)
class ExchangeModel:
    """The exchange protocol over the pointstamps ``universe``, with up to ``operations`` operations.

    ``neg``, ``data`` and ``own`` bound how many capabilities one operation drops, sends and takes.
    """

    start: ExchangeConf
    universe: Sequence[Any]
    operations: int = 2
    neg: int = 1
    data: int = 1
    own: int = 1

    def initial(self) -> list[ModelState[ExchangeConf]]:
        """Return the start with all operations left."""
        return [ModelState(self.start, self.operations)]

    def steps(self, state: ModelState[ExchangeConf]) -> Steps[ExchangeConf]:
        """Return all operations, sends and receipts."""
        conf, left = state
        yield from _exchanges(self, conf, conf, left)


@dataclass(frozen=True)
class PropagationModel:
    """Local propagation, with up to ``changes`` changes by at most one of the counts of ``universe``."""

    start: PropagationConf
    universe: Sequence[Pointstamp]
    changes: int = 2

    def initial(self) -> list[Moving]:
        """Return the start with all changes left."""
        return [_moving(self.start, self.changes, None)]

    def steps(self, state: Moving) -> Iterator[tuple[str, Moving]]:
        """Return all changes, and all ways to propagate one pending time."""
        conf, left, rest = state
        for label, then in self._steps(conf, left):
            yield label, _moving(then.conf, then.left, rest)

    def _steps(self, conf: PropagationConf, left: int) -> Steps[PropagationConf]:
        for l, t in self.universe if left else ():
            for n in (-1, 0, 1):
                label = f"change_multiplicity {l} {t!r} {n:+d}"
                yield from _attempt(label, left - 1, conf.change_multiplicity, l, t, n)
        # Try what is not pending too: only the guard keeps it from being propagated.
        for l, t in dict.fromkeys([*conf.pending(), *self.universe]):
            yield from _attempt(f"propagate {l} {t!r}", left, conf.propagate, l, t)


@dataclass(frozen=True)
class TrackerModel:
    """The combined tracker over the pointstamps ``universe``, with up to ``operations`` operations.

    ``neg``, ``data`` and ``own`` bound how many capabilities one operation drops, sends and takes.
    """

    start: TrackerConf
    universe: Sequence[Pointstamp]
    operations: int = 2
    neg: int = 1
    data: int = 1
    own: int = 1

    def initial(self) -> list[ModelState[TrackerConf]]:
        """Return the start with all operations left."""
        return [ModelState(self.start, self.operations)]

    def steps(self, state: ModelState[TrackerConf]) -> Steps[TrackerConf]:
        """Return all operations, sends, receipts and propagations."""
        conf, left = state
        yield from _exchanges(self, conf, conf.exch, left)
        for w in conf.exch.workers:
            if w not in conf.init or any(conf.of(w).pending()):
                yield from _attempt(f"propagate {w}", left, conf.propagate, w)


def _moving(conf: PropagationConf, left: int, rest: tuple[Antichain[Any], ...] | None) -> Moving:
    if not any(conf.pending()):
        rest = tuple(conf.frontier(l) for l in conf.graph.locations)
    return Moving(conf, left, rest)


def _attempt(label: str, left: int, action: Callable[..., C], *args: Any) -> Steps[C]:
    """Return the step if the protocol allows it."""
    try:
        yield label, ModelState(action(*args), left)
    except Forbidden:
        return


def _exchanges(model: ExchangeModel | TrackerModel, conf: Any, exch: ExchangeConf, left: int) -> Steps[Any]:
    """Return the steps of ``conf`` that exchange progress, where ``exch`` is its exchange configuration."""
    everyone = [(v, p) for v in exch.workers for p in model.universe]
    for w in exch.workers if left else ():
        for neg in _bags(model.universe, model.neg):
            for data in _bags(everyone, model.data):
                for own in _bags(model.universe, model.own):
                    label = f"perf_op {w}: drop {_set(neg)}, send {_set(data)}, take {_set(own)}"
                    yield from _attempt(label, left - 1, conf.perf_op, w, neg, data, own)
    # Try what was not sent too: only the guard keeps it from being received.
    for w, p in everyone:
        yield from _attempt(f"recv_cap {w} {p!r}", left, conf.recv_cap, w, p)
    yield from _updates(conf, exch, left)


def _updates(conf: Any, exch: ClocksConf | ExchangeConf, left: int) -> Steps[Any]:
    """Return every way to send some of the unsent changes, and every way to receive an update."""
    for w in exch.workers:
        unsent = sorted(exch.temp[w], key=repr)
        for size in range(len(unsent) + 1):
            for P in combinations(unsent, size):
                yield from _attempt(f"send_upd {w} {_set(P)}", left, conf.send_upd, w, P)
    for w, v in exch.msg:
        yield from _attempt(f"recv_upd {w} → {v}", left, conf.recv_upd, w, v)


def _bags(universe: Sequence[Any], most: int) -> list[tuple[Any, ...]]:
    """Return all multisets over ``universe`` with up to ``most`` elements."""
    return [bag for n in range(most + 1) for bag in combinations_with_replacement(universe, n)]


def _set(xs: Iterable[Any]) -> str:
    return "{" + ", ".join(map(repr, xs)) + "}"
