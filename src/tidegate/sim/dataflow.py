"""Dataflows for the simulator: operators with ports, and channels between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tidegate.errors import BadValue, NotFound
from tidegate.progress import Graph
from tidegate.sim.operator import SimulatedOperator
from tidegate.time import Order

__all__ = ["Channel", "Dataflow", "DataflowNode", "Route"]

#: A function from a row to an integer; modulo the number of workers, it is the worker that receives the row. None: rows
#: stay on the worker that sends them.
Route: TypeAlias = Callable[[Any], int] | None


@dataclass(frozen=True, slots=True)
class DataflowNode:
    """An operator of a dataflow, as it was declared: every worker makes an instance of it with ``make``."""

    name: str
    make: Callable[[int, int], SimulatedOperator]
    order: Order[Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: The outputs for which each instance begins with a capability at the least time.
    starts_with: tuple[str, ...]
    #: For each pair of an input and an output: what happens to times on the way.
    summaries: Mapping[tuple[str, str], Any]

    def at(self, port: str) -> str:
        """Return the location of a port.

        >>> DataflowNode("b", lambda worker, workers: SimulatedOperator(), None, ("1",), ("2",), (), {}).at("2")
        'b.2'
        """
        if port not in self.inputs and port not in self.outputs:
            raise NotFound(
                f"expected a port of operator {self.name!r}, got {port!r}",
                hint=f"it has the inputs {', '.join(self.inputs)} and the outputs {', '.join(self.outputs)}",
            )
        return f"{self.name}.{port}"


@dataclass(frozen=True, slots=True)
class Channel:
    """An edge from an output to an input."""

    source: str
    target: str
    route: Route
    along: Any


class Dataflow:
    """Operators and channels, from which the graph of locations is made.

    ``order`` is that of the times, for every operator without an order of its own.

    >>> from tidegate.time import Nat
    >>> flow = Dataflow(Nat())
    >>> flow.operator("a", lambda worker, workers: SimulatedOperator(), outputs=["1"])
    >>> flow.operator("b", lambda worker, workers: SimulatedOperator(), inputs=["1"])
    >>> flow.channel("a.1", "b.1")
    >>> flow.graph().locations
    ('a.1', 'b.1')
    """

    def __init__(self, order: Order[Any]) -> None:
        self.order = order
        self.nodes: dict[str, DataflowNode] = {}
        self.channels: dict[str, list[Channel]] = {}

    def operator(
        self,
        name: str,
        make: Callable[[int, int], SimulatedOperator],
        *,
        inputs: Iterable[str] = (),
        outputs: Iterable[str] = (),
        order: Order[Any] | None = None,
        starts_with: Iterable[str] | None = None,
        summaries: Mapping[tuple[str, str], Any] | None = None,
    ) -> None:
        """Add an operator; ``make(worker, workers)`` makes its instance on a worker.

        ``starts_with`` are the outputs for which an instance starts with a capability: by default all outputs of an
        operator without inputs, and none of any other. ``summaries`` says which input leads to which output, and how
        times change on the way; by default each input leads to each output, and times stay as they are.

        Names of operators and ports are not empty and have no dot, semicolon or white space, which separate them in
        locations and schedules. Each port of an operator has a name of its own.
        """
        _check_name(name, "an operator")
        if name in self.nodes:
            raise BadValue(f"expected a name that is free, got {name!r}, which is an operator already")
        inputs, outputs = _ports(name, inputs, outputs)
        order = self.order if order is None else order
        if summaries is None:
            summaries = {(i, o): order.summaries.neutral for i in inputs for o in outputs}
        held = tuple(starts_with) if starts_with is not None else () if inputs else outputs
        node = DataflowNode(name, make, order, inputs, outputs, held, dict(summaries))
        for port in held:
            _check_port(node, port, "outputs")
        for i, o in summaries:
            _check_port(node, i, "inputs")
            _check_port(node, o, "outputs")
        self.nodes[name] = node

    def channel(self, source: str, target: str, *, route: Route = None, along: Any = None) -> None:
        """Connect an output with an input, both given as ``operator.port``.

        ``route`` returns an integer for a datum, which decides on the worker that receives it. ``along`` is the summary
        of the channel, such as `Enter` or `Leave`; without it times stay as they are.
        """
        for location, ports in ((source, "outputs"), (target, "inputs")):
            name, _, port = location.partition(".")
            if name not in self.nodes or port not in getattr(self.nodes[name], ports):
                known = [f"{n}.{p}" for n, node in self.nodes.items() for p in getattr(node, ports)]
                raise NotFound(f"expected one of the {ports}, {', '.join(known)}; got {location!r}")
        if along is None:
            along = self.nodes[source.partition(".")[0]].order.summaries.neutral
        channels = self.channels.setdefault(source, [])
        if any(channel.target == target for channel in channels):
            raise BadValue(f"expected one channel between two ports, got a second one from {source!r} to {target!r}")
        channels.append(Channel(source, target, route, along))

    def graph(self) -> Graph:
        """Build the graph of locations, or raise an error that names the rule that it breaks."""
        orders: dict[Any, Order[Any]] = {}
        summaries: dict[tuple[Any, Any], Any] = {}
        for name, node in self.nodes.items():
            orders.update((f"{name}.{port}", node.order) for port in (*node.inputs, *node.outputs))
            summaries.update(((node.at(i), node.at(o)), along) for (i, o), along in node.summaries.items())
        summaries.update(((c.source, c.target), c.along) for channels in self.channels.values() for c in channels)
        return Graph(orders, summaries)


def _check_name(name: object, of: str) -> None:
    if not isinstance(name, str) or not name or any(c in ".;" or c.isspace() for c in name):
        raise BadValue(
            f"expected a name for {of} without dots, semicolons and white space, got {name!r}",
            hint="a location is written operator.port, and a schedule 'work 0 operator; …'",
        )


def _ports(name: str, inputs: Iterable[str], outputs: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ports of an operator, or raise an error unless each has a name of its own."""
    for given in (inputs, outputs):
        if isinstance(given, str):
            raise BadValue(
                f"expected several names for ports of operator {name!r}, got the text {given!r}",
                hint=f"write [{given!r}]",
            )
    inputs, outputs = tuple(inputs), tuple(outputs)
    seen: set[str] = set()
    for port in (*inputs, *outputs):
        _check_name(port, f"a port of operator {name!r}")
        if port in seen:
            raise BadValue(
                f"expected each port of operator {name!r} to have a name of its own, got {port!r} twice",
                hint="an input and an output are two locations, and can not share a name either",
            )
        seen.add(port)
    return inputs, outputs


def _check_port(node: DataflowNode, port: str, kind: Literal["inputs", "outputs"]) -> None:
    known: tuple[str, ...] = getattr(node, kind)
    if port not in known:
        raise NotFound(
            f"expected one of the {kind} of operator {node.name!r}, got {port!r}",
            hint=f"it has {', '.join(known) or 'none'}",
        )
