"""The message of an engine's error in one line, and where it points: to an expression, a function or an operator."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Said", "plainly"]


@dataclass(frozen=True, slots=True)
class Said:
    """The message of an error, and what points to an operator: a piece of an expression, or the operator's name."""

    text: str
    hint: str = ""
    fragment: str = ""
    operator: str = ""
    place: str = ""

    def __str__(self) -> str:
        lines = [self.text, *([f"  {self.fragment}"] if self.fragment else [])]
        lines += [f"  at: {place}" for place in (self.place, self.operator) if place]
        return "\n".join([*lines, f"  hint: {self.hint}"] if self.hint else lines)


def plainly(error: BaseException) -> str:
    r"""Return the type of an error and the first line of its text.

    >>> plainly(ValueError("no such file\n"))
    'ValueError: no such file'
    """
    return f"{type(error).__name__}: {str(error).strip()}".split("\n")[0]
