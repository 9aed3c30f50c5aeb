"""What is known of an aggregate function: the record, and the forms that it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = ["AS_WRITTEN", "AggregateFunction", "LoopRule", "PartialForm", "TypeRule"]

#: From the type of the first argument to the type of the result; None if only Spark knows it.
TypeRule: TypeAlias = Callable[[str | None], str | None]

#: The form in DuckDB of a function that is written there as in Spark.
AS_WRITTEN: Final = "{call}"


@dataclass(frozen=True, slots=True)
class PartialForm:
    """Partial results, two of which can be merged into one: state grows with the number of groups, not of rows.

    Each of ``parts`` is a column: how it is computed from rows, and how from other partial results. ``finish``
    computes the result from them. ``type``, if given, is the only type of result for which this is right. ``merge`` is
    the function that merges two final results, if that is possible.
    """

    parts: tuple[tuple[str, str], ...]
    finish: str
    type: str | None = None
    merge: str = ""


@dataclass(frozen=True, slots=True)
class LoopRule:
    """How a loop merges facts, in any order and any number of times. Only functions that allow this have such a rule.

    ``takes`` says which types it is for, and ``fits`` whether a type is one of them. ``sql`` merges in Spark:
    ``{function}`` is the function's name, ``{fields}`` are the columns by which facts
    are compared. ``merge`` does the same in Python with values that are not NULL. ``by`` is for functions that take
    their value from the fact that another column picks: it is the function by which that column has to be kept.
    """

    takes: str
    fits: Callable[[str], bool]
    sql: str
    merge: Callable[[list[Any]], Any]
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    """What is known of an aggregate function; the defaults are right if only its name is known."""

    #: What it is called in Spark: the usual name first.
    names: tuple[str, ...]
    #: The parser's classes for calls of it; a call without a class is known by its name.
    nodes: tuple[str, ...] = ()
    #: The type of its result, or the rule for it; None if only Spark knows it.
    type: str | TypeRule | None = None
    #: Whether its result depends on the order of rows: it sees them sorted by time, then by all columns.
    order_sensitive: bool = False
    #: Whether it lists values as they are, duplicates included.
    lists: bool = False
    #: Whether Spark computes it over a frame of rows.
    framed: bool = True
    #: The number of arguments of the calls that ``sorted`` and ``partial`` apply to; None if to any call.
    arguments: int | None = None
    #: A form for Spark whose result does not depend on how rows are partitioned; empty if that is so anyway.
    sorted: str = ""
    #: Words after the parenthesis with which a call is left unchanged: ``WITHIN GROUP`` says how rows are sorted.
    unsorted_with: tuple[str, ...] = ()
    #: What is kept in place of rows; None if there is nothing smaller.
    partial: PartialForm | None = None
    #: Whether its result is one of the values, unchanged.
    picks: bool = False
    #: Its form in DuckDB; empty if none is known to mean the same. A test compares them on values. ``{x}`` and ``{y}``
    #: are its arguments, ``{o}`` the order of rows, ``{d}`` is DISTINCT, ``{f}`` the filter, ``{n}`` and ``{w}`` are
    #: that without rows in which x or y is NULL, ``{k}`` compares by y and then by the order of rows, and ``{v}`` is
    #: the window.
    duckdb: str = ""
    #: The kinds of arguments for which the form in DuckDB is known to agree: see `tidegate.flow.agreed.kinds`. One with
    #: ``?`` may be left out, one with ``…`` may come more often; others are refused.
    duckdb_takes: tuple[str, ...] = ()
    #: The type of its result where it is known to agree, if that is more than ``type`` says.
    duckdb_type: TypeRule | None = None
    #: For a function that compares its argument: the function of DuckDB that picks a value by another one.
    compares: str = ""
    #: How a loop keeps it; None if the result would depend on how often and in which order facts are found.
    loop: LoopRule | None = None

    @property
    def sees_order(self) -> bool:
        """Whether its form for Spark compares rows by their order, even if only among equal ones."""
        return any(mark in self.sorted for mark in ("{o}", "{at}", "{values}"))

    def takes(self, arguments: int) -> bool:
        """Whether the forms here apply to a call with this many arguments."""
        return self.arguments in (None, arguments)
