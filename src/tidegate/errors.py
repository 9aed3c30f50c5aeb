"""The exception family: every error says what was expected, what came, where, and what to do.

All errors that flows raise can be had from here, wherever they are defined:

>>> from tidegate import errors
>>> errors.UnknownColumn.__mro__[-4], errors.CheckpointInUse.__name__
(<class 'LookupError'>, 'CheckpointInUse')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Self

from tidegate.printable import printable

if TYPE_CHECKING:
    from tidegate.engine.storage.errors import *  # noqa: F403
    from tidegate.engine.tables import UnknownName as UnknownName
    from tidegate.extras import MissingExtra as MissingExtra
    from tidegate.flow.errors import *  # noqa: F403
    from tidegate.spark.workers import BadWorkers as BadWorkers
    from tidegate.spec import NotAnEvent as NotAnEvent
    from tidegate.spec import NotMonotone as NotMonotone
    from tidegate.time import CyclicOrder as CyclicOrder
    from tidegate.time import NoSuchTime as NoSuchTime
    from tidegate.time import NotATime as NotATime

__all__ = ["BadValue", "NotFound", "TidegateError", "WrongType"]

#: Where the others are defined: beside what raises them. A module is imported when an error is first asked for.
_HOMES = (
    "tidegate.extras",
    "tidegate.flow.errors",
    "tidegate.engine.storage.errors",
    "tidegate.engine.tables",
    "tidegate.time",
    "tidegate.spec",
    "tidegate.spark.workers",
)


class TidegateError(Exception):
    """The base of all errors that Tidegate raises on purpose.

    ``what`` states what was expected and what came. Places are added with `at` while the error travels outwards, so
    that the message ends up naming the event, the operator and the flow. ``hint`` says what to do.

    >>> error = TidegateError("expected a watermark, got 3", hint="wrap it: WM(3)")
    >>> print(error.at("event 4 of the stream"))
    expected a watermark, got 3
      at: event 4 of the stream
      hint: wrap it: WM(3)
    """

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.places: list[str] = []

    def at(self, place: str) -> Self:
        """Add the place where it happened, innermost first."""
        self.places.append(place)
        return self

    def __str__(self) -> str:
        lines = [self.what]
        lines += [f"  at: {place}" for place in self.places]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        # It may quote what others wrote, and ends up in a terminal.
        return printable("\n".join(lines), lines=True)


class WrongType(TidegateError, TypeError):
    """A value of another type than what is needed."""


class BadValue(TidegateError, ValueError):
    """A value of the right type that cannot be used here."""


class NotFound(TidegateError, LookupError):
    """A name that nothing has here."""


def _errors_in(home: str) -> dict[str, type[TidegateError]]:
    """Return the errors that a module offers, by name."""
    found = import_module(home)
    offered = {name: getattr(found, name) for name in found.__all__}
    return {n: value for n, value in offered.items() if isinstance(value, type) and issubclass(value, TidegateError)}


def __getattr__(name: str) -> type[TidegateError]:
    # Names with underscores are asked for by tools: they need not import anything.
    for home in () if name.startswith("_") else _HOMES:
        if name in (found := _errors_in(home)):
            return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(__all__).union(*map(_errors_in, _HOMES)))
