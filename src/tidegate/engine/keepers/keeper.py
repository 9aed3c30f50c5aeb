"""What an operator keeps between steps: the protocol of all kinds of state, and the kind that keeps waiting rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from tidegate.engine.attempt import Attempt
from tidegate.engine.frontiers import Frontier, complete, is_complete
from tidegate.engine.relation import Backend, ComputedRows, Relation
from tidegate.engine.storage.state import Part, State
from tidegate.engine.units import units_of
from tidegate.flow.plan import PlanOperator
from tidegate.flow.schema import Schema

__all__ = ["Answer", "FrontierMove", "HeldState", "Keeper", "StepInput", "Types", "Units", "WaitingRows"]

#: A time, as units in each time column.
Units = tuple[int, ...]
O = TypeVar("O", bound=PlanOperator)

#: Up to this many rows are read in one task.
_FEW = 1000


@dataclass(frozen=True, slots=True)
class Types:
    """The shapes of the inputs of an operator, of its output, and of each of its states."""

    inputs: tuple[Any, ...]
    output: Any
    states: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class FrontierMove:
    """The frontier of an operator before a step and after it, and whether the input has ended."""

    old: Frontier
    new: Frontier
    ended: bool = False


@dataclass(frozen=True, slots=True)
class StepInput:
    """What comes to an input of an operator in a step. ``rows`` is None if it is known that no rows come.

    ``old`` is the frontier before the step. ``late`` are rows that are late at their source, for operators that take
    such rows.
    """

    attempt: Attempt
    port: int
    rows: Relation | None
    old: Frontier
    late: Relation | None = None


@dataclass(frozen=True, slots=True)
class HeldState:
    """What an operator has when it answers: its states, and the attempt that reads and writes them."""

    attempt: Attempt
    #: The name of its state in the checkpoint.
    key: str
    types: Types
    states: tuple[State, ...]
    #: Its states as they were before the step.
    before: tuple[State, ...]
    #: Its inputs that are tables without times, by port.
    tables: Mapping[int, Relation] = field(default_factory=dict)
    #: Whether late rows came in this step.
    late: bool = False

    def read(self, port: int, parts: Sequence[Part] | None = None, *, coalesced: bool = False) -> Relation:
        """Return the rows of a state, or of some of its parts. ``coalesced`` reads a small state as one partition."""
        found = self.states[port].parts if parts is None else parts
        few = coalesced and sum(part.rows for part in found) <= _FEW
        return self.attempt.read(found, self.types.states[port], coalesced=few)

    def read_cached(self, port: int, parts: Sequence[Part] | None = None) -> Relation:
        """Return the rows of a state, or of some of its parts; large parts stay in memory from step to step."""
        found = self.states[port].parts if parts is None else parts
        return self.attempt.read_cached(found, self.types.states[port])

    def new_parts(self, port: int) -> tuple[Part, ...]:
        """Return the parts that were added to a state in this step."""
        return self.states[port].parts[len(self.before[port].parts) :]

    def write(self, port: int, kind: str, rows: Relation, times: Sequence[str] = ()) -> Part:
        """Write rows as a part, and return it. It is not added to a state yet."""
        return self.attempt.write(self.key, port, kind, rows, times)

    def grown(self, port: int, part: Part) -> HeldState:
        """Return a copy in which a part is added to a state."""
        states = list(self.states)
        states[port] = states[port].grown(part)
        return replace(self, states=tuple(states))

    def input_types(self, port: int = 0) -> Relation:
        """Return an empty relation with the columns of an input."""
        return self.attempt.backend.nothing(self.types.inputs[port])

    def answers(self, rows: Relation | None, *cached: ComputedRows) -> Answer:
        """Return the answer with these rows, and the states unchanged."""
        return Answer(rows, self.states, cached)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answers of an operator in a step, and its states after it."""

    #: None if it is known, without reading anything, that there are no answers.
    rows: Relation | None
    states: tuple[State, ...]
    #: Caches to release when the step is over.
    cached: tuple[ComputedRows, ...] = ()


class Keeper(ABC, Generic[O]):
    """What an operator keeps of each input between steps, and how it answers from that.

    The defaults are right for every kind of state: all rows are kept, and each step may have answers. A subclass says
    how it answers, and which rows it can drop.
    """

    #: A label for the state in the checkpoint, beside the fingerprint of the operator.
    label = ""
    #: What the state contains. If another version of Tidegate keeps something else, it can't continue from this state.
    keeps = "rows"
    #: Whether new rows can be written to the state before the frontiers of the step and the late rows are known.
    written_first = True
    #: Whether it can be decided for each part alone which of its rows are still needed.
    parts_apart = True
    #: Whether the engine computes the answers without Python functions. Few rows are then best in one task.
    native = True
    #: Whether there may be answers although no row has become complete.
    on_its_own = False
    #: Whether it answers for new rows in the step in which they come, whatever the frontiers are.
    on_arrival = False
    #: Whether it takes rows that are late at their source.
    takes_late = False

    def __init__(self, operator: O, inputs: Sequence[Schema]) -> None:
        self.operator = operator
        #: The schemas of the inputs.
        self.inputs = tuple(inputs)

    @property
    def ports(self) -> int:
        """The number of states: one for each input, and for some operators one more."""
        return len(self.inputs)

    @property
    def waiting(self) -> tuple[int, ...]:
        """The numbers of the states whose times decide whether there may be an answer: those of the inputs."""
        return tuple(range(len(self.inputs)))

    def state_types(self, backend: Backend, types: Types) -> list[Any]:
        """Return the shape of each state."""
        return [self.kept_of(backend.nothing(type_)).shape for type_ in types.inputs]

    def enter(self, new: StepInput) -> Relation | None:
        """Return what is added to the state for the rows of a step; None if there are no rows."""
        return None if new.rows is None else self.kept_of(self.relevant(new.port, new.rows))

    def relevant(self, port: int, rows: Relation) -> Relation:  # noqa: ARG002
        """Return the rows of an input that may be in an answer."""
        return rows

    def kept_of(self, rows: Relation) -> Relation:
        """Return what the state keeps of new rows."""
        return rows

    def admitted(self, attempt: Attempt, rows: Relation, old: Frontier) -> Relation:
        """Return what the operator takes of late rows; ``old`` is the frontier before the step, which decides."""
        raise NotImplementedError(f"{self.operator.verb} takes no late rows")

    def times(self, port: int) -> list[str]:  # noqa: ARG002
        """Return SQL for the times of the waiting rows of a state, in units. It is empty if its parts have no times."""
        return []

    def due(self, port: int, first: Units, moved: FrontierMove) -> bool:  # noqa: ARG002
        """Whether rows of an input may have answers in this step; the earliest of the rows is at ``first``."""
        return True

    @abstractmethod
    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers at times that became complete; those that come on arrival, for the new rows."""

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows of a state that later answers may still need, if the frontier is ``at``."""
        return rows

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:  # noqa: ARG002
        """Whether rows at times up to ``last`` can be dropped, if the frontier is ``at``.

        It is False if their times alone do not tell.
        """
        return False

    def read(self, held: HeldState, port: int, parts: Sequence[Part] | None = None) -> Relation:
        """Return the rows of a state."""
        return held.read(port, parts, coalesced=self.native)


class WaitingRows(Keeper[O]):
    """Rows of each input, until their time is complete."""

    def times(self, port: int) -> list[str]:
        """Return SQL for the times of rows."""
        if port >= len(self.inputs):
            return []
        schema = self.inputs[port]
        return [units_of(schema, name) for name in schema.time]

    def due(self, port: int, first: Units, moved: FrontierMove) -> bool:
        """Whether the earliest time is complete."""
        return is_complete(self.inputs[port], moved.new, first)

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows whose time is not complete."""
        return rows.where(f"NOT ({complete(self.inputs[port], at)})")

    def outlived(self, port: int, last: Units, at: Frontier) -> bool:
        """Whether the last time is complete."""
        return port < len(self.inputs) and is_complete(self.inputs[port], at, last)
