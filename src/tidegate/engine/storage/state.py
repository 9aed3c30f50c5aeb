"""State: what an operator was given and may still need, in parts that a step adds to and does not touch again.

A part is a directory of Parquet files. A commit names the parts. One that holds nothing that is needed any more is left
out of the next commit, without looking into it: a part knows its greatest time. It knows its least time too: where no
part has an answer that a step completes, none is read. When the parts after one have grown
beyond a quarter of it, and are several, they are written anew as one part of what is still needed; so there are few
parts, a small step rewrites small ones only, and a row is rewritten a few times and not in every step. Rows that are
needed no more give no answers that were not given before: the frontiers before and after a step cut those off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import FileEntry, check_files, decode_files

__all__ = ["Part", "State", "check_part", "fold_from"]

# Parts are not written anew for each small step.
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A directory of Parquet files below the checkpoint, how many rows are in it, and where their times lie.

    ``first`` and ``last`` are the least and the greatest value of each time column, in units; of an `accumulate`, those
    of the rows that wait for their time to be complete. They are None if there are none, or if nobody asked.
    """

    path: str
    rows: int
    last: tuple[int, ...] | None = None
    first: tuple[int, ...] | None = None
    #: Its files; unknown, and so none, of a part that an earlier version wrote.
    files: tuple[FileEntry, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class State:
    """The parts that hold the state of one input of an operator, in the order in which they were written."""

    parts: tuple[Part, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows there are, those included that are needed no more."""
        return sum(part.rows for part in self.parts)

    def grown(self, part: Part) -> State:
        """Return the state with a part added; an empty one is left out."""
        return State((*self.parts, part)) if part.rows else self

    def without(self, done: Callable[[tuple[int, ...]], bool]) -> State:
        """Return the state without the parts whose greatest time is done with."""
        return State(tuple(part for part in self.parts if part.last is None or not done(part.last)))

    def coded(self) -> list[list[Any]]:
        """Return the state for a commit."""
        return [
            [
                part.path,
                part.rows,
                *(at and list(at) for at in (part.last, part.first)),
                [entry.coded() for entry in part.files],
            ]
            for part in self.parts
        ]

    @classmethod
    def decode(cls, found: Sequence[Sequence[Any]]) -> State:
        """Return the state that a commit names; one of an earlier version knows no first times, or no files.

        >>> State.decode([["a", 2, [9]], ["b", 1, [7], [7], [["f", 90, 1, 12, 34]]]]).parts
        (Part(path='a', rows=2, last=(9,), first=None), Part(path='b', rows=1, last=(7,), first=(7,)))
        """
        parts = []
        for path, rows, *more in found:
            last, first, entries = (*more, None, None, None)[:3]
            parts.append(Part(path, rows, last and tuple(last), first and tuple(first), decode_files(entries or ())))
        return cls(tuple(parts))


def fold_from(parts: Sequence[Part]) -> int:
    """Return the first of the parts that should be written anew as one; how many there are, if none should.

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
    """Raise if the files of a part are not what they were when it was written."""
    check_files(files, part.path, part.files, "the state", whole=whole)
