"""Rows of CSV and JSON files: what parses is what Spark makes of it; what does not is set aside with its text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.local_engine.engine import plain
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.spark.files import read_rows
from tidegate.spark.wire import python_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]

CSV = "t INT, k STRING, x DOUBLE, b BOOLEAN, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, m DECIMAL(5,2), l BIGINT, f FLOAT"
JSON = f"{CSV}, a ARRAY<INT>, s STRUCT<p: INT, q: STRING>, e MAP<STRING, INT>"

MOMENTS = [
    "2026-01-01", "2026-01-01 10", "2026-01-01 10:20", "2026-01-01T10:20:30", "2026-01-01T10:20:30Z",
    "2026-01-01 10:20:30.1234567", "2026-01-01 10:20:30+02:00", "2026-01-01T10:20:30.5-0130", "2026-01-01 10:20:30 UTC",
    "2026-01-01 10:20:30+02", "2026", "2026-02", "2026-1-1 1:2:3", "1767225600", "2026-01-01 24:00:00", "soon",
    "2026-01-01 10:20:60", " 2026-01-01 10:20", "2026-01-01 10:20 ", "2026-02-29", "2024-02-29 23:59:59.999999",
    "2026-01-01 10:20:30.", "2026-01-01 10:20:30+19:00", "26-01-01", "2026-01-01x", "2026/01/01", "20260101",
]  # fmt: skip
TEXTS = {
    "t": ["2.7", "many", "2147483648", "+5", "-5", "1e3", "0x1", "1L", "1_0", '"12"', '" 12"', " 11 ", "007", "-0"],
    "x": ["1", "NaN", "nan", "inf", "Inf", "-Inf", "Infinity", "1e5", "1d", "1f", ".5", "5.", " 5", "5 ", "1_0", "abc"],
    "b": ["true", "TRUE", "False", "t", "yes", "1", "0", " true"],
    "d": [*MOMENTS, "epoch", "2026-01-01T10:00:00"],
    "ts": MOMENTS,
    "n": MOMENTS,
    "m": ["1.5", "1.555", "-1.545", "12345", "1e1", '"1,000"', '"1,00"', " 1", "5.", ".5", "999.995", "999.994", "x"],
    "l": ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "+0", "5 "],
    "f": ["1.5", "0.1", "3e38", "x"],
}  # fmt: skip
LINES = r'''
2,b
3,c,1,true,2026-01-01,,,,,,more
,,,,,,,,,
"","",,,,,,,,
4,"q,q",,,,,,,,
5,"he said ""hi""",,,,,,,,
6,"he said \"hi\"",,,,,,,,
7,a"b,,,,,,,,
8,"a"b,,,,,,,,
8,"a,b"c,,,,,,,,
9,"open,,,,,,,,
10, sp ,,,,,,,,
11,NULL,,,,,,,,
13,""x"",,,,,,,,
14,"""",,,,,,,,
15,15,15,15,15,15,15,15,15,
16,,,,,,,,,
'''.splitlines()
LINES += ["", "   ", "12,é\t\u2028,,,,,,,,"]
OBJECTS = r"""
{"t": 1, "k": "a", "x": 1.5}
{"t": 2}
{"t": "3", "k": "a"}
{"t": 4, "k": 5}
{"t": 5.5, "k": "a"}
nonsense
{"t": 6
[{"t": 7}, {"t": 8, "k": "z"}]
{"t": 9, "k": {"a":1}}
{"t": 10, "more": 1}
null
{}
{"T": 13}
{"t": 2147483648}
{"t": null, "k": "a"}
{"t": 14, "x": "NaN"}
{"t": 15, "x": "1.5"}
{"t": 16, "x": 5}
{"t": 17, "b": "true"}
{"t": 18, "b": 1}
{"t": 18, "b": false}
{"t": 21, "ts": 5}
{"t": 22, "k": true}
{"t": 23, "k": [1,2]}
{"t": 24, "a": [1, "x"]}
{"t": 25, "a": [1, null]}
{"t": 25, "a": []}
{"t": 26, "s": {"p": 1, "q": "z"}}
{"t": 27, "s": {"p": "bad"}}
{"t": 28, "s": {"p": 1, "more": 2}}
{"t": 29, "s": null}
{"t": 29, "s": 5}
{"t": 1.0}
{"t": 1e1}
{"t": "", "k": ""}
5
"text"
{"t": 34, "e": {"p": 1}}
{"t": 34, "e": {"p": "x"}}
  {"t": 35}
{"t": 39, "l": 9223372036854775807}
{"t": 40, "l": 9223372036854775808}
{"t": 41, "m": 1.555}
{"t": 42, "m": "2.5"}
{"t": 43, "m": 12345}
{"t": 44, "k": "a,]"}
{"t": 45, "k": "a",}
{"t": 46, "a": [1,]}
{"t": 47, "x": -1e5, "f": 0.1}
{"t": 48, "k": "\u00e9\n"}
{"t": 49, "d": 5}
{"t": 50, "n": 5}
""".splitlines()
# As a date in JSON, Spark takes a text of digits for a number of days.
OBJECTS += [json.dumps({"t": 51, "d": text}) for text in MOMENTS if not text.isdigit()]
OBJECTS += [json.dumps({"t": 52, column: text}) for column in ("ts", "n") for text in MOMENTS]
#: Spark reads these, and here they do not parse: two values for one name; what is no JSON; texts that would be others.
LESS = [
    '{"t": 11, "t": 12}', "{'t': 29}", '{"t": 30} trailing', '{"t": 38, "k": 1.50}', '{"t": 9, "k": {"a": 1}}',
]  # fmt: skip


def source(schema: str) -> tuple[tg.Flow, Source]:
    flow = tg.Flow("lines")
    flow.sink("out", flow.source("s", schema, time="t"))
    return flow, flow.plan.sources[0]


def here(schema: str, path: Path) -> tuple[list[Row], list[Row]]:
    """The rows of a file, and what is rejected of it, on the local engine."""
    tables = source(schema)[0].compute(tg.local(), {"s": path})
    good, bad = ([tuple(map(plain, row)) for row in rows.fetchall()] for rows in (tables["out"], tables.rejected["s"]))
    assert tables.rejected.counts() == {"s": len(bad)}
    return good, bad


def on_spark(spark: SparkSession, schema: str, path: Path) -> tuple[list[Row], list[Row]]:
    """The same on Spark, as the command line has it."""
    flow, declared = source(schema)
    read = read_rows(spark, declared, str(path))
    assert read.unreadable is not None
    tables = flow.compute(spark, {"s": read.rows})
    rejected = tables.rejected["s"].unionByName(read.unreadable)
    good, bad = ([tuple(row.values()) for row in python_rows(frame)] for frame in (tables["out"], rejected))
    return good, bad


def csv_lines() -> Iterable[str]:
    names = [column.split()[0] for column in CSV.split(", ")]
    yield from LINES
    for name, texts in TEXTS.items():
        for text in texts:
            given = {"t": "1", "k": name, name: text}
            yield ",".join(given.get(column, "") for column in names)


@pytest.mark.spark
def test_csv_is_read_as_spark_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    """Short and long rows, quotes, empty lines, and texts of every type: the same rows, and the same are rejected."""
    header = ",".join(column.split()[0] for column in CSV.split(", "))
    (tmp_path / "s.csv").write_text("\n".join([header, *csv_lines()]) + "\n")
    for found, expected in zip(here(CSV, tmp_path / "s.csv"), on_spark(spark, CSV, tmp_path / "s.csv"), strict=True):
        assert_same_rows(found, expected)


@pytest.mark.spark
def test_json_is_read_as_spark_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    """Objects that are cut, values of other types, nested values, arrays of rows."""
    (tmp_path / "s.json").write_text("\n".join(OBJECTS) + "\n")
    for found, expected in zip(
        here(JSON, tmp_path / "s.json"), on_spark(spark, JSON, tmp_path / "s.json"), strict=True
    ):
        assert_same_rows(found, expected)


def test_what_might_be_read_otherwise_does_not_parse(tmp_path: Path) -> None:
    """A line of JSON whose value would differ from Spark's is rejected, and not read in another way."""
    (tmp_path / "s.json").write_text("\n".join(LESS) + "\n")
    good, bad = here("t INT, k STRING", tmp_path / "s.json")
    assert good == []
    assert sorted(row[-1] for row in bad) == sorted(f"does not parse: {line}" for line in LESS)


def test_rows_that_do_not_parse_are_rejected(tmp_path: Path) -> None:
    """With their text as the reason, beside those without a time; a table has them too."""
    flow = tg.Flow("joined")
    clicks = flow.source("clicks", "t INT, page STRING, reason STRING", time="t")
    flow.sink("out", clicks.join(flow.table("pages", "page STRING, n INT"), on="page"))
    (tmp_path / "c.csv").write_text("page,t,reason\na,1,x\na,soon,y\nb,,z\n")
    (tmp_path / "p.jsonl").write_text('{"page": "a", "n": 5}\n{"page": "b", "n": 2.5}\n')
    tables = flow.compute(tg.local(), {"clicks": tmp_path / "c.csv", "pages": tmp_path / "p.jsonl"})
    assert tables["out"].fetchall() == [(1, "a", "x", 5)]
    assert tables.rejected.counts() == {"clicks": 2, "pages": 1}
    assert sorted(tables.rejected["clicks"].fetchall(), key=str) == [
        (None, "b", "z", "null time in t"),
        (None, None, None, "does not parse: a,soon,y"),
    ]
    assert tables.rejected["pages"].fetchall() == [(None, None, 'does not parse: {"page": "b", "n": 2.5}')]
    assert tables.rejected["clicks"].columns[-1] == "__reason"


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    """Also those that the engine itself might think of."""
    row = {"t": 1, "line": "a", "p": "b", "r": "c", "j": "d", "k": "e", "it's": "f", "f": "g", "w": "h", "e0": "i"}
    schema = "t INT, " + ", ".join(f"`{name}` STRING" for name in list(row)[1:])
    (tmp_path / "s.csv").write_text("\n".join(",".join(map(str, texts)) for texts in (row, row.values())))
    (tmp_path / "s.json").write_text(json.dumps(row))
    for kind in ("csv", "json"):
        assert here(schema, tmp_path / f"s.{kind}") == ([tuple(row.values())], [])


def test_files_of_csv_that_differ(tmp_path: Path) -> None:
    """Each is read by its own header, whatever ends its lines; one may be empty, or packed."""
    (tmp_path / "1.csv").write_bytes(b"\xef\xbb\xbft,k\r\n1,a\r\n\r\n2,b")
    (tmp_path / "2.csv").write_bytes(b'"K",t\nc,3\r\nd,4\n')
    (tmp_path / "3.csv").write_bytes(b"")
    with gzip.open(tmp_path / "4.csv.gz", "wt") as file:
        file.write("t,k\n5,e\n")
    good, bad = here("t INT, k STRING", tmp_path)
    assert (sorted(good), bad) == ([(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t\n1\n", "expected columns t, k in .*s.csv, got t"),
        ("t,k,x\n1,a,2\n", "expected columns t, k in .*s.csv, got t, k, x"),
        ("t,k,k\n1,a,2\n", "expected columns t, k in .*s.csv, got t, k, k"),
        ("\nt,k\n1,a\n", "expected names of columns in the first line of .*s.csv, got an empty line"),
    ],
)
def test_headers_that_do_not_fit(tmp_path: Path, text: str, message: str) -> None:
    """Columns that are missing, too many or there twice, and a file that begins with an empty line."""
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(BadInput, match=message):
        here("t INT, k STRING", tmp_path / "s.csv")


def test_types_that_texts_do_not_have(tmp_path: Path) -> None:
    """They are refused at the start."""
    (tmp_path / "s.csv").write_text("t,a\n1,[1]\n")
    with pytest.raises(BadInput, match=r"expected columns of types that a text can have, got ARRAY<INT>"):
        here("t INT, a ARRAY<INT>", tmp_path / "s.csv")
