"""Tidegate: time-aware stream processing whose answers are final."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate import errors, graph, testing
    from tidegate.engine.outputs import (
        Output,
        Sender,
        console,
        delta,
        foreach,
        foreach_batch,
        memory,
        parquet,
        postgres,
    )
    from tidegate.engine.runs import Run
    from tidegate.flow import Flow, Stream, Timer, arrival, at_end, bounded, clock, ordered, published, punctuated
    from tidegate.flow.reading import read, read_stream
    from tidegate.local_engine.session import local
    from tidegate.local_engine.streaming.feeds.files import files
    from tidegate.spec import DT, WM
    from tidegate.time import TOP

__all__ = [
    "DT",
    "TOP",
    "WM",
    "Flow",
    "Output",
    "Run",
    "Sender",
    "Stream",
    "TidegateError",
    "Timer",
    "__version__",
    "arrival",
    "at_end",
    "bounded",
    "clock",
    "console",
    "delta",
    "errors",
    "files",
    "foreach",
    "foreach_batch",
    "graph",
    "local",
    "memory",
    "ordered",
    "parquet",
    "postgres",
    "published",
    "punctuated",
    "read",
    "read_stream",
    "testing",
]

__version__ = "0.1.0"

#: Where each public name lives; it is imported when it is first used, so that nobody pays for what they do not use.
_HOMES = {
    "DT": "tidegate.spec",
    "TOP": "tidegate.time",
    "WM": "tidegate.spec",
    "Flow": "tidegate.flow",
    "Stream": "tidegate.flow",
    "Timer": "tidegate.flow",
    "arrival": "tidegate.flow",
    "at_end": "tidegate.flow",
    "bounded": "tidegate.flow",
    "clock": "tidegate.flow",
    "ordered": "tidegate.flow",
    "published": "tidegate.flow",
    "punctuated": "tidegate.flow",
    "Output": "tidegate.engine.outputs",
    "Run": "tidegate.engine.runs",
    "Sender": "tidegate.engine.outputs",
    "console": "tidegate.engine.outputs",
    "delta": "tidegate.engine.outputs",
    "files": "tidegate.local_engine.streaming.feeds.files",
    "foreach": "tidegate.engine.outputs",
    "foreach_batch": "tidegate.engine.outputs",
    "local": "tidegate.local_engine.session",
    "memory": "tidegate.engine.outputs",
    "parquet": "tidegate.engine.outputs",
    "postgres": "tidegate.engine.outputs",
    "read": "tidegate.flow.reading",
    "read_stream": "tidegate.flow.reading",
}


def __getattr__(name: str) -> Any:
    if name in ("graph", "testing"):
        return import_module(f"tidegate.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
