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

AnyConf = TypeVar("AnyConf", bound=ClocksConf | ExchangeConf)
Conf = TypeVar("Conf", bound=ClocksConf | ExchangeConf | PropagationConf | TrackerConf)


def _without(protocol: type[Conf], guard: str) -> type[Conf]:
    """Return a protocol in which one guard allows everything."""

    def allow(*_: Any) -> None:
        """Allow everything."""

    # If the protocol has no guard of that name, the mutant would not differ from the original.
    assert callable(getattr(protocol, guard))
    return type(f"{protocol.__name__} without {guard}", (protocol,), {"__slots__": (), guard: allow})


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


class ReceivesNewestFirst(ClocksConf):
    """`recv_upd` from the wrong end of the queue."""

    __slots__ = ()

    def recv_upd(self, w: Worker, v: Worker) -> Self:
        """Turn the queue round."""
        return _turned(ClocksConf.recv_upd(replace(self, msg=_turn(self.msg, w, v)), w, v), w, v)


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


class ExchangesNewestFirst(ExchangeConf):
    """`recv_upd` from the wrong end of the queue."""

    __slots__ = ()

    def recv_upd(self, w: Worker, v: Worker) -> Self:
        """Turn the queue round."""
        return _turned(ExchangeConf.recv_upd(replace(self, msg=_turn(self.msg, w, v)), w, v), w, v)


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


class ListsEveryChange(PropagationConf):
    """`change_multiplicity` that puts the change on the worklist instead of what it does to the frontier."""

    __slots__ = ()

    def filter_pts(self, l: Location, before: Changes, after: Changes) -> Changes:  # noqa: ARG002
        """Let everything through."""
        return after - before


class PassesOnEveryChange(PropagationConf):
    """`propagate` that passes on the change to imp instead of what it does to the frontier."""

    __slots__ = ()

    def filter_imp(self, l: Location, before: Changes, after: Changes) -> Changes:  # noqa: ARG002
        """Let everything through."""
        return after - before


# The combination.


#: `recv_upd` without ``init w'``.
ReceivesBeforePropagating = _without(TrackerConf, "guard_initialized")


class StopsEarly(TrackerConf):
    """`propagate` that takes one step and counts as initialised."""

    __slots__ = ()

    def propagate(self, w: Worker) -> Self:
        """Take a single step."""
        prop = self.of(w)
        p = prop.next_pending()
        stepped = prop if p is None else prop.propagate(*p)
        return replace(self, prop=self._with(w, stepped), init=self.init | {w})


def _turn(msg: Queues, w: Worker, v: Worker) -> Queues:
    return msg.set((w, v), msg[w, v][::-1])


def _turned(conf: AnyConf, w: Worker, v: Worker) -> AnyConf:
    return replace(conf, msg=_turn(conf.msg, w, v))
