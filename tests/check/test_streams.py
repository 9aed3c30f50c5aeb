"""The strategies draw what they promise, and reach the hard cases."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tidegate.check import broken_streams, lassos, orders, streams, two_sided
from tidegate.spec import DT, WM, Lasso, is_monotone, is_productive, is_strictly_monotone, owed, producible
from tidegate.time import Nat, Product, Sum

PAIRS = Product(Nat(), Nat())


def over(strategy, **options):
    return orders().flatmap(lambda o: st.tuples(st.just(o), strategy(o, **options)))


@given(over(streams))
def test_streams_are_monotone(case):
    """By default, over any order."""
    order, events = case
    assert is_monotone(order, events)


@given(over(streams, strict=True))
def test_strict_streams_are_strictly_monotone(case):
    """With `strict`, no watermark is below an earlier one."""
    order, events = case
    assert is_strictly_monotone(order, events)


@given(over(streams, covered=True))
def test_covered_streams_owe_nothing(case):
    """With `covered`, watermarks cover all data, and the stream is monotone still."""
    order, events = case
    assert is_monotone(order, events)
    assert owed(order, events) == []


@given(over(broken_streams))
def test_broken_streams_are_not_monotone(case):
    """Some data comes after a watermark that covers it."""
    order, events = case
    assert not is_monotone(order, events)


@given(over(lassos))
def test_lassos_are_productive(case):
    """All data of the endless stream is covered sooner or later."""
    order, loop = case
    assert isinstance(loop, Lasso)
    assert is_productive(order, loop)


@given(over(lassos, monotone=True))
def test_monotone_lassos_are_monotone_and_productive(case):
    """With `monotone`, no data comes after a watermark that covers it, however often the cycle comes."""
    order, loop = case
    assert is_monotone(order, loop)
    assert is_productive(order, loop)


@given(two_sided().covered(PAIRS), two_sided().lassos(PAIRS))
def test_two_sided_watermarks_are_producible(events, loop):
    """Both sides reach each watermark, as (31) assumes."""
    for listed in (events, loop.unroll(1)):
        wms = [e.t for e in listed if isinstance(e, WM)]
        assert all(producible(PAIRS, wm, wms) for wm in wms)
    assert owed(Sum(PAIRS, PAIRS), events) == []


def data(events: list[Any]) -> list[Any]:
    return [e.t for e in events if isinstance(e, DT)]


def wms(events: list[Any]) -> list[Any]:
    return [e.t for e in events if isinstance(e, WM)]


HARD_CASES = {
    "incomparable watermarks": lambda s: any(not PAIRS.comparable(v, w) for v in wms(s) for w in wms(s)),
    "a watermark below an earlier one": lambda s: any(
        PAIRS.lt(w, v) for n, v in enumerate(wms(s)) for w in wms(s)[n + 1 :]
    ),
    "data at a time equal to a later watermark": lambda s: any(
        isinstance(e, DT) and WM(e.t) in s[n:] for n, e in enumerate(s)
    ),
    "many data at one time": lambda s: any(data(s).count(t) >= 4 for t in data(s)),
    "an empty stream": lambda s: s == [],
    "a stream that ends with open buffers": lambda s: len({e.t for e in owed(PAIRS, s)}) >= 2,
    "a stream that ends with incomparable open times": lambda s: any(
        not PAIRS.comparable(a.t, b.t) for a in owed(PAIRS, s) for b in owed(PAIRS, s)
    ),
    "data between two incomparable watermarks": lambda s: any(
        isinstance(e, DT)
        and any(not PAIRS.comparable(v, w) for v in wms(s[:n]) for w in wms(s[n:]) if PAIRS.le(e.t, w))
        for n, e in enumerate(s)
    ),
    "a diamond of data": lambda s: any(
        PAIRS.lt(a, b) and PAIRS.lt(a, c) and not PAIRS.comparable(b, c) and PAIRS.join(b, c) in data(s)
        for a in set(data(s))
        for b in set(data(s))
        for c in set(data(s))
    ),
}


@pytest.mark.parametrize("case", HARD_CASES)
def test_the_hard_cases_are_reached(case):
    """With no more examples than a check draws by default."""
    limits = settings(
        max_examples=200,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    found = find(streams(PAIRS), HARD_CASES[case], settings=limits)
    assert is_monotone(PAIRS, found)
