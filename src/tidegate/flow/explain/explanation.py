"""`Explanation`: what there is to say about a plan, and the forms in which it is said."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tidegate.flow.explain.describe import Concern, describe, holds, later, verb_of, warnings_of
from tidegate.flow.explain.draw import Box, Link, svg
from tidegate.flow.plan import Iterate, Operator, Plan, Sink, Source, Table

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a plan does. It prints as text, and draws itself in a notebook."""

    plan: Plan
    #: What may go wrong: times that never complete, state without bound, output that explodes.
    warnings: tuple[Concern, ...]

    def __str__(self) -> str:
        return "\n".join(_text(self))

    def __repr__(self) -> str:
        return str(self)

    def mermaid(self) -> str:
        """Return the plan as a Mermaid flowchart."""
        names = {operator.id: f"o{i}" for i, operator in enumerate(self.plan)}
        lines = ["flowchart TD"]
        for operator in self.plan:
            opening, closing = (
                ("[(", ")]")
                if isinstance(operator, Table)
                else ("([", "])")
                if isinstance(operator, Source)
                else ("[", "]")
            )
            label = "<br/>".join(_mermaid_text(line) for line in _label(self.plan, operator))
            lines.append(f'  {names[operator.id]}{opening}"{label}"{closing}')
        for i, sink in enumerate(self.plan.sinks):
            lines.append(f'  s{i}[/"{_mermaid_text(sink.name)}"/]')
        for operator in self.plan:
            for input_ in operator.inputs:
                change = later(self.plan, operator)
                arrow = f'-->|"{_mermaid_text(change)}"|' if change else "-->"
                lines.append(f"  {names[input_]} {arrow} {names[operator.id]}")
            if isinstance(operator, Iterate):
                lines.append(f'  {names[operator.id]} -->|"round + 1"| {names[operator.id]}')
        lines += [f"  {names[sink.input]} --> s{i}" for i, sink in enumerate(self.plan.sinks)]
        held = ",".join(names[operator.id] for operator in self.plan if holds(self.plan, operator))
        if held:
            lines += ["  classDef held stroke-width:3px", f"  class {held} held"]
        return "\n".join(lines)

    def svg(self) -> str:
        """Return the plan as a picture: operators in layers, those that hold rows with a thick border."""
        boxes = [Box(o.id, _label(self.plan, o), _kind(o), bool(holds(self.plan, o)), str(o.schema)) for o in self.plan]
        boxes += [Box(_sink_id(sink), (sink.name, "sink"), "sink", held=False, title="") for sink in self.plan.sinks]
        links = [Link(i, o.id, later(self.plan, o)) for o in self.plan for i in o.inputs]
        links += [Link(sink.input, _sink_id(sink), "") for sink in self.plan.sinks]
        return svg(boxes, links, title=f"flow {self.plan.name}")

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li><b>{escape(w.operator)}</b>: {escape(w.what)} <i>{escape(w.hint)}</i></li>" for w in self.warnings
        )
        return self.svg() + (f"<ul>{items}</ul>" if items else "")


def explain(plan: Plan) -> Explanation:
    """Explain a plan."""
    return Explanation(plan, tuple(warnings_of(plan)))


def _mermaid_text(text: str) -> str:
    # A number sign begins a character code there.
    return escape(text.replace("#", "\0"), quote=False).replace('"', "#quot;").replace("\0", "#35;")


def _sink_id(sink: Sink) -> str:
    return f"sink {sink.name}"


def _kind(operator: Operator) -> str:
    if isinstance(operator, Source | Table):
        return operator.verb
    return "operator"


def _label(plan: Plan, operator: Operator) -> tuple[str, ...]:
    held = holds(plan, operator)
    return (operator.id, *describe(plan, operator), *([f"holds {held}"] if held else []))


def _text(explanation: Explanation) -> list[str]:
    plan = explanation.plan
    lines = [f"flow {plan.name}", ""]
    width = max([len(operator.id) for operator in plan] + [len(sink.name) for sink in plan.sinks], default=0) + 2
    indent = " " * (width + 2)
    for operator in plan:
        origin = f" ← {', '.join(operator.inputs)}" if operator.inputs else ""
        lines.append(f"  {operator.id:<{width}}{verb_of(operator)}{origin}")
        lines += [f"{indent}{line}" for line in describe(plan, operator)]
        lines.append(f"{indent}columns {operator.schema}")
        if held := holds(plan, operator):
            lines.append(f"{indent}holds {held}")
        if change := later(plan, operator):
            lines.append(f"{indent}time {change}")
        lines.append("")
    lines += [f"  {sink.name:<{width}}sink ← {sink.input}" for sink in plan.sinks]
    for warning in explanation.warnings:
        lines += ["", f"  ! {warning.operator}: {warning.what}", f"    {warning.hint}"]
    return lines
