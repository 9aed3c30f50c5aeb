"""What an engine gets in a trial: the plan with its watermark strategies, rows of tables, and clocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tidegate.flow.clocks import Clock, clock, ticking
from tidegate.flow.errors import BadInput, did_you_mean
from tidegate.flow.plan import Plan, Source
from tidegate.flow.watermarks import ByHand, Published
from tidegate.testing.engines import Setting
from tidegate.testing.values import row_of

__all__ = ["clocks_of", "driven", "is_by_hand", "tables_of"]


def driven(setting: Setting) -> Plan:
    """Return the plan with the watermark strategies of a trial: by hand, or as declared.

    A source that follows another flow is always by hand: the test takes the place of that flow.
    """
    plan = ticking(setting.plan, setting.clocks)
    operators = tuple(
        replace(o, watermark=ByHand()) if isinstance(o, Source) and is_by_hand(o, setting) else o
        for o in plan.operators
    )
    return replace(plan, operators=operators)


def is_by_hand(source: Source, setting: Setting) -> bool:
    """Whether the test says which times of a source are complete, with `Trial.advance`."""
    return source.id not in setting.clocks and (not setting.declared or isinstance(source.watermark, Published))


def tables_of(plan: Plan, given: Mapping[str, Iterable[Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table of a flow; raise if a table is unknown or missing."""
    known = [table.id for table in plan.tables]
    for name in given:
        if name not in known:
            raise BadInput(
                f"expected rows of tables ({', '.join(known) or 'there are none'}), got {name!r}",
                hint=did_you_mean(name, known, otherwise="rows of sources are sent: test.send(source, row, …)"),
            )
    for name in known:
        if name not in given:
            raise BadInput(f"expected the rows of table {name!r}, got none", hint=f"tables={{{name!r}: [{{…}}]}}")
    return {t.id: [row_of(row, t.schema, f"a row of table {t.id!r}") for row in given[t.id]] for t in plan.tables}


def clocks_of(plan: Plan, given: Mapping[str, Any], *, declared: bool) -> dict[str, Clock]:
    """Return the clocks of sources that are clocks; raise if a source is unknown, or watermarks are by hand."""
    known = [source.id for source in plan.sources]
    for name in given:
        if name not in known or not declared:
            raise BadInput(
                f'expected clocks of sources ({", ".join(known)}) with watermarks="declared", got one for {name!r}',
                hint="by hand, ticks are rows: test.send(source, row), and test.advance(source, time)",
            )
    return {name: span if isinstance(span, Clock) else clock(span) for name, span in given.items()}
