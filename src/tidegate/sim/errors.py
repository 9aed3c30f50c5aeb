"""What can be wrong with a simulated dataflow or an action on it: one exception for each kind of misuse."""

from __future__ import annotations

from tidegate.errors import TidegateError

__all__ = [
    "BrokenFrontier",
    "InvariantViolated",
    "NotEnabled",
    "Unfinished",
]


class BrokenFrontier(TidegateError, AssertionError):
    """A message at a time that was complete at the operator."""


class InvariantViolated(TidegateError, AssertionError):
    """A statement of the paper that does not hold after an action."""


class NotEnabled(TidegateError, RuntimeError):
    """An action that cannot be performed now."""


class Unfinished(TidegateError, RuntimeError):
    """A run that did not end within its limit of actions."""
