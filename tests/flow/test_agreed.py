"""What the table says to mean the same in Spark and in DuckDB, held against Spark on drawn values; failures too."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.flow.agreed_expressions import EXPRESSIONS, KNOWN, LAST_DIGITS, SCHEMA, TYPES, rows, translated

from tidegate.flow import sqltypes
from tidegate.flow.agreed.compile import compiled
from tidegate.flow.agreed.table import CASTS, FUNCTIONS, OPERATORS
from tidegate.flow.arrow import table_of

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

ROWS = 150
#: So many expressions in one query of Spark.
BATCH = 150


def by_duckdb(table: pa.Table, texts: Sequence[str]) -> dict[str, list[Any]]:
    """Compute expressions: for each row a list with the value, or None where it fails."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        # It pulls what may fail out of what tries it.
        connection.execute("SET disabled_optimizers = 'common_subexpressions'")
        connection.register("rows_", table.append_column("__row", pa.array(range(table.num_rows))))
        found = {}
        for text in texts:
            value = translated(text)
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
    """Rows, known ones and drawn ones, what Spark computes for them, and the types of that."""
    drawn = KNOWN + draw(ROWS)
    return drawn, *by_spark(spark, table_of(drawn, SCHEMA.columns), EXPRESSIONS)


@pytest.mark.spark
@pytest.mark.slow
def test_what_is_admitted_means_the_same(answers: Any) -> None:
    """Every admitted function, operator, cast and literal has Spark's values and types, and fails where Spark fails."""
    drawn, sparks, types = answers
    wrong = differences(by_duckdb(table_of(drawn, SCHEMA.columns), EXPRESSIONS), sparks, drawn)
    for text, type_ in types.items():
        if translated(text).type != type_:
            wrong.append(f"{text} is {translated(text).type}, in Spark {type_}")
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
    "a slice that counts otherwise": (
        FUNCTIONS,
        "slice(ARRAY<T>, INT, INT) ARRAY<T>",
        "list_slice({0}, {1}, {1} + {2} - 1)",
    ),
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
        return any(MARK in translated(text).sql for text in texts)


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


def in_columns(row: pa.Table, text: str) -> list[Any] | None:
    """Compute an expression on one row, with what it reads as columns; None if it fails."""
    value, query = compiled(text, TYPES, in_columns=True), "rows_"
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.register("rows_", row)
        for sql, name in value.lets:
            query = f"(SELECT *, {sql} AS {name} FROM {query})"
        try:
            found = connection.sql(f"SELECT {{'v': {value.sql}}} AS x FROM {query}").to_arrow_table()
        except duckdb.Error:
            return None
        return plain(found.column("x"))[0]  # type: ignore[no-any-return]


def test_expressions_in_columns_are_the_same() -> None:
    """What is read as columns gives what nested lambdas give, and fails where they fail, row by row."""
    texts = [text for text in EXPRESSIONS if compiled(text, TYPES, in_columns=True).lets]
    assert len(texts) > 10
    assert all(compiled(text, TYPES, in_columns=True).type == compiled(text, TYPES).type for text in EXPRESSIONS)
    table = table_of(KNOWN + draw(8), SCHEMA.columns)
    for text, nested in by_duckdb(table, texts).items():
        for i, wanted in enumerate(nested):
            assert same(in_columns(table.slice(i, 1), text), wanted), (text, table.slice(i, 1).to_pylist())


def test_what_is_not_always_computed_is_not_in_columns() -> None:
    """The branches of conditions and the bodies of lambdas are computed where they are needed only."""
    named = "transform(array(i / n), v -> v + v)[0]"
    assert compiled(named, TYPES, in_columns=True).lets
    for around in ("if(bo, {}, 0)", "coalesce(d, {})", "bo AND {} > 1", "CASE WHEN bo THEN {} END"):
        assert not compiled(around.format(named), TYPES, in_columns=True).lets
    assert not compiled("transform(arr, x -> transform(array(x / n), v -> v + v)[0])", TYPES, in_columns=True).lets
