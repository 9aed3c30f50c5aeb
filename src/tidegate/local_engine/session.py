"""A session of the local engine: a DuckDB in this process, set so that expressions mean the same as in Spark."""

from __future__ import annotations

import atexit
import os
import tempfile
from functools import cache
from itertools import count
from shutil import rmtree
from typing import Any

import duckdb

from tidegate.flow.errors import BadArgument, NotSupported

__all__ = ["Local", "cursor_of", "is_local", "local", "utc_cursor"]

#: Global settings of a DuckDB, and their required values: with others, expressions would mean something else.
_GLOBAL = {
    "default_collation": "",
    "error_on_division_by_zero": "true",
    "ieee_floating_point_ops": "true",
    "integer_division": "false",
}

_SESSIONS = count(1)


class Local:
    """A session of the local engine: what `local` returns. It can be used for many flows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def __repr__(self) -> str:
        threads, memory = (self._setting(name) for name in ("threads", "memory_limit"))
        return f"local(threads={threads}, memory={memory!r})"

    def _setting(self, name: str) -> Any:
        return self.connection.cursor().execute(f"SELECT current_setting('{name}')").fetchone()[0]  # type: ignore[index]


def local(*, threads: int | None = None, memory: str | None = None) -> Local:
    """Return a session that computes in this process, without Spark: ``flow.compute(tg.local(), inputs)``.

    ``threads`` is how many cores it uses; the default is all. ``memory`` is how much memory DuckDB may use, as in
    ``"4GB"``; the default is DuckDB's, 80 % of the machine's. Data beyond that is written to a temporary directory,
    which is in the one that ``TMPDIR`` names, and is deleted at the end of the process.

    >>> local(threads=2, memory="1GB")
    local(threads=2, memory='953.6 MiB')
    """
    if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or threads < 1):
        raise BadArgument(f"expected a number of threads, 1 or more, got {threads!r}", hint="local(threads=2)")
    config: dict[str, Any] = {"temp_directory": os.path.join(_overflow(os.getpid()), str(next(_SESSIONS)))}
    if threads is not None:
        config["threads"] = threads
    if memory is not None:
        config["memory_limit"] = memory
    try:
        return Local(duckdb.connect(":memory:", config=config))
    except (duckdb.Error, TypeError) as error:
        raise BadArgument(
            f"expected an amount of memory, got {memory!r}\n  DuckDB: {str(error).splitlines()[0]}",
            hint='local(memory="4GB")',
        ) from None


@cache
def _overflow(process: int) -> str:
    """Return a directory for data that does not fit into memory; it is deleted when this process ends.

    DuckDB's default is in the working directory, where a killed process would leave it. Each session makes its own
    directory inside when it needs one, and other users can't read it.
    """
    found = tempfile.mkdtemp(prefix="tidegate-")
    atexit.register(_remove, found, process)
    return found


def _remove(directory: str, process: int) -> None:
    """Remove a directory when the process that owns it ends. Forked processes know of it, too, and do nothing."""
    if os.getpid() == process:
        rmtree(directory, ignore_errors=True)


def is_local(session: object) -> bool:
    """Whether a session is one of the local engine: a `Local`, or a connection to DuckDB."""
    return isinstance(session, Local | duckdb.DuckDBPyConnection)


def cursor_of(session: Local | duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection of our own to the DuckDB of a session, with the settings that we need."""
    given = session.connection if isinstance(session, Local) else session
    try:
        cursor = given.cursor()
    except duckdb.ConnectionException as error:
        raise BadArgument(f"expected an open connection; {error}", hint="tg.local()") from None
    for name, wanted in _GLOBAL.items():
        found = str(cursor.execute(f"SELECT current_setting('{name}')").fetchone()[0]).lower()  # type: ignore[index]
        if found != wanted:
            raise NotSupported(
                f"expected the setting {name} of DuckDB to be {wanted or 'empty'}, got {found}: with it, expressions "
                "mean something else",
                hint=f"RESET {name}, or tg.local()",
            )
    return utc_cursor(cursor)


def utc_cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return another connection to the same DuckDB, with UTC as its time zone."""
    cursor = connection.cursor()
    cursor.execute("SET TimeZone = 'UTC'")
    return cursor
