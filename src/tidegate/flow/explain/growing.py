"""Warnings about state that only grows: operators that keep more and more, for as long as a run goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.flow import plan as p
from tidegate.flow.explain.words import rows_of
from tidegate.flow.plan import PlanOperator
from tidegate.spec.parts import name_of

__all__ = ["Concern", "growing"]


@dataclass(frozen=True, slots=True)
class Concern:
    """A warning: the operator, what may go wrong when the flow runs, and what to do about it."""

    operator: str
    what: str
    hint: str


def growing(operator: PlanOperator) -> Iterator[Concern]:
    """Return warnings about what an operator keeps for ever, each with what would limit it."""
    if getattr(operator, "forget", None) is not None:
        # A key that is silent for that long is forgotten.
        return
    match operator:
        case p.Accumulate(aggregation=aggregation) if aggregation.by:
            yield Concern(
                operator.id,
                f"a total is kept for each {_keys(aggregation.by)} for ever: state grows with every new one",
                _bounded(operator, "take groups that do not become more and more, or window(…).aggregate(…)"),
            )
        case p.Top(by=by, n=n) if by:
            yield Concern(
                operator.id,
                f"{rows_of(n)} {'is' if n == 1 else 'are'} kept for each {_keys(by)} for ever: "
                "state grows with every new one",
                _bounded(operator, "take groups that do not become more and more, or window(…).top(…)"),
            )
        case p.Deduplicate(within=None):
            bound = _where_counted(operator, 'bound it: within="1 day", or forget="1 day"')
            yield Concern(operator.id, "every key is kept for ever", bound)
        case p.IntervalJoin():
            kept = [side for port, side in enumerate(("left", "right")) if operator.needed(port) is None]
            if kept:
                yield Concern(
                    operator.id,
                    f"every row of the {' and the '.join(kept)} is kept for ever",
                    "bound how far apart the rows of a pair may be: lower=…, upper=…",
                )
        case p.JoinAsof(on=on, within=None) if on:
            yield Concern(
                operator.id,
                f"the latest row of {operator.inputs[1]} is kept for each {', '.join(on)} for ever: "
                "state grows with every new one",
                _where_counted(operator, 'bound how far back a row may be: within="1 day"'),
            )
        case p.Process(operator=user, by=by):
            yield from _process(operator, user, by)
        case p.Iterate(rounds=rounds):
            known = "" if rounds is not None else ", and what follows from them,"
            yield Concern(
                operator.id,
                f"all rows that go into the loop{known} are kept for ever: state grows with every row",
                "let only the rows and columns in that it needs: where(…), select(…), distinct() before it",
            )


def _process(operator: p.Process, user: Any, by: tuple[Any, ...]) -> Iterator[Concern]:
    name = name_of(user)
    if not (callable(getattr(user, "state", None)) and callable(getattr(user, "resume", None))):
        yield Concern(
            operator.id,
            f"{name} has no state() and resume(state), so every row is kept for ever, to be played again",
            "write those two: then what state() returns is kept instead of rows"
            if name == type(user).__name__
            else "start(…, allow_pickle=True) keeps what a copy knows instead of rows",
        )
    elif by:
        yield Concern(
            operator.id,
            f"a copy of {name} is kept for each {_keys(by)} for ever: state grows with every new one",
            _bounded(operator, "take keys that do not become more and more"),
        )


def _keys(by: tuple[Any, ...]) -> str:
    return ", ".join(map(str, by))


def _bounded(operator: PlanOperator, otherwise: str) -> str:
    """Return what to do about ever more keys: forget the silent ones if the operator can, else ``otherwise``."""
    if hasattr(operator, "forget") and len(operator.schema.time) == 1:
        return _where_counted(operator, 'let silent ones go: forget="30 days"')
    return _where_counted(operator, otherwise)


def _where_counted(operator: PlanOperator, hint: str) -> str:
    """Return a hint with its spans as this time column has them: numbers for integers; another hint if it has none."""
    if operator.schema.ordered:
        return "take keys that do not become more and more"
    dated = any(column.type in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ") for column in operator.schema.times)
    return hint if dated else re.sub(r'"(\d+) [a-z]+"', r"\1", hint)
