"""Bounded runs in this process: what a flow may be given, what is refused, what comes out and when."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.local_engine.engine import all_by_local
from tests.spark.engine import all_by_spark
from tidegate.cli import app
from tidegate.flow.errors import BadArgument, BadInput, BadTime, NotSupported
from tidegate.local_engine.session import Local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLICKS = pa.table({"t": pa.array([1, 2, 12], pa.int32()), "page": ["a", "a", "b"]})
ANSWERS = [(9, "a", 2), (19, "b", 1)]


def clicks() -> tg.Flow:
    """Clicks in windows of ten."""
    flow = tg.Flow("clicks")
    source = flow.source("clicks", "t INT, page STRING", time="t")
    flow.sink("n", source.window(10).aggregate(by="page", n="count(*)"))
    return flow


def answers(given: Any, session: Local | duckdb.DuckDBPyConnection | None = None) -> list[tuple[Any, ...]]:
    """What comes out, without the bounds of the windows."""
    found = clicks().compute(session or tg.local(), {"clicks": given})["n"]
    return sorted((t, page, n) for t, _, page, n in found.fetchall())


def test_rows_in_memory() -> None:
    """Arrow tables and batches, and relations of DuckDB, of the session or of another connection."""
    session, other = tg.local(), duckdb.connect()
    assert answers(CLICKS) == ANSWERS
    assert answers(CLICKS.to_batches()[0]) == ANSWERS
    for connection in (session.connection, other):
        relation = connection.sql("SELECT * FROM (VALUES (1, 'a'), (2, 'a'), (12, 'b')) AS c(t, page)")
        assert answers(relation, session) == ANSWERS


def test_rows_in_files(tmp_path: Path) -> None:
    """Parquet, CSV and JSON by their names, a directory of Parquet files, and a pattern."""
    (tmp_path / "parts" / "_temporary").mkdir(parents=True)
    for part in range(2):
        pq.write_table(CLICKS.slice(part * 2, 2), tmp_path / "parts" / f"{part}.parquet")
    # What is hidden is not there, as on Spark.
    pq.write_table(CLICKS, tmp_path / "parts" / "_temporary" / "0.parquet")
    (tmp_path / "c.csv").write_text("page,t\n" + "".join(f"{r['page']},{r['t']}\n" for r in CLICKS.to_pylist()))
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CLICKS.to_pylist()))
    for path in (tmp_path / "parts", f"{tmp_path}/parts/*.parquet", tmp_path / "c.csv", str(tmp_path / "c.jsonl")):
        assert answers(path) == ANSWERS


def test_a_connection_of_the_users() -> None:
    """It is used as it is: nothing is left in it, and its own settings stay."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    assert answers(CLICKS, connection) == ANSWERS
    assert connection.sql("SELECT current_setting('TimeZone')").fetchall() == [("Asia/Tokyo",)]
    assert connection.sql("SHOW TABLES").fetchall() == []


@pytest.mark.parametrize(
    "setting", ["default_collation = 'nocase'", "integer_division = true", "ieee_floating_point_ops = false"]
)
def test_settings_that_change_what_expressions_mean(setting: str) -> None:
    """They hold for all of a DuckDB, and so they are not changed, but refused."""
    connection = duckdb.connect()
    connection.execute(f"SET GLOBAL {setting}")
    with pytest.raises(NotSupported, match=setting.split()[0]):
        answers(CLICKS, connection)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (CLICKS.drop_columns(["page"]), BadInput, "it lacks page STRING"),
        (CLICKS.append_column("x", pa.array([1, 2, 3])), BadInput, "it also has x BIGINT"),
        (
            CLICKS.set_column(0, "t", pa.array([1, 2, 3], pa.int64())),
            BadTime,
            "expected column t of type INT, got BIGINT",
        ),
        ([1, 2], BadInput, "expected rows, got list"),
        ("nowhere.parquet", BadInput, "got nowhere.parquet, which is not there"),
    ],
)
def test_inputs_that_do_not_fit(given: Any, kind: type[Exception], message: str) -> None:
    """A column that is missing, too many or of another type is named; so is what cannot be read."""
    with pytest.raises(kind, match=message) as caught:
        answers(given)
    assert "flow 'clicks'" in str(caught.value)


def test_what_is_refused_is_refused_at_the_start() -> None:
    """A function, or an operator on types, that is not known to mean the same, before any row is read."""
    for expression, kind in (("hash(page)", NotSupported), ("page + t", NotSupported)):
        flow = tg.Flow("refused")
        flow.sink("out", flow.source("clicks", "t INT, page STRING", time="t").with_columns(x=expression))
        with pytest.raises(kind, match=r"at: flow 'refused'"):
            flow.compute(tg.local(), {"clicks": CLICKS})


ZONED = "ts TIMESTAMP, d DATE, n TIMESTAMP_NTZ, s STRING, x BIGINT"
ANYWHERE = [
    "unix_micros(ts)", "timestamp_seconds(x)", "CAST(ts AS BIGINT)", "CAST(d AS STRING)", "CAST(s AS DATE)", "hour(n)",
    "year(d)", "d + 1", "ts + INTERVAL 2 HOURS", "coalesce(ts, timestamp_micros(x))", "ts < timestamp_micros(x)",
    "CAST(n AS DATE)", "n < TIMESTAMP_NTZ '2026-01-01 00:00:00'", "trunc(d, 'month')",
]  # fmt: skip
SOMEWHERE = [
    "hour(ts)", "year(ts)", "date_trunc('day', ts)", "date_format(ts, 'yyyy')", "from_unixtime(x)", "CAST(ts AS DATE)",
    "CAST(ts AS STRING)", "CAST(d AS TIMESTAMP)", "CAST(n AS TIMESTAMP)", "CAST(ts AS TIMESTAMP_NTZ)", "ts < d",
    "TIMESTAMP '2026-01-01 00:00:00'", "ts < '2026-01-01'", "ts + INTERVAL 2 DAYS",
    "ts - INTERVAL 1 MONTH", "to_date(ts)",
]  # fmt: skip


def in_copenhagen(expression: str) -> tg.Flow:
    """A flow in another zone than UTC."""
    flow = tg.Flow("zoned", timezone="Europe/Copenhagen")
    flow.sink("out", flow.source("s", ZONED, time="ts").with_columns(y=expression))
    return flow


@pytest.mark.parametrize("expression", SOMEWHERE)
def test_what_depends_on_a_zone_is_refused_in_others_than_utc(expression: str) -> None:
    """By name, at the start; and in UTC, before and after, it is not."""
    rows = pa.table({name: pa.array([], type_) for name, type_ in ZONED_TYPES.items()})
    for _ in range(2):
        with pytest.raises(NotSupported, match=r"(?s)depends on the time zone of the flow.*flow 'zoned'"):
            in_copenhagen(expression).compute(tg.local(), {"s": rows})
        flow = tg.Flow("utc")
        flow.sink("out", flow.source("s", ZONED, time="ts").with_columns(y=expression))
        assert flow.compute(tg.local(), {"s": rows})["out"].fetchall() == []


ZONED_TYPES = dict(
    zip(
        ["ts", "d", "n", "s", "x"],
        (pa.timestamp("us", "UTC"), pa.date32(), pa.timestamp("us"), pa.string(), pa.int64()),
        strict=True,
    )
)


@pytest.mark.spark
def test_what_does_not_depend_on_it_is_computed(spark: SparkSession) -> None:
    """In summer and in winter, and in the hour that comes twice, as Spark does it in that zone; windows too."""
    instants = [
        datetime(2026, 1, 1),
        datetime(2026, 7, 1, 23),
        datetime(2026, 10, 25, 0, 30),
        datetime(2026, 10, 25, 1, 30),
    ]
    rows = [(at, at.date(), at, f"{at:%Y-%m-%d}", int(at.timestamp())) for at in instants]
    flow = tg.Flow("zoned", timezone="Europe/Copenhagen")
    source = flow.source("s", ZONED, time="ts")
    flow.sink("out", source.with_columns(**{f"y{i}": sql for i, sql in enumerate(ANYWHERE)}))
    flow.sink("windows", source.window("1 day", every="6 hours").aggregate(n="count(*)"))
    found, expected = all_by_local(flow, {"s": rows}), all_by_spark(spark, flow, {"s": rows})
    for sink in ("out", "windows"):
        assert_same_rows(found[sink], expected[sink])


def test_results_are_read_side_by_side() -> None:
    """Each has a connection of its own, also what was worked out before, and what was rejected."""
    flow = tg.Flow("several")
    source = flow.source("clicks", "t INT, page STRING", time="t")
    flow.sink("all", source)
    flow.sink("mapped", source.map_batches(lambda batch: batch, "t INT, page STRING"))
    flow.sink("paths", tg.graph.components(flow.source("edges", "t INT, a INT, b INT", time="t"), "a", "b"))
    times = pa.array([*range(5000), None], pa.int32())
    clicks = pa.table({"t": times, "page": ["x"] * 5001})
    edges = pa.table({"t": times, "a": times, "b": times})
    tables = flow.compute(tg.local(), {"clicks": clicks, "edges": edges})
    results = [tables["all"], tables["all"], tables["mapped"], tables["paths"], tables.rejected["clicks"]]
    readers = [result.to_arrow_reader(1000) for result in results]
    counts = [reader.read_next_batch().num_rows for reader in readers]
    assert [n + reader.read_all().num_rows for n, reader in zip(counts, readers, strict=True)] == [5000] * 4 + [1]


def test_what_fails_while_rows_are_read_is_found() -> None:
    """The error is DuckDB's; which operator it comes from can be asked for."""
    flow = tg.Flow("failing")
    source = flow.source("clicks", "t INT, page STRING", time="t")
    shares = source.with_columns(share="10 / (t - 2)").where("page = 'a'")
    flow.sink("shares", shares.select("share"))
    flow.sink("numbers", source.with_columns(n="CAST(page AS INT)"))
    flow.sink("all", source)
    tables = flow.compute(tg.local(), {"clicks": CLICKS})
    for sink, operator, why in (("shares", "select#1", "division by zero"), ("numbers", "select#3", "no integer")):
        with pytest.raises(duckdb.Error, match=why):
            tables[sink].fetchall()
        found = tables.failing(sink)  # type: ignore[attr-defined]
        assert found.startswith(f"select(…), {operator}: ")
        assert why in found
    assert tables.failing("all") is None  # type: ignore[attr-defined]


class Stream:
    """What has a stream of Arrow data and is nothing else, as a frame of polars or another library."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the stream, anew each time."""
        return self.table.__arrow_c_stream__(requested_schema)


def test_whatever_has_a_stream_of_arrow_data() -> None:
    """Frames of any library, with the types that they have for texts and categories, and readers, which end."""
    texts = [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    for type_ in texts:
        assert answers(Stream(CLICKS.set_column(1, "page", CLICKS["page"].cast(type_)))) == ANSWERS
    assert answers(CLICKS.to_reader()) == ANSWERS


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_instants_of_any_unit(unit: str) -> None:
    """They become microseconds, with a zone and without; pandas has nanoseconds."""
    flow = tg.Flow("units")
    flow.sink("out", flow.source("s", "ts TIMESTAMP", time="ts"))
    for zone in (None, "UTC"):
        rows = Stream(pa.table({"ts": pa.array([datetime(2026, 1, 1)], pa.timestamp(unit, zone))}))
        assert flow.compute(tg.local(), {"s": rows})["out"].fetchall() == [(datetime(2026, 1, 1, tzinfo=UTC),)]


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    """A function runs when its sink is asked for, and for no other sink."""
    seen: list[int] = []

    def mark_seen(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch.num_rows)
        return batch

    flow = tg.Flow("lazy")
    source = flow.source("clicks", "t INT, page STRING", time="t")
    flow.sink("looked", source.map_batches(mark_seen, "t INT, page STRING"))
    flow.sink("all", source)
    tables = flow.compute(tg.local(), {"clicks": CLICKS})
    assert len(tables["all"].fetchall()) == 3
    assert seen == []
    assert len(tables["looked"].fetchall()) == 3
    assert seen == [3]


def test_rows_without_a_time() -> None:
    """They are set aside with the reason, and counted."""
    flow = clicks()
    rows = pa.table({"t": pa.array([1, None], pa.int32()), "page": ["a", "b"]})
    tables = flow.compute(tg.local(), {"clicks": rows})
    assert tables["n"].fetchall() == [(9, {"start": 0, "end": 10}, "a", 1)]
    assert tables.rejected.counts() == {"clicks": 1}
    assert tables.rejected["clicks"].fetchall() == [(None, "b", "null time in t")]


def test_instants_have_a_zone() -> None:
    """Given with a zone or without, they are in UTC, and come out with it; those that have none stay so."""
    flow = tg.Flow("instants")
    source = flow.source("s", "ts TIMESTAMP, local TIMESTAMP_NTZ", time="ts")
    flow.sink("out", source.window("1 hour").aggregate(last="max(local)"))
    naive, zoned = datetime(2026, 1, 1, 0, 30), datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    for at, type_ in ((naive, pa.timestamp("us")), (zoned, pa.timestamp("us", tz="America/New_York"))):
        rows = pa.table({"ts": pa.array([at], type_), "local": pa.array([naive], pa.timestamp("us"))})
        ((ts, window, last),) = flow.compute(tg.local(), {"s": rows})["out"].fetchall()
        assert ts == datetime(2026, 1, 1, 0, 59, 59, 999999, tzinfo=UTC)
        assert window["start"] == datetime(2026, 1, 1, tzinfo=UTC)
        assert last == naive


def test_expressions_that_differ_in_small_ways() -> None:
    """Names of parameters regardless of case, decimals below one as texts, counts of several columns."""
    flow = tg.Flow("small")
    source = flow.source("s", "t INT, x INT, a ARRAY<INT>", time="t")
    flow.sink("rows", source.select("transform(a, X -> x + 1) AS b", "CAST(-0.05 AS STRING) AS c"))
    flow.sink("counts", source.aggregate(n="count(DISTINCT x, t)", m="count(x, t)"))
    given = {"t": pa.array([1, 1], pa.int32()), "x": pa.array([9, None], pa.int32())}
    tables = flow.compute(tg.local(), {"s": pa.table(given | {"a": pa.array([[1, 2], None], pa.list_(pa.int32()))})})
    assert tables["rows"].fetchall() == [(1, [2, 3], "-0.05"), (1, None, "-0.05")]
    assert tables["counts"].fetchall() == [(1, 1, 1)]


def test_zeros_are_one_key() -> None:
    """As in Spark, a key is never -0.0, whichever zero came first."""
    flow = tg.Flow("zeros")
    source = flow.source("s", "t INT, x DOUBLE", time="t")
    flow.sink("groups", source.aggregate(by="x", n="count(*)"))
    flow.sink("rows", source.distinct())
    rows = pa.table({"t": pa.array([1, 1], pa.int32()), "x": [-0.0, 0.0]})
    tables = flow.compute(tg.local(), {"s": rows})
    assert repr(tables["groups"].fetchall()) == "[(1, 0.0, 2)]"
    assert repr(tables["rows"].fetchall()) == "[(1, 0.0)]"


def test_sessions_are_told_apart_from_mistakes() -> None:
    """Threads and memory are checked; a session shows what it has."""
    assert repr(tg.local(threads=2)).startswith("local(threads=2, memory=")
    for options in ({"threads": 0}, {"threads": True}, {"memory": "much"}):
        with pytest.raises(BadArgument):
            tg.local(**options)  # type: ignore[arg-type]


def test_the_command_line(tmp_path: Path) -> None:
    """`tidegate run --engine local` reads files, writes files, and keeps what could not take part."""
    (tmp_path / "flow.py").write_text(
        "import tidegate as tg\n"
        "flow = tg.Flow('edits')\n"
        "edits = flow.source('edits', 'ts TIMESTAMP, page STRING', time='ts')\n"
        "flow.sink('hourly', edits.window('1 hour').aggregate(by='page', n='count(*)'))\n"
    )
    (tmp_path / "edits.csv").write_text("page,ts\na,2026-01-01 00:10:00\nb,\na,2026-01-01 01:20:00\n")
    arguments = ["run", f"{tmp_path}/flow.py", "--engine", "local", "-i", f"edits={tmp_path}/edits.csv"]
    arguments += ["-o", f"hourly={tmp_path}/hourly.csv", "--rejected", f"{tmp_path}/bad"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    assert "on the local engine" in result.stderr
    assert "rejected rows of edits: 1" in result.stderr
    (file,) = (tmp_path / "hourly.csv").glob("*.csv")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert sorted((row["ts"], row["page"], row["n"]) for row in rows) == [
        ("2026-01-01T00:59:59.999999Z", "a", "1"),
        ("2026-01-01T01:59:59.999999Z", "a", "1"),
    ]
    assert [path.name for path in (tmp_path / "bad").iterdir()] == ["edits"]
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 1
    assert "is there already" in again.stderr


def test_rows_of_one_time_are_in_one_session() -> None:
    """Also if they are many, so that DuckDB sorts what is equal in another way each time."""
    times, many = 20, 20_000
    flow = tg.Flow("ties")
    flow.sink("out", flow.source("s", "t INT, k INT", time="t").session(5).aggregate(by="k", n="count(*)"))
    rows = pa.table(
        {
            "t": pa.array([7 * (i % times) for i in range(times * many)], pa.int32()),
            "k": pa.array([0] * times * many, pa.int32()),
        }
    )
    found = flow.compute(tg.local(threads=2), {"s": rows})["out"].fetchall()
    assert [n for *_, n in found] == [many] * times
