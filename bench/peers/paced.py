"""Rows that come at a rate, and how long it takes until each is answered: the same for each engine.

A row has arrived when it is due, whether or not an engine asks for it then. Each row is of one of a hundred keys, and
an answer says how many rows of a key there were: it answers all of them that have no answer yet. Sources look for rows
each millisecond. The first part of the time does not count: engines start meanwhile.
"""

from __future__ import annotations

import time

from bench.latency import percentiles

__all__ = ["TICK", "Paced"]

KEYS = 100
TICK = 0.001


class Paced:
    """Rows for some seconds, so many a second: ``Paced("1000x20")``."""

    def __init__(self, given: str) -> None:
        self.rate, self.seconds = map(int, given.split("x"))
        self.rows = self.rate * self.seconds
        self._began = 0.0
        self._given = 0
        self._answered = [0] * KEYS
        self._took = [-1.0] * self.rows

    def due(self) -> list[tuple[int, str]]:
        """Return the rows that are due and were not given yet: the number of each, and its key."""
        now = time.perf_counter()
        self._began = self._began or now
        until = min(self.rows, int((now - self._began) * self.rate))
        found = [(i, f"key-{i % KEYS}") for i in range(self._given, until)]
        self._given = until
        return found

    @property
    def over(self) -> bool:
        """Whether all rows were given."""
        return self._given == self.rows

    def answer(self, key: str, n: int) -> None:
        """Note that there were ``n`` rows of a key."""
        now, number = time.perf_counter(), int(key.removeprefix("key-"))
        for earlier in range(self._answered[number], n):
            row = earlier * KEYS + number
            self._took[row] = now - self._began - row / self.rate
        self._answered[number] = max(n, self._answered[number])

    def report(self) -> dict[str, float]:
        """Return milliseconds: half of the rows took less than the first, 99 of a hundred less than the second."""
        wanted = [len(range(number, self.rows, KEYS)) for number in range(KEYS)]
        assert self._answered == wanted, f"expected {wanted} rows of each key, got {self._answered}"
        counted = [1000 * took for took in self._took[self.rows // 5 :]]
        half, nearly_all = percentiles(((took, 1) for took in counted), (50, 99))
        return {"median": half, "most": max(counted), "p99": nearly_all}
