"""Rows that are divided between cores: the same rows, in a file for each core; errors and ends as without that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import DDL
from tidegate.engine.storage.errors import RunFailed
from tidegate.local_engine import divided
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.streaming import parts

Row = tuple[Any, ...]
ROWS = [(at, f"{'ab' * (at % 3)}{at % 5}", at % 7) for at in range(1, 400)]


def flow_of(then: Callable[[tg.Stream, tg.Stream], tg.Stream]) -> tg.Flow:
    """What is made of a stream and a table."""
    flow = tg.Flow("divided")
    stream = flow.source("s", DDL, time="t", watermark=tg.bounded(0))
    names = flow.table("names", "x INT, name STRING")
    flow.sink("out", then(stream, names))
    return flow


def pairs(stream: tg.Stream, others: str, *, early: bool = False) -> tg.Stream:
    """Pairs in windows, of rows that differ."""
    right = stream.select(others, "x AS y")
    return stream.window_join(right, on=(), size=50, every=50, where="left.x < right.y", early=early)


FLOWS: dict[str, Callable[[tg.Stream, tg.Stream], tg.Stream]] = {
    "select": lambda s, names: s.select("x * 2 AS y", "k"),
    "select, in columns": lambda s, names: s.select("transform(array(concat(k, k)), v -> concat(v, v, v))[0] AS v"),
    "where": lambda s, names: s.where("x > 2").where("length(k) > 1"),
    "explode": lambda s, names: s.select("split(k, 'a') AS part", "x").explode("part").where("part <> ''"),
    "join with a table": lambda s, names: s.join(names, on="x").select("name", "k"),
    "semi join with a table": lambda s, names: s.join(names, on="x", how="semi"),
    "anti join with a table": lambda s, names: s.join(names, on="x", how="anti"),
    "values of many types": lambda s, names: s.select(
        "struct(x, k) AS s",
        "array(struct(x), NULL) AS l",
        "CAST(x AS DECIMAL(38,2)) AS d",
        "nullif(x > 3, false) AS b",
        "DATE'2020-01-01' + x AS day",
        "sqrt(x) AS r",
    ).where("d > 1"),
    "groups that are joined": lambda s, names: s.aggregate(by="x", n="count(*)").join(names, on="x"),
    "left join with a table": lambda s, names: s.join(names, on="x", how="left"),
    "union": lambda s, names: s.select("x").union(s.select("x + 1 AS x")),
    "early pairs, texts": lambda s, names: pairs(s, "k AS other", early=True),
    "early pairs, numbers": lambda s, names: pairs(s.select("x"), "t + 1 AS other", early=True),
    "join of windows, texts": lambda s, names: pairs(s, "k AS other"),
    "join of windows, numbers": lambda s, names: pairs(s.select("x"), "t + 1 AS other"),
}
#: Where rows are a union, of so many pieces, each is divided.
PIECES = {"union": 2, "early pairs, texts": 2, "early pairs, numbers": 2}
#: What is not divided, as a row comes of several rows.
WHOLE: dict[str, Callable[[tg.Stream, tg.Stream], tg.Stream]] = {
    "aggregate": lambda s, names: s.aggregate(by="x", n="count(*)"),
    "distinct": lambda s, names: s.select("x").distinct(),
    "right join with itself": lambda s, names: s.join(s.select("x", "k AS other"), on="x", how="right"),
}
NAMES = pa.table({"x": pa.array([1, 2, 3, 3], pa.int32()), "name": ["one", "two", "three", "drei"]})


def divide_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide whatever can be divided, however few rows there are."""
    monkeypatch.setattr(parts, "LONG", -1.0)
    monkeypatch.setattr(parts, "VERY_FEW", 0)
    monkeypatch.setattr(divided, "_LEAST", 1)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Divide everything that can be divided; in how many shares it was."""
    divide_all(monkeypatch)
    counts: list[int] = []
    shares = divided._shares

    def counted(*given: Any) -> Any:
        found = shares(*given)
        counts.append(len(found))
        return found

    monkeypatch.setattr(divided, "_shares", counted)
    return counts


def by_steps(place: Place, flow: tg.Flow, rows: list[Row], cuts: int = 2) -> list[Row]:
    for i in range(cuts):
        if cut := rows[i::cuts] if cuts < 2 else rows[len(rows) * i // cuts : len(rows) * (i + 1) // cuts]:
            place.feed.add(*cut)
    place.run(flow, inputs={"names": NAMES})
    place.start(flow, trigger=None, inputs={"names": NAMES}).finish()
    return sorted(tg.read(place.session, place.path / "out").fetchall(), key=repr)


def bounded(flow: tg.Flow, rows: list[Row]) -> list[Row]:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("t", "k", "x"))}
    schema = pa.schema([("t", pa.int32()), ("k", pa.string()), ("x", pa.int32())])
    given = {"s": pa.table(columns, schema=schema), "names": NAMES}
    return sorted(flow.compute(tg.local(threads=1), given)["out"].fetchall(), key=repr)


@pytest.mark.parametrize("name", FLOWS)
def test_rows_are_the_same(name: str, tmp_path: Path, at_once: list[int]) -> None:
    """Divided rows are those that bounded data gives, and each core has written a file."""
    flow = flow_of(FLOWS[name])
    assert by_steps(Place(tmp_path), flow, ROWS, 3) == bounded(flow, ROWS) != []
    assert 2 in at_once
    # A share without rows has no file.
    numbers = {int(path.stem.partition("-")[2]) for path in tmp_path.glob("out/step=*/*.parquet")}
    assert {0, 1} <= numbers
    assert {number // 2 for number in numbers} == set(range(PIECES.get(name, 1)))


@pytest.mark.parametrize("name", WHOLE)
def test_what_comes_of_several_rows_is_not_divided(name: str, tmp_path: Path, at_once: list[int]) -> None:
    """Groups, and rows that are read twice, are computed as a whole."""
    flow = flow_of(WHOLE[name])
    assert by_steps(Place(tmp_path), flow, ROWS) == bounded(flow, ROWS) != []
    assert set(at_once) == {0}


@given(
    rows=st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["", "a", "ab", None]), st.integers(0, 4))),
    name=st.sampled_from(sorted(FLOWS)),
    cuts=st.integers(1, 3),
)
@settings(max_examples=10)
def test_drawn_rows(rows: list[Row], name: str, cuts: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any rows, cut anywhere, are the same divided; also fewer rows than cores."""
    flow, rows = flow_of(FLOWS[name]), sorted(rows, key=repr)
    with pytest.MonkeyPatch.context() as patch:
        divide_all(patch)
        assert by_steps(Place(tmp_path_factory.mktemp("drawn")), flow, rows, cuts) == bounded(flow, rows)


def test_a_share_that_loses_a_row_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: list[int]
) -> None:
    """The comparison finds shares that do not have all rows."""
    monkeypatch.setattr(divided, "_bounds", lambda rows, number: [(0, rows // 2), (rows // 2 + 1, rows)])
    flow = flow_of(FLOWS["select"])
    assert by_steps(Place(tmp_path), flow, ROWS) != bounded(flow, ROWS)


def test_what_took_long_is_divided_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step says how long rows take; short ones stay in one file."""
    place, flow = Place(tmp_path), flow_of(FLOWS["select"])
    monkeypatch.setattr(divided, "_LEAST", 1)
    seconds = iter([0.0, 1.0, 2.0, 2.01, 3.0, 3.001])
    monkeypatch.setattr(parts, "monotonic", lambda: next(seconds))
    for first in (0, 130, 260):
        place.feed.add(*ROWS[first : first + 130])
    place.run(flow, inputs={"names": NAMES})
    found = {number: len(list(tmp_path.glob(f"out/step={number}/*.parquet"))) for number in range(3)}
    assert found == {0: 1, 1: 2, 2: 1}


def test_much_that_is_read_beside_is_not_handed_to_each_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: list[int]
) -> None:
    """A large table is joined as a whole: each share would read all of it."""
    monkeypatch.setattr(divided, "_BESIDE", 3)
    place, flow = Place(tmp_path), flow_of(FLOWS["semi join with a table"])
    place.feed.add((1, "a", 1), (2, "b", 2), (3, "c", 3))
    place.run(flow, inputs={"names": NAMES})
    assert set(at_once) == {0}
    assert len(place.rows()) == 3


def test_the_larger_side_of_looked_up_pairs_is_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: list[int]
) -> None:
    """However large the other side is: it is in memory already, and each share reads all of it."""
    monkeypatch.setattr(divided, "_BESIDE", 0)
    given: list[list[int]] = []
    bounds = divided._bounds
    monkeypatch.setattr(divided, "_bounds", lambda rows, number: given.append([rows]) or bounds(rows, number))
    place, flow = Place(tmp_path), flow_of(FLOWS["join with a table"])
    place.feed.add(*[(1, "a", 3)] * 9)
    place.feed.add((2, "b", 2), (3, "c", 3))
    place.run(flow, inputs={"names": NAMES})
    # Nine rows beside the four of the table, then two.
    assert given == [[9], [4]]
    assert set(at_once) == {2}
    assert len(place.rows()) == 21


@pytest.mark.parametrize("name", ["select", "early pairs, texts"])
def test_much_stays_in_duckdb(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: list[int]) -> None:
    """What is too large to be handed over is computed as a whole, in which DuckDB may use the disk."""
    monkeypatch.setattr(divided, "_MOST", 100)
    flow = flow_of(FLOWS[name])
    assert by_steps(Place(tmp_path), flow, ROWS) == bounded(flow, ROWS) != []
    assert not any(at_once)


def test_a_row_that_fails_in_a_share_fails_the_step(tmp_path: Path, at_once: list[int]) -> None:
    """The error is the one of the row, names the operator, and nothing is published."""
    place, flow = Place(tmp_path), flow_of(lambda s, names: s.select("100 DIV (x - 6) AS y"))
    place.feed.add(*[(1, "a", 1)] * 50, (1, "b", 6), *[(1, "c", 2)] * 50)
    with pytest.raises(RunFailed, match=r"an expression failed: division by zero(.|\n)*select#1"):
        place.run(flow, inputs={"names": NAMES})
    assert 2 in at_once
    assert not list(tmp_path.glob("out/step=*"))


def test_a_row_that_fails_when_it_is_handed_over_fails_the_step(tmp_path: Path, at_once: list[int]) -> None:
    """What is before a join of groups is computed once, and its error is told as any other."""
    flow = flow_of(
        lambda s, names: s.aggregate(by="x", n="count(*)").select("x", "1 DIV (x - 6) AS y").join(names, on="x")
    )
    place = Place(tmp_path)
    place.feed.add((1, "b", 6), (1, "c", 2), (9, "c", 2))
    with pytest.raises(RunFailed, match="an expression failed: division by zero"):
        place.run(flow, inputs={"names": NAMES})


def test_a_run_that_is_stopped_ends_what_is_divided(tmp_path: Path, at_once: list[int]) -> None:
    """A step that takes long is interrupted on all cores, and that is no failure."""
    place = Place(tmp_path)
    flow = flow_of(lambda s, names: s.select("size(filter(sequence(1, 20000000), v -> v % (x + 7) = 3)) AS n"))
    place.feed.add(*((1, "a", x) for x in range(200)))
    run = place.start(flow, trigger=None, inputs={"names": NAMES})
    while not at_once:
        time.sleep(0.01)
    run.stop()
    assert run.exception() is None
    assert 2 in at_once
    assert not list(tmp_path.glob("out/step=*"))


def _shares(session: duckdb.DuckDBPyConnection, *queries: str) -> list[divided.Share]:
    return [divided.Share(session.cursor(), sql) for sql in queries]


ENDLESS = "SELECT sum(a.range) FROM range(100000000) a, range(100000000) b"


def test_if_a_share_fails_the_others_are_interrupted() -> None:
    """The error is raised at once, and it is the error of the share that failed."""
    found = _shares(duckdb.connect(), ENDLESS, "SELECT CAST('x' AS INT)")
    with pytest.raises(duckdb.ConversionException):
        divided.at_once(found, lambda i, share: share.connection.execute(share.sql).fetchall())


def test_what_interrupts_a_run_interrupts_all_shares() -> None:
    """What is computed on other connections ends, too."""
    backend, done = LocalBackend(duckdb.connect()), threading.Event()

    def interrupt() -> None:
        # A query that has not begun is not interrupted: so this is done again and again.
        while not done.wait(0.01):
            backend.interrupt()

    with backend.another_connection() as one, backend.another_connection() as other:
        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            with pytest.raises(duckdb.InterruptException):
                divided.at_once(
                    [divided.Share(one, ENDLESS), divided.Share(other, ENDLESS)],
                    lambda i, share: share.connection.execute(share.sql).fetchall(),
                )
        finally:
            done.set()
            thread.join()
