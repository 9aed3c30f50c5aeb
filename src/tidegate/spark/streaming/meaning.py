"""What the state in a checkpoint means, and whether a flow that goes on with it takes it for the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tidegate.flow.plan import Plan
from tidegate.spark.streaming.errors import FlowChanged
from tidegate.spark.streaming.operators import holds
from tidegate.spark.streaming.sources import signals_of

__all__ = ["check_meaning", "meaning", "state_keys"]


def state_keys(flow: Plan) -> dict[str, str]:
    """Answer a name for the state of each operator, that says what it means and not what it is called."""
    prints = flow.fingerprints()
    seen: Counter[str] = Counter()
    keys = {}
    for operator in flow:
        if holds(operator):
            mark = prints[operator.id]
            keys[operator.id] = f"{operator.verb.replace('.', '-')}-{mark}" + (f"-{seen[mark]}" if seen[mark] else "")
            seen[mark] += 1
    return keys


def meaning(flow: Plan, keys: Mapping[str, str]) -> dict[str, Any]:
    """Answer what the state of a flow depends on: its sources in order, and the operators that have state."""
    prints = flow.fingerprints()
    return {
        "name": flow.name,
        "sources": [[s.id, prints[s.id]] for s in flow.sources],
        "signals": list(signals_of(flow)),
        "state": sorted(keys.values()),
    }


def check_meaning(flow: Plan, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise unless the state of a checkpoint means what the flow takes it for."""
    lines = []
    if old["sources"] != new["sources"]:
        lines.append(f"sources were {_named(old['sources'])}, and now are {_named(new['sources'])}")
    if old["signals"] != new["signals"]:
        # Each is a source of Spark's query, whose positions are by number.
        before, now = (", ".join(found["signals"]) or "none" for found in (old, new))
        lines.append(f"sources with a frontier from elsewhere were {before}, and now are {now}")
    gone = [key for key in old["state"] if key not in new["state"]]
    added = [key for key in new["state"] if key not in old["state"]]
    lines += [f"there is state of {key}, and the flow has no such operator" for key in gone]
    lines += [f"the flow has {key}, and there is no state of it" for key in added]
    if lines:
        raise FlowChanged(
            "the flow is not the one that the checkpoint was made by:\n  " + "\n  ".join(lines),
            hint="what comes after the last operator with state, sinks, delays and names may change; "
            "for anything else begin with a new checkpoint and other outputs",
        ).at(f"flow {flow.name!r}")


def _named(sources: list[list[str]]) -> str:
    return ", ".join(f"{name} ({mark})" for name, mark in sources) or "none"
