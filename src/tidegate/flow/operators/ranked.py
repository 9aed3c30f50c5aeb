"""Operators that choose some rows of many, by an order of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidegate.flow.expressions import Expression
from tidegate.flow.fingerprint import IF_GIVEN
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.operators.windows import CalendarFrame, SessionFrame, WindowFrame

__all__ = ["Last", "Latest", "Ranked", "Top", "WindowTop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked(PlanOperator):
    """The first ``n`` rows of each group, by ``order``, then by time columns, then by all columns.

    ``descending`` and ``nulls_first`` say how each entry of ``order`` sorts. With ``backwards``, rows are sorted by
    time columns and then by all columns, the greatest first. The result has the columns of rows, with those of ``by``
    first, and with ``ranked`` the column ``rank``, which counts from 1.
    """

    by: tuple[Expression, ...]
    n: int
    order: tuple[Expression, ...]
    descending: tuple[bool, ...] = ()
    nulls_first: tuple[bool, ...] = ()
    backwards: bool = False
    ranked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Top(Ranked):
    """Of all rows at or below a time, the first ones of each group; the other fields are as in `Accumulate`."""

    verb: ClassVar[str] = "top"
    stateful: ClassVar[bool] = True

    emit: str
    every: tuple[tuple[str, int], ...] = ()
    forget: int | None = field(default=None, metadata=IF_GIVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Last(Top):
    """Of all rows at or below a time, the latest ones of each group."""

    verb: ClassVar[str] = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest(Top):
    """Of all rows at or below a time, the latest of each group, without a rank."""

    verb: ClassVar[str] = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTop(Ranked):
    """Of the rows of each window or session, the first ones of each group. Their time is the window's last unit.

    Time columns other than ``frame.over`` are part of the group. With lateness, the column ``revision`` comes last.
    """

    verb: ClassVar[str] = "window.top"
    stateful: ClassVar[bool] = True

    frame: WindowFrame | CalendarFrame | SessionFrame
