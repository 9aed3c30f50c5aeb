"""Texts of pairs that are looked up when they are written: the same rows, and each text once in a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidegate as tg
from tests.local_engine.engine import by_local
from tests.local_engine.steps import run_locally
from tidegate.engine.storage.errors import RunFailed
from tidegate.local_engine import divided
from tidegate.local_engine.lookups import LookupPairs
from tidegate.local_engine.streaming import parts

Row = tuple[Any, ...]


def joined(then: Callable[[tg.Stream], tg.Stream] = lambda pairs: pairs) -> tg.Flow:
    """Pairs of texts of one length in windows, and a number."""
    flow = tg.Flow("texts")
    texts = flow.source("texts", "ts INT, s STRING, k INT", time="ts", watermark=tg.bounded(0))
    others = texts.select("s AS other", "k AS m")
    where = "length(left.s) = length(right.other) AND left.s <> right.other AND left.k > 2"
    flow.sink("out", then(texts.window_join(others, on=(), size=100, every=100, where=where)))
    return flow


def drawn(count: int = 700) -> list[list[Row]]:
    """Rows in two steps: few texts that come often, many that come once, and none at all."""
    rng = Random(3)
    often = [word * n for n in range(1, 5) for word in ("often", "early")]
    rows = [
        (at, rng.choice([None, *often, f"{at:0{rng.choice([5, 10, 20])}}"]), rng.randrange(6))
        for at in range(2 * count)
    ]
    return [rows[:count], rows[count:]]


def by_steps(flow: tg.Flow, cuts: list[list[Row]], directory: Path) -> list[Row]:
    return run_locally(flow.plan, [{"texts": cut} for cut in cuts], {}, directory, fold=False)["out"]


@pytest.fixture
def written_by_lookup(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were written so, each time."""
    counts: list[int] = []

    def counted(*given: Any, **options: Any) -> Any:
        found = written(*given, **options)
        counts.append(found[0])
        return found

    written = parts.write_pieces
    monkeypatch.setattr(parts, "write_pieces", counted)
    # However long they take, they are written as a whole.
    monkeypatch.setattr(parts, "LONG", float("inf"))
    return counts


@pytest.mark.parametrize(
    "then",
    [
        lambda pairs: pairs,
        lambda pairs: pairs.select("other AS b", "s AS a", "m + 1 AS n"),
        lambda pairs: pairs.where("m < 4").select("k", "other"),
    ],
)
def test_pairs_are_the_same(
    then: Callable[[tg.Stream], tg.Stream], tmp_path: Path, written_by_lookup: list[int]
) -> None:
    """In any order, without some columns and with others, and where not all pairs are chosen."""
    flow, cuts = joined(then), drawn()
    found = by_steps(flow, cuts, tmp_path)
    assert sorted(map(repr, found)) == sorted(map(repr, by_local(flow, {"texts": [*cuts[0], *cuts[1]]})))
    assert sum(written_by_lookup) > 1000


@pytest.mark.parametrize(
    "then", [lambda pairs: pairs.select("upper(s) AS s"), lambda pairs: pairs.where("s < other").select("k")]
)
def test_what_is_made_of_texts_is_not_looked_up(
    then: Callable[[tg.Stream], tg.Stream], tmp_path: Path, written_by_lookup: list[int]
) -> None:
    """Who computes something of a text, or chooses pairs by one, needs it before."""
    flow, cuts = joined(then), drawn(300)
    found = by_steps(flow, [[*cuts[0], *cuts[1]]], tmp_path)
    assert sorted(map(repr, found)) == sorted(map(repr, by_local(flow, {"texts": [*cuts[0], *cuts[1]]})))
    assert written_by_lookup == []


def test_a_file_has_each_text_once(tmp_path: Path, written_by_lookup: list[int]) -> None:
    """Columns are texts in the file, and smaller than all of them are one after the other."""
    found = by_steps(joined(), drawn(), tmp_path)
    files = [path for path in tmp_path.glob("out/step=*/*.parquet") if pq.read_metadata(path).num_rows > 500]
    assert files
    for path in files:
        metadata = pq.read_metadata(path)
        column = next(metadata.row_group(0).column(i) for i in range(5) if metadata.schema.column(i).name == "s")
        assert "RLE_DICTIONARY" in column.encodings
        assert str(pq.read_schema(path).field("s").type) == "string"
        assert column.total_uncompressed_size < sum(len(row[1]) for row in found) / 2
    assert written_by_lookup


def test_texts_of_the_other_side_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above would find it if texts were looked up in the wrong table."""
    select = LookupPairs.select

    def turned(pairs: LookupPairs, columns: dict[str, str]) -> LookupPairs | None:
        found = select(pairs, columns)
        swapped = {name: replace(place, side=0) for name, place in pairs.columns.items()}
        return found and replace(found, columns=swapped)

    monkeypatch.setattr(LookupPairs, "select", turned)
    cuts = drawn()
    found = by_steps(joined(), cuts, tmp_path)
    assert sorted(map(repr, found)) != sorted(map(repr, by_local(joined(), {"texts": [*cuts[0], *cuts[1]]})))


@pytest.mark.parametrize("most", [256 << 20, 0], ids=["Arrow", "DuckDB"])
def test_rows_that_come_in_any_order_have_their_own_texts(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A DuckDB of the user's need not keep the order of rows; each text still belongs to the number beside it."""
    monkeypatch.setattr(divided, "_MOST", most)
    (tmp_path / "in").mkdir()
    rng, keys = Random(1), dict[str, int]()
    for step in range(8):
        own = {f"{step} {i}": rng.randrange(4000) for i in range(2000)}
        columns = {"t": pa.array([step] * len(own), pa.int32()), "x": pa.array(own.values(), pa.int32()), "k": [*own]}
        pq.write_table(pa.table(columns), tmp_path / "in" / f"{step}.parquet")
        keys |= own
    flow = tg.Flow("texts")
    stream = flow.source("s", "t INT, x INT, k STRING", time="t", watermark=tg.bounded(0))
    where = "left.x = right.y AND left.k < right.other"
    flow.sink("out", stream.window_join(stream.select("k AS other", "x AS y"), on=(), size=10, every=10, where=where))
    given = duckdb.connect(config={"threads": 2})
    given.execute("SET GLOBAL preserve_insertion_order = false")
    places = (
        {"s": tg.files(tmp_path / "in", per_step=1)},
        {"out": tg.parquet(tmp_path / "out")},
        tmp_path / "checkpoint",
    )
    flow.start(given, *places, trigger={"availableNow": True}).await_termination(60)
    # The windows end in another run, which reads their rows from files.
    flow.start(given, *places).finish()
    found = tg.read(given, tmp_path / "out").project("k, x, other, y").fetchall()
    assert len(found) > 10_000
    assert all((keys[k], keys[other]) == (x, y) and x == y for k, x, other, y in found)


def test_a_file_that_cannot_be_written_fails_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is that of the file, and both sides are released."""
    held: list[LookupPairs] = []
    hold = LookupPairs.held

    def full(writer: pq.ParquetWriter, rows: pa.Table, **options: Any) -> None:
        if any(pa.types.is_dictionary(field.type) for field in rows.schema):
            raise OSError(28, "No space left on device")
        write(writer, rows, **options)

    write = pq.ParquetWriter.write_table

    monkeypatch.setattr(LookupPairs, "held", lambda pairs: held.append(pairs) or hold(pairs))
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    monkeypatch.setattr(parts, "LONG", float("inf"))
    with pytest.raises(RunFailed, match="No space left on device"):
        by_steps(joined(), drawn(), tmp_path)
    (pairs,) = held
    for side in pairs.sides:
        with pytest.raises(duckdb.CatalogException, match=side.table):
            pairs.pairs.backend.run(f"FROM {side.table}")


def test_nothing_is_written_without_pairs(tmp_path: Path, written_by_lookup: list[int]) -> None:
    """No file is left behind, and the step is committed."""
    cuts = [[(at, None, 3) for at in range(700)]]
    assert by_steps(joined(), cuts, tmp_path) == []
    assert written_by_lookup
    assert not sum(written_by_lookup)
