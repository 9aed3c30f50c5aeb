"""What an engine is given in a trial: the plan, with watermarks by hand or as declared; rows of tables; and clocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tidegate.flow.clocks import Clock, clock, ticking
from tidegate.flow.errors import BadInput, nearest
from tidegate.flow.plan import Plan, Source
from tidegate.flow.watermarks import ByHand, Published
from tidegate.testing.engines import Setting
from tidegate.testing.values import row_of

__all__ = ["clocks_of", "driven", "is_by_hand", "tables_of"]


def driven(setting: Setting) -> Plan:
    """Return the plan with the strategies that a trial lets act.

    A frontier that another flow publishes comes from outside in any case: there, the test is the other flow.
    """
    plan = ticking(setting.plan, setting.clocks)
    operators = tuple(
        replace(o, watermark=ByHand()) if isinstance(o, Source) and is_by_hand(o, setting) else o
        for o in plan.operators
    )
    return replace(plan, operators=operators)


def is_by_hand(source: Source, setting: Setting) -> bool:
    """Whether a trial says which times of a source are complete."""
    return source.id not in setting.clocks and (not setting.declared or isinstance(source.watermark, Published))


def tables_of(plan: Plan, given: Mapping[str, Iterable[Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table of a flow, checked."""
    known = [table.id for table in plan.tables]
    for name in given:
        if name not in known:
            near = nearest(str(name), known)
            raise BadInput(
                f"expected rows of tables ({', '.join(known) or 'there are none'}), got {name!r}",
                hint=f"did you mean {near!r}?" if near else "rows of sources are sent: test.send(source, row, …)",
            )
    for name in known:
        if name not in given:
            raise BadInput(f"expected the rows of table {name!r}, got none", hint=f"tables={{{name!r}: [{{…}}]}}")
    return {t.id: [row_of(row, t.schema, f"a row of table {t.id!r}") for row in given[t.id]] for t in plan.tables}


def clocks_of(plan: Plan, given: Mapping[str, Any], *, declared: bool) -> dict[str, Clock]:
    """Return the clocks that sources are, checked."""
    known = [source.id for source in plan.sources]
    for name in given:
        if name not in known or not declared:
            raise BadInput(
                f'expected clocks of sources ({", ".join(known)}) with watermarks="declared", got one for {name!r}',
                hint="by hand, ticks are rows: test.send(source, row), and test.advance(source, time)",
            )
    return {name: span if isinstance(span, Clock) else clock(span) for name, span in given.items()}
