"""Writes Python code that builds a plan. The code is run, and its plan is compared with the original."""

from __future__ import annotations

from typing import Any

from tidegate.flow.errors import NotSupported
from tidegate.flow.plan import Plan
from tidegate.testing.code_writer import CodeWriter, FlowCode
from tidegate.testing.operator_code import call_code

__all__ = ["flow_code"]


def flow_code(plan: Plan) -> FlowCode | None:
    """Return code that builds a plan, or None if we can't write code that builds the same.

    Functions and operators of users are imported. Those that can't be imported are listed as ``opaque``, and the code
    has a line for each, to be filled in.
    """
    code = FlowCode(imports={"import tidegate as tg"})
    zone = f", timezone={plan.timezone!r}" if plan.timezone != "UTC" else ""
    code.lines.append(f"flow = tg.Flow({plan.name!r}{zone})")
    writer = CodeWriter(plan, code)
    try:
        for operator in plan:
            code.lines.append(f"{writer.name(operator.id)} = {call_code(operator, writer)}")
    except NotSupported:
        return None
    code.lines += [f"flow.sink({sink.name!r}, {writer.name(sink.input)})" for sink in plan.sinks]
    return code if code.opaque or _builds(code, plan) else None


def _builds(code: FlowCode, plan: Plan) -> bool:
    """Whether the code builds the same plan: the same operators before each sink, and the same sources."""
    built: dict[str, Any] = {}
    try:
        exec(code.text, built)
        found: Plan = built["flow"].plan
        alike = [
            (p.fingerprint(s.input), s.name) for p in (plan, found) for s in sorted(p.sinks, key=lambda sink: sink.name)
        ]
        half = len(alike) // 2
        return alike[:half] == alike[half:] and {s.id: s for s in plan.sources} == {s.id: s for s in found.sources}
    except Exception:
        # Code that fails does not build the same plan, whatever the error is.
        return False
