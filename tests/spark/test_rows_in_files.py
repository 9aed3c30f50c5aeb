"""Rows in files, as the command line reads them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidegate as tg
from tidegate.cli.streaming import _stream_of_files
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.spark.files import read_rows, rows_in, write_rows
from tidegate.spark.inputs import UNREADABLE
from tidegate.spark.rows import row_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def source() -> Source:
    flow = tg.Flow("clicks")
    flow.source("clicks", "t INT, k STRING", time="t")
    return flow.plan.sources[0]


def test_a_directory_is_read_as_what_is_in_it_and_a_pattern_as_a_pattern(spark: SparkSession, tmp_path: Path) -> None:
    """A directory that is called like a pattern is one directory; JSON in it is no Parquet."""
    for name in ("run [1]", "run 1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text(f'{{"t": {len(name)}, "k": "a"}}\n{{"t": "no", "k": "b"}}\n')
    read = read_rows(spark, source(), str(tmp_path / "run [1]"))
    assert [tuple(row) for row in read.rows.collect()] == [(7, "a")]
    assert read.unreadable is not None
    assert read.unreadable.count() == 1
    both = read_rows(spark, source(), f"{tmp_path}/run*")
    assert sorted(row.t for row in both.rows.collect()) == [5, 7]
    write_rows(read.rows, str(tmp_path / "out [2]"))
    assert rows_in(spark, str(tmp_path / "out [2]")) == 1


def test_what_is_no_parquet_is_told_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    """With the file, and how other formats are known."""
    (tmp_path / "clicks").write_text("t,k\n1,a\n")
    with pytest.raises(
        BadInput, match=r"expected Parquet for 'clicks' in .*clicks; .*\n  hint: .*\.csv, \.json"
    ) as error:
        read_rows(spark, source(), str(tmp_path / "clicks"))
    assert len(str(error.value).splitlines()) == 2


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_instants_are_written_to_the_microsecond(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """With a zone and without, in a column and in a nested value: windows end a microsecond before the next begins."""
    at = "2026-01-01 00:59:59.999999"
    values = [f"TIMESTAMP '{at}'", f"TIMESTAMP_NTZ '{at}'"]
    columns = [*values, *(f"array({value})" for value in values), f"struct({values[1]} AS x)"]
    rows = spark.sql("SELECT " + ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(columns)))
    write_rows(rows, str(tmp_path / f"out.{kind}"))
    (text,) = [path.read_text() for path in (tmp_path / f"out.{kind}").glob("part-*")]
    assert text.count("2026-01-01T00:59:59.999999") == len(columns)


def test_maps_that_differ_by_a_microsecond_have_an_order(spark: SparkSession) -> None:
    """Rows with such maps would else come in any order."""
    for type_ in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        values = ", ".join(f"(map('k', {type_} '2026-01-01 00:00:00.00000{i}'))" for i in range(2))
        rows = spark.sql(f"SELECT * FROM VALUES {values} AS rows(m)")
        assert rows.selectExpr(row_order(rows)).distinct().count() == 2


def test_a_text_with_a_line_break_is_one_row(spark: SparkSession, tmp_path: Path) -> None:
    """The report counts rows, and not lines."""
    rows = spark.createDataFrame([(1, "a\nb"), (2, "c")], "t INT, k STRING")
    for kind in ("csv", "json"):
        write_rows(rows, str(tmp_path / f"out.{kind}"))
        assert rows_in(spark, str(tmp_path / f"out.{kind}")) == 2


def test_one_compressed_file_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """As a directory of such files is."""
    with gzip.open(tmp_path / "clicks.csv.gz", "wt") as file:
        file.write("k,t\na,1\n")
    assert [(row.t, row.k) for row in read_rows(spark, source(), str(tmp_path / "clicks.csv.gz")).rows.collect()] == [
        (1, "a")
    ]


def streamed(spark: SparkSession, ddl: str, path: Path) -> list[tuple[Any, ...]]:
    """What the command reads from a stream of files of CSV, as rows of t and k."""
    flow = tg.Flow("clicks")
    flow.source("clicks", ddl, time="t", watermark=tg.bounded(0))
    rows = _stream_of_files(spark, flow.plan, "clicks", str(path), "csv").select("t", "k", UNREADABLE)
    found: list[Any] = []
    writer = rows.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
    writer.trigger(availableNow=True).start().awaitTermination()
    return sorted((row.t, row.k) for row in found)


def test_a_stream_of_csv_is_read_by_the_names_in_its_header(spark: SparkSession, tmp_path: Path) -> None:
    """The time need not be the first column, where it was declared so or not; a directory may be a column, or none."""
    (tmp_path / "in" / "day=1").mkdir(parents=True)
    (tmp_path / "in" / "day=1" / "a.csv").write_text("K,t\na,1\nb,2\n")
    assert streamed(spark, "k STRING, t INT", tmp_path / "in" / "day=1") == [(1, "a"), (2, "b")]
    assert streamed(spark, "k STRING, day INT, t INT", tmp_path / "in") == [(1, "a"), (2, "b")]
    with pytest.raises(BadInput, match=r"expected columns t in .*in, got also K\n.*declare them too"):
        streamed(spark, "t INT", tmp_path / "in")


def test_a_stream_of_csv_may_have_no_file_yet(spark: SparkSession, tmp_path: Path) -> None:
    """Nor a line in the first one."""
    (tmp_path / "in").mkdir()
    assert streamed(spark, "k STRING, t INT", tmp_path / "in") == []
    (tmp_path / "in" / "a.csv").write_text("")
    assert streamed(spark, "k STRING, t INT", tmp_path / "in") == []
