"""The shape of a flow: what its progress depends on, small enough to be written beside the commits of a run.

With the shape, and the frontiers of the sources from a commit, the frontier of every operator can be computed without
the flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.engine.orders import coordinates_in, orders_of, parts_of_orders, sides_of_orders
from tidegate.flow.plan import At, Iterate, Plan, PlanOperator, Restored
from tidegate.flow.schema import Column, Schema

__all__ = ["Shape", "Stage", "shape_of"]


@dataclass(frozen=True, slots=True)
class Stage:
    """What progress needs of an operator: the stages that it reads, its time columns, and what it does to times."""

    id: str
    inputs: tuple[str, ...]
    #: Its time columns only.
    schema: Schema
    #: By how many units it moves each time column, if it moves all rows by the same.
    shifts: tuple[int, ...] = ()
    #: Whether it is a loop. Times inside of it have the round as one more component.
    loop: bool = False
    #: Whether an engine has added it, so that the user does not know it.
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The stages of a flow, each after those that it reads, and the stage that each sink reads."""

    stages: tuple[Stage, ...]
    sinks: Mapping[str, str]
    #: The orders that are not those of values, by source, as in commits.
    orders: Mapping[str, Any]

    def __getitem__(self, id_: str) -> Stage:
        for stage in self.stages:
            if stage.id == id_:
                return stage
        raise KeyError(id_)

    def schema_of_sink(self, name: str) -> Schema:
        """Return the time columns of a sink."""
        return self[self.sinks[name]].schema

    def to_json(self) -> dict[str, Any]:
        """Return the shape as JSON. Keys of a stage whose value is its default are left out."""
        ordered = {s.id: s.schema.coordinates for s in self.stages if not s.inputs and s.schema.coordinates}

        def stage_to_json(stage: Stage) -> dict[str, Any]:
            at = stage.schema.coordinates
            found: dict[str, Any] = {
                "id": stage.id,
                "inputs": list(stage.inputs),
                "time": _user_columns(stage.schema),
                # All sources with one order have the same points.
                "order": next((name for name, other in ordered.items() if other == at), None) if at else None,
            }
            more = {"shifts": list(stage.shifts), "loop": stage.loop, "hidden": stage.hidden}
            return found | {key: value for key, value in more.items() if value}

        return {"stages": list(map(stage_to_json, self.stages)), "sinks": dict(self.sinks), "orders": dict(self.orders)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Shape:
        """Return the shape from JSON."""
        known: dict[str, Schema] = {}

        def schema(stage: Mapping[str, Any]) -> Schema:
            columns = tuple(Column(name, type_) for name, type_ in stage["time"])
            source = stage["order"]
            if source is None:
                return Schema(columns, tuple(column.name for column in columns))
            if source not in known:
                at = coordinates_in(source, columns, found["orders"])
                if at is None:
                    raise ValueError(f"there is no order of {source}")
                known[source] = Schema(at.columns, at.names, at)
            return known[source]

        stages = tuple(
            Stage(
                stage["id"],
                tuple(stage["inputs"]),
                schema(stage),
                tuple(stage.get("shifts", ())),
                stage.get("loop", False),
                stage.get("hidden", False),
            )
            for stage in found["stages"]
        )
        return cls(stages, dict(found["sinks"]), dict(found["orders"]))


def shape_of(flow: Plan) -> Shape:
    """Return the shape of a flow, as an engine runs it."""
    stages = tuple(_stage(flow, operator) for operator in flow if operator.schema.time)
    more = {"orders": orders_of(flow), "lexicographic": parts_of_orders(flow), "sums": sides_of_orders(flow)}
    return Shape(stages, {sink.name: sink.input for sink in flow.sinks}, {k: v for k, v in more.items() if v})


def _stage(flow: Plan, operator: PlanOperator) -> Stage:
    schema = operator.schema
    return Stage(
        operator.id,
        tuple(given.id for given in flow.inputs(operator) if given.schema.time),
        Schema(schema.times, schema.time, schema.ordering),
        # If the new time depends on more than the old one, it is only known that it is not earlier.
        tuple(n or 0 for n in operator.shifts) if isinstance(operator, At) else (),
        isinstance(operator, Iterate),
        isinstance(operator, Restored),
    )


def _user_columns(schema: Schema) -> list[list[str | None]]:
    columns = schema.coordinates.user if schema.coordinates else schema.times
    return [[column.name, column.type] for column in columns]
