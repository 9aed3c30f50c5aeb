"""What can be wrong with a graph or a step on it: one exception for each kind of misuse."""

from __future__ import annotations

from tidegate.errors import TidegateError

__all__ = ["CycleDoesNotAdvance", "NegativeCount", "NotComposable", "NotMonotone", "SelfEdge", "UnknownLocation"]


class NotMonotone(TidegateError, ValueError):
    """A summary that would lower a time or lose the order of two."""


class NotComposable(TidegateError, ValueError):
    """An edge between locations whose orders do not fit its summary."""


class SelfEdge(TidegateError, ValueError):
    """An edge from a location to itself."""


class CycleDoesNotAdvance(TidegateError, ValueError):
    """A cycle along which some time comes back at or below itself."""


class UnknownLocation(TidegateError, LookupError):
    """A location that the graph does not have."""


class NegativeCount(TidegateError, ValueError):
    """More pointstamps dropped at a location and time than there are."""
