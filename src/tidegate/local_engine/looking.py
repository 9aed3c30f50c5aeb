"""A glance at results in this process: a few rows of each sink, and no longer than a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread

import duckdb

from tidegate.engine.glance import ROWS, Glance, Look, not_at_a_glance
from tidegate.engine.relation import Relation
from tidegate.engine.tables import Sinks
from tidegate.flow.plan import Plan, Sink
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.relation import local
from tidegate.local_engine.said import said

__all__ = ["PATIENCE", "look"]

#: How many seconds a glance at results takes at most.
PATIENCE = 1.0


def look(
    flow: Plan,
    sinks: Sinks[duckdb.DuckDBPyRelation],
    rejected: Mapping[str, Relation],
    backend: LocalBackend,
    *,
    seconds: float,
) -> Look:
    """Return some rows of each sink, and how many of each source were rejected, as far as that takes so many seconds.

    DuckDB stops early where it need not read everything for some rows; where it does, it is broken off in time.
    """
    with _interrupted(backend.connection, seconds) as time_is_up:
        found = {sink.name: _glance(flow, sink, sinks, backend, time_is_up, seconds) for sink in flow.sinks}
        return Look(found, _counts(rejected, backend, time_is_up))


def _glance(
    flow: Plan,
    sink: Sink,
    sinks: Sinks[duckdb.DuckDBPyRelation],
    backend: LocalBackend,
    time_is_up: Callable[[], bool],
    seconds: float,
) -> Glance:
    if why := not_at_a_glance(flow, sink.input):
        return Glance(why=f"as {why}")
    slow = Glance(why=f"as a glance takes no longer than {seconds:g} s")
    if time_is_up():
        return slow
    try:
        rows = local(sinks.relation(sink.name))
        found = backend.run(f"SELECT * FROM ({rows.sql}) LIMIT {ROWS + 1}").fetchall()
    except duckdb.InterruptException:
        return slow
    except duckdb.Error as error:
        return Glance(why=f"as they fail: {said(error).text}")
    return Glance(rows.names, found[:ROWS], more=len(found) > ROWS)


def _counts(rejected: Mapping[str, Relation], backend: LocalBackend, time_is_up: Callable[[], bool]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for source, rows in rejected.items():
        try:
            if not time_is_up():
                [(counts[source],)] = backend.run(f"SELECT count(*) FROM ({local(rows).sql})").fetchall()
        except duckdb.Error:
            # What cannot be read is told where a sink is asked for.
            continue
    return counts


@contextmanager
def _interrupted(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[Callable[[], bool]]:
    """Break off the queries of a connection after so many seconds; what is given says whether they are over."""
    done, up = Event(), Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        up.set()
        # Again and again: a query may begin between a look at the time and the first of these.
        while not done.wait(0.01):
            connection.interrupt()

    watching = Thread(target=watch, name="tidegate glance", daemon=True)
    watching.start()
    try:
        yield up.is_set
    finally:
        done.set()
        watching.join()
