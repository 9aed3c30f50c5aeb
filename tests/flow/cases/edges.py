"""Cases of times at the edges of their types: rows whose times, or windows, no type can hold take no part."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from tests.flow.case import Case, span
from tests.flow.cases.process import Visit

import tidegate as tg

FIRST, LAST = date.min, date.max
BEGINNING, END = datetime.min, datetime.max
HOUR, WEEK = timedelta(hours=1), timedelta(days=7)
FAR, MOST = 2**62, 2**63
TENS = (FAR - 10) // 10 * 10


def times(type_: str) -> Any:
    """A source whose time is of a type."""
    return lambda f, name="s", column="x": f.source(name, {"t": type_, "k": "STRING", column: "INT"}, time="t")


def at(*instants: Any) -> list[tuple[Any, ...]]:
    """A row at each of some times."""
    return [(t, "a", i) for i, t in enumerate(instants)]


tiny, big, days, instants = (times(type_) for type_ in ("TINYINT", "BIGINT", "DATE", "TIMESTAMP"))


def windowed(f: tg.Flow) -> tg.Stream:
    """A window after a window: the ends of the first have to fit into the second."""
    return tiny(f).window(4).aggregate(n="count(*)").window(10).aggregate(n="sum(n)")


CASES = [
    Case(
        "without windows, the first and the last time are times like others",
        lambda f: tiny(f).aggregate(n="count(*)"),
        {"s": at(-128, 127, 127)},
        [(-128, 1), (127, 2)],
    ),
    Case(
        "without windows, so are those of a BIGINT",
        lambda f: big(f).aggregate(n="count(*)"),
        {"s": at(-MOST, 0, MOST - 1)},
        [(-MOST, 1), (0, 1), (MOST - 1, 1)],
    ),
    Case(
        "windows that begin before the first time, or end after the last",
        lambda f: tiny(f).window(10).aggregate(n="count(*)"),
        {"s": at(-128, -121, -120, 0, 119, 120, 127)},
        [(-111, span(-120, -110), 1), (9, span(0, 10), 1), (119, span(110, 120), 1)],
    ),
    Case(
        "windows that overlap: all of a row's windows have to fit",
        lambda f: tiny(f).window(10, every=5, offset=1).aggregate(n="count(*)"),
        {"s": at(-120, -119, 120, 121, 126)},
        [(-115, span(-124, -114), 1), (-110, span(-119, -109), 1), (120, span(111, 121), 1), (125, span(116, 126), 1)],
    ),
    Case(
        "windows with lateness: it has to fit too",
        lambda f: tiny(f).window(10, lateness=20).aggregate(n="count(*)"),
        {"s": at(99, 100, 127)},
        [(99, span(90, 100), 1, 0)],
    ),
    Case(
        "windows after windows",
        windowed,
        {"s": at(-120, -119, 115, 116, 120)},
        [(-111, span(-120, -110), 2), (119, span(110, 120), 2)],
    ),
    Case(
        "sessions that end after the last time",
        lambda f: tiny(f).session(5).aggregate(n="count(*)"),
        {"s": at(-128, 121, 122, 123, 127)},
        [(-124, span(-128, -123), 1), (126, span(121, 127), 2)],
    ),
    Case(
        "periods that end after the last time",
        lambda f: tiny(f).accumulate(n="count(*)", every=10),
        {"s": at(-128, -120, 119, 120, 127)},
        [(-121, 1), (-111, 2), (119, 3)],
    ),
    Case(
        "copies that exit after the last time",
        lambda f: tiny(f).process(Visit(), by="k", schema="y INT", forget=5),
        {"s": at(-128, 121, 122, 123, 124)},
        [(-128, "a", 1), (-124, "a", -1), (121, "a", 1), (122, "a", 2), (123, "a", 3), (127, "a", -3)],
    ),
    Case(
        "silences over a BIGINT leave room to compute in",
        lambda f: big(f).accumulate(by="k", n="count(*)", forget=10),
        {"s": at(-MOST, -FAR, -FAR + 9, FAR - 20, FAR - 10, MOST - 1)},
        [(-FAR, "a", 1), (-FAR + 9, "a", 2), (FAR - 20, "a", 1), (FAR - 10, "a", 1)],
    ),
    Case(
        "periods of the last row that end after the last time",
        lambda f: tiny(f).select().last(1, every=10),
        {"s": at(-128, -120, 119, 120, 127)},
        [(-121, 1), (-111, 1), (119, 1)],
    ),
    Case(
        "windows over a BIGINT leave room to compute in",
        lambda f: big(f).window(10).aggregate(n="count(*)"),
        {"s": at(-MOST, -FAR, 0, FAR - 10, FAR, MOST - 1)},
        [(9, span(0, 10), 1), (TENS + 9, span(TENS, TENS + 10), 1)],
    ),
    Case(
        "sessions over a BIGINT: so does the distance of two times",
        lambda f: big(f).session(5).aggregate(n="count(*)"),
        {"s": at(-MOST, -FAR, FAR - 6, MOST - 1)},
        [(-FAR + 4, span(-FAR, -FAR + 5), 1), (FAR - 2, span(FAR - 6, FAR - 1), 1)],
    ),
    Case(
        "what lies so far apart is not within",
        lambda f: big(f).join_asof(big(f, "r", "y"), on="k", within=5),
        {"s": at(FAR - 1, -FAR), "r": [(-FAR, "a", 7), (-MOST, "a", 8)]},
        [(-FAR, "a", 1, 7)],
    ),
    Case(
        "a row that would settle after the last time is not taken",
        lambda f: tiny(f).interval_join(tiny(f, "r", "y"), on="k", lower=-5, upper=10, how="full"),
        {"s": at(-128, 117, 118), "r": [(120, "a", 7), (122, "a", 8), (123, "a", 9)]},
        [(-118, "a", 0, None), (120, "a", 1, 7), (122, "a", 1, 8)],
    ),
    Case(
        "bounds that reach beyond all times",
        lambda f: big(f).interval_join(big(f, "r", "y"), on="k", lower=-(2**60), upper=2**60),
        {"s": at(FAR - 1, -FAR, 3), "r": [(-FAR, "a", 7), (5, "a", 9)]},
        [(-FAR, "a", 1, 7), (5, "a", 2, 9)],
    ),
    Case(
        "rows are let through within a span that ends after the last time",
        lambda f: tiny(f).deduplicate(by="k", within=100),
        {"s": at(-128, 100, 120, 127)},
        [(-128, "a", 0), (100, "a", 1)],
    ),
    Case(
        "windows over dates",
        lambda f: days(f).window("7 days").aggregate(n="count(*)"),
        {"s": at(FIRST, FIRST + WEEK, LAST - WEEK, LAST)},
        # Weeks begin on Thursdays, as the epoch did.
        [
            (date(1, 1, 10), span(date(1, 1, 4), date(1, 1, 11)), 1),
            (date(9999, 12, 29), span(date(9999, 12, 23), date(9999, 12, 30)), 1),
        ],
    ),
    Case(
        "windows over instants",
        lambda f: instants(f).window("1 hour").aggregate(n="count(*)"),
        {"s": at(BEGINNING, END - HOUR, END)},
        [
            (BEGINNING + HOUR - timedelta(microseconds=1), span(BEGINNING, BEGINNING + HOUR), 1),
            (END - HOUR, span(datetime(9999, 12, 31, 22), datetime(9999, 12, 31, 23)), 1),
        ],
    ),
    Case(
        "pairs of rows in such windows",
        lambda f: tiny(f).window_join(tiny(f, "r", "y"), on="k", size=10),
        {"s": at(119, 127), "r": [(111, "a", 5), (121, "a", 6)]},
        [(119, "a", 0, 5)],
    ),
]
