"""The error of a failed run: the engine's message in one line, the operators that may have raised it, step and flow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from tidegate.engine.said import Said, plainly
from tidegate.engine.steps.host import Speaks
from tidegate.engine.storage.errors import RunFailed
from tidegate.errors import TidegateError
from tidegate.flow.errors import pointed
from tidegate.flow.plan import Plan, PlanOperator, Restored, Source
from tidegate.flow.schema import Schema

__all__ = ["at_operator", "between_steps", "in_a_line", "in_step"]

_AGAIN = "nothing of this step is committed: the next start from this checkpoint runs it again"
_PUBLISH = "the step is committed: the next start from this checkpoint publishes it"


@contextmanager
def at_operator(flow: Plan, operator: str, said: Speaks) -> Iterator[None]:
    """Add to errors raised inside the operator that they come from, or the operators that run in the same jobs."""
    try:
        yield
    except TidegateError as error:
        error.at(f"operator {operator}")
        raise
    except Exception as error:
        raise _failed(flow, said(error), _nearby(flow, operator)) from error


@contextmanager
def in_step(flow: Plan, number: int, said: Speaks, committed: Callable[[], bool]) -> Iterator[None]:
    """Add to errors raised inside the step that failed, and whether it will be run again or only published."""
    try:
        yield
    except TidegateError as error:
        _locate(error, flow, number, committed=committed())
        raise
    except Exception as error:
        failed = _failed(flow, said(error), frozenset())
        _locate(failed, flow, number, committed=committed())
        raise failed from error


def between_steps(flow: Plan, error: BaseException, said: Speaks, *, hint: str) -> BaseException:
    """Return the error of a run that failed outside of steps. Our own errors stay as they are."""
    if isinstance(error, TidegateError) and not any(place.startswith("flow ") for place in error.places):
        error.at(f"flow {flow.name!r}")
    if isinstance(error, TidegateError) or not isinstance(error, Exception):
        return error
    failed = _failed(flow, said(error), frozenset())
    failed.hint = hint
    failed.__cause__ = error
    return failed.at(f"flow {flow.name!r}")


def in_a_line(error: BaseException) -> str:
    """Return an error in one line, with its places.

    >>> in_a_line(TidegateError("expected no late row, got 3").at("step 4").at("flow 'edits'"))
    "expected no late row, got 3; step 4, flow 'edits'"
    """
    if not isinstance(error, TidegateError):
        return plainly(error)
    what = error.what.split("\n")[0]
    return f"{what}; {', '.join(error.places)}" if error.places else what


def _locate(error: TidegateError, flow: Plan, number: int, *, committed: bool) -> None:
    if isinstance(error, RunFailed):
        error.step = number
        error.hint = "; ".join(part for part in (error.hint, _PUBLISH if committed else _AGAIN) if part)
    for place in (f"step {number}", f"flow {flow.name!r}"):
        if place not in error.places:
            error.at(place)


def _failed(flow: Plan, said: Said, nearby: Set[str]) -> RunFailed:
    """Return the error, with the operators that its message points to, or else those that were running."""
    blamed = {id_: text for id_, text in _blamed(flow, said).items() if id_ in nearby} or _blamed(flow, said)
    what = said.text
    if said.fragment and blamed:
        shown = next(iter(blamed.values()))
        start = shown.find(said.fragment)
        what = pointed(what, shown, start, start + len(said.fragment)) if start >= 0 else f"{what}\n  {shown}"
    operators = tuple(o.id for o in flow if o.id in (blamed or nearby) and not isinstance(o, Source | Restored))
    found = RunFailed(what, operators=operators, hint=said.hint)
    if said.place:
        found.at(said.place)
    if operators:
        found.at(f"operator {operators[0]}" if len(operators) == 1 else f"one of the operators {', '.join(operators)}")
    sources = {o for id_ in blamed or nearby for o in flow.upstream(id_) if isinstance(flow[o], Source)}
    if len(sources) == 1:
        found.at(f"a row of source {sources.pop()!r}")
    return found


def _blamed(flow: Plan, said: Said) -> dict[str, str]:
    """Return the operators that an error points to, each with the expression that contains the failing piece."""
    if said.operator:
        return {said.operator: ""} if any(o.id == said.operator for o in flow) else {}
    if not said.fragment:
        return {}
    wanted = re.compile(rf"(?<![\w`]){re.escape(said.fragment)}(?![\w`])")
    return {o.id: shown for o in reversed(flow.operators) for text, shown in _texts(o) if wanted.search(text)}


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Return the SQL texts of an operator, each as the engine is given it and as the user wrote it."""
    if isinstance(value, tuple):
        for part in value:
            yield from _texts(part)
    elif is_dataclass(value) and not isinstance(value, Schema | type):
        shown = getattr(value, "sql", "")
        yield from ((getattr(value, name), shown) for name in ("finish", "sql") if shown and hasattr(value, name))
        for field in fields(value):
            yield from _texts(getattr(value, field.name))


def _nearby(flow: Plan, id_: str) -> Set[str]:
    """Return an operator and the upstream operators that run in the same jobs: back to those that keep state."""
    found, waiting = {id_}, list(flow[id_].inputs)
    while waiting:
        operator: PlanOperator = flow[waiting.pop()]
        if operator.id not in found:
            found.add(operator.id)
            waiting += () if operator.keeps_state else operator.inputs
    return found
