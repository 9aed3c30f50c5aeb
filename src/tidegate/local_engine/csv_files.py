"""Rows of CSV files as Spark reads them, one in each line. Lines that do not parse are set aside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source, Table
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.lines import FITS, LINE, InputRows, line_query, split_unparsed
from tidegate.local_engine.paths import file_list
from tidegate.local_engine.texts import text_value, tried

__all__ = ["csv_rows"]

# A field is in quotes; or begins with a quoted part and continues after it; or has no quote at its beginning.
_QUOTED = '"(?:[^"]|"")*"'
_FIELDS = f'({_QUOTED}|{_QUOTED}[^,]+|[^",][^,]*|),'
#: Endings of compressed files that DuckDB can read.
_PACKED = (".gz", ".zst")
_CHUNK = 1 << 20
#: The bytes that can be inside of a plain field.
_INSIDE = bytes(set(range(256)) - set(b',"\0\r\n'))


def csv_rows(
    backend: LocalBackend, operator: Source | Table, place: str, files: Sequence[str], *, by_line: bool = False
) -> InputRows:
    """Return the rows of CSV files with a header, which may have the columns in another order.

    DuckDB splits the lines of regular files. With ``by_line`` each line is split by a pattern, which is slower.
    """
    headers: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for file in files:
        if header := _header(backend, file):
            regular = not by_line and _regular(file, len(header))
            headers.setdefault((header, regular), []).append(file)
    parts = []
    for (header, regular), found in headers.items():
        order = _order(operator, place, header)
        parts.append(_divided(operator, order, found) if regular else _lines(operator, order, found))
    return split_unparsed(backend, operator, parts)


def _header(backend: LocalBackend, file: str) -> tuple[str, ...]:
    """Return the names in the first line of a file; none if it is empty."""
    with Path(file).open("rb") as opened:
        if opened.read(1) in (b"\n", b"\r"):
            raise BadInput(f"expected names of columns in the first line of {file}, got an empty line")
    found = backend.connection.execute(f"SELECT {_fields('line')} FROM ({line_query([file])}) LIMIT 1").fetchone()
    return tuple(found[0]) if found else ()


def _regular(file: str, fields: int) -> bool:
    r"""Whether each line of a file has the given number of fields, two or more, without any quote or NUL in it.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     for text in (b"t,k\n1,a\n", b't,k\n1,"a"\n', b"t,k\n1\n"):
    ...         written = Path(file.name).write_bytes(text)
    ...         _regular(file.name, 2)
    True
    False
    False
    """
    if fields < 2 or file.lower().endswith(_PACKED):
        return False
    line, left = b"," * (fields - 1) + b"\n", b""
    with Path(file).open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            if b"\r" in chunk:
                chunk += opened.read(1) if chunk.endswith(b"\r") else b""
                chunk = chunk.replace(b"\r\n", b"\n")
            left += chunk.translate(None, _INSIDE)
            whole = len(left) // len(line)
            if not left.startswith(line * whole):
                return False
            left = left[whole * len(line) :]
    # The last line may have no line break.
    return left in (b"", line[:-1])


def _order(operator: Source | Table, place: str, header: tuple[str, ...]) -> list[int]:
    """Return the number of the field, from 1, of each declared column."""
    known = {name.lower(): i + 1 for i, name in enumerate(header)}
    declared = operator.schema.names
    if len(known) < len(header) or known.keys() != {name.lower() for name in declared}:
        raise BadInput(
            f"expected columns {', '.join(declared)} in {place}, got {', '.join(header)}",
            hint="a file is read as a whole: declare what it has",
        )
    return [known[name.lower()] for name in declared]


def _divided(operator: Source | Table, order: Sequence[int], files: Sequence[str]) -> str:
    """Return a query for the rows of files with regular lines."""
    fields = [f"__f{i}" for i in sorted(order)]
    columns = ", ".join(f"'{field}': 'VARCHAR'" for field in fields)
    options = f"header = false, auto_detect = false, columns = {{{columns}}}, strict_mode = false"
    # No text stands for NULL here: no field can contain a line break.
    options += ", delim = ',', quote = '', escape = '', nullstr = '\n', skip = 1"
    rows = f"SELECT * FROM read_csv({file_list(files)}, {options})"
    return _parsed(operator, [f"__f{i}" for i in order], rows, "true", f"concat_ws(',', {', '.join(fields)})")


def _lines(operator: Source | Table, order: Sequence[int], files: Sequence[str]) -> str:
    """Return a query for the rows of files with quotes."""
    rows = f"SELECT line AS {LINE}, {_fields('line')} AS __fields FROM ({line_query(files, skip=1)})"
    return _parsed(operator, [f"__fields[{i}]" for i in order], rows, f"len(__fields) = {len(order)}", LINE)


def _fields(line: str) -> str:
    """Return SQL for the fields of a CSV line, without their quotes; NULL if a quote is not closed."""
    inside = "replace(f[2:-2], '\"\"', '\"')"
    bare = f"CASE WHEN left(f, 1) = '\"' AND regexp_full_match(f, '{_QUOTED}') THEN {inside} ELSE f END"
    written = f"[regexp_extract_all({line} || ',', '{_FIELDS}', 1)]"
    whole = f"CASE WHEN array_to_string(w, ',') = {line} THEN list_transform(w, lambda f: {bare}) ELSE [] END"
    quoted = f"list_extract(list_transform({written}, lambda w: {whole}), 1)"
    return f"CASE WHEN contains({line}, '\"') THEN {quoted} ELSE string_split({line}, ',') END"


def _parsed(operator: Source | Table, fields: Sequence[str], rows: str, whole: str, line: str) -> str:
    """Return a query for the values of rows. Their fields are given in the order of the columns."""
    texts, casts, values, fits = [], [], [], [whole]
    for i, (c, field) in enumerate(zip(operator.schema.columns, fields, strict=True)):
        type_, name = c.type or "", duckdb_name(c.name)
        # An empty field is NULL, even in quotes.
        texts.append(f"nullif({field}, '') AS __s{i}")
        casts.append(f"{tried(f'__s{i}', type_)} AS __v{i}")
        values.append(f"{text_value(f'__s{i}', type_, f'__v{i}')} AS {name}")
        fits.append(f"(__s{i} IS NULL OR {name} IS NOT NULL)")
    read = f"SELECT *, {', '.join(texts)} FROM ({rows})"
    cast = f"SELECT *, {', '.join(casts)} FROM ({read})"
    parsed = f"SELECT *, {', '.join(values)} FROM ({cast})"
    known = f"SELECT *, {' AND '.join(fits)} AS {FITS} FROM ({parsed})"
    names = ", ".join(duckdb_name(name) for name in operator.schema.names)
    return f"SELECT {names}, {FITS}, CASE WHEN NOT {FITS} THEN {line} END AS {LINE} FROM ({known})"
