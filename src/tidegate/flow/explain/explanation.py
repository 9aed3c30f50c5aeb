"""`Explanation`: what a flow does, as text, as a Mermaid flowchart and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from tidegate.flow.explain.describe import Concern, describe, kept_text, later, new_sink_text, verb_of, warnings_of
from tidegate.flow.explain.draw import Box, Link, svg
from tidegate.flow.plan import Iterate, Plan, PlanOperator, Select, Sink, Source, Table

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a flow does. It prints as text, and is a picture in a notebook."""

    plan: Plan
    #: What may go wrong: times that are never complete, state that only grows, output that explodes.
    warnings: tuple[Concern, ...]

    def __str__(self) -> str:
        return "\n".join(_text(self))

    def __repr__(self) -> str:
        return str(self)

    def mermaid(self) -> str:
        """Return the flow as a Mermaid flowchart."""
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
        held = ",".join(names[operator.id] for operator in self.plan if kept_text(self.plan, operator))
        if held:
            lines += ["  classDef held stroke-width:3px", f"  class {held} held"]
        return "\n".join(lines)

    def svg(self, *, notes: Mapping[str, str] | None = None, small: bool = False) -> str:
        """Return the flow as SVG: sources at the top, sinks at the bottom, what each operator does and keeps.

        Operators with warnings are marked, and the warnings are written below.

        Args:
            notes: A text for some of the boxes. Keys are ids of operators; ``"sink hourly"`` is the sink ``hourly``.
            small: Show names and notes only.
        """
        warnings = () if small else tuple(f"{w.operator}: {w.what} → {w.hint}" for w in self.warnings)
        return self._drawn(notes or {}, warnings, small=small)

    def _drawn(self, notes: Mapping[str, str], warnings: tuple[str, ...], *, small: bool = False) -> str:
        boxes = [self._box(operator, notes.get(operator.id, ""), small=small) for operator in self.plan]
        boxes += [self._sink(sink, notes.get(_sink_id(sink), ""), small=small) for sink in self.plan.sinks]
        links = [self._link(given, operator, small=small) for operator in self.plan for given in operator.inputs]
        links += [Link(o.id, o.id, "round + 1") for o in self.plan if isinstance(o, Iterate)]
        links += [Link(sink.input, _sink_id(sink), "", str(self.plan[sink.input].schema)) for sink in self.plan.sinks]
        return svg(boxes, links, title=f"flow {self.plan.name}", notes=warnings)

    def _box(self, operator: PlanOperator, note: str, *, small: bool) -> Box:
        held = kept_text(self.plan, operator)
        kind = operator.verb if isinstance(operator, Source | Table) else "operator"
        verb = verb_of(operator)
        columns = str(operator.schema)
        if small:
            return Box(operator.id, (operator.id,), kind, bool(held), columns, note=note)
        return Box(
            operator.id,
            (operator.id, *_does(self.plan, operator)),
            kind,
            bool(held),
            "\n".join([columns, *describe(self.plan, operator), *(w.what for _, w in self._about(operator.id))]),
            verb="" if operator.id.rpartition("#")[0] == verb else verb,
            kept_text=held,
            time=f"time {', '.join(operator.schema.user_time)}" if kind == "source" else "",
            note=note,
            warnings=tuple(number for number, _ in self._about(operator.id)),
        )

    def _sink(self, sink: Sink, note: str, *, small: bool) -> Box:
        schema = self.plan[sink.input].schema
        lines = (sink.name,) if small else (sink.name, ", ".join(column.name for column in schema.visible))
        return Box(
            _sink_id(sink), lines, "sink", held=False, title=str(schema), verb="" if small else "sink", note=note
        )

    def _about(self, operator: str) -> list[tuple[int, Concern]]:
        """Return the warnings about an operator, each with its number among all warnings."""
        return [(number, w) for number, w in enumerate(self.warnings, start=1) if w.operator == operator]

    def _link(self, given: str, operator: PlanOperator, *, small: bool) -> Link:
        change = "" if small else later(self.plan, operator).replace("microsecond", "µs")
        schema = self.plan[given].schema
        over = getattr(getattr(operator, "frame", None), "over", None) or schema.time[0] if schema.time else ""
        # A change of several time columns names them already.
        named = f"{over} {change}" if change.startswith("+") else change
        return Link(given, operator.id, named if schema.time else "", str(schema))

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li><b>{escape(w.operator)}</b>: {escape(w.what)} → <i>{escape(w.hint)}</i></li>" for w in self.warnings
        )
        return f'<div style="overflow-x:auto">{self._drawn({}, ())}</div>' + (f"<ol>{items}</ol>" if items else "")


def explain(plan: Plan) -> Explanation:
    """Return the explanation of a plan."""
    return Explanation(plan, tuple(warnings_of(plan)))


def _mermaid_text(text: str) -> str:
    # In Mermaid, # begins a character code.
    return escape(text.replace("#", "\0"), quote=False).replace('"', "#quot;").replace("\0", "#35;")


def _sink_id(sink: Sink) -> str:
    return f"sink {sink.name}"


def _does(plan: Plan, operator: PlanOperator) -> list[str]:
    """Return the lines in the box of an operator: what it does; of sources and tables also the columns.

    A select that computes nothing shows its columns, since there is nothing else to show.
    """
    lines = describe(plan, operator)
    if isinstance(operator, Select) and not lines:
        return [", ".join(column.name for column in operator.schema.visible)]
    if not isinstance(operator, Source | Table):
        return lines
    columns = ", ".join(f"{column.name} {column.type}" for column in operator.schema.visible)
    return [columns, *(lines[:1] if len(operator.schema.user_time) == 1 and not operator.schema.ordered else lines)]


def _label(plan: Plan, operator: PlanOperator) -> tuple[str, ...]:
    held = kept_text(plan, operator)
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
        if held := kept_text(plan, operator):
            lines.append(f"{indent}holds {held}")
        if change := later(plan, operator):
            lines.append(f"{indent}time {change}")
        lines.append("")
    for sink in plan.sinks:
        lines.append(f"  {sink.name:<{width}}sink ← {sink.input}")
        lines.append(f"{indent}{new_sink_text(plan, sink)}")
    for warning in explanation.warnings:
        lines += ["", f"  ! {warning.operator}: {warning.what}", f"    {warning.hint}"]
    return lines
