"""The adversary: it chooses among the enabled actions, and stalls workers and channels for as long as it likes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeAlias

from tidegate.sim.actions import Action, Deliver, Hear

__all__ = ["Adversary"]

#: What can stall: a worker, or the queue of data or of progress between two.
Subject: TypeAlias = int | tuple[type[Deliver] | type[Hear], int, int]


class Adversary:
    """A choice of actions that depends only on its seed.

    Before a choice, with the probability ``stalls``, it stalls a worker or a queue that could act. A stall lasts until
    nothing else can act; then one of those that are stalled, chosen at random, acts again.
    """

    __slots__ = ("random", "stalled", "stalls")

    def __init__(self, seed: int, *, stalls: float = 0.02) -> None:
        self.random = Random(seed)
        self.stalls = stalls
        self.stalled: list[Subject] = []

    def choose(self, actions: Sequence[Action]) -> Action:
        """Choose one of the enabled actions."""
        random, stalled = self.random, self.stalled
        if random.random() < self.stalls:
            subject = random.choice(subjects(random.choice(actions)))
            if subject not in stalled:
                stalled.append(subject)
        awake = actions
        if stalled:
            awake = [a for a in actions if not any(s in stalled for s in subjects(a))]
            while not awake:
                stalled.remove(random.choice(stalled))
                awake = [a for a in actions if not any(s in stalled for s in subjects(a))]
        return random.choice(awake)


def subjects(action: Action) -> tuple[Subject, ...]:
    """Return what must not be stalled for an action: its worker and, if it takes from a queue, that queue.

    >>> subjects(Deliver(0, 1))
    (1, (<class 'tidegate.sim.actions.Deliver'>, 0, 1))
    """
    if isinstance(action, Deliver | Hear):
        return action.worker, (type(action), action.sender, action.worker)
    return (action.worker,)
