"""Code that is being written: names of streams, spans in words, and where functions of users are imported from."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.plan import Plan, PlanOperator
from tidegate.flow.schema import Schema
from tidegate.flow.spans import show_span
from tidegate.spec import Operator

__all__ = ["CodeWriter", "FlowCode", "importable"]


@dataclass(slots=True)
class FlowCode:
    """The lines that build a flow, what they import, and what could not be written: functions that only a test has."""

    lines: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    opaque: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines after their imports."""
        return "\n".join([*sorted(self.imports), "", *self.lines])


class CodeWriter:
    """What operators need to be written: names of streams, columns of inputs, and where functions come from."""

    def __init__(self, plan: Plan, code: FlowCode) -> None:
        self.plan = plan
        self.code = code
        self._names: dict[str, str] = {}

    def name(self, id_: str) -> str:
        """Return the name of the variable of a stream."""
        if id_ not in self._names:
            plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in id_).strip("_") or "stream"
            plain = (
                f"s_{plain}"
                if not plain[0].isalpha() or iskeyword(plain) or plain in ("flow", "tg", "tt", "test")
                else plain
            )
            while plain in self._names.values():
                plain += "_"
            self._names[id_] = plain
        return self._names[id_]

    def first(self, operator: PlanOperator) -> str:
        """Return the stream that an operator is called on."""
        return self.name(operator.inputs[0])

    def others(self, operator: PlanOperator) -> list[str]:
        """Return the other streams that it takes."""
        return [self.name(id_) for id_ in operator.inputs[1:]]

    def schema(self, operator: PlanOperator) -> Schema:
        """Return the columns of the stream that it is called on."""
        return self.plan[operator.inputs[0]].schema

    def span(self, count: int | None, operator: PlanOperator, over: str | None = None) -> Any:
        """Return so many units of a time column as a user writes them."""
        if count is None:
            return None
        schema = self.schema(operator)
        type_ = schema[over or schema.time[0]].type or ""
        return count if type_ in sqltypes.INTEGERS else show_span(count, type_)

    def over(self, operator: PlanOperator, over: str | None) -> str | None:
        """Return the time column to be named, if there are several."""
        return over if over and len(self.schema(operator).time) > 1 else None

    def value(self, value: Any, hint: str) -> str:
        """Return an expression for a function or an operator of the user's own."""
        if found := importable(value):
            module, name = found
            self.code.imports.add(f"from {module} import {name.partition('.')[0]}")
            return name
        kind = type(value)
        if isinstance(value, Operator) and (found := importable(kind)) and _is_call(repr(value), kind):
            self.code.imports.add(f"from {found[0]} import {found[1].partition('.')[0]}")
            return repr(value)
        name = f"{hint}_{len(self.code.opaque) + 1}"
        what = getattr(value, "__qualname__", repr(value))
        self.code.opaque.append(str(what))
        self.code.lines.append(f"{name} = ...  # {what}, as the test has it: it cannot be imported, put it here")
        return name


def importable(value: Any) -> tuple[str, str] | None:
    """Return the module and the name that something can be imported by; None if there are none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    found: Any = sys.modules.get(module or "")
    if found is None or not isinstance(name, str) or "<" in name or module == "__main__":
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return (str(module), name) if found is value else None


def _is_call(text: str, kind: type) -> bool:
    return text == f"{kind.__name__}()" and not vars_of(kind)


def vars_of(kind: type) -> list[str]:
    """Return the fields that an instance of a class is told apart by."""
    return list(getattr(kind, "__dataclass_fields__", ()))
