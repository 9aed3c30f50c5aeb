"""An output of one's own: results in a SQLite database, each step once. A file to copy.

    python examples/to_sqlite.py
    tidegate explain examples/to_sqlite.py

A run hands the rows of a step over after the step is committed. If it is killed at that moment, the next run hands the
same rows over once more. So the number of the step is stored in the transaction that stores the rows: a step that is
there already is left alone.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import tidegate as tg

flow = tg.Flow("edits")
edits = flow.source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts", watermark=tg.bounded("10 minutes"))
flow.sink("hourly", edits.window("1 hour").aggregate(by="page", edits="count(*)", bytes="sum(bytes)").drop("window"))


@dataclass(frozen=True)
class SQLite(tg.Output):
    """A table of a SQLite database, and beside it one that knows whose rows it has, up to which step."""

    path: str
    table: str

    def claim(self, sender: tg.Sender, fields: Any) -> None:
        """Make the tables, if they are not there; refuse a table that another flow writes to."""
        columns = ", ".join(f'"{name}"' for name in fields.names)
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS senders (name TEXT PRIMARY KEY, sender TEXT, step INT)")
            database.execute(f'CREATE TABLE IF NOT EXISTS "{self.table}" ({columns})')
            database.execute("INSERT OR IGNORE INTO senders VALUES (?, ?, -1)", (self.table, sender.checkpoint))
            (owner,) = database.execute("SELECT sender FROM senders WHERE name = ?", (self.table,)).fetchone()
        if owner != sender.checkpoint:
            raise ValueError(
                f"table {self.table} has results of another run; choose another one for sink {sender.sink}"
            )

    def deliver(self, sender: tg.Sender, rows: Any, step: int) -> None:
        """Write the rows of a step and its number in one transaction, unless they are there."""
        marks, own = ", ".join("?" for _ in rows.fields.names), (self.table, sender.checkpoint)
        with closing(sqlite3.connect(self.path)) as database, database:
            (last,) = database.execute("SELECT step FROM senders WHERE name = ? AND sender = ?", own).fetchone()
            if step <= last:
                return
            for batch in rows.batches():
                values = [[_value(row[name]) for name in rows.fields.names] for row in batch.to_pylist()]
                database.executemany(f'INSERT INTO "{self.table}" VALUES ({marks})', values)
            database.execute("UPDATE senders SET step = ? WHERE name = ? AND sender = ?", (step, *own))


def _value(value: object) -> object:
    """Return a value as SQLite has it: it knows no instants."""
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value


def batches(taken: int) -> Iterator[pa.RecordBatch]:
    """Return the batches after those that were taken already: a run that starts again goes on there."""
    first = [(datetime(2026, 1, 1, 0, 10), "home", 120), (datetime(2026, 1, 1, 0, 40), "home", 30)]
    second = [(datetime(2026, 1, 1, 0, 50), "news", 7), (datetime(2026, 1, 1, 1, 20), "home", 50)]
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("page", pa.string()), ("bytes", pa.int32())])
    for rows in (first, second)[taken:]:
        yield pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def results(place: Path, output: tg.Output) -> list[tuple[object, ...]]:
    """Run the flow until its input ends, and return what the database has then."""
    run = flow.start(tg.local(), {"edits": batches}, {"hourly": output}, str(place / "checkpoint"))
    run.finish()
    with closing(sqlite3.connect(place / "results.db")) as database:
        return database.execute("SELECT * FROM hourly ORDER BY ts, page").fetchall()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for row in results(Path(directory), SQLite(f"{directory}/results.db", "hourly")):
            print(row)
