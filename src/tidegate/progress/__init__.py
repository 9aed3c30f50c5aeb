"""Progress tracking: which times may still appear at which location of a dataflow.

The definitions are those of "Verified Progress Tracking for Timely Dataflow" by Brun, Decova, Lattuada and Traytel.
"""

from tidegate.progress.errors import (
    CycleDoesNotAdvance,
    NegativeCount,
    NotComposable,
    NotMonotone,
    SelfEdge,
    UnknownLocation,
)
from tidegate.progress.graph import Graph, Location, Pointstamp
from tidegate.progress.live import Progress
from tidegate.progress.scope import Enter, Leave
from tidegate.progress.summary import Summary
from tidegate.progress.why import Reason

__all__ = [
    "CycleDoesNotAdvance",
    "Enter",
    "Graph",
    "Leave",
    "Location",
    "NegativeCount",
    "NotComposable",
    "NotMonotone",
    "Pointstamp",
    "Progress",
    "Reason",
    "SelfEdge",
    "Summary",
    "UnknownLocation",
]
