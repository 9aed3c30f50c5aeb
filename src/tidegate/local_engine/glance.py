"""A glance at results on the local engine: a few rows of each sink, with a time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread

import duckdb

from tidegate.engine.glance import ROWS, Glance, Glances, not_at_a_glance
from tidegate.engine.relation import Relation
from tidegate.engine.tables import Sinks
from tidegate.flow.plan import Plan, Sink
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.error_messages import describe_error
from tidegate.local_engine.relation import local

__all__ = ["TIME_LIMIT", "glances_of"]

#: The time limit of a glance, in seconds.
TIME_LIMIT = 1.0


def glances_of(
    flow: Plan,
    sinks: Sinks[duckdb.DuckDBPyRelation],
    rejected: Mapping[str, Relation],
    backend: LocalBackend,
    *,
    seconds: float,
) -> Glances:
    """Return some rows of each sink and the number of rejected rows of each source, within a time limit.

    DuckDB stops early if it need not read everything for a few rows. Otherwise it is interrupted at the limit.
    """
    with _interrupted(backend.connection, seconds) as time_is_up:
        found = {sink.name: _glance(flow, sink, sinks, backend, time_is_up, seconds) for sink in flow.sinks}
        return Glances(found, _counts(rejected, backend, time_is_up))


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
        return Glance(why=f"as they fail: {describe_error(error).text}")
    return Glance(rows.names, found[:ROWS], more=len(found) > ROWS)


def _counts(rejected: Mapping[str, Relation], backend: LocalBackend, time_is_up: Callable[[], bool]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for source, rows in rejected.items():
        try:
            if not time_is_up():
                [(counts[source],)] = backend.run(f"SELECT count(*) FROM ({local(rows).sql})").fetchall()
        except duckdb.Error:
            # An input that can't be read is reported when a sink is requested.
            continue
    return counts


@contextmanager
def _interrupted(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[Callable[[], bool]]:
    """Interrupt the queries of a connection after some seconds; yield a function that returns whether time is up."""
    done, up = Event(), Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        up.set()
        # This is repeated, because a query may begin after the first interrupt.
        while not done.wait(0.01):
            connection.interrupt()

    watching = Thread(target=watch, name="tidegate glance", daemon=True)
    watching.start()
    try:
        yield up.is_set
    finally:
        done.set()
        watching.join()
