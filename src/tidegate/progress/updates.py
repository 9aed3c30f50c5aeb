"""What the clocks and the exchange protocol share: progress updates in queues, and what is stated about them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeAlias

from tidegate.progress.errors import DuplicateWorker, NoChange, NoMessage, NotACollection, NotAPointstamp, UnknownWorker
from tidegate.progress.pointstamp import PartialOrder
from tidegate.progress.support import vacant
from tidegate.progress.table import Table
from tidegate.time import ZMultiset

__all__ = [
    "NOTHING",
    "Changes",
    "Queues",
    "Views",
    "Worker",
    "broadcast",
    "changes_of",
    "check_worker",
    "check_workers",
    "conserved",
    "first_message",
    "guard_sends",
    "incoming",
    "not_mono",
    "only",
    "unsafe",
    "with_followers",
]

Worker: TypeAlias = Hashable
Changes: TypeAlias = ZMultiset[Any]
Queues: TypeAlias = Table[tuple[Worker, Worker], tuple[Changes, ...]]
Views: TypeAlias = Table[Worker, Changes]

NOTHING: Changes = ZMultiset()


def check_worker(workers: tuple[Worker, ...], w: Worker) -> None:
    """Raise `UnknownWorker` unless ``w`` is one of ``workers``."""
    if w not in workers:
        raise UnknownWorker(f"expected a worker, got {w!r}", hint=f"the workers are {', '.join(map(repr, workers))}")


def check_workers(workers: Iterable[Worker]) -> tuple[Worker, ...]:
    """Answer the workers, or raise an error unless they are several names, each given once."""
    if isinstance(workers, str) or not isinstance(workers, Iterable):
        raise NotACollection(f"expected a collection of workers, got {workers!r}", hint=f"write [{workers!r}]")
    everyone = tuple(workers)
    for i, w in enumerate(everyone):
        if w in everyone[:i]:
            raise DuplicateWorker(
                f"expected each worker once, got {w!r} twice", hint="give each worker a name of its own"
            )
    return everyone


def only(M: Changes, P: Iterable[Any]) -> Changes:
    """Answer the part of ``M`` at the pointstamps in ``P``."""
    if isinstance(P, str) or not isinstance(P, Iterable):
        raise NotACollection(f"expected a collection of pointstamps, got {P!r}", hint=f"write [{P!r}]")
    given = list(P)
    try:
        wanted = set(given)
    except TypeError:
        raise NotAPointstamp(
            f"expected pointstamps that can be hashed, got {given!r}", hint="write tuples, not lists"
        ) from None
    return ZMultiset({p: n for p, n in M.items() if p in wanted})


def guard_sends(w: Worker, gamma: Changes) -> None:
    """An update must say something."""
    if not len(gamma):
        raise NoChange("send_upd: γ ≠ {}", f"expected worker {w!r} to send some of its changes, got none at these")


def broadcast(msg: Queues, workers: tuple[Worker, ...], w: Worker, gamma: Changes) -> Queues:
    """Answer the queues after ``w`` sent ``gamma`` to every worker; it hears from itself in the same way."""
    for v in workers:
        msg = msg.set((w, v), (*msg[w, v], gamma))
    return msg


def first_message(msg: Queues, w: Worker, v: Worker) -> tuple[Changes, tuple[Changes, ...]]:
    """Answer the oldest update from ``w`` to ``v`` and those behind it, or raise `NoMessage`."""
    queue = msg[w, v]
    if not queue:
        raise NoMessage("recv_upd: msg w w' ≠ []", f"expected an update from {w!r} to {v!r}, got an empty queue")
    return queue[0], queue[1:]


def incoming(workers: tuple[Worker, ...], temp: Views, msg: Queues, w: Worker) -> Changes:
    """Answer the sum of all unsent changes and of all updates to ``w``."""
    total: dict[Any, int] = {}
    for v in workers:
        for M in (temp[v], *msg[v, w]):
            for p, n in M.items():
                total[p] = total.get(p, 0) + n
    return ZMultiset(total)


def with_followers(msg: Queues, temp: Views) -> Iterator[tuple[tuple[Worker, Worker], Changes, Changes]]:
    """Answer each update with the sum of those behind it and of what its sender has not sent."""
    for (w, v), queue in msg.items():
        behind = temp[w]
        for M in reversed(queue):
            yield (w, v), M, behind
            behind = behind + M


def changes_of(
    workers: tuple[Worker, ...], temp: Views, msg: Queues, info: Callable[[Worker], Changes]
) -> Iterator[tuple[str, Changes]]:
    """Answer every signed multiset that a configuration speaks of, with a name for it."""
    for w in workers:
        yield f"temp of {w!r}", temp[w]
        yield f"info of {w!r}", info(w)
    for (w, v), queue in msg.items():
        for M in queue:
            yield f"update from {w!r} to {v!r}", M


def conserved(rec: Changes, workers: tuple[Worker, ...], glob: Views, info: Callable[[Worker], Changes]) -> str | None:
    """What exists is the sum of what each worker believes and what it has not heard yet."""
    for w in workers:
        if glob[w] + info(w) != rec:
            return f"glob and info of {w!r} add up to {glob[w] + info(w)!r}, but rec is {rec!r}"
    return None


def unsafe(order: PartialOrder[Any], workers: tuple[Worker, ...], glob: Views, rec: Changes) -> str | None:
    """What a worker believes to be gone does not exist.

    It is enough to look at what exists: if a view is vacant up to ``p``, it is vacant up to everything below.
    """
    for w in workers:
        for p in rec:
            if vacant(order, glob[w], p):
                return f"{p!r} exists, but the view of {w!r} is vacant up to it: {glob[w]!r}"
    return None


def not_mono(order: PartialOrder[Any], workers: tuple[Worker, ...], glob: Views, then: Views) -> str | None:
    """What a worker believes to be gone stays gone."""
    for w in workers:
        for p in then[w]:
            if vacant(order, glob[w], p):
                return f"the view of {w!r} was vacant up to {p!r}, and then has {then[w][p]} of it"
    return None
