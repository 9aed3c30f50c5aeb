"""What the paper states about the protocols, as properties for `explore`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from tidegate.check.explore import Always, Relates
from tidegate.check.protocols import Moving
from tidegate.progress import ClocksConf, ExchangeConf, PropagationConf, TrackerConf

__all__ = ["CLOCKS", "EXCHANGE", "PROPAGATION", "TRACKER", "bounded_times", "goals"]

C = TypeVar("C", bound=Hashable)


def _always(name: str, statement: Callable[[C], str | None]) -> Always[Any]:
    return Always(name, lambda state: statement(state.conf))


def _relates(name: str, statement: Callable[[C, C], str | None]) -> Relates[Any]:
    return Relates(name, lambda state, then: statement(state.conf, then.conf))


def _frontiers_advance(state: Moving, then: Moving) -> str | None:
    # Between two times at which nothing is pending, frontiers may jump ahead and come back.
    if state.rest is None or then.rest is None:
        return None
    for l, before, after in zip(state.conf.graph.locations, state.rest, then.rest, strict=True):
        for t in after:
            if not before.reaches(t):
                return f"the frontier of {l!r} was {before!r}, and then is {after!r}"
    return None


CLOCKS: list[Always[Any] | Relates[Any]] = [
    _always("rec is positive", ClocksConf.rec_is_positive),
    _always("rec = glob + info", ClocksConf.rec_is_conserved),
    _always("info is upright", ClocksConf.info_is_upright),
    _always("both variants of supp agree", ClocksConf.supports_agree),
    _always("updates are beta upright", ClocksConf.messages_are_beta_upright),
    _always("Safe", ClocksConf.safe),
    _relates("Safe for ever", ClocksConf.stays_vacant),
    _relates("Mono", ClocksConf.mono),
]

EXCHANGE: list[Always[Any] | Relates[Any]] = [
    _always("caps and data are positive", ExchangeConf.caps_are_positive),
    _always("rec is positive", ExchangeConf.rec_is_positive),
    _always("rec = glob + info", ExchangeConf.rec_is_conserved),
    _always("info is justified", ExchangeConf.info_is_justified),
    _always("temp is justified", ExchangeConf.temp_is_justified),
    _always("updates are justified", ExchangeConf.messages_are_justified),
    _always("lemma glob", ExchangeConf.updates_are_witnessed),
    _always("Safe", ExchangeConf.safe),
    _relates("Safe for ever", ExchangeConf.stays_vacant),
    _relates("Mono", ExchangeConf.mono),
]

PROPAGATION: list[Always[Any] | Relates[Any]] = [
    _always("imp is positive", PropagationConf.imp_is_positive),
    _always("imp + work adds up", PropagationConf.imp_and_work_add_up),
    _always("Safe", PropagationConf.safe),
    _always("lemma implied_frontier", PropagationConf.converges),
    Relates("frontiers at rest never go back", _frontiers_advance),
]

TRACKER: list[Always[Any] | Relates[Any]] = [
    _always("pts = glob", TrackerConf.pts_are_glob),
    _always("updates can be received", TrackerConf.updates_can_be_received),
    _always("Safe", TrackerConf.safe),
]


def goals(properties: Sequence[Always[Any] | Relates[Any]]) -> list[Always[Any] | Relates[Any]]:
    """Return the properties that users of a protocol rely on; the others are invariants that help to prove them."""
    wanted = {"Safe", "Safe for ever", "Mono", "lemma implied_frontier", "frontiers at rest never go back"}
    return [p for p in properties if p.name in wanted]


def bounded_times(most: Any) -> Always[Any]:
    """Build the property that no time in a worklist is above ``most``: propagation does not go on for ever.

    A graph without loops always has this property. In a loop, a wrong change can rise with each round, without end.
    """

    def check(state: Moving) -> str | None:
        graph = state.conf.graph
        for l, t in state.conf.pending():
            if graph.order(l).lt(most, t):
                return f"{t!r} is pending at {l!r}, above {most!r}"
        return None

    return Always(f"no time above {most!r}", check)
