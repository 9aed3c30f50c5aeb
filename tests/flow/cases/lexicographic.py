"""Cases of times that are ordered by a `Lexicographic`: the first column in which they differ decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from tests.flow.case import Case, at, day

import tidegate as tg
from tidegate.check.ordered_flows import AtOrBelow
from tidegate.spec import DT, Event, Operator
from tidegate.time import EventTime, Int, Lexicographic, Nat

#: On the columns of most cases, a day and a number in it: their numbers fit into a BIGINT.
DAILY = Lexicographic(EventTime("day"), Int())
#: On instants: their numbers do not.
INSTANTS = Lexicographic(EventTime(), Int())
ROWS = [(day(1), 3, "a", 1), (day(0), 7, "a", 2), (day(1), -5, "b", 4), (day(2), -9, "a", 8), (day(1), 3, "b", 16)]
LEAST, GREATEST = -(2**31), 2**31 - 1
FIRST, LAST = -(2**63), 2**63 - 1


def daily(flow: tg.Flow, name: str = "s") -> tg.Stream:
    """A source of days, and numbers in each."""
    return flow.source(name, "d DATE, n INT, k STRING, x INT", time=tg.ordered(("d", "n"), DAILY))


def numbered(flow: tg.Flow, types: str, order: Lexicographic = INSTANTS, name: str = "s") -> tg.Stream:
    """A source of columns ``a``, ``b`` and so on, whose types are given."""
    names = "abcde"[: len(order.parts)]
    columns = ", ".join(f"{n} {type_.strip()}" for n, type_ in zip(names, types.split(","), strict=True))
    return flow.source(name, f"{columns}, k STRING, x INT", time=tg.ordered(tuple(names), order))


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Each row twice; times are in their columns."""
    assert batch.schema.names == ["d", "n", "k", "x"]
    return batch.take(pa.array([i // 2 for i in range(2 * batch.num_rows)], pa.int64()))


@dataclass(frozen=True)
class NextDay(Operator[Event, Event]):
    """Asks to be called at the first number of the next day, and says then how many rows there were."""

    timers = True
    rows: int = 0

    def apply(self, event: Event) -> tuple[NextDay, list[Any]]:
        if isinstance(event, DT):
            d, _ = event.t
            return NextDay(self.rows + 1), [tg.Timer((d + timedelta(days=1), LEAST))]
        return self, [DT(event.t, {"n_rows": self.rows})] if event.t[1] == LEAST else []

    def state(self) -> int:
        return self.rows

    def resume(self, state: int) -> NextDay:
        return NextDay(state)


LEXICOGRAPHIC = [
    Case(
        "lexicographic: update, at the times at which a group has a row",
        lambda f: daily(f).accumulate(by="k", total="sum(x)"),
        {"s": ROWS},
        [(day(0), 7, "a", 2), (day(1), -5, "b", 4), (day(1), 3, "a", 3), (day(1), 3, "b", 20), (day(2), -9, "a", 11)],
    ),
    Case(
        "lexicographic: complete, and rows in the order of times",
        lambda f: daily(f).accumulate(xs="collect_list(x)", emit="complete"),
        {"s": ROWS},
        [(day(0), 7, [2]), (day(1), -5, [2, 4]), (day(1), 3, [2, 4, 1, 16]), (day(2), -9, [2, 4, 1, 16, 8])],
    ),
    Case(
        "lexicographic: negative numbers come before others, on either side of every border",
        lambda f: numbered(f, "INT, INT", Lexicographic(Int(), Int())).accumulate(xs="collect_list(x)"),
        {
            "s": [
                (a, b, "k", i)
                for i, (a, b) in enumerate(
                    (a, b) for a in (LEAST, -1, 0, 1, GREATEST) for b in (LEAST, -1, 0, GREATEST)
                )
            ]
        },
        [
            (a, b, list(range(i + 1)))
            for i, (a, b) in enumerate((a, b) for a in (LEAST, -1, 0, 1, GREATEST) for b in (LEAST, -1, 0, GREATEST))
        ],
    ),
    Case(
        "lexicographic: a row that lacks a column, or has a number that is not natural, takes no part",
        lambda f: numbered(f, "BIGINT, BIGINT", Lexicographic(Nat(), Nat())).aggregate(total="sum(x)"),
        {
            "s": [
                (0, 1, "a", 1),
                (None, 1, "a", 2),
                (0, None, "a", 4),
                (-1, 1, "a", 8),
                (1, -1, "a", 16),
                (LAST, LAST, "a", 32),
            ]
        },
        [(0, 1, 1), (LAST, LAST, 32)],
    ),
    Case(
        "lexicographic: the first and the last of instants and of large numbers",
        lambda f: numbered(f, "TIMESTAMP, BIGINT").accumulate(total="sum(x)"),
        {
            "s": [
                (datetime.min, FIRST, "a", 1),
                (datetime.min, LAST, "a", 2),
                (at(0), -1, "a", 4),
                (at(0), 0, "a", 8),
                (datetime.max, FIRST, "a", 16),
                (datetime.max, LAST, "a", 32),
            ]
        },
        [
            (datetime.min, FIRST, 1),
            (datetime.min, LAST, 3),
            (at(0), -1, 7),
            (at(0), 0, 15),
            (datetime.max, FIRST, 31),
            (datetime.max, LAST, 63),
        ],
    ),
    Case(
        "lexicographic: three columns, instants without a zone in the middle",
        lambda f: numbered(f, "TINYINT, TIMESTAMP_NTZ, INT", Lexicographic(Int(), EventTime(), Nat())).accumulate(
            total="sum(x)"
        ),
        {"s": [(1, at(0), 5, "a", 1), (-1, at(9), 0, "a", 2), (1, at(-1), 9, "a", 4), (1, at(0), 4, "a", 8)]},
        [(-1, at(9), 0, 2), (1, at(-1), 9, 6), (1, at(0), 4, 14), (1, at(0), 5, 15)],
    ),
    Case(
        "lexicographic: latest, by all columns of the time; the time is that of the answer",
        lambda f: daily(f).with_columns(on="d", nth="n").latest("k", emit="complete"),
        {"s": ROWS},
        [
            (day(0), 7, "a", 2, day(0), 7),
            *((day(1), -5, "a", 2, day(0), 7), (day(1), -5, "b", 4, day(1), -5)),
            *((day(1), 3, "a", 1, day(1), 3), (day(1), 3, "b", 16, day(1), 3)),
            *((day(2), -9, "a", 8, day(2), -9), (day(2), -9, "b", 16, day(1), 3)),
        ],
    ),
    Case(
        "lexicographic: last, on wide numbers",
        lambda f: numbered(f, "TIMESTAMP, INT").with_columns(nth="b").last(2),
        {"s": [(at(1), 3, "a", 1), (at(0), 7, "a", 2), (at(1), -5, "b", 4), (at(2), -9, "a", 8)]},
        [
            (at(0), 7, "a", 2, 7, 1),
            *((at(1), -5, "b", 4, -5, 1), (at(1), -5, "a", 2, 7, 2)),
            *((at(1), 3, "a", 1, 3, 1), (at(1), 3, "b", 4, -5, 2)),
            *((at(2), -9, "a", 8, -9, 1), (at(2), -9, "a", 1, 3, 2)),
        ],
    ),
    Case(
        "lexicographic: top, by a time column and by another",
        lambda f: daily(f).top(1, by="k", order=["n DESC", "x"]),
        {"s": ROWS},
        [
            (day(0), 7, "a", 2, 1),
            (day(1), -5, "b", 4, 1),
            (day(1), 3, "a", 2, 1),
            (day(1), 3, "b", 16, 1),
            (day(2), -9, "a", 2, 1),
        ],
    ),
    Case(
        "lexicographic: deduplicate, the least row of each key",
        lambda f: daily(f).deduplicate("k"),
        {"s": ROWS},
        [(day(0), 7, "a", 2), (day(1), -5, "b", 4)],
    ),
    Case(
        "lexicographic: deduplicate, on wide numbers",
        lambda f: numbered(f, "TIMESTAMP, INT").deduplicate("k"),
        {"s": [(at(1), 3, "a", 1), (at(0), 7, "a", 2), (at(1), -5, "b", 4), (at(1), -5, "b", 3)]},
        [(at(0), 7, "a", 2), (at(1), -5, "b", 3)],
    ),
    Case(
        "lexicographic: as of, the latest at or below by all columns",
        lambda f: daily(f).join_asof(daily(f, "r").select("k", "x AS y", "n AS m"), on="k", how="left"),
        {
            "s": ROWS,
            "r": [
                (day(0), 9, "a", 10),
                (day(1), 3, "a", 20),
                (day(1), 3, "a", 30),
                (day(1), 2, "b", 40),
                (day(0), 9, None, 1),
            ],
        },
        [
            (day(0), 7, "a", 2, None, None),
            (day(1), -5, "b", 4, None, None),
            (day(1), 3, "a", 1, 30, 3),
            (day(1), 3, "b", 16, 40, 2),
            (day(2), -9, "a", 8, 30, 3),
        ],
    ),
    Case(
        "lexicographic: as of, on wide numbers",
        lambda f: numbered(f, "TIMESTAMP, INT").join_asof(
            numbered(f, "TIMESTAMP, INT", name="r").select("k", "b AS m"), on="k"
        ),
        {
            "s": [(at(1), 3, "a", 1), (at(0), 7, "a", 2), (at(2), -5, "a", 4)],
            "r": [(at(0), 8, "a", 0), (at(1), 2, "a", 0), (at(1), 4, "a", 0)],
        },
        [(at(1), 3, "a", 1, 2), (at(2), -5, "a", 4, 4)],
    ),
    Case(
        "lexicographic: a full join at equal times",
        lambda f: daily(f).select("k", "x").join(daily(f, "r").select("k", "x AS y"), on="k", how="full"),
        {"s": ROWS[:3], "r": [(day(1), 3, "a", 10), (day(0), 3, "a", 20), (day(1), -5, "a", 40)]},
        [
            (day(1), 3, "a", 1, 10),
            (day(0), 7, "a", 2, None),
            (day(1), -5, "b", 4, None),
            (day(0), 3, "a", None, 20),
            (day(1), -5, "a", None, 40),
        ],
    ),
    Case(
        "lexicographic: a join with a table, on a condition on the time",
        lambda f: daily(f).join(f.table("names", "k STRING, name STRING"), on="k", where="left.n > 0", how="left"),
        {"s": ROWS[:3], "names": [("a", "Ann"), ("b", "Bo")]},
        [(day(1), 3, "a", 1, "Ann"), (day(0), 7, "a", 2, "Ann"), (day(1), -5, "b", 4, None)],
    ),
    Case(
        "lexicographic: row by row, union and distinct",
        lambda f: (
            (s := daily(f).where("n > -9"))
            .map_batches(doubled, "d DATE, n INT, k STRING, x INT")
            .union(s)
            .select("n + x AS m")
            .distinct()
        ),
        {"s": ROWS},
        [(day(1), 3, 4), (day(0), 7, 9), (day(1), -5, -1), (day(1), 3, 19)],
    ),
    Case(
        "lexicographic: process, a copy is given the order's own times",
        lambda f: numbered(f, "DATE, INT", DAILY).gate().process(AtOrBelow(DAILY), by=(), schema="n INT"),
        {"s": ROWS},
        [(day(0), 7, 1), (day(1), -5, 2), (day(1), 3, 4), (day(2), -9, 5)],
    ),
    Case(
        "lexicographic: process, a timer at the first number of the next day",
        lambda f: daily(f).process(NextDay(), by="k", schema="n_rows INT"),
        {"s": ROWS},
        [
            (day(1), LEAST, "a", 1),
            (day(2), LEAST, "a", 2),
            (day(2), LEAST, "b", 2),
            (day(3), LEAST, "a", 3),
        ],
    ),
    Case(
        "lexicographic: process, a timer, on wide numbers",
        lambda f: numbered(f, "TIMESTAMP, INT").process(NextDay(), by="k", schema="n_rows INT"),
        {"s": [(at(1), 3, "a", 1), (at(0), 7, "a", 2), (at(1), -5, "b", 4)]},
        [(at(1440), LEAST, "a", 2), (at(1441), LEAST, "a", 2), (at(1441), LEAST, "b", 1)],
    ),
    Case(
        "lexicographic: iterate, what follows from the edges at or below a time",
        lambda f: f.source("e", "a TIMESTAMP, b INT, src INT, dst INT", time=tg.ordered(("a", "b"), INSTANTS)).iterate(
            start="SELECT src AS node, 0 AS steps FROM input WHERE src = 1",
            step="SELECT e.dst AS node, k.steps + 1 AS steps FROM known k JOIN input e ON e.src = k.node",
            key="node",
            keep="min(steps) AS steps",
        ),
        {"e": [(at(0), 9, 1, 2), (at(1), -1, 2, 3), (at(1), 0, 3, 4), (at(1), 1, 1, 4)]},
        [
            *((at(0), 9, 1, 0), (at(0), 9, 2, 1)),
            (at(1), -1, 3, 2),
            (at(1), 0, 4, 3),
            (at(1), 1, 4, 1),
        ],
    ),
    Case(
        "lexicographic: iterate, so many rounds, after each of which what is known is replaced",
        lambda f: f.source("e", "a TIMESTAMP, b INT, src INT, dst INT", time=tg.ordered(("a", "b"), INSTANTS)).iterate(
            start="SELECT src AS node, 0 AS steps FROM input WHERE src = 1",
            step="SELECT e.dst AS node, k.steps + 1 AS steps FROM known k JOIN input e ON e.src = k.node",
            key="node",
            keep="min(steps) AS steps",
            rounds=1,
        ),
        {"e": [(at(0), 9, 1, 2), (at(1), -1, 2, 3), (at(1), 0, 1, 3)]},
        [(at(0), 9, 2, 1), (at(1), 0, 3, 1)],
    ),
]
