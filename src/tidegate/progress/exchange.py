"""The exchange protocol of Figure 4: workers act on their own capabilities and tell each other what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from tidegate.errors import WrongType
from tidegate.progress.errors import Forbidden
from tidegate.progress.pointstamp import Bag, PartialOrder, check_partial_order, multiset
from tidegate.progress.support import justified_with, unjustified
from tidegate.progress.table import DefaultTable
from tidegate.progress.updates import NOTHING, Changes, UpdatesConf, Views, Worker, check_worker
from tidegate.time import ZMultiset

__all__ = ["Exchange", "ExchangeConf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeConf(UpdatesConf):
    """A configuration of the exchange protocol, with its actions and what is stated about it.

    A statement returns None if it holds, else what breaks it.
    """

    #: Per worker: the pointstamps that it may emit at.
    caps: Views
    #: Capabilities on their way, as (receiver, pointstamp).
    data: ZMultiset[tuple[Worker, Any]]

    @classmethod
    def init(cls, order: PartialOrder[Any], capabilities: Mapping[Any, Bag[Any]]) -> Self:
        """Build an initial configuration: nothing is on its way, and all workers know all capabilities."""
        check_partial_order(order)
        if not isinstance(capabilities, Mapping):
            raise WrongType(
                f"expected a mapping from each worker to its capabilities, got {capabilities!r}",
                hint="write {'w1': [0], 'w2': []}",
            )
        caps = {w: multiset(given) for w, given in capabilities.items()}
        total = NOTHING
        for found in caps.values():
            for p in found:
                order.check(p)
            total = total + found
        views = DefaultTable(NOTHING, dict.fromkeys(caps, total))
        return cls(
            order=order,
            workers=tuple(caps),
            caps=DefaultTable(NOTHING, caps),
            data=ZMultiset(),
            msg=DefaultTable(()),
            temp=DefaultTable(NOTHING),
            glob=views,
        )

    @property
    def rec(self) -> Changes:
        """The pointstamps that exist: all capabilities, held or on their way."""
        total: dict[Any, int] = {}
        for w in self.workers:
            for p, n in self.caps[w].items():
                total[p] = total.get(p, 0) + n
        for (_, p), n in self.data.items():
            total[p] = total.get(p, 0) + n
        return ZMultiset(total)

    # Actions.

    def recv_cap(self, w: Worker, p: Any) -> Self:
        """Let ``w`` receive a capability for ``p`` that was sent to it."""
        check_worker(self.workers, w)
        self.guard_sent(w, p)
        # As for multisets in the paper: if the guard is left out, nothing is removed that is not on its way.
        data = self.data.add((w, p), -1) if self.data[w, p] > 0 else self.data
        return replace(self, caps=self.caps.set(w, self.caps[w].add(p)), data=data)

    def perf_op(self, w: Worker, neg: Bag[Any], data: Bag[Any], own: Bag[Any]) -> Self:
        """Let ``w`` drop the capabilities ``neg``, send those in ``data`` to others and take ``own`` (Δself)."""
        check_worker(self.workers, w)
        neg, data, own = multiset(neg), multiset(data), multiset(own)
        for entry in data:
            if not isinstance(entry, tuple) or len(entry) != 2:
                raise WrongType(
                    f"expected a pair of a receiver and a pointstamp in Δdata, got {entry!r}", hint="write ('w2', 3)"
                )
            check_worker(self.workers, entry[0])
            self.order.check(entry[1])
        for p in (*neg, *own):
            self.order.check(p)
        net = own - neg
        self.guard_changes(w, data, net)
        self.guard_drops(w, neg)
        self.guard_sends_above(w, data)
        self.guard_takes_above(w, own)
        sent = data.map(lambda entry: entry[1])
        return replace(
            self,
            caps=self.caps.set(w, self.caps[w] + net),
            data=self.data + data,
            temp=self.temp.set(w, self.temp[w] + sent + net),
        )

    # Guards.

    def guard_sent(self, w: Worker, p: Any) -> None:
        """Only what was sent can be received."""
        if self.data[w, p] <= 0:
            raise Forbidden("recv_cap: (w, p) ∈ data", f"expected a capability for {p!r} on its way to {w!r}, got none")

    def guard_changes(self, w: Worker, data: ZMultiset[tuple[Worker, Any]], net: Changes) -> None:
        """An operation must change something."""
        if not len(data) and not len(net):
            raise Forbidden(
                "perf_op: Δdata ≠ {} or Δself - Δneg ≠ {}",
                f"expected an operation of worker {w!r} that changes something, got one without effect",
            )

    def guard_drops(self, w: Worker, neg: Changes) -> None:
        """A worker can drop only what it holds."""
        for p, n in neg.items():
            if n > self.caps[w][p]:
                raise Forbidden(
                    "perf_op: Δneg <= caps w",
                    f"expected worker {w!r} to drop at most {self.caps[w][p]} of {p!r}, which it holds; got {n}",
                    hint="a capability that was dropped or sent away can not be used any more",
                )

    def guard_sends_above(self, w: Worker, data: ZMultiset[tuple[Worker, Any]]) -> None:
        """A worker can send what is strictly above a capability of its own."""
        for v, p in data:
            if not any(n > 0 and self.order.lt(q, p) for q, n in self.caps[w].items()):
                raise Forbidden(
                    "perf_op: Δdata strictly above caps w",
                    f"expected worker {w!r} to hold a capability strictly below {p!r} to send it to {v!r}, "
                    f"got {self.caps[w]!r}",
                    hint="send before the last capability below is dropped",
                )

    def guard_takes_above(self, w: Worker, own: Changes) -> None:
        """A worker can take what is at or above a capability of its own."""
        for p in own:
            if not any(n > 0 and self.order.le(q, p) for q, n in self.caps[w].items()):
                raise Forbidden(
                    "perf_op: Δself at or above caps w",
                    f"expected worker {w!r} to hold a capability at or below {p!r} to take it, got {self.caps[w]!r}",
                    hint="a capability can be kept or moved to later times, never to earlier ones",
                )

    def guard_rest(self, w: Worker, rest: Changes) -> None:
        """What remains unsent must be justified by the sender's capabilities."""
        for p in unjustified(self.order, self.caps[w], rest):
            raise Forbidden(
                "send_upd: justified (caps w) (temp w - γ)",
                f"expected worker {w!r} to send what it added at {p!r}, which nothing justifies to keep back",
                hint=f"send {p!r} too; sending everything, or all that was added, is always allowed",
            )

    # Notions and statements.

    def caps_are_positive(self) -> str | None:
        """No count of capabilities, held or on their way, is negative."""
        for w in self.workers:
            for p, n in self.caps[w].items():
                if n < 0:
                    return f"{w!r} holds {n} of {p!r}"
        return next((f"data has {n} of {entry!r}" for entry, n in self.data.items() if n < 0), None)

    def info_is_justified(self) -> str | None:
        """Invariant 3: what a worker has not heard yet is justified by what exists."""
        rec = self.rec
        for w in self.workers:
            for p in unjustified(self.order, rec, self.info(w)):
                return f"info of {w!r} has {p!r}, which {rec!r} does not justify: {self.info(w)!r}"
        return None

    def temp_is_justified(self) -> str | None:
        """What a worker has not sent is justified by its own capabilities."""
        for w in self.workers:
            for p in unjustified(self.order, self.caps[w], self.temp[w]):
                return f"temp of {w!r} has {p!r}, which its capabilities do not justify: {self.temp[w]!r}"
        return None

    def messages_are_justified(self) -> str | None:
        """Every update is justified by what its sender holds, together with the updates after it and what is unsent."""
        for (w, v), M, N in self.with_followers():
            if not justified_with(self.order, self.caps[w], M, N):
                return f"update {M!r} from {w!r} to {v!r} is not justified by {self.caps[w]!r} with {N!r} behind it"
        return None

    def updates_are_witnessed(self) -> str | None:
        """Lemma glob: the receiver of an update believes that something exists at or below all that it changes."""
        for (w, v), queue in self.msg.items():
            for p in {p for M in queue for p in M}:
                if not any(n > 0 and self.order.le(q, p) for q, n in self.glob[v].items()):
                    return f"an update from {w!r} changes {p!r}, but {v!r} believes in nothing below: {self.glob[v]!r}"
        return None


class Exchange:
    """The exchange protocol as an object: a configuration, and actions that replace it or raise.

    >>> from tidegate.time import Nat
    >>> exchange = Exchange(Nat(), {"w1": [0], "w2": []})
    >>> exchange.perf_op("w1", data=[("w2", 3)])
    >>> exchange.perf_op("w1", neg=[0], data=[("w2", 3)])
    >>> exchange.recv_cap("w2", 3)
    >>> exchange.conf.rec, exchange.conf.caps["w2"], exchange.conf.glob["w2"]
    (ZMultiset({3: 2}), ZMultiset({3: 1}), ZMultiset({0: 1}))
    """

    __slots__ = ("conf",)

    def __init__(self, order: PartialOrder[Any], capabilities: Mapping[Any, Bag[Any]]) -> None:
        self.conf = ExchangeConf.init(order, capabilities)

    def recv_cap(self, w: Worker, p: Any) -> None:
        """Let ``w`` receive a capability for ``p`` that was sent to it."""
        self.conf = self.conf.recv_cap(w, p)

    def perf_op(self, w: Worker, neg: Bag[Any] = (), data: Bag[Any] = (), own: Bag[Any] = ()) -> None:
        """Let ``w`` drop the capabilities ``neg``, send those in ``data`` to others and take ``own`` (Δself)."""
        self.conf = self.conf.perf_op(w, neg, data, own)

    def send_upd(self, w: Worker, P: Iterable[Any]) -> None:
        """Let ``w`` send its changes to the pointstamps in ``P`` to all workers, itself included."""
        self.conf = self.conf.send_upd(w, P)

    def recv_upd(self, w: Worker, v: Worker) -> None:
        """Let the worker ``v`` receive the oldest update from ``w``."""
        self.conf = self.conf.recv_upd(w, v)

    def __repr__(self) -> str:
        return f"Exchange({self.conf!r})"
