"""What the table says to mean the same in Spark and in DuckDB, held against Spark on drawn values; failures too."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.flow.agreed_expressions import EXPRESSIONS, LAST_DIGITS, SCHEMA, rows

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.aggregates import aggregation
from tidegate.flow.agreed.compile import PREFIX, Compiler, Refused
from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.agreed.table import CASTS, CHOICES, DATES, FUNCTIONS, LISTS, NUMBERS, OPERATORS, TEXTS
from tidegate.flow.agreed.values import Value
from tidegate.flow.arrow import table_of
from tidegate.flow.duck import Duck
from tidegate.flow.errors import BadExpression, NotSupported
from tidegate.flow.translate import admitted, check_functions

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

TYPES = {column.name: column.type for column in SCHEMA.columns}
ROWS = 150
#: So many expressions in one query of Spark.
BATCH = 150


def compiled(text: str) -> Value:
    """Translate an expression by the table as it is now."""
    return Compiler(PREFIX + text, len(PREFIX), TYPES).value(parse_plain(text))


def by_duckdb(table: pa.Table, texts: Sequence[str]) -> dict[str, list[Any]]:
    """Compute expressions: for each row a list with the value, or None where it fails."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        # It pulls what may fail out of what tries it.
        connection.execute("SET disabled_optimizers = 'common_subexpressions'")
        connection.register("rows_", table.append_column("__row", pa.array(range(table.num_rows))))
        found = {}
        for text in texts:
            value = compiled(text)
            sql = f"SELECT TRY({{'v': {value.sql}}}) AS x FROM rows_ ORDER BY __row"
            found[text] = plain(connection.sql(sql).to_arrow_table().column("x"))
        return found


def by_spark(spark: SparkSession, table: pa.Table, texts: Sequence[str]) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Compute expressions with Spark in the same way; and their types."""
    frame = spark.createDataFrame(with_zone(table)).repartition(1).sortWithinPartitions("__row").cache()
    found: dict[str, list[Any]] = {}
    types = {}
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        selected = frame.select(*(tried(spark, text).alias(str(k)) for k, text in enumerate(batch)))
        for field, text in zip(selected.schema.fields, batch, strict=True):
            types[text] = sqltypes.canonical(sqltypes.of_spark(field.dataType["v"].dataType))
        answers = selected.toArrow()
        found |= {text: plain(answers.column(str(k))) for k, text in enumerate(batch)}
    frame.unpersist()
    return found, types


def tried(spark: SparkSession, text: str) -> Column:
    """Build the column that is NULL only where an expression fails.

    What may be NULL may be so in Arrow: a struct that never is, inside of one that failed, is not read back.
    """
    from pyspark.sql.classic.column import Column

    jvm: Any = spark._jvm
    utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
    whole = utils.expression(jvm.org.apache.spark.sql.functions.expr(f"struct(if(__row >= 0, {text}, NULL) AS v)"))
    return Column(utils.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(whole)))


def with_zone(table: pa.Table) -> pa.Table:
    """Return a table whose instants are in UTC, and whose rows are numbered."""
    for k, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(pa.timestamp("us", tz="UTC")))
    return table.append_column("__row", pa.array(range(table.num_rows)))


def plain(column: pa.ChunkedArray) -> list[Any]:
    """Return values of a column of structs, as lists of the one value in each."""
    found: list[Any] = []
    for chunk in column.chunks:
        inner = chunk.field("v")
        if pa.types.is_timestamp(inner.type):
            inner = inner.cast(pa.timestamp("us")).cast(pa.int64())
        elif pa.types.is_date(inner.type):
            inner = inner.cast(pa.int32())
        known = zip(chunk.is_valid().to_pylist(), inner.to_pylist(), strict=True)
        found += [[value] if valid else None for valid, value in known]
    return found


def same(a: Any, b: Any, *, loose: bool = False) -> bool:
    """Whether two values are the same: NaN is itself, and 0.0 is -0.0."""
    if isinstance(a, float) and isinstance(b, float):
        near = loose and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300)
        return a == b or (math.isnan(a) and math.isnan(b)) or near
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y, loose=loose) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return same(list(a.items()), list(b.items()), loose=loose)
    return type(a) is type(b) and a == b


def differences(mine: Mapping[str, list[Any]], sparks: Mapping[str, list[Any]], drawn: Sequence[Any]) -> list[str]:
    """Return where the two differ: the expression, the values that it reads, and what each gives."""
    found = []
    for text, values in mine.items():
        loose = bool(re.search(rf"\b({'|'.join(LAST_DIGITS)})\(", text))
        for row, a, b in zip(drawn, values, sparks[text], strict=True):
            if not same(a, b, loose=loose):
                read = {name: row[name] for name in TYPES if re.search(rf"\b{name}\b", text)}
                found.append(f"{text} on {read}: DuckDB {a}, Spark {b}")
                break
    return found


def draw(number: int) -> list[dict[str, Any]]:
    """Draw so many rows: each is an example, and all are looked at together."""
    found: list[dict[str, Any]] = []

    @settings(max_examples=number, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(rows)
    def collect(row: dict[str, Any]) -> None:
        found.append(row)

    collect()
    return found


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> tuple[list[dict[str, Any]], dict[str, list[Any]], dict[str, str]]:
    """Drawn rows, what Spark computes for them, and the types of that."""
    drawn = draw(ROWS)
    return drawn, *by_spark(spark, table_of(drawn, SCHEMA.columns), EXPRESSIONS)


@pytest.mark.spark
@pytest.mark.slow
def test_what_is_admitted_means_the_same(answers: Any) -> None:
    """Every admitted function, operator, cast and literal has Spark's values and types, and fails where Spark fails."""
    drawn, sparks, types = answers
    wrong = differences(by_duckdb(table_of(drawn, SCHEMA.columns), EXPRESSIONS), sparks, drawn)
    for text, type_ in types.items():
        if compiled(text).type != type_:
            wrong.append(f"{text} is {compiled(text).type}, in Spark {type_}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)
    assert all(any(value is None for value in sparks[text]) for text in ("i + j", "CAST(num AS INT)", "arr[n]"))


#: Wrong entries: each is what a plain translation would write.
MUTANTS = {
    "a cast that rounds": (CASTS, ("F", "I"), "{0}"),
    "an index from 1": (OPERATORS, "ARRAY<T>[INT]", "list_extract({0}, {1})"),
    "a division by zero that is infinite": (OPERATORS, "DOUBLE / DOUBLE", "{0} / {1}"),
    "capital letters one by one": (FUNCTIONS, "upper(STRING) STRING", "upper({0})"),
    "a reverse that keeps marks with letters": (FUNCTIONS, "reverse(STRING) STRING", "reverse({0})"),
    "a list that does not contain what it may": (
        FUNCTIONS,
        "array_contains(ARRAY<A>, A) BOOLEAN",
        "list_contains({0}, {1})",
    ),
    "an integer from any number": (CASTS, ("STRING", "I"), "{0}"),
    "a substring that counts otherwise": (FUNCTIONS, "substring(STRING, INT, INT) STRING", "substring({0}, {1}, {2})"),
    "decimals of the binary value": (FUNCTIONS, "round(exactly DOUBLE, number) DOUBLE", "round({0}, 2)"),
}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_entry_is_found(answers: Any, mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails when an entry of the table is wrong."""
    drawn, sparks, _ = answers
    table, entry, rule = MUTANTS[mutant]
    monkeypatch.setitem(table, entry, rule)
    assert differences(by_duckdb(table_of(drawn, SCHEMA.columns), EXPRESSIONS), sparks, drawn)


MARK = "'a mark'"


def used(table: dict[Any, Any], entry: Any, texts: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the translation of one of some texts uses an entry."""
    with monkeypatch.context() as patched:
        patched.setitem(table, entry, lambda _: MARK)
        return any(MARK in compiled(text).sql for text in texts)


def test_every_entry_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """No function, operator or cast is in the table without an expression above that uses it."""
    missing = [
        entry
        for entry in FUNCTIONS
        if not used(FUNCTIONS, entry, [t for t in EXPRESSIONS if f"{entry.split('(')[0]}(" in t], monkeypatch)
    ]
    missing += [entry for entry in OPERATORS if not used(OPERATORS, entry, EXPRESSIONS, monkeypatch)]
    missing += [" to ".join(entry) for entry in CASTS if not used(CASTS, entry, EXPRESSIONS, monkeypatch)]
    assert missing == []


#: What means something else in DuckDB, or may, and what is said about it.
REFUSED = {
    "dt - du": "DATE - DATE",
    "ts - tt": "TIMESTAMP - TIMESTAMP",
    "CAST(d AS STRING)": "CAST(DOUBLE AS STRING)",
    "CAST(d AS DECIMAL(10,2))": "CAST(DOUBLE AS DECIMAL(10,2))",
    "string(f)": "CAST(FLOAT AS STRING)",
    "hash(i)": "hash",
    "xxhash64(i)": "xxhash64",
    "initcap(s)": "initcap",
    "dec / 3": "DECIMAL(10,2) / INT",
    "s + 1": "+ of STRING and INT",
    "s = 1": "= of STRING and INT",
    "i || s": "INT where STRING is needed",
    "i | j & n": "| beside &",
    "s || u + 1": "+ beside ||",
    "i = j = n": "= of a condition",
    "s RLIKE u": "RLIKE with a pattern that is no literal",
    "s RLIKE '(?i)a'": "RLIKE with this pattern",
    "s RLIKE '\\\\bfoo'": "RLIKE with this pattern",
    "regexp_replace(s, 'a*', '-')": "regexp_replace",
    "regexp_replace(s, 'a', 'b', 2)": "regexp_replace(STRING, STRING, STRING, INT)",
    "regexp_extract(s, '(a)+')": "regexp_extract",
    "s ILIKE 'a'": "ilike",
    "s LIKE u": "LIKE with a pattern that is no literal",
    "s LIKE 'a\\\\b'": "LIKE with this pattern",
    "split(s, '')": "split",
    "split(s, ',', 2)": "split(STRING, STRING, INT)",
    "date_format(ts, 'w')": "date_format",
    "date_trunc('decade', ts)": "date_trunc",
    "ts + INTERVAL '1 2' DAY TO HOUR": "TIMESTAMP + this interval",
    "dt + INTERVAL 1 HOUR": "DATE + this interval",
    "CAST(s AS TIMESTAMP)": "CAST(STRING AS TIMESTAMP)",
    "CAST(arr AS ARRAY<STRING>)": "CAST(ARRAY<INT> AS ARRAY<STRING>)",
    "st < su": "STRUCT<a: INT, b: STRING> < STRUCT<a: INT, b: STRING>",
    "locate('a', s, 2)": "locate(STRING, STRING, INT)",
    "round(d, -1)": "round",
    "round(f, 2)": "round(FLOAT, INT)",
    "array_sort(arr, (x, y) -> x - y)": "array_sort(ARRAY<INT>, a function)",
    "trim(i)": "trim(INT)",
    "current_date": "the column current_date",
    "named_struct('a')": "named_struct with a name that has no value",
    "named_struct('a', 1, 'b')": "named_struct with a name that has no value",
    "named_struct()": "named_struct without fields",
    "named_struct('a', 1, 'A', 2)": "named_struct with fields of one name",
    "struct(x -> x)": "lambda",
    "1.5BD": "the literal 1.5BD",
    "NULL + NULL": "+ of NULL and NULL",
    "round(NULL, 2)": "round(NULL, INT)",
    "regexp_replace(s, '\\\\s$', '')": "regexp_replace",
    "try_cast(i / n AS INT)": "try_cast of what may fail by itself",
    "s AND bo": "STRING as a condition",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_may_differ_is_refused(text: str) -> None:
    """What is not in the table is refused by name, types included, with its place."""
    with pytest.raises(Refused) as caught:
        compiled(text)
    assert caught.value.what == REFUSED[text]
    start, end = caught.value.span
    assert 0 <= start < end <= len(text)


@pytest.mark.parametrize("text", ["xxhash64(i)", "timestampdiff(DAY, ts, tt)", "initcap(s)", "mode(i)"])
def test_a_function_is_refused_by_its_name(text: str) -> None:
    """What no types agree for is refused before types are known, and so is what only the engine may write."""
    check_functions("upper(s) || string(i)")
    with pytest.raises(NotSupported, match=f"has no {text.partition('(')[0]} that is known to mean"):
        check_functions(text)


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
    value = compiled(text)
    found = duckdb.sql(f"SELECT {value.sql} AS x").fetchall()[0][0]  # type: ignore[index]
    assert (value.type, found) == LITERALS[text]


def test_a_refusal_in_a_call_points_at_the_place() -> None:
    """What is refused in an argument of an aggregate is shown where it stands in the call."""
    calls = aggregation((), ["max(i) + sum(length(initcap(s))) AS x"], {}, SCHEMA)
    with pytest.raises(NotSupported, match=r"has no initcap .*\n  sum\(length\(initcap\(s\)\)\)\n             \^{7}\n"):
        Duck().aggregates([[]], SCHEMA, calls, [{}], ())


def test_a_refusal_points_at_the_place() -> None:
    """The message shows the expression, with carets below what is refused."""
    with pytest.raises(NotSupported) as caught:
        admitted("i + length(initcap(s))", TYPES, who="the local engine")
    assert str(caught.value) == (
        "the local engine has no initcap that is known to mean what Spark's does\n"
        "  i + length(initcap(s))\n"
        "             ^^^^^^^\n"
        "  hint: run this flow on Spark instead"
    )


@pytest.mark.parametrize(
    "text", ["max_by(s, i, 2)", "sum(s)", "avg(dec)", "max(m)", "median(dec)", "first(s) OVER (ORDER BY i)"]
)
def test_an_aggregate_of_other_arguments_is_refused(text: str) -> None:
    """An argument or a type for which a function is not known to agree is refused, not ignored."""
    with pytest.raises((NotSupported, BadExpression)):
        Duck().aggregates([[]], SCHEMA, aggregation((), [f"{text} AS x"], {}, SCHEMA), [{}], ())


def test_the_page_lists_what_is_admitted() -> None:
    """The list in the documentation is the one that the table gives."""
    page = (Path(__file__).parents[2] / "docs" / "local.md").read_text(encoding="utf-8")
    assert listing() in page, "run python -m tests.flow.test_agreed"


PLACE = Path(__file__).parent
TRANSLATIONS = PLACE / "agreed_translations.txt"


def test_translations_are_known() -> None:
    """What DuckDB is given for every expression is in a file: whoever changes a translation sees all that changes."""
    assert TRANSLATIONS.read_text(encoding="utf-8") == translations(), "run python -m tests.flow.test_agreed"


def translations() -> str:
    """Return every expression with its type and its form in DuckDB's SQL."""
    found = []
    for text in dict.fromkeys([*EXPRESSIONS, *LITERALS]):
        value = compiled(text)
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
    path = Path(__file__).parents[2] / "docs" / "local.md"
    begin, end = "<!-- admitted -->", "<!-- end of admitted -->"
    page = path.read_text(encoding="utf-8")
    before, after = page.split(begin)[0], page.split(end)[1]
    path.write_text(f"{before}{begin}\n{listing()}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
    TRANSLATIONS.write_text(translations(), encoding="utf-8")
