"""Cases of times that are ordered by a `Poset`, a `Sum` or, see `lexicographic`, a `Lexicographic`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
from tests.flow.case import Case
from tests.flow.cases.lexicographic import LEXICOGRAPHIC

import tidegate as tg
from tidegate.check.ordered_flows import AtOrBelow
from tidegate.spec import DT, Event, Operator, batch_op, ihist_op, ihist_paths_op
from tidegate.time import EventTime, Int, Nat, Poset, Sum

#: The order and the stream of the first paper's example.
PAPER = Poset([("t0", "t1"), ("t1", "t4"), ("t0", "t2"), ("t2", "t5"), ("t0", "t3"), ("t3", "t5")])
WORDS = [("t0", "a"), ("t1", "c"), ("t2", "b"), ("t3", "a"), ("t5", "a"), ("t5", "c"), ("t4", "d")]
#: An order of four axes: each of the lower four is below all of the upper four but one.
CROWN = Poset([(f"a{i}", f"b{j}") for i in range(4) for j in range(4) if i != j])
DAYS = Poset([(date(2026, 1, 5), date(2026, 1, 1)), (date(2026, 1, 5), date(2026, 1, 3))])
SITES = Sum(Int(), EventTime("day"))
ROWS = [("t0", "a", 1), ("t2", "a", 2), ("t1", "b", 4), ("t4", "a", 8), ("t5", "b", 16), ("t3", None, 32)]


def words(flow: tg.Flow) -> tg.Stream:
    """The source of the paper's example."""
    return flow.source("s", "t STRING, word STRING", time=tg.ordered("t", PAPER))


def named(flow: tg.Flow, name: str = "s") -> tg.Stream:
    """A source on the paper's order."""
    return flow.source(name, "t STRING, k STRING, x INT", time=tg.ordered("t", PAPER))


def two_sided(types: str, order: Sum) -> Callable[[tg.Flow], tg.Stream]:
    """A source whose times are on one of two sides."""
    return lambda flow: flow.source("s", f"t STRUCT<side: STRING, {types}>, x INT", time=tg.ordered("t", order))


def left(value: Any) -> dict[str, Any]:
    """A time of the left side."""
    return {"side": "left", "value": value}


def right(value: Any) -> dict[str, Any]:
    """A time of the right side."""
    return {"side": "right", "value": value}


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Each row twice."""
    assert batch.schema.names[0] == "t"
    return batch.take(pa.array([i // 2 for i in range(2 * batch.num_rows)], pa.int64()))


def counted(histogram: Counter[Any]) -> list[dict[str, Any]]:
    """The words of a histogram of rows, and how often each is there."""
    words = Counter[str]()
    for row, n in histogram.items():
        words[row["word"]] += n
    return [{"word": word, "n": n} for word, n in words.items()]


def sided(flow: tg.Flow) -> tg.Stream:
    """A source of words whose times are steps on the left side, or days on the right one."""
    kind = "STRUCT<side: STRING, left: INT, right: DATE>"
    return flow.source("s", f"t {kind}, word STRING", time=tg.ordered("t", SITES))


def step(number: int) -> dict[str, Any]:
    """A time of the left side of `SITES`."""
    return {"side": "left", "left": number, "right": None}


def january(day: int) -> dict[str, Any]:
    """A time of the right side of `SITES`."""
    return {"side": "right", "left": None, "right": date(2026, 1, day)}


def listed(batch: Any) -> dict[str, Any]:
    """The words of a batch in order, each after the time that the operator was given."""
    return {"words": " ".join(f"{t}={row['word']}" for t, row in batch)}


@dataclass(frozen=True)
class Marked(Operator[Event, Event]):
    """Asks to be called at the top of the paper's order."""

    timers = True
    rows: int = 0

    def apply(self, event: Event) -> tuple[Marked, list[Any]]:
        if isinstance(event, DT):
            above = [tg.Timer("t5")] if event.t in ("t0", "t2", "t3") else []
            return Marked(self.rows + 1), above
        return self, [DT(event.t, {"n": self.rows})] if event.t == "t5" else []

    def state(self) -> int:
        return self.rows

    def resume(self, state: int) -> Marked:
        return Marked(state)


CASES = [
    Case(
        "the histograms of the first paper, Figure 6: at t5, t0 counts once, and t1 not at all",
        lambda f: words(f).accumulate(by="word", n="count(*)", emit="complete"),
        {"s": WORDS},
        [
            ("t0", "a", 1),
            *(("t1", "a", 1), ("t1", "c", 1)),
            *(("t2", "a", 1), ("t2", "b", 1)),
            ("t3", "a", 2),
            *(("t4", "a", 1), ("t4", "c", 1), ("t4", "d", 1)),
            *(("t5", "a", 3), ("t5", "b", 1), ("t5", "c", 1)),
        ],
    ),
    Case(
        "the collections of the first paper, Figure 1",
        lambda f: words(f).aggregate(words="collect_list(word)"),
        {"s": WORDS},
        [(t, [w for u, w in WORDS if u == t]) for t in ("t0", "t1", "t2", "t3", "t4")] + [("t5", ["a", "c"])],
    ),
    Case(
        "update: at the times at which a group has a row",
        lambda f: named(f).accumulate(by="k", n="sum(x)"),
        {"s": ROWS},
        [("t0", "a", 1), ("t2", "a", 3), ("t1", "b", 4), ("t4", "a", 9), ("t5", "b", 16), ("t3", None, 32)],
    ),
    Case(
        "rows are in the order of the elements, and not of their names",
        lambda f: f.source(
            "s", "t STRING, x INT", time=tg.ordered("t", Poset([("z", "b"), ("b", "m"), ("m", "a")]))
        ).accumulate(xs="collect_list(x)"),
        {"s": [("a", 4), ("b", 2), ("m", 3), ("z", 1)]},
        [("z", [1]), ("b", [1, 2]), ("m", [1, 2, 3]), ("a", [1, 2, 3, 4])],
    ),
    Case(
        "a row whose time is not in the order, or has none, takes no part",
        lambda f: named(f).aggregate(n="count(*)", u="concat(t, max(k))"),
        {"s": [*ROWS[:2], ("t9", "a", 1), (None, "a", 1), ("T0", "a", 1)]},
        [("t0", 1, "t0a"), ("t2", 1, "t2a")],
    ),
    Case(
        "top: of all rows at or below, and the time is that of the answer",
        lambda f: named(f).with_columns(seen="t").top(2, order="x DESC"),
        {"s": ROWS},
        [
            ("t0", "a", 1, "t0", 1),
            *(("t2", "a", 2, "t2", 1), ("t2", "a", 1, "t0", 2)),
            *(("t1", "b", 4, "t1", 1), ("t1", "a", 1, "t0", 2)),
            *(("t4", "a", 8, "t4", 1), ("t4", "b", 4, "t1", 2)),
            *(("t3", None, 32, "t3", 1), ("t3", "a", 1, "t0", 2)),
            *(("t5", None, 32, "t3", 1), ("t5", "b", 16, "t5", 2)),
        ],
    ),
    Case(
        "a full join: rows of equal times; the time is there on either side",
        lambda f: (
            named(f)
            .select("k", "x")
            .join(named(f, "r").select("k", "x AS y"), on="k", how="full", where="t <> 't4' AND right.t <> 't1'")
        ),
        {"s": ROWS[:4], "r": [("t0", "a", 10), ("t1", "b", 20), ("t4", "a", 30), ("t2", "b", 40)]},
        [
            ("t0", "a", 1, 10),
            *(("t2", "a", 2, None), ("t2", "b", None, 40)),
            *(("t1", "b", 4, None), ("t1", "b", None, 20)),
            *(("t4", "a", 8, None), ("t4", "a", None, 30)),
        ],
    ),
    Case(
        "a join with a table, on a condition on the time",
        lambda f: named(f).join(f.table("names", "k STRING, name STRING"), on="k", where="left.t < 't4'", how="left"),
        {"s": ROWS[:4], "names": [("a", "Ann")]},
        [("t0", "a", 1, "Ann"), ("t2", "a", 2, "Ann"), ("t1", "b", 4, None), ("t4", "a", 8, None)],
    ),
    Case(
        "row by row: where, select, explode, a function on batches, union and distinct",
        lambda f: (
            (s := named(f).where("t > 't0'").with_columns(x="x + 1", l="array(1, 2)").explode("l"))
            .map_batches(twice, "t STRING, k STRING, x INT, l INT")
            .union(s)
            .select("upper(t) AS u", "l")
            .distinct()
        ),
        {"s": ROWS[:3]},
        [("t2", "T2", 1), ("t2", "T2", 2), ("t1", "T1", 1), ("t1", "T1", 2)],
    ),
    Case(
        "process: a copy is given the order's own times",
        lambda f: named(f).gate().process(AtOrBelow(PAPER), by=(), schema="n INT"),
        {"s": ROWS},
        [("t0", 1), ("t1", 2), ("t2", 2), ("t3", 2), ("t4", 3), ("t5", 4)],
    ),
    Case(
        "process: the histogram of the first paper, by the paper's own operator",
        lambda f: words(f).process(ihist_op(PAPER), by=(), schema="word STRING, n BIGINT", out=counted),
        {"s": WORDS},
        [
            ("t0", "a", 1),
            *(("t1", "a", 1), ("t1", "c", 1)),
            *(("t2", "a", 1), ("t2", "b", 1)),
            ("t3", "a", 2),
            *(("t4", "a", 1), ("t4", "c", 1), ("t4", "d", 1)),
            *(("t5", "a", 3), ("t5", "b", 1), ("t5", "c", 1)),
        ],
    ),
    Case(
        "process: a timer at an element that is above",
        lambda f: named(f).process(Marked(), by="k", schema="n INT"),
        {"s": [("t0", "a", 1), ("t2", "a", 1), ("t1", "b", 1), ("t3", "b", 1)]},
        [("t5", "a", 2), ("t5", "b", 2)],
    ),
    Case(
        "iterate: what follows from the edges at or below a time",
        lambda f: f.source("e", "t STRING, src INT, dst INT", time=tg.ordered("t", PAPER)).iterate(
            start="SELECT src AS node, 0 AS steps FROM input WHERE src = 1",
            step="SELECT e.dst AS node, k.steps + 1 AS steps FROM known k JOIN input e ON e.src = k.node",
            key="node",
            keep="min(steps) AS steps",
        ),
        {"e": [("t0", 1, 2), ("t2", 2, 3), ("t3", 3, 4), ("t1", 2, 9), ("t5", 7, 8)]},
        [("t0", 1, 0), ("t0", 2, 1), ("t2", 3, 2), ("t1", 9, 2), ("t5", 4, 3)],
    ),
    Case(
        "an order that needs four axes",
        lambda f: f.source("s", "t STRING, x INT", time=tg.ordered("t", CROWN)).accumulate(n="sum(x)"),
        {"s": [(f"a{i}", 1 << i) for i in range(4)] + [(f"b{j}", 0) for j in range(4)]},
        [(f"a{i}", 1 << i) for i in range(4)] + [(f"b{j}", 15 - (1 << j)) for j in range(4)],
    ),
    Case(
        "elements are dates, which need not be ordered as days are",
        lambda f: f.source("s", "t DATE, x INT", time=tg.ordered("t", DAYS)).accumulate(n="sum(x)"),
        {"s": [(date(2026, 1, 1), 1), (date(2026, 1, 3), 2), (date(2026, 1, 5), 4)]},
        [(date(2026, 1, 5), 4), (date(2026, 1, 1), 5), (date(2026, 1, 3), 6)],
    ),
    Case(
        "elements are numbers; some do not compare with any other",
        lambda f: f.source("s", "t SMALLINT, x INT", time=tg.ordered("t", Poset([(9, -1)], elements=[5]))).accumulate(
            n="sum(x)", emit="complete"
        ),
        {"s": [(-1, 1), (9, 2), (5, 4)]},
        [(-1, 3), (9, 2), (5, 4)],
    ),
    Case(
        "a sum: the sides have nothing to do with each other",
        lambda f: two_sided("value: INT", Sum(Int(), Int()))(f).accumulate(n="sum(x)"),
        {"s": [(left(1), 1), (right(1), 2), (left(-3), 4), (right(2), 8), (left(1), 16)]},
        [(left(-3), 4), (left(1), 21), (right(1), 2), (right(2), 10)],
    ),
    Case(
        "a sum of two types",
        lambda f: two_sided("left: BIGINT, right: DATE", Sum(Nat(), EventTime("day")))(f).aggregate(n="sum(x)"),
        {
            "s": [
                ({"side": "left", "left": 0, "right": None}, 1),
                ({"side": "right", "left": None, "right": date(1970, 1, 1)}, 2),
                ({"side": "right", "left": None, "right": date(1970, 1, 1)}, 4),
            ]
        },
        [
            ({"side": "left", "left": 0, "right": None}, 1),
            ({"side": "right", "left": None, "right": date(1970, 1, 1)}, 6),
        ],
    ),
    *LEXICOGRAPHIC,
    Case(
        "process: batch_op on a Poset: the rows of each element",
        lambda f: words(f).process(batch_op(PAPER), by=(), schema="words STRING", out=listed),
        {"s": WORDS},
        [*((t, f"{t}={w}") for t, w in WORDS if t != "t5"), ("t5", "t5=a t5=c")],
    ),
    Case(
        "process: ihist_paths_op on a Poset: at t5, t0 counts by way of t2 and of t3",
        lambda f: words(f).process(ihist_paths_op(PAPER), by=(), schema="word STRING, n BIGINT", out=counted),
        {"s": WORDS},
        [
            ("t0", "a", 1),
            *(("t1", "a", 1), ("t1", "c", 1)),
            *(("t2", "a", 1), ("t2", "b", 1)),
            ("t3", "a", 2),
            *(("t4", "a", 1), ("t4", "c", 1), ("t4", "d", 1)),
            *(("t5", "a", 4), ("t5", "b", 1), ("t5", "c", 1)),
        ],
    ),
    Case(
        "process: batch_op on a Sum, of the words of each key",
        lambda f: sided(f).process(batch_op(SITES), by="upper(word) AS k", schema="words STRING", out=listed),
        {"s": [(step(1), "a"), (january(1), "a"), (step(1), "A"), (step(1), "b"), (step(-1), "a")]},
        [
            (step(-1), "A", "Inl(-1)=a"),
            *((step(1), "A", "Inl(1)=A Inl(1)=a"), (step(1), "B", "Inl(1)=b")),
            (january(1), "A", "Inr(datetime.date(2026, 1, 1))=a"),
        ],
    ),
    *(
        Case(
            f"process: {name} on a Sum: one side is not counted on the other",
            lambda f, make=make: sided(f).process(make(SITES), by=(), schema="word STRING, n BIGINT", out=counted),  # type: ignore[misc]
            {"s": [(step(2), "a"), (january(3), "a"), (step(1), "a"), (january(1), "b"), (january(3), "b")]},
            [(step(1), "a", 1), (step(2), "a", 2), (january(1), "b", 1), (january(3), "a", 1), (january(3), "b", 2)],
        )
        for name, make in (("ihist_op", ihist_op), ("ihist_paths_op", ihist_paths_op))
    ),
]
