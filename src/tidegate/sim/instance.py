"""An operator instance: what the simulator keeps of an operator on one worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from tidegate.errors import BadValue, NotFound
from tidegate.progress import Graph, Pointstamp
from tidegate.sim.capability import Capability, Ledger
from tidegate.sim.dataflow import DataflowNode
from tidegate.sim.errors import BrokenFrontier, NotEnabled
from tidegate.sim.operator import Message
from tidegate.time import Antichain

__all__ = ["OperatorInstance"]


class OperatorInstance:
    """An operator on one worker: the object that does its work, and what the simulator keeps for it.

    That is its inbox, the frontiers that it knows, and a ledger of what it did while it was called.
    """

    def __init__(self, node: DataflowNode, worker: int, workers: int, graph: Graph) -> None:
        self.node = node
        self.worker = worker
        self.graph = graph
        self.ledger = Ledger()
        #: What arrived and was not received yet, as port, time and datum.
        self.inbox: deque[tuple[str, Any, Any]] = deque()
        #: The frontiers that the operator knows; in the beginning every time may still come.
        self.known_frontiers: dict[str, Antichain[Any]] = {
            port: Antichain(node.order, node.order.bottoms()) for port in node.inputs
        }
        #: The capabilities that it begins with.
        self.held: list[Pointstamp] = [(node.at(port), node.order.least()) for port in node.starts_with]
        self.operator = node.make(worker, workers)
        self.operator.start({port: self._capability(port, node.order.least()) for port in node.starts_with})

    def call(self, method: Callable[[], None], settle: Callable[[Ledger], None]) -> None:
        """Call the operator and let ``settle`` apply what it did. If either raises, no capability has changed."""
        ledger = self.ledger
        ledger.open()
        try:
            method()
            settle(ledger)
        except BaseException:
            ledger.abort()
            raise
        ledger.close()

    def message(self) -> Message:
        """Return the oldest message that has arrived; raise `BrokenFrontier` if its time was complete."""
        arrived = self.inbox[0]
        port, t, data = arrived
        if not self.known_frontiers[port].reaches(t):
            raise BrokenFrontier(
                f"expected no message below the frontier {self.known_frontiers[port]!r}, got one at {t!r}: {data!r}"
            ).at(f"input {self.node.at(port)} on worker {self.worker}")

        def retain(output: str, at: Any) -> Capability:
            if not self.inbox or self.inbox[0] is not arrived or not self.ledger.running:
                raise NotEnabled(
                    "expected a message to be used while it is received, got a use after that",
                    hint="take capabilities in receive, and keep those",
                ).at(f"the message at {t!r} at {self.node.at(port)}")
            return self._retain(port, t, output, at)

        return Message(port, t, data, retain)

    def _capability(self, port: str, t: Any) -> Capability:
        return Capability(self.ledger, self.node.order.le, self.node.at(port), t)

    def _retain(self, port: str, t: Any, output: str, at: Any) -> Capability:
        source, target = self.node.at(port), self.node.at(output)
        least = [s.results_in(t) for s in self.graph.summary(source, target)]
        if not least:
            raise NotFound(
                f"expected an output that {source} leads to, got {target}",
                hint=f"name it in the summaries of operator {self.node.name!r}",
            )
        if at is None and len(least) == 1:
            at = least[0]
        if at is None or not any(self.node.order.le(u, at) for u in least):
            raise BadValue(
                f"expected a time for {target} at or above {' or '.join(map(repr, least))}, got {at!r}",
                hint="a message leads to what its time becomes along the summaries, or later",
            ).at(f"the message at {t!r} at {source}")
        self.ledger.change(target, at, 1)
        held = self._capability(output, at)
        self.ledger.undo(held._forget)
        return held
