"""What an operator can do in a simulation: receive messages and frontiers, and send with capabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.sim.capability import Capability
from tidegate.time import Antichain

__all__ = ["Message", "SimulatedOperator"]


class Message:
    """A datum that arrived at an input at a time.

    Capabilities for outputs can be taken from it while `SimulatedOperator.receive` runs, and not later.
    """

    __slots__ = ("_retain", "data", "port", "time")

    def __init__(self, port: str, time: Any, data: Any, retain: Any) -> None:
        self.port = port
        self.time = time
        self.data = data
        self._retain = retain

    def capability(self, output: str, *, at: Any = None) -> Capability:
        """Return a capability for ``output``, at the time that the message has there or at a later one, ``at``."""
        held: Capability = self._retain(output, at)
        return held

    def __repr__(self) -> str:
        return f"Message({self.port!r}, {self.time!r}, {self.data!r})"


class SimulatedOperator:
    """An operator as one worker runs it: a subclass overrides the methods that it needs.

    Every method can use capabilities. What a call did with them takes effect as a whole, when the method returns.
    """

    def start(self, held: Mapping[str, Capability]) -> None:
        """Receive the capabilities to begin with, by output. Each of them has to be dropped in the end."""

    @property
    def active(self) -> bool:
        """Whether there is something to do without a message, as in a source that has not read everything."""
        return False

    def work(self) -> None:
        """Do some of the work, if `active`."""

    def receive(self, message: Message) -> None:
        """Receive a message."""

    def proceed(self, frontiers: Mapping[str, Antichain[Any]]) -> None:
        """Receive the new frontiers of all inputs: no message below them will come any more."""
