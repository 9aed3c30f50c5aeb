"""The latest rows that were set aside, late or rejected, as texts for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.engine.commits.by_step import step_of
from tidegate.engine.storage.files import Files, is_hidden
from tidegate.printable import printable

__all__ = ["latest_rows", "one_line"]

#: Longer values are cut to this many characters.
_LONGEST = 300
_COLUMNS = ["time", "step", "reason", "bound", "row"]


def latest_rows(files: Files, directory: str, limit: int) -> dict[str, Any]:
    """Return the latest rows that were set aside in a directory of the checkpoint, and why others can't be read."""
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    steps = sorted({step for name in files.names(directory) if (step := step_of(name)) is not None}, reverse=True)
    for step in steps:
        if len(rows) >= limit:
            break
        try:
            rows += _rows_of_step(files, f"{directory}/step={step}", limit - len(rows))
        except (OSError, ValueError, pa.ArrowException) as error:
            problems.append(printable(f"the rows of step {step} can't be read: {error}"))
            if len(problems) > 3:
                break
    return {"rows": rows, "problems": problems}


def _rows_of_step(files: Files, directory: str, limit: int) -> list[dict[str, Any]]:
    assert files.local is not None, "only disks of this machine are looked at"
    found: list[dict[str, Any]] = []
    for path in _parquet(files.local / directory):
        with pq.ParquetFile(path) as file:
            known = [name for name in _COLUMNS if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=limit, columns=known):
                found += map(_row, batch.to_pylist())
                if len(found) >= limit:
                    return found[:limit]
    return found


def _parquet(place: Path) -> Iterator[Path]:
    yield from (path for path in sorted(place.rglob("*.parquet")) if not is_hidden(path.name))


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "step": row.get("step"),
        "time": ", ".join(one_line(value) for value in (row.get("time") or {}).values()),
        "reason": one_line(row.get("reason")),
        "bound": one_line(row.get("bound")) if row.get("bound") is not None else "",
        "row": [[one_line(name), one_line(value)] for name, value in (row.get("row") or {}).items()],
    }


def one_line(value: Any) -> str:
    r"""Return a value as a short text of one line. Characters that would change the text around it are escaped.

    >>> one_line("a\u202eb\n"), one_line(None), len(one_line("x" * 1000))
    ('a\\u202eb\\n', 'null', 301)
    """
    if isinstance(value, datetime) and value.tzinfo is not None:
        # All instants are shown in UTC, without a zone.
        value = value.astimezone(UTC).replace(tzinfo=None)
    text = "null" if value is None else str(value)
    return printable(text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")
