"""Operators on one input that wait until times are complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tidegate.flow.aggregates import Aggregation
from tidegate.flow.expressions import Expression
from tidegate.flow.fingerprint import IF_GIVEN, LEFT_OUT
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.schema import Schema
from tidegate.spec.parts import long_window

__all__ = ["Accumulate", "Aggregate", "Carry", "Deduplicate", "Distinct", "Gate", "Process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(PlanOperator):
    """The same rows, held until their time is complete."""

    verb: ClassVar[str] = "gate"
    stateful: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(PlanOperator):
    """One row for each time and group that has rows.

    With ``embeds`` it is the paper's E: only its lists are read, and they are unfolded. An engine may then leave out
    groups with empty lists, and need neither sort the lists nor keep the key.
    """

    verb: ClassVar[str] = "aggregate"
    stateful: ClassVar[bool] = True

    aggregation: Aggregation
    embeds: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulate(PlanOperator):
    """For each group, aggregates over all rows at or below a time.

    ``emit`` is ``update`` or ``complete``. ``every`` maps time columns to a period in units: a row counts from the last
    unit of its period on. ``offset`` is 0: periods align to the epoch. With ``forget``, a group that had no row for
    that many units is forgotten: it gives no answers any more, and its next row starts it anew. The units are counted
    between the times from which on the rows count.
    """

    verb: ClassVar[str] = "accumulate"
    stateful: ClassVar[bool] = True

    aggregation: Aggregation
    emit: str
    every: tuple[tuple[str, int], ...] = ()
    forget: int | None = field(default=None, metadata=IF_GIVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry(Accumulate):
    """The same rows as `Accumulate`, as an Aggregate with a loop: the answer of a window goes into the next window."""

    verb: ClassVar[str] = "carry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct(PlanOperator):
    """Each row once, by all columns, time included."""

    verb: ClassVar[str] = "distinct"
    stateful: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicate(PlanOperator):
    """For each key the first row, by time and then by all columns.

    With ``within``, another row is kept if it comes that many units or more after the last one that was kept. With
    ``forget``, it is kept if it comes that many units or more after the key's last row, kept or not. Units are counted
    along the time column ``over``; other time columns are part of the key.
    """

    verb: ClassVar[str] = "deduplicate"
    stateful: ClassVar[bool] = True

    by: tuple[Expression, ...]
    over: str
    within: int | None
    forget: int | None = field(default=None, metadata=IF_GIVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(PlanOperator):
    """The answers of a specification operator, of which each key has a copy; it returns dicts of ``columns``.

    The result has the time columns, the key, and ``columns``. With ``forget``, a row that comes that many units or more
    after the key's last row goes to a new copy. The old copy exits; what it answers then is at the last unit before
    it is forgotten, or above.
    """

    verb: ClassVar[str] = "process"
    stateful: ClassVar[bool] = True

    schema: Schema
    operator: Any
    by: tuple[Expression, ...]
    columns: tuple[str, ...]
    forget: int | None = field(default=None, metadata=IF_GIVEN)
    #: A function that makes rows of what the operator puts out; None if it puts out rows.
    out: Callable[[Any], Any] | None = field(default=None, metadata=IF_GIVEN)

    @property
    def timers(self) -> bool:
        """Whether the operator may ask to be called at later times."""
        return getattr(self.operator, "timers", False) is True or self.windowed

    @property
    def windowed(self) -> bool:
        """Whether windows longer than a unit wait in the operator: a copy has to be called when they end."""
        return long_window(self.operator) is not None
