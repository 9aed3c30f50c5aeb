"""What the clocks and the exchange protocol share: progress updates in queues, and what is stated about them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from tidegate.errors import BadValue, NotFound, WrongType
from tidegate.progress.errors import Forbidden
from tidegate.progress.pointstamp import PartialOrder
from tidegate.progress.support import vacant
from tidegate.progress.table import DefaultTable
from tidegate.time import ZMultiset

__all__ = [
    "NOTHING",
    "Changes",
    "Queues",
    "UpdatesConf",
    "Views",
    "Worker",
    "check_worker",
    "check_workers",
    "first_message",
]

Worker: TypeAlias = Hashable
Changes: TypeAlias = ZMultiset[Any]
Queues: TypeAlias = DefaultTable[tuple[Worker, Worker], tuple[Changes, ...]]
Views: TypeAlias = DefaultTable[Worker, Changes]

NOTHING: Changes = ZMultiset()


def check_worker(workers: tuple[Worker, ...], w: Worker) -> None:
    """Raise `NotFound` unless ``w`` is one of ``workers``."""
    if w not in workers:
        raise NotFound(f"expected a worker, got {w!r}", hint=f"the workers are {', '.join(map(repr, workers))}")


def check_workers(workers: Iterable[Worker]) -> tuple[Worker, ...]:
    """Return the workers, or raise an error unless they are several names, each given once."""
    if isinstance(workers, str) or not isinstance(workers, Iterable):
        raise WrongType(f"expected a collection of workers, got {workers!r}", hint=f"write [{workers!r}]")
    everyone = tuple(workers)
    for i, w in enumerate(everyone):
        if w in everyone[:i]:
            raise BadValue(f"expected each worker once, got {w!r} twice", hint="give each worker a name of its own")
    return everyone


def first_message(msg: Queues, w: Worker, v: Worker) -> tuple[Changes, tuple[Changes, ...]]:
    """Return the oldest update from ``w`` to ``v`` and those after it, or raise."""
    queue = msg[w, v]
    if not queue:
        raise Forbidden("recv_upd: msg w w' ≠ []", f"expected an update from {w!r} to {v!r}, got an empty queue")
    return queue[0], queue[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatesConf:
    """The part of a configuration that both protocols have: what workers tell each other, and what they believe.

    A statement returns None if it holds, else what breaks it.
    """

    order: PartialOrder[Any] = field(compare=False, repr=False)
    workers: tuple[Worker, ...] = field(compare=False, repr=False)
    #: Per (sender, receiver): progress updates on their way, oldest first.
    msg: Queues
    #: Per worker: changes that it has not sent yet.
    temp: Views
    #: Per worker: what it believes to exist.
    glob: Views

    if TYPE_CHECKING:

        @property
        def rec(self) -> Changes:
            """The pointstamps that exist: a field in one protocol, computed in the other."""

    # Actions.

    def send_upd(self, w: Worker, P: Iterable[Any]) -> Self:
        """Let ``w`` send its changes to the pointstamps in ``P`` to all workers, itself included."""
        check_worker(self.workers, w)
        gamma = _only(self.temp[w], P)
        self.guard_sends(w, gamma)
        rest = self.temp[w] - gamma
        self.guard_rest(w, rest)
        msg = self.msg
        for v in self.workers:
            msg = msg.set((w, v), (*msg[w, v], gamma))
        return replace(self, msg=msg, temp=self.temp.set(w, rest))

    def recv_upd(self, w: Worker, v: Worker) -> Self:
        """Let the worker ``v`` receive the oldest update from ``w``."""
        check_worker(self.workers, w)
        check_worker(self.workers, v)
        head, rest = first_message(self.msg, w, v)
        return replace(self, msg=self.msg.set((w, v), rest), glob=self.glob.set(v, self.glob[v] + head))

    # Guards, each a method of its own: an exploration can leave one out to see what it is for.

    def guard_sends(self, w: Worker, gamma: Changes) -> None:
        """An update must say something."""
        if not len(gamma):
            raise Forbidden("send_upd: γ ≠ {}", f"expected worker {w!r} to send some of its changes, got none at these")

    def guard_rest(self, w: Worker, rest: Changes) -> None:
        """What remains unsent must not mislead workers that receive the rest."""
        raise NotImplementedError

    # Notions and statements.

    def info(self, w: Worker) -> Changes:
        """Return what ``w`` has not heard yet: all unsent changes and all updates on their way to it."""
        total: dict[Any, int] = {}
        for v in self.workers:
            for M in (self.temp[v], *self.msg[v, w]):
                for p, n in M.items():
                    total[p] = total.get(p, 0) + n
        return ZMultiset(total)

    def with_followers(self) -> Iterator[tuple[tuple[Worker, Worker], Changes, Changes]]:
        """Return each update with the sum of those after it and of what its sender has not sent."""
        for (w, v), queue in self.msg.items():
            behind = self.temp[w]
            for M in reversed(queue):
                yield (w, v), M, behind
                behind = behind + M

    def rec_is_positive(self) -> str | None:
        """Invariant 1: no pointstamp exists a negative number of times."""
        return next((f"rec has {n} of {p!r}" for p, n in self.rec.items() if n < 0), None)

    def rec_is_conserved(self) -> str | None:
        """Invariant 2: what exists is the sum of what a worker believes and what it has not heard yet."""
        rec = self.rec
        for w in self.workers:
            known = self.glob[w] + self.info(w)
            if known != rec:
                return f"glob and info of {w!r} add up to {known!r}, but rec is {rec!r}"
        return None

    def safe(self) -> str | None:
        """Safe, at one moment: what a worker believes to be gone does not exist.

        It is enough to check what exists: if a view is vacant up to ``p``, it is vacant up to everything below.
        """
        rec = self.rec
        for w in self.workers:
            for p in rec:
                if vacant(self.order, self.glob[w], p):
                    return f"{p!r} exists, but the view of {w!r} is vacant up to it: {self.glob[w]!r}"
        return None

    def stays_vacant(self, then: Self) -> str | None:
        """Safe, over time: if nothing exists up to a pointstamp, nothing comes to exist there."""
        rec = self.rec
        return next((f"rec was vacant up to {p!r}" for p in then.rec if vacant(self.order, rec, p)), None)

    def mono(self, then: Self) -> str | None:
        """Mono: if a worker believes that something is gone, it believes so for ever."""
        for w in self.workers:
            for p in then.glob[w]:
                if vacant(self.order, self.glob[w], p):
                    return f"the view of {w!r} was vacant up to {p!r}, and then has {then.glob[w][p]} of it"
        return None


def _only(M: Changes, P: Iterable[Any]) -> Changes:
    """Return the part of ``M`` at the pointstamps in ``P``."""
    if isinstance(P, str) or not isinstance(P, Iterable):
        raise WrongType(f"expected a collection of pointstamps, got {P!r}", hint=f"write [{P!r}]")
    given = list(P)
    try:
        wanted = set(given)
    except TypeError:
        raise WrongType(
            f"expected pointstamps that can be hashed, got {given!r}", hint="write tuples, not lists"
        ) from None
    return ZMultiset({p: n for p, n in M.items() if p in wanted})
