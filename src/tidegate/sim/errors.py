"""What can be wrong with a simulated dataflow or an action on it: one exception for each kind of misuse."""

from __future__ import annotations

from tidegate.errors import TidegateError
from tidegate.progress import Forbidden

__all__ = [
    "BelowCapability",
    "BrokenFrontier",
    "DroppedCapability",
    "InvariantViolated",
    "NotAName",
    "NotASchedule",
    "NotEnabled",
    "NotRunning",
    "PortInUse",
    "Unfinished",
    "UnknownPort",
]


class NotAName(TidegateError, ValueError):
    """A name of an operator or a port that could not be told apart in a location or a schedule."""


class UnknownPort(TidegateError, LookupError):
    """A port that the operator does not have, or an output that an input does not lead to."""


class PortInUse(TidegateError, ValueError):
    """A second channel between two ports, a second operator of one name, or a second port of an operator."""


class DroppedCapability(Forbidden):
    """A capability used after it was dropped."""


class BelowCapability(TidegateError, ValueError):
    """A capability used for a time that is not at or above its own."""


class NotRunning(TidegateError, RuntimeError):
    """A capability used while its operator is not running."""


class BrokenFrontier(TidegateError, AssertionError):
    """A message at a time that the operator had been told was complete."""


class InvariantViolated(TidegateError, AssertionError):
    """A statement of the paper that does not hold after an action."""


class NotEnabled(TidegateError, RuntimeError):
    """An action that can not be performed now."""


class NotASchedule(TidegateError, ValueError):
    """A text that is not a schedule."""


class Unfinished(TidegateError, RuntimeError):
    """A run that did not come to rest within its limit of actions."""
