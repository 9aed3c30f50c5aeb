"""Rows in files, for the command line: Parquet, CSV and JSON, told apart by the end of the name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.flow.errors import BadArgument, BadInput
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.spark.arrow import struct_type
from tidegate.spark.patterns import pattern_of
from tidegate.spark.rows import MICROSECONDS, as_json
from tidegate.spark.said import said_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "FileRows",
    "checked_input",
    "file_format",
    "input_format",
    "read_rows",
    "rows_in",
    "streamed_columns",
    "write_rows",
]

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_COMPRESSED = (".gz", ".bz2", ".snappy", ".zst", ".lz4", ".deflate")
_UNREADABLE = "__unreadable"


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a file that could be read, and those that could not, as text with the reason."""

    rows: DataFrame
    unreadable: DataFrame | None


def file_format(path: str) -> str:
    """Answer the format of a file or directory, by the end of its name; without one it is Parquet.

    >>> file_format("in/clicks.csv"), file_format("out/hourly")
    ('csv', 'parquet')
    """
    suffix = Path(path).suffix.lower()
    if suffix and suffix not in _FORMATS:
        raise BadArgument(
            f"expected a file whose name ends in {', '.join(_FORMATS)}, got {path}", hint="a directory of Parquet files"
        )
    return _FORMATS.get(suffix, "parquet")


def input_format(path: str) -> str:
    """Return the format of what is read: of a directory or a pattern, that of the files in it, if it is one.

    Where there is nothing to see yet, the name decides, as it does for what is written.
    """
    place = Path(path)
    if _ending(place) in _FORMATS:
        return _FORMATS[_ending(place)]
    if "://" in path or place.is_file():
        return file_format(path)
    meant = [place] if place.exists() else map(Path, glob(path))
    files = [p for found in meant for p in (found.rglob("*") if found.is_dir() else [found]) if _is_data(p)]
    endings = sorted({_ending(p) for p in files})
    kinds = {_FORMATS.get(ending, "") for ending in endings}
    if len(kinds) > 1 or kinds == {""}:
        raise BadArgument(
            f"expected files of one format in {path}, whose names end in {', '.join(_FORMATS)}; "
            f"got {', '.join(ending or 'no ending' for ending in endings)}",
            hint=f"a directory for each format; or a pattern, as '{path.rstrip('/')}/*.csv'",
        )
    return kinds.pop() if kinds else "parquet"


def checked_input(name: str, path: str) -> str:
    """Return the format of an input, or raise if there is none; this needs no Spark."""
    if "://" not in path and not Path(path).exists() and not glob(path):
        raise BadInput(f"expected a file or directory for {name!r}, got {path}, which is not there")
    if Path(path).is_dir() and not any(map(_is_data, Path(path).rglob("*"))):
        raise BadInput(
            f"expected files for {name!r} in {path}, got none", hint="names with . or _ first are overlooked"
        )
    return input_format(path)


def _is_data(path: Path) -> bool:
    """Whether Spark would read a file: it overlooks names that begin with a dot or an underscore."""
    return path.is_file() and not path.name.startswith((".", "_"))


def _ending(path: Path) -> str:
    """Return how the name of a file ends, without that of a compression."""
    return next((s for s in reversed([s.lower() for s in path.suffixes]) if s not in _COMPRESSED), "")


def read_rows(spark: SparkSession, operator: Source | Table, path: str) -> FileRows:
    """Answer the rows of a file as what a source or table declares; no value that does not parse becomes a null."""
    kind = checked_input(operator.id, path)
    if Path(path).exists():
        # It is meant as it is, and not as a pattern.
        path = pattern_of(path)
    if kind == "parquet":
        return FileRows(_parquet(spark, operator, path), None)
    declared = operator.schema.columns
    if kind == "csv":
        declared = _as_in(operator, spark.read.option("header", True).csv(path).columns, path)
    schema = struct_type(declared).add(_UNREADABLE, "string")
    options = {"columnNameOfCorruptRecord": _UNREADABLE, "mode": "PERMISSIVE", "header": "true"}
    raw = spark.read.format(kind).schema(schema).options(**options).load(path)
    names = [quoted(c.name) for c in declared]
    good = raw.where(f"{_UNREADABLE} IS NULL").select(*names)
    # Spark does not read that column on its own: ask the others for something that is always so.
    bad = raw.where(f"{_UNREADABLE} IS NOT NULL AND length(to_json(struct({', '.join(names)}))) >= 0")
    reason = "'a value does not parse as its type' AS reason"
    return FileRows(good, bad.selectExpr(f"{_UNREADABLE} AS text", reason))


def streamed_columns(spark: SparkSession, operator: Source, path: str, kind: str) -> tuple[Column, ...]:
    """Return the columns to read a stream of files with: if they are CSV, in the order of the header that there is.

    What the header lacks is behind it: it may be the name of a directory. Where there is no file yet, the order is that
    of the schema.
    """
    from pyspark.errors import AnalysisException

    declared, header = operator.schema.columns, []
    if kind == "csv":
        # Of the file alone, without the names of directories.
        reader = spark.read.options(header="true", recursiveFileLookup="true")
        with suppress(AnalysisException):
            header = reader.csv(path).columns
    found = _as_in(operator, header, path)
    return (*found, *(column for column in declared if column not in found))


def _as_in(operator: Source | Table, header: Sequence[str], path: str) -> tuple[Column, ...]:
    """Return the declared columns in the order of a header: Spark matches columns of CSV files by position."""
    by_name = {c.name.lower(): c for c in operator.schema.columns}
    strange = [name for name in header if name.lower() not in by_name]
    if strange:
        raise BadInput(
            f"expected columns {', '.join(operator.schema.names)} in {path}, got also {', '.join(strange)}",
            hint="declare them too: a file is read as a whole",
        )
    return tuple(by_name[name.lower()] for name in header)


def _parquet(spark: SparkSession, operator: Source | Table, path: str) -> DataFrame:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return spark.read.parquet(path)
    except (PySparkException, Py4JJavaError) as error:
        raise BadInput(
            f"expected Parquet for {operator.id!r} in {path}; {said_by(error).text}",
            hint=f"other formats are known by the ends of names: {', '.join(_FORMATS)}",
        ) from None


def write_rows(rows: DataFrame, path: str, *, overwrite: bool = False) -> None:
    """Write rows to a directory of files; what is there stays, unless it may be overwritten."""
    kind = file_format(path)
    if "://" not in path and Path(path).exists() and not overwrite:
        raise BadArgument(f"{path} is there already", hint="choose another place, or pass --overwrite")
    flat = _flat(rows) if kind == "csv" else rows
    writer = flat.write.mode("overwrite" if overwrite else "errorifexists").format(kind)
    writer.options(header="true", **MICROSECONDS).save(path)


def rows_in(spark: SparkSession, path: str) -> int:
    """Count the rows of a file or directory."""
    kind = file_format(path)
    # A text in CSV may have several lines; in JSON, that would take each file for one value.
    reader = spark.read.format(kind).options(header="true", multiLine=str(kind == "csv").lower())
    return reader.load(pattern_of(path)).count()


def _flat(rows: DataFrame) -> DataFrame:
    """Answer rows as CSV can hold them: fields of structs as columns of their own, other nested values as JSON."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    columns = []
    for field in rows.schema.fields:
        name = quoted(field.name)
        if isinstance(field.dataType, StructType):
            parts = field.dataType.names
            columns += [f"{name}.{quoted(part)} AS {quoted(f'{field.name}_{part}')}" for part in parts]
        elif isinstance(field.dataType, ArrayType | MapType):
            columns.append(f"{as_json(name)} AS {name}")
        else:
            columns.append(name)
    return rows.selectExpr(*columns)
