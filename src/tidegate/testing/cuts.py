"""`any_cut`: run the events of a test again in other steps. If an answer changes, find the smallest such case."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, overload

from tidegate.errors import TidegateError
from tidegate.flow.errors import BadArgument
from tidegate.testing.differences import NotAsExpected, difference
from tidegate.testing.recording import Asked, Op, Recording, Restarted, Stepped, recorded
from tidegate.testing.scripts import script
from tidegate.testing.variations import merged, varied, without

__all__ = ["any_cut", "check_cuts"]

P = ParamSpec("P")
R = TypeVar("R")

#: How often a case is run again to make it smaller. On Spark, where a run takes long, it is less often.
_TRIES, _TRIES_ON_SPARK = 150, 15


@overload
def any_cut(test: Callable[P, R]) -> Callable[P, R]: ...
@overload
def any_cut(*, count: int = ..., seed: int = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def any_cut(test: Callable[P, R] | None = None, *, count: int = 10, seed: int = 0) -> Any:
    """Decorate a test: its events are run ``count`` times more, in other ways, and every answer must be the same.

    Each time, steps begin and end at other events. Rows between two watermarks come in another order and in other
    partitions, and the engine is restarted from its checkpoint after some steps. The same ``seed`` gives the same
    variations. If an answer differs, the error has the fewest events and steps found that show it, as a script.

    >>> import tidegate as tg
    >>> from tidegate.testing import trial
    >>> @any_cut(count=3)
    ... def test_counts(engine="specification"):
    ...     flow = tg.Flow("clicks")
    ...     clicks = flow.source("clicks", "t INT, page STRING", time="t")
    ...     flow.sink("counts", clicks.aggregate(by="page", n="count(*)"))
    ...     test = trial(flow, engine)
    ...     test.send("clicks", (1, "a"), (1, "a"), (2, "b"))
    ...     test.advance("clicks", 1)
    ...     test.expect("counts", [(1, "a", 2)])
    >>> test_counts()
    """
    if not isinstance(count, int) or count < 1:
        raise BadArgument(f"expected how often to cut otherwise, 1 or more, got {count!r}", hint="any_cut(count=10)")

    def decorate(test: Callable[P, R]) -> Callable[P, R]:
        @wraps(test)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            with recorded() as found:
                result = test(*args, **kwargs)
            for recording in found:
                check_cuts(recording, count=count, seed=seed)
            return result

        return wrapped

    return decorate if test is None else decorate(test)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers of a run to each question, and its error if it failed."""

    given: list[list[dict[str, Any]]]
    failure: Exception | None = None


@dataclass(frozen=True, slots=True)
class _Failing:
    """A variation that changes an answer.

    ``plain`` are the calls of the test, ``other`` those of the variation. ``question`` is the number of the question
    whose answer differs, ``base`` has the answers to ``plain``, and ``got`` is the answer to ``other``.
    """

    plain: list[Op]
    other: list[Op]
    question: int
    base: _Answers
    got: list[dict[str, Any]]
    failure: Exception | None = None

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The answer with the steps of the test itself."""
        return self.base.given[self.question]


def check_cuts(recording: Recording, *, count: int = 10, seed: int = 0) -> None:
    """Raise `NotAsExpected` if a variation of a trial's events has another answer."""
    setting, plan = recording.setting, recording.setting.plan
    if recording.engine.bounded:
        return
    # In the end, all sinks and all late rows are compared, even if the test has not asked for them.
    last = [Asked("rows", sink.name, []) for sink in plan.sinks] + [Asked("late", s.id, []) for s in plan.sources]
    plain: list[Op] = [*recording.ops, *last]
    base = _play(recording, plain)
    if base.failure is not None:
        raise base.failure
    chance = random.Random(seed)
    for number in range(1, count + 1):
        other = varied(setting, plain, chance)
        if found := _compare(recording, plain, other, base):
            smallest = _shrunk(recording, found)
            raise _error(recording, smallest, f"variation {number} of {count}, seed {seed}")


def _play(recording: Recording, ops: Sequence[Op]) -> _Answers:
    driver = recording.engine.drive(recording.setting)
    given: list[list[dict[str, Any]]] = []
    try:
        for op in ops:
            if isinstance(op, Asked):
                given.append(op.again(driver))
            else:
                op.on(driver)
    except Exception as error:
        return _Answers(given, error)
    finally:
        driver.close()
    return _Answers(given)


def _compare(recording: Recording, plain: list[Op], other: list[Op], base: _Answers) -> _Failing | None:
    """Return the first answer that differs between two runs of the same events; None if all are the same."""
    found = _play(recording, other)
    questions = [op for op in plain if isinstance(op, Asked)]
    for n, (question, expected, got) in enumerate(zip(questions, base.given, found.given, strict=False)):
        names = _names(recording, question)
        if difference(expected, got, names, names):
            return _Failing(plain, other, n, base, got)
    if found.failure is not None and base.failure is None:
        n = min(len(found.given), len(questions) - 1)
        return _Failing(plain, other, n, base, [], found.failure)
    return None


def _names(recording: Recording, question: Asked) -> tuple[str, ...]:
    plan = recording.setting.plan
    if question.what in ("rows", "expect"):
        return plan[next(s.input for s in plan.sinks if s.name == question.name)].schema.names
    return plan[question.name].schema.names


def _shrunk(recording: Recording, failing: _Failing) -> _Failing:
    """Return the smallest failing case that is found. First restarts and cuts are removed, then events."""
    tries = _TRIES_ON_SPARK if "spark" in recording.engine.name else _TRIES

    def attempt(plain: list[Op], other: list[Op]) -> bool:
        nonlocal failing, tries
        if tries <= 0:
            return False
        tries -= 1
        base = failing.base if plain is failing.plain else _play(recording, plain)
        found = None if base.failure else _compare(recording, plain, other, base)
        failing = found or failing
        return found is not None

    def dropped(events: list[Any], drop: Callable[[list[Op], list[Any]], list[Op]]) -> None:
        """Remove as many events as possible: try all of them, then each half, and so on, down to single events."""
        if not events or attempt(drop(failing.plain, events), drop(failing.other, events)) or len(events) == 1:
            return
        half = len(events) // 2
        # The second half is first: watermarks have numbers, and removing one changes the numbers after it.
        dropped(events[half:], drop)
        dropped(events[:half], drop)

    at = 0
    while at < len(failing.other):
        if not any(attempt(failing.plain, other) for other in _simpler(recording, failing.other, at)):
            at += 1
    rows = [row for op in failing.plain if isinstance(op, Stepped) for g in op.given.values() for row in g.rows]
    dropped(rows, lambda ops, some: without(ops, set(map(id, some)), set()))
    for source in [s.id for s in recording.setting.plan.sources]:
        marks = [(source, n) for n in range(_marks(failing.plain, source))]
        dropped(marks, lambda ops, some: without(ops, set(), set(some)))
    return failing


def _marks(ops: Sequence[Op], source: str) -> int:
    return sum(len(op.given[source].complete) for op in ops if isinstance(op, Stepped) and source in op.given)


def _simpler(recording: Recording, ops: list[Op], at: int) -> list[list[Op]]:
    """Return simpler calls: without this restart, with this step and the next as one, or in one partition."""
    op, after = ops[at], ops[at + 1 :]
    if isinstance(op, Restarted):
        return [[*ops[:at], *after]]
    found: list[list[Op]] = []
    if isinstance(op, Stepped):
        if after and isinstance(after[0], Stepped) and (one := merged(recording.setting.plan, op, after[0])):
            found.append([*ops[:at], one, *after[1:]])
        if op.partitions > 1:
            found.append([*ops[:at], replace(op, partitions=1), *after])
    return found


def _error(recording: Recording, failing: _Failing, which: str) -> Exception:
    plan, question = recording.setting.plan, [op for op in failing.plain if isinstance(op, Asked)][failing.question]
    names = _names(recording, question)
    ops: list[Op] = []
    asked = 0
    for op in failing.other:
        if isinstance(op, Asked):
            if asked == failing.question:
                break
            asked += 1
        else:
            ops.append(op)
    is_sink = question.what in ("rows", "expect")
    where = f"{'sink' if is_sink else f'{question.what} rows of source'} {question.name!r}"
    if failing.failure is not None:
        what = f"{where}: with other cuts, {_first_line(failing.failure)}"
    else:
        times = (
            plan[question.name].schema.user_time
            if not is_sink
            else [n for n in names if n in _times(recording, question)]
        )
        table = difference(failing.expected, failing.got, names, times).table(names, times)
        what = f"{where}: the same events give other rows when they are cut otherwise\n" + "\n".join(
            f"  {line}".rstrip() for line in table.splitlines()
        )
    error = NotAsExpected(what, hint="- is what the test's own steps give, + what these steps give")
    error.at(f"{which}, made as small as it gets").at(f"flow {plan.name!r} on {recording.engine}")
    asks = Asked("expect", question.name, [], failing.expected) if is_sink else Asked(question.what, question.name, [])
    smallest = Recording(recording.setting, recording.engine, recording.factory, [*ops, asks])
    error.add_note("to paste:\n\n" + script(smallest, title="The same events, cut otherwise."))
    return error


def _times(recording: Recording, question: Asked) -> tuple[str, ...]:
    plan = recording.setting.plan
    return plan[next(s.input for s in plan.sinks if s.name == question.name)].schema.user_time


def _first_line(error: Exception) -> str:
    return error.what if isinstance(error, TidegateError) else f"{type(error).__name__}: {error}"
