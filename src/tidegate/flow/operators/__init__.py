"""The operators of a plan: one frozen dataclass for each, with everything that an engine needs in resolved form.

Spans are in units of a time column, names are spelled as they were declared, and expressions are bound.
"""

from __future__ import annotations

from tidegate.flow.operators.held import Accumulate, Aggregate, Carry, Deduplicate, Distinct, Gate, Process
from tidegate.flow.operators.inputs import Source, Table
from tidegate.flow.operators.joins import IntervalJoin, Join, JoinAsof, WindowJoin
from tidegate.flow.operators.loops import Iterate
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.operators.ranked import Last, Latest, Top, WindowTop
from tidegate.flow.operators.rowwise import At, Explode, MapBatches, Restored, Select, Unfold, Union, Where
from tidegate.flow.operators.windows import CalendarFrame, SessionFrame, WindowAggregate, WindowApply, WindowFrame

__all__ = [
    "Accumulate",
    "Aggregate",
    "At",
    "CalendarFrame",
    "Carry",
    "Deduplicate",
    "Distinct",
    "Explode",
    "Gate",
    "IntervalJoin",
    "Iterate",
    "Join",
    "JoinAsof",
    "Last",
    "Latest",
    "MapBatches",
    "PlanOperator",
    "Process",
    "Restored",
    "Select",
    "SessionFrame",
    "Source",
    "Table",
    "Top",
    "Unfold",
    "Union",
    "Where",
    "WindowAggregate",
    "WindowApply",
    "WindowFrame",
    "WindowJoin",
    "WindowTop",
]
