"""Operators that pair rows of two inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidegate.flow.expressions import Expression
from tidegate.flow.fingerprint import IF_GIVEN
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.operators.windows import WindowFrame

__all__ = ["IntervalJoin", "Join", "JoinAsof", "WindowJoin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(PlanOperator):
    """Pairs of rows with equal times and equal ``on`` columns that satisfy ``where``.

    ``where`` reads ``left.x`` and ``right.x``. In outer joins too, a pair matches only if it satisfies ``where``. The
    result has the time columns, ``on``, ``left_columns`` and ``right_columns``. The right input may be a table, whose
    rows are there at every time.
    """

    verb: ClassVar[str] = "join"
    stateful: ClassVar[bool] = True

    on: tuple[str, ...]
    where: Expression | None
    how: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]
    with_table: bool = False

    @property
    def keeps_state(self) -> bool:
        """Whether it keeps rows from step to step: only if both sides are streams."""
        return bool(self.schema.time) and not self.with_table


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinAsof(PlanOperator):
    """Each left row with the latest right row at or below its time; of several, the greatest by all columns.

    The right row may be at most ``within`` units earlier. Time columns other than ``over`` must be equal.
    """

    verb: ClassVar[str] = "join_asof"
    stateful: ClassVar[bool] = True

    on: tuple[str, ...]
    over: str
    within: int | None
    how: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowJoin(PlanOperator):
    """Pairs of rows that match, once for each window that both are in. Their time is the window's last unit.

    With lateness, the column ``revision`` comes last, and an answer has all rows of a window and key. With ``early``, a
    pair comes out as soon as both rows are there.
    """

    verb: ClassVar[str] = "window_join"
    stateful: ClassVar[bool] = True

    frame: WindowFrame
    on: tuple[str, ...]
    where: Expression | None
    how: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]
    early: bool = field(default=False, metadata=IF_GIVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalJoin(PlanOperator):
    """Pairs of rows that match and whose times are within bounds of each other, at the later of their times.

    The right time minus the left one is at least ``lower`` and at most ``upper``, in units of ``over``; None means no
    bound. Other time columns must be equal. On several time columns ``over`` is None if there are no bounds: then a
    pair is at the least time that is at or above both.

    In outer joins, a row without a match comes out at the last time at which a match could have come: see `settles`.
    With ``semi``, a left row comes out at its first match.
    """

    verb: ClassVar[str] = "interval_join"
    stateful: ClassVar[bool] = True

    on: tuple[str, ...]
    over: str | None
    lower: int | None
    upper: int | None
    where: Expression | None
    how: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]

    def settles(self, port: int) -> int | None:
        """Return for how many units after its time a row of an input may still find a match; None if for ever."""
        ahead = self.upper if port == 0 else None if self.lower is None else -self.lower
        return None if ahead is None else max(0, ahead)

    def needed(self, port: int) -> int | None:
        """Return for how many units after its time a row of an input has to be kept; None if for ever.

        It is kept while it may still find a match. If rows of the other side come out only with, or only without, a
        match, it is also kept until those that it may match are settled.
        """
        settling = ("left", "full", "semi", "anti") if port == 1 else ("right", "full")
        own, other = self.settles(port), self.settles(1 - port)
        if self.how not in settling:
            return own
        ahead = self.upper if port == 0 else None if self.lower is None else -self.lower
        return None if ahead is None or other is None or own is None else max(own, ahead + other)
