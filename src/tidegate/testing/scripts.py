"""Writes a trial as a Python script that runs without pytest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from tidegate.testing.code_writer import importable
from tidegate.testing.engines import SourceInput
from tidegate.testing.flow_code import flow_code
from tidegate.testing.recording import Asked, Clocked, Finished, Op, Recording, Restarted, Stepped
from tidegate.time import Bound, Inl, Inr

__all__ = ["literal", "script"]


def script(recording: Recording, *, title: str = "") -> str:
    """Return a recording as a script. ``title`` is a comment at its beginning."""
    head, build = _flow(recording)
    calls = [line for op in _shortened(recording.ops) for line in _call(op)]
    lines = [f"# {line}" for line in title.splitlines()]
    lines += [*head, "import tidegate.testing as tt", "", *build, "", _trial(recording), *calls]
    return "\n".join(lines) + "\n"


def _flow(recording: Recording) -> tuple[list[str], list[str]]:
    """Return the imports and the lines that build the flow: written from its plan, or a call of its factory."""
    plan = recording.setting.plan
    code = flow_code(plan)
    if code is not None and not code.opaque:
        return sorted(code.imports), code.lines
    found = importable(recording.factory) if recording.factory is not None else None
    if found:
        module, name = found
        return ["import tidegate as tg", f"from {module} import {name.partition('.')[0]}"], [f"flow = {name}()"]
    if code is not None:
        return sorted(code.imports), code.lines
    described = [f"# {line}" for line in str(plan).splitlines()]
    return ["import tidegate as tg"], [*described, "flow = ...  # this flow cannot be written as code: build it here"]


def _trial(recording: Recording) -> str:
    setting = recording.setting
    given = ["flow", repr(recording.engine.name)]
    if setting.tables:
        tables = {name: [_row(row) for row in rows] for name, rows in setting.tables.items()}
        given.append(f"tables={_mapping({n: _list(rows) for n, rows in tables.items()})}")
    if setting.declared:
        given.append('watermarks="declared"')
        given.append(f"now={literal(setting.now)}")
    if setting.clocks:
        given.append(f"clocks={_mapping({n: f'tg.{clock!r}' for n, clock in setting.clocks.items()})}")
    return f"test = tt.trial({', '.join(given)})"


def _shortened(ops: Sequence[Op]) -> list[Op]:
    """Return the calls without questions that are asked again later. All ``expect`` are kept."""
    last = {(op.what, op.name): i for i, op in enumerate(ops) if isinstance(op, Asked)}
    return [
        op
        for i, op in enumerate(ops)
        if not isinstance(op, Asked) or op.what == "expect" or last[op.what, op.name] == i
    ]


def _call(op: Op) -> list[str]:
    match op:
        case Stepped(given=given, partitions=partitions):
            return [_step(given, partitions)]
        case Clocked(now=now):
            return [f"test.clock({literal(now)})"]
        case Restarted():
            return ["test.restart()"]
        case Finished():
            return ["test.finish()"]
        case Asked(what="expect", name=name, wanted=wanted):
            rows = [_mapping({n: literal(v) for n, v in row.items()}) for row in wanted or ()]
            return [f"test.expect({name!r}, {_list(rows)})"]
        case Asked(what=what, name=name):
            return [f"print(test.{what}({name!r}))"]
    return []


def _step(given: Mapping[str, SourceInput], partitions: int) -> str:
    if len(given) == 1 and partitions == 1:
        ((name, came),) = given.items()
        if not came.rows and len(came.complete) == 1:
            return f"test.advance({name!r}, {literal(came.complete[0])})"
        return f"test.send({', '.join([repr(name), *_events(came)])})"
    option = f", partitions={partitions}" if partitions > 1 else ""
    return f"test.step({_mapping({name: _list(_events(came)) for name, came in given.items()})}{option})"


def _events(came: SourceInput) -> list[str]:
    return [*map(_row, came.rows), *(f"tg.WM({literal(t)})" for t in came.complete)]


def _row(row: Mapping[str, Any]) -> str:
    """Return the code of a row, without columns that are NULL."""
    return _mapping({name: literal(value) for name, value in row.items() if value is not None})


def _mapping(given: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name!r}: {text}" for name, text in given.items()) + "}"


def _list(given: Sequence[str]) -> str:
    """Return the code of a list, on several lines if it is long."""
    line = f"[{', '.join(given)}]"
    return line if len(line) < 100 else "[\n" + "".join(f"    {item},\n" for item in given) + "]"


def literal(value: Any) -> str:
    """Return the code of a value, with instants and dates as texts.

    >>> from datetime import datetime
    >>> literal({"start": datetime(2026, 1, 1), "x": [None, float("nan")]})
    "{'start': '2026-01-01 00:00:00', 'x': [None, float('nan')]}"
    """
    if isinstance(value, Bound):
        return f"tg.{value.name}"
    if isinstance(value, Inl | Inr):
        return f"({'left' if isinstance(value, Inl) else 'right'!r}, {literal(value.t)})"
    if isinstance(value, date):
        return repr(str(value))
    if isinstance(value, Decimal):
        return repr(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k!r}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)
