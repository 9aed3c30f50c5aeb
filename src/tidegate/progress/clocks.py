"""The clocks protocol of Abadi et al., as in Figure 3: workers learn which pointstamps exist in the system.

The configuration is a value, and each action a function to the next one. `Clocks` is a configuration that moves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tidegate.progress.errors import NegativeCount, NotUpright
from tidegate.progress.pointstamp import Bag, PartialOrder, check_partial_order, multiset
from tidegate.progress.support import beta_upright, unsupported, upright, vacant
from tidegate.progress.table import Table
from tidegate.progress.updates import (
    NOTHING,
    Changes,
    Queues,
    Views,
    Worker,
    broadcast,
    changes_of,
    check_worker,
    check_workers,
    conserved,
    first_message,
    guard_sends,
    incoming,
    not_mono,
    only,
    unsafe,
    with_followers,
)

__all__ = ["Clocks", "ClocksConf"]


@dataclass(frozen=True, slots=True)
class ClocksConf:
    """A configuration of the clocks protocol, with its actions and what is stated about it.

    A statement answers None where it holds, else what breaks it.
    """

    order: PartialOrder[Any] = field(compare=False, repr=False)
    workers: tuple[Worker, ...] = field(compare=False, repr=False)
    #: The pointstamps that exist.
    rec: Changes
    #: Per (sender, receiver): progress updates on their way, oldest first.
    msg: Queues
    #: Per worker: changes that it has not sent yet.
    temp: Views
    #: Per worker: what it believes to exist.
    glob: Views

    @classmethod
    def init(cls, order: PartialOrder[Any], workers: Iterable[Worker], rec: Bag[Any]) -> Self:
        """Build an initial configuration: nothing on its way, and all know what exists."""
        check_partial_order(order)
        found, everyone = multiset(rec), check_workers(workers)
        for p in found:
            order.check(p)
        views = Table(NOTHING, dict.fromkeys(everyone, found))
        return cls(order, everyone, found, msg=Table(()), temp=Table(NOTHING), glob=views)

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

    def send_upd(self, w: Worker, P: Iterable[Any]) -> Self:
        """Let ``w`` send its changes to the pointstamps in ``P`` to all workers, itself included."""
        check_worker(self.workers, w)
        gamma = only(self.temp[w], P)
        self.guard_sends(w, gamma)
        rest = self.temp[w] - gamma
        self.guard_rest_upright(w, rest)
        return replace(self, msg=broadcast(self.msg, self.workers, w, gamma), temp=self.temp.set(w, rest))

    def recv_upd(self, w: Worker, v: Worker) -> Self:
        """Let the worker ``v`` receive the oldest update from ``w``."""
        check_worker(self.workers, w)
        check_worker(self.workers, v)
        head, rest = first_message(self.msg, w, v)
        return replace(self, msg=self.msg.set((w, v), rest), glob=self.glob.set(v, self.glob[v] + head))

    # Guards, each on its own: an exploration can leave one out to see what it is for.

    def guard_present(self, neg: Changes) -> None:
        """Only what exists can be taken away."""
        for p, n in neg.items():
            if n > self.rec[p]:
                raise NegativeCount(
                    "perf_op: Δneg <= rec", f"expected at most {self.rec[p]} of {p!r} to be taken away, got {n}"
                )

    def guard_upright(self, delta: Changes) -> None:
        """What is added must be above something that is taken away."""
        for p in unsupported(self.order, delta):
            raise NotUpright(
                "perf_op: upright Δ",
                f"expected a pointstamp below {p!r} to be taken away together with adding it, got {delta!r}",
                hint="the exchange protocol allows to add under a capability that is kept",
            )

    def guard_rest_upright(self, w: Worker, rest: Changes) -> None:
        """What remains unsent must be upright."""
        for p in unsupported(self.order, rest):
            raise NotUpright(
                "send_upd: upright (temp w - γ)",
                f"expected worker {w!r} to send what it added at {p!r} no later than what it took away below it",
                hint=f"send {p!r} too; sending everything, or all that was added, is always allowed",
            )

    def guard_sends(self, w: Worker, gamma: Changes) -> None:
        """An update must say something."""
        guard_sends(w, gamma)

    # Notions and statements.

    def info(self, w: Worker) -> Changes:
        """Answer what ``w`` has not heard yet: all unsent changes and all updates on their way to it."""
        return incoming(self.workers, self.temp, self.msg, w)

    def rec_is_positive(self) -> str | None:
        """Invariant 1: no pointstamp exists a negative number of times."""
        return next((f"rec has {n} of {p!r}" for p, n in self.rec.items() if n < 0), None)

    def rec_is_conserved(self) -> str | None:
        """Invariant 2: what exists is what a worker believes and what it has not heard yet."""
        return conserved(self.rec, self.workers, self.glob, self.info)

    def info_is_upright(self) -> str | None:
        """Invariant 3: what a worker has not heard yet is upright."""
        for w in self.workers:
            for p in unsupported(self.order, self.info(w)):
                return f"info of {w!r} has {p!r} without support: {self.info(w)!r}"
        return None

    def supports_agree(self) -> str | None:
        """The two variants of `supp` say the same of whether a change is upright."""
        for name, M in changes_of(self.workers, self.temp, self.msg, self.info):
            if upright(self.order, M) != upright(self.order, M, strong=True):
                return f"{name} is upright by one variant of supp only: {M!r}"
        return None

    def messages_are_beta_upright(self) -> str | None:
        """Every update is upright together with those behind it and what its sender has not sent."""
        for (w, v), M, N in with_followers(self.msg, self.temp):
            if not beta_upright(self.order, M, N):
                return f"update {M!r} from {w!r} to {v!r} is not upright, nor with {N!r} behind it"
        return None

    def safe(self) -> str | None:
        """Safe, at one moment: what a worker believes to be gone does not exist."""
        return unsafe(self.order, self.workers, self.glob, self.rec)

    def stays_vacant(self, then: ClocksConf) -> str | None:
        """Safe, over time: up to where nothing exists, nothing comes to exist."""
        return next((f"rec was vacant up to {p!r}" for p in then.rec if vacant(self.order, self.rec, p)), None)

    def mono(self, then: ClocksConf) -> str | None:
        """Mono: what a worker believes to be gone, it believes to be gone for ever."""
        return not_mono(self.order, self.workers, self.glob, then.glob)


class Clocks:
    """The clocks protocol in motion: a configuration, and actions that change it or raise.

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
