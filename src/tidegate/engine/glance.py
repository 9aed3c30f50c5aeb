"""A glance at results: a few rows of each sink, for notebooks that show them without computing everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from tidegate.flow.plan import Iterate, MapBatches, Plan, Process, WindowApply
from tidegate.flow.show import html_table
from tidegate.printable import printable

__all__ = ["ROWS", "Glance", "Glances", "glances_html", "not_at_a_glance"]

#: How many rows of each sink are shown.
ROWS = 5


@dataclass(frozen=True, slots=True)
class Glance:
    """Some rows, and whether there are more; or why they were not computed."""

    names: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    more: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Glances:
    """A glance at each sink, and the number of rejected rows of each source, if they were counted."""

    sinks: Mapping[str, Glance]
    rejected: Mapping[str, int] = field(default_factory=dict)


def not_at_a_glance(flow: Plan, needed: str) -> str:
    """Return why an operator's rows are not computed for a glance; empty if they may be.

    A user's function may have effects whenever it is called, and a loop may take long.
    """
    upstream = flow.upstream(needed) | {needed}
    for operator in flow:
        if operator.id in upstream and isinstance(operator, MapBatches | WindowApply | Process):
            return f"{operator.id} calls a function of yours"
        if operator.id in upstream and isinstance(operator, Iterate):
            return f"{operator.id} is a loop"
    return ""


def glances_html(flow: Plan, glances: Glances) -> str:
    """Return the glances at the results of a flow as HTML, for a notebook."""
    parts = [f"<div>results of flow <b>{escape(printable(flow.name))}</b></div>"]
    for sink in flow.sinks:
        found = glances.sinks[sink.name]
        asked = f"tables[{sink.name!r}]"
        if found.why:
            columns = [(column.name, column.type or "open") for column in flow[sink.input].schema.visible]
            parts.append(
                html_table(["column", "type"], columns, caption=f"{sink.name}: rows not computed, {found.why}")
            )
            continue
        shown = f"{len(found.rows)} row{'' if len(found.rows) == 1 else 's'}"
        many = f"{shown}, and {asked} has more" if found.more else f"{shown} in all"
        parts.append(html_table(found.names, found.rows, caption=f"{sink.name}: {many}"))
    counts = [f"{n:,} of {name}" for name, n in glances.rejected.items() if n]
    if counts:
        parts.append(f"<p>rejected rows: {escape(printable(', '.join(counts)))}; tables.rejected has them</p>")
    elif glances.rejected:
        parts.append("<p>no rows rejected</p>")
    return "".join(parts)
