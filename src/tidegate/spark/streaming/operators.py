"""One operator in one step: from new rows, state, and the frontiers before and after, to output and new state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.flow import plan
from tidegate.flow.plan import Operator, Plan, WindowFrame
from tidegate.spark.loops.rounds import Least
from tidegate.spark.lowering import lower_operator
from tidegate.spark.lowering.cells import mergeable
from tidegate.spark.lowering.panes import cells_in_panes, merged_panes, pane_answers
from tidegate.spark.lowering.units import units_of
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.accumulated import (
    FEW,
    accumulated,
    few_cells,
    folded_cells,
    kept_as_cells,
    may_be_fresh,
    waiting_cells,
    waiting_times,
)
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.frontiers import Frontier, newly_complete
from tidegate.spark.streaming.lateness import revised, still_open, takes_late, windowed_schema
from tidegate.spark.streaming.looped import go_round, merged_known
from tidegate.spark.streaming.resumed import Memory, latest, memory_of, memory_type, replayed, resumed, states_of
from tidegate.spark.streaming.retention import PER_TIME, due, outlived, retained, retained_apart
from tidegate.spark.streaming.state import Part, State, empty_rows, fold_from, read_parts, write_part
from tidegate.spark.streaming.warm import Warm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Rows", "Step", "fold", "held_schemas", "holds", "let_go", "let_go_late", "ports", "take_in"]


#: So few rows are not worth a second task.
_FEW_IN_ALL = 1000


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
    schemas: Mapping[str, StructType]
    #: The columns of the state of each operator, input by input.
    held: Mapping[str, Sequence[StructType]]
    ended: bool
    #: Whether what copies of the user's operators know may be pickled.
    allow_pickle: bool = False
    #: The paths of state that this step was given; those that its commit does not name can go.
    made: set[str] = field(default_factory=set)
    #: Large parts of state that are read again and again.
    warm: Warm = field(default_factory=Warm)
    #: Called by loops after each round, with its number and the least time of what is fresh; None: nothing is.
    watch: Callable[[plan.Iterate, int, Least | None], None] = lambda loop, number, least: None  # noqa: ARG005
    #: Late rows that windows take, by the operator.
    late: dict[str, DataFrame] = field(default_factory=dict)
    #: What is kept in memory until the step is over.
    persisted: list[DataFrame] = field(default_factory=list)

    def path(self, key: str, port: int, kind: str) -> str:
        """Answer a path for state that no other attempt writes to."""
        path = f"state/{key}/{port}/{self.number}-{kind}-{self.suffix}"
        self.made.add(path)
        return path


def holds(operator: Operator) -> bool:
    """Answer whether an operator holds rows until times are complete; a join with a table does not."""
    return operator.stateful and bool(operator.schema.time) and not getattr(operator, "with_table", False)


def ports(operator: Operator) -> int:
    """Answer how many states an operator has: one for each input, and one more for what it knows besides."""
    return len(operator.inputs) + isinstance(operator, plan.Process | plan.Iterate)


def kept_in_panes(operator: Operator) -> bool:
    """Answer whether an operator keeps partial aggregates of each group in each pane, and no rows."""
    match operator:
        case plan.Aggregate(aggregation=aggregation):
            return mergeable(aggregation)
        case plan.WindowAggregate(frame=WindowFrame(lateness=0), aggregation=aggregation):
            return mergeable(aggregation)
    return False


def held_schemas(
    flow: Plan, runtime: Runtime, schemas: Mapping[str, StructType], *, allow_pickle: bool
) -> dict[str, list[StructType]]:
    """Answer the columns of the state of each operator, input by input, from the columns of all operators."""
    found = {}
    for operator in flow:
        if holds(operator):
            given = [empty_rows(runtime, schemas[name]) for name in operator.inputs]
            found[operator.id] = [_kept(operator, runtime, rows).schema for rows in given]
            if takes_late(operator):
                found[operator.id] = [windowed_schema(rows.schema) for rows in given]
            if isinstance(operator, plan.Process):
                memory = memory_of(operator, allow_pickle=allow_pickle)
                found[operator.id].append(memory_type(operator, memory, runtime, given[0]))
            elif isinstance(operator, plan.Iterate):
                found[operator.id].append(schemas[operator.id])
    return found


def take_in(step: Step, operator: Operator, key: str, port: int, rows: DataFrame, state: State) -> State:
    """Add new rows of an input to its state."""
    path = step.path(key, port, "new")
    kept = _kept(operator, step.runtime, rows)
    return state.grown(write_part(step.files, step.runtime, kept, path, _waiting(step, operator, port)))


def _kept(operator: Operator, runtime: Runtime, rows: DataFrame) -> DataFrame:
    """Answer what is kept of new rows."""
    if isinstance(operator, plan.Accumulate) and kept_as_cells(operator):
        return waiting_cells(operator, runtime, rows)
    if isinstance(operator, plan.Aggregate | plan.WindowAggregate) and kept_in_panes(operator):
        return cells_in_panes(operator, runtime, rows)
    return rows


def _waiting(step: Step, operator: Operator, port: int) -> list[str]:
    """Answer the times of what waits, in units; none if parts are not told apart by them."""
    if isinstance(operator, plan.Accumulate):
        return waiting_times(operator) if kept_as_cells(operator) else []
    if port >= len(operator.inputs):
        return []
    schema = step.flow.inputs(operator)[port].schema
    return [units_of(schema, name) for name in schema.time]


def let_go_late(
    step: Step, operator: Operator, key: str, rows: Rows, states: list[State], old: Frontier, new: Frontier
) -> tuple[Rows, list[State]]:
    """Take in new rows and late ones, and answer for windows that became complete or that late rows came into."""
    answers, state = revised(step, operator, key, None if rows.empty else rows.frame, states[0], old, new)
    return _nothing(step, operator) if answers is None else Rows(answers), [state]


def let_go(
    step: Step,
    operator: Operator,
    key: str,
    states: list[State],
    tables: Mapping[int, DataFrame],
    old: Frontier,
    new: Frontier,
) -> tuple[Rows, list[State]]:
    """Answer for the times that became complete, from what is held; ``tables`` are the inputs without times."""
    runtime = step.runtime
    if old == new or not any(state.rows for state in states):
        return _nothing(step, operator), states
    if isinstance(operator, plan.Iterate):
        also = {operator.names[port]: table for port, table in tables.items()}
        found, states = go_round(step, operator, key, states, also, old, new)
        return _nothing(step, operator) if found is None else Rows(found), states
    # At the end, copies of the user's operators may answer without rows.
    if not step.ended and not _due(step, operator, states, old, new):
        return _nothing(step, operator), states
    held = [
        _read(step, operator, state.parts, schema) for state, schema in zip(states, step.held[operator.id], strict=True)
    ]
    inputs = step.flow.inputs(operator)
    if isinstance(operator, plan.Process):
        return _processed(step, operator, key, held[0], states, old, new)
    if isinstance(operator, plan.Accumulate) and kept_as_cells(operator):
        parts = [part for part in states[0].parts if may_be_fresh(operator, part, old)]
        if not parts:
            return _nothing(step, operator), states
        newer = _read(step, operator, parts, step.held[operator.id][0])
        types = empty_rows(runtime, step.schemas[operator.inputs[0]])
        answers = accumulated(operator, runtime, types, held[0], newer, old, new, few=few_cells(parts))
        return Rows(answers), states
    if isinstance(operator, PER_TIME):
        held = [
            rows.where(runtime.expr(newly_complete(i.schema, old, new))) for rows, i in zip(held, inputs, strict=True)
        ]
    elif isinstance(getattr(operator, "frame", None), WindowFrame):
        held = [
            retained(operator, port, i.schema, runtime, rows, old)
            for port, (rows, i) in enumerate(zip(held, inputs, strict=True))
        ]
    if isinstance(operator, plan.Aggregate | plan.WindowAggregate) and kept_in_panes(operator):
        answers = pane_answers(operator, runtime, held[0], empty_rows(runtime, step.schemas[operator.inputs[0]]))
    else:
        answers = lower_operator(operator, runtime, *held)
    if not isinstance(operator, PER_TIME):
        answers = answers.where(runtime.expr(newly_complete(operator.schema, old, new)))
    return Rows(answers), states


def _read(step: Step, operator: Operator, parts: Sequence[Part], schema: StructType) -> DataFrame:
    """Answer the rows of some parts, few ones in one partition: one task is faster then, unless it runs Python."""
    rows = read_parts(step.files, step.runtime, parts, schema)
    few = sum(part.rows for part in parts) <= _FEW_IN_ALL
    return rows.coalesce(1) if few and not isinstance(operator, plan.Process | plan.WindowApply) else rows


def _due(step: Step, operator: Operator, states: Sequence[State], old: Frontier, new: Frontier) -> bool:
    """Answer whether something that is held may have an answer by now; most small steps end no window."""
    return any(
        part.first is None or due(operator, port, given.schema, old, new)(part.first)
        for port, (state, given) in enumerate(zip(states, step.flow.inputs(operator), strict=False))
        for part in state.parts
    )


def _nothing(step: Step, operator: Operator) -> Rows:
    return Rows(empty_rows(step.runtime, step.schemas[operator.id]), empty=True)


def _processed(
    step: Step,
    operator: plan.Process,
    key: str,
    pending: DataFrame,
    states: list[State],
    old: Frontier,
    new: Frontier,
) -> tuple[Rows, list[State]]:
    runtime, files = step.runtime, step.files
    memory = memory_of(operator, allow_pickle=step.allow_pickle)
    fresh = pending.where(runtime.expr(newly_complete(step.flow.inputs(operator)[0].schema, old, new)))
    schema = step.held[operator.id][1]
    if memory is not Memory.ROWS:
        known = read_parts(files, runtime, states[1].parts, schema)
        few = states[0].rows <= FEW
        result = resumed(operator, memory, runtime, fresh, known, old, few=few, ended=step.ended).persist()
        step.persisted.append(result)
        answers, knows = states_of(operator, runtime, result, step.number)
        if step.ended:
            return Rows(answers), states
        part = write_part(files, runtime, knows, step.path(key, 1, "known"))
        return Rows(answers, empty=not part.rows), [states[0], states[1].grown(part)]
    done = fresh.withColumn("__done", runtime.expr(f"{step.number}L"))
    part = write_part(files, runtime, done, step.path(key, 1, "done"))
    states = [states[0], states[1].grown(part)]
    if not states[1].rows or not (part.rows or step.ended):
        return _nothing(step, operator), states
    history = read_parts(files, runtime, states[1].parts, schema)
    return Rows(replayed(operator, runtime, history, step.number, old, ended=step.ended)), states


def fold(step: Step, operator: Operator, key: str, states: list[State], frontier: Frontier) -> list[State]:
    """Leave out the parts that are outlived, and write others anew as one where they have become many."""
    return [_folded(step, operator, key, port, state, frontier) for port, state in enumerate(states)]


def _folded(step: Step, operator: Operator, key: str, port: int, state: State, frontier: Frontier) -> State:
    runtime, files = step.runtime, step.files
    given = step.flow.inputs(operator)[port] if port < len(operator.inputs) else None
    if given is not None:
        state = state.without(outlived(operator, port, given.schema, frontier))
    first = fold_from(state.parts)
    if first == len(state.parts):
        return state
    if not retained_apart(operator):
        first = 0
    rows = _read(step, operator, state.parts[first:], step.held[operator.id][port])
    if isinstance(operator, plan.Accumulate) and kept_as_cells(operator):
        types = empty_rows(runtime, step.schemas[operator.inputs[0]])
        rows = folded_cells(operator, runtime, types, rows, frontier)
    elif given is not None and takes_late(operator):
        rows = still_open(operator, given.schema, runtime, rows, frontier)
    elif given is not None:
        rows = retained(operator, port, given.schema, runtime, rows, frontier)
        if isinstance(operator, plan.Aggregate | plan.WindowAggregate) and kept_in_panes(operator):
            rows = merged_panes(operator, runtime, rows, empty_rows(runtime, step.schemas[given.id]))
    elif isinstance(operator, plan.Iterate):
        rows = merged_known(operator, runtime, rows)
    elif isinstance(operator, plan.Process) and memory_of(operator, allow_pickle=step.allow_pickle) is not Memory.ROWS:
        rows = latest(runtime, rows)
    part = write_part(files, runtime, rows, step.path(key, port, "fold"), _waiting(step, operator, port))
    return State(state.parts[:first]).grown(part)
