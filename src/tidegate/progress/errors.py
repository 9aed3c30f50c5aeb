"""What can be wrong with a graph, or with a step of a protocol on it."""

from __future__ import annotations

from tidegate.errors import TidegateError

__all__ = ["BadGraph", "Forbidden"]


class BadGraph(TidegateError, ValueError):
    """A graph along which progress cannot be tracked.

    A summary lowers a time or does not keep the order of two times, an edge does not fit the orders at its ends or
    leads to where it begins, or some time comes back along a cycle at or below itself.
    """


class Forbidden(TidegateError, RuntimeError):
    """A step that a protocol does not allow now. The configuration is unchanged.

    ``rule`` says which guard forbids it: the action, and what the guard requires, in the notation of the paper.

    >>> print(Forbidden("perf_op: Δneg <= caps w", "expected a capability at 3, got none").at("worker 'w1'"))
    expected a capability at 3, got none
      rule: perf_op: Δneg <= caps w
      at: worker 'w1'
    """

    def __init__(self, rule: str, what: str, *, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.rule = rule

    def __str__(self) -> str:
        first, *rest = super().__str__().split("\n")
        return "\n".join([first, f"  rule: {self.rule}", *rest])
