"""Texts as instants: what Spark 4.3 reads in them with ANSI mode on, in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import duckdb
import pytest

from tidegate.flow.agreed.compile import Refused, compiled
from tidegate.flow.errors import NotSupported
from tidegate.flow.translate import admitted

FAILS = "fails"
#: Texts, what they are as TIMESTAMP, and as TIMESTAMP_NTZ if that is something else: Spark's answers.
TEXTS: dict[str, tuple[str, ...]] = {
    "2020": ("2020-01-01",),
    "2020-3": ("2020-03-01",),
    "2020-03": ("2020-03-01",),
    "2020-1-1": ("2020-01-01",),
    " 2020-01-01\t": ("2020-01-01",),
    "+2020-01-01": ("2020-01-01",),
    "002020-01-01": ("2020-01-01",),
    "2020-01-01 10": ("2020-01-01 10:00",),
    "2020-01-01 10:5": ("2020-01-01 10:05",),
    "2020-01-01T1:5:3": ("2020-01-01 01:05:03",),
    "2020-01-01 10:00:00.": ("2020-01-01 10:00",),
    "2020-01-01 10:00:00.1234567891": ("2020-01-01 10:00:00.123456",),
    "2020-01-01 10:00:00.5Z": ("2020-01-01 10:00:00.500000",),
    "2020-01-01 10:00:00  Z": ("2020-01-01 10:00",),
    "2020-01-01 10:00:00 UTC": ("2020-01-01 10:00",),
    "2020-01-01 10:00:00GMT": ("2020-01-01 10:00",),
    "2020-01-01 10:00:00UTC+2": ("2020-01-01 08:00", "2020-01-01 10:00"),
    "2020-01-01 10:00:00+02:00": ("2020-01-01 08:00", "2020-01-01 10:00"),
    "2020-01-01 10:00:00+2:3": ("2020-01-01 07:57", "2020-01-01 10:00"),
    "2020-01-01 10:00:00+2": ("2020-01-01 08:00", "2020-01-01 10:00"),
    "2020-01-01 10:00:00+0200": ("2020-01-01 08:00", "2020-01-01 10:00"),
    "2020-01-01 10:00:00+02:30:15": ("2020-01-01 07:29:45", "2020-01-01 10:00"),
    "2020-01-01 10:00:00-18:00": ("2020-01-02 04:00", "2020-01-01 10:00"),
    "9999-12-31 23:59:59.999999": ("9999-12-31 23:59:59.999999",),
    "0001-01-01": ("0001-01-01",),
    "2020-01-01 24:00:00": (FAILS,),
    "2020-01-01 23:60": (FAILS,),
    "2020-01-01 10:00:60": (FAILS,),
    "2020-01-01 10:00:00+25:00": (FAILS,),
    "2020-01-01 10:00:00+18:01": (FAILS,),
    "2020-01-01 10:00:00+02:60": (FAILS,),
    "2020-01-01 10:00:00+020": (FAILS,),
    "2020-01-01 10:00:00+02:": (FAILS,),
    "2020-01-01 10:00Z": (FAILS,),
    "2020-01-01 10:00+02:00": (FAILS,),
    "2020-01-01Z": (FAILS,),
    "2020-01-01T": (FAILS,),
    "2020-01-01 10:": (FAILS,),
    "2020-01-01t10:00": (FAILS,),
    "2020-01-01  10:00": (FAILS,),
    "2020-03-": (FAILS,),
    "2020-001-01": (FAILS,),
    "2020-02-30": (FAILS,),
    "2020-13-01": (FAILS,),
    "300000-01-01": (FAILS,),
    "20200101": (FAILS,),
    "202": (FAILS,),
    "": (FAILS,),
    "x": (FAILS,),
}


def computed(text: str) -> Any:
    """Compute an expression of constants: its value, or that it fails."""
    try:
        return duckdb.sql(f"SELECT {compiled(text, {}).sql} AS x").fetchall()[0][0]  # type: ignore[index]
    except duckdb.ConversionException:
        return FAILS


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_the_instant_that_spark_reads(text: str) -> None:
    """Years and months are instants, offsets move those that have a zone, and what is no time of day fails."""
    expected = [FAILS if said == FAILS else datetime.fromisoformat(said) for said in TEXTS[text]]
    assert computed(f"CAST('{text}' AS TIMESTAMP)") == expected[0]
    assert computed(f"CAST('{text}' AS TIMESTAMP_NTZ)") == expected[-1]
    assert computed(f"try_cast('{text}' AS TIMESTAMP)") == (None if expected[0] == FAILS else expected[0])


@pytest.mark.parametrize("text", ["-0001-01-01", "0000-03-01", "12020-01-01", "294247-01-10 04:00:54.775806"])
def test_years_of_any_sign_are_read(text: str) -> None:
    """Years before the first and after the last one that Python has are those of Spark, which begins none in 1582."""
    whole = compiled(f"unix_micros(CAST('{text}' AS TIMESTAMP))", {}).sql
    days = {"-0001-01-01": -719893, "0000-03-01": -719468, "12020-01-01": 3670687}
    micros = days.get(text, 106751991) * 86_400_000_000 + (0 if text in days else 4 * 3600_000_000 + 54_775_806)
    assert duckdb.sql(f"SELECT {whole}").fetchall() == [(micros,)]


def test_every_day_is_read() -> None:
    """Days are counted as Python counts them, over leap years and centuries."""
    for days in (0, 58, 59, 60, 11015, 11016, 47540, 47541, 2932896):
        day = datetime(1970, 1, 1) + timedelta(days=days)
        assert computed(f"TIMESTAMP'{day:%Y-%m-%d %H:%M:%S}'") == day


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("CAST('10:00' AS TIMESTAMP)", "its value depends on the day on which it is computed"),
        ("CAST('now' AS TIMESTAMP_NTZ)", "its value depends on the day on which it is computed"),
        ("CAST('Today' AS DATE)", "its value depends on the day on which it is computed"),
        (
            "CAST('2020-01-01 10:00:00 CET' AS TIMESTAMP)",
            "it has a time zone with a name; write an offset such as +02:00",
        ),
        ("CAST('294247-01-10 04:00:54.775807' AS TIMESTAMP)", "it is outside of the timestamps that DuckDB has"),
        ("CAST(s AS TIMESTAMP)", "only a literal can be cast from STRING to a timestamp"),
    ],
)
def test_what_is_not_known_to_be_an_instant_is_refused(text: str, why: str) -> None:
    """Words, times without a day and zones with names are refused when the flow starts."""
    with pytest.raises(Refused) as caught:
        compiled(text, {"s": "STRING"})
    assert caught.value.why == why


def test_a_literal_beside_an_instant_does_not_fail() -> None:
    """A condition with a literal that is an instant can be used to find rows; the other one shows its place."""
    assert not compiled("ts >= '2026-01-01'", {"ts": "TIMESTAMP"}).fails
    assert compiled("ts >= '2026-01-01 25:00'", {"ts": "TIMESTAMP"}).fails
    with pytest.raises(NotSupported, match=r"ts >= 'now'\n +\^"):
        admitted("i > 0 AND ts >= 'now'", {"i": "INT", "ts": "TIMESTAMP"})
