"""Aggregate functions: one record for each, with all that is known of it. To add a function, add a record.

Everyone else looks functions up here. SQL is in templates. In those for Spark,

- ``{call}`` is the call as it was written, ``{f}`` its filter, ``{x}`` and ``{y}`` its first two arguments;
- ``{o}`` is a value that sorts rows; ``{at}`` is the same, but NULL where the call ignores ``{x}``;
- ``{values}`` is the list of all ``{x}`` in the order of rows;
- ``{a}`` and ``{b}`` are the columns of a partial result.

In those for DuckDB, ``{o}`` is the clause that sorts rows, ``{d}`` is ``DISTINCT`` if that was written, and ``{n}`` is
the filter that also leaves out rows in which ``{x}`` is NULL.

>>> AGGREGATE_FUNCTIONS["every"].names, AGGREGATE_FUNCTIONS["every"].type
(('bool_and', 'every'), 'BOOLEAN')
"""

from tidegate.flow.aggregate_functions.record import AS_WRITTEN, AggregateFunction, LoopRule, PartialForm, TypeRule
from tidegate.flow.aggregate_functions.table import AGGREGATE_FUNCTIONS, function_of_node, loop_rule, same_type

__all__ = [
    "AGGREGATE_FUNCTIONS",
    "AS_WRITTEN",
    "AggregateFunction",
    "LoopRule",
    "PartialForm",
    "TypeRule",
    "function_of_node",
    "loop_rule",
    "same_type",
]
