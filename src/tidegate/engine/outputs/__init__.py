"""Where results go, one module for each kind of output. Only this module says what a user may give as an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.engine.outputs.delta import delta
from tidegate.engine.outputs.foreach import console, foreach, foreach_batch, memory
from tidegate.engine.outputs.output import Fields, Output, Results, Sender
from tidegate.engine.outputs.own import Own, Transactional
from tidegate.engine.outputs.parquet import parquet
from tidegate.engine.outputs.postgres import postgres
from tidegate.flow.errors import BadArgument, did_you_mean
from tidegate.flow.plan import Plan

__all__ = [
    "Fields",
    "Output",
    "Results",
    "Sender",
    "Transactional",
    "checked_outputs",
    "console",
    "delta",
    "foreach",
    "foreach_batch",
    "memory",
    "parquet",
    "postgres",
]

_PLACES = "tg.parquet(path), tg.postgres(…), tg.delta(path), tg.foreach(function), tg.memory(name) or tg.console()"


def checked_outputs(flow: Plan, outputs: Any) -> dict[str, Output]:
    """Return the output of each sink from the user's argument; raise if one is missing or is not an output."""
    if not isinstance(outputs, Mapping):
        raise BadArgument(
            f"expected outputs as a mapping from sink to place, got {type(outputs).__name__}",
            hint="{" + ", ".join(f'"{sink.name}": tg.parquet(path)' for sink in flow.sinks) + "}",
        )
    names = [sink.name for sink in flow.sinks]
    for name in names:
        if name not in outputs:
            raise BadArgument(f"expected an output for sink {name!r}, got none", hint=f'{{"{name}": tg.parquet(path)}}')
    found = {}
    for name, given in outputs.items():
        if name not in names:
            raise BadArgument(
                f"got an output {name!r} that the flow has no sink for",
                hint=did_you_mean(name, names, otherwise=f"sinks are {', '.join(names)}"),
            )
        found[name] = _output(name, given)
    directories = [output.directory for output in found.values() if output.directory is not None]
    if len(set(directories)) < len(directories):
        raise BadArgument(
            "expected a path of its own for each sink, got one path twice", hint="give each sink a directory of its own"
        )
    return found


def _output(sink: str, given: Any) -> Output:
    if isinstance(given, Output):
        return given
    if isinstance(given, Transactional):
        return Own(given)
    got = f"{given!r} ({type(given).__name__})"
    raise BadArgument(f"expected a place for sink {sink!r}, got {got}", hint=_PLACES)
