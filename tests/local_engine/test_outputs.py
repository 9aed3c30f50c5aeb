"""Where local runs put their results: PostgreSQL, Delta, memory, functions; what they refuse at the start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.deaths import Died, Killer
from tests.local_engine.place import Place
from tests.spark.place import DDL, counts
from tests.spark.postgres import Database, binaries, server
from tidegate.engine.storage.errors import CheckpointClosed
from tidegate.engine.storage.files import Files
from tidegate.flow.errors import BadArgument, FlowError, NotSupported
from tidegate.local_engine.streaming.host import LocalResults
from tidegate.local_engine.streaming.start import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A place of its own."""
    return Place(tmp_path)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """A server with nothing in it."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'psycopg[binary]'")
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    with server() as dsn:
        yield Database(dsn)


def run_dying(place: Place, output: Any, point: str, step: int) -> None:
    """Run `counts` over all files, to the end, with one death; the next engine goes on from the checkpoint."""
    killer = Killer(point, step)
    for _ in range(2):
        inputs = {"s": tg.files(place.feed.path, per_step=1)}
        options: dict[str, Any] = {"probe": killer}
        files = Files(place.path / "checkpoint")
        try:
            engine = prepare(counts(delay=0).plan, place.session, inputs, {"out": output}, files, **options)
            while engine.step():
                pass
            engine.finish()
        except (Died, CheckpointClosed):
            continue
    assert killer.done


# PostgreSQL and Delta.


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
    assert database.sql("SELECT k, t, total FROM balances") == [("a", 4, 7), ("b", 3, 3), ("c", 4, 0), (None, 4, 6)]


@pytest.mark.parametrize("point", ["publishing", "handed over"])
def test_rows_are_added_once_whatever_point_a_run_dies_at(place: Place, database: Database, point: str) -> None:
    """Without a key nothing but the number of the step keeps a row from being there twice."""
    for rows in ([(1, "a", 1), (2, "b", 1)], [(2, "a", 1), (3, "b", 1)], [(3, "b", 1), (4, "c", 1)]):
        place.feed.add(*rows)
    table = f"once_{point.replace(' ', '_')}"
    run_dying(place, database.output(table), point, 1)
    assert database.sql(f"SELECT * FROM {table}") == [(1, "a", 1), (2, "a", 1), (2, "b", 1), (3, "b", 2), (4, "c", 1)]


def test_a_table_of_delta_has_each_step_once(place: Place) -> None:
    """A step that was written is known by its number, and is not written again."""
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: pip install deltalake")
    for rows in ([(1, "a", 1), (2, "b", 1)], [(2, "a", 1), (3, "b", 1)], [(3, "b", 1), (4, "c", 1)]):
        place.feed.add(*rows)
    run_dying(place, tg.delta(str(place.path / "table")), "handed over", 1)
    found = deltalake.DeltaTable(str(place.path / "table")).to_pyarrow_table().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [
        (1, "a", 1),
        (2, "a", 1),
        (2, "b", 1),
        (3, "b", 2),
        (4, "c", 1),
    ]


#: A column, its type, what Arrow has, and what PostgreSQL has.
VALUES: list[tuple[str, str, pa.Array, Any]] = [
    ("yes", "BOOLEAN", pa.array([True]), True),
    ("tiny", "TINYINT", pa.array([7], pa.int8()), 7),
    ("large", "BIGINT", pa.array([2**63 - 1]), 2**63 - 1),
    ("price", "DECIMAL(38,2)", pa.array([Decimal("-12345678901234567890.50")], pa.decimal128(38, 2)), None),
    ("ratio", "DOUBLE", pa.array([float("-inf")]), float("-inf")),
    ("text", "STRING", pa.array(["tab\t, line\n, \\N, 'quote' and ü"]), None),
    ("bytes", "BINARY", pa.array([b"\x00\xff"]), b"\x00\xff"),
    ("day", "DATE", pa.array([date(99, 12, 31)]), date(99, 12, 31)),
    ("at", "TIMESTAMP", pa.array([datetime(2026, 1, 1, 0, 0, 0, 1)], pa.timestamp("us", "UTC")), None),
    ("wall", "TIMESTAMP_NTZ", pa.array([datetime(2026, 1, 1, 0, 0, 0, 1)], pa.timestamp("us")), None),
    ("several", "ARRAY<STRING>", pa.array([["a", None, "{,}"]]), ["a", None, "{,}"]),
    (
        "pair",
        "STRUCT<a: INT, b: INT>",
        pa.array([{"a": 1, "b": None}], pa.struct({"a": pa.int32(), "b": pa.int32()})),
        {"a": 1},
    ),
    (
        "map",
        "MAP<STRING, ARRAY<INT>>",
        pa.array([[("k", [1, 2])]], pa.map_(pa.string(), pa.list_(pa.int32()))),
        {"k": [1, 2]},
    ),
]


def test_values_of_every_type_arrive(place: Place, database: Database) -> None:
    """Numbers, texts with anything in them, instants with a zone and without, nested values as JSON; and nulls."""
    flow = tg.Flow("typed")
    ddl = ", ".join(f"{name} {type_}" for name, type_, _, _ in VALUES)
    flow.sink("out", flow.source("s", f"t INT, {ddl}", time="t", watermark=tg.at_end()))
    table = pa.table({"t": pa.array([1], pa.int32())} | {name: array for name, _, array, _ in VALUES})
    nulls = {name: pa.nulls(1, array.type) for name, _, array, _ in VALUES}
    empty = pa.table({"t": pa.array([2], pa.int32())} | nulls)
    place.run(flow, inputs={"s": iter([table, empty])}, outputs={"out": database.output("types")})
    first, second = sorted(database.sql("SELECT * FROM types"), key=lambda row: row[0])
    expected = [array.to_pylist()[0] if value is None else value for _, _, array, value in VALUES]
    assert first == (1, *expected)
    assert second == (2, *[None] * len(VALUES))


def nested() -> pa.Table:
    """Values inside of others, among them those that JSON writes in more than one way."""
    instants = [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(2026, 1, 1, tzinfo=UTC), None]
    inner = pa.struct(
        {
            "at": pa.timestamp("us", "UTC"),
            "wall": pa.timestamp("us"),
            "day": pa.date32(),
            "d": pa.decimal128(20, 6),
            "f": pa.float32(),
            "x": pa.float64(),
            "s": pa.string(),
            "b": pa.binary(),
            "deep": pa.list_(pa.struct({"n": pa.int64()})),
        }
    )
    values = [
        {
            "at": instants[0],
            "wall": datetime(999, 1, 1),
            "day": date(1, 1, 1),
            "d": Decimal("0.000001"),
            "f": 0.1,
            "x": 1e20,
            "s": 'quote " slash / back \\ tab \t bell \x07 ü € 🌊',
            "b": b"\x00\xff",
            "deep": [{"n": 1}, None, {"n": None}],
        },
        {"at": instants[1], "d": Decimal("123.450000"), "f": 1e-7, "x": -0.0, "s": "", "deep": []},
        {"f": 16777216.0, "x": 1.5e-9, "d": Decimal("-1")},
        {"f": float("nan"), "x": float("-inf")},
        None,
    ]
    return pa.table(
        {
            "a": pa.array(values, inner),
            "m": pa.array(
                [[("k", 1.5), ("", None)], [], [("ü", float("inf"))], [("z", 100.0)], None],
                pa.map_(pa.string(), pa.float64()),
            ),
            "l": pa.array([[True, None], [], [False], None, [True]], pa.list_(pa.bool_())),
            **{f"by {type_}": _map_by(type_, keys) for type_, keys in KEYS.items()},
        }
    )


#: Keys of maps, which are texts in JSON.
KEYS: dict[pa.DataType, list[Any]] = {
    pa.int64(): [-7, 0],
    pa.bool_(): [True, False],
    pa.float64(): [1e20, 2.5, -0.0, 1e7, 9999999.0, 0.001, 1.25e-4, float("nan"), float("-inf"), 100.0],
    pa.float32(): [0.5, 1e10, 16777216.0, -1.0],
    pa.decimal128(10, 2): [Decimal("1.50"), Decimal("-1000.00")],
    pa.date32(): [date(2026, 1, 2), date(1969, 12, 31)],
    pa.timestamp("us", "UTC"): [datetime(2026, 1, 2, 3, tzinfo=UTC), datetime(1900, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
}


def _map_by(type_: pa.DataType, keys: list[Any]) -> pa.Array:
    whole = [(key, number) for number, key in enumerate(keys)]
    return pa.array([whole, [], None, [(keys[0], None)], []], pa.map_(type_, pa.int32()))


@pytest.mark.spark
def test_nested_values_are_the_json_that_spark_writes(spark: SparkSession) -> None:
    """So that a table means the same whichever engine filled it."""
    from pyspark.sql.functions import expr

    from tidegate.spark.streaming.host import SparkResults

    table = nested()
    names = table.column_names

    def texts(batches: Iterator[pa.RecordBatch]) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]

    frame = spark.createDataFrame(table).withColumn("a", expr("a").withField("wall", expr("to_timestamp_ntz(a.wall)")))
    with_spark = texts(SparkResults(frame).batches(as_json=names))
    locally = texts(LocalResults(table, tg.local().connection).batches(as_json=names))

    def parsed(text: str | None) -> Any:
        return None if text is None else json.loads(text, parse_float=Decimal)

    assert [tuple(map(parsed, row)) for row in locally] == [tuple(map(parsed, row)) for row in with_spark]


def test_maps_by_what_is_no_key_in_json_are_refused(place: Place, database: Database) -> None:
    """Spark would write where in memory they are."""
    flow = tg.Flow("keys")
    flow.sink("out", flow.source("s", "t INT, m ARRAY<MAP<BINARY, INT>>", time="t", watermark=tg.at_end()))
    with pytest.raises(NotSupported, match=r"(?s)column m has a map by binary, which is no key in JSON.*sink 'out'"):
        place.start(flow, inputs={"s": iter([])}, outputs={"out": database.output("keys")})


# Memory and functions.


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_memory_does_not_replace_what_the_user_has(place: Place, kind: str) -> None:
    """A table or a view of that name, in whatever case, was made by someone else; one of an earlier run was not."""
    connection = place.session.connection
    connection.execute(f"CREATE {kind} Held AS SELECT 42 AS mine")
    connection.execute("CREATE SCHEMA other")
    connection.execute("CREATE TABLE other.held AS SELECT 43 AS mine")
    place.feed.add((1, "a", 1), (9, "a", 1))
    with pytest.raises(
        BadArgument, match=rf"(?s)there is a {kind.lower()} held that memory\('held'\) has not made.*sink 'out'"
    ):
        place.run(counts(), outputs={"out": tg.memory("held")})
    assert connection.execute("FROM held").fetchall() == [(42,)]
    connection.execute(f"DROP {kind} held")
    for _ in range(2):
        place.run(counts(), outputs={"out": tg.memory("held")})
        place.feed.add((20, "b", 1))
    assert connection.execute("FROM held").fetchall() == [(9, "a", 1)]
    assert connection.execute("FROM other.held").fetchall() == [(43,)]


def test_memory_takes_nulls_in_a_later_step(place: Place) -> None:
    """A column without NULL in the first step may have some in the next."""
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.feed.add((3, None, 1), (9, "a", 1))
    place.run(counts(delay=0), outputs={"out": tg.memory("seen")})
    assert sorted(place.session.connection.execute("FROM seen").fetchall(), key=repr) == [
        (1, "a", 1),
        (2, "a", 1),
        (3, None, 1),
    ]


def test_a_function_may_stop_the_run(place: Place) -> None:
    """The step that it is called in is the last one, and its rows are not handed over again."""
    calls: list[int] = []
    runs: list[tg.Run] = []

    def enough(rows: pa.Table, step: int) -> None:
        calls.append(step)
        assert runs[0].stop()

    ready = Event()

    def first(taken: int) -> Iterator[pa.Table]:
        ready.wait(30)
        for t in range(taken, 5):
            yield pa.table({"t": pa.array([t], pa.int32()), "k": ["a"], "x": pa.array([1], pa.int32())})

    flow = counts(delay=0)
    runs.append(place.start(flow, inputs={"s": first}, outputs={"out": tg.foreach(enough)}, trigger=None))
    ready.set()
    assert runs[0].await_termination(60)
    assert len(calls) == 1
    assert runs[0].status().state == "stopped"
    seen: list[int] = []
    place.run(flow, inputs={"s": first}, outputs={"out": tg.foreach(lambda rows, step: seen.append(step))})
    assert calls[0] not in seen


# What is refused at the start.


def test_a_column_without_a_type_is_refused(place: Place) -> None:
    """No file could have it, and what it would be in a later step nobody knows."""
    flow = tg.Flow("void")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    flow.sink("out", rows.with_columns(nothing="NULL"))
    with pytest.raises(NotSupported, match="column nothing has no type"):
        place.start(flow)
    with pytest.raises(NotSupported, match="column nothing has no type"):
        place.start(flow, outputs={"out": tg.foreach(print)})


def test_a_condition_that_depends_on_the_zone_is_refused_in_another(place: Place) -> None:
    """Also that of watermarks, which no operator has."""

    def flow(zone: str) -> tg.Flow:
        found = tg.Flow("zoned", timezone=zone)
        watermark = tg.punctuated("hour(ts) = 0")
        found.sink("out", found.source("s", "ts TIMESTAMP, k STRING", time="ts", watermark=watermark))
        return found

    with pytest.raises(FlowError, match=r"(?s)hour.*source 's'"):
        place.start(flow("Europe/Copenhagen"))
    table = pa.table({"ts": pa.array([datetime(2026, 1, 1)], pa.timestamp("us", "UTC")), "k": ["a"]})
    place.run(flow("UTC"), inputs={"s": iter([table])})
