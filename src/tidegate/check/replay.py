"""Replaying example dataflows: on the paper's state machines, on the fast tracker, and on simulated workers.

Every machine does the steps of a trace in their order. Between steps it does what its schedule chooses: workers send
some of their changes, receive some updates, and propagate. The example has the right frontiers after each step. Between
steps, no frontier of a worker may pass a time that may still appear, or go back. When all updates are received, the
frontiers of all workers must be the right ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidegate.check.examples import Example, Frontiers, TraceStep
from tidegate.errors import TidegateError

__all__ = ["Choose", "Machine", "Mismatch", "replay"]

#: A schedule: given the number of choices, it returns one of them, counted from 0.
Choose: TypeAlias = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A place where a machine differs from its example: in a frontier at a location, after a step."""

    example: str
    step: int
    #: What came before it, since the step.
    actions: tuple[str, ...]
    what: str

    def __str__(self) -> str:
        after = f"step {self.step}" if self.step >= 0 else "the beginning"
        return f"{self.example}, after {after}{''.join(f', {action}' for action in self.actions)}: {self.what}"


class Machine(ABC):
    """What can replay an example: workers that do steps, and actions that inform other workers of them."""

    workers: int
    #: Whether there is something that a schedule could decide.
    scheduled = True

    @abstractmethod
    def do(self, step: TraceStep) -> None:
        """Let a worker do what a step says."""

    @abstractmethod
    def actions(self) -> list[Any]:
        """Return the actions that inform workers of what happened; none if all workers know everything."""

    @abstractmethod
    def act(self, action: Any, choose: Choose) -> str:
        """Perform one of the `actions`, and return it in words."""

    @abstractmethod
    def knows(self, worker: int) -> bool:
        """Whether the worker has propagated, so that its frontiers mean something."""

    @abstractmethod
    def frontier(self, worker: int, location: str) -> frozenset[Any]:
        """Return the least times that a worker still expects at a location."""

    def broken(self) -> str | None:
        """Return what is wrong with the machine itself, or None; called when all workers know everything."""
        return None


def replay(example: Example, machine: Machine, choose: Choose | None = None, *, patience: int = 6) -> Mismatch | None:
    """Let a machine do what an example says; return the first difference from it, or None.

    Without a schedule, all workers learn everything after each step. A schedule chooses up to ``patience`` actions
    after each step, and they learn the rest at the end.
    """
    return _Replay(example, machine, choose).run(patience)


class _Replay:
    """A replay under way."""

    def __init__(self, example: Example, machine: Machine, choose: Choose | None) -> None:
        self.example = example
        self.machine = machine
        self.choose = choose
        self.expected: Frontiers = example.frontiers
        self.number = -1
        self.actions: list[str] = []
        self.known: dict[int, dict[str, frozenset[Any]]] = {}

    def run(self, patience: int) -> Mismatch | None:
        try:
            found = self._between(patience)
            for number, (step, expected) in enumerate(self.example.expected()):
                if found is not None:
                    return found
                self.number, self.expected, self.actions = number, expected, []
                self.machine.do(step.on(self.machine.workers))
                found = self._safe() or self._between(patience)
            return found or self._settled()
        except TidegateError as error:
            return self._mismatch(f"refused: {error}")

    def _between(self, patience: int) -> Mismatch | None:
        """Do what the schedule chooses, or everything if there is none."""
        if self.choose is None:
            return self._settled()
        for _ in range(self.choose(patience + 1)):
            if not (actions := self.machine.actions()):
                break
            self.actions.append(self.machine.act(actions[self.choose(len(actions))], self.choose))
            if (found := self._safe()) is not None:
                return found
        return None

    def _settled(self) -> Mismatch | None:
        """Inform all workers of everything; return how a frontier differs from that of the example, or None."""
        while actions := self.machine.actions():
            self.actions.append(self.machine.act(actions[0], _first))
            if (found := self._safe()) is not None:
                return found
        for w in range(self.machine.workers):
            for l, expected in self.expected.items():
                if (got := self.machine.frontier(w, l)) != expected:
                    return self._mismatch(f"worker {w} expects {_times(got)} at {l}, not {_times(expected)}")
        wrong = self.machine.broken()
        return None if wrong is None else self._mismatch(wrong)

    def _safe(self) -> Mismatch | None:
        """Return a frontier that passed a time that may still appear, or that went back; or None."""
        for w in filter(self.machine.knows, range(self.machine.workers)):
            now = {l: self.machine.frontier(w, l) for l in self.expected}
            for l, times in now.items():
                le = self.example.order(l).le
                for t in self.expected[l]:
                    if not any(le(u, t) for u in times):
                        return self._mismatch(f"worker {w} expects {_times(times)} at {l}, but {t} may still appear")
                for t in times if w in self.known else ():
                    if not any(le(u, t) for u in self.known[w][l]):
                        return self._mismatch(f"worker {w} goes back from {_times(self.known[w][l])} at {l} to {t}")
            self.known[w] = now
        return None

    def _mismatch(self, what: str) -> Mismatch:
        return Mismatch(self.example.name, self.number, tuple(self.actions), what)


def _first(_: int) -> int:
    return 0


def _times(times: frozenset[Any]) -> str:
    return "{" + ", ".join(map(str, sorted(times))) + "}"
