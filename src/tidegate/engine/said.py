"""What an error says, in one line, and where it leads: to an expression, to a function, to an operator."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Said", "plainly"]


@dataclass(frozen=True, slots=True)
class Said:
    """What an error says, in one line, and what of it leads to an operator: a piece of an expression, or its name."""

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
