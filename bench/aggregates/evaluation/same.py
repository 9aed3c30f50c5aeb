"""Whether all sides answer the same: before any of them is timed, each query runs on few rows, on every side."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyarrow import parquet

import tidegate as tg
from bench.aggregates.evaluation.asked import Asked, Pools
from bench.aggregates.evaluation.pace import rows_of, write_file
from bench.aggregates.evaluation.sides import Session, start

__all__ = ["Differ", "answers", "matching", "read_rows", "same"]

#: In how many files rows come, how many each has, and how many of them there are a second.
_FILES, _ROWS, _RATES = 3, {"texts": 40, "scans": 16, "inputs": 40}, {"texts": 20.0, "scans": 16.0, "inputs": 20.0}


class Differ(RuntimeError):
    """Two sides give different answers: nothing that they take is to be compared."""


def same(session: Session, asked: Asked, pools: Pools, sides: Sequence[str], place: Path) -> int:
    """Return how many answers there are; raise unless all sides give the same, each as often."""
    first, *others = sides
    expected = answers(session, first, asked, pools, place)
    if not expected:
        raise Differ(f"{asked.query}: there is no answer to compare")
    for side in others:
        found = answers(session, side, asked, pools, place)
        if found != expected:
            more, fewer = found - expected, expected - found
            raise Differ(
                f"{asked.query}: {side} gives {more.total()} answers that {first} does not, and lacks {fewer.total()}"
            )
    return expected.total()


def answers(session: Session, side: str, asked: Asked, pools: Pools, place: Path) -> Counter[Any]:
    """Return the answers of a side to few rows, and how often it gives each."""
    # Spark may still write when its query is stopped.
    with TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as directory:
        given, work = Path(directory) / "in", Path(directory) / "run"
        given.mkdir()
        work.mkdir()
        each = _ROWS[asked.source]
        pool = matching(pools.table(asked.source))
        for number in range(_FILES):
            rows = rows_of(pool, number * each, each, _RATES[asked.source])
            write_file(rows, given / f"{number}.parquet")
        started = start(session, side, asked, given, work)
        started.finish()
        started.check()
        return Counter(map(_rounded, read_rows(side, work / "out")))


def matching(pool: pa.Table) -> pa.Table:
    """Return rows of a pool, and before them some that every query has an answer for: something to compare."""
    names = pool.column_names
    more: list[dict[str, Any]]
    if "orig" in names:
        # Words of more than ten letters, and texts that are equally long, but not equal.
        more = [{"orig": letter * 220, "change": letter * 12, "updated": letter * 11} for letter in "abc"]
    elif "dist" in names:
        near = pool["dist"][0].as_py()
        # They differ by less than half a metre in all, and lie more than three metres away.
        more = [{"id": 0, "dist": [d + 4 + i * 0.0003 for d in near]} for i in range(3)]
    else:
        return pool
    return pa.concat_tables([pa.Table.from_pylist(more, pool.schema), pool])


def read_rows(side: str, output: Path) -> list[dict[str, Any]]:
    """Return the rows that can be read of a side's output, with instants in UTC."""
    if side == "hand":
        found = [parquet.read_table(output / name) for name in _names_in_log(output / "_spark_metadata")]
    else:
        found = [tg.read(tg.local(), output).to_arrow_table()]
    # Instants are with or without a zone, and always in UTC.
    return [row for table in found for row in _naive(table).to_pylist()]


def _names_in_log(log: Path) -> list[str]:
    """Return the files of batches that are over, by the log of the sink: others may still be written."""
    entries = [file for file in log.iterdir() if file.name.removesuffix(".compact").isdigit()]
    lines = [line for file in entries for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    return sorted({json.loads(line)["path"].rsplit("/", 1)[1] for line in lines})


def _naive(table: pa.Table) -> pa.Table:
    instant = pa.timestamp("us")
    for i, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            table = table.set_column(i, column.name, table.column(i).cast(pa.timestamp("us", tz="UTC")).cast(instant))
    return table


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_rounded(inner) for inner in value.values())
    if isinstance(value, list):
        return tuple(map(_rounded, value))
    return round(value, 7) + 0.0 if isinstance(value, float) else value
