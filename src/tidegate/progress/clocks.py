"""The clocks protocol of Abadi et al., as in Figure 3: workers learn which pointstamps exist in the system.

The configuration is a value, and each action a function to the next one. `Clocks` holds a configuration and changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from tidegate.progress.errors import Forbidden
from tidegate.progress.pointstamp import Bag, PartialOrder, check_partial_order, multiset
from tidegate.progress.support import beta_upright, unsupported, upright
from tidegate.progress.table import DefaultTable
from tidegate.progress.updates import NOTHING, Changes, UpdatesConf, Worker, check_worker, check_workers

__all__ = ["Clocks", "ClocksConf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClocksConf(UpdatesConf):
    """A configuration of the clocks protocol, with its actions and what is stated about it.

    A statement returns None if it holds, else what breaks it.
    """

    #: The pointstamps that exist.
    rec: Changes

    @classmethod
    def init(cls, order: PartialOrder[Any], workers: Iterable[Worker], rec: Bag[Any]) -> Self:
        """Build an initial configuration: nothing is on its way, and all workers know what exists."""
        check_partial_order(order)
        found, everyone = multiset(rec), check_workers(workers)
        for p in found:
            order.check(p)
        views = DefaultTable(NOTHING, dict.fromkeys(everyone, found))
        return cls(
            order=order, workers=everyone, rec=found, msg=DefaultTable(()), temp=DefaultTable(NOTHING), glob=views
        )

    # Actions.

    def perf_op(self, w: Worker, neg: Bag[Any], pos: Bag[Any]) -> Self:
        """Let ``w`` take away the pointstamps ``neg`` and add ``pos``."""
        check_worker(self.workers, w)
        neg, pos = multiset(neg), multiset(pos)
        for p in (*neg, *pos):
            self.order.check(p)
        delta = pos - neg
        self.guard_present(neg)
        self.guard_upright(delta)
        return replace(self, rec=self.rec + delta, temp=self.temp.set(w, self.temp[w] + delta))

    # Guards.

    def guard_present(self, neg: Changes) -> None:
        """Only what exists can be taken away."""
        for p, n in neg.items():
            if n > self.rec[p]:
                raise Forbidden(
                    "perf_op: Δneg <= rec", f"expected at most {self.rec[p]} of {p!r} to be taken away, got {n}"
                )

    def guard_upright(self, delta: Changes) -> None:
        """What is added must be above something that is taken away."""
        for p in unsupported(self.order, delta):
            raise Forbidden(
                "perf_op: upright Δ",
                f"expected a pointstamp below {p!r} to be taken away together with adding it, got {delta!r}",
                hint="the exchange protocol allows to add under a capability that is kept",
            )

    def guard_rest(self, w: Worker, rest: Changes) -> None:
        """What remains unsent must be upright."""
        for p in unsupported(self.order, rest):
            raise Forbidden(
                "send_upd: upright (temp w - γ)",
                f"expected worker {w!r} to send what it added at {p!r} no later than what it took away below it",
                hint=f"send {p!r} too; sending everything, or all that was added, is always allowed",
            )

    # Notions and statements.

    def info_is_upright(self) -> str | None:
        """Invariant 3: what a worker has not heard yet is upright."""
        for w in self.workers:
            for p in unsupported(self.order, self.info(w)):
                return f"info of {w!r} has {p!r} without support: {self.info(w)!r}"
        return None

    def supports_agree(self) -> str | None:
        """Whether a change is upright does not depend on which variant of `supp` is used."""
        for name, M in self._changes():
            if upright(self.order, M) != upright(self.order, M, strong=True):
                return f"{name} is upright by one variant of supp only: {M!r}"
        return None

    def messages_are_beta_upright(self) -> str | None:
        """Every update is upright together with the updates after it and what its sender has not sent."""
        for (w, v), M, N in self.with_followers():
            if not beta_upright(self.order, M, N):
                return f"update {M!r} from {w!r} to {v!r} is not upright, nor with {N!r} behind it"
        return None

    def _changes(self) -> Iterator[tuple[str, Changes]]:
        """Return every signed multiset in the configuration, with a name for it."""
        for w in self.workers:
            yield f"temp of {w!r}", self.temp[w]
            yield f"info of {w!r}", self.info(w)
        for (w, v), queue in self.msg.items():
            for M in queue:
                yield f"update from {w!r} to {v!r}", M


class Clocks:
    """The clocks protocol as an object: a configuration, and actions that replace it or raise.

    >>> from tidegate.time import Nat
    >>> clocks = Clocks(Nat(), ["w1", "w2"], [0])
    >>> clocks.perf_op("w1", neg=[0], pos=[3])
    >>> clocks.send_upd("w1", [0, 3])
    >>> clocks.recv_upd("w1", "w2")
    >>> clocks.conf.glob["w2"], clocks.conf.glob["w1"]
    (ZMultiset({3: 1}), ZMultiset({0: 1}))
    """

    __slots__ = ("conf",)

    def __init__(self, order: PartialOrder[Any], workers: Iterable[Worker], rec: Bag[Any]) -> None:
        self.conf = ClocksConf.init(order, workers, rec)

    def perf_op(self, w: Worker, neg: Bag[Any] = (), pos: Bag[Any] = ()) -> None:
        """Let ``w`` take away the pointstamps ``neg`` and add ``pos``."""
        self.conf = self.conf.perf_op(w, neg, pos)

    def send_upd(self, w: Worker, P: Iterable[Any]) -> None:
        """Let ``w`` send its changes to the pointstamps in ``P`` to all workers, itself included."""
        self.conf = self.conf.send_upd(w, P)

    def recv_upd(self, w: Worker, v: Worker) -> None:
        """Let the worker ``v`` receive the oldest update from ``w``."""
        self.conf = self.conf.recv_upd(w, v)

    def __repr__(self) -> str:
        return f"Clocks({self.conf!r})"
