"""Exhaustive exploration: all schedules of a model up to a bound, breadth first, with equal states merged.

A `Model` says what the states are and which steps there are, a property says what must hold, and `explore` visits the
states. None of the three depends on the others.

>>> class Counter:
...     def initial(self):
...         return [0]
...     def steps(self, state):
...         return [("add one", state + 1), ("double", 2 * state)] if state < 8 else []
>>> below_five = Always("below five", lambda n: None if n < 5 else f"{n} is not below 5")
>>> found = explore(Counter(), [below_five])
>>> found.violation.name, found.violation.counterexample, [label for label, _ in found.violation.trace]
('below five', '6 is not below 5', ['', 'add one', 'add one', 'add one', 'double'])
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

__all__ = ["Always", "Exploration", "Model", "Property", "Relates", "Violation", "explore"]

S = TypeVar("S", bound=Hashable)
S_co = TypeVar("S_co", bound=Hashable, covariant=True)


class Model(Protocol[S]):
    """Where a system begins, and which steps it can take from a state."""

    def initial(self) -> Iterable[S]:
        """Return the states that it may begin in."""

    def steps(self, state: S) -> Iterable[tuple[str, S]]:
        """Return every step from ``state``: what is done, and the state after it."""


@dataclass(frozen=True, slots=True)
class Always(Generic[S]):
    """A property of every state: ``check`` returns None where it holds, else a counterexample."""

    name: str
    check: Callable[[S], str | None]


@dataclass(frozen=True, slots=True)
class Relates(Generic[S]):
    """A property of every step: ``check`` gets the states before and after it."""

    name: str
    check: Callable[[S, S], str | None]


Property = Always[S] | Relates[S]


@dataclass(frozen=True, slots=True)
class Violation(Generic[S]):
    """A property that does not hold, and a shortest trace to where it breaks: (what was done, the state after it)."""

    name: str
    counterexample: str
    trace: tuple[tuple[str, S], ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.counterexample}"]
        lines += [f"  {i}. {label}" for i, (label, _) in enumerate(self.trace) if label]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Exploration(Generic[S]):
    """What an exploration saw. It is ``complete`` if no bound cut it short and nothing was violated."""

    states: int
    transitions: int
    depth: int
    complete: bool
    violation: Violation[S] | None


def explore(
    model: Model[S],
    properties: Sequence[Always[S] | Relates[S]],
    *,
    max_depth: int | None = None,
    max_states: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Exploration[S]:
    """Visit every reachable state, breadth first, until a property is violated or a bound is met; return what was seen.

    ``progress`` is called from time to time with the number of states found, and of those that wait to be visited.
    """
    always = [p for p in properties if isinstance(p, Always)]
    relates = [p for p in properties if isinstance(p, Relates)]
    # Where each state was first reached from; going back along these gives a shortest trace.
    origin: dict[S, tuple[str, S] | None] = {}
    queue: deque[tuple[S, int]] = deque()
    transitions = depth = 0
    cut = False

    def result(violation: Violation[S] | None = None) -> Exploration[S]:
        return Exploration(len(origin), transitions, depth, not cut and violation is None, violation)

    for state in model.initial():
        if state not in origin:
            origin[state] = None
            queue.append((state, 0))
            for p in always:
                if (broken := p.check(state)) is not None:
                    return result(Violation(p.name, broken, _trace(origin, state)))
    while queue:
        state, at = queue.popleft()
        if max_depth is not None and at >= max_depth:
            cut = True
            continue
        for label, then in model.steps(state):
            transitions += 1
            for r in relates:
                if (broken := r.check(state, then)) is not None:
                    return result(Violation(r.name, broken, (*_trace(origin, state), (label, then))))
            if then in origin:
                continue
            if max_states is not None and len(origin) >= max_states:
                cut = True
                continue
            origin[then] = (label, state)
            depth = max(depth, at + 1)
            queue.append((then, at + 1))
            for p in always:
                if (broken := p.check(then)) is not None:
                    return result(Violation(p.name, broken, _trace(origin, then)))
            if progress is not None and len(origin) % 500 == 0:
                progress(len(origin), len(queue))
    return result()


def _trace(origin: dict[S, tuple[str, S] | None], state: S) -> tuple[tuple[str, S], ...]:
    def backwards() -> Iterator[tuple[str, S]]:
        at = state
        while (step := origin[at]) is not None:
            yield step[0], at
            at = step[1]
        yield "", at

    return tuple(reversed(list(backwards())))
