"""What an operator does to times: the least change from a row to an answer that it takes part in."""

from __future__ import annotations

from typing import Any

from tidegate.flow.plan import Operator, SessionFrame, WindowAggregate, WindowApply
from tidegate.flow.schema import Schema
from tidegate.flow.spans import span_value

__all__ = ["summary_of"]


def summary_of(operator: Operator, schema: Schema) -> Any:
    """Answer the summary along an operator, in the summaries of its order; ``schema`` is that of its input.

    It is neutral for all but sessions, whose answer is at least a gap less one unit later. The answer of a window is
    later by as much as is left of it, which for its last unit is nothing.
    """
    summaries = schema.order.summaries
    if not isinstance(operator, WindowAggregate | WindowApply) or not isinstance(operator.frame, SessionFrame):
        return summaries.neutral
    later = span_value(operator.frame.gap - 1, schema[operator.frame.over].type or "")
    if len(schema.time) == 1:
        return later
    return tuple(
        later if name == operator.frame.over else part
        for name, part in zip(schema.time, summaries.neutral, strict=True)
    )
