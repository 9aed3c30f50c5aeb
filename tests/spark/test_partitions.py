"""Promises by partition: what holds a frontier back, what is let go, and clocks that can't be trusted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.functions import collect_list, expr, lit
from tests.spark.engine import frame, rows
from tests.spark.place import DDL, Place
from tests.spark.steps import engine_in
from tests.spark.test_streaming_crashes import Died, Killer

import tidegate as tg
from tidegate.engine.keys import key_text
from tidegate.engine.marks import Marks, Seen
from tidegate.engine.partitions import Beat, Partitions, period
from tidegate.engine.policies import CLOCK
from tidegate.engine.steps.source_rows import observe
from tidegate.engine.storage.errors import BadCheckpoint, FlowChanged
from tidegate.engine.storage.files import Files
from tidegate.flow.errors import BadArgument
from tidegate.flow.plan import Plan, Source
from tidegate.flow.schema import Schema, parse_schema
from tidegate.flow.watermarks import Bounded
from tidegate.spark import backend as backend_module
from tidegate.spark.backend import SparkBackend
from tidegate.spark.hadoop import files_at
from tidegate.spark.runtime import spark_runtime
from tidegate.spark.streaming.engine import SparkEngine
from tidegate.spark.streaming.heartbeat import Heartbeat, delete_beats, heartbeat_of
from tidegate.spark.streaming.sources import split_by_source, united

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE = parse_schema("t INT, k STRING", time=("t",))
PAIR = parse_schema("v INT, w INT, k STRING", time=("v", "w"))
IDLE = 40
NAMES = st.sampled_from(["a", "b", None])
SEEN = st.dictionaries(NAMES, st.integers(0, 50), max_size=3)
#: A step: what it saw of partitions, and how far the clock moved before it; it may jump anywhere.
STEPS = st.lists(st.tuples(SEEN, st.integers(-300, 300)), max_size=12)


def source(schema: Schema, idle: int | None = IDLE) -> Source:
    delays = (5,) * len(schema.time)
    return Source(id="s", schema=schema, watermark=Bounded(delays, by="k", idle=idle), late="divert")


def moved(marks: Marks, of: Source, seen: dict[Any, Any], *beats: Beat) -> Marks:
    """The marks after a step, which were in a commit meanwhile."""
    n = len(of.schema.time)
    greatest = {k: (g,) * n if isinstance(g, int) else g for k, g in seen.items()}
    lines = tuple(beat.line for beat in beats)
    after = marks.after(of, Seen(rows=len(seen), partitions=tuple(greatest.items()), lines=lines))
    return Marks.from_json(of, json.loads(json.dumps(after.to_json(of))))


def test_the_slowest_partition_holds_the_frontier_back() -> None:
    """Without idle for ever; on a product order the bounds of all partitions are its elements."""
    marks = moved(Marks.start(source(ONE, None)), source(ONE, None), {"a": 100, "b": 20})
    assert list(marks.frontier) == [15]
    assert list(moved(marks, source(ONE, None), {"b": 60}).frontier) == [55]
    pair = moved(Marks.start(source(PAIR, None)), source(PAIR, None), {"a": (30, 10), None: (10, 30)})
    assert set(pair.frontier) == {(25, 5), (5, 25)}


def test_a_silent_partition_is_let_go_and_what_it_brings_later_is_late_below_the_frontier() -> None:
    """It comes back where it is; the frontier stays, and waits for it from now on."""
    marks = moved(Marks.start(source(ONE)), source(ONE), {"a": 100, "b": 20}, Beat(0, 0))
    for n in range(1, 6):
        assert list(marks.frontier) == [15]
        marks = moved(marks, source(ONE), {"a": 100}, Beat(n, 10 * n))
    assert list(marks.frontier) == [95]
    back = moved(marks, source(ONE), {"b": 30}, Beat(6, 60))
    assert list(back.frontier) == [95]
    ahead = moved(back, source(ONE), {"a": 200})
    assert list(ahead.frontier) == [95]
    assert list(moved(ahead, source(ONE), {"b": 150}).frontier) == [145]


def test_when_all_are_silent_the_furthest_promise_holds() -> None:
    """In whatever order they fell silent, and not the end of all time: nobody promised that."""
    for last in ("a", "b"):
        marks = moved(Marks.start(source(ONE)), source(ONE), {"a": 100, "b": 20}, Beat(0, 0))
        marks = moved(marks, source(ONE), {last: 20}, Beat(1, 10))
        for n in range(2, 9):
            marks = moved(marks, source(ONE), {}, Beat(n, 10 * n))
        assert list(marks.frontier) == [95]


def run_of(steps: list[tuple[dict[Any, int], int]], kind: type[Partitions]) -> str:
    """Move through steps with a clock that jumps; return what went wrong, or an empty text."""
    of, at = source(ONE), 1_000_000
    marks = replace(Marks.start(of), memory=kind())
    silent: dict[Any, int] = {}
    for n, (seen, jump) in enumerate(steps):
        at += jump
        before = marks
        lines = (Beat(n, at).line,)
        greatest = tuple((k, (g,)) for k, g in seen.items())
        marks = marks.after(of, Seen(rows=len(seen), partitions=greatest, lines=lines))
        silent = {k: 0 if k in seen else silent.get(k, 0) + 1 for k in {*silent, *seen}}
        if not all(map(before.frontier.reaches, marks.frontier)):
            return "the frontier went back"
        active = {member.value for member in marks.memory.active(IDLE)}
        if any(steps_ < 3 and k not in active for k, steps_ in silent.items()):
            return "a partition was let go that had not been silent"
    return ""


@given(STEPS)
def test_no_jump_of_the_clock_lets_a_partition_go_or_moves_a_frontier_back(steps: list[Any]) -> None:
    """Whatever the clock does, a partition is let go only after several steps without its rows."""
    assert run_of(steps, Partitions) == ""


class _Trusting(Partitions):
    """The time that passed is what the clock shows."""

    def after(self, seen: Any, beats: Any, idle: Any) -> Any:
        beats = list(beats)
        found = Partitions.after(self, seen, [], idle)
        elapsed = max(beats).at if beats else self.elapsed
        heard = tuple(replace(m, last_seen=elapsed) if m.value in seen else m for m in found.members)
        return _Trusting(heard, None, elapsed)


def test_a_clock_that_is_trusted_is_caught() -> None:
    """A jump of the clock releases a partition that had rows a moment ago."""
    found: list[str] = []

    @given(STEPS)
    def check_all(steps: list[Any]) -> None:
        found.append(run_of(steps, _Trusting))

    check_all()
    assert any("had not been silent" in text for text in found)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(4, 100))
def test_with_a_true_clock_a_partition_is_let_go_after_its_silence_and_not_before(heard: list[bool], idle: int) -> None:
    """Beats come in time; rows come between two of them. Let go between idle and half as much again, and a beat."""
    partitions, at, last = Partitions(), 0, None
    for n, here in enumerate(heard):
        at += period(idle)
        partitions = partitions.after({"a": (1,)} if here else {}, [Beat(n, at)], idle)
        # At the latest just before the next beat.
        last = at + period(idle) - 1 if here else last
        if last is not None:
            silence = at - last
            active = bool(partitions.active(idle))
            assert active or silence >= idle
            assert not active or silence <= idle + 2 * period(idle)


def test_what_is_said_of_partitions_is_checked() -> None:
    """A column that is there, and idle only together with it."""
    flow = tg.Flow("f")
    with pytest.raises(tg.TidegateError, match="unknown column kk"):
        flow.source("s", DDL, time="t", watermark=tg.bounded(1, by="kk"))
    with pytest.raises(BadArgument, match="expected by= together with idle="):
        tg.bounded(1, idle="1 minute")


def flow() -> Plan:
    found = tg.Flow("devices")
    read = found.source("s", DDL, time="t", watermark=tg.bounded(2, by="k", idle="40 seconds"))
    found.sink("out", read.aggregate(by="k", total="sum(x)"))
    return found.plan


SECOND = 1_000_000
#: Rows and beats, in steps: b falls silent and is let go, and comes back with a late row and one on time.
SCRIPT: list[tuple[list[tuple[Any, ...]], list[Beat]]] = [
    ([(10, "a", 1), (3, "b", 2), (4, None, 5)], [Beat(0, 0)]),
    ([(20, "a", 1), (9, None, 1)], [Beat(1, 30 * SECOND)]),
    ([(30, "a", 1), (28, None, 1)], [Beat(2, 50 * SECOND)]),
    ([(31, None, 1)], [Beat(3, 90 * SECOND)]),
    ([(40, "a", 1), (5, "b", 2), (39, "b", 7), (41, None, 1)], [Beat(4, 91 * SECOND)]),
]


def through(spark: SparkSession, directory: Path, probe: Any = lambda point, step: None) -> dict[str, Any]:
    """Run the script to its end; after a death, a new engine is given the batch once more, as Spark would."""
    plan = flow()
    engine, number = engine_in(spark, plan, {}, directory, probe=probe), 0
    while number < len(SCRIPT):
        given, beats = SCRIPT[number]
        signals = {CLOCK: spark.createDataFrame([(beat.line,) for beat in beats], "value STRING")}
        batch = united(plan, spark_runtime(spark), {"s": frame(spark, plan.sources[0].schema, given)}, signals)
        try:
            engine.step(batch, number)
            number += 1
        except Died:
            engine = engine_in(spark, plan, {}, directory, probe=probe)
    found = sorted(rows(tg.read(spark, str(directory / "out"))), key=str)
    return {"out": found, "late": engine.marks["s"].late, "frontier": list(engine.marks["s"].frontier)}


@pytest.mark.slow
@pytest.mark.spark
def test_a_partition_that_was_let_go_is_let_go_in_a_replay_too(spark: SparkSession, tmp_path: Path) -> None:
    """The clock is in the rows of the batch, and marks are in the commit."""
    killer = Killer("before commit", 3)
    found = through(spark, tmp_path, killer)
    assert killer.done
    assert (found["late"], found["frontier"]) == (1, [37])
    complete = [row for given, _ in SCRIPT for row in given if row[0] < 37 and row != (5, "b", 2)]
    assert found["out"] == sorted(complete, key=str)


@pytest.mark.slow
@pytest.mark.spark
def test_an_engine_that_looks_at_its_own_clock_is_caught(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay that takes the time from the wall lets go what the first try did not."""
    real = Beat.parse

    def broken(name: str, probe: Any) -> Any:
        wall = iter(range(0, 10**12, 15 * SECOND))
        monkeypatch.setattr(Beat, "parse", lambda text: replace(real(text), at=next(wall)))
        return through(spark, tmp_path / name, probe)

    assert broken("calm", Killer("", -1)) != broken("killed", Killer("before commit", 1))


@pytest.mark.spark
@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"beat": 1}', '{"beat": [], "at": 1}', Beat(17, 5).line.replace("17", "97")]
)
def test_a_beat_that_is_not_what_was_written_is_refused(text: str) -> None:
    """A digit that flips could silence the clock for weeks; what earlier versions wrote has no checksum."""
    with pytest.raises(BadCheckpoint, match=r"(?s)expected a beat of the clock .*clock.* got .*hint: .*empty"):
        Beat.parse(text)
    assert Beat.parse(Beat(17, 5).line) == Beat.parse('{"beat": 17, "at": 5}') == Beat(17, 5)
    assert Beat(17, 5).line.count("\n") == 1


def test_a_start_names_a_beat_that_can_not_be_read_and_overlooks_what_is_none(tmp_path: Path) -> None:
    """What is emptied is not heard, which is all that it costs."""
    files = Files(tmp_path)
    heartbeat_of(flow(), files, after=-1)
    for name in ("1~.json", "readme", "².json"):
        (tmp_path / "clock" / name).write_text("")
    torn = tmp_path / "clock" / "7.json"
    torn.write_text("{")
    with pytest.raises(
        BadCheckpoint, match=r"(?s)expected a beat of the clock in .*clock/7.json.* got .*hint: .*empty"
    ):
        heartbeat_of(flow(), files, after=0)
    torn.write_text("")
    heartbeat_of(flow(), files, after=0)
    delete_beats(files, 7)
    assert files.names("clock") == ["1~.json", "8.json", "readme", "².json"]


def test_beats_are_numbered_on_and_forgotten_when_they_were_heard(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the clock says; a heart goes on after the last beat that there is, or that was committed."""
    files = files_at(spark, str(tmp_path))
    shown = iter([5.0, 3.0, 9.0])
    heart = Heartbeat(files, after=6, seconds=1, clock=lambda: next(shown))
    heart.beat()
    assert [Beat.parse(files.text(f"clock/{n}.json")) for n in (7, 8)] == [Beat(7, 5 * SECOND), Beat(8, 3 * SECOND)]
    delete_beats(files, 7)
    Heartbeat(files, after=2, seconds=1, clock=lambda: next(shown))
    assert files.names("clock") == ["8.json", "9.json"]


@pytest.mark.spark
def test_a_run_lets_a_silent_partition_go_by_itself(place: Place) -> None:
    """No row comes any more, and still times become complete: the clock is a source of the query."""
    found = tg.Flow("devices")
    read = found.source("s", DDL, time="t", watermark=tg.bounded(2, by="k", idle="1 second"))
    found.sink("out", read.aggregate(by="k", total="sum(x)"))
    place.feed.add((10, "a", 1), (3, "b", 2))
    run = place.start(found, trigger={"processingTime": "0 seconds"})
    engine: SparkEngine = run._engine
    waited = 0
    while list(engine.marks["s"].frontier) != [8] and waited < 600:
        assert not run.await_termination(0.1)
        waited += 1
    run.stop()
    assert place.rows() == [(3, "b", 2)]
    assert run.status().late == {"s": 0}
    without = tg.Flow("devices")
    read = without.source("s", DDL, time="t", watermark=tg.bounded(2, by="k"))
    without.sink("out", read.aggregate(by="k", total="sum(x)"))
    with pytest.raises(FlowChanged, match="from elsewhere were the clock, and now are none"):
        place.start(without)


#: Values of a column that are different keys, written as SQL, by its type; the first two are two ways to write one key.
APART = {
    "BINARY": ["X'FF'", "unhex('FF')", "X'FE'", "X''", "CAST('X\\'FF\\'' AS BINARY)", "NULL"],
    "STRING": ["CAST(X'FF' AS STRING)", "CAST(unhex('FF') AS STRING)", "CAST(X'FE' AS STRING)", "'X\\'FF\\''", "''"],
    "DOUBLE": ["-0.0D", "0.0D", "CAST('NaN' AS DOUBLE)", "1.0D", "1.0000000000000002D", "NULL"],
    "FLOAT": ["CAST('-0.0' AS FLOAT)", "CAST(0 AS FLOAT)", "CAST('NaN' AS FLOAT)", "CAST(0.1 AS FLOAT)"],
    "DECIMAL(38,2)": ["1.10BD", "1.1BD", "1.11BD", "NULL"],
    "TIMESTAMP": ["timestamp_micros(0)", "timestamp_millis(0)", "timestamp_micros(1)", "timestamp_micros(-1)"],
    "DATE": ["DATE '1970-01-01'", "date_from_unix_date(0)", "date_from_unix_date(2932897)"],
    "BOOLEAN": ["true", "1 = 1", "false", "NULL"],
    "STRUCT<a: STRING, `b,`: STRING>": [
        "struct('x, y', 'z')",
        "named_struct('b', 'x, y', 'a', 'z')",
        "struct('x', 'y, z')",
        "struct('x', NULL)",
        "struct('x', 'null')",
        "NULL",
    ],
    "STRUCT<a: DOUBLE, b: BINARY>": ["struct(-0.0D, X'FF')", "struct(0.0D, X'FF')", "struct(0.0D, X'FE')"],
    "ARRAY<STRING>": ["array('a, b')", "array(concat('a', ', b'))", "array('a', 'b')", "array()", "array(NULL)"],
    "MAP<STRING, BINARY>": ["map('a', X'01', 'b', X'02')", "map('b', X'02', 'a', X'01')", "map('a', X'01')"],
}


def by_values(spark: SparkSession, types: Sequence[str]) -> dict[str, list[int]]:
    """The greatest times of partitions after two steps, of which the second goes on from the marks in a commit."""
    found, runtime = tg.Flow("devices"), spark_runtime(spark)
    for n, type_ in enumerate(types):
        found.source(f"s{n}", {"t": "INT", "k": type_}, time="t", watermark=tg.bounded(2, by="k"))
    flow, marks = found.plan, {s.id: Marks.start(s) for s in found.plan.sources}
    for step in range(2):
        inputs = {}
        for of, (same, other, *rest) in zip(flow.sources, (APART[type_] for type_ in types), strict=True):
            values = [other] if step else [same, *rest]
            rows = [f"({10 * (step + n + 1)}, CAST({v} AS {of.schema['k'].type}))" for n, v in enumerate(values)]
            inputs[of.id] = spark.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS given(t, k)").coalesce(1)
        batch, backend = united(flow, runtime, inputs), SparkBackend(runtime)
        seen = observe(backend, split_by_source(flow, backend, batch, marks))
        after = {s: marks[s.id].after(s, seen[s.id].seen) for s in flow.sources}
        marks = {s.id: Marks.from_json(s, json.loads(json.dumps(found.to_json(s)))) for s, found in after.items()}
    partitions = [marks[s.id].memory for s in flow.sources]
    times = [sorted(member.greatest[0] for member in each.members) for each in partitions]
    return dict(zip(types, times, strict=True))


@pytest.mark.spark
def test_texts_of_keys_are_different_for_different_keys(spark: SparkSession) -> None:
    """Whatever their type; one key has one text, however else it is written."""
    parts = []
    for type_, values in APART.items():
        rows = [f"({n}, CAST({value} AS {type_}))" for n, value in enumerate(values)]
        keys = spark.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS given(n, k)").coalesce(1).groupBy("k")
        found = keys.agg(collect_list("n").alias("which"))
        parts.append(found.select(lit(type_).alias("type"), "which", expr(key_text("k", type_)).alias("text")))
    texts: dict[str, dict[str | None, list[int]]] = {type_: {} for type_ in APART}
    for type_, which, text in reduce(lambda one, other: one.union(other), parts).collect():
        texts[type_].setdefault(text, []).extend(which)
    for type_, values in APART.items():
        assert sorted(texts[type_].values()) == [[0, 1], *([n] for n in range(2, len(values)))], type_


@pytest.mark.spark
def test_partitions_are_told_apart_as_keys_are(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a restart, a value is behind until it comes again; cast to text, bytes would become one device."""
    types = ["BINARY", "STRING"]
    expected = {type_: [20, *(10 * (n + 2) for n in range(len(APART[type_]) - 2))] for type_ in types}
    assert by_values(spark, types) == expected
    monkeypatch.setattr(backend_module, "key_text", lambda sql, type_: f"CAST({sql} AS STRING)")
    mutant = by_values(spark, types)
    assert all(len(mutant[type_]) < len(expected[type_]) for type_ in types)


def test_texts_of_an_earlier_version_go_on_where_they_are_one_value_each_and_else_are_refused() -> None:
    """A commit without the name of the column has its values as Spark casts them."""
    of = source(ONE, None)
    marks = moved(Marks.start(of), of, {"a": 100, None: 20})
    for value, column in [("pump 1", "k STRING"), ("17", "k INT"), ("1.10", "k DECIMAL(4,2)"), ("2.0", "k DOUBLE")]:
        by = replace(of, schema=parse_schema(f"t INT, {column}", time=("t",)))
        old = marks.to_json(of)
        old["partitions"] |= {"members": [[value, [20], 0], [None, [100], 0]]}
        del old["partitions"]["by"]
        decoded = Marks.from_json(by, old)
        assert list(moved(decoded, by, {value: 60}).frontier) == [55]
    doubtful = [("\ufffd", "k STRING"), ("X'", "k STRING"), ("a", "k BINARY"), ("{1, 2}", "k STRUCT<a: STRING>")]
    doubtful += [("-0.0", "k DOUBLE"), ("2026-10-25 02:30:00", "k TIMESTAMP")]
    for value, column in doubtful:
        by = replace(of, schema=parse_schema(f"t INT, {column}", time=("t",)))
        old = marks.to_json(of)
        old["partitions"] |= {"members": [[value, [20], 0]]}
        del old["partitions"]["by"]
        with pytest.raises(BadCheckpoint, match="several values may share"):
            Marks.from_json(by, old)


def test_partitions_by_another_column_begin_anew() -> None:
    """Values of the column before would hold the frontier back for ever; the frontier stays where it is."""
    by_k = replace(source(ONE, None), schema=parse_schema("t INT, k STRING, j STRING", time=("t",)))
    by_j = replace(by_k, watermark=Bounded((5,), by="j"))
    marks = Marks.from_json(by_j, moved(Marks.start(by_k), by_k, {"a": 100, "b": 20}).to_json(by_k))
    assert list(marks.frontier) == [15]
    assert list(moved(marks, by_j, {"x": 60}).frontier) == [55]


def test_partitions_by_values_that_cannot_be_compared_are_refused() -> None:
    """When the flow is built, and not when the first rows come."""
    with pytest.raises(BadArgument, match="values can be compared"):
        tg.Flow("f").source("s", "t INT, k VARIANT", time="t", watermark=tg.bounded(1, by="k"))
