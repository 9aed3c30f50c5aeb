"""Limits of times: exactly those rows are rejected of which a flow would make a time that no type can hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.flow.frames import period_end, window_starts
from tidegate.flow.limits import limits
from tidegate.flow.plan import SessionFrame, WindowFrame

LEAST, MOST = -128, 127
SIZES = st.integers(1, 40)


@st.composite
def frames(draw: Any) -> WindowFrame:
    size = draw(SIZES)
    every = draw(st.integers(1, size))
    return WindowFrame("t", size, every, draw(st.integers(0, every - 1)), draw(st.integers(0, 30)))


#: What makes times of times: windows, sessions, periods.
MAKERS = st.one_of(frames(), st.builds(SessionFrame, st.just("t"), SIZES), st.builds(lambda n: ("every", n), SIZES))


def added(stream: tg.Stream, maker: Any, *, last: bool) -> tg.Stream:
    if isinstance(maker, tuple):
        return stream.accumulate(n="count(*)", every=maker[1])
    if isinstance(maker, SessionFrame):
        return stream.session(maker.gap).aggregate(n="count(*)")
    lateness = maker.lateness if last else 0
    return stream.window(maker.size, every=maker.every, offset=maker.offset, lateness=lateness).aggregate(n="count(*)")


def made(maker: Any, t: int, *, last: bool) -> tuple[list[int], list[int]]:
    """The times of a row's answers; and the others that have to be told, or waited for."""
    if isinstance(maker, tuple):
        return [period_end(maker[1], t)], []
    if isinstance(maker, SessionFrame):
        return [t + maker.gap - 1], [t + maker.gap]
    starts = window_starts(maker, t)
    ends = [start + maker.size for start in starts]
    return [end - 1 for end in ends], [*starts, *(end + maker.lateness * last for end in ends)]


@given(st.lists(MAKERS, min_size=1, max_size=3))
def test_rows_are_within_limits_if_all_that_is_made_of_their_times_is(makers: list[Any]) -> None:
    """On a small type each time can be tried, through up to three operators that move times."""
    flow = tg.Flow("edges")
    stream = flow.source("s", "t TINYINT", time="t")
    for i, maker in enumerate(makers):
        stream = added(stream, maker, last=i == len(makers) - 1)
    flow.sink("out", stream)
    (limit,) = limits(flow.plan)["s"]
    for t in range(LEAST, MOST + 1):
        times, every = [t], [t]
        for i, maker in enumerate(makers):
            found = [made(maker, at, last=i == len(makers) - 1) for at in times]
            times = [at for answers, _ in found for at in answers]
            every += [*times, *(at for _, others in found for at in others)]
        assert (t in limit) == all(LEAST <= at <= MOST for at in every), t


def test_a_source_obeys_all_that_read_it_and_the_others_of_a_union() -> None:
    """A source that is only handed on keeps all of its type."""
    flow = tg.Flow("edges")
    one = flow.source("one", "t TINYINT, x INT", time="t")
    other = flow.source("other", "t TINYINT, x INT", time="t")
    alone = flow.source("alone", "t TINYINT", time="t")
    flow.sink("long", one.union(other).window(50).aggregate(n="count(*)"))
    flow.sink("short", one.session(100).aggregate(n="count(*)"))
    flow.sink("rows", alone)
    found = {name: (limit.low, limit.high) for name, (limit,) in limits(flow.plan).items()}
    assert found == {"one": (-100, 27), "other": (-100, 99), "alone": (LEAST, MOST)}
    assert [limit.whole for (limit,) in limits(flow.plan).values()] == [False, False, True]


def test_rows_beyond_their_limits_are_rejected_with_the_reason() -> None:
    """The reference says which column, and what it may be."""
    flow = tg.Flow("edges")
    flow.sink("out", flow.source("s", "v INT, w TINYINT", time=("v", "w")).window(10, over="w").aggregate(n="count(*)"))
    found = flow.reference({"s": [tg.DT((1, 120), {"v": 1, "w": 120}), tg.DT((1, 5), {"v": 1, "w": 5})]})
    assert [r.reason for r in found.rejected["s"]] == ["time out of range: w is not between -120 and 119"]
    assert [row["n"] for row in found.rows("out")] == [1]
