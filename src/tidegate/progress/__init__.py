"""Progress tracking: which times may still appear at which location of a dataflow.

The definitions are those of "Verified Progress Tracking for Timely Dataflow" by Brun, Decova, Lattuada and Traytel.
"""

from tidegate.progress.clocks import Clocks, ClocksConf
from tidegate.progress.errors import (
    BadGraph,
    Forbidden,
)
from tidegate.progress.exchange import Exchange, ExchangeConf
from tidegate.progress.graph import Graph, Location, Pointstamp
from tidegate.progress.live import Progress
from tidegate.progress.pointstamp import CouldResultIn
from tidegate.progress.propagation import Propagation, PropagationConf
from tidegate.progress.scope import Enter, Leave
from tidegate.progress.summary import Summary
from tidegate.progress.tracker import Tracker, TrackerConf
from tidegate.progress.why import Reason

__all__ = [
    "BadGraph",
    "Clocks",
    "ClocksConf",
    "CouldResultIn",
    "Enter",
    "Exchange",
    "ExchangeConf",
    "Forbidden",
    "Graph",
    "Leave",
    "Location",
    "Pointstamp",
    "Progress",
    "Propagation",
    "PropagationConf",
    "Reason",
    "Summary",
    "Tracker",
    "TrackerConf",
]
