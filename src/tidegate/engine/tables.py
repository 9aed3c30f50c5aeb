"""The results of a bounded run: rows for each sink, and rejected rows, in the engine's own form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Generic, TypeVar

from tidegate.engine.glance import Glances, glances_html
from tidegate.engine.lowering.moving import not_moved
from tidegate.engine.plans import lower
from tidegate.engine.relation import Relation
from tidegate.flow.errors import BadInput, did_you_mean
from tidegate.flow.plan import At, Plan, PlanOperator

__all__ = ["Rejected", "Sinks", "Tables", "UnknownName", "as_declared"]

#: The rows of a sink: a DataFrame of Spark, a relation of DuckDB.
T = TypeVar("T")


def as_declared(operator: PlanOperator, rows: Relation) -> Relation:
    """Return the rows of an operator as a user knows them, without the points of their times."""
    return rows.without(*operator.schema.time) if operator.schema.coordinates else rows


class Sinks(Mapping[str, T], Generic[T]):
    """The sinks of a flow. What a sink needs is lowered, and its loops are run, when its rows are requested."""

    def __init__(
        self,
        flow: Plan,
        relations: Mapping[str, Relation],
        result: Callable[[Relation], T],
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._flow = flow
        self._inputs = {sink.name: sink.input for sink in flow.sinks}
        self._relations = dict(relations)
        self._result = result
        self._around = around

    def __getitem__(self, sink: str) -> T:
        return self._result(self.relation(sink))

    def relation(self, sink: str) -> Relation:
        """Return the rows of a sink as a relation."""
        wanted = self._inputs[sink]
        return as_declared(self._flow[wanted], self._rows(wanted))

    def _rows(self, wanted: str) -> Relation:
        if wanted not in self._relations:
            with self._around():
                self._relations = lower(self._flow, self._relations, upto=wanted, run=True)
        return self._relations[wanted]

    def rejected(self) -> dict[str, Callable[[], T]]:
        """Return, for each operator that may reject rows, a function that returns those. It lowers what they need."""
        return {o.id: partial(self._not_moved, o) for o in self._flow if isinstance(o, At) and o.rejects}

    def _not_moved(self, operator: At) -> T:
        rows = self._rows(operator.inputs[0])
        with self._around():
            return self._result(not_moved(operator, rows))

    def upstream(self, sink: str) -> Iterator[tuple[PlanOperator, Relation]]:
        """Return the operators that a sink needs, in order, with their rows. Loops among them are run."""
        wanted = self._inputs[sink]
        with self._around():
            found = lower(self._flow, self._relations, upto=wanted, run=True)
        needed = self._flow.upstream(wanted) | {wanted}
        return ((operator, found[operator.id]) for operator in self._flow if operator.id in needed)

    def __contains__(self, sink: object) -> bool:
        # The method of `Mapping` would request the rows, and so run loops.
        return sink in self._inputs

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)


class Rejected(Mapping[str, T], Generic[T]):
    """The rejected rows of each source, with a column ``reason``. They are read when they are requested.

    Operators that move rows may have rejected rows, too, under their own names; ``moved`` has functions that return
    them.
    """

    def __init__(
        self, frames: Mapping[str, T], count: Callable[[T], int], moved: Mapping[str, Callable[[], T]] | None = None
    ) -> None:
        self._frames: dict[str, Callable[[], T]] = {name: partial(_same, frame) for name, frame in frames.items()}
        self._frames |= moved or {}
        self._count = count

    def __getitem__(self, source: str) -> T:
        if source not in self._frames:
            raise _unknown("source", source, list(self._frames))
        return self._frames[source]()

    def __contains__(self, source: object) -> bool:
        # The method of `Mapping` would request the rows.
        return source in self._frames

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __repr__(self) -> str:
        return f"Rejected({', '.join(self._frames)})"

    def counts(self) -> dict[str, int]:
        """Return the number of rejected rows of each source. This reads the inputs."""
        return {source: self._count(self[source]) for source in self}


class Tables(Mapping[str, T], Generic[T], ABC):
    """The rows of each sink, evaluated lazily; ``rejected`` has the rejected rows."""

    def __init__(self, flow: Plan, frames: Mapping[str, T], rejected: Rejected[T]) -> None:
        self._flow = flow
        self._frames = frames
        self.rejected = rejected

    def __getitem__(self, sink: str) -> T:
        if sink not in self._frames:
            raise _unknown("sink", sink, list(self._frames))
        return self._frames[sink]

    def __contains__(self, sink: object) -> bool:
        return sink in self._frames

    def get(self, sink: str, default: Any = None) -> Any:
        """Return the rows of a sink, or the default if there is no such sink.

        The method of `Mapping` would take every KeyError for a missing name, even one from a loop that is run here.
        """
        if sink not in self:
            return default
        return self[sink]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self._frames)})"

    def _repr_html_(self) -> str:
        return glances_html(self._flow, self._glances())

    @abstractmethod
    def _glances(self) -> Glances:
        """Return a few rows of each sink, if they may be computed for a glance."""


def _same(value: T) -> T:
    return value


class UnknownName(BadInput, KeyError):
    """A result was requested under a name that the flow does not have."""


def _unknown(what: str, name: object, known: list[str]) -> UnknownName:
    return UnknownName(
        f"expected the name of a {what} ({', '.join(known) or 'there is none'}), got {name!r}",
        hint=did_you_mean(name, known),
    )
