"""Rows that an output can't take: they are found before their step is committed, when the flow can still be changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidegate.engine.calls import call
from tidegate.engine.relation import Relation
from tidegate.engine.storage.errors import RowRefused

__all__ = ["Refusal", "watched"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Values of a column that an output can't take: the SQL condition, what they are, and a hint."""

    column: str
    condition: str
    what: str
    hint: str


def watched(rows: Relation, refusals: Sequence[Refusal]) -> tuple[Relation, Callable[[], None]]:
    """Return rows, and a check of how many of them an output can't take.

    They are counted while the rows are written. The check is called after that, and raises if there were any.
    """
    if not refusals:
        return rows, lambda: None
    counts = {f"__{i}": call("count_if", refusal.condition) for i, refusal in enumerate(refusals)}
    seen, counted = rows.backend.watched(rows, counts)

    def check() -> None:
        found = counted()
        for i, refusal in enumerate(refusals):
            if found[f"__{i}"]:
                raise RowRefused(
                    f"expected values of {refusal.column} that the output can take, got {found[f'__{i}']} rows with "
                    f"{refusal.what}; nothing of this step is committed",
                    hint=f"{refusal.hint} in a select(…) or with_columns(…) right before the sink: that may be added "
                    "on this checkpoint; or another output for this sink",
                )

    return seen, check
