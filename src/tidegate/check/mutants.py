"""Mutants of the progress protocols: each leaves out or weakens one guard, to see what the guard is for.

A mutant names the property that breaks without its guard. Where none breaks, it says why the guard is not needed for
what the paper states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from tidegate.check.explore import Always, Exploration, Model, Relates, explore
from tidegate.check.instances import chain, loop
from tidegate.check.protocols import ClocksModel, ExchangeModel, PropagationModel, TrackerModel
from tidegate.check.statements import CLOCKS, EXCHANGE, PROPAGATION, TRACKER, bounded_times, goals
from tidegate.progress import ClocksConf, ExchangeConf, PropagationConf, TrackerConf
from tidegate.progress.errors import NotJustified
from tidegate.progress.graph import Location
from tidegate.progress.support import supp
from tidegate.progress.table import Table
from tidegate.progress.updates import Changes, Queues, Worker
from tidegate.time import Nat, ZMultiset

__all__ = ["MUTANTS", "Mutant"]

AnyConf = TypeVar("AnyConf", bound=ClocksConf | ExchangeConf)


@dataclass(frozen=True)
class Mutant:
    """A protocol with one guard less. ``breaks`` is the property that is violated first, or ``harmless`` says why none.

    A harmless mutant may have endlessly many states; it is explored up to ``max_states``.
    """

    name: str
    model: Callable[[], Model[Any]]
    properties: Sequence[Always[Any] | Relates[Any]]
    breaks: str = ""
    harmless: str = ""
    max_states: int = 5000

    def explore(self) -> Exploration[Any]:
        """Look for the shortest way to break a property."""
        return explore(self.model(), self.properties, max_states=self.max_states)


def _clocks(conf: type[ClocksConf], **bounds: int) -> Callable[[], ClocksModel]:
    return lambda: ClocksModel(conf.init(Nat(), ["w1", "w2"], [1]), [0, 1, 2], **bounds)


def _exchange(conf: type[ExchangeConf], **bounds: int) -> Callable[[], ExchangeModel]:
    return lambda: ExchangeModel(conf.init(Nat(), {"w1": [1], "w2": []}), [0, 1, 2], **bounds)


def _propagation(conf: type[PropagationConf], *, changes: int = 2) -> Callable[[], PropagationModel]:
    universe = [(l, t) for l in "ab" for t in (0, 1, 2)]
    return lambda: PropagationModel(conf.init(loop(), {"a": {1: 1}}), universe, changes)


def _tracker(conf: type[TrackerConf], **parts: Any) -> Callable[[], TrackerModel]:
    start = {"w1": [("a", 0)], "w2": []}
    return lambda: TrackerModel(conf.start(chain(), start, **parts), [("a", 0), ("b", 0)], operations=2, own=0)


# Clocks.


class DropsWhatIsNotThere(ClocksConf):
    """`perf_op` without ``Δneg <= rec``."""

    __slots__ = ()

    def guard_present(self, neg: Changes) -> None:
        """Allow everything."""


class AddsWithoutSupport(ClocksConf):
    """`perf_op` without ``upright Δ``."""

    __slots__ = ()

    def guard_upright(self, delta: Changes) -> None:
        """Allow everything."""


class KeepsBackAnything(ClocksConf):
    """`send_upd` without ``upright (temp w - γ)``."""

    __slots__ = ()

    def guard_rest_upright(self, w: Worker, rest: Changes) -> None:
        """Allow everything."""


class SendsNothing(ClocksConf):
    """`send_upd` without ``γ ≠ {}``."""

    __slots__ = ()

    def guard_sends(self, w: Worker, gamma: Changes) -> None:
        """Allow everything."""


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


class OperatesWithoutEffect(ExchangeConf):
    """`perf_op` without ``Δdata ≠ {} or Δself - Δneg ≠ {}``."""

    __slots__ = ()

    def guard_changes(self, w: Worker, data: ZMultiset[Any], net: Changes) -> None:
        """Allow everything."""


class DropsWhatItDoesNotHold(ExchangeConf):
    """`perf_op` without ``Δneg <= caps w``."""

    __slots__ = ()

    def guard_drops(self, w: Worker, neg: Changes) -> None:
        """Allow everything."""


class SendsAnything(ExchangeConf):
    """`perf_op` without a capability for what is sent."""

    __slots__ = ()

    def guard_sends_above(self, w: Worker, data: ZMultiset[Any]) -> None:
        """Allow everything."""


class SendsWhatItHolds(ExchangeConf):
    """`perf_op` with a capability at or below what is sent, instead of strictly below."""

    __slots__ = ()

    def guard_sends_above(self, w: Worker, data: ZMultiset[Any]) -> None:
        """Allow what is at or above a capability."""
        self.guard_takes_above(w, data.map(lambda entry: entry[1]))


class TakesAnything(ExchangeConf):
    """`perf_op` without a capability for what the worker takes."""

    __slots__ = ()

    def guard_takes_above(self, w: Worker, own: Changes) -> None:
        """Allow everything."""


class KeepsBackWithoutReason(ExchangeConf):
    """`send_upd` without ``justified (caps w) (temp w - γ)``."""

    __slots__ = ()

    def guard_rest_justified(self, w: Worker, rest: Changes) -> None:
        """Allow everything."""


class KeepsBackAsManyAsHeld(ExchangeConf):
    """`send_upd` where a count is justified by as many capabilities, and not only by more."""

    __slots__ = ()

    def guard_rest_justified(self, w: Worker, rest: Changes) -> None:
        """Allow ``<=`` in the third way to justify."""
        held = self.caps[w]
        for p, n in rest.items():
            below = any(m > 0 and self.order.lt(q, p) for q, m in held.items())
            if n > 0 and not (supp(self.order, rest, p) or below or n <= held[p]):
                raise NotJustified("send_upd: justified", f"{p!r} is not justified")


class KeepsBackUnlessSupportedByOthers(ExchangeConf):
    """`send_upd` where everything that exists justifies, and not only what the sender holds."""

    __slots__ = ()

    def guard_rest_justified(self, w: Worker, rest: Changes) -> None:
        """Judge by all capabilities in the system."""
        ExchangeConf.guard_rest_justified(replace(self, caps=Table(self.caps.default, {w: self.rec})), w, rest)


class ReceivesWhatWasNotSent(ExchangeConf):
    """`recv_cap` without ``(w, p) ∈ data``."""

    __slots__ = ()

    def guard_sent(self, w: Worker, p: Any) -> None:
        """Allow everything."""


class ExchangesNewestFirst(ExchangeConf):
    """`recv_upd` from the wrong end of the queue."""

    __slots__ = ()

    def recv_upd(self, w: Worker, v: Worker) -> Self:
        """Turn the queue round."""
        return _turned(ExchangeConf.recv_upd(replace(self, msg=_turn(self.msg, w, v)), w, v), w, v)


# Propagation.


class ChangesByNothing(PropagationConf):
    """`change_multiplicity` without ``n ≠ 0``."""

    __slots__ = ()

    def guard_change(self, l: Location, t: Any, n: int) -> None:
        """Allow everything."""


class ChangesThePast(PropagationConf):
    """`change_multiplicity` at times that the location does not expect."""

    __slots__ = ()

    def guard_implied(self, l: Location, t: Any) -> None:
        """Allow everything."""


class PropagatesWhatIsNotPending(PropagationConf):
    """`propagate` without ``t ∈ work l``."""

    __slots__ = ()

    def guard_pending(self, l: Location, t: Any) -> None:
        """Allow everything."""


class PropagatesAnyTime(PropagationConf):
    """`propagate` without the rule that smaller times come first."""

    __slots__ = ()

    def guard_minimal(self, l: Location, t: Any) -> None:
        """Allow everything."""


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


class ReceivesBeforePropagating(TrackerConf):
    """`recv_upd` without ``init w'``."""

    __slots__ = ()

    def guard_initialized(self, v: Worker) -> None:
        """Allow everything."""


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


_SAFE_CLOCKS = goals(CLOCKS)
_SAFE_EXCHANGE = goals(EXCHANGE)
_SAFE_PROPAGATION = [*goals(PROPAGATION), bounded_times(4)]
_SAFE_TRACKER = goals(TRACKER)

#: Every guard of the four protocols, left out or weakened.
MUTANTS: list[Mutant] = [
    Mutant("clocks, perf_op: no Δneg <= rec", _clocks(DropsWhatIsNotThere), _SAFE_CLOCKS, "Safe for ever"),
    Mutant("clocks, perf_op: no upright Δ", _clocks(AddsWithoutSupport), _SAFE_CLOCKS, "Safe for ever"),
    Mutant("clocks, send_upd: no upright rest", _clocks(KeepsBackAnything), _SAFE_CLOCKS, "Safe"),
    Mutant(
        "clocks, send_upd: γ may be empty",
        _clocks(SendsNothing, operations=1),
        CLOCKS,
        harmless="an empty update changes no view; it only fills the queues",
    ),
    Mutant("clocks, send_upd: not to the sender", _clocks(TellsOthersOnly), CLOCKS, "rec = glob + info"),
    Mutant("clocks, recv_upd: newest first", _clocks(ReceivesNewestFirst), _SAFE_CLOCKS, "Safe"),
    Mutant(
        "exchange, perf_op: may have no effect",
        _exchange(OperatesWithoutEffect),
        EXCHANGE,
        harmless="an operation without effect is a stutter step, which the protocol allows anyway",
    ),
    Mutant("exchange, perf_op: no Δneg <= caps", _exchange(DropsWhatItDoesNotHold), _SAFE_EXCHANGE, "Safe for ever"),
    Mutant("exchange, perf_op: sends anything", _exchange(SendsAnything), _SAFE_EXCHANGE, "Safe for ever"),
    Mutant(
        "exchange, perf_op: sends at a capability",
        _exchange(SendsWhatItHolds),
        _SAFE_EXCHANGE,
        "Safe",
        max_states=20_000,
    ),
    Mutant("exchange, perf_op: takes anything", _exchange(TakesAnything), _SAFE_EXCHANGE, "Safe for ever"),
    Mutant("exchange, send_upd: no justified rest", _exchange(KeepsBackWithoutReason), _SAFE_EXCHANGE, "Safe"),
    Mutant("exchange, send_upd: <= in justified", _exchange(KeepsBackAsManyAsHeld), _SAFE_EXCHANGE, "Safe"),
    Mutant(
        "exchange, send_upd: justified by rec",
        _exchange(KeepsBackUnlessSupportedByOthers),
        _SAFE_EXCHANGE,
        "Safe",
    ),
    Mutant("exchange, recv_cap: not sent", _exchange(ReceivesWhatWasNotSent), _SAFE_EXCHANGE, "Safe for ever"),
    Mutant("exchange, recv_upd: newest first", _exchange(ExchangesNewestFirst), _SAFE_EXCHANGE, "Safe"),
    Mutant(
        "propagation, change_multiplicity: n may be 0",
        _propagation(ChangesByNothing),
        [*PROPAGATION, bounded_times(4)],
        harmless="a change by nothing leaves pts and its frontier as they are",
    ),
    Mutant(
        "propagation, change_multiplicity: any time",
        _propagation(ChangesThePast),
        _SAFE_PROPAGATION,
        "frontiers at rest never go back",
    ),
    Mutant(
        "propagation, propagate: not pending",
        _propagation(PropagatesWhatIsNotPending),
        [*PROPAGATION, bounded_times(4)],
        harmless="what is not pending has count 0, and adding 0 to imp changes no frontier",
    ),
    Mutant("propagation, propagate: any time", _propagation(PropagatesAnyTime), _SAFE_PROPAGATION, "no time above 4"),
    Mutant(
        "propagation, propagate: least of its location",
        _propagation(PropagatesLeastOfEachLocation),
        _SAFE_PROPAGATION,
        "no time above 4",
    ),
    Mutant("propagation, change_multiplicity: no filter", _propagation(ListsEveryChange), _SAFE_PROPAGATION, "Safe"),
    Mutant(
        "propagation, propagate: no filter", _propagation(PassesOnEveryChange), _SAFE_PROPAGATION, "no time above 4"
    ),
    Mutant(
        "tracker, recv_upd: no init",
        _tracker(ReceivesBeforePropagating),
        TRACKER,
        harmless="before the first propagation imp is empty, and change_multiplicity refuses the update itself",
    ),
    Mutant(
        "tracker, recv_upd: no init, and any time in change_multiplicity",
        _tracker(ReceivesBeforePropagating, propagation=ChangesThePast),
        TRACKER,
        harmless="pts and work are changed together, so the first propagation starts from what the updates left",
        max_states=20_000,
    ),
    Mutant("tracker, propagate: one step", _tracker(StopsEarly), _SAFE_TRACKER, "Safe"),
    Mutant(
        "tracker, perf_op: sends at a capability",
        _tracker(TrackerConf, exchange=SendsWhatItHolds),
        _SAFE_TRACKER,
        "Safe",
        max_states=40_000,
    ),
]
