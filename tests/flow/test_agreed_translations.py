"""Translations as they are, in a file and on a page; ``python -m`` and the name of this module writes both anew."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from tests.flow.agreed_expressions import EXPRESSIONS, translated

from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.agreed.table import CASTS, CHOICES, DATES, LISTS, NUMBERS, OPERATORS, TEXTS

TRANSLATIONS = Path(__file__).parent / "agreed_translations.txt"
PAGE = Path(__file__).parents[2] / "docs" / "local.md"
AGAIN = "run python -m tests.flow.test_agreed_translations"

#: Expressions, the types that they have in Spark, and what they give there.
LITERALS = {
    r"'\ud83d\ude00'": ("STRING", "😀"),
    r"'a\ud83dx\U0001F600'": ("STRING", "a?x😀"),
    r"'\U00110000'": ("STRING", "??"),
    "5 + 1.5": ("DECIMAL(3,1)", Decimal("6.5")),
    "5L + 1.5": ("DECIMAL(3,1)", Decimal("6.5")),
    "-5S + 1.5": ("DECIMAL(3,1)", Decimal("-3.5")),
    "1.5 * -5": ("DECIMAL(4,1)", Decimal("-7.5")),
    "1.5 + (5)": ("DECIMAL(3,1)", Decimal("6.5")),
    "00005 + 1.5": ("DECIMAL(3,1)", Decimal("6.5")),
    "-2147483648 + 1.5": ("DECIMAL(12,1)", Decimal("-2147483646.5")),
    "CAST(5 AS BIGINT) + 1.5": ("DECIMAL(22,1)", Decimal("6.5")),
    "bigint(5) * 1.5": ("DECIMAL(23,1)", Decimal("7.5")),
    "CAST(5 AS SMALLINT) + 1.5": ("DECIMAL(7,1)", Decimal("6.5")),
    "+5 + 1.5": ("DECIMAL(12,1)", Decimal("6.5")),
    "1.5 - - 5": ("DECIMAL(3,1)", Decimal("6.5")),
    "nullif(9007199254740993L, 1D)": ("BIGINT", 9007199254740993),
    "nullif(9007199254740993L, 9007199254740992D)": ("BIGINT", None),
    "nullif(5, 1.50)": ("INT", 5),
    "nullif(DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00')": ("DATE", None),
    "nullif(1.5, 1.50)": ("DECIMAL(2,1)", None),
    "unix_date(CAST('-2020-03-01' AS DATE))": ("INT", -1457258),
    "unix_date(CAST('1234567-01-01' AS DATE))": ("INT", 450196810),
    "CAST(CAST('12020-03-01' AS DATE) AS STRING)": ("STRING", "+12020-03-01"),
}


@pytest.mark.parametrize("text", LITERALS)
def test_literals_are_sparks(text: str) -> None:
    """Literals, and decimals beside them, have the values and the types that Spark 4.3 gives them."""
    value = translated(text)
    found = duckdb.sql(f"SELECT {value.sql} AS x").fetchall()[0][0]  # type: ignore[index]
    assert (value.type, found) == LITERALS[text]


def test_the_page_lists_what_is_admitted() -> None:
    """The list in the documentation is the one that the table gives."""
    assert listing() in PAGE.read_text(encoding="utf-8"), AGAIN


def test_translations_are_known() -> None:
    """What DuckDB is given for every expression is in a file: whoever changes a translation sees all that changes."""
    assert TRANSLATIONS.read_text(encoding="utf-8") == translations(), AGAIN


def translations() -> str:
    """Return every expression with its type and its form in DuckDB's SQL."""
    found = []
    for text in dict.fromkeys([*EXPRESSIONS, *LITERALS]):
        value = translated(text)
        fails = ", may fail" if value.fails else ""
        # Of a hundred letters that Java maps otherwise, one says enough.
        sql = re.sub(r"(MAP \{'ß': 'SS'), .*?\}|('\[ß)[^\]]*\]", r"\1\2 …", value.sql)
        found.append(f"{text}\n  {value.type}{fails}\n  {sql}\n".replace("\r", "\\r"))
    return "\n".join(found)


def test_names_of_parameters_are_no_columns() -> None:
    """All parameters of functions in translations begin as no column does."""
    names = re.findall(r"lambda ([^:]*):", translations())
    assert len(names) > 100
    assert all(name.strip().startswith("__λ") for found in names for name in found.split(","))


def listing() -> str:
    """Return what the table admits, for the documentation."""
    groups = {
        "Texts": TEXTS,
        "Numbers": NUMBERS,
        "Choices": CHOICES,
        "Dates and instants": DATES,
        "Arrays and maps": LISTS,
    }
    lines = []
    for title, group in groups.items():
        lines += [f"**{title}.** " + ", ".join(f"`{entry.replace('exactly ', '')}`" for entry in group) + ".", ""]
    lines += ["**Operators.** " + ", ".join(f"`{entry}`" for entry in OPERATORS) + ".", ""]
    lines += ["**Casts.** " + ", ".join(f"`{given}` to `{to}`" for given, to in CASTS) + ".", ""]
    records = {id(r): r for r in AGGREGATE_FUNCTIONS.values() if r.duckdb}.values()
    calls = [f"`{name}({', '.join(record.duckdb_takes)})`" for record in records for name in record.names]
    return "\n".join([*lines, "**Aggregates.** " + ", ".join(calls) + "."])


def write_page() -> None:
    """Put the list into the page."""
    begin, end = "<!-- admitted -->", "<!-- end of admitted -->"
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(begin)[0], page.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{listing()}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
    TRANSLATIONS.write_text(translations(), encoding="utf-8")
