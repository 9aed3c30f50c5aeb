"""What an operator keeps between steps: the protocol that every kind of state follows, and rows that wait."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from tidegate.engine.attempt import Attempt
from tidegate.engine.frontiers import Frontier, complete, is_complete
from tidegate.engine.relation import Backend, Kept, Relation
from tidegate.engine.storage.state import Part, State
from tidegate.engine.units import units_of
from tidegate.flow.plan import Operator
from tidegate.flow.schema import Schema

__all__ = ["Answer", "Held", "Keeper", "Moved", "New", "Types", "Units", "Waiting"]

#: A time, as units in each time column.
Units = tuple[int, ...]
O = TypeVar("O", bound=Operator)

#: So few rows are not worth a second task.
_FEW = 1000


@dataclass(frozen=True, slots=True)
class Types:
    """The shapes of the inputs of an operator, of its output, and of each of its states."""

    inputs: tuple[Any, ...]
    output: Any
    states: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """The frontier of an operator before a step and after it, and whether the input has ended."""

    old: Frontier
    new: Frontier
    ended: bool = False


@dataclass(frozen=True, slots=True)
class New:
    """Rows that come to an input in a step, by the frontier before it; None if none can come.

    ``late`` are rows that are late at their source, for operators that take those.
    """

    attempt: Attempt
    port: int
    rows: Relation | None
    old: Frontier
    late: Relation | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What an operator has when it answers: its states, and in which attempt at a step they are read and written."""

    attempt: Attempt
    #: The name of its state in the checkpoint.
    key: str
    types: Types
    states: tuple[State, ...]
    #: Its inputs without time, by number.
    tables: Mapping[int, Relation] = field(default_factory=dict)
    #: Whether late rows came in this step.
    late: bool = False

    def read(self, port: int, parts: Sequence[Part] | None = None, *, coalesced: bool = False) -> Relation:
        """Return the rows of a state, or of some of its parts; ``coalesced`` puts few rows into one partition."""
        found = self.states[port].parts if parts is None else parts
        few = coalesced and sum(part.rows for part in found) <= _FEW
        return self.attempt.read(found, self.types.states[port], coalesced=few)

    def read_cached(self, port: int, parts: Sequence[Part] | None = None) -> Relation:
        """Return the rows of a state, or of some of its parts; large parts stay in memory from step to step."""
        found = self.states[port].parts if parts is None else parts
        return self.attempt.read_cached(found, self.types.states[port])

    def write(self, port: int, kind: str, rows: Relation, times: Sequence[str] = ()) -> Part:
        """Write rows as a part; no state has it yet."""
        return self.attempt.write(self.key, port, kind, rows, times)

    def grown(self, port: int, part: Part) -> Held:
        """Return this with a part added to a state."""
        states = list(self.states)
        states[port] = states[port].grown(part)
        return replace(self, states=tuple(states))

    def input_types(self, port: int = 0) -> Relation:
        """Return no rows, with the columns of an input."""
        return self.attempt.backend.nothing(self.types.inputs[port])

    def answers(self, rows: Relation | None, *cached: Kept) -> Answer:
        """Return an answer, with the states as they are."""
        return Answer(rows, self.states, cached)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operator answers in a step, and its states after it."""

    #: None if it is known without looking that there are none.
    rows: Relation | None
    states: tuple[State, ...]
    #: What is cached until the step is over.
    cached: tuple[Kept, ...] = ()


class Keeper(ABC, Generic[O]):
    """What an operator keeps of each input between steps, and how it answers from that.

    What is here is right for every kind of state: all rows are kept, and each step may have answers. A kind of state
    says how it answers, and what it can do without.
    """

    #: What a checkpoint says of the state, beside what the operator means.
    label = ""
    #: What it keeps of rows: another version of Tidegate may keep something else, and can't go on from this.
    keeps = "rows"
    #: Whether new rows are kept without knowing where frontiers will be, or which late rows are taken.
    early = True
    #: Whether what is needed of some parts can be told without looking at the others.
    parts_apart = True
    #: Whether Spark computes the answers itself: then few rows are best in one task.
    native = True
    #: Whether there may be answers although no row became complete.
    on_its_own = False
    #: Whether it takes rows that are late at their source.
    takes_late = False

    def __init__(self, operator: O, inputs: Sequence[Schema]) -> None:
        self.operator = operator
        #: The schemas of the inputs.
        self.inputs = tuple(inputs)

    @property
    def ports(self) -> int:
        """How many states there are: one for each input, and some keep one more."""
        return len(self.inputs)

    @property
    def waiting(self) -> tuple[int, ...]:
        """The numbers of the states whose times say whether there may be an answer: those of inputs."""
        return tuple(range(len(self.inputs)))

    def state_types(self, backend: Backend, types: Types) -> list[Any]:
        """Return the shape of each state."""
        return [self.kept_of(backend.nothing(type_)).shape for type_ in types.inputs]

    def enter(self, new: New) -> Relation | None:
        """Return what is kept of all that comes to an input in a step; None if nothing comes."""
        return None if new.rows is None else self.kept_of(new.rows)

    def kept_of(self, rows: Relation) -> Relation:
        """Return what is kept of new rows."""
        return rows

    def admitted(self, attempt: Attempt, rows: Relation, old: Frontier) -> Relation:
        """Return what is taken of late rows, by the frontier before the step."""
        raise NotImplementedError(f"{self.operator.verb} takes no late rows")

    def times(self, port: int) -> list[str]:  # noqa: ARG002
        """Return SQL for the times of what waits in a state, in units; none if parts are not told apart by them."""
        return []

    def due(self, port: int, first: Units, moved: Moved) -> bool:  # noqa: ARG002
        """Whether what an input gave, from a time on, may have an answer that a step completes."""
        return True

    @abstractmethod
    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers at times that became complete."""

    def keep(self, held: Held, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return what answers at times that are not complete may still depend on, of rows of a state."""
        return rows

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:  # noqa: ARG002
        """Whether nothing is needed any more of what a state has up to a time; False where times do not tell."""
        return False

    def read(self, held: Held, port: int, parts: Sequence[Part] | None = None) -> Relation:
        """Return the rows of a state."""
        return held.read(port, parts, coalesced=self.native)


class Waiting(Keeper[O]):
    """Rows of each input, until their time is complete."""

    def times(self, port: int) -> list[str]:
        """Return the times of rows."""
        if port >= len(self.inputs):
            return []
        schema = self.inputs[port]
        return [units_of(schema, name) for name in schema.time]

    def due(self, port: int, first: Units, moved: Moved) -> bool:
        """Whether the first time is complete."""
        return is_complete(self.inputs[port], moved.new, first)

    def keep(self, held: Held, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows whose time is not complete."""
        return rows.where(f"NOT ({complete(self.inputs[port], at)})")

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether the last time is complete."""
        return port < len(self.inputs) and is_complete(self.inputs[port], at, last)
