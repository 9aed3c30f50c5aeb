"""What can be wrong with a flow: one exception for each kind of misuse, each also a fitting built-in."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "AmbiguousColumn",
    "BadArgument",
    "BadExpression",
    "BadInput",
    "BadLoop",
    "BadResult",
    "BadSchema",
    "BadSpan",
    "BadTime",
    "ColumnClash",
    "FlowError",
    "NameTaken",
    "NotConverging",
    "NotSupported",
    "TimesDiffer",
    "UnknownColumn",
    "UnknownRelation",
    "did_you_mean",
    "nearest",
    "pointed",
]


class FlowError(TidegateError):
    """A flow is not as it should be; each kind of misuse has a class of its own."""


class BadArgument(FlowError, TypeError):
    """An argument is of a type that the method does not accept."""


class BadExpression(FlowError, ValueError):
    """An expression does not parse, or uses something that has no meaning on streams."""


class UnknownColumn(FlowError, LookupError):
    """An expression or an argument names a column that does not exist."""


class UnknownRelation(FlowError, LookupError):
    """A query of a loop reads a relation that does not exist."""


class AmbiguousColumn(FlowError, LookupError):
    """A name could mean a column of either side of a join."""


class ColumnClash(FlowError, ValueError):
    """Two columns of a result would have the same name."""


class BadSchema(FlowError, ValueError):
    """A schema does not parse, or is not allowed there."""


class BadTime(FlowError, TypeError):
    """A time column is missing or has a type that is not a time, or a method needs a time that does not exist."""


class BadSpan(FlowError, ValueError):
    """A length of time is not a whole number of units, or out of bounds."""


class TimesDiffer(FlowError, ValueError):
    """Two streams must have the same time columns, and do not."""


class NameTaken(FlowError, ValueError):
    """A name is already in use in the flow."""


class BadInput(FlowError, ValueError):
    """An input of a flow is missing, or is not what the source declared."""


class BadResult(FlowError, ValueError):
    """A Python function or operator of the user returned something other than what it declared."""


class BadLoop(FlowError, ValueError):
    """The answer of a loop would depend on the order in which its facts are found, or a query of it is not allowed."""


class NotConverging(FlowError, RuntimeError):
    """A loop ran as many rounds as it may, and facts still change."""

    @classmethod
    def after(cls, changed: Sequence[int]) -> NotConverging:
        """Build the error from the number of facts that were new or better in each round."""
        last = ", ".join(map(str, changed[-10:]))
        return cls(
            f"expected a loop that stops changing, got facts that still change after {len(changed)} rounds\n"
            f"  facts that changed in the last rounds: {last}",
            hint="limit what step derives with WHERE; or give a higher limit=…; or a number of rounds, rounds=…",
        )


class NotSupported(FlowError, NotImplementedError):
    """An engine cannot do what the flow asks for."""


def pointed(what: str, text: str, start: int, end: int) -> str:
    """Return a message with the text below it and carets under the place from ``start`` up to ``end``.

    >>> print(pointed("unknown column byts", "byts > 100", 0, 4))
    unknown column byts
      byts > 100
      ^^^^
    """
    # A text of several lines is shown as one, so that the caret stays below the right place.
    shown = "".join(" " if c.isspace() else c for c in text)
    return f"{what}\n  {shown}\n  {' ' * start}{'^' * max(1, end - start)}"


def did_you_mean(name: object, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return the hint for an unknown name: the known name that is most like it, else ``otherwise``.

    >>> did_you_mean("byts", ["page", "bytes"]), did_you_mean("x", ["page"], otherwise="columns are page")
    ('did you mean bytes?', 'columns are page')
    """
    near = nearest(str(name), known)
    return f"did you mean {near}?" if near else otherwise


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``name``, or nothing.

    >>> nearest("byts", ["page", "bytes"])
    'bytes'
    """
    candidates = list(known)
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""
