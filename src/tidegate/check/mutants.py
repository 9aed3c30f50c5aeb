"""Mutants of the progress protocols: each leaves out or weakens one guard, to see what the guard is for.

A mutant names the property that breaks without its guard. If none breaks, it says why the guard is not needed for
what the paper states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.check import broken
from tidegate.check.explore import Always, Exploration, Model, Relates, explore
from tidegate.check.models import chain_graph, loop_graph
from tidegate.check.protocols import ClocksModel, ExchangeModel, PropagationModel, TrackerModel
from tidegate.check.statements import CLOCKS, EXCHANGE, PROPAGATION, TRACKER, bounded_times, goals
from tidegate.progress import ClocksConf, ExchangeConf, PropagationConf, TrackerConf
from tidegate.time import Nat

__all__ = ["MUTANTS", "Mutant"]


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
    return lambda: PropagationModel(conf.init(loop_graph(), {"a": {1: 1}}), universe, changes)


def _tracker(conf: type[TrackerConf], **parts: Any) -> Callable[[], TrackerModel]:
    start = {"w1": [("a", 0)], "w2": []}
    return lambda: TrackerModel(conf.start(chain_graph(), start, **parts), [("a", 0), ("b", 0)], operations=2, own=0)


_SAFE_CLOCKS = goals(CLOCKS)
_SAFE_EXCHANGE = goals(EXCHANGE)
_SAFE_PROPAGATION = [*goals(PROPAGATION), bounded_times(4)]
_SAFE_TRACKER = goals(TRACKER)

#: Every guard of the four protocols, left out or weakened. Only ``msg w w' ≠ []`` of `recv_upd` has no mutant: without
#: it there is no update to receive.
MUTANTS: list[Mutant] = [
    Mutant("clocks, perf_op: no Δneg <= rec", _clocks(broken.DropsWhatIsNotThere), _SAFE_CLOCKS, "Safe for ever"),
    Mutant("clocks, perf_op: no upright Δ", _clocks(broken.AddsWithoutSupport), _SAFE_CLOCKS, "Safe for ever"),
    Mutant("clocks, send_upd: no upright rest", _clocks(broken.KeepsBackAnything), _SAFE_CLOCKS, "Safe"),
    Mutant(
        "clocks, send_upd: γ may be empty",
        _clocks(broken.SendsNothing, operations=1),
        CLOCKS,
        harmless="an empty update changes no view; it only fills the queues",
    ),
    Mutant("clocks, send_upd: not to the sender", _clocks(broken.TellsOthersOnly), CLOCKS, "rec = glob + info"),
    Mutant("clocks, recv_upd: newest first", _clocks(broken.ReceivesNewestFirst), _SAFE_CLOCKS, "Safe"),
    Mutant(
        "exchange, perf_op: may have no effect",
        _exchange(broken.OperatesWithoutEffect),
        EXCHANGE,
        harmless="an operation without effect is a stutter step, which the protocol allows anyway",
    ),
    Mutant(
        "exchange, perf_op: no Δneg <= caps", _exchange(broken.DropsWhatItDoesNotHold), _SAFE_EXCHANGE, "Safe for ever"
    ),
    Mutant("exchange, perf_op: sends anything", _exchange(broken.SendsAnything), _SAFE_EXCHANGE, "Safe for ever"),
    Mutant(
        "exchange, perf_op: sends at a capability",
        _exchange(broken.SendsWhatItHolds),
        _SAFE_EXCHANGE,
        "Safe",
        max_states=20_000,
    ),
    Mutant("exchange, perf_op: takes anything", _exchange(broken.TakesAnything), _SAFE_EXCHANGE, "Safe for ever"),
    Mutant("exchange, send_upd: no justified rest", _exchange(broken.KeepsBackWithoutReason), _SAFE_EXCHANGE, "Safe"),
    Mutant("exchange, send_upd: <= in justified", _exchange(broken.KeepsBackAsManyAsHeld), _SAFE_EXCHANGE, "Safe"),
    Mutant(
        "exchange, send_upd: justified by rec",
        _exchange(broken.KeepsBackUnlessSupportedByOthers),
        _SAFE_EXCHANGE,
        "Safe",
    ),
    Mutant(
        "exchange, send_upd: γ may be empty",
        _exchange(broken.ExchangesNothing, operations=1),
        EXCHANGE,
        harmless="an empty update changes no view; it only fills the queues",
    ),
    Mutant("exchange, recv_cap: not sent", _exchange(broken.ReceivesWhatWasNotSent), _SAFE_EXCHANGE, "Safe for ever"),
    Mutant("exchange, recv_upd: newest first", _exchange(broken.ExchangesNewestFirst), _SAFE_EXCHANGE, "Safe"),
    Mutant(
        "propagation, change_multiplicity: n may be 0",
        _propagation(broken.ChangesByNothing),
        [*PROPAGATION, bounded_times(4)],
        harmless="a change by nothing leaves pts and its frontier as they are",
    ),
    Mutant(
        "propagation, change_multiplicity: any time",
        _propagation(broken.ChangesThePast),
        _SAFE_PROPAGATION,
        "frontiers at rest never go back",
    ),
    Mutant(
        "propagation, propagate: not pending",
        _propagation(broken.PropagatesWhatIsNotPending),
        [*PROPAGATION, bounded_times(4)],
        harmless="what is not pending has count 0, and adding 0 to imp changes no frontier",
    ),
    Mutant(
        "propagation, propagate: any time", _propagation(broken.PropagatesAnyTime), _SAFE_PROPAGATION, "no time above 4"
    ),
    Mutant(
        "propagation, propagate: least of its location",
        _propagation(broken.PropagatesLeastOfEachLocation),
        _SAFE_PROPAGATION,
        "no time above 4",
    ),
    Mutant(
        "propagation, change_multiplicity: no filter", _propagation(broken.ListsEveryChange), _SAFE_PROPAGATION, "Safe"
    ),
    Mutant(
        "propagation, propagate: no filter",
        _propagation(broken.PassesOnEveryChange),
        _SAFE_PROPAGATION,
        "no time above 4",
    ),
    Mutant(
        "tracker, recv_upd: no init",
        _tracker(broken.ReceivesBeforePropagating),
        TRACKER,
        harmless="before the first propagation imp is empty, and change_multiplicity refuses the update itself",
    ),
    Mutant(
        "tracker, recv_upd: no init, and any time in change_multiplicity",
        _tracker(broken.ReceivesBeforePropagating, propagation=broken.ChangesThePast),
        TRACKER,
        harmless="pts and work are changed together, so the first propagation starts from what the updates left",
        max_states=20_000,
    ),
    Mutant("tracker, propagate: one step", _tracker(broken.StopsEarly), _SAFE_TRACKER, "Safe"),
    Mutant(
        "tracker, perf_op: sends at a capability",
        _tracker(TrackerConf, exchange=broken.SendsWhatItHolds),
        _SAFE_TRACKER,
        "Safe",
        max_states=40_000,
    ),
]
