"""Cases: a flow, its input and the rows that it must give; each is a trial on every engine that the fixture knows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

import tidegate as tg
import tidegate.testing as tt
from tidegate.check.flows import DrawnFlow
from tidegate.flow.plan import Source
from tidegate.flow.values import sort_key
from tidegate.spec import DT
from tidegate.testing.differences import close
from tidegate.time import maximal

#: In which steps the rows of a source come, with watermarks among them.
Steps = Callable[[Source, list[tuple[Any, ...]]], list[list[Any]]]


@dataclass(frozen=True)
class Case:
    """Rows are tuples in the order of the stream's columns: its time columns first."""

    name: str
    build: Callable[[tg.Flow], tg.Stream]
    inputs: dict[str, list[tuple[Any, ...]]]
    expected: list[tuple[Any, ...]]
    #: Engines that cannot run it, with the reason.
    except_on: dict[str, str] = field(default_factory=dict)


def run_case(case: Case, engine: tt.Engine, steps: Steps) -> None:
    """Run a case and compare what comes out with what is expected, as multisets."""
    flow = tg.Flow("case")
    flow.sink("out", case.build(flow))
    plan = flow.plan
    with tt.trial(flow, engine, tables={t.id: case.inputs[t.id] for t in plan.tables}) as test:
        come = {s.id: steps(s, case.inputs[s.id]) for s in plan.sources}
        for i in range(max(map(len, come.values()), default=0)):
            test.step({name: events[i] for name, events in come.items() if i < len(events)})
        test.finish()
        test.expect("out", case.expected)
        assert engine.spark is not None or not any(test.late(source.id) for source in plan.sources)


def at_once(source: Source, rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """All rows in one step: only the end of the input completes times."""
    return [list(rows)]


def by_time(source: Source, rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The rows in the order of time, each time complete after its rows."""
    untimed, timed = _sorted(source, rows)
    grouped = groupby(timed, key=lambda row: _time(source, row))
    return [[*untimed, *(event for t, group in grouped for event in [*group, tg.WM(t)])]]


def in_two_steps(source: Source, rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The rows in the order of time, cut somewhere; what the first of them complete is complete after them."""
    untimed, timed = _sorted(source, rows)
    every = [*untimed, *timed]
    cut = random.Random(repr(sorted(map(repr, rows)))).randint(0, len(every))
    first, rest = every[:cut], every[cut:]
    order, still = source.schema.order, [_time(source, row) for row in rest]
    times = [t for row in first if (t := _time(source, row)) is not None]
    done = [t for t in times if not any(s is not None and order.le(s, t) for s in still)]
    return [[*first, *map(tg.WM, maximal(order, done))], rest]


def _time(source: Source, row: tuple[Any, ...]) -> Any:
    """The time of a row; None if it has none."""
    given = dict(zip(source.schema.names, row, strict=True))
    return None if None in [given[name] for name in source.schema.time] else source.schema.time_of(given)


def _sorted(source: Source, rows: list[tuple[Any, ...]]) -> tuple[list[Any], list[Any]]:
    """The rows that have no time; and the others, in an order that extends that of their times."""
    timed = [row for row in rows if _time(source, row) is not None]
    timed.sort(key=lambda row: [sort_key(value) for value in row[: len(source.schema.time)]])
    if source.schema.ordered:
        timed.sort(key=lambda row: source.schema.order.key(_time(source, row)))
    return [row for row in rows if _time(source, row) is None], timed


def assert_same_rows(got: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> None:
    """Compare rows as multisets; doubles within a relative tolerance of 1e-9."""
    a, b = (sorted(rows, key=lambda row: [sort_key(v) for v in row]) for rows in (got, expected))
    assert len(a) == len(b), f"expected {len(b)} rows, got {len(a)}\n  expected {b}\n  got      {a}"
    for x, y in zip(a, b, strict=True):
        assert close(x, y), f"expected {y}, got {x}\n  expected {b}\n  got      {a}"


def rows_given(drawn: DrawnFlow) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each source and table of a drawn flow, as tuples in the order of the schema."""
    plan = drawn.flow.plan
    return {
        name: [tuple((e.d if isinstance(e, DT) else e)[c] for c in plan[name].schema.names) for e in events]
        for name, events in drawn.inputs.items()
    }


DAY = date(2026, 1, 1)
MIDNIGHT = datetime(2026, 1, 1)


def day(n: int) -> date:
    """The n-th day, from 0."""
    return DAY + timedelta(days=n)


def at(minutes: float) -> datetime:
    """So many minutes after midnight."""
    return MIDNIGHT + timedelta(minutes=minutes)


def span(start: Any, end: Any) -> dict[str, Any]:
    """The bounds of a window or a session."""
    return {"start": start, "end": end}


def ints(flow: tg.Flow, name: str = "s", columns: str = "k STRING, x INT") -> tg.Stream:
    """A source whose time is an integer."""
    return flow.source(name, f"t INT, {columns}", time="t")


def days(flow: tg.Flow, name: str = "s", columns: str = "k STRING, x INT") -> tg.Stream:
    """A source whose time is a date."""
    return flow.source(name, f"t DATE, {columns}", time="t")


def instants(flow: tg.Flow, name: str = "s", columns: str = "k STRING, x INT") -> tg.Stream:
    """A source whose time is a timestamp."""
    return flow.source(name, f"t TIMESTAMP, {columns}", time="t")


def pairs(flow: tg.Flow, name: str = "s", columns: str = "k STRING, x INT") -> tg.Stream:
    """A source whose time is a pair: a product order."""
    return flow.source(name, f"v INT, w INT, {columns}", time=("v", "w"))
