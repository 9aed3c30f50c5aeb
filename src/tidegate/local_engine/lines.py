"""Rows of JSON files, line by line as Spark reads them. Lines of any file that do not parse are set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.engine.steps.source_rows import TEXT
from tidegate.flow.plan import Source, Table
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.paths import file_list
from tidegate.local_engine.relation import LocalRelation
from tidegate.local_engine.texts import Json, json_fits, json_path, json_value

__all__ = ["FITS", "LINE", "UNPARSED", "InputRows", "json_rows", "line_query", "split_unparsed"]

#: The beginning of the reason of a row that does not parse. Its text follows.
UNPARSED = "does not parse: "
#: The line of a row, and whether all of it parses.
LINE, FITS = "__line", "__fits"

#: A comma after the last element is not valid JSON, but DuckDB accepts it. Strings are removed before it is looked for.
_LAST_COMMA, _JSON_TEXT = r",\s*[\]}]", r'"(?:[^"\\]|\\.)*"'


@dataclass(frozen=True, slots=True)
class InputRows:
    """The rows of an input, and the rows of its files that do not parse.

    A row that does not parse has no values. Its text is the reason. ``every`` has both, with one more column: the text
    of those that do not parse.
    """

    rows: LocalRelation
    unreadable: LocalRelation | None = None
    every: LocalRelation | None = None


def json_rows(backend: LocalBackend, operator: Source | Table, files: Sequence[str]) -> InputRows:
    """Return the rows of JSON files: one object in each line, or several in an array."""
    columns = operator.schema.columns
    values, fits = [], []
    for i, c in enumerate(columns, 1):
        json, name, type_ = Json(f"__values[{i}]", f"__kinds[{i}]", f"__texts[{i}]"), duckdb_name(c.name), c.type or ""
        values.append(f"{json_value(json, type_, LINE)} AS {name}")
        fits.append(json_fits(json, name, type_, LINE))
    suspect = f"regexp_matches(line, '{_LAST_COMMA}')"
    torn = f"{suspect} AND regexp_matches(regexp_replace(line, '{_JSON_TEXT}', '', 'g'), '{_LAST_COMMA}')"
    several = "CASE json_type(whole) WHEN 'ARRAY' THEN json_extract(whole, '$[*]') ELSE [whole] END"
    # If a name occurs twice, Spark takes its last value, and DuckDB the first. If there are as many names as values of
    # columns, no name occurs twice. Comparing all names takes longer.
    present = " + ".join(f"(__kinds[{i + 1}] IS NOT NULL)::INT" for i in range(len(columns)))
    once = f"CASE WHEN len(__names) = {present} THEN true ELSE len(__names) = list_unique(__names) END"
    # A line is parsed once, for all columns together.
    paths = ", ".join(json_path(c.name) for c in columns)
    taken = f"json_extract(j, [{paths}]) AS __values, json_type(j, [{paths}]) AS __kinds, "
    taken += f"json_extract_string(j, [{paths}]) AS __texts, json_type(j) AS __kind, json_keys(j) AS __names"
    lines = (
        f"SELECT line, CASE WHEN {torn} THEN NULL ELSE TRY_CAST(line AS JSON) END AS whole FROM ({line_query(files)})"
    )
    objects = f"SELECT line AS {LINE}, unnest({several}) AS j FROM ({lines})"
    found = f"SELECT {LINE}, {taken} FROM ({objects})"
    read = f"SELECT *, {', '.join(values)} FROM ({found})"
    whole = f"coalesce(__kind = 'OBJECT' AND {once}, false)"
    names = ", ".join(duckdb_name(c.name) for c in columns)
    part = f"SELECT {names}, {' AND '.join([whole, *fits])} AS {FITS}, {LINE} FROM ({read})"
    return split_unparsed(backend, operator, [part] if files else [])


def line_query(files: Sequence[str], *, skip: int = 0) -> str:
    """Return a query for the lines of files that are not empty."""
    options = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, strict_mode = false"
    # No character splits a line into fields, and no text stands for NULL.
    options += f", delim = '', quote = '', escape = '', nullstr = '\x02', skip = {skip}"
    read = f"SELECT line FROM read_csv({file_list(files)}, {options})"
    return f"{read} WHERE regexp_matches(line, '[^\\x{{00}}-\\x{{20}}]')"


def split_unparsed(backend: LocalBackend, operator: Source | Table, parts: Sequence[str]) -> InputRows:
    """Return the rows that parse, and those that do not."""
    columns = operator.schema.columns
    if not parts:
        return InputRows(backend.nothing(columns))
    names = [duckdb_name(c.name) for c in columns]
    values = [f"CASE WHEN {FITS} THEN {name} END AS {name}" for name in names]
    text = f"CASE WHEN NOT {FITS} THEN {LINE} END AS {TEXT}"
    every = f"SELECT {', '.join([*values, text])} FROM ({' UNION ALL '.join(parts)})"
    whole = LocalRelation(backend, backend.fresh_name(), every, (*columns, Column(TEXT, "STRING")))
    # All columns are packed into one value and unpacked: otherwise DuckDB would parse again for each condition on a
    # column.
    packed = ", ".join(f"{name} := {name}" for name in [*names, TEXT])
    rows = f"SELECT unnest([struct_pack({packed})]) AS r FROM {whole.name}"
    both = LocalRelation(backend, backend.fresh_name(), f"SELECT r.* FROM ({rows})", whole.columns, (whole,))
    reason = Column("__reason" if "reason" in operator.schema else "reason", "STRING")
    why = f"'{UNPARSED}' || {TEXT} AS {duckdb_name(reason.name)}"
    good = f"SELECT {', '.join(names)} FROM {both.name} WHERE {TEXT} IS NULL"
    bad = f"SELECT {', '.join([*names, why])} FROM {both.name} WHERE {TEXT} IS NOT NULL"
    return InputRows(
        LocalRelation(backend, backend.fresh_name(), good, columns, (both,)),
        LocalRelation(backend, backend.fresh_name(), bad, (*columns, reason), (both,)),
        whole,
    )
