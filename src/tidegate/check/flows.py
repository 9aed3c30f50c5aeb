"""Hypothesis strategies for flows of several operators, built with the public API, and for inputs to run them on.

They are made to compare engines: few keys, few times and many nulls, so that rows match often; integers and text only,
so that results can be compared exactly. Inputs are monotone: no row is late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tidegate.check.drawn_operators import GREATEST, OPERATORS, TIMES, Drawing, Totals, Visits, VisitsWithState
from tidegate.flow import Flow, Stream
from tidegate.spec import DT, WM, Event
from tidegate.time import TOP

__all__ = [
    "INTEGERS",
    "KEYS",
    "OPERATORS",
    "TIMES",
    "DrawnFlow",
    "Totals",
    "Visits",
    "VisitsWithState",
    "add_operators",
    "flows",
    "inputs",
    "with_tables",
]


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
    add_operators(b, streams, only or tuple(OPERATORS), max_operators, lambda verb, s: OPERATORS[verb](b, s, streams))
    given = {source.id: draw(inputs(b.time, watermarks=watermarks)) for source in b.flow.plan.sources}
    return with_tables(b, given)


def add_operators(
    b: Drawing, streams: list[Stream], verbs: tuple[str, ...], most: int, build: Callable[[str, Stream], Stream]
) -> None:
    """Draw up to ``most`` operators, and the sink ``out`` after the last; ``build`` draws how an operator is used."""
    for _ in range(b.draw(st.integers(1, most))):
        # The latest stream is used most often, so that flows grow long as well as wide.
        stream = b.draw(st.sampled_from([*streams, streams[-1], streams[-1]]))
        verb = b.draw(st.sampled_from(verbs))
        b.steps.append(verb)
        streams.append(build(verb, stream))
    b.flow.sink("out", streams[-1])


def with_tables(b: Drawing, given: Mapping[str, Sequence[Any]]) -> DrawnFlow:
    """Return the drawn flow with the events of its sources, and draw the rows of its tables."""
    found = {name: list(events) for name, events in given.items()}
    for table in b.flow.plan.tables:
        rows = st.fixed_dictionaries({n: KEYS if n == table.schema.names[0] else INTEGERS for n in table.schema.names})
        found[table.id] = b.draw(st.lists(rows, max_size=4))
    return DrawnFlow(b.flow, found, tuple(b.steps))


#: The values of columns ``k`` and ``x``.
KEYS = st.sampled_from(["a", "b", None])
INTEGERS = st.one_of(st.integers(-3, 5), st.none())


@st.composite
def inputs(draw: st.DrawFn, time: str, *, max_rows: int = 10, watermarks: bool = True) -> list[Event]:
    """Draw a monotone stream of rows with columns ``t`` (and ``u``), ``k`` and ``x``, of a kind of time of `TIMES`."""
    _, values, _ = TIMES[time]
    numbers = st.tuples(*(st.integers(0, GREATEST) for _ in values))
    drawn = draw(st.lists(st.tuples(numbers, KEYS, INTEGERS), max_size=max_rows))
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
