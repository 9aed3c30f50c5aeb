"""Cases: a flow, its input and the rows that it must give; each runs on every engine that the fixture knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import tidegate as tg
from tidegate.check.flows import DrawnFlow
from tidegate.flow.values import sort_key
from tidegate.spec import DT

#: An engine: from a flow and the rows of its sources and tables to the rows of its sink, as tuples.
Engine = Callable[[tg.Flow, dict[str, list[tuple[Any, ...]]]], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Case:
    """Rows are tuples in the order of the stream's columns: its time columns first."""

    name: str
    build: Callable[[tg.Flow], tg.Stream]
    inputs: dict[str, list[tuple[Any, ...]]]
    expected: list[tuple[Any, ...]]
    #: Engines that cannot run it, with the reason.
    except_on: dict[str, str] = field(default_factory=dict)


def run_case(case: Case, engine: Engine) -> None:
    """Run a case and compare what comes out with what is expected, as multisets."""
    flow = tg.Flow("case")
    flow.sink("out", case.build(flow))
    assert_same_rows(engine(flow, case.inputs), case.expected)


def assert_same_rows(got: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> None:
    """Compare rows as multisets; doubles within a relative tolerance of 1e-9."""
    a, b = (sorted(rows, key=lambda row: [sort_key(v) for v in row]) for rows in (got, expected))
    assert len(a) == len(b), f"expected {len(b)} rows, got {len(a)}\n  expected {b}\n  got      {a}"
    for x, y in zip(a, b, strict=True):
        assert _close(x, y), f"expected {y}, got {x}\n  expected {b}\n  got      {a}"


def _close(x: Any, y: Any) -> bool:
    if isinstance(x, tuple | list) and isinstance(y, tuple | list):
        return len(x) == len(y) and all(map(_close, x, y))
    if isinstance(x, dict) and isinstance(y, dict):
        return list(x) == list(y) and all(_close(x[k], y[k]) for k in x)
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=1e-9) or (math.isnan(x) and math.isnan(y))
    return type(x) is type(y) and x == y


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
