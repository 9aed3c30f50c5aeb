"""Rows that an output cannot take: known before their step is committed, when the flow can still be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.engine.storage.errors import RowRefused
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.spark.streaming.outputs import Output

__all__ = ["Refusal", "watched"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Values of a column that a place cannot take: the condition, as Spark SQL; what they are; and what to do."""

    column: str
    condition: str
    what: str
    hint: str


def watched(runtime: Runtime, rows: DataFrame, output: Output) -> tuple[DataFrame, Callable[[], None]]:
    """Return rows that are counted, while they are written, where an output cannot take them.

    What is returned beside them raises, once they are written, if there were such rows.
    """
    from pyspark.sql import Observation

    refusals = list(output.refuses(rows.schema))
    if not refusals:
        return rows, lambda: None
    seen = Observation()
    counts = {f"__{i}": f"count_if({refusal.condition})" for i, refusal in enumerate(refusals)}

    def check() -> None:
        found = seen.get
        for i, refusal in enumerate(refusals):
            if found[f"__{i}"]:
                raise RowRefused(
                    f"expected values of {refusal.column} that the output can take, got {found[f'__{i}']} rows with "
                    f"{refusal.what}; nothing of this step is committed",
                    hint=f"{refusal.hint} in a select(…) or with_columns(…) right before the sink: that may be added "
                    "on this checkpoint; or another output for this sink",
                )

    return rows.observe(seen, *runtime.exprs(counts)), check
