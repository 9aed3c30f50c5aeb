"""Operators that look at one row at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tidegate.flow.expressions import Expression
from tidegate.flow.fingerprint import LEFT_OUT
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.schema import Schema

__all__ = ["At", "Explode", "MapBatches", "Restored", "Select", "Unfold", "Union", "Where"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where(PlanOperator):
    """The rows that satisfy a condition."""

    verb: ClassVar[str] = "where"

    condition: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(PlanOperator):
    """For each row, the values of some expressions. They are all columns of the result; time columns come first."""

    verb: ClassVar[str] = "select"

    outputs: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored(PlanOperator):
    """The same rows, with the user's time column computed from the axes, or left out. Only plans of engines have it.

    Its expressions follow from the order of the times. That order may grow, and state remains valid.
    """

    verb: ClassVar[str] = "restored"

    outputs: tuple[Expression, ...] = field(metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explode(PlanOperator):
    """For each element of the array in ``column``, the row with that element; no row if it is NULL or empty."""

    verb: ClassVar[str] = "explode"

    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfold(PlanOperator):
    """The same rows as `Explode`, as an Aggregate with a loop: each round gives the next element of the array.

    Engines give all elements in one pass, unless ``looped`` asks for rounds: then they run each round as a job.
    """

    verb: ClassVar[str] = "unfold"

    column: str
    looped: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBatches(PlanOperator):
    """What a Python function makes of Arrow batches of rows; it returns all columns of ``schema``."""

    verb: ClassVar[str] = "map_batches"

    schema: Schema
    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(PlanOperator):
    """The rows of all inputs, columns matched by name, in the order of the first input."""

    verb: ClassVar[str] = "union"


@dataclass(frozen=True, slots=True, kw_only=True)
class At(PlanOperator):
    """The rows, each moved to another time, at or above its own; a row without such a time is rejected.

    For each time column, in their order: ``moves`` has an expression; ``shifts`` has the span in units, if that
    expression is the column plus a literal span, else None; ``bounds`` has the first and the last time, in units, that
    the operators after it accept. The bounds follow from the whole plan.
    """

    verb: ClassVar[str] = "at"

    moves: tuple[Expression, ...]
    #: Part of the fingerprint: it decides when times after it are complete, and so what the state there means.
    shifts: tuple[int | None, ...]
    bounds: tuple[tuple[int, int], ...] = field(default=(), metadata=LEFT_OUT)

    @property
    def rejects(self) -> bool:
        """Whether it may reject rows. If all rows move by one span, those that cannot are rejected at their source."""
        return None in self.shifts
