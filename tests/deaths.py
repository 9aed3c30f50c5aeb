"""Probes by which a run dies at a named point of a step, in one process: nothing of the engine runs after it."""

from __future__ import annotations

__all__ = ["Died", "Killer", "SerialKiller"]


class Died(BaseException):
    """The run is over; nothing of it runs any more."""


class Killer:
    """A probe that dies at a point of a step, the first time that it comes by."""

    def __init__(self, point: str, step: int) -> None:
        self.target = (point, step)
        self.done = False

    def __call__(self, point: str, step: int) -> None:
        if not self.done and (point, step) == self.target:
            self.done = True
            raise Died


class SerialKiller:
    """A probe that dies at one point after the other, each the first time that it comes by after the one before."""

    def __init__(self, places: list[tuple[str, int]]) -> None:
        self.left = list(places)

    def __call__(self, point: str, step: int) -> None:
        if self.left and (point, step) == self.left[0]:
            del self.left[0]
            raise Died
