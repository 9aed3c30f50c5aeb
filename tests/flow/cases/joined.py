"""Cases of `union`, `join`, `join_asof` and `window_join`."""

from __future__ import annotations

from typing import Any

from tests.flow.case import Case, at, day, days, instants, ints, pairs

import tidegate as tg

L: list[tuple[Any, ...]] = [(1, "a", 1), (1, "a", 2), (1, None, 3), (2, "a", 4), (2, "c", 5), (3, "z", None)]
R: list[tuple[Any, ...]] = [(1, "a", 10), (1, None, 20), (2, "a", 30), (2, "a", 40), (2, "b", 50), (4, "z", None)]
INNER = [(1, "a", 1, 10), (1, "a", 2, 10), (2, "a", 4, 30), (2, "a", 4, 40)]
LEFT = [(1, None, 3, None), (2, "c", 5, None), (3, "z", None, None)]
RIGHT = [(1, None, None, 20), (2, "b", None, 50), (4, "z", None, None)]


def two(f: tg.Flow, **options: Any) -> tg.Stream:
    """Two sources, joined."""
    return ints(f, "l").join(ints(f, "r", "k STRING, y INT"), **({"on": "k"} | options))


def with_table(f: tg.Flow, **options: Any) -> tg.Stream:
    """A source, joined with a table."""
    return ints(f, "l").join(f.table("r", "k STRING, y INT"), **({"on": "k"} | options))


def asof(f: tg.Flow, **options: Any) -> tg.Stream:
    """Two sources, the one with the latest of the other."""
    return ints(f, "l").join_asof(ints(f, "r", "k STRING, y INT"), **({"on": "k"} | options))


def windowed(f: tg.Flow, **options: Any) -> tg.Stream:
    """Two sources, joined where they share a window."""
    return ints(f, "l").window_join(ints(f, "r", "k STRING, y INT"), **({"on": "k", "size": 5} | options))


BOTH = {"l": L, "r": R}
TABLE = {"l": L, "r": [("a", 10), (None, 20), ("a", 30), ("b", 40)]}
MATCHED = [(t, k, x, y) for t, k, x in L if k == "a" for y in (10, 30)]
ASOF = {
    "l": [(5, "a", 1), (6, "a", 2), (2, "a", 3), (5, None, 4), (9, "b", 5)],
    "r": [(3, "a", 30), (5, "a", 50), (5, "a", 51), (5, None, 52), (6, "b", 60)],
}
SHARED = {"l": [(1, "a", 1), (4, "a", 2), (6, "b", 3)], "r": [(0, "a", 10), (5, "a", 20), (9, "b", 30), (9, None, 40)]}

UNIONS = [
    Case(
        "union puts rows together",
        lambda f: ints(f, "l").union(ints(f, "r")),
        {"l": L[:2], "r": [(1, "a", 1), (9, None, 1)]},
        [*L[:2], (1, "a", 1), (9, None, 1)],
    ),
    Case(
        "union matches columns by name, whatever their case",
        lambda f: ints(f, "l").union(f.source("r", "X INT, K STRING, t INT", time="t")),
        {"l": L[:1], "r": [(3, 7, "q")]},
        [(1, "a", 1), (3, "q", 7)],
    ),
    Case(
        "union of a stream with itself",
        lambda f: (lambda s: s.where("x > 1").union(s.where("x < 4")))(ints(f)),
        {"s": L[:4]},
        [(1, "a", 1), *[(1, "a", 2)] * 2, *[(1, None, 3)] * 2, (2, "a", 4)],
    ),
    Case(
        "union with nothing",
        lambda f: days(f, "l").union(days(f, "r")),
        {"l": [], "r": [(day(0), "a", 1)]},
        [(day(0), "a", 1)],
    ),
    Case(
        "union of three streams",
        lambda f: ints(f, "l").union(ints(f, "r"), f.source("s", "X INT, K STRING, t INT", time="t")),
        {"l": L[:2], "r": [(1, "a", 1), (9, None, 1)], "s": [(3, 7, "q"), (1, 1, "a")]},
        [*L[:2], (1, "a", 1), (9, None, 1), (3, "q", 7), (1, "a", 1)],
    ),
    Case(
        "union of a stream with itself, twice, then counted",
        lambda f: (lambda s: s.union(s, s.where("x > 1")).aggregate(by="k", n="count(*)"))(ints(f)),
        {"s": L[:4]},
        [(1, "a", 5), (1, None, 3), (2, "a", 3)],
    ),
    Case(
        "union of four streams on a product, of which some have no rows",
        lambda f: pairs(f, "l").union(*(pairs(f, name) for name in ("r", "s", "v"))).aggregate(n="count(*)"),
        {"l": [], "r": [(0, 1, "b", 1), (1, 0, "b", 1)], "s": [], "v": [(0, 1, "a", None)]},
        [(0, 1, 2), (1, 0, 1)],
    ),
    Case(
        "union of three tables",
        lambda f: ints(f, "l").join(
            f.table("a", "k STRING, y INT").union(f.table("b", "k STRING, y INT"), f.table("c", "y INT, k STRING")),
            on="k",
        ),
        {"l": L[:3], "a": [("a", 10)], "b": [], "c": [(30, "a"), (40, None)]},
        [(1, "a", 1, 10), (1, "a", 1, 30), (1, "a", 2, 10), (1, "a", 2, 30)],
    ),
    Case(
        "union on a product, then counted",
        lambda f: pairs(f, "l").union(pairs(f, "r")).aggregate(n="count(*)"),
        {"l": [(0, 1, "a", 1)], "r": [(0, 1, "b", 1), (1, 0, "b", 1)]},
        [(0, 1, 2), (1, 0, 1)],
    ),
]

JOINS = [
    Case(
        "a condition on the time of either side",
        lambda f: two(f, where="left.t >= left.x - 2 AND right.t * 15 <= right.y"),
        BOTH,
        [(2, "a", 4, 30), (2, "a", 4, 40)],
    ),
    Case("join pairs rows of equal times; null keys never match", two, BOTH, INNER),
    Case("left join", lambda f: two(f, how="left"), BOTH, INNER + LEFT),
    Case("right join", lambda f: two(f, how="right"), BOTH, INNER + RIGHT),
    Case("full join: the time is never null", lambda f: two(f, how="full"), BOTH, INNER + LEFT + RIGHT),
    Case(
        "semi join keeps rows that match, once",
        lambda f: two(f, how="semi"),
        BOTH,
        [(1, "a", 1), (1, "a", 2), (2, "a", 4)],
    ),
    Case(
        "anti join keeps rows that do not",
        lambda f: two(f, how="anti"),
        BOTH,
        [(1, None, 3), (2, "c", 5), (3, "z", None)],
    ),
    Case(
        "join with a condition on both sides",
        lambda f: two(f, where="right.y > left.x * 8"),
        BOTH,
        [(1, "a", 1, 10), (2, "a", 4, 40)],
    ),
    Case(
        "in an outer join, the condition is part of the match",
        lambda f: two(f, where="y > 30", how="left"),
        BOTH,
        [(2, "a", 4, 40), (1, "a", 1, None), (1, "a", 2, None), *LEFT],
    ),
    Case(
        "join on nothing: all pairs of a time",
        lambda f: ints(f, "l").join(ints(f, "r", "y INT"), on=()),
        {"l": L[:2], "r": [(1, 7), (2, 8)]},
        [(1, "a", 1, 7), (1, "a", 2, 7)],
    ),
    Case(
        "join on two columns",
        lambda f: ints(f, "l").join(ints(f, "r", "k STRING, x INT, z INT"), on=("k", "x")),
        {"l": L, "r": [(1, "a", 2, 0), (1, "b", 2, 1), (2, "a", 2, 2)]},
        [(1, "a", 2, 0)],
    ),
    Case(
        "sides that have each other's names",
        lambda f: ints(f, "l", "a INT, b INT").join(
            f.source("r", "b INT, t INT, a INT", time="t"),
            on=(),
            where="left.a = right.a AND left.b < right.b",
            how="semi",
        ),
        {"l": [(1, 1, 2), (1, 3, 0)], "r": [(1, 3, 1)]},
        [(1, 1, 2)],
    ),
    Case(
        "join on a case",
        lambda f: ints(f, "l", "a INT, x INT").join(
            ints(f, "r", "y INT"), on=(), where="CASE WHEN left.a > 1 THEN left.x = right.y ELSE false END"
        ),
        {"l": [(1, 1, 5), (1, 2, 5), (1, 2, 6)], "r": [(1, 5)]},
        [(1, 2, 5, 5)],
    ),
    Case(
        "join on a key that is spelled otherwise",
        lambda f: ints(f, "l", "K INT, a INT").join(ints(f, "r", "k INT"), on="k"),
        {"l": [(1, 1, 5), (1, 2, 6)], "r": [(1, 2)]},
        [(1, 2, 6)],
    ),
    Case("join with nothing", two, {"l": L, "r": []}, []),
    Case("left join with nothing", lambda f: two(f, how="left"), {"l": L[:1], "r": []}, [(1, "a", 1, None)]),
    Case(
        "join on dates",
        lambda f: days(f, "l").join(days(f, "r", "k STRING, y INT"), on="k"),
        {"l": [(day(0), "a", 1)], "r": [(day(0), "a", 2), (day(1), "a", 3)]},
        [(day(0), "a", 1, 2)],
    ),
    Case(
        "join on timestamps",
        lambda f: instants(f, "l").join(instants(f, "r", "k STRING, y INT"), on="k"),
        {"l": [(at(0), "a", 1)], "r": [(at(0), "a", 2), (at(1), "a", 3)]},
        [(at(0), "a", 1, 2)],
    ),
    Case(
        "full join on a product",
        lambda f: pairs(f, "l").join(pairs(f, "r", "k STRING, y INT"), on="k", how="full"),
        {"l": [(0, 1, "a", 1), (1, 0, "a", 2)], "r": [(0, 1, "a", 3), (1, 1, "a", 4)]},
        [(0, 1, "a", 1, 3), (1, 0, "a", 2, None), (1, 1, "a", None, 4)],
    ),
    Case(
        "join of a stream with its own totals",
        lambda f: (lambda s: s.join(s.aggregate(by="k", total="sum(x)"), on="k"))(ints(f)),
        {"s": L},
        [(1, "a", 1, 3), (1, "a", 2, 3), (2, "a", 4, 4), (2, "c", 5, 5), (3, "z", None, None)],
    ),
    Case(
        "many rows at one time",
        two,
        {"l": [(1, "a", i) for i in range(30)], "r": [(1, "a", i) for i in range(30)]},
        [(1, "a", i, j) for i in range(30) for j in range(30)],
    ),
    Case("a table is there at every time", with_table, TABLE, MATCHED),
    Case("left join with a table", lambda f: with_table(f, how="left"), TABLE, [*MATCHED, *LEFT]),
    Case("semi join with a table", lambda f: with_table(f, how="semi"), TABLE, [r for r in L if r[1] == "a"]),
    Case("anti join with a table", lambda f: with_table(f, how="anti"), TABLE, [r for r in L if r[1] != "a"]),
    Case(
        "join with a table on a condition",
        lambda f: with_table(f, where="left.x * 10 = right.y"),
        TABLE,
        [(1, "a", 1, 10)],
    ),
    Case("join with an empty table", lambda f: with_table(f, how="left"), {"l": L[:1], "r": []}, [(1, "a", 1, None)]),
    Case(
        "a table can be prepared",
        lambda f: ints(f, "l").join(
            f.table("r", "k STRING, y INT").where("y > 10").aggregate(by="k", y="max(y)"), on="k"
        ),
        TABLE,
        [(1, "a", 1, 30), (1, "a", 2, 30), (2, "a", 4, 30)],
    ),
]

ASOFS = [
    Case(
        "the latest at or below; of several the greatest",
        asof,
        ASOF,
        [(5, "a", 1, 51), (6, "a", 2, 51), (9, "b", 5, 60)],
    ),
    Case(
        "left: rows without a match stay",
        lambda f: asof(f, how="left"),
        ASOF,
        [(5, "a", 1, 51), (6, "a", 2, 51), (9, "b", 5, 60), (2, "a", 3, None), (5, None, 4, None)],
    ),
    Case(
        "within bounds how far back",
        lambda f: asof(f, within=2, how="left"),
        ASOF,
        [(5, "a", 1, 51), (6, "a", 2, 51), (9, "b", 5, None), (2, "a", 3, None), (5, None, 4, None)],
    ),
    Case("within 0 is at the same time", lambda f: asof(f, within=0), ASOF, [(5, "a", 1, 51)]),
    Case(
        "on nothing: the latest of all",
        lambda f: ints(f, "l").join_asof(ints(f, "r", "y INT")),
        {"l": [(5, "a", 1)], "r": [(4, 3), (2, 9)]},
        [(5, "a", 1, 3)],
    ),
    Case("on no rows", asof, {"l": [], "r": R}, []),
    Case(
        "on dates",
        lambda f: days(f, "l").join_asof(days(f, "r", "k STRING, y INT"), on="k", within="7 days"),
        {"l": [(day(9), "a", 1), (day(7), "a", 2)], "r": [(day(0), "a", 5)]},
        [(day(7), "a", 2, 5)],
    ),
    Case(
        "on timestamps",
        lambda f: instants(f, "l").join_asof(instants(f, "r", "k STRING, y INT"), on="k"),
        {"l": [(at(9), "a", 1)], "r": [(at(8), "a", 5), (at(10), "a", 6)]},
        [(at(9), "a", 1, 5)],
    ),
    Case(
        "over one column of a product: the other is equal",
        lambda f: pairs(f, "l").join_asof(pairs(f, "r", "k STRING, y INT"), on="k", over="v", how="left"),
        {"l": [(5, 1, "a", 1), (5, 2, "a", 2)], "r": [(3, 1, "a", 7), (4, 0, "a", 8), (9, 2, "a", 9)]},
        [(5, 1, "a", 1, 7), (5, 2, "a", 2, None)],
    ),
]

WINDOW_JOINS = [
    Case(
        "a pair once for each window that both are in",
        windowed,
        SHARED,
        [(4, "a", 1, 10), (4, "a", 2, 10), (9, "b", 3, 30)],
    ),
    Case(
        "in windows that overlap, a pair may come twice",
        lambda f: windowed(f, size=10, every=5),
        SHARED,
        [
            (4, "a", 1, 10),
            (4, "a", 2, 10),
            (9, "a", 1, 10),
            (9, "a", 2, 10),
            (9, "a", 1, 20),
            (9, "a", 2, 20),
            (9, "b", 3, 30),
            (14, "b", 3, 30),
        ],
    ),
    Case(
        "a stream with itself",
        lambda f: (
            lambda s: s.window_join(
                s.select("k AS other", "x AS y"), on=(), size=5, every=3, where="k <> other AND right.y > left.x"
            )
        )(ints(f)),
        {"s": [(1, "a", 1), (2, "b", 2), (4, "c", 3), (9, "d", 4)]},
        [(4, "a", 1, "b", 2), (4, "a", 1, "c", 3), (4, "b", 2, "c", 3)],
    ),
    Case("with a condition", lambda f: windowed(f, where="left.x > 1 AND right.y < 30"), SHARED, [(4, "a", 2, 10)]),
    Case(
        "left: rows without a match in a window",
        lambda f: windowed(f, how="left"),
        {"l": SHARED["l"], "r": SHARED["r"][1:]},
        [(4, "a", 1, None), (4, "a", 2, None), (9, "b", 3, 30)],
    ),
    Case(
        "full",
        lambda f: windowed(f, how="full"),
        SHARED,
        [(4, "a", 1, 10), (4, "a", 2, 10), (9, "b", 3, 30), (9, "a", None, 20), (9, None, None, 40)],
    ),
    Case("anti", lambda f: windowed(f, how="anti"), {"l": SHARED["l"], "r": SHARED["r"][:1]}, [(9, "b", 3)]),
    Case("shifted", lambda f: windowed(f, offset=1), SHARED, [(5, "a", 1, 20), (5, "a", 2, 20), (10, "b", 3, 30)]),
    Case(
        "on timestamps",
        lambda f: instants(f, "l").window_join(instants(f, "r", "k STRING, y INT"), on="k", size="1 hour"),
        {"l": [(at(1), "a", 1)], "r": [(at(59), "a", 2), (at(61), "a", 3)]},
        [(at(60).replace(hour=0, minute=59, second=59, microsecond=999999), "a", 1, 2)],
    ),
    Case(
        "over one column of a product",
        lambda f: pairs(f, "l").window_join(pairs(f, "r", "k STRING, y INT"), on="k", size=5, over="v"),
        {"l": [(0, 1, "a", 1)], "r": [(4, 1, "a", 2), (4, 2, "a", 3)]},
        [(4, 1, "a", 1, 2)],
    ),
    Case("on no rows", windowed, {"l": [], "r": []}, []),
    Case(
        "early: the same pairs",
        lambda f: windowed(f, size=10, every=5, where="left.x < 3", early=True),
        SHARED,
        [(4, "a", 1, 10), (4, "a", 2, 10), (9, "a", 1, 10), (9, "a", 2, 10), (9, "a", 1, 20), (9, "a", 2, 20)],
    ),
    Case(
        "early, over one column of a product",
        lambda f: pairs(f, "l").window_join(pairs(f, "r", "k STRING, y INT"), on="k", size=5, over="v", early=True),
        {"l": [(0, 1, "a", 1)], "r": [(4, 1, "a", 2), (4, 2, "a", 3)]},
        [(4, 1, "a", 1, 2)],
    ),
    Case(
        "early, then by windows",
        lambda f: windowed(f, early=True).window(5).aggregate(n="count(*)"),
        SHARED,
        [(4, {"start": 0, "end": 5}, 2), (9, {"start": 5, "end": 10}, 1)],
    ),
    Case(
        "with lateness there is a revision, 0 at first",
        lambda f: windowed(f, lateness=3, how="full"),
        SHARED,
        [
            (4, "a", 1, 10, 0),
            (4, "a", 2, 10, 0),
            (9, "a", None, 20, 0),
            (9, "b", 3, 30, 0),
            (9, None, None, 40, 0),
        ],
    ),
    Case(
        "with lateness, rows that match",
        lambda f: windowed(f, lateness=3, how="semi", every=3, where="left.x > 1"),
        SHARED,
        [(4, "a", 2, 0), (7, "a", 2, 0), (10, "b", 3, 0)],
    ),
    Case(
        "with lateness, over one column of a product",
        lambda f: pairs(f, "l").window_join(pairs(f, "r", "k STRING, y INT"), on="k", size=5, over="v", lateness=2),
        {"l": [(0, 1, "a", 1)], "r": [(4, 1, "a", 2), (4, 2, "a", 3)]},
        [(4, 1, "a", 1, 2, 0)],
    ),
]

CASES = UNIONS + JOINS + ASOFS + WINDOW_JOINS
