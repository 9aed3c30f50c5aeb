"""Files of rows, for the command line: Parquet, CSV and JSON, recognised by the suffix of the name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.engine.formats import ENDINGS, checked_input, checked_output, file_format
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import quoted
from tidegate.spark.arrow import struct_type
from tidegate.spark.error_messages import describe_error
from tidegate.spark.patterns import pattern_of
from tidegate.spark.rows import MICROSECONDS, as_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CSV", "FileRows", "read_rows", "rows_in", "streamed_columns", "write_rows"]

#: How CSV files are read and written. A quote inside a string is doubled (RFC 4180); Spark's default is a backslash.
CSV = {"header": "true", "escape": '"'}

_UNREADABLE = "__unreadable"


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a file that parse, and those that do not. The latter have no values, but their text as the reason."""

    rows: DataFrame
    unreadable: DataFrame | None


def read_rows(spark: SparkSession, operator: Source | Table, path: str) -> FileRows:
    """Return the rows of a file with the declared columns. A value that does not parse never becomes NULL."""
    kind = checked_input(operator.id, path)
    if Path(path).exists():
        # The path is taken literally, not as a pattern.
        path = pattern_of(path)
    if kind == "parquet":
        return FileRows(_parquet(spark, operator, path), None)
    declared = operator.schema.columns
    if kind == "csv":
        declared = _as_in(operator, spark.read.options(**CSV).csv(path).columns, path)
    schema = struct_type(declared).add(_UNREADABLE, "string")
    options = {"columnNameOfCorruptRecord": _UNREADABLE, "mode": "PERMISSIVE", **CSV}
    raw = spark.read.format(kind).schema(schema).options(**options).load(path)
    names = [quoted(c.name) for c in declared]
    good = raw.where(f"{_UNREADABLE} IS NULL").select(*names)
    # Spark does not fill that column if a query reads no other one. So the condition also reads the others, in a part
    # that is always true.
    bad = raw.where(f"{_UNREADABLE} IS NOT NULL AND length(to_json(struct({', '.join(names)}))) >= 0")
    nothing = [f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in operator.schema.columns]
    reason = quoted("__reason" if "reason" in operator.schema else "reason")
    return FileRows(good, bad.selectExpr(*nothing, f"concat('does not parse: ', {_UNREADABLE}) AS {reason}"))


def streamed_columns(spark: SparkSession, operator: Source, path: str, kind: str) -> tuple[Column, ...]:
    """Return the columns to read a stream of files with. For CSV, they are in the order of the existing header.

    Columns that are not in the header come last: they may be names of directories. If there is no file yet, the order
    is that of the schema.
    """
    from pyspark.errors import AnalysisException

    declared, header = operator.schema.columns, []
    if kind == "csv":
        # Only the columns of the file are read, without the names of directories.
        reader = spark.read.options(recursiveFileLookup="true", **CSV)
        with suppress(AnalysisException):
            header = reader.csv(path).columns
    found = _as_in(operator, header, path)
    return (*found, *(column for column in declared if column not in found))


def _as_in(operator: Source | Table, header: Sequence[str], path: str) -> tuple[Column, ...]:
    """Return the declared columns in the order of a header, since Spark matches CSV columns by position."""
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
            f"expected Parquet for {operator.id!r} in {path}; {describe_error(error).text}",
            hint=f"other formats are known by the ends of names: {ENDINGS}",
        ) from None


def write_rows(rows: DataFrame, path: str, *, overwrite: bool = False) -> None:
    """Write rows to a directory of files. Existing files are replaced only with ``overwrite``."""
    kind = checked_output(path, overwrite=overwrite)
    flat = _flat(rows) if kind == "csv" else rows
    writer = flat.write.mode("overwrite" if overwrite else "errorifexists").format(kind)
    writer.options(**CSV, **MICROSECONDS).save(path)


def rows_in(spark: SparkSession, path: str) -> int:
    """Return the number of rows in a file or directory."""
    kind = file_format(path)
    # A CSV string may have several lines. For JSON, the option would read each file as one value.
    reader = spark.read.format(kind).options(multiLine=str(kind == "csv").lower(), **CSV)
    return reader.load(pattern_of(path)).count()


def _flat(rows: DataFrame) -> DataFrame:
    """Return rows in a form for CSV: fields of structs as columns, other nested values as JSON."""
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
