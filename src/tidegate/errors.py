"""The exception family: every error says what was expected, what came, where, and what to do."""

from __future__ import annotations

from typing import Self

from tidegate.printable import printable

__all__ = ["TidegateError"]


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
