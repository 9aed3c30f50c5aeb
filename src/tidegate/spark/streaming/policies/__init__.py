"""Watermark strategies on streams, one module for each kind; which strategy has which policy is said here alone."""

from __future__ import annotations

from typing import Any, assert_never

from tidegate.flow.plan import Source
from tidegate.flow.watermarks import AtEnd, Bounded, Published, Punctuated
from tidegate.spark.streaming.policies.bounded import ByPartition, Delayed
from tidegate.spark.streaming.policies.following import ByPromises
from tidegate.spark.streaming.policies.policy import Policy, Seen
from tidegate.spark.streaming.policies.punctuated import ByWatermarks

__all__ = ["Policy", "Seen", "policy_of"]


class _AtEnd(Policy[None]):
    """`at_end`: nothing is complete before the end of the input."""

    waits_for_end = True


def policy_of(source: Source) -> Policy[Any]:
    """Return how the frontier of a source moves."""
    match source.watermark:
        case AtEnd():
            return _AtEnd(source)
        case Bounded(by=str() as by) as bounded:
            return ByPartition(source, bounded, by)
        case Bounded() as bounded:
            return Delayed(source, bounded)
        case Punctuated() as punctuated:
            return ByWatermarks(source, punctuated)
        case Published() as published:
            return ByPromises(source, published)
        case unknown:
            assert_never(unknown)
