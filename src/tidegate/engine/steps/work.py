"""The work of a step: computing the rows and states of all operators.

What does not depend on the new frontiers is done first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.engine.attempt import Attempt
from tidegate.engine.frontiers import Frontier
from tidegate.engine.keepers import FrontierMove, HeldState, Keeper, StepInput, Types
from tidegate.engine.lowering import lower_operator
from tidegate.engine.lowering.moving import not_moved
from tidegate.engine.marks import Seen
from tidegate.engine.relation import ComputedRows, Relation
from tidegate.engine.steps.entries import Entries
from tidegate.engine.steps.failures import at_operator
from tidegate.engine.steps.host import DescribeError
from tidegate.engine.steps.source_rows import SourceRows
from tidegate.engine.storage.state import Part, State, fold_from
from tidegate.flow.plan import At, PlanOperator, Source, Table

__all__ = ["KeptState", "StepRows", "StepWork"]


@dataclass(frozen=True, slots=True)
class StepRows:
    """The rows of an operator in a step. With ``empty``, it is known that there are none, and they need not be read."""

    relation: Relation
    empty: bool = False


@dataclass(frozen=True, slots=True)
class KeptState:
    """How the state of an operator is kept: by which keeper, under which key, and as rows of which shapes."""

    keeper: Keeper[Any]
    key: str
    types: Types


class StepWork:
    """The rows and states that the operators of a step have made so far."""

    def __init__(
        self,
        step: Attempt,
        entries: Entries,
        kept: Mapping[str, KeptState],
        before: Mapping[str, tuple[State, ...]],
        tables: Mapping[str, Relation],
        describe: DescribeError,
        *,
        ended: bool = False,
        fold_from: Callable[[Sequence[Part]], int] = fold_from,
    ) -> None:
        self.rows: dict[str, StepRows] = {}
        self.states: dict[str, tuple[State, ...]] = {}
        self._step = step
        self._flow = step.flow
        self._entries = entries
        self._kept = kept
        self._tables = tables
        self._describe = describe
        self._ended = ended
        self._fold_from = fold_from
        self._uses = Counter([i for o in self._flow for i in o.inputs] + [s.input for s in self._flow.sinks])
        # The input of an `at` that rejects rows is read once more, for the rejected rows.
        self._uses.update(o.inputs[0] for o in self._flow if isinstance(o, At) and o.rejects)
        self._cached: list[ComputedRows] = []
        for id_, own in kept.items():
            self.states[id_] = before.get(own.key, (State(),) * own.keeper.ports)
        self._before = dict(self.states)

    def begin(self, by_source: Mapping[str, SourceRows], old: Mapping[str, Frontier]) -> None:
        """Write the new rows that go into states, no matter what the new frontiers will be.

        ``by_source`` has the rows of each source, and ``old`` the frontier of each operator before the step.
        """
        for operator in self._flow:
            with at_operator(self._flow, operator.id, self._describe):
                if isinstance(operator, Table):
                    self.rows[operator.id] = StepRows(self._tables[operator.id])
                elif isinstance(operator, Source):
                    self.rows[operator.id] = (
                        StepRows(by_source[operator.id].on_time)
                        if operator.id in by_source
                        else StepRows(self._step.nothing(operator.id), empty=True)
                    )
                elif operator.id not in self._kept and all(name in self.rows for name in operator.inputs):
                    self._lower(operator)
        for operator in self._flow:
            for port in range(len(operator.inputs)):
                if (operator.id, port) in self._entries.inputs:
                    with at_operator(self._flow, operator.id, self._describe):
                        self._add_input(operator, port, old[operator.id])

    def answer(
        self,
        seen: Mapping[str, Seen],
        late: Mapping[str, Mapping[int, Relation]],
        old: Mapping[str, Frontier],
        new: Mapping[str, Frontier],
    ) -> None:
        """Compute the answers of every operator for the times that became complete.

        ``seen`` is what was counted in the rows of each source. ``late`` are the late rows that operators take, by
        operator and port. ``old`` and ``new`` are the frontiers before and after the step, by operator.
        """
        for operator in self._flow:
            with at_operator(self._flow, operator.id, self._describe):
                if isinstance(operator, Source):
                    empty = operator.id not in seen or not seen[operator.id].rows
                    self.rows[operator.id] = StepRows(self.rows[operator.id].relation, empty=empty)
                elif operator.id in self._kept:
                    moved = FrontierMove(old[operator.id], new[operator.id], self._ended)
                    self._advance(operator, moved, late.get(operator.id, {}))
                elif not isinstance(operator, Table):
                    self._lower(operator)

    def rejected(self) -> dict[str, Relation]:
        """Return the rows of this step that operators reject, with the reason, by operator."""
        return {
            operator.id: not_moved(operator, self.rows[operator.inputs[0]].relation)
            for operator in self._flow
            if isinstance(operator, At) and operator.rejects and not self.rows[operator.inputs[0]].empty
        }

    def folded(self, new: Mapping[str, Frontier]) -> dict[str, tuple[State, ...]]:
        """Return the states for the commit, by key, without what is not needed any more.

        ``new`` are the frontiers after the step. After the end of the input there are no states.
        """
        if self._ended:
            return {}
        found = {}
        for id_, own in self._kept.items():
            with at_operator(self._flow, id_, self._describe):
                found[own.key] = tuple(self._folded(id_, port, new[id_]) for port in range(own.keeper.ports))
        return found

    def _folded(self, id_: str, port: int, at: Frontier) -> State:
        """Return a state without parts that are not needed any more. If there are too many parts, they are merged."""
        keeper, held = self._kept[id_].keeper, self._held(id_)
        state = held.states[port].without(lambda last: keeper.outlived(port, last, at))
        first = self._fold_from(state.parts)
        if first == len(state.parts):
            return state
        if not keeper.parts_apart:
            first = 0
        rows = keeper.keep(held, port, keeper.read(held, port, state.parts[first:]), at)
        return State(state.parts[:first]).grown(held.write(port, "fold", rows, keeper.times(port)))

    def release(self) -> None:
        """Free what is cached."""
        for cached in self._cached:
            cached.release()

    def _lower(self, operator: PlanOperator) -> None:
        """Set the rows of an operator without state. They are empty if all streams that it reads are.

        If the rows are there already, only whether they are empty is set anew.
        """
        given = [self.rows[name] for name in operator.inputs]
        streams = [rows for rows, i in zip(given, self._flow.inputs(operator), strict=True) if i.schema.time]
        empty = bool(streams) and all(rows.empty for rows in streams)
        known = self.rows.get(operator.id)
        if known is not None:
            self.rows[operator.id] = StepRows(known.relation, empty=empty)
            return
        found = lower_operator(operator, *(rows.relation for rows in given))
        self.rows[operator.id] = self._shared(operator, StepRows(found, empty=empty))

    def _add_input(self, operator: PlanOperator, port: int, old: Frontier, late: Relation | None = None) -> None:
        """Add the rows of an input to its state."""
        keeper, rows = self._kept[operator.id].keeper, self.rows[operator.inputs[port]]
        if not self._flow.inputs(operator)[port].schema.time:
            return
        kept = keeper.enter(StepInput(self._step, port, None if rows.empty else rows.relation, old, late))
        if kept is not None:
            held = self._held(operator.id)
            self.states[operator.id] = held.grown(port, held.write(port, "new", kept, keeper.times(port))).states

    def _advance(self, operator: PlanOperator, moved: FrontierMove, late: Mapping[int, Relation]) -> None:
        """Compute the answers of an operator with state.

        First, those input rows are added to the state that were not added before.
        """
        for port in range(len(operator.inputs)):
            if (operator.id, port) not in self._entries.inputs:
                self._add_input(operator, port, moved.old, late.get(port))
        keeper, held = self._kept[operator.id].keeper, self._held(operator.id, late=bool(late))
        rows = None
        if self._due(keeper, held, moved):
            answer = keeper.answer(held, moved)
            rows, self.states[operator.id] = answer.rows, answer.states
            self._cached += answer.cached
        none = StepRows(self._step.nothing(operator.id), empty=True)
        self.rows[operator.id] = none if rows is None else self._shared(operator, StepRows(rows))

    def _due(self, keeper: Keeper[Any], held: HeldState, moved: FrontierMove) -> bool:
        """Whether there may be answers. In most small steps no window ends, and there are none."""
        if keeper.on_arrival:
            return any(held.new_parts(port) for port in range(keeper.ports))
        if (moved.old == moved.new and not held.late) or not any(state.rows for state in held.states):
            return False
        # At the end of the input, a user's operator may answer without new rows.
        return (
            moved.ended
            or keeper.on_its_own
            or any(
                part.first is None or keeper.due(port, part.first, moved)
                for port in keeper.waiting
                for part in held.states[port].parts
            )
        )

    def _held(self, id_: str, *, late: bool = False) -> HeldState:
        own = self._kept[id_]
        states, tables = self.states[id_], self._tables_of(self._flow[id_])
        return HeldState(self._step, own.key, own.types, states, self._before[id_], tables, late)

    def _tables_of(self, operator: PlanOperator) -> dict[int, Relation]:
        """Return the inputs of an operator that are tables without times, by port."""
        inputs = self._flow.inputs(operator)
        return {port: self.rows[given.id].relation for port, given in enumerate(inputs) if not given.schema.time}

    def _shared(self, operator: PlanOperator, rows: StepRows) -> StepRows:
        """Return rows; if they are read more than once, they are cached."""
        if self._uses[operator.id] < 2 or rows.empty:
            return rows
        cached = self._step.backend.cached(rows.relation)
        self._cached.append(cached)
        return StepRows(cached.rows)
