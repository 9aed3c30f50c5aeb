"""Partial aggregates: what is kept of the rows of one cell, and how two cells are merged.

If a function has no partial form here, the rows themselves are kept, and it is computed from them at the end. So any
aggregate can be accumulated.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.engine.calls import call_of, placeholders
from tidegate.engine.relation import Call
from tidegate.flow.aggregate_functions import AS_WRITTEN as CALL_ITSELF

__all__ = ["Partial", "partial"]


@dataclass(frozen=True, slots=True)
class Partial:
    """The partial form of a call: the columns of a cell, how each is computed from rows, and how it is merged.

    ``finish`` is the result, as SQL over the columns.
    """

    columns: tuple[str, ...]
    of_rows: tuple[Call, ...]
    merged: tuple[Call, ...]
    finish: str


def partial(call: Call, order: str) -> Partial | None:
    """Return the partial form of a call, or None if it has none; ``order`` sorts rows.

    >>> from tidegate.flow.aggregates import aggregation
    >>> from tidegate.flow.schema import parse_schema
    >>> call = aggregation((), ["count(*) AS n"], {}, parse_schema("t INT", time=("t",))).calls[0]
    >>> found = partial(call, "struct(t)")
    >>> found.columns, [part.sql for part in found.of_rows], [part.sql for part in found.merged], found.finish
    (('__0a',), ['count(*)'], ['sum(__0a)'], '__0a')
    """
    form = call.definition.partial
    if form is None or not call.mergeable:
        return None
    columns = tuple(f"{call.name}{letter}" for letter, _ in zip("ab", form.parts, strict=False))
    own = dict(zip("ab", columns, strict=False)) | placeholders(call, order)
    of_rows = tuple(call if sql == CALL_ITSELF else call_of(sql.format(**own)) for sql, _ in form.parts)
    merged = tuple(call_of(sql.format(**own)) for _, sql in form.parts)
    return Partial(columns, of_rows, merged, form.finish.format(**own))
