"""The plan of a flow: its operators and sinks as plain data. Operators refer to their inputs by name.

A plan can be printed, compared and rewritten: a rewrite is a function from plan to plan. Every operator has a
`Plan.fingerprint`. It depends on what the operator and those before it do. It does not depend on names, on operators
that come after it, or on the watermarks of sources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tidegate.flow.errors import BadArgument, BadInput, did_you_mean, nearest
from tidegate.flow.fingerprint import content
from tidegate.flow.operators import (
    Accumulate,
    Aggregate,
    At,
    CalendarFrame,
    Carry,
    Deduplicate,
    Distinct,
    Explode,
    Gate,
    IntervalJoin,
    Iterate,
    Join,
    JoinAsof,
    Last,
    Latest,
    MapBatches,
    PlanOperator,
    Process,
    Restored,
    Select,
    SessionFrame,
    Source,
    Table,
    Top,
    Unfold,
    Union,
    Where,
    WindowAggregate,
    WindowApply,
    WindowFrame,
    WindowJoin,
    WindowTop,
)
from tidegate.flow.spans import show_span

__all__ = [
    "Accumulate",
    "Aggregate",
    "At",
    "CalendarFrame",
    "Carry",
    "Deduplicate",
    "Distinct",
    "Explode",
    "Gate",
    "IntervalJoin",
    "Iterate",
    "Join",
    "JoinAsof",
    "Last",
    "Latest",
    "MapBatches",
    "Plan",
    "PlanOperator",
    "Process",
    "Restored",
    "Select",
    "SessionFrame",
    "Sink",
    "Source",
    "Table",
    "Top",
    "Unfold",
    "Union",
    "Where",
    "WindowAggregate",
    "WindowApply",
    "WindowFrame",
    "WindowJoin",
    "WindowTop",
]


@dataclass(frozen=True, slots=True)
class Sink:
    """A result that leaves the flow under a name."""

    name: str
    input: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A flow as data: its operators, each after its inputs, and its sinks."""

    name: str
    operators: tuple[PlanOperator, ...]
    sinks: tuple[Sink, ...]
    timezone: str = "UTC"

    def __getitem__(self, id_: str) -> PlanOperator:
        for operator in self.operators:
            if operator.id == id_:
                return operator
        raise KeyError(id_)

    def __iter__(self) -> Iterator[PlanOperator]:
        return iter(self.operators)

    def inputs(self, operator: PlanOperator) -> tuple[PlanOperator, ...]:
        """Return the operators whose output an operator reads, in its order."""
        return tuple(self[id_] for id_ in operator.inputs)

    def consumers(self, id_: str) -> tuple[PlanOperator, ...]:
        """Return the operators that read the output of an operator."""
        return tuple(operator for operator in self.operators if id_ in operator.inputs)

    def upstream(self, id_: str) -> set[str]:
        """Return an operator and all that it depends on."""
        found, waiting = {id_}, [id_]
        while waiting:
            new = set(self[waiting.pop()].inputs) - found
            found |= new
            waiting += new
        return found

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources, in the order in which they were declared."""
        return tuple(operator for operator in self.operators if isinstance(operator, Source))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in the order in which they were declared."""
        return tuple(operator for operator in self.operators if isinstance(operator, Table))

    def check_sinks(self) -> None:
        """Raise if the flow has no sink: a run of it would give nothing."""
        if not self.sinks:
            raise BadArgument("expected a flow with a sink, got none", hint="flow.sink(name, stream)")

    def check_inputs(self, given: Any, what: str, example: str) -> None:
        """Raise unless each source and table is given an input; ``what`` and ``example`` say what an input is."""
        declared = [operator.id for operator in (*self.sources, *self.tables)]
        if not isinstance(given, Mapping):
            raise BadInput(
                f"expected inputs as a mapping from name to {what}, got {type(given).__name__}",
                hint="{" + ", ".join(f'"{name}": {example}' for name in declared) + "}",
            )
        unknown = [str(name) for name in given if name not in declared]
        for name in declared:
            if name not in given:
                near = nearest(name, unknown)
                hint = f"is it {near!r}?" if near else f"declared are {', '.join(declared)}"
                raise BadInput(f"expected an input for {name!r}, got none", hint=hint)
        for name in unknown:
            hint = did_you_mean(name, declared, otherwise=f"declared are {', '.join(declared)}")
            raise BadInput(f"got an input {name!r} that the flow has no source or table for", hint=hint)

    def fingerprint(self, id_: str) -> str:
        """Return the fingerprint of an operator: what it does and what comes before it, in 16 hexadecimal digits."""
        return self.fingerprints()[id_]

    def fingerprints(self, origins: Mapping[str, str] | None = None, *, exact: bool = False) -> dict[str, str]:
        """Return the fingerprints of all operators.

        ``origins`` maps sources and tables that were renamed to their first names. With ``exact``, two functions with
        the same name have different fingerprints; these are valid in this process only.
        """
        found: dict[str, str] = {}
        for operator in self.operators:
            named = (origins or {}).get(operator.id, operator.id)
            origin = named if isinstance(operator, Source | Table) else ""
            own = content(operator, exact=exact)
            text = json.dumps([operator.verb, origin, own, [found[i] for i in operator.inputs]], sort_keys=True)
            found[operator.id] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return found

    def text(self, id_: str) -> str:
        """Return an operator, with all that comes before it, on one line.

        >>> from tidegate.flow import Flow
        >>> flow = Flow("edits")
        >>> edits = flow.source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts")
        >>> flow.sink("out", edits.where("bytes > 100").aggregate(by="page", n="count(*)"))
        >>> flow.plan.text("aggregate#1")
        'edits.where(condition=bytes > 100).aggregate(aggregation=count(*) AS n by page)'
        """
        operator = self[id_]
        if not operator.inputs:
            return operator.id
        first, *others = (self.text(name) for name in operator.inputs)
        hidden = (*_PRINTED_ELSEWHERE, *_DERIVED)
        own = [(f.name, getattr(operator, f.name)) for f in fields(operator) if f.name not in hidden]
        shown = [(name, value) for name, value in own if value is not False and value not in (None, (), "")]
        given = [*others, *(f"{name}={self._field_text(operator, name, value)}" for name, value in shown)]
        return f"{first}.{operator.verb}({', '.join(given)})"

    def __str__(self) -> str:
        lines = [f"flow {self.name}"]
        for operator in self.operators:
            own = {
                f.name: getattr(operator, f.name)
                for f in fields(operator)
                if f.name not in (*_PRINTED_ELSEWHERE, "bounds")
            }
            # An empty ``over`` means all time columns.
            given = {n: v for n, v in own.items() if v or not (n in ("was", "forget") or (n == "over" and v == ""))}
            arguments = [
                *operator.inputs,
                *(f"{n}={self._field_text(operator, n, value)}" for n, value in given.items()),
            ]
            lines.append(f"  {operator.id} = {operator.verb}({', '.join(arguments)}) -> {operator.schema}")
        lines += [f"  sink {sink.name} = {sink.input}" for sink in self.sinks]
        return "\n".join(lines)

    def _field_text(self, operator: PlanOperator, name: str, value: Any) -> str:
        """Return a field of an operator as text for users, with lengths of time in words."""
        times = operator.schema.time
        if isinstance(value, WindowFrame | SessionFrame):
            return value.shown(self[operator.inputs[0]].schema[value.over].type or "", over=len(times) > 1)
        if name in _SPANS and isinstance(value, int):
            return show_span(value, operator.schema[getattr(operator, "over", None) or times[0]].type or "")
        if name == "every" and isinstance(value, tuple):
            return (
                ", ".join(f"{show_span(n, operator.schema[column].type or '')} of {column}" for column, n in value)
                or "[]"
            )
        return _shown(value)


#: Fields that are lengths of time, in units.
_SPANS = ("within", "forget", "lower", "upper")

#: Fields that a printed operator shows outside of its arguments.
_PRINTED_ELSEWHERE = ("id", "inputs", "schema")

#: Fields that follow from the others, and from the inputs.
_DERIVED = ("left_columns", "right_columns", "with_table", "keyed", "columns", "rules", "shifts", "bounds")


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return str(getattr(value, "__qualname__", value))
