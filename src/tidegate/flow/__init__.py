"""Flows: what users write. Sources, streams and sinks; expressions bound as they are built; the plan as data."""

from tidegate.flow.clocks import arrival, clock
from tidegate.flow.flow import Flow
from tidegate.flow.orders import ordered
from tidegate.flow.schema import Column, Schema
from tidegate.flow.stream import Stream
from tidegate.flow.timers import Timer
from tidegate.flow.watermarks import at_end, bounded, published, punctuated

__all__ = [
    "Column",
    "Flow",
    "Schema",
    "Stream",
    "Timer",
    "arrival",
    "at_end",
    "bounded",
    "clock",
    "ordered",
    "published",
    "punctuated",
]
