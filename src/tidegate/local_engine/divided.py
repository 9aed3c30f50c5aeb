"""Rows that are computed on several cores: the rows that they come from are divided, and each share is computed alone.

DuckDB uses one core for a table of up to 122,880 rows, and steps often have fewer. Where each row of a result comes
from one row of some relation, its `base`, the result can be computed from shares of the base, each by a thread with its
own connection. Connections do not see each other's temporary tables, so everything that is read is handed over as Arrow
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import duckdb
import pyarrow as pa

from tidegate.local_engine.error_messages import error_through_arrow
from tidegate.local_engine.relation import LocalRelation

__all__ = ["Share", "at_once", "fetched", "shares"]

T = TypeVar("T")
#: A share has at least this many rows of the base.
_LEAST = 250
#: How many rows may be read beside the base, by each share: of more, DuckDB itself uses several cores. Rows that are in
#: memory already are read however many they are.
_BESIDE = 50_000
#: How many bytes may be handed over, and how many rows are fetched at a time.
_MOST, _AT_A_TIME = 256 << 20, 20_000


@dataclass(frozen=True, slots=True)
class Share:
    """A share of some rows: the query that computes it, and the connection that it is computed on."""

    connection: duckdb.DuckDBPyConnection
    sql: str

    def batches(self, rows: int) -> Generator[pa.RecordBatch, None, None]:
        """Yield the rows, so many at a time.

        What DuckDB fails with is raised as its own error; Arrow would make another one of it.
        """
        try:
            yield from self.connection.sql(self.sql).to_arrow_reader(rows)
        except OSError as error:
            raise error_through_arrow(error) from None


@contextmanager
def shares(rows: LocalRelation, known: Mapping[str, pa.Table] = MappingProxyType({})) -> Iterator[Sequence[Share]]:
    """Divide rows into shares, at most one for each core; there are none if the rows cannot or need not be divided.

    The rows of relations that are ``known``, by name, are not computed again, and handed over however many they are.
    """
    with ExitStack() as stack:
        yield _shares(rows, known, stack)


def _shares(rows: LocalRelation, known: Mapping[str, pa.Table], stack: ExitStack) -> Sequence[Share]:
    """Return the shares of rows; their connections are closed with the stack."""
    backend = rows.backend
    if rows.base is None or backend.threads < 2:
        return ()
    base, others = rows.leaves()
    if any(leaf.name not in known and _has_more(leaf, _BESIDE) for leaf in others):
        return ()
    divided = known[base.name] if base.name in known else fetched(base)
    if divided is None or (number := min(backend.threads, divided.num_rows // _LEAST)) < 2:
        return ()
    beside = {leaf.name: known[leaf.name] if leaf.name in known else fetched(leaf) for leaf in others}
    if any(table is None for table in beside.values()):
        return ()
    tables = {name: backend.fresh_name() for name in (base.name, *beside)}
    sql = rows.sql_with({name: f"SELECT * FROM {table}" for name, table in tables.items()})
    found = []
    for first, last in _bounds(divided.num_rows, number):
        own = stack.enter_context(backend.another_connection())
        own.register(tables[base.name], divided.slice(first, last - first))
        for name, table in beside.items():
            own.register(tables[name], table)
        found.append(Share(own, sql))
    return found


def _has_more(rows: LocalRelation, number: int) -> bool:
    """Whether there are more rows than a number."""
    ((found,),) = rows.backend.run(f"SELECT count(*) FROM (SELECT 1 FROM ({rows.sql}) LIMIT {number + 1})").fetchall()
    return bool(found > number)


def fetched(rows: LocalRelation) -> pa.Table | None:
    """Return rows as an Arrow table; None if they have too many bytes, which nothing could move to the disk."""
    batches, size = [], 0
    with closing(Share(rows.backend.connection, rows.sql).batches(_AT_A_TIME)) as found:
        for batch in found:
            size += batch.nbytes
            if size > _MOST:
                return None
            batches.append(batch)
    return pa.Table.from_batches(batches) if batches else rows.backend.run(f"{rows.sql} LIMIT 0").to_arrow_table()


def _bounds(rows: int, number: int) -> list[tuple[int, int]]:
    """Return where each of some shares begins and ends.

    >>> _bounds(5, 2)
    [(0, 2), (2, 5)]
    """
    return [(rows * i // number, rows * (i + 1) // number) for i in range(number)]


def at_once(given: Sequence[Share], compute: Callable[[int, Share], T]) -> list[T]:
    """Return what a function makes of each share and its number; each is called in a thread of its own.

    If one fails, or this thread is interrupted, the others are interrupted, and the error is raised when all have
    ended.
    """
    with ThreadPoolExecutor(len(given)) as pool:
        running = [pool.submit(compute, i, share) for i, share in enumerate(given)]
        try:
            ended = wait(running, return_when="FIRST_EXCEPTION").done
        finally:
            # What has not begun is not interrupted: so this is done until all have ended.
            while wait(running, timeout=0.02).not_done:
                for share in given:
                    share.connection.interrupt()
    # Others fail only because they are interrupted.
    for one in ended:
        one.result()
    return [one.result() for one in running]
