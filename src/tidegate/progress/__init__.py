"""Progress tracking: which times may still appear at which location of a dataflow.

The definitions are those of "Verified Progress Tracking for Timely Dataflow" by Brun, Decova, Lattuada and Traytel.
"""

from tidegate.progress.errors import CycleDoesNotAdvance, NotComposable, NotMonotone, SelfEdge, UnknownLocation
from tidegate.progress.graph import Graph, Location, Pointstamp
from tidegate.progress.scope import Enter, Leave
from tidegate.progress.summary import Summary

__all__ = [
    "CycleDoesNotAdvance",
    "Enter",
    "Graph",
    "Leave",
    "Location",
    "NotComposable",
    "NotMonotone",
    "Pointstamp",
    "SelfEdge",
    "Summary",
    "UnknownLocation",
]
