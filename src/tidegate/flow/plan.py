"""The plan of a flow: plain data, operators that point at their inputs by name, and sinks.

A plan can be printed, compared and rewritten: a rewrite is a function from plan to plan. Every operator has a
`Plan.fingerprint` that depends on its meaning and on nothing else: not on its name, on what comes after it, or on the
watermarks of its sources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from tidegate.flow.operators import (
    Accumulate,
    Aggregate,
    Deduplicate,
    Distinct,
    Explode,
    Gate,
    Iterate,
    Join,
    JoinAsof,
    MapBatches,
    Operator,
    Process,
    Select,
    SessionFrame,
    Source,
    Table,
    Unfold,
    Union,
    Where,
    WindowAggregate,
    WindowApply,
    WindowFrame,
    WindowJoin,
)
from tidegate.flow.schema import Schema

__all__ = [
    "Accumulate",
    "Aggregate",
    "Deduplicate",
    "Distinct",
    "Explode",
    "Gate",
    "Iterate",
    "Join",
    "JoinAsof",
    "MapBatches",
    "Operator",
    "Plan",
    "Process",
    "Select",
    "SessionFrame",
    "Sink",
    "Source",
    "Table",
    "Unfold",
    "Union",
    "Where",
    "WindowAggregate",
    "WindowApply",
    "WindowFrame",
    "WindowJoin",
]


@dataclass(frozen=True, slots=True)
class Sink:
    """A result that leaves the flow under a name."""

    name: str
    input: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A flow as data: its operators, inputs before those that use them, and its sinks."""

    name: str
    operators: tuple[Operator, ...]
    sinks: tuple[Sink, ...]
    timezone: str = "UTC"

    def __getitem__(self, id_: str) -> Operator:
        for operator in self.operators:
            if operator.id == id_:
                return operator
        raise KeyError(id_)

    def __iter__(self) -> Iterator[Operator]:
        return iter(self.operators)

    def inputs(self, operator: Operator) -> tuple[Operator, ...]:
        """Answer the operators whose output an operator reads, in its order."""
        return tuple(self[id_] for id_ in operator.inputs)

    def consumers(self, id_: str) -> tuple[Operator, ...]:
        """Answer the operators that read the output of an operator."""
        return tuple(operator for operator in self.operators if id_ in operator.inputs)

    def upstream(self, id_: str) -> set[str]:
        """Answer an operator and all that it depends on."""
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

    def fingerprint(self, id_: str) -> str:
        """Answer the fingerprint of an operator: what it does and what comes before it, in 16 hexadecimal digits."""
        return self.fingerprints()[id_]

    def fingerprints(self) -> dict[str, str]:
        """Answer the fingerprints of all operators."""
        found: dict[str, str] = {}
        for operator in self.operators:
            content = {
                f.name: plain(getattr(operator, f.name)) for f in fields(operator) if f.name not in operator.incidental
            }
            origin = operator.id if isinstance(operator, Source | Table) else ""
            text = json.dumps([operator.verb, origin, content, [found[i] for i in operator.inputs]], sort_keys=True)
            found[operator.id] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return found

    def __str__(self) -> str:
        lines = [f"flow {self.name}"]
        for operator in self.operators:
            own = {
                f.name: getattr(operator, f.name) for f in fields(operator) if f.name not in ("id", "inputs", "schema")
            }
            arguments = [*operator.inputs, *(f"{name}={_shown(value)}" for name, value in own.items())]
            lines.append(f"  {operator.id} = {operator.verb}({', '.join(arguments)}) -> {operator.schema}")
        lines += [f"  sink {sink.name} = {sink.input}" for sink in self.sinks]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else str(value)


def plain(value: Any) -> Any:
    """Answer a value as lists, dicts and texts, the same for the same meaning in every process.

    What was derived is left out, as types are: how much can be derived may change from version to version.
    """
    if isinstance(value, Schema):
        return [[c.name, c.type] for c in value.columns] + [list(value.time)]
    if is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in fields(value) if f.name not in ("type", "columns", "branches", "relations")]
        return {"": type(value).__name__} | {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return f"{type(value).__module__}.{type(value).__qualname__}"
