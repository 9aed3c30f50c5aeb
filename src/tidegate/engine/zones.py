"""Time zones in a checkpoint: a machine's zone data may change when days begin, but open windows must not move.

A commit contains the version of the data it was made with, and for each year a digest of when its days begin. State of
calendar windows in a zone can be used again if nothing has changed in the years that it covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tidegate.engine.commits.commit import Commit
from tidegate.engine.storage.errors import FlowChanged
from tidegate.flow.calendars import FIRST_YEAR, calendar_of, data_version, zone_table
from tidegate.flow.plan import CalendarFrame, Plan
from tidegate.flow.spans import from_units, within

if TYPE_CHECKING:
    from tidegate.engine.steps.prepared import Prepared

__all__ = ["check_zones", "zones_of"]

_DIGITS = 6


def zones_of(flow: Plan) -> dict[str, dict[str, str]]:
    """Return what a commit records of the zones of a flow's windows: the version of the data, and digests of years."""
    zones = {f.zone for o in flow if isinstance(f := getattr(o, "frame", None), CalendarFrame) and f.zone != "UTC"}
    return {zone: {"version": data_version(), "years": _years(zone)} for zone in sorted(zones)}


@lru_cache(maxsize=64)
def _years(zone: str) -> str:
    return "".join(zone_table(zone).digest())


def check_zones(run: Prepared, commit: Commit, old: Mapping[str, Any]) -> None:
    """Raise if a day or month begins at another time than before, in years with open windows in the commit."""
    for id_, own in run.kept.items():
        frame = getattr(run.flow[id_], "frame", None)
        if not isinstance(frame, CalendarFrame) or frame.zone not in old:
            continue
        before, now = old[frame.zone], run.meaning["zones"][frame.zone]
        cut = range(0, len(now["years"]), _DIGITS)
        changed = {
            FIRST_YEAR + i // _DIGITS for i in cut if before["years"][i : i + _DIGITS] != now["years"][i : i + _DIGITS]
        }
        moved = sorted(changed & _open_years(run, commit, id_, own.key, frame))
        if moved:
            versions = f"version {before['version'] or '?'} to {now['version'] or '?'}"
            raise FlowChanged(
                f"the time zone data changed, {versions}, and with it when days begin in {frame.zone} in "
                f"{', '.join(map(str, moved))}, of which {id_} holds windows that are open",
                hint="go on with the data that the checkpoint was made with, until these windows are complete; "
                "or begin with a new checkpoint and other outputs",
            ).at(f"flow {run.flow.name!r}")


def _open_years(run: Prepared, commit: Commit, id_: str, key: str, frame: CalendarFrame) -> set[int]:
    """Return the years in which windows with state of an operator may begin or end."""
    schema = run.flow[id_].schema
    type_, over = schema[frame.over].type or "", schema.time.index(frame.over)
    calendar = calendar_of(frame.unit, frame.zone, type_)
    longest = calendar.longest(frame.size)
    parts = [part for state in commit.state.get(key, ()) for part in state.parts]
    if not parts:
        return set()
    assert calendar.table is not None
    firsts = [part.first[over] if part.first else calendar.table.low for part in parts]
    lasts = [part.last[over] if part.last else calendar.table.high for part in parts]
    low, high = (from_units(within(n, type_), type_) for n in (min(firsts) - longest, max(lasts) + longest))
    return set(range(low.year, high.year + 1))
