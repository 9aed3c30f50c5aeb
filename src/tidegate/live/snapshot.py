"""What the page shows of a run, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from tidegate.engine.commits.commit import origin_in
from tidegate.engine.frontiers import Frontier, parts_of, shown
from tidegate.engine.storage.state import State
from tidegate.flow.orders import LexicographicCoordinates, PosetCoordinates, SumCoordinates
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units
from tidegate.live.view import View
from tidegate.progress import Reason
from tidegate.time import BOTTOM, TOP, Bound

__all__ = ["reasons_as_json", "snapshot"]


def snapshot(view: View, *, after: float = 0.0) -> dict[str, Any]:
    """Return all that the page shows of a run. Steps are those that ended after ``after``, in Unix seconds."""
    commit, description = view.commit, view.description
    whole: Mapping[str, Any] = description.whole if description else {}
    engine = view.attempt("the engine", lambda: origin_in(commit).engine if commit else "", "")
    held = view.attempt("the state", lambda: _held(view), {})
    return {
        "flow": whole.get("flow") or (commit["flow"].get("name", "") if commit else ""),
        "engine": engine or whole.get("engine", ""),
        "state": view.state,
        "holder": view.holder.name if view.holder else "",
        "step": commit["step"] if commit else None,
        "failure": view.failure,
        "doing": view.attempt("what the run does", lambda: _doing(view), {}),
        "sources": view.attempt("the sources", lambda: _sources(view), []),
        "sinks": view.attempt("the sinks", lambda: _sinks(view), []),
        "places": view.attempt("the frontiers", lambda: _places(view, held), {}),
        "states": list(held.values()),
        "asides": view.attempt("rows that were set aside", lambda: _asides(view), []),
        "warnings": whole.get("warnings", []),
        "steps": view.attempt("the last steps", lambda: list(_steps(view.steps, after)), []),
        "problems": view.problems,
    }


def _doing(view: View) -> dict[str, Any]:
    now = view.running_step
    found = {"step": now["step"], "since": now["since"]} if now else {}
    if round_ := now.get("round"):
        found |= {"loop": round_["loop"], "round": round_["number"]}
    return found


def _sources(view: View) -> list[dict[str, Any]]:
    known = view.description.operators if view.description else {}
    behind = view.steps[-1].get("behind", {}) if view.steps else {}
    found = []
    for name, marks in view.sources.items() or {id_: {} for id_, o in known.items() if o["kind"] == "source"}.items():
        counts = {kind: marks.get(kind, 0) for kind in ("rows", "late", "rejected", "watermarks")}
        texts = {"frontier": marks.get("shown", ""), "because": marks.get("because", ""), "behind": behind.get(name)}
        found.append({"id": name, "promises": next(iter(known.get(name, {}).get("lines", [])), ""), **counts, **texts})
    return found


def _sinks(view: View) -> list[dict[str, Any]]:
    commit = view.commit or {"outputs": {}, "outlets": {}}
    described = {sink["name"]: sink for sink in (view.description.whole["sinks"] if view.description else ())}
    found = []
    for name in described or commit["outputs"]:
        outlet = commit["outlets"].get(name) or {}
        sink: dict[str, Any] = {"name": name, "rows": outlet.get("rows"), "last": commit["outputs"].get(name, 0)}
        sink["output"] = described.get(name, {}).get("output", outlet.get("root", "")).removeprefix("file:")
        if view.progress:
            schema = view.progress.schema_of_sink(name)
            sink["frontier"] = shown(schema, view.progress.of_sink(name))
            sink["time"] = [[c.name, c.type] for c in _user_columns(schema)]
        found.append(sink)
    return found


def _places(view: View, held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the frontier of each operator and sink, and what it holds, by the id of its box."""
    progress = view.progress
    if progress is None:
        return {}
    stages = [stage for stage in progress.shape.stages if not stage.hidden]
    found = {stage.id: _place(stage.schema, progress.frontier(stage)) for stage in stages}
    for name in progress.shape.sinks:
        found[f"sink {name}"] = _place(progress.schema_of_sink(name), progress.of_sink(name))
    for state in held.values():
        if state["operator"] in found:
            place = found[state["operator"]]
            place["rows"], place["bytes"] = state["rows"], state["bytes"]
            place["boxes"] = state["boxes"] if place["order"] == "product" else []
    return found


def _place(schema: Schema, frontier: Frontier) -> dict[str, Any]:
    at = schema.coordinates
    place: dict[str, Any] = {"frontier": shown(schema, frontier), "complete": not frontier}
    place["time"] = [[c.name, c.type] for c in _user_columns(schema)]
    if isinstance(at, PosetCoordinates):
        place["order"] = "poset"
        points = [parts_of(schema, f) for f in frontier]
        still = set(at.elements_from(points))
        place["open"] = [at.shown(x) for x, _ in at.points if x in still]
        place["least"] = [at.shown(at.bound(point)) for point in points]
        place["elements"] = [at.shown(x) for x, _ in at.points]
    elif isinstance(at, SumCoordinates | LexicographicCoordinates):
        place["order"] = "sum" if isinstance(at, SumCoordinates) else "line"
    else:
        place["order"] = "product" if len(schema.time) > 1 else "line"
        types = [column.type or "" for column in schema.times]
        place["elements"] = [
            [_part(part, type_) for part, type_ in zip(parts_of(schema, f), types, strict=True)]
            for f in sorted(frontier, key=schema.order.key)
        ]
    return place


def _part(part: Any, type_: str) -> dict[str, Any]:
    """Return one value of a time: as a number and as text, or the name of a bound (TOP or BOTTOM)."""
    if part is TOP:
        return {"bound": "TOP"}
    if part is BOTTOM or (isinstance(part, date) and part == type(part).min):
        return {"bound": "BOTTOM"}
    return {"at": units(part, type_), "text": str(part)}


def _held(view: View) -> dict[str, dict[str, Any]]:
    """Return the rows, bytes and parts of each operator's state, by its key."""
    operators = view.description.whole["state"] if view.description else {}
    found = {}
    for key, ports in (view.commit["state"] if view.commit else {}).items():
        parts = [part for port in ports for part in State.from_json(port).parts]
        found[key] = {
            "key": key,
            "operator": operators.get(key, ""),
            "rows": sum(part.rows for part in parts),
            "bytes": sum(entry.bytes for part in parts for entry in part.files),
            "parts": len(parts),
            # Each box is the range of times of a part: the least and the greatest value of each column.
            "boxes": [[part.first, part.last] for part in parts if part.first and part.last][:50],
        }
    return found


def _asides(view: View) -> list[dict[str, Any]]:
    """Return how many rows of each source and operator were set aside."""
    counts = view.commit.get("aside", {}) if view.commit else {}
    named = dict(view.description.whole["asides"]) if view.description else {}
    named |= {directory: directory for directory in counts if directory not in named.values()}
    return [{"name": name, "rows": counts.get(directory, 0)} for name, directory in named.items()]


def _steps(steps: Iterable[Mapping[str, Any]], after: float) -> Iterable[dict[str, Any]]:
    for step in steps:
        at = datetime.fromisoformat(step["at"]).timestamp()
        if at > after:
            held = step.get("held", {}).values()
            yield {
                "step": step["step"],
                "at": at,
                "seconds": step["seconds"],
                "rows": step["rows"],
                "late": sum(step["late"].values()),
                "rejected": sum(step["rejected"].values()),
                "out": sum(step["outputs"].values()),
                "held": sum(rows for rows, _ in held),
                "bytes": sum(bytes_ for _, bytes_ in held),
            }


def reasons_as_json(view: View, sink: str, given: Sequence[str]) -> dict[str, Any]:
    """Return what holds a time back at a sink. Each reason has the path to the sink, as ids of boxes, and its cause."""
    progress = view.progress
    if progress is None:
        return {"error": "the flow is not described in the checkpoint, so nobody knows the way from its sources"}
    reasons = progress.why(sink, tuple(given) if len(given) > 1 else given[0])
    return {"complete": not reasons, "reasons": [_reason(view, reason) for reason in reasons]}


def _reason(view: View, reason: Reason) -> dict[str, Any]:
    assert view.progress is not None
    shape = view.progress.shape
    known = {stage.id for stage in shape.stages}
    loops = {f"{what} of {stage.id}": stage.id for stage in shape.stages if stage.loop for what in ("loop", "rounds")}
    path = [
        {"box": loops.get(str(place), str(place)), "name": str(place), "time": _time_text(t)}
        for place, t in reason.path
        if str(place) in known or str(place) in loops or str(place).startswith("sink ")
    ]
    marks = view.sources.get(str(reason.location), {})
    return {
        "round": str(reason.location) in loops,
        "from": loops.get(str(reason.location), str(reason.location)),
        "time": _time_text(reason.time),
        "because": marks.get("because", ""),
        "path": path,
    }


def _time_text(t: Any) -> str:
    if isinstance(t, tuple):
        return f"({', '.join(map(_time_text, t))})"
    first = isinstance(t, date) and t == type(t).min
    return "any" if t is BOTTOM or first else "never" if isinstance(t, Bound) else str(t)


def _user_columns(schema: Schema) -> Any:
    return schema.coordinates.user if schema.coordinates else schema.times
