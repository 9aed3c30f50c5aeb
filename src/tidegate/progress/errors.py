"""What can be wrong with a graph or a step on it: one exception for each kind of misuse."""

from __future__ import annotations

from tidegate.errors import TidegateError

__all__ = [
    "BadGraph",
    "Forbidden",
    "NegativeCount",
    "NoCapability",
    "NoChange",
    "NoMessage",
    "NotImplied",
    "NotInitialized",
    "NotJustified",
    "NotMinimal",
    "NotPending",
    "NotUpright",
    "UnknownLocation",
]


class BadGraph(TidegateError, ValueError):
    """A graph along which progress cannot be tracked.

    A summary lowers a time or does not keep the order of two times, an edge does not fit the orders at its ends or
    leads to where it begins, or some time comes back along a cycle at or below itself.
    """


class UnknownLocation(TidegateError, LookupError):
    """A location that the graph does not have.

    >>> print(UnknownLocation("expected a location of the graph, got 'z'").at("time 3"))
    expected a location of the graph, got 'z'
      rule: edges and pointstamps are at locations of the graph
      at: time 3
    """

    rule = "edges and pointstamps are at locations of the graph"

    def __str__(self) -> str:
        return _with_rule(super().__str__(), self.rule)


class Forbidden(TidegateError, RuntimeError):
    """A step that the protocol does not allow now. ``rule`` is what forbids it; the configuration is unchanged.

    >>> print(Forbidden("perf_op: Δneg <= caps w", "expected a capability at 3, got none").at("worker 'w1'"))
    expected a capability at 3, got none
      rule: perf_op: Δneg <= caps w
      at: worker 'w1'
    """

    def __init__(self, rule: str, what: str, *, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.rule = rule

    def __str__(self) -> str:
        return _with_rule(super().__str__(), self.rule)


class NegativeCount(Forbidden):
    """A count would become negative."""


class NoCapability(Forbidden):
    """A worker used a capability that it does not hold, or no longer holds."""


class NoChange(Forbidden):
    """A step would change nothing."""


class NoMessage(Forbidden):
    """There is nothing to receive."""


class NotUpright(Forbidden):
    """A pointstamp would be added without removing a smaller one."""


class NotJustified(Forbidden):
    """A pointstamp would be left unsent although nothing justifies that."""


class NotInitialized(Forbidden):
    """Nothing has been propagated yet."""


class NotImplied(Forbidden):
    """A change at a time that can no longer appear at the location."""


class NotPending(Forbidden):
    """There is nothing to propagate for this location and time."""


class NotMinimal(Forbidden):
    """Something smaller has to be propagated first."""


def _with_rule(message: str, rule: str) -> str:
    """Return a message with the rule below its first line."""
    first, *rest = message.split("\n")
    return "\n".join([first, f"  rule: {rule}", *rest])
