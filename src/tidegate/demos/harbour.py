"""A day in a harbour: realistic data of two sources, out of order and with stragglers, the same for the same seed.

Four tide gauges report the water level by radio, and ships report when they pass one. Most reports come within a
minute. Some come twice, some hours late, one gauge is cut off for a while and then sends everything at once, and one
has lost its clock.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

__all__ = ["GAUGES", "Day", "Level", "Passage", "day"]

GAUGES: Final = ("Outer Mole", "East Lock", "West Lock", "Old Basin")
START: Final = datetime(2026, 3, 20)
#: The gauge that is cut off, since when, and until when.
CUT_OFF: Final = ("West Lock", timedelta(hours=3), timedelta(hours=5))
_SHIPS: Final = ("Anna", "Bruno", "Clara", "Dora", "Emil", "Frida", "Gustav", "Hedda", "Ivar", "Jonna", "Karl", "Lotte")


@dataclass(frozen=True, slots=True)
class Level:
    """A report of a gauge: when it was measured (unknown for a gauge without a clock), and when it arrived."""

    ts: datetime | None
    gauge: str
    number: int
    cm: int
    arrived: datetime


@dataclass(frozen=True, slots=True)
class Passage:
    """A report of a ship that passes a gauge, with how deep it lies in the water."""

    ts: datetime
    gauge: str
    ship: str
    draught_cm: int
    arrived: datetime


@dataclass(frozen=True, slots=True)
class Day:
    """What was reported in a day, in the order of arrival."""

    levels: list[Level]
    passages: list[Passage]


def day(seed: int = 1, *, hours: int = 24, ships: int = 60) -> Day:
    """Draw a day; it depends only on the arguments.

    >>> a, b = day(1, hours=2), day(1, hours=2)
    >>> a == b, a == day(2, hours=2)
    (True, False)
    """
    draw = random.Random(seed)
    levels = [report for gauge in GAUGES for report in _levels(draw, gauge, hours)]
    passages = [report for _ in range(ships) for report in _passages(draw, hours)]
    return Day(sorted(levels, key=lambda r: r.arrived), sorted(passages, key=lambda r: r.arrived))


def _levels(draw: random.Random, gauge: str, hours: int) -> list[Level]:
    phase = GAUGES.index(gauge) / 8
    reports = []
    for number in range(hours * 60):
        ts = START + timedelta(minutes=number, seconds=draw.uniform(0, 5))
        hour = (ts - START) / timedelta(hours=1)
        cm = round(420 + 190 * math.sin(2 * math.pi * (hour / 12.42 + phase)) + draw.gauss(0, 3))
        arrived = ts + _delay(draw)
        name, since, until = CUT_OFF
        if gauge == name and since <= ts - START < until:
            arrived = START + until + timedelta(seconds=draw.uniform(0, 40))
        clockless = gauge == "Old Basin" and draw.random() < 0.004
        reports.append(Level(None if clockless else ts, gauge, number, cm, arrived))
        if draw.random() < 0.01:
            reports.append(Level(None if clockless else ts, gauge, number, cm, arrived + _delay(draw)))
    return reports


def _passages(draw: random.Random, hours: int) -> list[Passage]:
    ship = f"{draw.choice(_SHIPS)} {draw.choice('ABCD')}"
    draught = round(draw.triangular(90, 225, 160))
    at = START + timedelta(hours=draw.uniform(0.1, hours - 0.5))
    reports = []
    for gauge in draw.sample(GAUGES, draw.randint(1, 3)):
        reports.append(Passage(at, gauge, ship, draught, at + _delay(draw)))
        at += timedelta(minutes=draw.uniform(6, 25))
    return [report for report in reports if report.ts < START + timedelta(hours=hours)]


def _delay(draw: random.Random) -> timedelta:
    """Draw how long a report takes: mostly seconds, sometimes minutes, rarely hours."""
    kind = draw.random()
    if kind < 0.004:
        return timedelta(hours=draw.uniform(1, 4))
    if kind < 0.05:
        return timedelta(minutes=draw.uniform(2, 20))
    return timedelta(seconds=draw.expovariate(1 / 15))
