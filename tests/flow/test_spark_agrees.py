"""What is known of Spark without Spark: types, functions and values, held against Spark itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.case import assert_same_rows

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.aggregates import aggregation
from tidegate.flow.duck import Duck
from tidegate.flow.errors import NotSupported
from tidegate.flow.expressions import bind
from tidegate.flow.schema import parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCHEMA = parse_schema(
    "i INT, b BIGINT, ti TINYINT, d DOUBLE, f FLOAT, s STRING, u STRING, bo BOOLEAN, ts TIMESTAMP, dt DATE, "
    "dec DECIMAL(10,2), arr ARRAY<INT>, st STRUCT<a: INT, b: STRING>, m MAP<STRING, INT>, bi BINARY"
)
ROWS: list[dict[str, Any]] = [
    {
        "i": 7, "b": 3_000_000_000, "ti": 1, "d": 2.75, "f": 0.5, "s": "Tide gate", "u": "a,b,,c", "bo": True,
        "ts": datetime(2026, 3, 1, 13, 45, 59, 123456), "dt": date(2026, 2, 28), "dec": Decimal("12.50"),
        "arr": [3, 1, 2], "st": {"a": 1, "b": "x"}, "m": {"k": 1}, "bi": b"ab",
    },
    {
        "i": -7, "b": -1, "ti": -5, "d": -2.75, "f": -1.25, "s": "", "u": "x", "bo": False,
        "ts": datetime(1969, 12, 31, 23, 0), "dt": date(2024, 2, 29), "dec": Decimal("-0.99"),
        "arr": [], "st": {"a": None, "b": "y"}, "m": {}, "bi": b"",
    },
    dict.fromkeys(SCHEMA.names),
]  # fmt: skip

SCALARS = """
i | -i | i + 1 | i + b | i + ti | i - 1 | i * 2 | i * b | i + d | d + f | d * 1.5 | i * 1.5 | i / 2 | b / 2 | d / 2
i DIV 2 | b DIV 2 | i % 2 | i % 3 | d % 2 | dec + 1 | dec * dec | dec / 2 | ti + ti | f + f | f + i | i = 1
i <=> NULL | i > 1 AND bo | NOT bo | bo OR NULL | i IN (1, 7) | i BETWEEN 1 AND 9 | s LIKE 'T%' | i IS NULL
s IS NOT NULL | upper(s) | lower(s) | length(s) | trim(s) | ltrim(s) | rtrim(s) | s || 'x' | concat(s, u)
concat_ws('-', s, u) | substring(s, 2, 3) | substr(s, 1, 2) | left(s, 2) | right(s, 2) | replace(s, 'T', 'x')
regexp_replace(s, '[a-z]+', '_') | reverse(s) | repeat(s, 2) | lpad(s, 5, '0') | rpad(s, 5, '0') | instr(s, 'i')
locate('i', s) | startswith(s, 'T') | endswith(s, 'e') | contains(s, 'ga') | split(u, ',') | md5(s) | ascii(s)
s RLIKE '^T' | char_length(s) | abs(i) | abs(d) | ceil(d) | floor(d) | round(d) | round(d, 1) | sqrt(abs(i))
pow(i, 2) | exp(ti) | ln(abs(d)) | sign(d) | greatest(i, ti) | least(i, 3) | coalesce(i, 0) | nvl(i, 0)
ifnull(s, 'none') | nullif(i, 7) | if(bo, i, 0) | nvl2(i, 1, 2) | CASE WHEN i > 0 THEN 'pos' WHEN i < 0 THEN 'neg' END
CASE WHEN bo THEN 1 ELSE 0 END | isnull(i) | isnotnull(i) | mod(i, 4) | CAST(d AS INT) | CAST(dec AS INT)
CAST(i AS STRING) | CAST(i AS DOUBLE) | CAST(d AS STRING) | CAST(bo AS INT) | CAST(ts AS DATE) | CAST(ts AS STRING)
CAST(dt AS STRING) | CAST('12' AS INT) | CAST(dt AS TIMESTAMP) | int(d) | string(i) | double(i) | bigint(i) | year(ts)
month(ts) | day(dt) | dayofmonth(dt) | quarter(dt) | hour(ts) | minute(ts) | second(ts) | date_trunc('hour', ts)
date_trunc('month', ts) | to_date(ts) | date_add(dt, 1) | date_sub(dt, 1) | datediff(dt, DATE'2026-01-01')
last_day(dt) | ts + INTERVAL 1 HOUR | ts - INTERVAL 30 MINUTES | ts > TIMESTAMP'2026-01-01 00:00:00' | unix_micros(ts)
unix_date(dt) | arr[0] | size(array(i, 2)) | array_contains(arr, 1) | array(i, 2) | transform(arr, x -> x + 1)
flatten(array(arr, arr)) | filter(arr, x -> x > 1)
array_distinct(arr) | array_max(arr) | array_min(arr) | named_struct('x', i, 'y', s) | struct(i, s) | st.a | st.b
element_at(arr, 1) | 3000000000 | 1e3 | 1L | 'x' | TRUE | DATE'2026-01-01' | TIMESTAMP'2026-01-01 00:00:00'
CAST(NULL AS INT) | hash(s) | xxhash64(s) | weekofyear(dt) | dayofweek(dt) | dayofyear(dt) | make_date(2026, 1, 2)
timestamp_seconds(i) | initcap(s) | date_format(ts, 'yyyy') | m['k'] | array_sort(arr) | sequence(1, 3)
exists(arr, x -> x > 1) | from_unixtime(i) | bi | ~i | i & 1 | power(i, 2) | log2(abs(d)) | log10(abs(d)) | ucase(s)
lcase(s) | boolean(i) | try_cast(s AS INT) | array_position(arr, 1) | float(i) | smallint(ti) | tinyint(ti)
ceiling(d) | btrim(s) | signum(d) | sin(d) | date(ts)
"""

AGGREGATE_CALLS = """
count(*) | count(i) | count(DISTINCT s) | count(DISTINCT i, s) | sum(i) | sum(b) | sum(d) | sum(f) | sum(dec)
sum(ti) | avg(i) | avg(d) | mean(i) | min(i) | max(s) | min(ts) | max(dt) | max(dec) | min(bo) | first(s) | last(i)
first(s, true) | any_value(s) | first_value(i) | last_value(i) IGNORE NULLS | collect_list(i) | array_agg(s)
max_by(s, i) | min_by(i, d) | count_if(i > 0) | bool_and(bo) | every(bo) | bool_or(bo) | some(bo) | any(bo)
bit_and(i) | bit_or(i) | bit_xor(i) | stddev(i) | stddev_pop(d) | stddev_samp(d) | variance(d) | var_pop(i)
var_samp(i) | std(i) | corr(i, d) | covar_pop(i, d) | covar_samp(i, d) | median(i) | percentile(i, 0.25)
string_agg(s, ',') | sum(i) FILTER (WHERE bo) | count(*) FILTER (WHERE i > 0) | sum(DISTINCT i)
collect_list(DISTINCT i) | listagg(s, '+') | kurtosis(d) | skewness(d) | approx_count_distinct(s)
percentile_approx(i, 0.5) | mode(i) | collect_set(i) | regr_slope(d, i) | sum(i) / count(*) | max(i) - min(i)
max(st) | min(st) | max_by(s, st) | min(arr) | max_by(i, dt) | count(i, s)
coalesce(sum(i), 0) | sum(i * 2) + count(s) | round(avg(d), 2) | upper(max(s))
"""


def split_texts(text: str) -> list[str]:
    """Split at single bars; a double one is an operator."""
    joined = " | ".join(text.strip().splitlines()).replace("||", "\0")
    return [part.strip().replace("\0", "||") for part in joined.split("|") if part.strip()]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    ddl = ", ".join(f"{c.name} {c.type}" for c in SCHEMA.columns)
    rows = [tuple(_with_structs(row).values()) for row in ROWS]
    return spark.createDataFrame(rows, ddl).repartition(1).sortWithinPartitions("i").cache()


def _with_structs(row: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v.values()) if k == "st" and v is not None else v for k, v in row.items()}


@pytest.fixture
def without_ansi(spark: SparkSession) -> Iterator[None]:
    """Let Spark answer NULL where it would otherwise fail."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield
    spark.conf.set("spark.sql.ansi.enabled", before)


def by_spark(frame: DataFrame, texts: list[str]) -> DataFrame:
    """Compute all texts in one query: column 0, column 1, and so on."""
    return frame.selectExpr(*(f"{text} AS `{i}`" for i, text in enumerate(texts)))


def check_types(frame: DataFrame) -> None:
    bound: list[Any] = [bind(text, SCHEMA) for text in split_texts(SCALARS)]
    scalars = by_spark(frame, [e.sql for e in bound]).schema
    outputs = [aggregation((), [f"{text} AS x"], {}, SCHEMA).outputs[0] for text in split_texts(AGGREGATE_CALLS)]
    aggregates = by_spark(frame, [e.sql for e in outputs]).schema
    pairs = [*zip(bound, scalars, strict=True), *zip(outputs, aggregates, strict=True)]
    types = [(e.sql, e.type, sqltypes.canonical(field.dataType.simpleString())) for e, field in pairs]
    wrong = [f"{sql}: {derived}, in Spark {actual}" for sql, derived, actual in types if derived not in (None, actual)]
    assert not wrong, "\n".join(wrong)
    assert sum(derived is not None for _, derived, _ in types) > 150


def test_derived_types_are_those_of_spark(frame: DataFrame) -> None:
    """Wherever a type is derived without Spark, it is Spark's."""
    check_types(frame)


@pytest.mark.usefixtures("without_ansi")
def test_derived_types_are_those_of_spark_without_ansi(frame: DataFrame) -> None:
    """Wherever a type is derived without Spark, it is Spark's with ANSI mode off as well."""
    check_types(frame)


def test_all_of_sparks_aggregate_functions_are_known(spark: SparkSession) -> None:
    """The list of aggregate functions has all that Spark has."""
    registry = spark._jsparkSession.sessionState().functionRegistry()
    names = registry.listFunction()
    found = set()
    for k in range(names.size()):
        name = names.apply(k)
        info = registry.lookupFunction(name)
        if info.isDefined() and info.get().getGroup() == "agg_funcs":
            found.add(name.funcName())
    assert len(found) > 50
    assert sorted(found - AGGREGATE_FUNCTIONS.keys()) == []


def compare(frame: DataFrame, computed: dict[str, list[tuple[Any, ...]]], *, at_least: int) -> None:
    """Compare what the reference computed for some texts with what Spark computes."""
    rows = [tuple(_plain(v) for v in row) for row in by_spark(frame, list(computed)).collect()]
    wrong = []
    for i, (text, got) in enumerate(computed.items()):
        try:
            assert_same_rows([_loose(row) for row in got], [_loose((row[i],)) for row in rows])
        except AssertionError as error:
            wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)
    assert len(computed) >= at_least


def test_the_reference_computes_what_spark_computes(frame: DataFrame) -> None:
    """Every scalar that the reference accepts has Spark's values, on ordinary, negative, empty and null values."""
    duck = Duck()
    computed = {}
    for text in split_texts(SCALARS):
        bound = bind(text, SCHEMA)
        with suppress(NotSupported):
            computed[bound.sql] = duck.scalars(ROWS, SCHEMA, [bound])
    compare(frame, computed, at_least=160)


def test_the_reference_aggregates_as_spark_aggregates(frame: DataFrame) -> None:
    """Every aggregate that the reference accepts has Spark's value, on rows in a given order."""
    duck = Duck()
    computed = {}
    rows = sorted(ROWS, key=lambda row: (row["i"] is not None, row["i"] or 0))
    for text in split_texts(AGGREGATE_CALLS):
        aggregates = aggregation((), [f"{text} AS x"], {}, SCHEMA)
        with suppress(NotSupported):
            computed[aggregates.outputs[0].sql] = duck.aggregates([rows], SCHEMA, aggregates, [{}], ())
    compare(frame, computed, at_least=50)


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return {k: _plain(v) for k, v in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return bytes(value) if isinstance(value, bytearray) else value


def _loose(value: Any) -> Any:
    """Numbers of open types are compared by value."""
    if isinstance(value, tuple | list):
        return type(value)(map(_loose, value))
    if isinstance(value, dict):
        return {k: _loose(v) for k, v in value.items()}
    return float(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value
