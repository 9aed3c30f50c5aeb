"""The progress protocols with one guard left out or weakened; `explore` must find what breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, TypeVar

from tidegate.progress import ClocksConf, ExchangeConf, PropagationConf, TrackerConf
from tidegate.progress.errors import Forbidden
from tidegate.progress.graph import Location
from tidegate.progress.support import supp
from tidegate.progress.table import DefaultTable
from tidegate.progress.updates import Changes, Queues, Worker
from tidegate.time import ZMultiset

__all__ = [
    "AddsWithoutSupport",
    "ChangesByNothing",
    "ChangesThePast",
    "DropsWhatIsNotThere",
    "DropsWhatItDoesNotHold",
    "ExchangesNewestFirst",
    "ExchangesNothing",
    "KeepsBackAnything",
    "KeepsBackAsManyAsHeld",
    "KeepsBackUnlessSupportedByOthers",
    "KeepsBackWithoutReason",
    "ListsEveryChange",
    "OperatesWithoutEffect",
    "PassesOnEveryChange",
    "PropagatesAnyTime",
    "PropagatesLeastOfEachLocation",
    "PropagatesWhatIsNotPending",
    "ReceivesBeforePropagating",
    "ReceivesNewestFirst",
    "ReceivesWhatWasNotSent",
    "SendsAnything",
    "SendsNothing",
    "SendsWhatItHolds",
    "StopsEarly",
    "TakesAnything",
    "TellsOthersOnly",
]

#: A protocol by which workers exchange updates.
Exchanging = TypeVar("Exchanging", bound=ClocksConf | ExchangeConf)
Conf = TypeVar("Conf", bound=ClocksConf | ExchangeConf | PropagationConf | TrackerConf)


def _variant(protocol: type[Conf], name: str, **methods: Any) -> type[Conf]:
    """Return a protocol with other methods of these names."""
    # If the protocol has no method of that name, the mutant would not differ from the original.
    assert all(callable(getattr(protocol, method)) for method in methods)
    return type(f"{protocol.__name__} {name}", (protocol,), {"__slots__": (), **methods})


def _without(protocol: type[Conf], guard: str) -> type[Conf]:
    """Return a protocol in which one guard allows everything."""
    return _variant(protocol, f"without {guard}", **{guard: lambda *_: None})


def _newest_first(protocol: type[Exchanging]) -> type[Exchanging]:
    """Return a protocol in which a worker receives the newest update of a queue, not the oldest."""
    oldest_first: Any = protocol.recv_upd

    def recv_upd(conf: Exchanging, w: Worker, v: Worker) -> Exchanging:
        received: Exchanging = oldest_first(replace(conf, msg=_reversed(conf.msg, w, v)), w, v)
        return replace(received, msg=_reversed(received.msg, w, v))

    return _variant(protocol, "newest first", recv_upd=recv_upd)


def _reversed(msg: Queues, w: Worker, v: Worker) -> Queues:
    return msg.set((w, v), msg[w, v][::-1])


def _every_change(_conf: PropagationConf, _l: Location, before: Changes, after: Changes) -> Changes:
    """Return the whole change, in the place of what it does to a frontier."""
    return after - before


# Clocks.


#: `perf_op` without ``Δneg <= rec``.
DropsWhatIsNotThere = _without(ClocksConf, "guard_present")
#: `perf_op` without ``upright Δ``.
AddsWithoutSupport = _without(ClocksConf, "guard_upright")
#: `send_upd` without ``upright (temp w - γ)``.
KeepsBackAnything = _without(ClocksConf, "guard_rest")
#: `send_upd` without ``γ ≠ {}``.
SendsNothing = _without(ClocksConf, "guard_sends")


class TellsOthersOnly(ClocksConf):
    """`send_upd` to all *other* workers, as the text puts it, and not to the sender itself."""

    __slots__ = ()

    def send_upd(self, w: Worker, P: Any) -> Self:
        """Send, then take back what the sender sent to itself."""
        sent = ClocksConf.send_upd(self, w, P)
        return replace(sent, msg=sent.msg.set((w, w), self.msg[w, w]))


#: `recv_upd` from the wrong end of the queue.
ReceivesNewestFirst = _newest_first(ClocksConf)


# Exchange.


#: `perf_op` without ``Δdata ≠ {} or Δself - Δneg ≠ {}``.
OperatesWithoutEffect = _without(ExchangeConf, "guard_changes")
#: `perf_op` without ``Δneg <= caps w``.
DropsWhatItDoesNotHold = _without(ExchangeConf, "guard_drops")
#: `perf_op` without a capability for what is sent.
SendsAnything = _without(ExchangeConf, "guard_sends_above")


class SendsWhatItHolds(ExchangeConf):
    """`perf_op` with a capability at or below what is sent, instead of strictly below."""

    __slots__ = ()

    def guard_sends_above(self, w: Worker, data: ZMultiset[Any]) -> None:
        """Allow what is at or above a capability."""
        self.guard_takes_above(w, data.map(lambda entry: entry[1]))


#: `perf_op` without a capability for what the worker takes.
TakesAnything = _without(ExchangeConf, "guard_takes_above")
#: `send_upd` without ``justified (caps w) (temp w - γ)``.
KeepsBackWithoutReason = _without(ExchangeConf, "guard_rest")


class KeepsBackAsManyAsHeld(ExchangeConf):
    """`send_upd` where a count is justified by as many capabilities, and not only by more."""

    __slots__ = ()

    def guard_rest(self, w: Worker, rest: Changes) -> None:
        """Allow ``<=`` in the third way to justify."""
        held = self.caps[w]
        for p, n in rest.items():
            below = any(m > 0 and self.order.lt(q, p) for q, m in held.items())
            if n > 0 and not (supp(self.order, rest, p) or below or n <= held[p]):
                raise Forbidden("send_upd: justified", f"{p!r} is not justified")


class KeepsBackUnlessSupportedByOthers(ExchangeConf):
    """`send_upd` where everything that exists justifies, and not only what the sender holds."""

    __slots__ = ()

    def guard_rest(self, w: Worker, rest: Changes) -> None:
        """Judge by all capabilities in the system."""
        ExchangeConf.guard_rest(replace(self, caps=DefaultTable(self.caps.default, {w: self.rec})), w, rest)


#: `send_upd` without ``γ ≠ {}``.
ExchangesNothing = _without(ExchangeConf, "guard_sends")
#: `recv_cap` without ``(w, p) ∈ data``.
ReceivesWhatWasNotSent = _without(ExchangeConf, "guard_sent")


#: `recv_upd` from the wrong end of the queue.
ExchangesNewestFirst = _newest_first(ExchangeConf)


# Propagation.


#: `change_multiplicity` without ``n ≠ 0``.
ChangesByNothing = _without(PropagationConf, "guard_change")
#: `change_multiplicity` at times that the location does not expect.
ChangesThePast = _without(PropagationConf, "guard_implied")
#: `propagate` without ``t ∈ work l``.
PropagatesWhatIsNotPending = _without(PropagationConf, "guard_pending")
#: `propagate` without the rule that smaller times come first.
PropagatesAnyTime = _without(PropagationConf, "guard_minimal")


class PropagatesLeastOfEachLocation(PropagationConf):
    """`propagate` where smaller times come first at the same location only."""

    __slots__ = ()

    def before(self, m: Location, u: Any, l: Location, t: Any) -> bool:
        """Compare times of one location."""
        return m == l and self.graph.order(l).lt(u, t)


#: `change_multiplicity` that puts the whole change on the worklist, not only what it does to the frontier.
ListsEveryChange = _variant(PropagationConf, "lists every change", filter_pts=_every_change)
#: `propagate` that passes on the whole change to imp, not only what it does to the frontier.
PassesOnEveryChange = _variant(PropagationConf, "passes on every change", filter_imp=_every_change)


# The combination.


#: `recv_upd` without ``init w'``.
ReceivesBeforePropagating = _without(TrackerConf, "guard_initialized")


class StopsEarly(TrackerConf):
    """`propagate` that takes one step and counts as initialised."""

    __slots__ = ()

    def propagate(self, w: Worker) -> Self:
        """Propagate one time only."""
        prop = self.of(w)
        p = prop.next_pending()
        stepped = prop if p is None else prop.propagate(*p)
        return replace(self, prop=self._with(w, stepped), init=self.init | {w})
