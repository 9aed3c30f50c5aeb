"""Cases of `aggregate`, and of aggregate functions."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from tests.flow.case import Case, day, days, instants, ints, pairs

ROWS = [(1, "a", 1), (1, "a", 5), (1, "b", None), (2, "a", 7), (2, None, 1), (2, None, 2)]
NOON = datetime(2026, 1, 1, 12)

CASES = [
    Case(
        "one row for each time and group that has rows; a null group is a group",
        lambda f: ints(f).aggregate(by="k", n="count(*)", s="sum(x)"),
        {"s": ROWS},
        [(1, "a", 2, 6), (1, "b", 1, None), (2, "a", 1, 7), (2, None, 2, 3)],
    ),
    Case("without groups", lambda f: ints(f).aggregate("count(x) AS n"), {"s": ROWS}, [(1, 2), (2, 3)]),
    Case("on no rows", lambda f: ints(f).aggregate(n="count(*)"), {"s": []}, []),
    Case(
        "on dates",
        lambda f: days(f).aggregate(n="count(*)"),
        {"s": [(day(1), "a", 1), (day(0), "a", 1), (day(1), "b", 1)]},
        [(day(0), 1), (day(1), 2)],
    ),
    Case(
        "on timestamps, to the microsecond",
        lambda f: instants(f).aggregate(n="count(*)"),
        {"s": [(NOON, "a", 1), (NOON.replace(microsecond=1), "a", 1), (NOON, "b", 1)]},
        [(NOON, 2), (NOON.replace(microsecond=1), 1)],
    ),
    Case(
        "on a product, only equal times belong together",
        lambda f: pairs(f).aggregate(n="count(*)"),
        {"s": [(0, 1, "a", 1), (1, 0, "a", 1), (0, 1, "b", 1), (1, 1, "a", 1)]},
        [(0, 1, 2), (1, 0, 1), (1, 1, 1)],
    ),
    Case(
        "many rows at one time",
        lambda f: ints(f).aggregate(by="k", n="count(*)", s="sum(x)"),
        {"s": [(7, "a", i) for i in range(1000)]},
        [(7, "a", 1000, 499500)],
    ),
    Case(
        "aggregates inside of expressions, together with groups and the time",
        lambda f: ints(f).aggregate(
            "sum(x) / count(*) AS mean", "upper(k) || '!' || max(k) AS text", "t + max(x) AS y", by="k"
        ),
        {"s": ROWS[:2]},
        [(1, "a", 3.0, "A!a", 6)],
    ),
    Case(
        "groups by expressions",
        lambda f: ints(f).aggregate(by=("x % 2 AS odd", "k"), n="count(*)"),
        {"s": [*ROWS[:2], (1, "a", 2)]},
        [(1, 1, "a", 2), (1, 0, "a", 1)],
    ),
    Case(
        "filters and distinct values",
        lambda f: ints(f).aggregate(
            big="count(*) FILTER (WHERE x > 2)", kinds="count(DISTINCT k)", s="sum(DISTINCT x)"
        ),
        {"s": [*ROWS, (2, None, 2)]},
        [(1, 1, 2, 6), (2, 1, 1, 10)],
    ),
    Case(
        "the usual functions",
        lambda f: ints(f).aggregate(
            "avg(x) AS a", "min(x) AS lo", "max(k) AS hi", "count_if(x > 1) AS c", "bool_and(x > 0) AS b"
        ),
        {"s": ROWS[:3]},
        [(1, 3.0, 1, "b", 1, True)],
    ),
    Case(
        "the spread of values",
        lambda f: ints(f).aggregate("stddev(x) AS s", "var_pop(x) AS v", "median(x) AS m"),
        {"s": [(1, "a", 1), (1, "a", 2), (1, "a", 6), (2, "a", 1)]},
        [(1, 2.6457513110645907, 4.666666666666667, 2.0), (2, None, 0.0, 1.0)],
    ),
    Case(
        "functions that mind the order see rows sorted by all columns",
        lambda f: ints(f).aggregate("collect_list(x) AS xs", "first(k) AS f", "last(x) AS l", by=()),
        {"s": [(1, "b", 1), (1, "a", 2), (1, "a", 1), (1, None, 9), (2, None, None)]},
        [(1, [9, 1, 2, 1], None, 1), (2, [], None, None)],
    ),
    Case(
        "the value at the greatest of another",
        lambda f: ints(f).aggregate("max_by(k, x) AS top", "min_by(k, x) AS low"),
        {"s": [*ROWS[:2], (1, "z", 9), (1, "y", None)]},
        [(1, "z", "a")],
    ),
    Case(
        "sums of decimals",
        lambda f: ints(f, columns="p DECIMAL(10,2)").aggregate(s="sum(p)", n="count(*)"),
        {"s": [(1, Decimal("0.10")), (1, Decimal("0.20"))]},
        [(1, Decimal("0.30"), 2)],
    ),
    Case(
        "on the result of another aggregate",
        lambda f: ints(f).aggregate(by="k", n="count(*)").aggregate(groups="count(*)", most="max(n)"),
        {"s": ROWS},
        [(1, 2, 2), (2, 2, 2)],
    ),
]
