"""What is wrong with a window, a loop or a function of an Aggregate is said when it is built, or named in the run."""

import pytest

from tidegate.errors import BadValue, WrongType
from tidegate.spec import DT, WM, NotMonotone, produce
from tidegate.spec.aggregate import (
    A,
    Embedded,
    Folding,
    J,
    NotBounded,
    Window,
    composed_infinity,
    composed_J,
    composed_M,
    unfold,
)
from tidegate.time import Nat, Product

TOTAL = Folding(lambda d: d, lambda s, d: s + d, lambda s, r: s + r, lambda s: s)


def each(t, d):
    return [d]


def always(t1, t2):
    return True


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (
            lambda: Window(0, 1),
            BadValue,
            "expected an advance of at least 1 units, got 0: the same instance would begin",
        ),
        (lambda: Window(3, 2), BadValue, "expected an advance of at most the size 2, got 3: what falls between"),
        (lambda: Window(1, 0), BadValue, "expected a size of at least 1"),
        (lambda: Window(1, 1.5), BadValue, "expected a size of at least 1 units, got 1.5"),
        (lambda: Window(1, 1, lateness=-1), BadValue, "expected a lateness of at least 0 units, got -1"),
        (
            lambda: A(Product(Nat(), Nat()), Window(1, 1), len),
            BadValue,
            "expected a total order with a unit of time",
        ),
        (
            lambda: J(Nat(), Window(1, 1), Window(1, 2), always),
            BadValue,
            "expected the same advance, size and lateness",
        ),
        (
            lambda: composed_J(Nat(), Window(1, 1, lateness=1), Window(1, 1, lateness=1), always),
            BadValue,
            "expected windows without lateness",
        ),
        (lambda: composed_M(Nat(), each, using="A"), BadValue, "expected a bound d on the distance of watermarks"),
        (lambda: unfold(Nat(), 0), BadValue, "of at least 1 unit, got 0"),
        (lambda: unfold(Nat(), 3, lateness=2), BadValue, "expected an allowed lateness of at least d = 3"),
        (
            lambda: composed_infinity(Nat(), TOTAL, 2, each, d=3),
            BadValue,
            "expected a bound d of at most the period 2",
        ),
        (lambda: composed_M(Nat(), each, using="B"), BadValue, 'expected using="A" or using="A\\+"'),
    ],
)
def test_said_when_built(build, error, says):
    """Bad spans, bounds and orders are refused before anything runs, with what was expected and what came."""
    with pytest.raises(error, match=says):
        build()


@pytest.mark.parametrize(
    ("op", "events", "error", "says", "place"),
    [
        (A(Nat(), Window(1, 1), lambda γ: [1, 2]), [DT(0, "a"), WM(0)], BadValue, "got 2", "window instance"),
        (A(Nat(), Window(1, 1), lambda γ: 5), [DT(0, "a"), WM(0)], WrongType, "got 5", "window instance"),
        (A(Nat(), Window(1, 1, lambda t, d: d), len), [DT(0, ["a"])], WrongType, "got \\['a'\\]", "key of DT"),
        (unfold(Nat(), 2), [WM(0), WM(5)], NotBounded, "at most d = 2 units above the watermark before it", "event 1"),
        (
            unfold(Nat(), 2),
            [DT(1, Embedded(("x",))), DT(0, Embedded(("x",))), WM(2)],
            NotBounded,
            "at most d = 2 units above the least time of data before it, got WM\\(2\\), 3 above",
            "event 2",
        ),
        (unfold(Nat(), 2), [WM(0), DT(0, Embedded(("x",)))], NotMonotone, "got DT\\(0", "event 1"),
    ],
)
def test_named_in_the_run(op, events, error, says, place):
    """What only shows on data is an error that names the instance or the event."""
    with pytest.raises(error, match=says) as raised:
        list(produce(op, events))
    assert any(place in p for p in raised.value.places)
