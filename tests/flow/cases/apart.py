"""Cases of `interval_join`, and of columns with different names to join on."""

from __future__ import annotations

from typing import Any

from tests.flow.case import Case, at, day, days, instants, ints, pairs

import tidegate as tg


def apart(f: tg.Flow, **options: Any) -> tg.Stream:
    """Two sources, joined where their times are near each other."""
    return ints(f, "l").interval_join(ints(f, "r", "k STRING, y INT"), **({"on": "k"} | options))


L: list[tuple[Any, ...]] = [(10, "a", 1), (10, "a", 1), (14, "a", 2), (20, "b", 3), (20, None, 4), (30, "z", None)]
R: list[tuple[Any, ...]] = [(8, "a", 10), (10, "a", 20), (13, "a", 30), (25, "b", 40), (25, None, 50), (31, "y", None)]
BOTH = {"l": L, "r": R}
#: From 2 before to 5 after.
NEAR = [
    *[(10, "a", 1, 10)] * 2,
    *[(10, "a", 1, 20)] * 2,
    *[(13, "a", 1, 30)] * 2,
    (14, "a", 2, 30),
    (25, "b", 3, 40),
]
LEFT = [(25, None, 4, None), (35, "z", None, None)]
RIGHT = [(27, None, None, 50), (33, "y", None, None)]
TWO: dict[str, Any] = {"lower": -2, "upper": 5}
PRODUCT = {
    "l": [(1, 5, "a", 1), (4, 0, "a", 2)],
    "r": [(2, 5, "a", 10), (3, 7, "a", 20), (0, 0, "a", 30), (9, 5, "b", 40)],
}


def products(f: tg.Flow, **options: Any) -> tg.Stream:
    """Two sources with two times each, joined."""
    return pairs(f, "l").interval_join(pairs(f, "r", "k STRING, y INT"), **({"on": "k"} | options))


INTERVALS = [
    Case("pairs at the later of two times, as often as rows come", lambda f: apart(f, **TWO), BOTH, NEAR),
    Case(
        "left: a row without a match comes when none can come", lambda f: apart(f, how="left", **TWO), BOTH, NEAR + LEFT
    ),
    Case("right", lambda f: apart(f, how="right", **TWO), BOTH, NEAR + RIGHT),
    Case("full", lambda f: apart(f, how="full", **TWO), BOTH, NEAR + LEFT + RIGHT),
    Case(
        "semi: once, at the first match",
        lambda f: apart(f, how="semi", **TWO),
        BOTH,
        [(10, "a", 1), (10, "a", 1), (14, "a", 2), (25, "b", 3)],
    ),
    Case(
        "semi: only what comes after",
        lambda f: apart(f, how="semi", lower=1, upper=9),
        BOTH,
        [(13, "a", 1), (13, "a", 1), (25, "b", 3)],
    ),
    Case(
        "anti: as left, without those that match",
        lambda f: apart(f, how="anti", **TWO),
        BOTH,
        [(25, None, 4), (35, "z", None)],
    ),
    Case(
        "only before: at the time of the left row",
        lambda f: apart(f, how="left", lower=-5, upper=-1),
        BOTH,
        [
            *[(10, "a", 1, 10)] * 2,
            (14, "a", 2, 20),
            (14, "a", 2, 30),
            (20, "b", 3, None),
            (20, None, 4, None),
            (30, "z", None, None),
        ],
    ),
    Case(
        "only after, not at once: a left row alone is known at the end of what it may meet",
        lambda f: apart(f, how="full", lower=4, upper=5),
        BOTH,
        [
            *[(15, "a", 1, None)] * 2,
            (19, "a", 2, None),
            (25, "b", 3, 40),
            (25, None, 4, None),
            (35, "z", None, None),
            (8, "a", None, 10),
            (10, "a", None, 20),
            (13, "a", None, 30),
            (25, None, None, 50),
            (31, "y", None, None),
        ],
    ),
    Case(
        "without an upper bound: all that come later",
        lambda f: apart(f, lower=0),
        BOTH,
        [*[(10, "a", 1, 20)] * 2, *[(13, "a", 1, 30)] * 2, (25, "b", 3, 40)],
    ),
    Case(
        "without a lower bound: all that came before",
        lambda f: apart(f, upper=0, how="left"),
        BOTH,
        [
            *[(10, "a", 1, 10)] * 2,
            *[(10, "a", 1, 20)] * 2,
            (14, "a", 2, 10),
            (14, "a", 2, 20),
            (14, "a", 2, 30),
            (20, "b", 3, None),
            (20, None, 4, None),
            (30, "z", None, None),
        ],
    ),
    Case(
        "without bounds: all pairs of a key",
        apart,
        {"l": L[2:4], "r": R[1:4]},
        [(14, "a", 2, 20), (14, "a", 2, 30), (25, "b", 3, 40)],
    ),
    Case(
        "a condition on both times",
        lambda f: apart(f, where="right.t - left.t = x + 2 OR right.y = 10", how="left", **TWO),
        BOTH,
        [
            *[(10, "a", 1, 10)] * 2,
            *[(13, "a", 1, 30)] * 2,
            (19, "a", 2, None),
            (25, "b", 3, 40),
            (25, None, 4, None),
            (35, "z", None, None),
        ],
    ),
    Case(
        "a condition, for what is alone on the right",
        lambda f: apart(f, where="left.x < right.y / 10 AND left.t <> right.t", how="right", **TWO),
        BOTH,
        [*[(13, "a", 1, 30)] * 2, (14, "a", 2, 30), (25, "b", 3, 40), (10, "a", None, 10), (12, "a", None, 20), *RIGHT],
    ),
    Case(
        "on nothing: all that are near",
        lambda f: ints(f, "l").interval_join(ints(f, "r", "y INT"), on=(), lower=-1, upper=1),
        {"l": [(5, "a", 1), (9, None, 2)], "r": [(4, 10), (6, 20), (11, 30), (9, None)]},
        [(5, "a", 1, 10), (6, "a", 1, 20), (9, None, 2, None)],
    ),
    Case(
        "a stream with itself: a row meets itself",
        lambda f: (lambda s: s.interval_join(s.select("k", "x AS y"), on="k", lower=0, upper=2))(ints(f)),
        {"s": [(1, "a", 1), (3, "a", 2), (4, "a", 3)]},
        [(1, "a", 1, 1), (3, "a", 2, 2), (4, "a", 3, 3), (3, "a", 1, 2), (4, "a", 2, 3)],
    ),
    Case("on no rows", lambda f: apart(f, how="full", **TWO), {"l": [], "r": R[:1]}, [(10, "a", None, 10)]),
    Case(
        "on dates",
        lambda f: days(f, "l").interval_join(days(f, "r", "k STRING, y INT"), on="k", lower="-7 days", upper="0 days"),
        {"l": [(day(9), "a", 1), (day(7), "a", 2)], "r": [(day(0), "a", 5)]},
        [(day(7), "a", 2, 5)],
    ),
    Case(
        "on timestamps",
        lambda f: instants(f, "l").interval_join(
            instants(f, "r", "k STRING, y INT"), on="k", lower=0, upper="10 minutes", how="left"
        ),
        {"l": [(at(9), "a", 1), (at(30), "a", 2)], "r": [(at(8), "a", 5), (at(19), "a", 6), (at(9), "a", 7)]},
        [(at(19), "a", 1, 6), (at(9), "a", 1, 7), (at(40), "a", 2, None)],
    ),
    Case(
        "on a product: at the least time above both",
        products,
        PRODUCT,
        [
            (2, 5, "a", 1, 10),
            (3, 7, "a", 1, 20),
            (1, 5, "a", 1, 30),
            (4, 5, "a", 2, 10),
            (4, 7, "a", 2, 20),
            (4, 0, "a", 2, 30),
        ],
    ),
    Case(
        "over one column of a product: the other is equal",
        lambda f: products(f, over="v", lower=-4, upper=1, how="full"),
        PRODUCT,
        [(2, 5, "a", 1, 10), (4, 0, "a", 2, 30), (7, 7, "a", None, 20), (13, 5, "b", None, 40)],
    ),
    Case(
        "over one column of a product, semi",
        lambda f: products(f, over="v", how="semi"),
        PRODUCT,
        [(2, 5, "a", 1), (4, 0, "a", 2)],
    ),
]


def auctions(f: tg.Flow, **options: Any) -> tg.Stream:
    """A source, joined with a table or a source of other names."""
    bids = f.source("bids", "t INT, auction INT, price INT", time="t")
    sold = f.source("sold", "t INT, id INT, seller STRING", time="t")
    return bids.join(sold, **({"on": {"auction": "id"}} | options))


SOLD = {"bids": [(1, 7, 100), (1, 8, 50), (2, 7, 120)], "sold": [(1, 7, "s"), (2, 9, "r")]}
NAMES = [
    Case("columns of different names: the left name stays", auctions, SOLD, [(1, 7, 100, "s")]),
    Case(
        "columns of different names, full",
        lambda f: auctions(f, how="full"),
        SOLD,
        [(1, 7, 100, "s"), (1, 8, 50, None), (2, 7, 120, None), (2, 9, None, "r")],
    ),
    Case(
        "columns of different names, in a condition too",
        lambda f: auctions(f, where="right.id < price AND left.auction = right.id AND id > 0"),
        SOLD,
        [(1, 7, 100, "s")],
    ),
    Case(
        "columns of different names, with a table",
        lambda f: ints(f).join(f.table("r", "name STRING, y INT"), on={"k": "name"}, how="left"),
        {"s": [(1, "a", 1), (2, "b", 2)], "r": [("a", 5)]},
        [(1, "a", 1, 5), (2, "b", 2, None)],
    ),
    Case(
        "columns of different names, as of a time",
        lambda f: ints(f, "l").join_asof(ints(f, "r", "name STRING, y INT"), on={"k": "name"}),
        {"l": [(5, "a", 1)], "r": [(3, "a", 30), (4, "b", 40)]},
        [(5, "a", 1, 30)],
    ),
]

CASES = INTERVALS + NAMES
