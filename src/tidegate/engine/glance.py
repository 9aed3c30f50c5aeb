"""A glance at results: a few rows of each sink, for whoever shows them in a notebook without asking for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from tidegate.flow.plan import Iterate, MapBatches, Plan, Process, WindowApply
from tidegate.flow.show import html_table
from tidegate.printable import printable

__all__ = ["ROWS", "Glance", "Look", "glances_html", "not_at_a_glance"]

#: How many rows are shown of each sink.
ROWS = 5


@dataclass(frozen=True, slots=True)
class Glance:
    """Some rows, whether there are more; or, if they were not computed, why."""

    names: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    more: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """A glance at each sink; and for each source how many rows were rejected, as far as they were counted."""

    sinks: Mapping[str, Glance]
    rejected: Mapping[str, int] = field(default_factory=dict)


def not_at_a_glance(flow: Plan, needed: str) -> str:
    """Return why an operator's rows are not computed for a glance, whatever that costs; nothing if they may be.

    A function of the user's may do anything, as often as it is called, and a loop goes round until it is done.
    """
    upstream = flow.upstream(needed) | {needed}
    for operator in flow:
        if operator.id in upstream and isinstance(operator, MapBatches | WindowApply | Process):
            return f"{operator.id} calls a function of yours"
        if operator.id in upstream and isinstance(operator, Iterate):
            return f"{operator.id} is a loop"
    return ""


def glances_html(flow: Plan, look: Look) -> str:
    """Return what was seen of the results of a flow, for a notebook."""
    parts = [f"<div>results of flow <b>{escape(printable(flow.name))}</b></div>"]
    for sink in flow.sinks:
        found = look.sinks[sink.name]
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
    said = [f"{n:,} of {name}" for name, n in look.rejected.items() if n]
    if said:
        parts.append(f"<p>rejected rows: {escape(printable(', '.join(said)))}; tables.rejected has them</p>")
    elif look.rejected:
        parts.append("<p>no rows rejected</p>")
    return "".join(parts)
