"""Figure 9's synthetic Map: as many outputs for each input, and as much work, as one asks for."""

from __future__ import annotations

from tidegate.flow import Flow
from tidegate.flow.watermarks import Watermark

__all__ = ["SCHEMA", "synthetic_map"]

SCHEMA = "ts TIMESTAMP, id BIGINT"


def synthetic_map(selectivity: float, work: int, *, watermark: Watermark | None = None) -> Flow:
    """Build a Map that loops ``work`` times over each input and gives 0.1, 1 or 3 outputs for it.

    >>> [operator.verb for operator in synthetic_map(3, 10).plan]
    ['source', 'select', 'explode']
    """
    flow = Flow("synthetic")
    inputs = flow.source("inputs", SCHEMA, time="ts", watermark=watermark)
    done = f"aggregate(sequence(1, {work}), id, (x, i) -> (x * 31 + i) % 1000003)"
    if selectivity < 1:
        outputs = inputs.where(f"{done} % {round(1 / selectivity)} = 0").select("id")
    elif selectivity == 1:
        outputs = inputs.select(f"{done} AS id")
    else:
        outputs = inputs.select(f"array_repeat({done}, {round(selectivity)}) AS id").explode("id")
    flow.sink("out", outputs)
    return flow
