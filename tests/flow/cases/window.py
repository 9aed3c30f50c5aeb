"""Cases of `window(…)` and `session(…)`, with `.aggregate` and `.apply`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from tests.flow.case import Case, at, day, days, instants, ints, pairs, span

import tidegate as tg


def extent(key: dict[str, Any], rows: pa.Table) -> pa.Table:
    """The number of rows, the first x, and the length of the window."""
    bounds = key["window"]
    return pa.table(
        {
            "n": pa.array([rows.num_rows], pa.int64()),
            "first": pa.array([rows["x"][0].as_py()], pa.int32()),
            "length": pa.array([bounds["end"] - bounds["start"]], pa.int64()),
        }
    )


def each(rows: pa.Table) -> pa.Table:
    """Each x of the session."""
    return rows.select(["x"])


def counted(windowed: Any) -> tg.Stream:
    """The number of rows for each k."""
    stream: tg.Stream = windowed.aggregate(by="k", n="count(*)")
    return stream


ROWS = [(0, "a", 1), (4, "a", 2), (5, "b", 3), (9, "a", 4), (10, "a", 5), (-1, "a", 6)]

CASES = [
    Case(
        "windows align to zero, and answer at their last unit",
        lambda f: counted(ints(f).window(5)),
        {"s": ROWS},
        [
            (-1, span(-5, 0), "a", 1),
            (4, span(0, 5), "a", 2),
            (9, span(5, 10), "b", 1),
            (9, span(5, 10), "a", 1),
            (14, span(10, 15), "a", 1),
        ],
    ),
    Case(
        "windows overlap",
        lambda f: ints(f).window(10, every=5).aggregate(s="sum(x)"),
        {"s": [(3, "a", 1), (7, "b", 2)]},
        [(4, span(-5, 5), 1), (9, span(0, 10), 3), (14, span(5, 15), 2)],
    ),
    Case(
        "windows are shifted",
        lambda f: ints(f).window(5, offset=2).aggregate(n="count(*)"),
        {"s": [(1, "a", 0), (2, "a", 0), (6, "a", 0)]},
        [(1, span(-3, 2), 1), (6, span(2, 7), 2)],
    ),
    Case(
        "a shift of a whole window is none",
        lambda f: ints(f).window(5, offset=-10).aggregate(n="count(*)"),
        {"s": [(1, "a", 0)]},
        [(4, span(0, 5), 1)],
    ),
    Case(
        "windows of an odd slide",
        lambda f: ints(f).window(5, every=3).aggregate(n="count(*)"),
        {"s": [(4, "a", 0)]},
        [(4, span(0, 5), 1), (7, span(3, 8), 1)],
    ),
    Case(
        "windows of one unit",
        lambda f: ints(f).window(1).aggregate(n="count(*)"),
        {"s": [(4, "a", 0), (4, "b", 0)]},
        [(4, span(4, 5), 2)],
    ),
    Case(
        "windows of days",
        lambda f: counted(days(f).window("7 days")),
        {"s": [(day(0), "a", 1), (day(6), "a", 2), (day(7), None, 3)]},
        [(day(6), span(day(0), day(7)), "a", 2), (day(13), span(day(7), day(14)), None, 1)],
    ),
    Case(
        "windows of hours end a microsecond before the next",
        lambda f: instants(f).window("1 hour", every="30 minutes").aggregate(n="count(*)"),
        {"s": [(at(59), "a", 1), (at(60), "a", 1)]},
        [
            (at(60).replace(minute=59, hour=0, second=59, microsecond=999999), span(at(0), at(60)), 1),
            (at(60).replace(hour=1, minute=29, second=59, microsecond=999999), span(at(30), at(90)), 2),
            (at(60).replace(hour=1, minute=59, second=59, microsecond=999999), span(at(60), at(120)), 1),
        ],
    ),
    Case("windows on no rows", lambda f: counted(instants(f).window("1 hour")), {"s": []}, []),
    Case(
        "windows over one column of a product: the other groups",
        lambda f: counted(pairs(f).window(10, over="v")),
        {"s": [(1, 0, "a", 1), (2, 0, "a", 1), (3, 1, "a", 1), (11, 0, "a", 1)]},
        [(9, 0, span(0, 10), "a", 2), (9, 1, span(0, 10), "a", 1), (19, 0, span(10, 20), "a", 1)],
    ),
    Case(
        "many rows in one window",
        lambda f: ints(f).window(100).aggregate(by="k", s="sum(x)"),
        {"s": [(i % 100, "a", i) for i in range(1000)]},
        [(99, span(0, 100), "a", 499500)],
    ),
    Case(
        "the window and its bounds are values",
        lambda f: ints(f).window(5).aggregate("window.end - count(*) AS y"),
        {"s": [(1, "a", 0), (2, "a", 0)]},
        [(4, span(0, 5), 3)],
    ),
    Case(
        "rows in a window are in order",
        lambda f: ints(f).window(5).aggregate("collect_list(x) AS xs"),
        {"s": [(2, "a", 1), (1, "b", 9), (1, "a", 8)]},
        [(4, span(0, 5), [8, 9, 1])],
    ),
    Case(
        "windows of windows",
        lambda f: (
            ints(f).window(5).aggregate(by="k", n="count(*)").select("k", "n").window(10).aggregate(most="max(n)")
        ),
        {"s": ROWS},
        [(-1, span(-10, 0), 1), (9, span(0, 10), 2), (19, span(10, 20), 1)],
    ),
    Case(
        "with lateness there is a revision, 0 at first",
        lambda f: ints(f).window(5, lateness=3).aggregate(n="count(*)"),
        {"s": [(1, "a", 0)]},
        [(4, span(0, 5), 1, 0)],
    ),
    Case(
        "a function on each window",
        lambda f: ints(f).window(5).apply(extent, "n BIGINT, first INT, length BIGINT", by="k"),
        {"s": [(2, "a", 5), (1, "a", 7), (1, "b", 1), (7, None, 2)]},
        [(4, span(0, 5), "a", 2, 7, 5), (4, span(0, 5), "b", 1, 1, 5), (9, span(5, 10), None, 1, 2, 5)],
    ),
    Case(
        "sessions end a gap after their last row; a row at the end begins a new one",
        lambda f: counted(ints(f).session(5)),
        {"s": [(0, "a", 1), (4, "a", 1), (9, "a", 1), (2, "b", 1), (20, "a", 1)]},
        [(8, span(0, 9), "a", 2), (13, span(9, 14), "a", 1), (6, span(2, 7), "b", 1), (24, span(20, 25), "a", 1)],
    ),
    Case(
        "sessions of all rows together",
        lambda f: ints(f).session(5).aggregate(n="count(*)"),
        {"s": [(0, "a", 1), (3, "b", 1), (7, None, 1), (7, None, 1)]},
        [(11, span(0, 12), 4)],
    ),
    Case(
        "sessions on dates",
        lambda f: days(f).session("2 days").aggregate(n="count(*)"),
        {"s": [(day(0), "a", 1), (day(1), "a", 1), (day(3), "a", 1)]},
        [(day(2), span(day(0), day(3)), 2), (day(4), span(day(3), day(5)), 1)],
    ),
    Case(
        "sessions on timestamps",
        lambda f: instants(f).session("30 minutes").aggregate(by="k", n="count(*)"),
        {"s": [(at(0), None, 1), (at(29), None, 1)]},
        [(at(59).replace(minute=58, second=59, microsecond=999999), span(at(0), at(59)), None, 2)],
    ),
    Case("sessions on no rows", lambda f: counted(ints(f).session(5)), {"s": []}, []),
    Case(
        "sessions over one column of a product: the other groups",
        lambda f: pairs(f).session(5, over="w").aggregate(n="count(*)"),
        {"s": [(0, 1, "a", 1), (0, 3, "a", 1), (1, 3, "a", 1)]},
        [(0, 7, span(1, 8), 2), (1, 7, span(3, 8), 1)],
    ),
    Case(
        "a function on each session",
        lambda f: ints(f).session(5).apply(each, "x INT", by="k"),
        {"s": [(3, "a", 2), (1, "a", 9), (30, "a", 5)]},
        [(7, span(1, 8), "a", 9), (7, span(1, 8), "a", 2), (34, span(30, 35), "a", 5)],
    ),
]
