"""Compares rows with those that a test expects, and prints the difference as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError
from tidegate.flow.show import shown, text_table
from tidegate.flow.values import sort_key

if TYPE_CHECKING:
    from tidegate.testing.trials import Trial

__all__ = ["Difference", "NotAsExpected", "Rows", "close", "difference"]

Row = Mapping[str, Any]
#: At most this many of the rows that are as expected are shown.
_SAME_SHOWN = 3
_TOLERANCE = 1e-9


class NotAsExpected(TidegateError, AssertionError):
    """A flow gave other answers than a test expects."""


class Rows(list[dict[str, Any]]):
    """Rows, sorted by time and then by all columns. They print as a table."""

    def __init__(
        self, rows: Iterable[dict[str, Any]], names: Sequence[str], origin: tuple[Trial, str] | None = None
    ) -> None:
        super().__init__(sorted(rows, key=lambda row: [_sorted(row.get(name)) for name in names]))
        self.names = tuple(names)
        #: The trial and the sink whose answers these rows are.
        self.origin = origin

    def __str__(self) -> str:
        return text_table(self.names, [[row.get(name) for name in self.names] for row in self])


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows that are as expected, pairs that are nearly so (expected and got), missing rows, and surplus rows."""

    same: list[Row]
    near: list[tuple[Row, Row]]
    missing: list[Row]
    surplus: list[Row]

    def __bool__(self) -> bool:
        return bool(self.near or self.missing or self.surplus)

    def table(self, names: Sequence[str], times: Sequence[str]) -> str:
        """Return a table of the rows, sorted by time: ``-`` is expected and missing, ``+`` came instead."""
        lines: list[tuple[Row, list[Any]]] = []
        for row in self.same[:_SAME_SHOWN]:
            lines.append((row, [" ", *_cells(row, names), ""]))
        for expected, got in self.near:
            wrong = [n for n in names if n in expected and not close(got.get(n), expected[n])]
            what = "; ".join(f"{n} is {shown(got.get(n))}, not {shown(expected[n])}" for n in wrong)
            lines += [(expected, ["-", *_cells(expected, names), ""]), (expected, ["+", *_cells(got, names), what])]
        lines += [(row, ["-", *_cells(row, names), "missing"]) for row in self.missing]
        lines += [(row, ["+", *_cells(row, names), "not expected"]) for row in self.surplus]
        by_time = sorted(lines, key=lambda line: [_sorted(line[0].get(name)) for name in times])
        more = len(self.same) - _SAME_SHOWN
        table = text_table(["", *names, ""], [cells for _, cells in by_time])
        return table + (f"\n… and {more} more as expected" if more > 0 else "")


def difference(expected: Sequence[Row], got: Sequence[Row], names: Sequence[str], times: Sequence[str]) -> Difference:
    """Return how two multisets of rows differ in the columns ``names``. Doubles may differ by 1e-9, relatively.

    >>> found = difference([{"t": 1, "n": 2}], [{"t": 1, "n": 3}, {"t": 2, "n": 1}], ["t", "n"], ["t"])
    >>> print(found.table(["t", "n"], ["t"]))
       t  n
    -  1  2
    +  1  3  n is 3, not 2
    +  2  1  not expected
    """
    same, missing, surplus = _matched(expected, got, names)
    near: list[tuple[Row, Row]] = []
    for row in list(missing):
        # A near miss has the same time, and at least half of its columns are right.
        scored = [(_right(row, other, names), other) for other in surplus if _right(row, other, times) == len(times)]
        best = max(scored, key=lambda pair: pair[0], default=None)
        if best is not None and 2 * best[0] >= len(names):
            near.append((row, best[1]))
            missing = [r for r in missing if r is not row]
            surplus = [r for r in surplus if r is not best[1]]
    return Difference(same, near, missing, surplus)


def _matched(
    expected: Sequence[Row], got: Sequence[Row], names: Sequence[str]
) -> tuple[list[Row], list[Row], list[Row]]:
    """Return the rows that are in both, and the rest of each side. Both are sorted first, so that equal rows meet."""
    left, right = (sorted(rows, key=lambda r: [_sorted(r.get(n)) for n in names]) for rows in (expected, got))
    same: list[Row] = []
    missing: list[Row] = []
    for row in left:
        at = next((i for i, other in enumerate(right) if _right(row, other, names) == len(names)), None)
        if at is None:
            missing.append(row)
        else:
            same.append(right.pop(at))
    return same, missing, right


def _right(row: Row, other: Row, names: Sequence[str]) -> int:
    return sum(close(other.get(name), row.get(name)) for name in names)


def close(x: Any, y: Any) -> bool:
    """Whether two values of a column are the same. Doubles may differ a little, as sums depend on the order of rows.

    >>> close([0.1 + 0.2], [0.3]), close(1, 1.0), close(float("nan"), float("nan"))
    (True, False, True)
    """
    if isinstance(x, tuple | list) and isinstance(y, tuple | list):
        return len(x) == len(y) and all(map(close, x, y))
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        return list(x) == list(y) and all(close(x[k], y[k]) for k in x)
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=_TOLERANCE) or (math.isnan(x) and math.isnan(y))
    return type(x) is type(y) and bool(x == y)


def _sorted(value: Any) -> Any:
    """Return the sort key of a value. A test may expect values of any type, which Python can't compare."""
    key = sort_key(value)
    return (key[0], type(value).__name__, *key[1:]) if len(key) > 1 else (key[0], "")


def _cells(row: Row, names: Sequence[str]) -> list[Any]:
    return [row.get(name, "…") for name in names]
