"""Times that are not ordered by their values: finite orders, sums of two, and lexicographic orders."""

from __future__ import annotations

from tidegate.flow.orders.coordinates import Coordinates, PosetCoordinates, SumCoordinates
from tidegate.flow.orders.lexicographic import LexicographicCoordinates
from tidegate.flow.orders.ordered import NOT_IN_ORDER, Ordered, ordered, ordered_schema

__all__ = [
    "NOT_IN_ORDER",
    "Coordinates",
    "LexicographicCoordinates",
    "Ordered",
    "PosetCoordinates",
    "SumCoordinates",
    "ordered",
    "ordered_schema",
]
