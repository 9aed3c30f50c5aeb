"""Files of CSV that DuckDB divides: the same rows, and the same lines that do not parse, as line by line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.csv_files import _regular, csv_rows
from tidegate.local_engine.session import utc_cursor
from tidegate.local_engine.texts import text_value, tried

COLUMNS = {
    "t": "INT", "k": "STRING", "x": "DOUBLE", "b": "BOOLEAN", "d": "DATE", "ts": "TIMESTAMP", "n": "TIMESTAMP_NTZ",
    "m": "DECIMAL(5,2)", "l": "BIGINT",
}  # fmt: skip

DATES = st.sampled_from(
    ["2026-01-01", "0001-01-01", "0000-01-01", "9999-12-31", "12345-01-01", "-044-03-15", "0044-03-15 (BC)",
     "2026-02-30", "2026-1-1", " 026-01-01", "+026-01-01", "2026/01/01", "26-01-01", "2024-02-29", "290000-01-01"]
)  # fmt: skip
CLOCKS = st.sampled_from(
    ["00:00:00.000000", "23:59:59.999999", "24:00:00.000000", "23:59:60.000000", " 1:00:00.000000", "10:20:30.12345Z",
     "10:20:30.123+02", "10:20:30.12 UTC", "10:20:30.12345 ", "10:20:30", "10:20:30Z", "10:20:30.5", "1:2:3.0000000",
     "10:20", "10", "10:20:30.123456789", "10:20:30 +02:00", "10:20:30.00000é"]
)  # fmt: skip
INSTANTS = st.builds("".join, st.tuples(DATES, st.sampled_from(["T", " ", "t", "  "]), CLOCKS))
WORDS = st.sampled_from(
    ["", "", " ", "a", "é", "\u2028", "\x02", "\x1f", "NaN", "nan", "inf", "-Inf", "infinity", "-infinity", "epoch",
     "true", "FALSE", "t", "null", "NULL", "\\N", "\\", "#", "1d", "0x1", "0b1", "1_0", "١", "now", "today"]
)  # fmt: skip
NUMBERS = st.from_regex(r"[ +-]?[0-9]{1,20}(\.[0-9]{0,5})?([eE][+-]?[0-9]{1,3})? ?", fullmatch=True)
SMALL = st.integers(-5, 2**33).map(str)
TEXTS = st.one_of(SMALL, NUMBERS, DATES, INSTANTS, WORDS)
#: What a file of DuckDB, pandas or Spark has.
USUAL = {
    "t": SMALL, "k": st.sampled_from(["a", "key-1", "é", ""]), "x": st.floats().map(repr),
    "b": st.sampled_from(["true", "false", ""]), "d": st.dates().map(str), "l": SMALL,
    "m": st.decimals(places=2).map(str), "ts": st.datetimes().map(lambda at: at.isoformat(timespec="microseconds")),
    "n": st.datetimes().map(str),
}  # fmt: skip
PIECES = st.sampled_from(['"', '""', '"a"', "\0", "\r", ",", "\n", "\ufeff", "\x02", " ", "\t", "1", "é"])
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n", "\r\r\n", "\n \n"])


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """Draw columns and a file of them: half of them are regular, with odd texts; the others have odd lines too."""
    others = draw(st.lists(st.sampled_from(sorted(COLUMNS.keys() - {"t"})), max_size=3, unique=True))
    names = draw(st.permutations(["t", *others]))
    regular, end = draw(st.booleans()), draw(st.sampled_from(["\n", "\r\n"]))
    written = [",".join(names), end]
    for _ in range(draw(st.integers(0, 8))):
        fields = [draw(USUAL[name] | TEXTS) for name in names]
        if not regular and draw(st.booleans()):
            at = draw(st.integers(0, len(fields)))
            fields[at:at] = draw(st.lists(PIECES, max_size=2))
            fields = fields[draw(st.integers(0, 1)) :]
        written += [",".join(fields), end if regular else draw(ENDS)]
    text = draw(st.sampled_from(["", "", "\ufeff"])) + "".join(written[: -1 if draw(st.booleans()) else None])
    return names, text.encode() + draw(st.sampled_from([b"", b"", b"", b"\xff"]))


def source(names: list[str]) -> Source:
    flow = tg.Flow("csv")
    flow.sink("out", flow.source("s", ", ".join(f"{name} {COLUMNS[name]}" for name in sorted(names)), time="t"))
    return flow.plan.sources[0]


def rows_of(names: list[str], path: Path, *, by_line: bool) -> Any:
    """The rows, those that do not parse, and both as a stream has them; or what is raised."""
    with duckdb.connect() as connection:
        try:
            found = csv_rows(LocalBackend(utc_cursor(connection)), source(names), "there", [str(path)], by_line=by_line)
            relations = [found.rows, found.unreadable, found.every]
            return [Counter(map(repr, rows.few())) for rows in relations if rows is not None]
        except (BadInput, duckdb.Error) as error:
            return type(error)


@given(drawn=files())
@example(drawn=(["t", "k"], b"t,k\n1,a\n2,b\n"))
@example(drawn=(["t", "k"], b"t,k\r\n1,a\r\nx,b\r\n3,"))
@example(drawn=(["t", "k"], b"t,k\r\n1,a\rb\n"))
@example(drawn=(["t", "k"], b"t,k\n1,a,\n2\n"))
@example(drawn=(["t", "k"], b"t,k\n1,a\x002,b\n"))
def test_both_ways_give_the_same(drawn: tuple[list[str], bytes]) -> None:
    """Blanks, quotes, NULs, ends of lines of all kinds, wrong counts, and texts that are nearly values."""
    names, content = drawn
    with TemporaryDirectory() as directory:
        path = Path(directory) / "s.csv"
        path.write_bytes(content)
        assert rows_of(names, path, by_line=False) == rows_of(names, path, by_line=True)


@given(texts=st.lists(TEXTS | st.text(max_size=30), min_size=1, max_size=50))
def test_values_that_are_written_again_are_those_of_patterns(texts: list[str]) -> None:
    """What is the same text when it is written again would have matched the pattern, and is the same value."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE texts (s VARCHAR)")
        connection.executemany("INSERT INTO texts VALUES (?)", [[text] for text in texts])
        for type_ in COLUMNS.values():
            values = f"SELECT s, {text_value('s', type_)} AS slow, {text_value('s', type_, 'v')} AS fast"
            query = f"{values} FROM (SELECT s, {tried('s', type_)} AS v FROM texts)"
            found = connection.execute(f"SELECT * FROM ({query}) WHERE slow IS DISTINCT FROM fast").fetchall()
            assert found == [], type_


@pytest.mark.parametrize(
    ("content", "regular"),
    [
        (b"t,k\n1,a\n", True),
        (b"t,k\r\n1,a\r\n2,b", True),
        (b"t,k\n1,a\r\n2,b\n", True),
        (b"t,k\n" + b"1,a\r\n" * 1_000_000, True),
        (b"t,k\n" + b"1,a\r\n" * 1_000_000 + b"2\n", False),
        (b"t,k\n1,a\rb\n", False),
        (b"t,k\n1,a\r", False),
        (b"t,k\n1,a\n\n", False),
        (b"t,k\n1,a,\n2\n", False),
        (b't,k\n1,"a"\n', False),
        (b"t,k\n1,\0\n", False),
    ],
    ids=[str(i) for i in range(11)],
)
def test_regular_files(tmp_path: Path, content: bytes, regular: bool) -> None:
    """Each line has as many fields, whatever ends it, and there are no quotes; wherever a chunk ends."""
    path = tmp_path / "s.csv"
    path.write_bytes(content)
    assert _regular(str(path), 2) is regular
    assert not _regular(str(path), 3)
    assert not _regular(str(path), 1)
    path.rename(tmp_path / "s.csv.gz")
    assert not _regular(str(tmp_path / "s.csv.gz"), 2)
