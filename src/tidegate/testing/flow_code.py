"""A plan as the Python that builds it; checked by building it, and comparing what comes out with the plan."""

from __future__ import annotations

from typing import Any

from tidegate.flow.plan import Plan
from tidegate.testing.code_writer import CodeWriter, FlowCode
from tidegate.testing.operator_code import NoSuchCall, call_code

__all__ = ["flow_code"]


def flow_code(plan: Plan) -> FlowCode | None:
    """Return the code that builds a plan, or None if there is none that builds the same.

    Functions and operators of the user's own are imported from where they are; those that are nowhere to be imported
    from are listed as ``opaque``, and have a line to be filled in.
    """
    code = FlowCode(imports={"import tidegate as tg"})
    zone = f", timezone={plan.timezone!r}" if plan.timezone != "UTC" else ""
    code.lines.append(f"flow = tg.Flow({plan.name!r}{zone})")
    writer = CodeWriter(plan, code)
    try:
        for operator in plan:
            code.lines.append(f"{writer.name(operator.id)} = {call_code(operator, writer)}")
    except NoSuchCall:
        return None
    code.lines += [f"flow.sink({sink.name!r}, {writer.name(sink.input)})" for sink in plan.sinks]
    return code if code.opaque or _builds(code, plan) else None


def _builds(code: FlowCode, plan: Plan) -> bool:
    """Whether the code builds the same: the same operators before each sink, and the same sources."""
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
        # Whatever is wrong with it, it is not what the test has.
        return False
