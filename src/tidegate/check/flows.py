"""Hypothesis strategies for flows of several operators, built with the public API, and for inputs to run them on.

They are made to compare engines: few keys, few times and many nulls, so that rows match often; integers and text only,
so that results can be compared exactly. Inputs are monotone: no row is late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tidegate.check.drawn_operators import GREATEST, OPERATORS, TIMES, Drawing, Totals, Visits, VisitsWithState
from tidegate.flow import Flow
from tidegate.spec import DT, WM, Event
from tidegate.time import TOP

__all__ = ["OPERATORS", "TIMES", "DrawnFlow", "Totals", "Visits", "VisitsWithState", "flows", "inputs"]


@dataclass(frozen=True, slots=True)
class DrawnFlow:
    """A flow with one sink, ``out``; what to run it on; and how it was built, for messages."""

    flow: Flow
    inputs: dict[str, list[Any]]
    steps: tuple[str, ...]

    def __repr__(self) -> str:
        given = "\n".join(f"  {name}: {events}" for name, events in self.inputs.items())
        return f"DrawnFlow\n{self.flow.plan}\n{given}"


@st.composite
def flows(
    draw: st.DrawFn,
    *,
    max_operators: int = 5,
    only: tuple[str, ...] = (),
    times: tuple[str, ...] = tuple(TIMES),
    watermarks: bool = True,
) -> DrawnFlow:
    """Draw a flow with one sink, ``out``, and inputs for it.

    ``only`` names the operators to draw from (`OPERATORS`), ``times`` the kinds of time (`TIMES`). Without
    ``watermarks``, inputs have none, and only their end completes times.
    """
    b = Drawing(draw, Flow("drawn"), draw(st.sampled_from(times)))
    declared = ", ".join(TIMES[b.time][0])
    names = ("t", "u")[: len(TIMES[b.time][0])]
    streams = [
        b.flow.source(f"s{i}", f"{declared}, k STRING, x INT", time=names) for i in range(draw(st.integers(1, 2)))
    ]
    for _ in range(draw(st.integers(1, max_operators))):
        # The latest stream is used most often, so that flows grow long as well as wide.
        stream = draw(st.sampled_from([*streams, streams[-1], streams[-1]]))
        verb = draw(st.sampled_from(only or tuple(OPERATORS)))
        b.steps.append(verb)
        streams.append(OPERATORS[verb](b, stream, streams))
    b.flow.sink("out", streams[-1])
    plan = b.flow.plan
    given: dict[str, list[Any]] = {source.id: draw(inputs(b.time, watermarks=watermarks)) for source in plan.sources}
    for table in plan.tables:
        rows = st.fixed_dictionaries(
            {n: _KEYS if n == table.schema.names[0] else _INTEGERS for n in table.schema.names}
        )
        given[table.id] = draw(st.lists(rows, max_size=4))
    return DrawnFlow(b.flow, given, tuple(b.steps))


_KEYS = st.sampled_from(["a", "b", None])
_INTEGERS = st.one_of(st.integers(-3, 5), st.none())


@st.composite
def inputs(draw: st.DrawFn, time: str, *, max_rows: int = 10, watermarks: bool = True) -> list[Event]:
    """Draw a monotone stream of rows with columns ``t`` (and ``u``), ``k`` and ``x``, of a kind of time of `TIMES`."""
    _, values, _ = TIMES[time]
    numbers = st.tuples(*(st.integers(0, GREATEST) for _ in values))
    drawn = draw(st.lists(st.tuples(numbers, _KEYS, _INTEGERS), max_size=max_rows))
    marks = (
        draw(st.lists(st.tuples(st.integers(0, len(drawn)), numbers, st.integers(0, 3)), max_size=5))
        if watermarks
        else []
    )
    events: list[Event] = []
    for i in range(len(drawn) + 1):
        for place, mark, whole in marks:
            later = [number for number, _, _ in drawn[i:]]
            # Sometimes a watermark completes every value of one column.
            mark_ = tuple(None if len(values) > 1 and whole == c + 1 else n for c, n in enumerate(mark))
            if place == i and not any(all(m is None or n <= m for n, m in zip(t, mark_, strict=True)) for t in later):
                wm = tuple(TOP if m is None else value(m) for value, m in zip(values, mark_, strict=True))
                events.append(WM(wm[0] if len(wm) == 1 else wm))
        if i < len(drawn):
            number, k, x = drawn[i]
            t = tuple(value(n) for value, n in zip(values, number, strict=True))
            row = dict(zip(("t", "u"), t, strict=False)) | {"k": k, "x": x}
            events.append(DT(t[0] if len(t) == 1 else t, row))
    return events
