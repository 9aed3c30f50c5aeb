"""The work of a step: the rows and states of all operators, first what needs no frontiers, then the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidegate.flow.plan import Operator, Source, Table
from tidegate.spark.lowering import lower_operator
from tidegate.spark.streaming.entries import Entries
from tidegate.spark.streaming.failures import at_operator
from tidegate.spark.streaming.frontiers import Frontier
from tidegate.spark.streaming.lateness import takes_late
from tidegate.spark.streaming.marks import Seen
from tidegate.spark.streaming.operators import Rows, Step, fold, holds, let_go, let_go_late, ports, take_in
from tidegate.spark.streaming.sources import Taken
from tidegate.spark.streaming.state import State, empty_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Work"]


class Work:
    """What the operators of a step have made so far."""

    def __init__(
        self,
        step: Step,
        entries: Entries,
        keys: Mapping[str, str],
        before: Mapping[str, tuple[State, ...]],
        tables: Mapping[str, DataFrame],
    ) -> None:
        self.frames: dict[str, Rows] = {}
        self.states: dict[str, list[State]] = {}
        self._step = step
        self._flow = step.flow
        self._entries = entries
        self._keys = keys
        self._tables = tables
        self._uses = Counter([i for o in self._flow for i in o.inputs] + [s.input for s in self._flow.sinks])
        self._persisted: list[DataFrame] = []
        for id_, key in keys.items():
            self.states[id_] = list(before.get(key, [State()] * ports(self._flow[id_])))

    def begin(self, taken: Mapping[str, Taken]) -> None:
        """Write the new rows that go into states whatever the frontiers are."""
        runtime = self._step.runtime
        for operator in self._flow:
            with at_operator(self._flow, operator.id):
                if isinstance(operator, Table):
                    self.frames[operator.id] = Rows(self._tables[operator.id])
                elif isinstance(operator, Source):
                    self.frames[operator.id] = (
                        Rows(taken[operator.id].on_time(runtime))
                        if operator.id in taken
                        else Rows(empty_rows(runtime, self._step.schemas[operator.id]), empty=True)
                    )
                elif not holds(operator) and all(name in self.frames for name in operator.inputs):
                    self._lower(operator)
        for operator in self._flow:
            for port in range(len(operator.inputs)):
                if (operator.id, port) in self._entries.inputs:
                    with at_operator(self._flow, operator.id):
                        self._take_in(operator, port)

    def answer(self, seen: Mapping[str, Seen], old: Mapping[str, Frontier], new: Mapping[str, Frontier]) -> None:
        """Let every operator answer for the times that became complete between two frontiers."""
        for operator in self._flow:
            with at_operator(self._flow, operator.id):
                if isinstance(operator, Source):
                    empty = operator.id not in seen or not seen[operator.id].rows
                    self.frames[operator.id] = Rows(self.frames[operator.id].frame, empty=empty)
                elif holds(operator):
                    self._advance(operator, old[operator.id], new[operator.id])
                elif not isinstance(operator, Table):
                    self._lower(operator)

    def folded(self, new: Mapping[str, Frontier]) -> dict[str, tuple[State, ...]]:
        """Answer the states for the commit, by key, without what is needed no more; after the end there is none."""
        if self._step.ended:
            return {}
        found = {}
        for id_, states in self.states.items():
            with at_operator(self._flow, id_):
                found[self._keys[id_]] = tuple(fold(self._step, self._flow[id_], self._keys[id_], states, new[id_]))
        return found

    def release(self) -> None:
        """Let go of what is kept in memory."""
        for frame in [*self._persisted, *self._step.persisted]:
            frame.unpersist()

    def _lower(self, operator: Operator) -> None:
        """Let an operator without state make its rows, unless it has; say if it is known now that there are none."""
        given = [self.frames[name] for name in operator.inputs]
        streams = [rows for rows, i in zip(given, self._flow.inputs(operator), strict=True) if i.schema.time]
        empty = bool(streams) and all(rows.empty for rows in streams)
        known = self.frames.get(operator.id)
        if known is not None:
            self.frames[operator.id] = Rows(known.frame, empty=empty)
            return
        frame = lower_operator(operator, self._step.runtime, *(rows.frame for rows in given))
        self.frames[operator.id] = self._shared(operator, Rows(frame, empty=empty))

    def _take_in(self, operator: Operator, port: int) -> None:
        rows, states = self.frames[operator.inputs[port]], self.states[operator.id]
        if not rows.empty and port not in self._tables_of(operator):
            states[port] = take_in(self._step, operator, self._keys[operator.id], port, rows.frame, states[port])

    def _advance(self, operator: Operator, old: Frontier, new: Frontier) -> None:
        """Let an operator with state answer, after it has taken in what it has not yet."""
        step, key, states = self._step, self._keys[operator.id], self.states[operator.id]
        if takes_late(operator):
            given = self.frames[operator.inputs[0]]
            rows, self.states[operator.id] = let_go_late(step, operator, key, given, states, old, new)
        else:
            for port in range(len(operator.inputs)):
                if (operator.id, port) not in self._entries.inputs:
                    self._take_in(operator, port)
            tables = self._tables_of(operator)
            rows, self.states[operator.id] = let_go(step, operator, key, states, tables, old, new)
        self.frames[operator.id] = self._shared(operator, rows)

    def _tables_of(self, operator: Operator) -> dict[int, DataFrame]:
        """Answer the inputs of an operator that have no time, by number."""
        inputs = self._flow.inputs(operator)
        return {port: self.frames[given.id].frame for port, given in enumerate(inputs) if not given.schema.time}

    def _shared(self, operator: Operator, rows: Rows) -> Rows:
        """Keep rows that several will read."""
        if self._uses[operator.id] < 2 or rows.empty:
            return rows
        self._persisted.append(rows.frame.persist())
        return Rows(self._persisted[-1])
