"""Cases of `accumulate`: over all rows at or below a time, on total and on product orders."""

from __future__ import annotations

from tests.flow.case import Case, at, day, days, instants, ints, pairs

ROWS = [(1, "a", 1), (2, "b", 2), (2, "a", 3), (2, "a", 4), (5, "b", 5), (5, None, 6)]
GRID = [(0, 0, "a", 1), (0, 1, "a", 2), (1, 0, "a", 4), (1, 1, "a", 8), (2, 0, "b", 16)]

GAPS = [(1, "a", 1), (2, "b", 2), (4, "a", 4), (7, "a", 8), (9, "a", 16), (9, None, 32), (12, "b", 64), (12, "a", 128)]

CASES = [
    Case(
        "update: each time and group that has a row at exactly that time",
        lambda f: ints(f).accumulate(by="k", n="count(*)", s="sum(x)"),
        {"s": ROWS},
        [(1, "a", 1, 1), (2, "a", 3, 8), (2, "b", 1, 2), (5, "b", 2, 7), (5, None, 1, 6)],
    ),
    Case(
        "complete: at each time that carries a row, every group so far",
        lambda f: ints(f).accumulate(by="k", emit="complete", s="sum(x)"),
        {"s": ROWS},
        [(1, "a", 1), (2, "a", 8), (2, "b", 2), (5, "a", 8), (5, "b", 7), (5, None, 6)],
    ),
    Case("without groups", lambda f: ints(f).accumulate(s="sum(x)"), {"s": ROWS}, [(1, 1), (2, 10), (5, 21)]),
    Case("on no rows", lambda f: days(f).accumulate(s="sum(x)"), {"s": []}, []),
    Case(
        "on dates",
        lambda f: days(f).accumulate(n="count(*)"),
        {"s": [(day(3), "a", 1), (day(1), "a", 1)]},
        [(day(1), 1), (day(3), 2)],
    ),
    Case(
        "on timestamps",
        lambda f: instants(f).accumulate(m="max(x)"),
        {"s": [(at(2), "a", 1), (at(1), "a", 7)]},
        [(at(1), 7), (at(2), 7)],
    ),
    Case(
        "update on a product: rows at or below, each counted once",
        lambda f: pairs(f).accumulate(by="k", s="sum(x)"),
        {"s": GRID},
        [(0, 0, "a", 1), (0, 1, "a", 3), (1, 0, "a", 5), (1, 1, "a", 15), (2, 0, "b", 16)],
    ),
    Case(
        "complete on a product: groups that have a row at or below",
        lambda f: pairs(f).accumulate(by="k", emit="complete", s="sum(x)"),
        {"s": GRID},
        [(0, 0, "a", 1), (0, 1, "a", 3), (1, 0, "a", 5), (1, 1, "a", 15), (2, 0, "b", 16), (2, 0, "a", 5)],
    ),
    Case(
        "on a product, times that carry no row answer nothing",
        lambda f: pairs(f).accumulate(s="sum(x)"),
        {"s": [(0, 1, "a", 1), (1, 0, "a", 2), (2, 2, "a", 4)]},
        [(0, 1, 1), (1, 0, 2), (2, 2, 7)],
    ),
    Case(
        "on three time columns",
        lambda f: f.source("s", "u INT, v INT, w INT, x INT", time=("u", "v", "w")).accumulate(s="sum(x)"),
        {"s": [(0, 0, 1, 1), (0, 1, 0, 2), (1, 0, 0, 4), (1, 1, 0, 8), (1, 1, 1, 16)]},
        [(0, 0, 1, 1), (0, 1, 0, 2), (1, 0, 0, 4), (1, 1, 0, 14), (1, 1, 1, 31)],
    ),
    Case(
        "with every, answers at the ends of periods that have rows",
        lambda f: ints(f).accumulate(by="k", every=5, s="sum(x)"),
        {"s": ROWS},
        [(4, "a", 8), (4, "b", 2), (9, "b", 7), (9, None, 6)],
    ),
    Case(
        "with every, complete",
        lambda f: ints(f).accumulate(by="k", every=5, emit="complete", s="sum(x)"),
        {"s": ROWS},
        [(4, "a", 8), (4, "b", 2), (9, "a", 8), (9, "b", 7), (9, None, 6)],
    ),
    Case(
        "with every on timestamps",
        lambda f: instants(f).accumulate(every="1 hour", n="count(*)"),
        {"s": [(at(1), "a", 1), (at(59), "a", 1), (at(61), "a", 1)]},
        [
            (at(60).replace(hour=0, minute=59, second=59, microsecond=999999), 2),
            (at(60).replace(hour=1, minute=59, second=59, microsecond=999999), 3),
        ],
    ),
    Case(
        "with every on one column of a product",
        lambda f: pairs(f).accumulate(every={"v": 2}, s="sum(x)"),
        {"s": GRID},
        [(1, 0, 5), (1, 1, 15), (3, 0, 21)],
    ),
    Case(
        "functions that mind the order see rows sorted by time",
        lambda f: ints(f).accumulate("collect_list(x) AS xs", "first(k) AS f"),
        {"s": [(2, "b", 1), (1, "z", 5), (2, "a", 2)]},
        [(1, [5], "z"), (2, [5, 2, 1], "z")],
    ),
    Case(
        "aggregates that cannot be merged",
        lambda f: ints(f).accumulate("count(DISTINCT k) AS kinds", "median(x) AS m"),
        {"s": ROWS},
        [(1, 1, 1.0), (2, 2, 2.5), (5, 2, 3.5)],
    ),
    Case(
        "inside of expressions",
        lambda f: ints(f).accumulate("sum(x) / count(*) AS mean", by="k"),
        {"s": ROWS[:4]},
        [(1, "a", 1.0), (2, "a", 8 / 3), (2, "b", 2.0)],
    ),
    Case(
        "many rows",
        lambda f: ints(f).accumulate(n="count(*)"),
        {"s": [(i // 10, "a", i) for i in range(200)]},
        [(i, 10 * (i + 1)) for i in range(20)],
    ),
    Case(
        "forget: a row that comes the span or more after the one before begins anew",
        lambda f: ints(f).accumulate(by="k", s="sum(x)", forget=3),
        {"s": GAPS},
        [
            (1, "a", 1),
            (2, "b", 2),
            (4, "a", 4),
            (7, "a", 8),
            (9, "a", 24),
            (9, None, 32),
            (12, "a", 128),
            (12, "b", 64),
        ],
    ),
    Case(
        "forget: complete leaves out groups that were silent so long",
        lambda f: ints(f).accumulate(by="k", s="sum(x)", emit="complete", forget=4),
        {"s": GAPS},
        [
            *[(1, "a", 1), (2, "a", 1), (2, "b", 2), (4, "a", 5), (4, "b", 2), (7, "a", 13), (9, "a", 29)],
            *[(9, None, 32), (12, "a", 157), (12, "b", 64), (12, None, 32)],
        ],
    ),
    Case(
        "forget: with every, between the ends of periods",
        lambda f: ints(f).accumulate(by="k", n="count(*)", every=3, forget=4),
        {"s": GAPS},
        [(2, "a", 1), (2, "b", 1), (5, "a", 2), (8, "a", 3), (11, "a", 4), (11, None, 1), (14, "a", 5), (14, "b", 1)],
    ),
    Case(
        "forget: of rows that are kept as such, without groups",
        lambda f: ints(f).accumulate(xs="collect_list(x)", n="count(DISTINCT k)", forget=3),
        {"s": [row for row in GAPS if row[0] not in (2, 12)]},
        [(1, [1], 1), (4, [4], 1), (7, [8], 1), (9, [8, 32, 16], 1)],
    ),
    Case(
        "forget: on timestamps",
        lambda f: instants(f).accumulate(by="k", n="count(*)", forget="10 minutes"),
        {"s": [(at(0), "a", 1), (at(9.99), "a", 1), (at(19.99), "a", 1)]},
        [(at(0), "a", 1), (at(9.99), "a", 2), (at(19.99), "a", 1)],
    ),
]
