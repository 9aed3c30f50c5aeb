"""Cases of `at`: rows at later times."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.flow.case import Case, at, day, days, instants, ints, pairs, span

import tidegate as tg


def tiny(f: tg.Flow) -> tg.Stream:
    """A source whose time is a TINYINT."""
    return f.source("s", "t TINYINT, e TINYINT", time="t")


def ends(f: tg.Flow) -> tg.Stream:
    """A source of what has an end."""
    return ints(f, columns="k STRING, e INT")


MICROSECOND = timedelta(microseconds=1)
ENDS: list[tuple[Any, ...]] = [(1, "a", 4), (1, "b", 1), (2, "a", 4), (2, "c", 1), (3, "d", None), (5, "a", 9)]

CASES = [
    Case(
        "a row comes at the time that a column has, if it is not before its own",
        lambda f: ends(f).at("e"),
        {"s": ENDS},
        [(4, "a", 4), (1, "b", 1), (4, "a", 4), (9, "a", 9)],
    ),
    Case(
        "what comes after sees the new time",
        lambda f: ends(f).with_columns(began="t").at("e").aggregate(n="count(*)", first="min(began)"),
        {"s": ENDS},
        [(1, 1, 1), (4, 2, 1), (9, 1, 5)],
    ),
    Case(
        "windows of moved rows",
        lambda f: ends(f).at("e").window(5).aggregate(by="k", n="count(*)"),
        {"s": ENDS},
        [(4, span(0, 5), "a", 2), (4, span(0, 5), "b", 1), (9, span(5, 10), "a", 1)],
    ),
    Case("no rows", lambda f: ends(f).at("e").gate(), {"s": []}, []),
    Case(
        "rows that are all moved alike meet rows that are not",
        lambda f: ints(f).at("t + 3").join(ints(f, "r", "k STRING, y INT"), on="k"),
        {"s": [(1, "a", 1), (2, "a", 2), (4, "a", 3)], "r": [(1, "a", 7), (4, "a", 8), (5, "b", 9), (7, "a", 10)]},
        [(4, "a", 1, 8), (7, "a", 3, 10)],
    ),
    Case(
        "moved twice, and united with where it was",
        lambda f: (s := ints(f)).at("1 + (t + 2)").at("t + x").union(s).accumulate(n="count(*)"),
        {"s": [(1, "a", 1), (2, "a", 0), (9, "a", -1)]},
        [(1, 1), (2, 2), (5, 4), (9, 5)],
    ),
    Case(
        "moved to a date",
        lambda f: days(f).at("date_add(t, x)").aggregate(n="count(*)"),
        {"s": [(day(0), "a", 2), (day(1), "a", 1), (day(2), "a", -1)]},
        [(day(2), 2)],
    ),
    Case(
        "a date and so many days",
        lambda f: days(f).at("t + INTERVAL 2 DAYS").select("x"),
        {"s": [(day(0), "a", 2)]},
        [(day(2), 2)],
    ),
    Case(
        "an instant and a span",
        lambda f: instants(f).at("t + INTERVAL 90 MINUTES").gate(),
        {"s": [(at(0), "a", 1), (at(30), "b", 2)]},
        [(at(90), "a", 1), (at(120), "b", 2)],
    ),
    Case(
        "an instant of another column",
        lambda f: instants(f, columns="e TIMESTAMP").at("greatest(t, e)").window("1 hour").aggregate(n="count(*)"),
        {"s": [(at(0), at(61)), (at(30), at(0)), (at(59), None)]},
        [(at(60) - MICROSECOND, span(at(0), at(60)), 2), (at(120) - MICROSECOND, span(at(60), at(120)), 1)],
    ),
    Case(
        "on a product, one column by itself; the other stays",
        lambda f: pairs(f).at(w="w + x").aggregate(n="count(*)"),
        {"s": [(1, 1, "a", 2), (1, 2, "a", 1), (1, 3, "a", -1), (2, 3, "b", 0), (2, 1, "b", None)]},
        [(1, 3, 2), (2, 3, 1)],
    ),
    Case(
        "on a product, both: a row that would go back in one is rejected",
        lambda f: pairs(f).at(V="v + 1", w="x").accumulate(n="count(*)"),
        {"s": [(0, 1, "a", 1), (0, 1, "a", 5), (1, 0, "b", 2), (1, 3, "b", 2)]},
        [(1, 1, 1), (1, 5, 2), (2, 2, 2)],
    ),
    Case(
        "a moved time has to fit into what comes after: a window ends after it",
        lambda f: tiny(f).at("e").window(10).aggregate(n="count(*)"),
        {"s": [(0, 119), (0, 120), (-128, -120), (-128, -121), (-128, 127)]},
        [(119, span(110, 120), 1), (-111, span(-120, -110), 1)],
    ),
    Case(
        "times that have no room for what is added",
        lambda f: tiny(f).at("CAST(t + 2 AS TINYINT)").select("e"),
        {"s": [(125, 1), (-128, 3)]},
        [(127, 1), (-126, 3)],
    ),
    Case(
        "processed, deduplicated and in sessions",
        lambda f: ends(f).at("e").deduplicate("k").session(3).aggregate(n="count(*)"),
        {"s": ENDS},
        [(3, span(1, 4), 1), (6, span(4, 7), 1)],
    ),
]
