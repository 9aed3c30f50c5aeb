"""Example dataflows as data: their graphs, what their workers do, and the frontiers that must follow.

Each is a file in ``check/dataflows``, most in the shape of an example that comes with Timely Dataflow. A file has

- ``operators``: the ports of each. ``time`` is how many components its times have, 1 unless given. ``summaries`` maps
  ``"input output"`` to what happens to times in between: nothing unless given, and null where nothing passes;
- ``channels``: from an output to an input. One that leads to times with one component more enters a scope, one that
  leads to times with one less leaves it;
- ``workers``: how many there are;
- ``holds``: the outputs for which each worker starts with a capability at the least time (`Example.starts_with`);
- ``frontiers``: those of all locations in the beginning;
- ``trace``: what happens, step by step. In a step one ``worker`` lets one operator ``receive`` a message that was sent
to it, ``take`` capabilities, ``send`` messages (receiver, input and time) and ``drop`` capabilities. ``then`` are the
frontiers that change because of it, once all workers know of it. Those that are not named stay.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

from tidegate.errors import BadValue
from tidegate.progress import Enter, Graph, Leave
from tidegate.time import Nat, Order, Product

__all__ = ["EXAMPLES", "Example", "Frontiers", "Point", "TraceStep", "load_example", "operator_of", "read_example"]

#: A location and a time.
Point: TypeAlias = tuple[str, Any]
#: The least times that may still appear, by location.
Frontiers: TypeAlias = Mapping[str, frozenset[Any]]

_PLACE = Path(__file__).parent / "dataflows"
#: The names of the examples.
EXAMPLES: tuple[str, ...] = tuple(sorted(path.stem for path in _PLACE.glob("*.json")))


@dataclass(frozen=True, slots=True)
class TraceStep:
    """What one operator does on one worker, all at once."""

    worker: int
    receive: Point | None
    take: tuple[Point, ...]
    #: As receiver, input and time.
    send: tuple[tuple[int, str, Any], ...]
    drop: tuple[Point, ...]
    #: The frontiers that change.
    then: Frontiers

    def changes(self) -> Counter[Point]:
        """Return how many more pointstamps there are after the step, of all workers together."""
        found = Counter[Point]((l, t) for _, l, t in self.send)
        found.update(self.take)
        found.subtract(self.drop)
        if self.receive is not None:
            found[self.receive] -= 1
        return found

    def on(self, workers: int) -> TraceStep:
        """Return the step for another number of workers: each does what several did, or some do nothing."""
        send = tuple((to % workers, l, t) for to, l, t in self.send)
        return TraceStep(self.worker % workers, self.receive, self.take, send, self.drop, self.then)


@dataclass(frozen=True)
class Example:
    """A dataflow, and a trace of what its workers do."""

    name: str
    about: str
    workers: int
    operators: Mapping[str, Mapping[str, Any]]
    channels: tuple[tuple[str, str], ...]
    starts_with: tuple[str, ...]
    frontiers: Frontiers
    trace: tuple[TraceStep, ...]

    def order(self, location: str) -> Order[Any]:
        """Return the order of the times at a location."""
        size = self.operators[operator_of(location)].get("time", 1)
        return Nat() if size == 1 else Product(*[Nat()] * size)

    def least(self, location: str) -> Any:
        """Return the least time at a location."""
        return self.order(location).least()

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """For each input, the output that it gets its messages from."""
        return {target: source for source, target in self.channels}

    @cached_property
    def graph(self) -> Graph:
        """The graph of locations."""
        orders: dict[str, Order[Any]] = {}
        edges: dict[tuple[str, str], Any] = {}
        for name, operator in self.operators.items():
            given = operator.get("summaries", {})
            ports = [*operator.get("inputs", ()), *operator.get("outputs", ())]
            orders |= {f"{name}.{port}": self.order(f"{name}.{port}") for port in ports}
            for i in operator.get("inputs", ()):
                for o in operator.get("outputs", ()):
                    summary = given.get(f"{i} {o}", orders[f"{name}.{o}"].summaries.neutral)
                    if summary is not None:
                        edges[f"{name}.{i}", f"{name}.{o}"] = _summary(summary)
        for source, target in self.channels:
            edges[source, target] = self.along(source, target)
        return Graph(orders, edges)

    def along(self, source: str, target: str) -> Any:
        """Return the summary of a channel."""
        before, after = (self.operators[operator_of(l)].get("time", 1) for l in (source, target))
        return Enter if after > before else Leave if after < before else self.order(source).summaries.neutral

    def expected(self) -> Iterator[tuple[TraceStep, Frontiers]]:
        """Return each step with the frontiers of all locations after it."""
        known = dict(self.frontiers)
        for step in self.trace:
            known |= step.then
            yield step, dict(known)

    def check(self) -> None:
        """Raise `BadValue` unless each step is something that one operator can do."""
        if set(self.frontiers) != set(self.graph.locations):
            wrong = sorted(set(self.frontiers) ^ set(map(str, self.graph.locations)))
            raise BadValue(f"expected the frontiers of all locations, and no others; got {wrong}").at(self.name)
        for number, step in enumerate(self.trace):
            place = f"step {number} of {self.name}"
            mine = {operator_of(l) for l, _ in (*step.take, *step.drop, *([step.receive] if step.receive else []))}
            mine |= {operator_of(self.sources[l]) for _, l, _ in step.send}
            if len(mine) != 1:
                raise BadValue(f"expected a step of one operator, got one of {sorted(mine)}").at(place)
            if unknown := set(step.then) - set(self.frontiers):
                raise BadValue(f"expected frontiers of locations, got {sorted(unknown)}").at(place)


def operator_of(location: str) -> str:
    """Return the operator that a port belongs to."""
    return location.partition(".")[0]


@cache
def load_example(name: str) -> Example:
    """Return the example of a name."""
    return read_example(json.loads((_PLACE / f"{name}.json").read_text(encoding="utf-8")))


def read_example(data: Mapping[str, Any]) -> Example:
    """Return an example from what its file says."""
    try:
        found = Example(
            data["name"],
            data["about"],
            data["workers"],
            data["operators"],
            tuple((source, target) for source, target in data["channels"]),
            tuple(data["holds"]),
            _frontiers(data["frontiers"]),
            tuple(map(_step, data["trace"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadValue(f"expected a dataflow with a trace, got one where {error!r}") from error
    found.check()
    return found


def _step(data: Mapping[str, Any]) -> TraceStep:
    return TraceStep(
        data["worker"],
        _point(data["receive"]) if "receive" in data else None,
        tuple(map(_point, data.get("take", ()))),
        tuple((to, l, _time(t)) for to, l, t in data.get("send", ())),
        tuple(map(_point, data.get("drop", ()))),
        _frontiers(data["then"]),
    )


def _point(data: tuple[str, Any]) -> Point:
    l, t = data
    return l, _time(t)


def _frontiers(data: Mapping[str, Any]) -> Frontiers:
    return {l: frozenset(map(_time, times)) for l, times in data.items()}


def _time(data: Any) -> Any:
    return tuple(data) if isinstance(data, list) else data


def _summary(data: Any) -> Any:
    several = isinstance(data, list) and any(isinstance(s, list) for s in data)
    return list(map(_time, data)) if several else _time(data)
