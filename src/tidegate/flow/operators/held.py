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

__all__ = ["Accumulate", "Aggregate", "Carry", "Deduplicate", "Distinct", "Gate", "Process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(PlanOperator):
    """The rows, held until their time is complete."""

    verb: ClassVar[str] = "gate"
    stateful: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(PlanOperator):
    """One row for each time and group that has rows.

    With ``embeds`` it is the paper's E: only its lists are read, and they are unfolded. Then an engine may leave
    out groups whose lists are empty, need not sort the lists, and need not keep the key.
    """

    verb: ClassVar[str] = "aggregate"
    stateful: ClassVar[bool] = True

    aggregation: Aggregation
    embeds: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulate(PlanOperator):
    """For each group, aggregates over all rows at or below a time.

    ``emit`` is ``update`` or ``complete``. ``every`` maps time columns to a period in units: a row counts from the last
    unit of its period on. ``offset`` is 0: periods align to the epoch. With ``forget``, a group starts again from
    nothing if a row comes that many units or more after the group's row before it; the distance is that of the times
    from which on they count. A group that was silent for that long is not answered.
    """

    verb: ClassVar[str] = "accumulate"
    stateful: ClassVar[bool] = True

    aggregation: Aggregation
    emit: str
    every: tuple[tuple[str, int], ...] = ()
    forget: int | None = field(default=None, metadata=IF_GIVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry(Accumulate):
    """The same rows as `Accumulate`, as an Aggregate with a loop: the answer of a window is a row of the next one."""

    verb: ClassVar[str] = "carry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct(PlanOperator):
    """Each row once, by all columns, time included."""

    verb: ClassVar[str] = "distinct"
    stateful: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicate(PlanOperator):
    """For each key the least row, by time and then by all columns; and again ``within`` units after the last one kept.

    ``over`` is the time column to measure along; other time columns are part of the key. With ``forget``, a row is kept
    if it comes that many units or more after the key's row before it, whether that was kept or not.
    """

    verb: ClassVar[str] = "deduplicate"
    stateful: ClassVar[bool] = True

    by: tuple[Expression, ...]
    over: str
    within: int | None
    forget: int | None = field(default=None, metadata=IF_GIVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(PlanOperator):
    """The answers of a specification operator, one copy for each key; it returns dicts of ``columns``.

    The result has the time columns, the key, and ``columns``. With ``forget``, a row that comes that many units or more
    after the key's row before it goes to a new copy. The old copy exits then; its answers are at the last unit of the
    silence, or above.
    """

    verb: ClassVar[str] = "process"
    stateful: ClassVar[bool] = True

    schema: Schema
    operator: Any
    by: tuple[Expression, ...]
    columns: tuple[str, ...]
    forget: int | None = field(default=None, metadata=IF_GIVEN)
    #: A function from what the operator puts out to rows, if that is something else.
    out: Callable[[Any], Any] | None = field(default=None, metadata=IF_GIVEN)

    @property
    def timers(self) -> bool:
        """Whether the operator may ask to be called at later times."""
        return getattr(self.operator, "timers", False) is True
