"""Variations of the events of a trial: other steps, other orders of rows between watermarks, restarts, partitions.

No answer may change. A row that is late stays late: it comes after the same watermark. Sometimes answers do depend on
where steps begin and end: if declared strategies decide which rows are late, and if a window with lateness answers
again in each step. Then the steps are kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidegate.flow.plan import Plan, WindowFrame
from tidegate.testing.engines import Setting, SourceInput
from tidegate.testing.recording import Op, Restarted, Stepped
from tidegate.time import Order

__all__ = ["covers", "cuttable", "merged", "varied", "without"]

#: The probability that a restart follows a step, and how many partitions a step may have.
_RESTARTS = 0.4
_PARTITIONS = (1, 1, 2, 3)


def cuttable(setting: Setting) -> bool:
    """Whether answers do not depend on where steps begin and end."""
    revises = any(isinstance(f := getattr(o, "frame", None), WindowFrame) and f.lateness for o in setting.plan)
    return not setting.declared and not revises


def varied(setting: Setting, ops: Sequence[Op], chance: random.Random) -> list[Op]:
    """Return other calls with the same events. Each question is asked after the same events as before."""
    found: list[Op] = []
    steps: list[Stepped] = []
    for op in ops:
        if isinstance(op, Stepped):
            steps.append(op)
            continue
        found += _recut(setting, steps, chance)
        steps = []
        found.append(op)
    return [*found, *_recut(setting, steps, chance)]


def _recut(setting: Setting, steps: Sequence[Stepped], chance: random.Random) -> Iterator[Op]:
    for step in _other_cuts(setting.plan, steps, chance) if cuttable(setting) else _other_orders(steps, chance):
        yield replace(step, partitions=chance.choice(_PARTITIONS))
        if chance.random() < _RESTARTS:
            yield Restarted()


def _other_orders(steps: Sequence[Stepped], chance: random.Random) -> Iterator[Stepped]:
    for step in steps:
        yield Stepped({n: SourceInput(tuple(_shuffled(g.rows, chance)), g.complete) for n, g in step.given.items()})


def _other_cuts(plan: Plan, steps: Sequence[Stepped], chance: random.Random) -> Iterator[Stepped]:
    queues: dict[str, list[SourceInput]] = {}
    for step in steps:
        for name, given in step.given.items():
            queues.setdefault(name, []).append(given)
    # The events of each source, with rows shuffled between two watermarks.
    waiting = {name: _events(given, chance) for name, given in queues.items()}
    while any(waiting.values()):
        taken = {}
        for name, events in waiting.items():
            many = chance.randint(0, len(events))
            if first := _first(plan, name, events, many):
                taken[name] = first
        if taken:
            yield Stepped(taken)


def _events(given: Sequence[SourceInput], chance: random.Random) -> list[tuple[bool, Any]]:
    """Return the events of a source. Each is a pair: whether it is a row, and the row or the watermark."""
    found: list[tuple[bool, Any]] = []
    rows: list[Any] = []
    for each in given:
        rows += each.rows
        if each.complete:
            found += [(True, row) for row in _shuffled(rows, chance)] + [(False, t) for t in each.complete]
            rows = []
    return found + [(True, row) for row in _shuffled(rows, chance)]


def _first(plan: Plan, name: str, events: list[tuple[bool, Any]], many: int) -> SourceInput | None:
    """Remove and return the first ``many`` events. Stop before a row that would be late because of one of them."""
    schema = plan[name].schema
    rows: list[Any] = []
    done: list[Any] = []
    while events and len(rows) + len(done) < many:
        is_row, event = events[0]
        if is_row and covers(schema.order, done, _time_of(plan, name, event)):
            break
        (rows if is_row else done).append(event)
        events.pop(0)
    return SourceInput(tuple(rows), tuple(done)) if rows or done else None


def covers(order: Order[Any], done: Sequence[Any], t: Any) -> bool:
    """Whether a time is at or below one of some watermarks. For None, which is no time, return False."""
    return t is not None and any(order.le(t, wm) for wm in done)


def _time_of(plan: Plan, name: str, row: Mapping[str, Any]) -> Any:
    schema = plan[name].schema
    return None if any(row[column] is None for column in schema.time) else schema.time_of(row)


def _shuffled(rows: Sequence[Any], chance: random.Random) -> list[Any]:
    found = list(rows)
    chance.shuffle(found)
    return found


def merged(plan: Plan, first: Stepped, second: Stepped) -> Stepped | None:
    """Return two steps as one; None if a late row would not be late then."""
    found = dict(first.given)
    for name, given in second.given.items():
        before = found.get(name, SourceInput())
        if any(covers(plan[name].schema.order, before.complete, _time_of(plan, name, row)) for row in given.rows):
            return None
        found[name] = SourceInput((*before.rows, *given.rows), (*before.complete, *given.complete))
    return Stepped(found, max(first.partitions, second.partitions))


def without(ops: Sequence[Op], rows: set[int], marks: set[tuple[str, int]]) -> list[Op]:
    """Return calls without some rows and watermarks.

    ``rows`` are given by their ``id()``, ``marks`` as pairs of a source and the number of its watermark.
    """
    counts: dict[str, int] = {}
    found: list[Op] = []
    for op in ops:
        if not isinstance(op, Stepped):
            found.append(op)
            continue
        given = {}
        for name, each in op.given.items():
            first = counts.get(name, 0)
            counts[name] = first + len(each.complete)
            done = tuple(t for n, t in enumerate(each.complete, first) if (name, n) not in marks)
            left = SourceInput(tuple(row for row in each.rows if id(row) not in rows), done)
            if left.rows or left.complete:
                given[name] = left
        if given:
            found.append(replace(op, given=given))
    return found
