"""The error of a failed run: the engine's message in one line, the operators that may have raised it, step and flow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from tidegate.engine.error_messages import ErrorMessage, first_line
from tidegate.engine.steps.host import DescribeError
from tidegate.engine.storage.errors import RunFailed
from tidegate.errors import TidegateError
from tidegate.flow.errors import pointed
from tidegate.flow.plan import Plan, PlanOperator, Restored, Source
from tidegate.flow.schema import Schema

__all__ = ["at_operator", "between_steps", "in_a_line", "in_step"]

_AGAIN = "nothing of this step is committed: the next start from this checkpoint runs it again"
_PUBLISH = "the step is committed: the next start from this checkpoint publishes it"


@contextmanager
def at_operator(flow: Plan, operator: str, describe: DescribeError) -> Iterator[None]:
    """Add the operator to errors that are raised in the block.

    An error of the engine may come from any operator that runs in the same job. So all of those are named, unless the
    engine's message points to one of them.
    """
    try:
        yield
    except TidegateError as error:
        error.at(f"operator {operator}")
        raise
    except Exception as error:
        raise _failed(flow, describe(error), _nearby(flow, operator)) from error


@contextmanager
def in_step(flow: Plan, number: int, describe: DescribeError, committed: Callable[[], bool]) -> Iterator[None]:
    """Add the step and the flow to errors that are raised in the block, and say what the next start does with the step.

    ``committed`` returns whether the step was committed before it failed. If so, it is published and not run again.
    """
    try:
        yield
    except TidegateError as error:
        _locate(error, flow, number, committed=committed())
        raise
    except Exception as error:
        failed = _failed(flow, describe(error), frozenset())
        _locate(failed, flow, number, committed=committed())
        raise failed from error


def between_steps(flow: Plan, error: BaseException, describe: DescribeError, *, hint: str) -> BaseException:
    """Return the error of a run that failed outside of steps, with ``hint``.

    To an error of our own, only the flow is added.
    """
    if isinstance(error, TidegateError) and not any(place.startswith("flow ") for place in error.places):
        error.at(f"flow {flow.name!r}")
    if isinstance(error, TidegateError) or not isinstance(error, Exception):
        return error
    failed = _failed(flow, describe(error), frozenset())
    failed.hint = hint
    failed.__cause__ = error
    return failed.at(f"flow {flow.name!r}")


def in_a_line(error: BaseException) -> str:
    """Return an error in one line, with its places.

    >>> in_a_line(TidegateError("expected no late row, got 3").at("step 4").at("flow 'edits'"))
    "expected no late row, got 3; step 4, flow 'edits'"
    """
    if not isinstance(error, TidegateError):
        return first_line(error)
    what = error.what.split("\n")[0]
    return f"{what}; {', '.join(error.places)}" if error.places else what


def _locate(error: TidegateError, flow: Plan, number: int, *, committed: bool) -> None:
    if isinstance(error, RunFailed):
        error.step = number
        error.hint = "; ".join(part for part in (error.hint, _PUBLISH if committed else _AGAIN) if part)
    for place in (f"step {number}", f"flow {flow.name!r}"):
        if place not in error.places:
            error.at(place)


def _failed(flow: Plan, message: ErrorMessage, nearby: Set[str]) -> RunFailed:
    """Return the error, with the operators that its message points to, or else those that were running."""
    blamed = {id_: text for id_, text in _blamed(flow, message).items() if id_ in nearby} or _blamed(flow, message)
    what = message.text
    if message.fragment and blamed:
        shown = next(iter(blamed.values()))
        start = shown.find(message.fragment)
        what = pointed(what, shown, start, start + len(message.fragment)) if start >= 0 else f"{what}\n  {shown}"
    operators = tuple(o.id for o in flow if o.id in (blamed or nearby) and not isinstance(o, Source | Restored))
    found = RunFailed(what, operators=operators, hint=message.hint)
    if message.place:
        found.at(message.place)
    if operators:
        found.at(f"operator {operators[0]}" if len(operators) == 1 else f"one of the operators {', '.join(operators)}")
    sources = {o for id_ in blamed or nearby for o in flow.upstream(id_) if isinstance(flow[o], Source)}
    if len(sources) == 1:
        found.at(f"a row of source {sources.pop()!r}")
    return found


def _blamed(flow: Plan, message: ErrorMessage) -> dict[str, str]:
    """Return the operators that an error points to, each with the expression that contains the failing piece."""
    if message.operator:
        return {message.operator: ""} if any(o.id == message.operator for o in flow) else {}
    if not message.fragment:
        return {}
    wanted = re.compile(rf"(?<![\w`]){re.escape(message.fragment)}(?![\w`])")
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
    """Return an operator and all operators before it that run in the same job: up to those that keep state."""
    found, waiting = {id_}, list(flow[id_].inputs)
    while waiting:
        operator: PlanOperator = flow[waiting.pop()]
        if operator.id not in found:
            found.add(operator.id)
            waiting += () if operator.keeps_state else operator.inputs
    return found
