"""Watermark strategies on streams, one module for each kind. Only this module maps strategies to policies."""

from __future__ import annotations

from typing import Any, assert_never

from tidegate.engine.policies.bounded import ByPartition, Delayed, OnSides
from tidegate.engine.policies.by_hand import ByDeclaredTimes
from tidegate.engine.policies.clocked import BehindClock, ByArrival, ByTicks
from tidegate.engine.policies.following import ByPromises
from tidegate.engine.policies.policy import Policy, Seen
from tidegate.engine.policies.punctuated import ByWatermarks
from tidegate.flow.plan import Plan, Source
from tidegate.flow.watermarks import Arriving, AtEnd, Bounded, ByHand, Published, Punctuated, Ticking

__all__ = ["CLOCK", "Policy", "Seen", "policy_of", "signals_of"]

#: The name of the signal with the beats of the clock. All sources that need the clock share it; no source has this
#: name.
CLOCK = "the clock"


class _AtEnd(Policy[None]):
    """`at_end`: nothing is complete before the end of the input."""

    waits_for_end = True


def policy_of(source: Source) -> Policy[Any]:
    """Return the policy of a source: how its frontier moves."""
    match source.watermark:
        case AtEnd():
            return _AtEnd(source)
        case Bounded() as bounded if source.schema.coordinates:
            return OnSides(source, bounded)
        case Bounded() as bounded:
            rows = Delayed(source, bounded) if bounded.by is None else ByPartition(source, bounded, bounded.by)
            return rows if bounded.clock is None else BehindClock(source, bounded.clock, rows)
        case Arriving():
            return ByArrival(source)
        case Ticking():
            return ByTicks(source)
        case Punctuated() as punctuated:
            return ByWatermarks(source, punctuated)
        case Published() as published:
            return ByPromises(source, published)
        case ByHand():
            return ByDeclaredTimes(source)
        case unknown:
            assert_never(unknown)


def signals_of(flow: Plan) -> tuple[str, ...]:
    """Return the names of the signals that move frontiers beside the rows of sources.

    The same query reads them, after all sources.
    """
    policies = list(map(policy_of, flow.sources))
    found = [policy.source.id for policy in policies if policy.reads_lines]
    return (*found, CLOCK) if any(policy.clock_period is not None for policy in policies) else tuple(found)
