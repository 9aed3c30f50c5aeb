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
from tidegate.local_engine.paths import file_list
from tidegate.local_engine.relation import LocalRelation
from tidegate.local_engine.texts import Json, json_fits, json_path, json_value, text_value

__all__ = ["UNPARSED", "InputRows", "csv_rows", "json_rows"]

#: What the reason of a row that does not parse begins with; its text follows.
UNPARSED = "does not parse: "
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
    for i, c in enumerate(columns, 1):
        json, name, type_ = Json(f"__values[{i}]", f"__kinds[{i}]", f"__texts[{i}]"), duckdb_name(c.name), c.type or ""
        values.append(f"{json_value(json, type_, _LINE)} AS {name}")
        fits.append(json_fits(json, name, type_, _LINE))
    suspect = f"regexp_matches(line, '{_LAST_COMMA}')"
    torn = f"{suspect} AND regexp_matches(regexp_replace(line, '{_JSON_TEXT}', '', 'g'), '{_LAST_COMMA}')"
    several = "CASE json_type(whole) WHEN 'ARRAY' THEN json_extract(whole, '$[*]') ELSE [whole] END"
    # Spark takes the last of two values of one name, and DuckDB the first. If there are as many names as values of
    # columns, then none of them is there twice; to compare them all takes longer.
    present = " + ".join(f"(__kinds[{i + 1}] IS NOT NULL)::INT" for i in range(len(columns)))
    once = f"CASE WHEN len(__names) = {present} THEN true ELSE len(__names) = list_unique(__names) END"
    # A line is parsed once for all columns.
    paths = ", ".join(json_path(c.name) for c in columns)
    taken = f"json_extract(j, [{paths}]) AS __values, json_type(j, [{paths}]) AS __kinds, "
    taken += f"json_extract_string(j, [{paths}]) AS __texts, json_type(j) AS __kind, json_keys(j) AS __names"
    lines = f"SELECT line, CASE WHEN {torn} THEN NULL ELSE TRY_CAST(line AS JSON) END AS whole FROM ({_lines(files)})"
    objects = f"SELECT line AS {_LINE}, unnest({several}) AS j FROM ({lines})"
    found = f"SELECT {_LINE}, {taken} FROM ({objects})"
    read = f"SELECT *, {', '.join(values)} FROM ({found})"
    whole = f"coalesce(__kind = 'OBJECT' AND {once}, false)"
    names = ", ".join(duckdb_name(c.name) for c in columns)
    part = f"SELECT {names}, {_LINE}, {' AND '.join([whole, *fits])} AS {_FITS} FROM ({read})"
    return _split(backend, operator, [part] if files else [])


def _lines(files: Sequence[str], *, skip: int = 0) -> str:
    """Return a query for the lines of files that are not empty."""
    options = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, strict_mode = false"
    # Nothing divides a line, and nothing stands for NULL.
    options += f", delim = '', quote = '', escape = '', nullstr = '\x02', skip = {skip}"
    read = f"SELECT line FROM read_csv({file_list(files)}, {options})"
    return f"{read} WHERE regexp_matches(line, '[^\\x{{00}}-\\x{{20}}]')"


def _fields(line: str) -> str:
    """Return the fields of a line of CSV, without the quotes around them; none if one of them is not closed."""
    inside = "replace(f[2:-2], '\"\"', '\"')"
    bare = f"CASE WHEN left(f, 1) = '\"' AND regexp_full_match(f, '{_QUOTED}') THEN {inside} ELSE f END"
    written = f"[regexp_extract_all({line} || ',', '{_FIELDS}', 1)]"
    whole = f"CASE WHEN array_to_string(w, ',') = {line} THEN list_transform(w, lambda f: {bare}) ELSE [] END"
    quoted = f"list_extract(list_transform({written}, lambda w: {whole}), 1)"
    return f"CASE WHEN contains({line}, '\"') THEN {quoted} ELSE string_split({line}, ',') END"


def _header(backend: LocalBackend, file: str) -> tuple[str, ...]:
    """Return the names in the first line of a file; none if there is no line."""
    with Path(file).open("rb") as opened:
        if opened.read(1) in (b"\n", b"\r"):
            raise BadInput(f"expected names of columns in the first line of {file}, got an empty line")
    found = backend.connection.execute(f"SELECT {_fields('line')} FROM ({_lines([file])}) LIMIT 1").fetchone()
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
    texts, values, fits = [], [], [f"len(__fields) = {len(header)}"]
    for i, c in enumerate(operator.schema.columns):
        # What is empty is nothing, with quotes too.
        texts.append(f"nullif(__fields[{known[c.name.lower()]}], '') AS __s{i}")
        values.append(f"{text_value(f'__s{i}', c.type or '')} AS {duckdb_name(c.name)}")
        fits.append(f"(__s{i} IS NULL OR {duckdb_name(c.name)} IS NOT NULL)")
    split = f"SELECT line AS {_LINE}, {_fields('line')} AS __fields FROM ({_lines(files, skip=1)})"
    read = f"SELECT *, {', '.join(texts)} FROM ({split})"
    parsed = f"SELECT *, {', '.join(values)} FROM ({read})"
    names = ", ".join(duckdb_name(name) for name in declared)
    return f"SELECT {names}, {_LINE}, {' AND '.join(fits)} AS {_FITS} FROM ({parsed})"


def _split(backend: LocalBackend, operator: Source | Table, parts: Sequence[str]) -> InputRows:
    """Return the rows that fit, and those that do not."""
    columns = operator.schema.columns
    if not parts:
        return InputRows(backend.nothing(columns))
    names = ", ".join(duckdb_name(c.name) for c in columns)
    # As one value that is unpacked: else DuckDB would parse again for each condition on a column.
    packed = ", ".join(f"{name} := {name}" for name in [*map(duckdb_name, operator.schema.names), _LINE, _FITS])
    rows = f"SELECT unnest([struct_pack({packed})]) AS r FROM ({' UNION ALL '.join(parts)})"
    every = LocalRelation(backend, backend.fresh_name(), f"SELECT r.* FROM ({rows})", columns)
    reason = Column("__reason" if "reason" in operator.schema else "reason", "STRING")
    nothing = [f"CAST(NULL AS {duckdb_type(c.type or '')}) AS {duckdb_name(c.name)}" for c in columns]
    text = f"'{UNPARSED}' || {_LINE} AS {duckdb_name(reason.name)}"
    good = f"SELECT {names} FROM {every.name} WHERE {_FITS}"
    bad = f"SELECT {', '.join([*nothing, text])} FROM {every.name} WHERE NOT {_FITS}"
    return InputRows(
        LocalRelation(backend, backend.fresh_name(), good, columns, (every,)),
        LocalRelation(backend, backend.fresh_name(), bad, (*columns, reason), (every,)),
    )
