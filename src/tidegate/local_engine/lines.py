"""Rows of CSV and JSON files, line by line as Spark reads them; lines that do not parse are set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name, duckdb_type
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.relation import NO_COLUMN, LocalRelation
from tidegate.local_engine.texts import json_fits, json_key, json_value, text_value

__all__ = ["InputRows", "csv_rows", "file_list", "json_rows"]

#: The line of a row, and whether all of it parses.
_LINE, _FITS = "__line", "__fits"

# A field is in quotes, or begins with some and goes on behind them, or has none at its beginning.
_QUOTED = '"(?:[^"]|"")*"'
_FIELDS = f'({_QUOTED}|{_QUOTED}[^,]+|[^",][^,]*|),'
#: JSON has no comma behind the last one of several; DuckDB reads over it. Texts are left out of what is looked at.
_LAST_COMMA, _JSON_TEXT = r",\s*[\]}]", r'"(?:[^"\\]|\\.)*"'


@dataclass(frozen=True, slots=True)
class InputRows:
    """The rows of an input, and those of files that do not parse: without values, but with their text as the reason."""

    rows: LocalRelation
    unreadable: LocalRelation | None = None


def file_list(files: Sequence[str]) -> str:
    """Return the names of files as DuckDB takes them.

    >>> file_list(["a.csv", "it's.csv"])
    "['a.csv', 'it''s.csv']"
    """
    quoted = [file.replace("'", "''") for file in files]
    return "[" + ", ".join(f"'{file}'" for file in quoted) + "]"


def csv_rows(backend: LocalBackend, operator: Source | Table, place: str, files: Sequence[str]) -> InputRows:
    """Return the rows of CSV files with a header; those with another order of columns are read by it."""
    headers: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        if header := _header(backend, file):
            headers.setdefault(header, []).append(file)
    parts = [_csv(operator, place, header, found) for header, found in headers.items()]
    return _split(backend, operator, parts)


def json_rows(backend: LocalBackend, operator: Source | Table, files: Sequence[str]) -> InputRows:
    """Return the rows of JSON files: one object in a line, or several in an array."""
    columns = operator.schema.columns
    values, fits = [], []
    for c in columns:
        value, name, type_ = json_key("j", c.name), duckdb_name(c.name), c.type or ""
        values.append(f"{json_value(value, type_, _LINE)} AS {name}")
        fits.append(json_fits(value, name, type_, _LINE))
    suspect = f"regexp_matches(line, '{_LAST_COMMA}')"
    torn = f"{suspect} AND regexp_matches(regexp_replace(line, '{_JSON_TEXT}', '', 'g'), '{_LAST_COMMA}')"
    # Spark takes the last of two values of one name, and DuckDB the first.
    whole = "coalesce(json_type(j) = 'OBJECT' AND len(json_keys(j)) = list_unique(json_keys(j)), false)"
    several = "CASE json_type(whole) WHEN 'ARRAY' THEN json_extract(whole, '$[*]') ELSE [whole] END"
    lines = f"SELECT line, CASE WHEN {torn} THEN NULL ELSE TRY_CAST(line AS JSON) END AS whole FROM ({_lines(files)})"
    objects = f"SELECT line AS {_LINE}, unnest({several}) AS j FROM ({lines})"
    read = f"SELECT {_LINE}, j, {', '.join(values)} FROM ({objects})"
    names = [duckdb_name(c.name) for c in columns]
    part = f"SELECT {', '.join(names)}, {_LINE}, {' AND '.join([whole, *fits])} AS {_FITS} FROM ({read})"
    return _split(backend, operator, [part] if files else [])


def _lines(files: Sequence[str], *, skip: int = 0) -> str:
    """Return a query for the lines of files that are not empty."""
    options = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, strict_mode = false"
    # Nothing divides a line, and nothing stands for NULL.
    options += f", delim = '', quote = '', escape = '', nullstr = '\x02', skip = {skip}"
    read = f"SELECT line FROM read_csv({file_list(files)}, {options})"
    return f"{read} WHERE regexp_matches(line, '[^\\x{{00}}-\\x{{20}}]')"


def _fields(line: str) -> str:
    """Return the fields of a line of CSV as they are written."""
    return (
        f"CASE WHEN contains({line}, '\"') THEN regexp_extract_all({line} || ',', '{_FIELDS}', 1) "
        f"ELSE string_split({line}, ',') END"
    )


def _unquoted(field: str) -> str:
    inside = f"replace({field}[2:-2], '\"\"', '\"')"
    return (
        f"CASE WHEN left({field}, 1) = '\"' AND regexp_full_match({field}, '{_QUOTED}') THEN {inside} ELSE {field} END"
    )


def _header(backend: LocalBackend, file: str) -> tuple[str, ...]:
    """Return the names in the first line of a file; none if there is no line."""
    with Path(file).open("rb") as opened:
        if opened.read(1) in (b"\n", b"\r"):
            raise BadInput(f"expected names of columns in the first line of {file}, got an empty line")
    fields = f"list_transform({_fields('line')}, lambda f: {_unquoted('f')})"
    found = backend.connection.execute(f"SELECT {fields} FROM ({_lines([file])}) LIMIT 1").fetchone()
    return tuple(found[0]) if found else ()


def _csv(operator: Source | Table, place: str, header: tuple[str, ...], files: Sequence[str]) -> str:
    """Return a query for the rows of files with one header."""
    known = {name.lower(): i + 1 for i, name in enumerate(header)}
    declared = operator.schema.names
    if len(known) < len(header) or known.keys() != {name.lower() for name in declared}:
        raise BadInput(
            f"expected columns {', '.join(declared)} in {place}, got {', '.join(header)}",
            hint="a file is read as a whole: declare what it has",
        )
    texts, values, fits = (
        [],
        [],
        [f"len(p) = {len(header)}", "(NOT contains(line, '\"') OR array_to_string(p, ',') = line)"],
    )
    for i, c in enumerate(operator.schema.columns):
        # What is empty is nothing, with quotes too.
        texts.append(f"nullif({_unquoted(f'p[{known[c.name.lower()]}]')}, '') AS s{i}")
        values.append(f"{text_value(f's{i}', c.type or '')} AS {duckdb_name(c.name)}")
        fits.append(f"(s{i} IS NULL OR {duckdb_name(c.name)} IS NOT NULL)")
    split = f"SELECT line, {_fields('line')} AS p FROM ({_lines(files, skip=1)})"
    read = f"SELECT line, p, {', '.join(texts)} FROM ({split})"
    parsed = f"SELECT line, p, {', '.join(f's{i}' for i in range(len(declared)))}, {', '.join(values)} FROM ({read})"
    names = ", ".join(duckdb_name(name) for name in declared)
    return f"SELECT {names}, line AS {_LINE}, {' AND '.join(fits)} AS {_FITS} FROM ({parsed})"


def _split(backend: LocalBackend, operator: Source | Table, parts: Sequence[str]) -> InputRows:
    """Return the rows that fit, and those that do not."""
    columns = operator.schema.columns
    if not parts:
        return InputRows(backend.nothing(columns))
    every = LocalRelation(backend, backend.fresh_name(), " UNION ALL ".join(parts), columns)
    names = ", ".join(duckdb_name(c.name) for c in columns) or NO_COLUMN
    reason = Column("__reason" if "reason" in operator.schema else "reason", "STRING")
    nothing = [f"CAST(NULL AS {duckdb_type(c.type or '')}) AS {duckdb_name(c.name)}" for c in columns]
    text = f"'does not parse: ' || {_LINE} AS {duckdb_name(reason.name)}"
    good, bad = (
        f"SELECT {names} FROM {every.name} WHERE {_FITS}",
        f"SELECT {', '.join([*nothing, text])} FROM {every.name}",
    )
    return InputRows(
        LocalRelation(backend, backend.fresh_name(), good, columns, (every,)),
        LocalRelation(backend, backend.fresh_name(), f"{bad} WHERE NOT {_FITS}", (*columns, reason), (every,)),
    )
