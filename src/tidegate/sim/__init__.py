"""Simulation: a dataflow on several workers, under schedules that an adversary chooses and that can be replayed."""

from tidegate.sim.actions import Schedule
from tidegate.sim.capability import Capability
from tidegate.sim.dataflow import Dataflow
from tidegate.sim.errors import BrokenFrontier, InvariantViolated, NotEnabled, Unfinished
from tidegate.sim.operator import Message, SimulatedOperator
from tidegate.sim.scheduler import Adversary
from tidegate.sim.shrink import shrink
from tidegate.sim.simulation import Simulation

__all__ = [
    "Adversary",
    "BrokenFrontier",
    "Capability",
    "Dataflow",
    "InvariantViolated",
    "Message",
    "NotEnabled",
    "Schedule",
    "SimulatedOperator",
    "Simulation",
    "Unfinished",
    "shrink",
]
