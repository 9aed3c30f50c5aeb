"""Partial aggregates: what to keep of the rows of one cell of a grid, and how two cells are put together.

Where a function has no partial form here, the rows themselves are kept (`Collected`), and it is computed from them at
the end: any aggregate that Spark has can be accumulated.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.flow.aggregates import AggregateCall
from tidegate.spark.lowering.calls import placeholders

__all__ = ["Partial", "partial"]


@dataclass(frozen=True, slots=True)
class Partial:
    """The parts of one call: for each, a column of the cell, how it is computed of rows, how of other parts.

    ``finish`` is the result, as SQL over the columns.
    """

    columns: tuple[str, ...]
    of_rows: tuple[str, ...]
    merged: tuple[str, ...]
    finish: str


def partial(call: AggregateCall, order: str) -> Partial | None:
    """Answer the partial form of a call, or None if it has none; ``order`` sorts rows.

    >>> from tidegate.flow.aggregates import aggregation
    >>> from tidegate.flow.schema import parse_schema
    >>> call = aggregation((), ["count(*) AS n"], {}, parse_schema("t INT", time=("t",))).calls[0]
    >>> partial(call, "struct(t)")
    Partial(columns=('__0a',), of_rows=('count(*)',), merged=('sum(__0a)',), finish='__0a')
    """
    form = call.definition.partial
    if form is None or not call.mergeable:
        return None
    columns = tuple(f"{call.name}{letter}" for letter, _ in zip("ab", form.parts, strict=False))
    own = dict(zip("ab", columns, strict=False)) | placeholders(call, order)
    of_rows = tuple(sql.format(**own) for sql, _ in form.parts)
    merged = tuple(sql.format(**own) for _, sql in form.parts)
    return Partial(columns, of_rows, merged, form.finish.format(**own))
