"""Cases of `gate`, `distinct` and `deduplicate`."""

from __future__ import annotations

from tests.flow.case import Case, at, day, days, instants, ints, pairs

ROWS = [(2, "a", 1), (1, "b", None), (1, "b", None), (1, None, 2), (2, "a", 1), (1, "a", 1)]
REPEATED = [
    (0, "a", 1),
    (3, "a", 2),
    (9, "a", 3),
    (10, "a", 4),
    (19, "a", 5),
    (20, "a", 6),
    (5, "b", 7),
    (5, None, 8),
    (6, None, 9),
]

CASES = [
    Case("gate changes nothing but when rows come", lambda f: ints(f).gate(), {"s": ROWS}, ROWS),
    Case("gate on no rows", lambda f: days(f).gate(), {"s": []}, []),
    Case(
        "gate on a product",
        lambda f: pairs(f).gate(),
        {"s": [(1, 0, "a", 1), (0, 1, "b", 2)]},
        [(1, 0, "a", 1), (0, 1, "b", 2)],
    ),
    Case(
        "distinct keeps each row once, nulls too",
        lambda f: ints(f).distinct(),
        {"s": ROWS},
        [(2, "a", 1), (1, "b", None), (1, None, 2), (1, "a", 1)],
    ),
    Case(
        "distinct is by time as well",
        lambda f: ints(f).select("k").distinct(),
        {"s": ROWS},
        [(1, "a"), (1, "b"), (1, None), (2, "a")],
    ),
    Case(
        "distinct on a product",
        lambda f: pairs(f).distinct(),
        {"s": [(1, 0, "a", 1), (0, 1, "a", 1), (1, 0, "a", 1)]},
        [(1, 0, "a", 1), (0, 1, "a", 1)],
    ),
    Case("distinct on timestamps", lambda f: instants(f).distinct(), {"s": [(at(0), "a", 1)] * 3}, [(at(0), "a", 1)]),
    Case(
        "distinct on many rows",
        lambda f: ints(f).distinct(),
        {"s": [(1, "a", i % 7) for i in range(500)]},
        [(1, "a", i) for i in range(7)],
    ),
    Case(
        "deduplicate keeps the first of each span, which begins at what was kept",
        lambda f: ints(f).deduplicate("k", within=10),
        {"s": REPEATED},
        [(0, "a", 1), (10, "a", 4), (20, "a", 6), (5, "b", 7), (5, None, 8)],
    ),
    Case(
        "deduplicate without a span keeps the first of all",
        lambda f: ints(f).deduplicate("k"),
        {"s": REPEATED},
        [(0, "a", 1), (5, "b", 7), (5, None, 8)],
    ),
    Case(
        "of several rows at one time the least is kept",
        lambda f: ints(f).deduplicate("k", within=1),
        {"s": [(1, "a", 3), (1, "a", None), (1, "a", 2), (2, "a", 9), (2, "a", 8)]},
        [(1, "a", None), (2, "a", 8)],
    ),
    Case(
        "deduplicate by an expression",
        lambda f: ints(f).deduplicate("x % 2 AS odd", within=100),
        {"s": [(1, "a", 1), (2, "b", 2), (3, "c", 3)]},
        [(1, "a", 1), (2, "b", 2)],
    ),
    Case(
        "deduplicate on dates",
        lambda f: days(f).deduplicate("k", within="7 days"),
        {"s": [(day(0), "a", 1), (day(6), "a", 2), (day(7), "a", 3)]},
        [(day(0), "a", 1), (day(7), "a", 3)],
    ),
    Case(
        "deduplicate on timestamps",
        lambda f: instants(f).deduplicate(("k", "x"), within="1 hour"),
        {"s": [(at(0), "a", 1), (at(59), "a", 1), (at(60), "a", 1), (at(1), "a", 2)]},
        [(at(0), "a", 1), (at(60), "a", 1), (at(1), "a", 2)],
    ),
    Case("deduplicate on no rows", lambda f: instants(f).deduplicate("k", within="1 hour"), {"s": []}, []),
    Case(
        "deduplicate on a product: the other time column is part of the key",
        lambda f: pairs(f).deduplicate("k", within=5, over="v"),
        {"s": [(0, 0, "a", 1), (3, 0, "a", 2), (3, 1, "a", 3), (5, 0, "a", 4)]},
        [(0, 0, "a", 1), (3, 1, "a", 3), (5, 0, "a", 4)],
    ),
    Case(
        "deduplicate that forgets: rows that were dropped count, too",
        lambda f: ints(f).deduplicate("k", forget=3),
        {
            "s": [
                (1, "a", 1),
                (1, "a", 2),
                (3, "a", 3),
                (5, "a", 4),
                (8, "a", 5),
                (10, "a", 6),
                (2, "b", 7),
                (6, "b", 8),
            ]
        },
        [(1, "a", 1), (8, "a", 5), (2, "b", 7), (6, "b", 8)],
    ),
    Case(
        "deduplicate that forgets, on a product: the other time column is part of the key",
        lambda f: pairs(f).deduplicate("k", forget=3, over="w"),
        {"s": [(0, 0, "a", 1), (0, 2, "a", 2), (0, 4, "a", 3), (0, 7, "a", 4), (1, 3, "a", 5)]},
        [(0, 0, "a", 1), (0, 7, "a", 4), (1, 3, "a", 5)],
    ),
]
