"""Files that Arrow writes are compressed, unless that would not make them smaller."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.local_engine.streaming import written


def noise(rows: int) -> pa.Array:
    rng = Random(7)
    return pa.array([[rng.random() for _ in range(500)] for _ in range(rows)])


def codecs(rows: pa.Table, place: Path) -> set[str]:
    """Return how the columns of rows are compressed in a file, which has the rows as they were."""
    path = place / "rows.parquet"
    written.write_few(rows, path)
    assert pq.read_table(path).equals(rows)
    group = pq.read_metadata(path).row_group(0)
    return {group.column(i).compression for i in range(group.num_columns) if group.column(i).path_in_schema[0] != "t"}


def test_texts_beside_noise_are_compressed(tmp_path: Path) -> None:
    """Also inside of lists, structs and maps, which are several columns of a file."""
    texts = pa.array([[{"word": f"some text, number {i}", "at": i}] for i in range(100)])
    maps = pa.array([[("a key", 1.5)]] * 100, pa.map_(pa.string(), pa.float64()))
    written.write_few(pa.table({"t": texts, "m": maps, "v": noise(100)}), tmp_path / "rows.parquet")
    group = pq.read_metadata(tmp_path / "rows.parquet").row_group(0)
    found = {c.path_in_schema: c.compression for c in (group.column(i) for i in range(group.num_columns))}
    assert found == {
        "t.list.element.at": "UNCOMPRESSED",
        "t.list.element.word": "SNAPPY",
        "m.key_value.key": "SNAPPY",
        "m.key_value.value": "UNCOMPRESSED",
        "v.list.element": "UNCOMPRESSED",
    }


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (pa.table({"v": noise(100)}), {"UNCOMPRESSED"}),
        (pa.table({"v": noise(10)}), {"SNAPPY"}),
        (pa.table({"v": pa.array([[1.5] * 1_000] * 100)}), {"SNAPPY"}),
        (pa.table({"v": pa.array(["a text that is written often"] * 100_000)}), {"SNAPPY"}),
        (pa.table({"t": pa.array(["some text"] * 1_000), "v": noise(1_000)}), {"UNCOMPRESSED"}),
        (pa.table({"t": pa.array(["some text " * 900] * 100), "v": noise(100)}), {"UNCOMPRESSED"}),
        (pa.table({"v": pa.concat_arrays([pa.array([[0.0] * 500] * 1_000), noise(100)])}), {"SNAPPY"}),
        (pa.table({"v": pa.concat_arrays([noise(100), pa.array([[0.0] * 500] * 1_000)])}), {"SNAPPY"}),
    ],
    ids=[
        "noise",
        "little",
        "equal numbers",
        "texts",
        "beside few texts",
        "beside long texts",
        "noise at the end",
        "noise first",
    ],
)
def test_only_what_shrinks_is_compressed(rows: pa.Table, found: set[str], tmp_path: Path) -> None:
    """Numbers whose digits are noise are not; few rows, and all others, are."""
    assert codecs(rows, tmp_path) == found
