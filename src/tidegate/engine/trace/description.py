"""The description of a flow in its checkpoint: how it is drawn, and what its progress depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.engine.outputs import Output
from tidegate.engine.shape import shape_of
from tidegate.flow.explain.describe import describe, kept_text, later, verb_of, warnings_of
from tidegate.flow.plan import Plan, PlanOperator, Source, Table

__all__ = ["FORMAT", "described"]

#: The format of a description. Others are not read: the page then shows only what the commit has.
FORMAT = 1


def described(
    flow: Plan,
    given: Plan,
    *,
    engine: str,
    state: Mapping[str, str],
    asides: Mapping[str, str],
    outputs: Mapping[str, Output],
) -> dict[str, Any]:
    """Return the description of a flow, as JSON.

    ``flow`` is what the engine runs, ``given`` what the user wrote. ``state`` has the key of each operator's state, and
    ``asides`` the directories of rows that are set aside, by source or operator.
    """
    return {
        "format": FORMAT,
        "flow": given.name,
        "engine": engine,
        "timezone": given.timezone,
        "shape": shape_of(flow).to_json(),
        "operators": [_operator(given, operator) for operator in given],
        "sinks": [
            {"name": sink.name, "input": sink.input, "output": _place_of(outputs[sink.name])} for sink in given.sinks
        ],
        "state": {key: id_ for id_, key in state.items()},
        "asides": dict(asides),
        "warnings": [[w.operator, w.what, w.hint] for w in warnings_of(given)],
    }


def _operator(flow: Plan, operator: PlanOperator) -> dict[str, Any]:
    return {
        "id": operator.id,
        "verb": verb_of(operator),
        "kind": operator.verb if isinstance(operator, Source | Table) else "operator",
        "inputs": list(operator.inputs),
        "lines": describe(flow, operator),
        "holds": kept_text(flow, operator),
        "later": later(flow, operator),
        "columns": str(operator.schema),
    }


def _place_of(output: Output) -> str:
    """Return where results go: a directory, or only the kind of output, since the rest may be secret."""
    return output.directory if output.directory is not None else type(output).__name__.lower()
