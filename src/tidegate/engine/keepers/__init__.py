"""What operators keep between steps, one module for each kind of state. Only this module maps operators to keepers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.engine.keepers.accumulated import AllCells, AllRows, FirstRows
from tidegate.engine.keepers.early_pairs import EarlyPairs
from tidegate.engine.keepers.intervals import RowsInIntervals
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, Keeper, StepInput, Types
from tidegate.engine.keepers.last_rows import LastKept, LatestRight
from tidegate.engine.keepers.loops import LoopFacts
from tidegate.engine.keepers.per_time import CellsPerTime, JoinedPerTime, RowsPerTime
from tidegate.engine.keepers.processed import CopyStates, ReplayedRows
from tidegate.engine.keepers.resumed import Memory, memory_of
from tidegate.engine.keepers.revised import RevisedWindows
from tidegate.engine.keepers.revised_joins import RevisedJoins
from tidegate.engine.keepers.sessions import RowsInSessions
from tidegate.engine.keepers.windows import CellsInWindows, FirstInWindows, JoinedInWindows, RowsInWindows
from tidegate.engine.lowering.cells import mergeable
from tidegate.flow import plan
from tidegate.flow.errors import NotSupported
from tidegate.flow.one_sided import unfailing_columns
from tidegate.flow.plan import CalendarFrame, Plan, PlanOperator, SessionFrame, WindowFrame
from tidegate.flow.schema import Schema

__all__ = ["Answer", "FrontierMove", "HeldState", "Keeper", "Memory", "StepInput", "Types", "keepers_of"]


def keepers_of(flow: Plan, *, allow_pickle: bool = False) -> dict[str, Keeper[Any]]:
    """Return the keepers of all operators with state, by operator id.

    ``allow_pickle`` allows `process` to keep the user's objects as pickles.
    """
    found = {}
    for operator in flow:
        if operator.keeps_state:
            found[operator.id] = _keeper(flow, operator, allow_pickle=allow_pickle)
    return found


def _keeper(flow: Plan, operator: PlanOperator, *, allow_pickle: bool) -> Keeper[Any]:
    inputs = [given.schema for given in flow.inputs(operator)]
    match operator:
        case plan.Aggregate(aggregation=aggregation) if mergeable(aggregation):
            return CellsPerTime(operator, inputs)
        case plan.Gate() | plan.Aggregate() | plan.Distinct():
            return RowsPerTime(operator, inputs)
        case plan.Join():
            return JoinedPerTime(operator, inputs, columns=_unfailing(flow, operator))
        case plan.WindowAggregate(aggregation=aggregation):
            return _windows(
                operator,
                inputs,
                operator.frame,
                aggregation.by,
                small=CellsInWindows if mergeable(aggregation) else None,
            )
        case plan.WindowApply(by=by):
            return _windows(operator, inputs, operator.frame, by)
        case plan.WindowTop(by=by):
            fixed = isinstance(operator.frame, WindowFrame)
            return _windows(operator, inputs, operator.frame, by, small=FirstInWindows if fixed else None)
        case plan.WindowJoin(frame=frame, early=early):
            if frame.lateness:
                return RevisedJoins(operator, inputs, frame)
            matching = EarlyPairs if early else JoinedInWindows
            return matching(operator, inputs, frame, columns=_unfailing(flow, operator))
        case plan.Accumulate(aggregation=aggregation):
            return (AllCells if mergeable(aggregation) else AllRows)(operator, inputs)
        case plan.Top():
            return FirstRows(operator, inputs)
        case plan.Deduplicate():
            return LastKept(operator, inputs)
        case plan.IntervalJoin():
            return RowsInIntervals(operator, inputs, columns=_unfailing(flow, operator))
        case plan.JoinAsof():
            return LatestRight(operator, inputs)
        case plan.Process():
            memory = memory_of(operator, allow_pickle=allow_pickle)
            return (ReplayedRows if memory is Memory.ROWS else CopyStates)(operator, inputs, memory)
        case plan.Iterate():
            return LoopFacts(operator, inputs)
    raise NotSupported(f"runs on streams have no rule for what {operator.verb} keeps")


def _unfailing(flow: Plan, operator: PlanOperator) -> list[frozenset[str]]:
    return [unfailing_columns(flow, name) for name in operator.inputs]


def _windows(
    operator: Any,
    inputs: Sequence[Schema],
    frame: WindowFrame | CalendarFrame | SessionFrame,
    by: Any,
    *,
    small: type[RowsInWindows[Any]] | None = None,
) -> Keeper[Any]:
    """Return the keeper of an operator over windows.

    ``small`` is the keeper for operators that need only partial aggregates, or only the first rows.
    """
    match frame:
        case SessionFrame():
            return RowsInSessions(operator, inputs, frame, by)
        case WindowFrame(lateness=0) | CalendarFrame():
            return (small or RowsInWindows)(operator, inputs, frame)
    return RevisedWindows(operator, inputs, frame, by)
