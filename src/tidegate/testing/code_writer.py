"""The parts of the code that builds a flow: names of variables, spans as texts, and imports of users' functions."""

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
    """The lines that build a flow, their imports, and ``opaque``: the functions that can't be imported."""

    lines: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    opaque: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole code, beginning with the imports."""
        return "\n".join([*sorted(self.imports), "", *self.lines])


class CodeWriter:
    """Helps to write calls: it knows the variables of streams and their columns, and imports users' functions."""

    def __init__(self, plan: Plan, code: FlowCode) -> None:
        self.plan = plan
        self.code = code
        self._names: dict[str, str] = {}

    def name(self, id_: str) -> str:
        """Return the variable of a stream."""
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
        """Return the variable of the stream that an operator is called on."""
        return self.name(operator.inputs[0])

    def others(self, operator: PlanOperator) -> list[str]:
        """Return the variables of the other streams that an operator takes."""
        return [self.name(id_) for id_ in operator.inputs[1:]]

    def schema(self, operator: PlanOperator) -> Schema:
        """Return the columns of the stream that an operator is called on."""
        return self.plan[operator.inputs[0]].schema

    def span(self, count: int | None, operator: PlanOperator, over: str | None = None) -> Any:
        """Return ``count`` units of the time column ``over`` as users write them: 7, or '90 minutes'."""
        if count is None:
            return None
        schema = self.schema(operator)
        type_ = schema[over or schema.time[0]].type or ""
        return count if type_ in sqltypes.INTEGERS else show_span(count, type_)

    def over(self, operator: PlanOperator, over: str | None) -> str | None:
        """Return the argument ``over`` of a call; None if there is only one time column."""
        return over if over and len(self.schema(operator).time) > 1 else None

    def value(self, value: Any, hint: str) -> str:
        """Return the code of a user's function or operator, and add its import.

        If it can't be imported, add a line to be filled in. ``hint`` is the beginning of its variable.
        """
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
    """Return the module and the name to import something by; None if it can't be imported."""
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
    """Return the fields of a dataclass; empty for another class."""
    return list(getattr(kind, "__dataclass_fields__", ()))
