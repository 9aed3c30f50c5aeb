"""A statement of the papers as something that runs: nothing if it holds, else a counterexample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol

__all__ = ["Counterexample", "Statement", "statement"]

P = ParamSpec("P")


@dataclass(frozen=True)
class Counterexample:
    """What breaks a statement: the reason, and the values that show it."""

    statement: str
    because: str
    given: dict[str, Any]

    def __str__(self) -> str:
        shown = "\n".join(f"  {name} = {value!r}" for name, value in self.given.items())
        return f"{self.statement} fails: {self.because}\n{shown}"


class Assume(Protocol):
    """How a statement states its assumptions."""

    def __call__(self, condition: bool, /) -> None: ...


class _Vacuous(Exception):
    """An assumption does not hold, so the statement says nothing."""


def _require(condition: bool) -> None:
    if not condition:
        raise _Vacuous


def _ignore(condition: bool) -> None:
    del condition


class Statement(Generic[P]):
    """A numbered statement.

    Call it with what it quantifies over. It returns None if it holds there, also if an assumption does not hold, or
    else a `Counterexample`. `verdict` tells the two kinds of None apart. `without_assumptions` checks the conclusion
    alone.
    """

    def __init__(
        self, number: str, claim: str, body: Callable[Concatenate[Assume, P], str | tuple[str, dict[str, Any]] | None]
    ) -> None:
        self.number = number
        self.claim = claim
        self._body = body
        update_wrapper(self, body)
        self.__doc__ = f"{number} {claim}."

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Counterexample | None:
        try:
            return self._judge(_require, *args, **kwargs)
        except _Vacuous:
            return None

    def verdict(self, *args: P.args, **kwargs: P.kwargs) -> Counterexample | Literal["holds", "vacuous"]:
        """Return "holds", or "vacuous" if an assumption does not hold, or the counterexample."""
        try:
            return self._judge(_require, *args, **kwargs) or "holds"
        except _Vacuous:
            return "vacuous"

    def without_assumptions(self, *args: P.args, **kwargs: P.kwargs) -> Counterexample | None:
        """Check the conclusion, whether the assumptions hold or not."""
        return self._judge(_ignore, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.number} {self.claim}>"

    def _judge(self, assume: Assume, *args: P.args, **kwargs: P.kwargs) -> Counterexample | None:
        broken = self._body(assume, *args, **kwargs)
        if broken is None:
            return None
        because, more = (broken, {}) if isinstance(broken, str) else broken
        names = self._body.__code__.co_varnames[1:]
        return Counterexample(
            f"{self.number} {self.claim}", because, {**dict(zip(names, args, strict=False)), **kwargs, **more}
        )


def statement(
    number: str, claim: str
) -> Callable[[Callable[Concatenate[Assume, P], str | tuple[str, dict[str, Any]] | None]], Statement[P]]:
    """Turn a function into a statement; its first argument is how it states assumptions, the others are quantified."""

    def wrap(body: Callable[Concatenate[Assume, P], str | tuple[str, dict[str, Any]] | None]) -> Statement[P]:
        return Statement(number, claim, body)

    return wrap
