"""What the state in a checkpoint means, and whether a flow may continue with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.engine.keepers import Keeper, Memory
from tidegate.engine.policies import signals_of
from tidegate.engine.storage.errors import FlowChanged, PickleRefused
from tidegate.flow.errors import BadArgument
from tidegate.flow.plan import Plan, Source, Table

__all__ = ["check_meaning", "meaning", "origins_of", "state_keys"]


def origins_of(flow: Plan, old: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the names by which a checkpoint knows sources and tables: their own, or their first ones if renamed."""
    known = old["origins"] if old else {}
    named: list[Source | Table] = [*flow.sources, *flow.tables]
    return {o.id: known.get(o.id) or known.get(o.was) or o.id for o in named}


def state_keys(
    flow: Plan, keepers: Mapping[str, Keeper[Any]], origins: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a key for the state of each operator, made of what the operator means and not of its id.

    Operators with the same meaning and the same inputs hold the same rows, so it does not matter which of them gets
    which state. But operators can look the same and differ, because two functions have the same name. After a change of
    the flow, it would not be known which state belongs to which. That is an error.
    """
    prints, exact = flow.fingerprints(origins), flow.fingerprints(origins, exact=True)
    seen: dict[str, list[str]] = {}
    keys = {}
    for id_, keeper in keepers.items():
        fingerprint = prints[id_]
        same = seen.setdefault(fingerprint, [])
        if any(exact[other] != exact[id_] for other in same):
            raise BadArgument(
                "expected operators that can be told apart in a checkpoint, "
                f"got {same[0]} and {id_}, whose functions differ and have one name",
                hint="use functions with names of their own, defined with def at the top of a module",
            ).at(f"flow {flow.name!r}")
        kind = f"-{keeper.label}" if keeper.label else ""
        nth = f"-{len(same)}" if same else ""
        keys[id_] = f"{flow[id_].verb.replace('.', '-')}-{fingerprint}{kind}{nth}"
        same.append(id_)
    return keys


def meaning(
    flow: Plan, keepers: Mapping[str, Keeper[Any]], keys: Mapping[str, str], origins: Mapping[str, str]
) -> dict[str, Any]:
    """Return what the state of a flow depends on: its time zone, its sources in order, and its operators with state."""
    prints = flow.fingerprints(origins)
    return {
        "name": flow.name,
        "timezone": flow.timezone,
        "sources": [[origins[s.id], prints[s.id], str(s.schema)] for s in flow.sources],
        "signals": [origins.get(name, name) for name in signals_of(flow)],
        "origins": dict(origins),
        "state": {key: flow.text(id_) for id_, key in keys.items()},
        "kept": {key: keepers[id_].keeps for id_, key in keys.items()},
    }


def check_meaning(flow: Plan, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise unless the state of a checkpoint has the meaning that the flow expects."""
    _refuse_pickles(flow, old["state"], new["state"])
    lines = _sources(old["sources"], new["sources"])
    if old["signals"] != new["signals"]:
        # Each signal is a source of Spark's query, and Spark records positions by the number of the source.
        before, now = (", ".join(found["signals"]) or "none" for found in (old, new))
        lines.append(f"sources with a frontier from elsewhere were {before}, and now are {now}")
    # If sources differ, everything after them differs, too.
    lines = lines or _state(old["state"], new["state"])
    # Commits of earlier versions do not say in which zone times are read, nor what is kept.
    zone = old.get("timezone", new["timezone"])
    if zone != new["timezone"]:
        lines.append(f"times were read and computed in the zone {zone}, and now are in {new['timezone']}")
    for key, kept in old.get("kept", {}).items():
        if key in new["kept"] and new["kept"][key] != kept:
            text, now = new["state"][key], new["kept"][key]
            lines.append(f"of {text} the checkpoint keeps {kept}, and this version of Tidegate keeps {now}")
    if lines:
        raise FlowChanged(
            "the flow is not the one that the checkpoint was made by:\n  " + "\n  ".join(lines),
            hint="what comes after the last operator with state, sinks and delays may change, and was= renames a "
            "source or a table; for anything else begin with a new checkpoint and other outputs",
        ).at(f"flow {flow.name!r}")


def _refuse_pickles(flow: Plan, old: Mapping[str, str], new: Mapping[str, str]) -> None:
    rows, pickles = f"-{Memory.ROWS.value}", f"-{Memory.PICKLES.value}"
    if found := [text for key, text in old.items() if pickles in key and key.replace(pickles, rows) in new]:
        raise PickleRefused(
            f"the checkpoint holds pickled state of {', '.join(found)}, and reading that runs any code that is in it",
            hint="if nobody else can write to the checkpoint: start(…, allow_pickle=True)",
        ).at(f"flow {flow.name!r}")


def _sources(old: list[list[str]], new: list[list[str]]) -> list[str]:
    before, now = ([name for name, *_ in found] for found in (old, new))
    if before != now:
        return [f"sources were {', '.join(before)}, and now are {', '.join(now)}"]
    return [
        f"source {name} had {columns}\n    and now has {found}"
        for (name, fingerprint, columns), (_, other, found) in zip(old, new, strict=True)
        if fingerprint != other
    ]


def _state(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    gone = [text for key, text in old.items() if key not in new]
    added = [text for key, text in new.items() if key not in old]
    return [f"there is state of {text}" for text in gone] + [f"there is no state of {text}" for text in added]
