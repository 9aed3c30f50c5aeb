"""Times whose values are ordered by something else than their size: finite orders, and sums of two."""

from __future__ import annotations

from tidegate.flow.orders.coordinates import Coordinates, PosetCoordinates, SumCoordinates
from tidegate.flow.orders.ordered import NOT_IN_ORDER, Ordered, ordered, ordered_schema

__all__ = [
    "NOT_IN_ORDER",
    "Coordinates",
    "Ordered",
    "PosetCoordinates",
    "SumCoordinates",
    "ordered",
    "ordered_schema",
]
