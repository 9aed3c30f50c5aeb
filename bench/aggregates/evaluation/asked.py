"""What is asked of a side: a query by its name, in a form, with its windows; and the rows that it is asked about."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from bench.aggregates.evaluation.waits import Frames
from bench.aggregates.measure import FORMS
from bench.aggregates.queries import QUERIES, draw_scans, draw_texts, synthetic
from bench.aggregates.queries import scans as scan_queries
from bench.aggregates.queries import texts as text_queries
from tidegate.flow import Flow
from tidegate.flow.arrow import table_of
from tidegate.flow.schema import parse_schema
from tidegate.flow.watermarks import bounded

__all__ = ["SIZES", "Asked", "Pools"]

#: How many rows are drawn; then they are repeated, with other times.
_DRAWN = {"texts": 20_000, "scans": 3_000, "inputs": 50_000}
#: The sizes of windows, in seconds, by the second letter of a Join.
SIZES = {"L": 3.0, "H": 10.0, "l": 1.0, "h": 2.0}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query in a form: dedicated, composed of A+ or of A; a Join in its sliding windows, or in tumbling ones.

    In tumbling windows, as Figure 14 has them, Joins answer early: a pair comes when both of its rows are there.

    The synthetic Map is called by its outputs for each row, and by its work: ``S0.1x30``.

    >>> Asked("S0.1x30").source, Asked("AHJ").frames, Asked("AHJ", tumbling=True).frames
    ('inputs', Frames(size=10.0, every=1.0), Frames(size=10.0, every=10.0))
    """

    query: str
    form: str = "dedicated"
    tumbling: bool = False

    @property
    def source(self) -> str:
        """Return the name of the source."""
        return "inputs" if self.query.startswith("S") else "texts" if self.query.isupper() else "scans"

    @property
    def schema(self) -> str:
        """Return the columns of the source."""
        return {"inputs": synthetic.SCHEMA, "texts": text_queries.SCHEMA, "scans": scan_queries.SCHEMA}[self.source]

    @property
    def joins(self) -> bool:
        """Whether it is a Join."""
        return not self.query.startswith("S") and self.query[2] in "Jj"

    @property
    def frames(self) -> Frames | None:
        """Return the windows of a Join."""
        if not self.joins:
            return None
        size = SIZES[self.query[1]]
        return Frames(size, size if self.tumbling else 1.0 if self.query.isupper() else 0.5)

    @property
    def early(self) -> bool:
        """Whether it is a Join that answers before a window is complete."""
        return self.joins and self.tumbling and self.form == "dedicated"

    def flow(self) -> Flow:
        """Build it; times are complete as soon as a later one was seen."""
        if self.source == "inputs":
            selectivity, work = self.query[1:].split("x")
            flow = synthetic.synthetic_map(float(selectivity), int(work), watermark=bounded("0 seconds"))
        else:
            every = {"every": f"{SIZES[self.query[1]]:g} seconds"} if self.joins and self.tumbling else {}
            more = every | ({"early": True} if self.early else {})
            flow = QUERIES[self.query](watermark=bounded("0 seconds"), **more)
        return FORMS[self.form](flow)


class Pools:
    """Drawn rows without times, as tables and as files, drawn once; and how many pairs of rows share a key."""

    def __init__(self, place: Path, drawn: dict[str, int] | None = None) -> None:
        self._place = place
        self._drawn = drawn or _DRAWN
        self._tables: dict[str, pa.Table] = {}

    def table(self, source: str) -> pa.Table:
        """Return the rows of a source."""
        if source not in self._tables:
            self._tables[source] = _drawn(source, self._drawn[source])
        return self._tables[source]

    def file(self, source: str) -> Path:
        """Return them as a file."""
        path = self._place / f"{source}.pool"
        if not path.exists():
            parquet.write_table(self.table(source), path)
        return path

    def comparisons(self, asked: Asked, rate: float) -> float:
        """Return how many comparisons a Join makes a second: pairs of rows that share a window and a key."""
        frames = asked.frames
        if frames is None:
            return 0.0
        share = 1.0
        if asked.source == "texts":
            # Drawn changes have single blanks, and none at their ends.
            keys = Counter(len(change.split(" ")) for change in self.table("texts")["change"].to_pylist())
            share = sum(n * n for n in keys.values()) / keys.total() ** 2
        return (rate * frames.size) ** 2 * share / frames.every


def _drawn(source: str, count: int) -> pa.Table:
    if source == "inputs":
        return pa.table({"id": pa.array(range(count), pa.int64())})
    draw: Any
    draw, schema = (draw_texts, text_queries.SCHEMA) if source == "texts" else (draw_scans, scan_queries.SCHEMA)
    columns = parse_schema(schema).columns
    rows = [dict(zip((c.name for c in columns), row, strict=True)) for row in islice(draw(Random(1)), count)]
    return table_of(rows, columns).drop_columns(["ts"])
