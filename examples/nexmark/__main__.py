"""Run a query of NEXMark: ``python -m examples.nexmark q5``, or all of them; ``--events 100000``, ``--show 10``."""

from __future__ import annotations

import argparse
import time
from typing import Any

import pyarrow as pa

import tidegate as tg
from examples.nexmark.events import events, side_input
from examples.nexmark.queries import QUERIES, flow_of


def inputs_of(flow: tg.Flow, tables: dict[str, pa.Table]) -> dict[str, Any]:
    """Return the rows that a flow reads; those that have no time but their arrival arrive at once, now."""
    found = {operator.id: tables[operator.id] for operator in (*flow.plan.sources, *flow.plan.tables)}
    for source in flow.plan.sources:
        if "arrived" in source.schema:
            found[source.id] = tables[source.id].add_column(0, "arrived", tables[source.id]["ts"])
    return found


def main() -> None:
    """Run queries on events that are all there, in this process, and say how long each took."""
    parser = argparse.ArgumentParser(prog="python -m examples.nexmark", description=__doc__)
    parser.add_argument("queries", nargs="*", default=list(QUERIES), metavar="query", help=", ".join(QUERIES))
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--show", type=int, default=0, help="print so many rows of each answer")
    given = parser.parse_args()
    tables = events(given.events).tables() | {"side": side_input()}
    for name in given.queries:
        flow, began = flow_of(name), time.perf_counter()
        answer = flow.compute(tg.local(), inputs_of(flow, tables))["out"].to_arrow_table()
        title = (QUERIES[name].__doc__ or "").splitlines()[0]
        print(f"{name:>4}: {answer.num_rows:7,} rows in {time.perf_counter() - began:5.2f} s  {title}")
        for row in answer.slice(0, given.show).to_pylist():
            print("     ", row)


if __name__ == "__main__":
    main()
