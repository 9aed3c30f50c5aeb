"""Rows that an output cannot take: known before their step is committed, when the flow can still be changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation
from tidegate.engine.storage.errors import RowRefused

__all__ = ["Refusal", "watched"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Values of a column that a place cannot take: the condition, as Spark SQL; what they are; and what to do."""

    column: str
    condition: str
    what: str
    hint: str


def watched(rows: Relation, refusals: Sequence[Refusal]) -> tuple[Relation, Callable[[], None]]:
    """Return rows that are counted, while they are written, where an output cannot take them.

    What is returned beside them raises, once they are written, if there were such rows.
    """
    if not refusals:
        return rows, lambda: None
    counts = {f"__{i}": call("count_if", refusal.condition) for i, refusal in enumerate(refusals)}
    seen, told = rows.backend.watched(rows, counts)

    def check() -> None:
        found = told()
        for i, refusal in enumerate(refusals):
            if found[f"__{i}"]:
                raise RowRefused(
                    f"expected values of {refusal.column} that the output can take, got {found[f'__{i}']} rows with "
                    f"{refusal.what}; nothing of this step is committed",
                    hint=f"{refusal.hint} in a select(…) or with_columns(…) right before the sink: that may be added "
                    "on this checkpoint; or another output for this sink",
                )

    return seen, check
