"""State: what an operator was given and may still need, in parts.

A step adds parts and does not change earlier ones.

A part is a directory of Parquet files, and a commit names the parts. A part knows its greatest time. When nothing in it
is needed any more, the next commit leaves it out, and it need not be read for that. A part also knows its least time.
If no part can have an answer in a step, none is read.

When there are several parts after one, and together they have more than a quarter of its rows, it and they are written
as one new part, without the rows that are not needed any more. So there are few parts, small steps rewrite only small
parts, and a row is rewritten a few times and not in every step. Rows that are not needed any more and still in a part
do no harm: only answers between the frontiers before and after a step count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.engine.storage.dataclass_json import as_list, from_list, value_from_json
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import FileEntry, check_files

__all__ = ["Part", "State", "check_part", "fold_from"]

# Parts are merged only when at least this many follow one.
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A directory of Parquet files below the checkpoint, its number of rows, and the range of their times.

    ``first`` and ``last`` are the least and the greatest value of each time column, in units. For `accumulate`, only
    the rows count that wait for their time to be complete. They are None if there are no such rows, or if the times
    were not computed.
    """

    path: str
    rows: int
    last: tuple[int, ...] | None = None
    first: tuple[int, ...] | None = None
    #: Its files. A part that an earlier version wrote has none listed.
    files: tuple[FileEntry, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class State:
    """The parts of one state of an operator, in the order in which they were written."""

    parts: tuple[Part, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows, including those that are not needed any more."""
        return sum(part.rows for part in self.parts)

    def grown(self, part: Part) -> State:
        """Return the state with a part added, unless the part is empty."""
        return State((*self.parts, part)) if part.rows else self

    def without(self, done: Callable[[tuple[int, ...]], bool]) -> State:
        """Return the state without the parts whose greatest time is ``done``."""
        return State(tuple(part for part in self.parts if part.last is None or not done(part.last)))

    def to_json(self) -> list[list[Any]]:
        """Return the parts as JSON for a commit."""
        return [as_list(part) for part in self.parts]

    @classmethod
    def from_json(cls, found: Sequence[Sequence[Any]]) -> State:
        """Return the state from a commit. In those of earlier versions, the last fields of a part are missing.

        >>> State.from_json([["a", 2, [9]], ["b", 1, [7], [7], [["f", 90, 1, 12, 34]]]]).parts
        (Part(path='a', rows=2, last=(9,), first=None), Part(path='b', rows=1, last=(7,), first=(7,)))
        """
        parts = value_from_json(tuple[Any, ...], found, "the parts of a state")
        return cls(tuple(from_list(Part, _with_all_fields(part)) for part in parts))


def _with_all_fields(part: Any) -> Any:
    return [*part, *(None, None, [])[len(part) - 2 :]] if isinstance(part, list) and len(part) >= 2 else part


def fold_from(parts: Sequence[Part]) -> int:
    """Return the index of the first part to merge with all later ones; the number of parts if none should be merged.

    >>> fold_from([Part("a", 100), *[Part("b", 6)] * 4]), fold_from([Part("a", 100), *[Part("b", 7)] * 4])
    (5, 0)
    >>> fold_from([Part("a", 5000), *[Part("b", 7)] * 5])
    1
    """
    for i, part in enumerate(parts):
        later = parts[i + 1 :]
        if len(later) >= _FEWEST and sum(other.rows for other in later) > part.rows / 4:
            return i
    return len(parts)


def check_part(files: Files, part: Part, *, whole: bool = False) -> None:
    """Raise if the files of a part are not what was written."""
    check_files(files, part.path, part.files, "the state", whole=whole)
