"""Results in PostgreSQL, on a server that is started for these tests."""

from __future__ import annotations

import json
import logging
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.functions import expr
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType
from tests.spark.deaths import Killer, run_dying
from tests.spark.place import DDL, Place, counts
from tests.spark.postgres import PASSWORD, Database, binaries, server

import tidegate as tg
from tidegate.engine.outputs import Sender
from tidegate.engine.outputs.postgres import Postgres
from tidegate.engine.outputs.refusals import watched
from tidegate.engine.storage.errors import BadCheckpoint, RowRefused, SinkFailed
from tidegate.flow.errors import BadArgument, NotSupported
from tidegate.spark.backend import SparkBackend
from tidegate.spark.hadoop import files_at
from tidegate.spark.relation import frame_of
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.batches import arrow_batches
from tidegate.spark.streaming.host import SparkResults, fields_of
from tidegate.spark.streaming.start import prepare

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'psycopg[binary]'")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(binaries() is None, reason="no PostgreSQL server is installed (Debian: postgresql)"),
]

SENDER = Sender("checkpoint", "flow", "out", ("t",))
COUNTS = StructType([StructField("t", LongType()), StructField("k", StringType()), StructField("n", LongType())])


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """A server with nothing in it."""
    with server() as dsn:
        yield Database(dsn)


def test_a_table_has_the_latest_row_of_each_key(place: Place, database: Database) -> None:
    """With a key, later answers replace earlier ones, also within a step, over restarts."""
    flow = tg.Flow("balances")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.accumulate(by="k", total="sum(x)"))
    outputs = {"out": database.output("balances", key="k")}
    place.feed.add((1, "a", 1), (1, None, 5), (2, "a", 2), (3, "b", 3), (4, "c", 0))
    place.run(flow, outputs=outputs)
    assert database.sql("SELECT k, t, total FROM balances") == [("a", 2, 3), ("b", 3, 3), (None, 1, 5)]
    place.feed.add((4, "a", 4), (4, None, 1))
    place.feed.add((9, "z", 9))
    place.run(flow, outputs=outputs)
    expected = [("a", 4, 7), ("b", 3, 3), ("c", 4, 0), (None, 4, 6)]
    assert database.sql("SELECT k, t, total FROM balances") == expected
    assert database.sql("SELECT target, flow, sink, step FROM tidegate_steps WHERE target = 'balances'") == [
        ("balances", "balances", "out", 2)
    ]


@pytest.mark.parametrize(
    "point", ["handed over", *(pytest.param(p, marks=pytest.mark.slow) for p in ("during commit", "publishing"))]
)
def test_rows_are_added_once_whatever_point_a_run_dies_at(
    spark: SparkSession, tmp_path: Path, database: Database, point: str
) -> None:
    """Without a key nothing but the number of the step keeps a row from being there twice."""
    table = f"added_{point.replace(' ', '_')}"
    cuts = [[(1, "a", 1), (2, "b", 1)], [(2, "a", 1), (3, "b", 1)], [(3, "b", 1), (4, "c", 1)]]
    run_dying(spark, counts(delay=0).plan, database.output(table), tmp_path, cuts, Killer(point, 1))
    assert database.sql(f"SELECT * FROM {table}") == [(1, "a", 1), (2, "a", 1), (2, "b", 1), (3, "b", 2)]


@pytest.mark.slow
def test_a_sink_that_forgets_the_number_of_a_step_is_caught(
    spark: SparkSession, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it a step is written twice, and the test above would see it."""
    real, calls = Postgres.deliver, count()
    monkeypatch.setattr(Postgres, "deliver", lambda self, sender, rows, step: real(self, sender, rows, next(calls)))
    cuts = [[(1, "a", 1), (2, "b", 1)], [(3, "b", 1)]]
    run_dying(spark, counts(delay=0).plan, database.output("twice"), tmp_path, cuts, Killer("handed over", 1))
    assert database.sql("SELECT * FROM twice") == [(1, "a", 1), (2, "b", 1), (2, "b", 1)]


def test_the_table_does_not_depend_on_the_cuts(spark: SparkSession, database: Database) -> None:
    """For each key the row with the greatest time, and the greatest of those, in whatever steps and order they come."""
    rng = random.Random(7)
    rows = [(i // 4, rng.choice("abc"), rng.choice([None, *range(9)])) for i in range(20)]
    tables = []
    for cut in range(3):
        rng.shuffle(rows)
        output, at = database.output(f"cuts_{cut}", key="k"), rng.randint(5, 15)
        first, second = (spark.createDataFrame(part, DDL) for part in (rows[:at], rows[at:]))
        output.claim(SENDER, fields_of(first.schema))
        output.deliver(SENDER, SparkResults(first), 0)
        output.deliver(SENDER, SparkResults(second), 1)
        tables.append(database.sql(f"SELECT k, t, x FROM cuts_{cut}"))
    last = {k: max(((t, x is None, x or 0) for t, other, x in rows if other == k)) for _, k, _ in rows}
    latest = sorted((k, t, None if null else x) for k, (t, null, x) in last.items())
    assert tables == [latest] * 3


def test_values_of_every_type_arrive(spark: SparkSession, database: Database) -> None:
    """Numbers, texts with anything in them, instants with a zone and without, nested values as JSON; and nulls."""
    values = {
        "t": ("1", 1),
        "yes": ("true", True),
        "tiny": ("CAST(7 AS TINYINT)", 7),
        "large": ("9223372036854775807L", 9223372036854775807),
        "price": ("CAST('-12345678901234567890.50' AS DECIMAL(38, 2))", Decimal("-12345678901234567890.50")),
        "ratio": ("CAST('-Infinity' AS DOUBLE)", float("-inf")),
        "text": (r"'tab\t, line\n, \\N, \'quote\' and ü'", "tab\t, line\n, \\N, 'quote' and ü"),
        "bytes": ("X'00ff'", b"\x00\xff"),
        "day": ("DATE '0099-12-31'", date(99, 12, 31)),
        "at": ("TIMESTAMP '2026-01-01 00:00:00.000001+02:00'", datetime(2025, 12, 31, 22, 0, 0, 1, UTC)),
        "local": ("TIMESTAMP_NTZ '2026-01-01 00:00:00.000001'", datetime(2026, 1, 1, 0, 0, 0, 1)),
        "several": ("array('a', NULL, '{,}')", ["a", None, "{,}"]),
        "pair": ("struct(1 AS a, TIMESTAMP '2026-01-01 00:00:00Z' AS b)", {"a": 1, "b": "2026-01-01T00:00:00.000000Z"}),
        "map": ("map('k', array(1, 2))", {"k": [1, 2]}),
        "wall": ("struct(TIMESTAMP_NTZ '2026-01-01 00:00:00.000001' AS a)", {"a": "2026-01-01T00:00:00.000001"}),
    }
    full = spark.sql("SELECT " + ", ".join(f"{sql} AS `{name}`" for name, (sql, _) in values.items()))
    empty = full.selectExpr("t + 1 AS t", *(f"IF(t = 0, `{name}`, NULL) AS `{name}`" for name in full.columns[1:]))
    output = database.output("types")
    output.claim(SENDER, fields_of(full.schema))
    output.deliver(SENDER, SparkResults(full.unionAll(empty)), 0)
    first, second = sorted(database.sql("SELECT * FROM types"), key=lambda row: row[0])
    assert first == tuple(value for _, value in values.values())
    assert second == (2, *[None] * (len(values) - 1))
    with pytest.raises(NotSupported, match="column span is of type interval day"):
        output.claim(SENDER, fields_of(spark.sql("SELECT 1 AS t, INTERVAL 1 DAY AS span").schema))


def test_rows_leave_spark_in_batches(spark: SparkSession) -> None:
    """No batch holds all rows, and none is lost."""
    with spark_runtime(spark).settings(spark__sql__execution__arrow__maxRecordsPerBatch="100"):
        batches = list(arrow_batches(spark.range(1000).repartition(3)))
    assert max(batch.num_rows for batch in batches) <= 100
    assert sorted(value for batch in batches for value in batch.column(0).to_pylist()) == list(range(1000))


def test_a_table_that_does_not_fit_is_refused_at_the_start(place: Place, database: Database) -> None:
    """A column that is missing, a key without an index, a key of no column, a table of another checkpoint."""
    database.sql("CREATE TABLE narrow (t integer, k text)")
    with pytest.raises(BadCheckpoint, match=r"without n\n.*sink 'out'"):
        place.start(counts(), outputs={"out": database.output("narrow")})
    database.sql("ALTER TABLE narrow ADD n bigint, ADD more text DEFAULT 'x'")
    with pytest.raises(BadCheckpoint, match=r"a unique index on \(t, k\)") as unfit:
        place.start(counts(), outputs={"out": database.output("narrow", key=["t", "k"])})
    with pytest.raises(BadArgument, match="expected a key of columns"):
        place.start(counts(), outputs={"out": database.output("narrow", key="page")})
    database.sql(unfit.value.hint)
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts(), outputs={"out": database.output("narrow", key=["t", "k"])})
    assert database.sql("SELECT * FROM narrow") == [(1, "a", 1, "x")]
    other = files_at(place.spark, str(place.path / "other"))
    with pytest.raises(BadCheckpoint, match="narrow belongs to sink 'out' of flow 'counts' with another checkpoint"):
        prepare(counts().plan, place.spark, {}, {"out": database.output("public.narrow")}, other)


def test_a_column_that_would_change_values_is_refused_at_the_start(database: Database) -> None:
    """PostgreSQL would round, cut off or fail behind the commit; a wider column is fine, and the hint makes one fit."""
    schema = StructType(
        [StructField("t", LongType()), StructField("d", DecimalType(10, 2)), StructField("s", StringType())]
    )
    database.sql("CREATE TABLE wide (t numeric, d numeric(12,2), s varchar)")
    database.output("wide").claim(SENDER, fields_of(schema))
    for number, (column, type_) in enumerate([("t", "integer"), ("d", "numeric(12,1)"), ("s", "varchar(3)")]):
        table = f"unfit_{number}"
        database.sql(f"CREATE TABLE {table} (t bigint, d numeric(10,2), s text)")
        database.sql(f"ALTER TABLE {table} ALTER {column} TYPE {type_}")
        with pytest.raises(BadCheckpoint, match=f"expected column {column} of {table} to take every") as unfit:
            database.output(table).claim(SENDER, fields_of(schema))
        database.sql(unfit.value.hint.partition(";")[0])
        database.output(table).claim(SENDER, fields_of(schema))


#: What a table `{0}` with the columns t, k and n is given, and whether it then has one row for each key, which is k.
INDICES = {
    "CREATE UNIQUE INDEX ON {0} (k)": False,
    "CREATE UNIQUE INDEX ON {0} (k) NULLS NOT DISTINCT": True,
    "CREATE UNIQUE INDEX ON {0} (k) INCLUDE (n) NULLS NOT DISTINCT": True,
    "ALTER TABLE {0} ADD PRIMARY KEY (k)": True,
    "CREATE UNIQUE INDEX ON {0} (k, n) NULLS NOT DISTINCT": False,
    "CREATE UNIQUE INDEX ON {0} (k, (n % 2)) NULLS NOT DISTINCT": False,
    "CREATE UNIQUE INDEX ON {0} (lower(k)) NULLS NOT DISTINCT": False,
    "CREATE UNIQUE INDEX ON {0} (k) NULLS NOT DISTINCT WHERE n > 0": False,
    "ALTER TABLE {0} ADD UNIQUE NULLS NOT DISTINCT (k) DEFERRABLE": False,
}


def test_an_index_serves_a_key_or_is_refused_at_the_start(database: Database) -> None:
    """What is accepted is what PostgreSQL takes for ON CONFLICT, and in which a null is a key like others."""
    for i, (statement, fits) in enumerate(INDICES.items()):
        database.sql(f"CREATE TABLE index_{i} (t bigint, k text, n bigint)")
        database.sql(statement.format(f"index_{i}"))
        output = database.output(f"index_{i}", key="k")
        if fits:
            output.claim(SENDER, fields_of(COUNTS))
            continue
        with pytest.raises(BadCheckpoint, match=rf"a unique index on \(k\) .* index_{i} has none") as unfit:
            output.claim(SENDER, fields_of(COUNTS))
        database.sql(unfit.value.hint)
        output.claim(SENDER, fields_of(COUNTS))


def test_null_groups_do_not_pile_up_in_a_table_of_the_users(spark: SparkSession, database: Database) -> None:
    """After what the hint says, a null group has one row, as the others have; where no null may be, it is refused."""
    steps = [spark.createDataFrame([(t, "a", t), (t, None, t)], COUNTS) for t in (1, 2)]
    database.sql("CREATE TABLE bare (t bigint, k text, n bigint)")
    output = database.output("bare", key="k")
    with pytest.raises(BadCheckpoint) as unfit:
        output.claim(SENDER, fields_of(COUNTS))
    database.sql(unfit.value.hint)
    output.claim(SENDER, fields_of(COUNTS))
    for number, rows in enumerate(steps):
        output.deliver(SENDER, SparkResults(rows), number)
    assert database.sql("SELECT * FROM bare") == [(2, "a", 2), (2, None, 2)]
    assert "NULL in the key" not in {refusal.what for refusal in output.refuses(fields_of(COUNTS))}
    database.sql("CREATE TABLE filled (t bigint, k text PRIMARY KEY, n bigint)")
    _refuses_null_keys(spark, database.output("filled", key="k"))


def _watched(rows: DataFrame, output: Any) -> tuple[DataFrame, Callable[[], None]]:
    backend = SparkBackend(spark_runtime(rows.sparkSession))
    found, check = watched(backend.relation(rows), output.refuses(fields_of(rows.schema)))
    return frame_of(found), check


def _refuses_null_keys(spark: SparkSession, output: Any) -> None:
    output.claim(SENDER, fields_of(COUNTS))
    found, check = _watched(spark.createDataFrame([(1, None, 1)], COUNTS), output)
    found.write.format("noop").mode("overwrite").save()
    with pytest.raises(RowRefused, match="values of k that the output can take, got 1 rows with NULL in the key"):
        check()


def test_a_server_that_takes_each_null_for_another_key_has_none(
    spark: SparkSession, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before PostgreSQL 15, a key is of columns that have no null, in tables that are made too."""
    monkeypatch.setattr(sys.modules[Postgres.__module__], "_NULL_KEYS", 999_999)
    _refuses_null_keys(spark, database.output("old_made", key="k"))
    database.sql("CREATE TABLE old (t bigint, k text, n bigint)")
    with pytest.raises(BadCheckpoint, match="a unique index on") as unfit:
        database.output("old", key="k").claim(SENDER, fields_of(COUNTS))
    for statement in unfit.value.hint.split("; "):
        database.sql(statement)
    _refuses_null_keys(spark, database.output("old", key="k"))


@pytest.mark.slow
def test_rows_that_were_not_taken_are_written_at_the_next_start(place: Place, database: Database) -> None:
    """A step that is committed when the database fails is not lost, and not computed again."""
    place.feed.add((1, "a", 1), (5, "a", 1))
    output = database.output("away")
    place.run(counts(), outputs={"out": output})
    database.sql("ALTER TABLE away RENAME TO elsewhere")
    row = place.spark.createDataFrame([(1, "a", 1)], "t INT, k STRING, n LONG")
    with pytest.raises(SinkFailed, match='relation "away" does not exist'):
        output.deliver(_sender(database, "away"), SparkResults(row), 9)
    database.sql("ALTER TABLE elsewhere RENAME TO away")
    database.sql("ALTER TABLE away ADD CHECK (t < 2)")
    place.feed.add((3, "b", 1), (9, "a", 1))
    with pytest.raises(SinkFailed, match="violates check constraint") as failed:
        place.run(counts(), outputs={"out": database.output("away")})
    assert "at: sink 'out'" in str(failed.value)
    with pytest.raises(BadCheckpoint, match="the output is a directory now"):
        place.start(counts())
    database.sql("ALTER TABLE away DROP CONSTRAINT away_t_check")
    place.run(counts(), outputs={"out": database.output("away")})
    assert database.sql("SELECT * FROM away") == [(1, "a", 1), (3, "b", 1), (5, "a", 1)]


def test_rows_of_a_committed_step_go_to_the_table_that_the_sink_has_now(place: Place, database: Database) -> None:
    """If one table does not take them, another does, in a schema where nothing is; none of them is in both."""
    database.sql("CREATE TABLE strict (t integer, k text, n bigint, CHECK (t < 2))")
    database.sql("CREATE SCHEMA another")
    for rows in ([(1, "a", 1), (5, "a", 1)], [(9, "a", 1)]):
        place.feed.add(*rows)
    with pytest.raises(SinkFailed, match="violates check constraint"):
        place.run(counts(), outputs={"out": database.output("strict")})
    place.run(counts(), outputs={"out": database.output("another.strict")})
    assert database.sql("SELECT * FROM strict") == [(1, "a", 1)]
    assert database.sql("SELECT * FROM another.strict") == [(5, "a", 1)]


def test_a_table_that_was_given_up_under_a_run_is_told(spark: SparkSession, database: Database) -> None:
    """Whose it is, or that its row among the steps is gone; both of a run that has begun."""
    rows = spark.createDataFrame([(1, "a", 1)], COUNTS)
    output = database.output("given_up")
    output.claim(SENDER, fields_of(COUNTS))
    database.sql("UPDATE tidegate_steps SET checkpoint = 'other' WHERE target = 'given_up'")
    with pytest.raises(BadCheckpoint, match="given_up belongs to sink 'out' of flow 'flow' with another checkpoint"):
        output.deliver(SENDER, SparkResults(rows), 0)
    database.sql("DELETE FROM tidegate_steps WHERE target = 'given_up'")
    with pytest.raises(BadCheckpoint, match=r"its row in tidegate_steps is gone(.|\n)*hint: start the flow again"):
        output.deliver(SENDER, SparkResults(rows), 0)
    again = database.output("given_up")
    again.deliver(SENDER, SparkResults(rows), 0)
    assert database.sql("SELECT * FROM given_up") == [(1, "a", 1)]


#: Values, written in Spark SQL, and whether PostgreSQL can take them.
TAKEN = {
    r"'a\\b, \\u0000 as it is written'": True,
    r"'a\0b'": False,
    "CAST(X'ff' AS STRING)": False,
    r"array('a', 'b\0')": False,
    "array('a', NULL)": True,
    r"struct('a\0' AS x)": False,
    r"struct('\\u0000' AS x, DATE '9999-12-31' + 1 AS y)": True,
    r"map('\0', 1)": False,
    "DATE '9999-12-31'": True,
    "DATE '9999-12-31' + 1": False,
    "DATE '0001-01-01' - 1": False,
    "array(DATE '9999-12-31' + 1)": False,
    "TIMESTAMP '9999-12-31 23:59:59.999999Z'": True,
    "timestamp_micros(253402300800000000L)": False,
    "CAST('+10000-01-01' AS TIMESTAMP_NTZ)": False,
    "CAST('NaN' AS FLOAT)": True,
    "array(array('a'))": True,
}


@pytest.mark.slow
def test_what_postgresql_cannot_take_is_known_of_each_value(spark: SparkSession, database: Database) -> None:
    """Exactly the values that are refused before a commit are those that could not be written after it."""
    for i, (value, taken) in enumerate(TAKEN.items()):
        rows, output = spark.sql(f"SELECT 1 AS t, {value} AS `it's`").coalesce(1), database.output(f"value_{i}")
        found, check = _watched(rows, output)
        found.write.format("noop").mode("overwrite").save()
        output.claim(SENDER, fields_of(rows.schema))
        if taken:
            check()
            output.deliver(SENDER, SparkResults(rows), 0)
            continue
        with pytest.raises(RowRefused, match="values of it's that the output can take, got 1 rows with"):
            check()
        with pytest.raises((SinkFailed, ValueError, OverflowError)):
            output.deliver(SENDER, SparkResults(rows), 0)


def test_a_row_that_postgresql_cannot_take_fails_its_step_before_the_commit_and_the_hint_works(
    place: Place, database: Database
) -> None:
    """The flow is changed as the error says, and goes on with all rows on the same checkpoint."""
    place.feed.add((1, "a", 1), (5, "a", 1))
    outputs = {"out": database.output("texts", key=["t", "k"])}
    place.run(counts(), outputs=outputs)
    place.feed.add((6, "a\0b", 1), (9, "c", 1))
    with pytest.raises(RowRefused, match="of k that the output can take, got 1 rows with U\\+0000") as refused:
        place.run(counts(), outputs=outputs)
    assert "at: sink 'out'\n  at: step 1\n  at: flow 'counts'" in str(refused.value)
    assert "hint: replace(k, chr(0), '') in a select" in str(refused.value)
    assert database.sql("SELECT t, k, n FROM texts") == [(1, "a", 1)]
    changed = tg.Flow("counts")
    rows = changed.source("s", DDL, time="t", watermark=tg.bounded(2))
    cleaned = rows.aggregate(by="k", n="count(*)").with_columns(k="replace(k, chr(0), '')")
    changed.sink("out", cleaned)
    place.run(changed, outputs=outputs)
    assert database.sql("SELECT t, k, n FROM texts") == [(1, "a", 1), (5, "a", 1), (6, "ab", 1)]


@pytest.mark.slow
def test_a_sink_that_does_not_look_is_caught(place: Place, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the look before the commit, the step is committed; what the error then names is a way on all the same."""
    monkeypatch.setattr(Postgres, "refuses", lambda self, schema: [])
    outputs = {"out": database.output("unlooked")}
    place.feed.add((1, "a\0b", 1), (9, "c", 1))
    for _ in range(2):
        with pytest.raises(SinkFailed, match=r"start once with tg.foreach\(function\) for this sink"):
            place.run(counts(), outputs=outputs)
    aside: list[Any] = []
    place.run(counts(), outputs={"out": tg.foreach(lambda rows, step: aside.extend(rows.collect()))})
    assert [tuple(row) for row in aside] == [(1, "a\0b", 1)]
    place.feed.add((20, "c", 1))
    place.run(counts(), outputs=outputs)
    assert database.sql("SELECT t, k, n FROM unlooked") == [(9, "c", 1)]


def test_a_server_that_is_away_at_the_start_has_no_rows_to_keep() -> None:
    """Its error does not speak of rows: there are none yet."""
    with pytest.raises(SinkFailed, match="table away of PostgreSQL could not be made ready for rows: conn") as failed:
        tg.postgres("away", dsn="host=127.0.0.1 port=1").claim(
            SENDER, fields_of(StructType([StructField("t", LongType())]))
        )
    assert "kept" not in str(failed.value)


def test_odd_names_are_names(spark: SparkSession, database: Database) -> None:
    """Of columns, tables and schemas; a column that is called as a part of our statements is no other."""
    database.sql('CREATE SCHEMA "a %s b"')
    names = ['it\'s "t"', "select `k`", "100 %s", "r", "kept", "excluded", "step"]
    columns = ", ".join(f"{n} AS `{name.replace('`', '``')}`" for n, name in enumerate(names))
    rows = spark.sql(f"SELECT {columns}")
    sender = Sender("checkpoint", "flow", "out", (names[0],))
    output = database.output('a %s b.t "x" %', key=names[1])
    output.claim(sender, fields_of(rows.schema))
    output.deliver(sender, SparkResults(rows), 0)
    later = spark.sql(f"SELECT {columns}").withColumn("r", expr("-1")).withColumn(names[0], expr("9"))
    output.deliver(sender, SparkResults(later), 1)
    assert database.sql('SELECT * FROM "a %s b"."t ""x"" %"') == [(9, 1, 2, -1, 4, 5, 6)]


@pytest.mark.parametrize("long", ["table", "column"])
def test_a_name_that_postgresql_would_cut_is_refused_before_a_table_is_made(database: Database, long: str) -> None:
    """The columns that are made at the first start would be others at the second, and two tables might be one."""
    name = "\u00fc" * 32
    table = {"table": name, "column": "cut"}[long]
    schema = StructType([StructField("t", LongType()), StructField(name if long == "column" else "k", LongType())])
    with pytest.raises(BadArgument, match=rf"names of at most 63 bytes in PostgreSQL, got {name}, which has 64"):
        database.output(table).claim(SENDER, fields_of(schema))
    assert database.sql("SELECT 1 FROM pg_tables WHERE tablename = 'cut' OR tablename LIKE '\u00fc%'") == []
    database.output("fits").claim(
        SENDER, fields_of(StructType([StructField("t", LongType()), StructField(name[1:], LongType())]))
    )


def _sender(database: Database, table: str) -> Sender:
    ((checkpoint, flow, sink),) = database.sql(
        f"SELECT checkpoint, flow, sink FROM tidegate_steps WHERE target = '{table}'"
    )
    return Sender(checkpoint, flow, sink, ("t",))


def _url(database: Database) -> str:
    from urllib.parse import quote

    host = dict(part.split("=") for part in database.dsn.split())["host"]
    return f"postgresql://tidegate:{quote(PASSWORD, safe='')}@/postgres?host={quote(host, safe='')}"


@pytest.mark.parametrize("way", ["url", pytest.param("function", marks=pytest.mark.slow)])
def test_a_password_is_nowhere_to_be_seen(
    place: Place,
    database: Database,
    way: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Not in files of the checkpoint, logs, prints, plans, metrics, nor in errors."""
    caplog.set_level(logging.DEBUG)
    options: dict[str, dict[str, Any]] = {
        "url": {"dsn": _url(database)},
        "function": {"dsn": database.dsn, "password": lambda: PASSWORD},
    }
    output, flow = tg.postgres(f"secret_{way}", **options[way]), counts()
    place.spark.sparkContext.setLogLevel("INFO")
    try:
        place.feed.add((1, "a", 1), (5, "a", 1))
        run = place.run(flow, outputs={"out": output})
        database.sql(f"ALTER TABLE secret_{way} ADD CHECK (t < 2)")
        place.feed.add((9, "a", 1))
        with pytest.raises(SinkFailed) as refused:
            place.run(flow, outputs={"out": output})
    finally:
        place.spark.sparkContext.setLogLevel("ERROR")
    assert database.sql(f"SELECT * FROM secret_{way}") == [(1, "a", 1)]
    said = [repr(output), str(refused.value), repr(run), str(run.status()), json.dumps(run.metrics())]
    said += [
        str(flow.explain()),
        repr(flow.plan),
        json.dumps(flow.plan.fingerprints()),
        caplog.text,
        *capfd.readouterr(),
    ]
    files = [path for path in place.path.rglob("*") if path.is_file()]
    assert len(files) > 10
    for text in [*said, *(path.read_bytes().decode("latin-1") for path in files)]:
        assert PASSWORD not in text
        assert PASSWORD.replace("/", "%2F").replace(":", "%3A") not in text


@pytest.mark.parametrize(
    "given",
    [
        lambda dsn: {"dsn": dsn, "password": "wrong-but-secret"},
        lambda dsn: {"dsn": f"{dsn} password=wrong-but-secret"},
        lambda dsn: {"dsn": "postgresql://me:wrong-but-secret@127.0.0.1:1/x"},
        lambda dsn: {"dsn": "host=wrong-but-secret.invalid", "password": "wrong-but-secret"},
        lambda dsn: {"dsn": dsn, "password": lambda: {}["wrong-but-secret"]},
        lambda dsn: {"dsn": "postgresql://me:of@wrong-but-secret@127.0.0.1/x"},
        lambda dsn: {"dsn": "postgresql://me:wrong-but-secret@[127.0.0.1/x"},
        lambda dsn: {"dsn": "pasword=wrong-but-secret"},
    ],
)
def test_an_error_does_not_tell_a_password(
    place: Place, database: Database, given: Callable[[str], dict[str, Any]]
) -> None:
    """Whether the server refuses it, is not there, or the settings can't be read."""
    with pytest.raises((SinkFailed, BadArgument)) as failed:
        place.start(counts(), outputs={"out": tg.postgres("unreached", **given(database.dsn))})
    assert "wrong-but-secret" not in "".join(traceback.format_exception(failed.value))
