"""How rows are written to Parquet files: a few by Arrow, many by DuckDB; and partitioned by columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.engine.storage.partitions import directory_of_value
from tidegate.flow.schema import Column
from tidegate.flow.translate import duckdb_name
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.divided import Share, at_once, shares
from tidegate.local_engine.lookups import LookupPairs, Side
from tidegate.local_engine.relation import NO_COLUMN, LocalRelation
from tidegate.local_engine.types import zoned

__all__ = ["FILE", "copy_rows", "picked", "write_apart", "write_few", "write_pieces"]


def file_of_share(number: int) -> str:
    """Return the name of the file with a share of the rows.

    >>> file_of_share(0) == FILE
    True
    """
    return f"part-{number}.parquet"


FILE = file_of_share(0)
#: How many rows are written at a time where they are not computed all at once, and how many bytes the dictionary of
#: their strings may have.
_AT_A_TIME = 1_000_000
_DICTIONARY = 32 << 20
#: From so many bytes on, a sample of that size says whether rows are compressed: to this share of it, or less.
_WORTH_A_SAMPLE, _SMALLER = 256 << 10, 0.9
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def picked(columns: Sequence[Column]) -> str:
    """Return the SELECT list of columns in their written form."""
    names = [(duckdb_name(c.name), c.type or "") for c in columns]
    return ", ".join(f"{zoned(name, type_)} AS {name}" for name, type_ in names) or NO_COLUMN


def copy_rows(backend: LocalBackend, rows: LocalRelation, to: Path) -> int:
    """Write rows to a file; return their number."""
    return backend.copied(rows, picked(rows.columns), str(to).replace("'", "''"))


def write_few(rows: pa.Table, to: Path) -> None:
    """Write a few rows by Arrow: DuckDB would sync each file, and a step should sync all files together."""
    pq.write_table(rows, to, store_schema=False, **_options(rows))


def _options(rows: pa.Table) -> dict[str, Any]:
    """Return the options with which Arrow writes rows that begin with these."""
    schema = rows.schema
    # Readers that use Arrow's statistics of a column would miss NaN.
    numbers = any(re.search("float|double", str(type_)) for type_ in schema.types)
    # Numbers are seldom repeated. Building a dictionary of them takes longer than writing them.
    looked_up = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    texts = [field.name for field in schema if field.type in _TEXTS]
    # For columns with dictionaries, the minimum would be searched among all rows.
    seen: bool | list[str] = not numbers and [name for name in schema.names if name not in looked_up]
    return {
        "write_statistics": seen if looked_up else not numbers,
        "use_dictionary": texts + looked_up,
        "dictionary_pagesize_limit": _DICTIONARY,
        "compression": _codecs(rows) if numbers and not looked_up and not _shrinks(rows) else "snappy",
    }


def _codecs(rows: pa.Table) -> dict[str, str]:
    """Return how the columns of a file are compressed, by their paths: texts are, and other columns are not."""
    return {
        path: "snappy" if type_ in _TEXTS else "none"
        for field in rows.schema
        for path, type_ in _leaves(field.name, field.type)
    }


def _leaves(path: str, type_: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the columns of a Parquet file that a column of a type becomes.

    >>> list(_leaves("a", pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()}))))
    [('a.list.element.x', DataType(int32)), ('a.list.element.y', DataType(string))]
    """
    if pa.types.is_struct(type_):
        for field in type_:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(type_):
        yield from _leaves(f"{path}.key_value.key", type_.key_type)
        yield from _leaves(f"{path}.key_value.value", type_.item_type)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        yield from _leaves(f"{path}.list.element", type_.value_type)
    else:
        yield path, type_


def _shrinks(rows: pa.Table) -> bool:
    """Whether rows get smaller if they are compressed, by a sample of them; a few count as such.

    To compress measured numbers, whose last digits are noise, takes longer than to compute and write them, in vain.
    Texts do not count: they are compressed anyway.
    """
    rows = rows.drop_columns([field.name for field in rows.schema if field.type in _TEXTS])
    if rows.nbytes < _WORTH_A_SAMPLE:
        return True
    # Of each third of the rows the first ones: rows may be sorted.
    share = max(1, rows.num_rows * _WORTH_A_SAMPLE // rows.nbytes // 3)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        for third in range(3):
            stream.write_table(rows.slice(rows.num_rows * third // 3, share))
    sample = sink.getvalue()
    return bool(pa.compress(sample, "snappy").size < _SMALLER * sample.size)


def write_pieces(
    backend: LocalBackend, pieces: Sequence[LocalRelation], place: Path, *, divided: bool
) -> tuple[int, int] | None:
    """Write rows that come in pieces; return how many rows there are, and how many shares of a piece at the most.

    Some columns of a piece are looked up on the way, if that is possible. With ``divided``, each piece is written to a
    file for each core. None if there is one piece only, without lookups, that cannot or need not be divided; then
    nothing is written.
    """
    counts: list[list[int]] = []
    for piece in pieces:
        first = sum(map(len, counts))
        if piece.lookup is not None:
            counts.append(_write_lookups(backend, piece, piece.lookup, place, first, divided=divided))
            continue
        rows = backend.with_columns_as(piece, picked(piece.columns))
        with shares(rows) if divided else nullcontext(()) as given:
            if not given and len(pieces) == 1:
                return None
            counts.append(_write_shares(given or [Share(backend.connection, rows.sql)], place, first))
    return sum(map(sum, counts)), max(map(len, counts))


def _write_lookups(
    backend: LocalBackend, rows: LocalRelation, lookup: LookupPairs, place: Path, first: int, *, divided: bool
) -> list[int]:
    """Write rows, and look up some of their columns on the way; return the number of rows of each share."""
    others = [column for column in rows.columns if column.name not in lookup.columns]
    numbers = [side.number for side in lookup.sides]
    with lookup.held() as held:
        texts = {
            name: _texts(lookup.sides[origin.side], origin.column, held) for name, origin in lookup.columns.items()
        }

        def looked_up(batch: pa.RecordBatch) -> pa.Table:
            columns = {c.name: batch.column(c.name) for c in others}
            for name, origin in lookup.columns.items():
                columns[name] = _looked_up(texts[name], batch.column(numbers[origin.side]))
            return pa.table({c.name: columns[c.name] for c in rows.columns})

        shown = picked(others) + ", " if others else ""
        found = backend.with_columns_as(lookup.pairs, shown + ", ".join(numbers))
        in_memory = len(held) == len(lookup.sides)
        if in_memory:
            # Each share reads all rows of the smaller side.
            found = replace(found, base=max(held, key=lambda name: held[name].num_rows))
        with shares(found, held) if divided and in_memory else nullcontext(()) as given:
            return _write_shares(given or [Share(backend.connection, found.sql)], place, first, looked_up)


def _write_shares(
    given: Sequence[Share],
    place: Path,
    first: int,
    made: Callable[[pa.RecordBatch], pa.RecordBatch | pa.Table] = lambda batch: batch,
) -> list[int]:
    """Write a file for each share that has rows, numbered from ``first`` on; return the number of rows of each."""

    def write(i: int, share: Share) -> int:
        # Where a file cannot be written, the query ends, too: what it reads could not be released otherwise.
        with closing(share.batches(_AT_A_TIME)) as batches:
            return _write_batches(map(made, batches), place / file_of_share(first + i))

    # The engine's own connection is that of this thread.
    return at_once(given, write) if len(given) > 1 else [write(0, given[0])]


def _write_batches(batches: Iterable[pa.RecordBatch | pa.Table], to: Path) -> int:
    """Write batches of rows to a file, if there are any rows; return the number of rows."""
    count, writer = 0, None
    try:
        for batch in batches:
            if not batch.num_rows:
                continue
            table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
            writer = writer or pq.ParquetWriter(to, table.schema, store_schema=False, **_options(table))
            writer.write_table(table, row_group_size=_AT_A_TIME)
            count += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return count


def _texts(side: Side, column: str, held: Mapping[str, pa.Table]) -> pa.DictionaryArray:
    """Return a column of a side in the order of its numbers, as a dictionary array; ``held`` has tables of Arrow."""
    if (table := held.get(side.held.name)) is None:
        query = f"SELECT {duckdb_name(column)} FROM {side.table} ORDER BY {duckdb_name(side.number)}"
        table = side.held.backend.run(query).to_arrow_table()
    return table.column(column).combine_chunks().dictionary_encode()


def _looked_up(texts: pa.DictionaryArray, numbers: pa.Array) -> pa.DictionaryArray:
    """Return the strings of some rows, with a dictionary of only those that occur."""
    found = texts.indices.take(numbers)
    if len(texts.dictionary) <= len(found) // 4:
        return pa.DictionaryArray.from_arrays(found, texts.dictionary, safe=False)
    used = found.unique().drop_null()
    return pa.DictionaryArray.from_arrays(pc.index_in(found, used), texts.dictionary.take(used), safe=False)


def write_apart(
    backend: LocalBackend, rows: LocalRelation, few: pa.Table | None, place: Path, by: Mapping[str, str]
) -> int:
    """Write rows partitioned by the values of some columns; return their number.

    ``by`` maps text columns, which are not written, to the columns whose values they have. ``few`` are the rows in
    memory, if they are few.
    """
    if few is None:
        return _write_many(backend, rows, place, by)
    found: dict[tuple[str | None, ...], list[int]] = {}
    for i, texts in enumerate(zip(*(few.column(name).to_pylist() for name in by), strict=True)):
        found.setdefault(texts, []).append(i)
    kept = few.drop_columns(list(by))
    for i, (texts, numbers) in enumerate(found.items()):
        write_few(kept.take(numbers), _made(place, by, texts, i))
    return int(few.num_rows)


def _write_many(backend: LocalBackend, rows: LocalRelation, place: Path, by: Mapping[str, str]) -> int:
    table = backend.held(rows)
    try:
        names = ", ".join(map(duckdb_name, by))
        count = 0
        columns = tuple(column for column in rows.columns if column.name not in by)
        for i, texts in enumerate(backend.run(f"SELECT DISTINCT {names} FROM {table}").fetchall()):
            same = [f"{duckdb_name(n)} IS NOT DISTINCT FROM {_text(t)}" for n, t in zip(by, texts, strict=True)]
            body = f"SELECT * FROM {table} WHERE {' AND '.join(same)}"
            part = LocalRelation(backend, backend.fresh_name(), body, columns)
            count += copy_rows(backend, part, _made(place, by, texts, i))
        return count
    finally:
        backend.drop(table)


def _made(place: Path, by: Mapping[str, str], texts: Sequence[str | None], number: int) -> Path:
    """Return the path of the file for rows with some values, and make its directory.

    A file system may not distinguish names by case, so each file has its own number.
    """
    found = place.joinpath(*(directory_of_value(column, text) for column, text in zip(by.values(), texts, strict=True)))
    found.mkdir(parents=True, exist_ok=True)
    return found / file_of_share(number)


def _text(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"
