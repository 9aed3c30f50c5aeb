"""Windows and sessions, and the operators on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tidegate.flow.aggregates import Aggregation
from tidegate.flow.expressions import Expression
from tidegate.flow.fingerprint import LEFT_OUT
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.schema import Schema
from tidegate.flow.spans import show_span

__all__ = ["CalendarFrame", "SessionFrame", "WindowAggregate", "WindowApply", "WindowFrame"]


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """Windows over a time column, in its units since the epoch: ``[k * every + offset, k * every + offset + size)``."""

    over: str
    size: int
    every: int
    offset: int = 0
    lateness: int = 0

    def shown(self, type_: str, *, over: bool = False) -> str:
        """Return the windows in words; ``type_`` is the type of their column. With ``over``, its name is in them.

        >>> WindowFrame("ts", size=3_600_000_000, every=600_000_000).shown("TIMESTAMP")
        'windows of 1 hour, every 10 minutes'
        """
        parts = [f"windows of {show_span(self.size, type_)}{f' over {self.over}' if over else ''}"]
        parts += [f"every {show_span(self.every, type_)}"] if self.every != self.size else []
        parts += [f"shifted by {show_span(self.offset, type_)}"] if self.offset else []
        parts += [f"revised for {show_span(self.lateness, type_)}"] if self.lateness else []
        return ", ".join(parts)

    def later(self, type_: str) -> str:
        """Return in words how long after a row its windows may end."""
        return f"up to {show_span(self.size, type_)}"


@dataclass(frozen=True, slots=True)
class CalendarFrame:
    """Windows over a time column by the calendar: of whole days of a zone, or of months (``unit``).

    In days or months since 1970, they are ``[k * every + offset, k * every + offset + size)``.
    """

    over: str
    unit: str
    size: int
    every: int
    offset: int
    zone: str

    def shown(self, type_: str, *, over: bool = False) -> str:  # noqa: ARG002
        """Return the windows in words. With ``over``, the name of their column is in them.

        >>> CalendarFrame("ts", "month", 3, 1, 0, "UTC").shown("TIMESTAMP")
        'windows of 3 months, by the calendar of UTC, every 1 month'
        """
        on = f" over {self.over}" if over else ""
        parts = [f"windows of {self.counted(self.size)}{on}, by the calendar of {self.zone}"]
        parts += [f"every {self.counted(self.every)}"] if self.every != self.size else []
        parts += [f"shifted by {self.counted(self.offset)}"] if self.offset else []
        return ", ".join(parts)

    def later(self, type_: str) -> str:  # noqa: ARG002
        """Return in words how long after a row its windows may end."""
        return f"up to {self.counted(self.size)}"

    def counted(self, count: int) -> str:
        """Return a number of days or months in words."""
        return f"{count} {self.unit}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class SessionFrame:
    """Sessions over a time column: rows of one group, each less than ``gap`` units after the one before."""

    over: str
    gap: int

    def shown(self, type_: str, *, over: bool = False) -> str:
        """Return the sessions in words; ``type_`` is the type of their column. With ``over``, its name is in them."""
        return f"sessions with a gap of {show_span(self.gap, type_)}{f' over {self.over}' if over else ''}"

    def later(self, type_: str) -> str:
        """Return in words how long after a row its session ends."""
        return f"at least {show_span(self.gap, type_)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAggregate(PlanOperator):
    """One row for each window or session and group that has rows. Its time is the window's last unit.

    Time columns other than ``frame.over`` are part of the group. With lateness, the column ``revision`` comes last.
    ``embeds`` is as in `Aggregate`.
    """

    verb: ClassVar[str] = "window.aggregate"
    stateful: ClassVar[bool] = True

    frame: WindowFrame | CalendarFrame | SessionFrame
    aggregation: Aggregation
    embeds: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowApply(PlanOperator):
    """What a Python function makes of the rows of each window or session and group.

    The function gets the rows as an Arrow table, sorted by time and then by all columns. With ``keyed``, it gets the
    key first, as a dict. It returns ``columns``; time, window and groups are put before them.
    """

    verb: ClassVar[str] = "window.apply"
    stateful: ClassVar[bool] = True

    schema: Schema
    frame: WindowFrame | CalendarFrame | SessionFrame
    by: tuple[Expression, ...]
    function: Callable[..., Any]
    keyed: bool
    columns: tuple[str, ...]
