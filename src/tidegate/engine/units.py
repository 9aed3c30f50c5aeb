"""Time columns as whole units since the epoch, in Spark SQL. A unit is 1, a day, or a microsecond."""

from __future__ import annotations

from tidegate.flow.schema import Schema
from tidegate.flow.sqltypes import quoted
from tidegate.flow.units import from_units, number, to_units

__all__ = ["from_units", "number", "to_units", "units_of"]


def units_of(schema: Schema, name: str) -> str:
    """Return SQL for a time column in units since the epoch."""
    return to_units(quoted(name), schema[name].type or "")
