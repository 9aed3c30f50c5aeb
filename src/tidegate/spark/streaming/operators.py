"""One operator in one step: from new rows, state, and the frontiers before and after, to output and new state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.plan import Operator, Plan
from tidegate.spark.loops.rounds import Least
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.accumulate import cells_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.accumulated import accumulated, fresh_cells, kept_as_cells, merged_state
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.frontiers import Frontier, newly_complete
from tidegate.spark.streaming.lateness import revised, still_open, takes_late, windowed_schema
from tidegate.spark.streaming.looped import go_round, merged_known
from tidegate.spark.streaming.resumed import resume
from tidegate.spark.streaming.retention import PER_TIME, retained
from tidegate.spark.streaming.state import State, empty_rows, read_parts, write_part
from tidegate.spark.streaming.warm import Warm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Rows", "Step", "fold", "holds", "let_go", "ports"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a step; ``empty`` if it is known without looking that there are none."""

    frame: DataFrame
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What the operators of a step share: its number, the end of file names that are its own, and types by operator."""

    number: int
    suffix: str
    flow: Plan
    files: Files
    runtime: Runtime
    schemas: dict[str, StructType]
    ended: bool
    #: The paths of state that this step was given; those that its commit does not name can go.
    made: set[str] = field(default_factory=set)
    #: Large parts of state that are read again and again.
    warm: Warm = field(default_factory=Warm)
    #: Called by loops after each round, with its number and the least time of what is fresh; None: nothing is.
    watch: Callable[[plan.Iterate, int, Least | None], None] = lambda loop, number, least: None  # noqa: ARG005
    #: Late rows that windows take, by the operator.
    late: dict[str, DataFrame] = field(default_factory=dict)

    def path(self, key: str, port: int, kind: str) -> str:
        """Answer a path for state that no other attempt writes to."""
        path = f"state/{key}/{port}/{self.number}-{kind}-{self.suffix}"
        self.made.add(path)
        return path


def holds(operator: Operator) -> bool:
    """Answer whether an operator holds rows until times are complete; a join with a table does not."""
    return operator.stateful and bool(operator.schema.time) and not getattr(operator, "with_table", False)


def ports(operator: Operator) -> int:
    """Answer how many states an operator has: one for each input, and one more for what has become of its rows."""
    more = isinstance(operator, plan.Process | plan.Iterate) or kept_as_cells(operator)
    return len(operator.inputs) + more


def let_go(
    step: Step, operator: Operator, key: str, given: list[Rows], states: list[State], old: Frontier, new: Frontier
) -> tuple[Rows, list[State]]:
    """Take in new rows, and answer for the times that became complete."""
    if takes_late(operator):
        fresh = None if given[0].empty else given[0].frame
        answers, state = revised(step, operator, key, fresh, states[0], old, new)
        if answers is None:
            return Rows(empty_rows(step.runtime, step.schemas[operator.id]), empty=True), [state]
        return Rows(answers), [state]
    tables = {i for i, stream in enumerate(step.flow.inputs(operator)) if not stream.schema.time}
    grown = [
        state
        if rows.empty or i in tables
        else state.grown(write_part(step.files, step.runtime, rows.frame, step.path(key, i, "new")))
        for i, (rows, state) in enumerate(zip(given, states, strict=False))
    ]
    grown += states[len(given) :]
    moved = old != new
    nothing = not (moved and any(state.rows for state in grown))
    if nothing:
        return Rows(empty_rows(step.runtime, step.schemas[operator.id]), empty=True), grown
    if isinstance(operator, plan.Iterate):
        also = {operator.names[i]: given[i].frame for i in tables}
        answers, grown = go_round(step, operator, key, grown, also, old, new)
        none = Rows(empty_rows(step.runtime, step.schemas[operator.id]), empty=True)
        return none if answers is None else Rows(answers), grown
    schemas = [step.schemas[name] for name in operator.inputs]
    held = [
        read_parts(step.files, step.runtime, state.parts, schema)
        for state, schema in zip(grown[: len(given)], schemas, strict=True)
    ]
    if isinstance(operator, plan.Process):
        return _processed(step, operator, key, held[0], grown, old, new)
    if isinstance(operator, plan.Accumulate) and kept_as_cells(operator):
        return _accumulated(step, operator, key, held[0], grown, old, new)
    inputs = step.flow.inputs(operator)
    runtime = step.runtime
    if isinstance(operator, PER_TIME):
        cut = [
            rows.where(runtime.expr(newly_complete(i.schema, old, new))) for rows, i in zip(held, inputs, strict=True)
        ]
        return Rows(lower_operator(operator, runtime, *cut)), grown
    if _cheap_to_cut(operator):
        held = [
            retained(operator, port, i.schema, runtime, rows, old)
            for port, (rows, i) in enumerate(zip(held, inputs, strict=True))
        ]
    answers = lower_operator(operator, runtime, *held)
    return Rows(answers.where(runtime.expr(newly_complete(operator.schema, old, new)))), grown


def _cheap_to_cut(operator: Operator) -> bool:
    return isinstance(getattr(operator, "frame", None), plan.WindowFrame)


def _processed(
    step: Step,
    operator: plan.Process,
    key: str,
    pending: DataFrame,
    states: list[State],
    old: Frontier,
    new: Frontier,
) -> tuple[Rows, list[State]]:
    runtime = step.runtime
    fresh = pending.where(runtime.expr(newly_complete(step.flow.inputs(operator)[0].schema, old, new)))
    done = fresh.withColumn("__done", runtime.expr(f"{step.number}L"))
    part = write_part(step.files, runtime, done, step.path(key, 1, "done"))
    states = [states[0], states[1].grown(part)]
    if not states[1].rows or not (part.rows or step.ended):
        return Rows(empty_rows(runtime, step.schemas[operator.id]), empty=True), states
    history = read_parts(step.files, runtime, states[1].parts, done.schema)
    return Rows(resume(operator, runtime, history, step.number, old, ended=step.ended)), states


def _accumulated(
    step: Step,
    operator: plan.Accumulate,
    key: str,
    pending: DataFrame,
    states: list[State],
    old: Frontier,
    new: Frontier,
) -> tuple[Rows, list[State]]:
    runtime, files = step.runtime, step.files
    schema = step.flow.inputs(operator)[0].schema
    rows, cells = fresh_cells(operator, schema, runtime, pending, old, new)
    part = write_part(files, runtime, cells, step.path(key, 1, "cells"))
    if not part.rows:
        return Rows(empty_rows(runtime, step.schemas[operator.id]), empty=True), states
    before = read_parts(files, runtime, states[1].parts, cells.schema)
    fresh = read_parts(files, runtime, [part], cells.schema)
    return Rows(accumulated(operator, runtime, rows, before, fresh, old)), [states[0], states[1].grown(part)]


def fold(step: Step, operator: Operator, key: str, states: list[State], frontier: Frontier) -> list[State]:
    """Write new bases of what is still needed, where the deltas have grown."""
    folded = []
    for port, state in enumerate(states):
        if not state.wants_folding:
            folded.append(state)
            continue
        runtime, files = step.runtime, step.files
        if takes_late(operator):
            given = step.flow.inputs(operator)[port]
            rows = read_parts(files, runtime, state.parts, windowed_schema(step.schemas[given.id]))
            rows = still_open(operator, given.schema, runtime, rows, frontier)
        elif port < len(operator.inputs):
            given = step.flow.inputs(operator)[port]
            rows = read_parts(files, runtime, state.parts, step.schemas[given.id])
            rows = retained(operator, port, given.schema, runtime, rows, frontier)
        elif isinstance(operator, plan.Accumulate):
            none = empty_rows(runtime, step.schemas[operator.inputs[0]])
            rows = read_parts(files, runtime, state.parts, cells_of(operator, runtime, none).schema)
            rows = merged_state(operator, runtime, none, rows, frontier)
        elif isinstance(operator, plan.Iterate):
            rows = read_parts(files, runtime, state.parts, step.schemas[operator.id])
            rows = merged_known(operator, runtime, rows)
        else:
            # What `process` has played is needed to the end.
            done = step.schemas[operator.inputs[0]]
            rows = read_parts(files, runtime, state.parts, _with_done(done))
        base = write_part(files, runtime, rows, step.path(key, port, "base"))
        folded.append(State(base) if base.rows else State())
    return folded


def _with_done(schema: StructType) -> StructType:
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*schema.fields, StructField("__done", LongType())])
