"""Simulation: a dataflow on several workers, under schedules that an adversary chooses and that can be replayed."""

from tidegate.sim.actions import Schedule
from tidegate.sim.capability import Capability
from tidegate.sim.dataflow import Dataflow
from tidegate.sim.errors import (
    BelowCapability,
    BrokenFrontier,
    DroppedCapability,
    InvariantViolated,
    NotAName,
    NotASchedule,
    NotEnabled,
    NotRunning,
    PortInUse,
    Unfinished,
    UnknownPort,
)
from tidegate.sim.operator import Message, Operator
from tidegate.sim.scheduler import Adversary
from tidegate.sim.shrink import shrink
from tidegate.sim.simulation import Simulation

__all__ = [
    "Adversary",
    "BelowCapability",
    "BrokenFrontier",
    "Capability",
    "Dataflow",
    "DroppedCapability",
    "InvariantViolated",
    "Message",
    "NotAName",
    "NotASchedule",
    "NotEnabled",
    "NotRunning",
    "Operator",
    "PortInUse",
    "Schedule",
    "Simulation",
    "Unfinished",
    "UnknownPort",
    "shrink",
]
