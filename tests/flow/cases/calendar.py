"""Cases of windows by the calendar."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
from tests.flow.case import Case, days, instants, span

import tidegate as tg

MICROSECOND = timedelta(microseconds=1)


def counts(size: str, **options: Any) -> Any:
    """How many rows there are in each window."""
    return lambda f: instants(f).window(size, **options).aggregate(n="count(*)")


def at(*times: datetime) -> list[tuple[Any, ...]]:
    """A row at each of some times."""
    return [(t, "a", i) for i, t in enumerate(times)]


def window(start: datetime, end: datetime, n: int = 1) -> tuple[Any, ...]:
    """An answer: its time, the window, and how many rows there are in it."""
    return (end - MICROSECOND, span(start, end), n)


def size(rows: pa.Table) -> pa.Table:
    """How many rows there are."""
    return pa.table({"n": pa.array([rows.num_rows], pa.int64())})


def pairs(f: tg.Flow) -> tg.Stream:
    """A source whose time is a date and a number."""
    return f.source("s", "d DATE, v INT, x INT", time=("d", "v"))


D = datetime
CASES = [
    Case(
        "months are as long as they are",
        counts("1 month"),
        {"s": at(D(2024, 2, 1), D(2024, 2, 29, 23, 59), D(2024, 3, 1), D(1969, 12, 31, 23), D(2100, 2, 28))},
        [
            window(D(2024, 2, 1), D(2024, 3, 1), 2),
            window(D(2024, 3, 1), D(2024, 4, 1)),
            window(D(1969, 12, 1), D(1970, 1, 1)),
            window(D(2100, 2, 1), D(2100, 3, 1)),
        ],
    ),
    Case("months of no rows", counts("1 month"), {"s": []}, []),
    Case(
        "quarters that overlap, shifted",
        counts("3 months", every="2 months", offset="1 month"),
        {"s": at(D(2026, 1, 15), D(2026, 2, 15))},
        [
            window(D(2025, 12, 1), D(2026, 3, 1), 2),
            window(D(2026, 2, 1), D(2026, 5, 1)),
        ],
    ),
    Case(
        "years of dates",
        lambda f: days(f).window("1 year").aggregate(by="k", n="sum(x)"),
        {"s": [(date(2025, 12, 31), "a", 1), (date(2026, 1, 1), "a", 2), (date(2026, 12, 31), None, 4)]},
        [
            (date(2025, 12, 31), span(date(2025, 1, 1), date(2026, 1, 1)), "a", 1),
            (date(2026, 12, 31), span(date(2026, 1, 1), date(2027, 1, 1)), "a", 2),
            (date(2026, 12, 31), span(date(2026, 1, 1), date(2027, 1, 1)), None, 4),
        ],
    ),
    Case(
        "on a product, along one column",
        lambda f: pairs(f).window("1 month", over="d").aggregate(n="count(*)"),
        {"s": [(date(2026, 1, 1), 1, 0), (date(2026, 1, 31), 1, 0), (date(2026, 1, 31), 2, 0)]},
        [
            (date(2026, 1, 31), 1, span(date(2026, 1, 1), date(2026, 2, 1)), 2),
            (date(2026, 1, 31), 2, span(date(2026, 1, 1), date(2026, 2, 1)), 1),
        ],
    ),
    Case(
        "a function on each month",
        lambda f: instants(f).window("1 month").apply(size, "n BIGINT"),
        {"s": at(D(2026, 2, 1), D(2026, 2, 3), D(2026, 4, 1))},
        [window(D(2026, 2, 1), D(2026, 3, 1), 2), window(D(2026, 4, 1), D(2026, 5, 1))],
    ),
    Case(
        "the last row of each month",
        lambda f: instants(f).window("1 month", zone="Europe/Berlin").last(1).select("x", "window.start AS start"),
        {"s": at(D(2026, 1, 31, 22), D(2026, 1, 31, 23), D(2026, 2, 3))},
        [
            (D(2026, 1, 31, 23) - MICROSECOND, 0, D(2025, 12, 31, 23)),
            (D(2026, 2, 28, 23) - MICROSECOND, 2, D(2026, 1, 31, 23)),
        ],
    ),
    Case(
        "what cannot be merged, per month",
        lambda f: instants(f).window("1 month").aggregate(xs="collect_list(x)"),
        {"s": at(D(2026, 2, 1), D(2026, 2, 3))},
        [(D(2026, 3, 1) - MICROSECOND, span(D(2026, 2, 1), D(2026, 3, 1)), [0, 1])],
    ),
    Case(
        "weeks begin on Monday",
        counts("1 week", zone="UTC"),
        {"s": at(D(2026, 1, 4, 23), D(2026, 1, 5), D(2026, 1, 11))},
        [window(D(2025, 12, 29), D(2026, 1, 5)), window(D(2026, 1, 5), D(2026, 1, 12), 2)],
    ),
    Case(
        "days of a zone have 23 to 25 hours",
        counts("1 day", zone="Europe/Berlin"),
        {"s": at(D(2026, 3, 28, 23), D(2026, 3, 29, 21, 59), D(2026, 3, 29, 22), D(2026, 10, 25, 22, 30))},
        [
            window(D(2026, 3, 28, 23), D(2026, 3, 29, 22), 2),
            window(D(2026, 3, 29, 22), D(2026, 3, 30, 22)),
            window(D(2026, 10, 24, 22), D(2026, 10, 25, 23)),
        ],
    ),
    Case(
        "weeks and months of a zone",
        lambda f: (
            instants(f)
            .window("1 month", zone="America/New_York")
            .aggregate(n="count(*)")
            .select("n")
            .window("1 week", zone="Europe/Berlin")
            .aggregate(n="sum(n)")
        ),
        {"s": at(D(2026, 3, 1, 4, 59), D(2026, 3, 1, 5), D(2026, 4, 1, 3, 59))},
        [window(D(2026, 2, 22, 23), D(2026, 3, 1, 23)), window(D(2026, 3, 29, 22), D(2026, 4, 5, 22), 2)],
    ),
    Case(
        "a day that clocks go back to has begun already",
        counts("1 day", zone="America/Sao_Paulo"),
        # At midnight of the 18th of February 2018, clocks went back by an hour.
        {"s": at(D(2018, 2, 18, 1, 59), D(2018, 2, 18, 2, 30), D(2018, 2, 18, 3, 30))},
        [window(D(2018, 2, 17, 2), D(2018, 2, 18, 3), 2), window(D(2018, 2, 18, 3), D(2018, 2, 19, 3))],
    ),
    Case(
        "a day that was left out has no rows; longer windows go past it",
        counts("2 days", every="1 day", zone="Pacific/Apia"),
        # There was no 30th of December 2011.
        {"s": at(D(2011, 12, 30, 9, 59), D(2011, 12, 30, 10))},
        [
            window(D(2011, 12, 28, 10), D(2011, 12, 30, 10)),
            (D(2011, 12, 30, 10) - MICROSECOND, span(D(2011, 12, 29, 10), D(2011, 12, 30, 10)), 1),
            (D(2011, 12, 31, 10) - MICROSECOND, span(D(2011, 12, 30, 10), D(2011, 12, 31, 10)), 1),
            window(D(2011, 12, 30, 10), D(2012, 1, 1, 10)),
        ],
    ),
    Case(
        "times that the table of a zone has not are rejected, and months that the type cannot hold",
        counts("1 month", zone="Europe/Berlin"),
        {"s": at(D(1850, 1, 1), D(1950, 6, 1), D(2199, 12, 31, 23, 30), D(2300, 1, 1))},
        [window(D(1950, 5, 31, 23), D(1950, 6, 30, 23))],
    ),
    Case(
        "the first and the last month",
        lambda f: days(f).window("1 month").aggregate(n="count(*)"),
        {"s": [(date(1, 1, 1), "a", 1), (date(9999, 11, 30), "a", 1), (date(9999, 12, 1), "a", 1)]},
        [
            (date(1, 1, 31), span(date(1, 1, 1), date(1, 2, 1)), 1),
            (date(9999, 11, 30), span(date(9999, 11, 1), date(9999, 12, 1)), 1),
        ],
    ),
]
