"""Cases of `process`: one copy of a specification operator per key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.flow.case import Case, at, day, days, instants, ints, pairs, span

from tidegate import Timer
from tidegate.spec import (
    DT,
    WM,
    Operator,
    batch_op,
    comp_op,
    ihist_linear_op,
    ihist_op,
    ihist_paths_op,
    incr_batch_op,
    map_op,
    skip_op,
)
from tidegate.spec.aggregate import A, A_plus, M, Window, both_op, composed_J, composed_M


@dataclass(frozen=True)
class Running(Operator[Any, Any]):
    """The total of x so far, put out when a time is complete, and the number of times at the end."""

    total: int = 0
    times: int = 0
    last: Any = None

    def apply(self, event: Any) -> tuple[Running, list[Any]]:
        if isinstance(event, DT):
            return Running(self.total + (event.d["x"] or 0), self.times, event.t), []
        return Running(self.total, self.times + 1, event.t), [DT(event.t, {"y": self.total}), event]

    def exit(self) -> Iterable[Any]:
        return [DT(self.last, {"y": 1000 * self.times})] if self.times else []


class Ordered(Operator[Any, Any]):
    """What came, in the order in which it came."""

    def __init__(self, seen: str = "") -> None:
        self.seen = seen

    def apply(self, event: Any) -> tuple[Ordered, list[Any]]:
        if isinstance(event, WM):
            return Ordered(self.seen + "."), [DT(event.t, {"seen": self.seen + "."})]
        return Ordered(self.seen + str(event.d["x"])), []


class Changing(Operator[Any, Any]):
    """How many rows came: it changes itself, rather than to answer another."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def apply(self, event: Any) -> tuple[Changing, list[Any]]:
        if isinstance(event, WM):
            return self, [DT(event.t, {"y": len(self.rows)})]
        self.rows.append(event.d)
        return self, []


@dataclass(frozen=True)
class Visit(Operator[Any, Any]):
    """How many rows came so far; and at the end, five after the last, all of them."""

    rows: int = 0
    last: Any = None

    def apply(self, event: Any) -> tuple[Visit, list[Any]]:
        if isinstance(event, WM):
            return self, [DT(event.t, {"y": self.rows})]
        return Visit(self.rows + 1, event.t), []

    def exit(self) -> Iterable[Any]:
        return [DT(self.last + 4, {"y": -self.rows})]


class VisitWithState(Visit):
    """The same, which can tell what it knows."""

    def apply(self, event: Any) -> tuple[VisitWithState, list[Any]]:
        copy, answers = super().apply(event)
        return VisitWithState(copy.rows, copy.last), answers

    def state(self) -> Any:
        return [self.rows, self.last]

    def resume(self, state: Any) -> VisitWithState:
        return VisitWithState(*state)


VISITS = [(1, "a", 1), (1, "a", 2), (4, "a", 3), (2, "b", 4), (9, "a", 5), (13, "a", 6), (13, "b", 7), (30, None, 8)]
VISITED = [
    *[(1, "a", 2), (4, "a", 3), (8, "a", -3), (9, "a", 1), (13, "a", 2), (17, "a", -2)],
    *[(2, "b", 1), (6, "b", -1), (13, "b", 1), (17, "b", -1), (30, None, 1), (34, None, -1)],
]


@dataclass(frozen=True)
class Alarms(Operator[Any, Any]):
    """For each row a timer, x later; at each call, how many rows there are so far, and how many came in this call."""

    timers = True

    rows: int = 0
    fresh: int = 0

    def apply(self, event: Any) -> tuple[Alarms, list[Any]]:
        if isinstance(event, WM):
            return Alarms(self.rows), [DT(event.t, {"n": self.rows, "fresh": self.fresh})]
        asked = [Timer(_later(event.t, event.d["x"]))] if event.d["x"] else []
        return Alarms(self.rows + 1, self.fresh + 1), asked

    def state(self) -> Any:
        return [self.rows, self.fresh]

    def resume(self, state: Any) -> Alarms:
        return Alarms(*state)


@dataclass(frozen=True)
class Forgetful(Alarms):
    """The same, but it cannot tell what it knows: its rows are kept, and played again."""

    state = None  # type: ignore[assignment]

    def apply(self, event: Any) -> tuple[Forgetful, list[Any]]:
        following, answers = super().apply(event)
        return Forgetful(following.rows, following.fresh), answers


def _later(t: Any, n: int) -> Any:
    if isinstance(t, tuple):
        return (t[0], t[1] + n)
    return t + n if isinstance(t, int) else t + timedelta(days=n)


ALARMS: list[tuple[Any, ...]] = [(1, "a", 3), (2, "a", 2), (2, "b", 9), (4, "a", 5), (6, "a", None), (6, None, 1)]
CALLED = [
    *[(1, "a", 1, 1), (2, "a", 2, 1), (4, "a", 3, 1), (6, "a", 4, 1), (9, "a", 4, 0)],
    *[(2, "b", 1, 1), (11, "b", 1, 0), (6, None, 1, 1), (7, None, 1, 0)],
]


def listed(batch: Any) -> list[dict[str, Any]]:
    """A row for each element of a batch."""
    return [{"of": t, "x": row["x"]} for t, row in batch]


def held(batch: Any) -> dict[str, Any]:
    """One row for a batch: what is in it, in order."""
    return {"seen": " ".join(f"{t}{row['x']}" for t, row in batch)}


def counted(histogram: Any) -> list[dict[str, Any]]:
    """A row for each datum."""
    return [{"x": row["x"] if isinstance(row, dict) else row, "n": n} for row, n in histogram.items()]


def histograms(make: Any, *, pairs_: bool = False, first: Any = None, by: Any = ()) -> Any:
    """A flow of histograms, of whole rows, or of what ``first`` makes of them."""

    def build(f: Any) -> Any:
        s = (pairs if pairs_ else ints)(f)
        operator = make(s.schema.order)
        return s.process(comp_op(first, operator) if first else operator, by=by, schema="x INT, n INT", out=counted)

    return build


#: Two times that do not compare, one below both and one above.
DIAMOND: list[tuple[Any, ...]] = [(0, 0, "a", 1), (0, 1, "a", 1), (1, 0, "b", 2), (1, 1, "a", 1), (1, 1, "a", None)]
BELOW = [
    *[(0, 0, 1, 1), (0, 1, 1, 2), (1, 0, 1, 1), (1, 0, 2, 1)],
    *[(1, 1, 1, 3), (1, 1, 2, 1), (1, 1, None, 1)],
]


def of_x(t: Any, row: Any) -> Any:
    """The datum of a row."""
    return row["x"]


def alarmed(operator: Any, by: Any = "k") -> Any:
    """A flow of calls."""
    return lambda f: ints(f).process(operator, by=by, schema="n INT, fresh INT")


def number(instance: Any) -> list[Any]:
    """How many tuples are in an instance of a window, and the sum of x."""
    return [{"n": len(instance.tuples), "x": sum(row["x"] for _, row in instance.tuples)}]


def twice(t: Any, row: Any) -> list[Any]:
    """Two rows, or none."""
    return [{"n": t, "x": row["x"]}] * 2 if row["x"] else []


def aggregated(make: Any, *, dated: bool = False, out: Any = None) -> Any:
    """A flow of an operator of the paper on Aggregates, a copy for each key."""

    def build(f: Any) -> Any:
        s = (days if dated else ints)(f)
        return s.process(make(s.schema.order), by="k", schema="n BIGINT, x BIGINT", out=out)

    return build


def joined(order: Any) -> Any:
    """The rows of each key, paired with those in the same window of 4."""
    window = Window(4, 4)
    same = both_op(M(lambda t, row: [row]), M(lambda t, row: [row]))
    return comp_op(same, composed_J(order, window, window, lambda left, right: left[0] < right[0]))


def paired(pair: Any) -> dict[str, Any]:
    """A row of a pair."""
    (_, left), (_, right) = pair
    return {"n": left["x"], "x": right["x"]}


def later(t: Any, d: Any) -> dict[str, Any]:
    """A row of its own for each row."""
    return {"y": d["x"] + t}


WINDOWED: list[tuple[Any, ...]] = [(1, "a", 1), (2, "a", 2), (6, "a", 4), (20, "a", 8), (0, "b", 16)]

CASES = [
    Case(
        "a copy for each key, complete times in order, and exit at the end",
        lambda f: ints(f).process(Running(), by="k", schema="y INT"),
        {"s": [(2, "a", 5), (1, "a", 1), (1, "b", 7), (1, "a", None), (3, None, 9)]},
        [(1, "a", 1), (2, "a", 6), (2, "a", 2000), (1, "b", 7), (1, "b", 1000), (3, None, 9), (3, None, 1000)],
        except_on=dict.fromkeys(
            ("specification, watermarks", "spark", "local"),
            "exit answers at a time that the watermarks have completed",
        ),
    ),
    Case(
        "the rows of a time come sorted by all columns",
        lambda f: ints(f).process(Ordered(), by=(), schema="seen STRING"),
        {"s": [(2, "a", 1), (1, "b", 2), (1, "a", 3), (1, "a", 1)]},
        [(1, "132."), (2, "132.1.")],
    ),
    Case(
        "operators of the specification compose",
        lambda f: ints(f).process(comp_op(map_op(later), map_op(lambda t, d: {"y": -d["y"]})), by="k", schema="y INT"),
        {"s": [(1, "a", 1), (5, "b", 2)]},
        [(1, "a", -2), (5, "b", -7)],
    ),
    Case(
        "an operator that changes itself",
        lambda f: ints(f).process(Changing(), by="k", schema="y INT"),
        {"s": [(1, "a", 1), (1, "b", 1), (2, "a", 1), (3, "b", 1), (3, "b", 2)]},
        [(1, "a", 1), (1, "b", 1), (2, "a", 2), (3, "b", 3)],
    ),
    Case("on no rows", lambda f: days(f).process(Ordered(), by="k", schema="seen STRING"), {"s": []}, []),
    Case(
        "on dates, by an expression",
        lambda f: days(f).process(Ordered(), by="x % 2 AS odd", schema="seen STRING"),
        {"s": [(day(0), "a", 1), (day(1), "a", 3), (day(1), "a", 2)]},
        [(day(0), 1, "1."), (day(1), 1, "1.3."), (day(1), 0, "2.")],
    ),
    Case(
        "on timestamps",
        lambda f: instants(f).process(Ordered(), by="k", schema="seen STRING"),
        {"s": [(at(1), "a", 1)]},
        [(at(1), "a", "1.")],
    ),
    Case(
        "on a product, in an order that extends it",
        lambda f: pairs(f).process(Ordered(), by="k", schema="seen STRING"),
        {"s": [(1, 1, "a", 3), (0, 0, "a", 1), (0, 1, "a", 2)]},
        [(0, 0, "a", "1."), (0, 1, "a", "1.2."), (1, 1, "a", "1.2.3.")],
    ),
    Case(
        "forget: a new copy after a silence; the one before exits",
        lambda f: ints(f).process(Visit(), by="k", schema="y INT", forget=5),
        {"s": VISITS},
        VISITED,
    ),
    Case(
        "forget: the same, of copies that tell what they know",
        lambda f: ints(f).process(VisitWithState(), by="k", schema="y INT", forget=5),
        {"s": VISITS},
        VISITED,
    ),
    Case(
        "forget: without keys",
        lambda f: ints(f).process(Visit(), by=(), schema="y INT", forget=5),
        {"s": VISITS[:3] + VISITS[-1:]},
        [(1, 2), (4, 3), (8, -3), (30, 1), (34, -1)],
    ),
    Case(
        "batch_op: lists go out as rows",
        lambda f: (lambda s: s.process(batch_op(s.schema.order), by="k", schema="of INT, x INT", out=listed))(ints(f)),
        {"s": [(2, "a", 5), (1, "a", 1), (1, "b", 7), (1, "a", None), (3, None, 9)]},
        [(1, "a", 1, None), (1, "a", 1, 1), (2, "a", 2, 5), (1, "b", 1, 7), (3, None, 3, 9)],
    ),
    Case(
        "batch_op on a product: the rows of each time",
        lambda f: (lambda s: s.process(batch_op(s.schema.order), by=(), schema="seen STRING", out=held))(pairs(f)),
        {"s": DIAMOND},
        [(0, 0, "(0, 0)1"), (0, 1, "(0, 1)1"), (1, 0, "(1, 0)2"), (1, 1, "(1, 1)None (1, 1)1")],
    ),
    Case(
        "incr_batch_op: all rows so far, as one row",
        lambda f: (lambda s: s.process(incr_batch_op(s.schema.order), by="k", schema="seen STRING", out=held))(ints(f)),
        {"s": [(2, "a", 5), (1, "a", 1), (1, "b", 7), (4, "a", 3), (2, "a", 4)]},
        [(1, "a", "11"), (2, "a", "11 24 25"), (4, "a", "11 24 25 43"), (1, "b", "17")],
    ),
    Case(
        "ihist_op: whole rows are counted, none twice",
        histograms(ihist_op, by="k"),
        {"s": [(1, "a", 1), (1, "a", 1), (2, "a", 1), (2, "b", None)]},
        [(1, "a", 1, 2), (2, "a", 1, 2), (2, "a", 1, 1), (2, "b", None, 1)],
    ),
    Case("ihist_op on a product", histograms(ihist_op, pairs_=True, first=map_op(of_x)), {"s": DIAMOND}, BELOW),
    Case(
        "ihist_paths_op on a product: once for each path",
        histograms(ihist_paths_op, pairs_=True, first=map_op(of_x)),
        {"s": DIAMOND},
        [*BELOW[:4], (1, 1, 1, 4), (1, 1, 2, 1), (1, 1, None, 1)],
    ),
    Case(
        "ihist_linear_op keeps the last histogram",
        histograms(ihist_linear_op, first=map_op(of_x)),
        {"s": [(1, "a", 1), (3, "a", 1), (2, "b", None)]},
        [(1, 1, 1), (2, 1, 1), (2, None, 1), (3, 1, 2), (3, None, 1)],
    ),
    Case(
        "skip_op: without the first answers of a key; watermarks are answers, too",
        lambda f: (
            lambda s: s.process(skip_op(batch_op(s.schema.order), 2), by="k", schema="of INT, x INT", out=listed)
        )(ints(f)),
        {"s": [(1, "a", 1), (2, "a", 2), (3, "a", 3), (5, "b", 4)]},
        [(2, "a", 2, 2), (3, "a", 3, 3)],
    ),
    Case(
        "out: no row for some",
        lambda f: (
            lambda s: s.process(batch_op(s.schema.order), by=(), schema="of INT, x INT", out=lambda b: listed(b)[1:])
        )(ints(f)),
        {"s": [(1, "a", 1), (2, "a", 1), (2, "b", 2)]},
        [(2, 2, 2)],
    ),
    Case("timers: a call without rows, once for each time", alarmed(Alarms()), {"s": ALARMS}, CALLED),
    Case("timers of what is played again", alarmed(Forgetful()), {"s": ALARMS}, CALLED),
    Case("timers on no rows", alarmed(Alarms(), by=()), {"s": []}, []),
    Case(
        "timers of one copy for all",
        alarmed(Forgetful(), by=()),
        {"s": [(1, "a", 2), (2, "b", 1), (7, "c", 1)]},
        [(1, 1, 1), (2, 2, 1), (3, 2, 0), (7, 3, 1), (8, 3, 0)],
    ),
    Case(
        "timers on a product: below and beside the rows that follow",
        lambda f: pairs(f).process(Alarms(), by="k", schema="n INT, fresh INT").select("k", "fresh"),
        {"s": [(0, 1, "a", 1), (0, 3, "a", 1), (1, 2, "a", None), (2, 0, "b", 4)]},
        [
            *[(0, 1, "a", 1), (0, 2, "a", 0), (0, 3, "a", 1), (0, 4, "a", 0), (1, 2, "a", 1)],
            *[(2, 0, "b", 1), (2, 4, "b", 0)],
        ],
    ),
    Case(
        "timers on dates, and a window behind them",
        lambda f: days(f).process(Alarms(), by="k", schema="n INT, fresh INT").window("2 days").aggregate(n="count(*)"),
        {"s": [(day(0), "a", 3), (day(1), "b", 2), (day(2), "a", None)]},
        [(day(1), span(day(0), day(2)), 2), (day(3), span(day(2), day(4)), 3)],
    ),
    Case(
        "Aggregates: a window answers at its last time, whether there are rows then or not",
        aggregated(lambda order: A(order, Window(4, 4), number)),
        {"s": WINDOWED},
        [(3, "a", 2, 3), (7, "a", 1, 4), (3, "b", 1, 16), (23, "a", 1, 8)],
    ),
    Case(
        "Aggregates: windows that overlap, behind windows that do not",
        aggregated(lambda order: comp_op(A(order, Window(4, 4), number), A_plus(order, Window(5, 10), number))),
        {"s": WINDOWED},
        [
            *[(4, "a", 1, 3), (9, "a", 2, 7), (14, "a", 1, 4), (4, "b", 1, 16), (9, "b", 1, 16)],
            *[(24, "a", 1, 8), (29, "a", 1, 8)],
        ],
    ),
    Case(
        "Aggregates: windows of a week, from Thursday, the day of the epoch",
        aggregated(lambda order: A(order, Window(7, 7), number), dated=True),
        {"s": [(day(0), "a", 1), (day(1), "a", 2), (day(40), "a", 4)]},
        [(day(6), "a", 2, 3), (day(41), "a", 1, 4)],
    ),
    Case(
        "Aggregates: M, composed and by itself",
        aggregated(lambda order: comp_op(composed_M(order, twice), M(twice))),
        {"s": [(1, "a", 1), (2, "a", None), (5, "b", 3)]},
        [*[(1, "a", 1, 1)] * 4, *[(5, "b", 5, 3)] * 4],
    ),
    Case(
        "Aggregates: pairs of a stream with itself, in windows",
        aggregated(joined, out=paired),
        {"s": [(4, "a", 1), (5, "a", 2), (7, "a", 3), (8, "a", 4), (5, "b", 5)]},
        [(7, "a", 1, 2), (7, "a", 1, 3), (7, "a", 2, 3)],
    ),
]
