"""Cells: the partial aggregates of one group at one place in time. They are computed, merged and finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.engine.calls import as_one_value, named_calls
from tidegate.engine.lowering.partials import Partial, partial
from tidegate.engine.relation import Call, Relation, as_they_are
from tidegate.flow.aggregates import Aggregation

__all__ = ["cell_columns", "cell_merges", "mergeable", "merged", "with_results"]


def mergeable(aggregation: Aggregation) -> bool:
    """Whether all calls have a partial form, so that no rows have to be kept."""
    return all(partial(call, "NULL") for call in aggregation.calls)


def cell_columns(aggregation: Aggregation, rows: Relation) -> dict[str, Call]:
    """Return the columns of a cell besides its place, each with the call that computes it from rows."""
    return {
        name: call for part in _parts(aggregation, rows) for name, call in zip(part.columns, part.of_rows, strict=True)
    }


def cell_merges(aggregation: Aggregation, rows: Relation) -> dict[str, Call]:
    """Return the columns of a cell besides its place, each with the call that merges it."""
    return {
        name: call for part in _parts(aggregation, rows) for name, call in zip(part.columns, part.merged, strict=True)
    }


def merged(cells: Relation, places: Sequence[str], merges: Mapping[str, Call]) -> Relation:
    """Return one cell for each place. ``places`` are the columns that say where a cell is."""
    # Each sum of decimals would have a wider type, so the type is kept.
    return cells.group(as_they_are(places), merges, like=cells.shape)


def with_results(aggregation: Aggregation, cells: Relation, rows: Relation) -> Relation:
    """Return cells with the results of calls, in the types that the calls have on ``rows``."""
    calls = aggregation.calls
    typed = rows.backend.once(
        ("types", aggregation, str(rows.shape)), lambda: rows.group({}, named_calls(aggregation)).shape
    )
    results = {call.name: part.finish for call, part in zip(calls, _parts(aggregation, rows), strict=True)}
    return cells.with_columns(results, like=typed)


def _parts(aggregation: Aggregation, rows: Relation) -> list[Partial]:
    order = as_one_value(rows.order)
    return [part for call in aggregation.calls if (part := partial(call, order)) is not None]
