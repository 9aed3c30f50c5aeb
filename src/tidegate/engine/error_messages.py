"""What an error of an engine says: a message in one line, and the expression, function or operator it points to."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ErrorMessage", "first_line"]


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """The message of an engine's error, in one line, and what it says about the place of the error."""

    text: str
    #: What the user can do, if we know.
    hint: str = ""
    #: The piece of SQL that failed, if the engine says which.
    fragment: str = ""
    #: The name of the operator that failed, if the engine says which.
    operator: str = ""
    #: The file and line of the user's Python function that failed.
    place: str = ""

    def __str__(self) -> str:
        lines = [self.text, *([f"  {self.fragment}"] if self.fragment else [])]
        lines += [f"  at: {place}" for place in (self.place, self.operator) if place]
        return "\n".join([*lines, f"  hint: {self.hint}"] if self.hint else lines)


def first_line(error: BaseException) -> str:
    r"""Return the type of an error and the first line of its text.

    >>> first_line(ValueError("no such file\n"))
    'ValueError: no such file'
    """
    return f"{type(error).__name__}: {str(error).strip()}".split("\n")[0]
