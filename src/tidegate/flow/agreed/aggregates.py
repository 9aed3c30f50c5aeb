"""Calls of aggregate functions in DuckDB's SQL, for the argument types for which they give the same as in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.flow.aggregate_functions import AS_WRITTEN, AggregateFunction
from tidegate.flow.agreed.calls import LITERALS, literal_fits
from tidegate.flow.agreed.kinds import bind_kind, filled
from tidegate.flow.agreed.lists import key
from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.values import Value, cast

__all__ = ["STAR", "Aggregated", "aggregated", "filtered", "guarded", "prepared"]

#: The argument of ``count(*)``.
STAR = Value("*", "BIGINT", simple=True)


@dataclass(frozen=True, slots=True)
class Aggregated:
    """A call that can be written: its arguments, widened to types that agree; its type; whether it skips NULL."""

    arguments: tuple[Value, ...]
    type: str | None
    ignores_nulls: bool


def prepared(record: AggregateFunction, name: str, given: Sequence[Value], rest: str = "") -> Aggregated:
    """Return a call for DuckDB, or raise `MeaningDiffers` if the function may give something else there.

    ``given`` are the arguments, and ``rest`` is what follows the call: ``IGNORE NULLS`` or ``RESPECT NULLS``.
    """
    clause = rest.lower().strip()
    if (
        not record.duckdb
        or clause not in ("", "ignore nulls", "respect nulls")
        or (clause and not record.order_sensitive)
    ):
        raise MeaningDiffers(f"{name} {rest}".strip())
    types = ", ".join(value.type or "a value of unknown type" for value in given)
    if list(given) == [STAR]:
        if not _counts(record):
            raise MeaningDiffers(f"{name}(*)")
        return Aggregated((STAR,), "BIGINT", ignores_nulls=False)
    kinds = record.duckdb_takes
    required = [kind for kind in kinds if not kind.endswith("?")]
    many = bool(kinds) and kinds[-1].endswith("…")
    if len(given) < len(required) or (len(given) > len(kinds) and not many):
        raise MeaningDiffers(f"{name} with {len(given)} arguments")
    found = []
    for i, value in enumerate(given):
        kind = kinds[min(i, len(kinds) - 1)].rstrip("?…")
        wanted = _wanted(kind, value)
        if wanted == "":
            raise MeaningDiffers(f"{name}({types})")
        found.append(
            value if wanted is None or wanted == value.type else Value(cast(value.sql, wanted), wanted, value.fails)
        )
    flag = given[1].literal if len(given) > 1 and record.order_sensitive else None
    return Aggregated(tuple(found), _type(record, found[0].type), clause == "ignore nulls" or flag is True)


def _wanted(kind: str, value: Value) -> str | None:
    """Return the type to widen an argument to, None if it stays as it is, or '' if it is not of this kind."""
    if kind in LITERALS:
        return None if literal_fits(kind, value.literal) else ""
    for one in kind.split("|"):
        bound: dict[str, str | None] = {}
        if bind_kind(one, value.type, bound):
            return filled(one, bound)
    return ""


def _type(record: AggregateFunction, first: str | None) -> str | None:
    rule = record.duckdb_type or record.type
    return rule(first) if callable(rule) else rule


def aggregated(
    record: AggregateFunction,
    call: Aggregated,
    *,
    distinct: bool,
    chosen: Sequence[str],
    tie: str,
    order: str,
    over: str = "",
) -> str:
    """Return a call in DuckDB's SQL.

    ``chosen`` are the conditions that rows must meet to count. ``order`` is the clause that sorts the rows, and ``tie``
    the expression that decides between rows that are otherwise equal. ``over`` is the clause of a window function.
    """
    call = replace(call, arguments=tuple(guarded(value, chosen) for value in call.arguments))
    x = call.arguments[0]
    known = [*chosen, f"{x.sql} IS NOT NULL"]
    rows = known if call.ignores_nulls else list(chosen)
    if record.compares and x.type and key(x.sql, x.type) != x.sql:
        return f"{record.compares}({x.sql}, {key(x.sql, x.type)}){filtered(rows)}{over}"
    quantifier = "DISTINCT " if distinct else ""
    if record.duckdb == AS_WRITTEN:
        arguments = ", ".join(value.sql for value in call.arguments)
        if len(call.arguments) > 1 and _counts(record):
            # A row counts if no argument is NULL.
            full = " AND ".join(f"{value.sql} IS NOT NULL" for value in call.arguments)
            fields = ", ".join(f"'a{i}': {value.sql}" for i, value in enumerate(call.arguments))
            arguments = f"CASE WHEN {full} THEN {{{fields}}} END"
        return f"{record.names[0]}({quantifier}{arguments}){filtered(rows)}{over}"
    y = call.arguments[1] if len(call.arguments) > 1 else Value("''", "STRING")
    by = key(y.sql, y.type or "")
    return record.duckdb.format(
        x=x.sql,
        y=y.literal if "share" in record.duckdb_takes else y.sql,
        k=f"{{'y': {by}, 'o': {tie}}}" if tie else by,
        w=filtered([*rows, f"{y.sql} IS NOT NULL"]),
        v=over,
        o=f"ORDER BY {x.sql}" if distinct else order,
        d=quantifier,
        f=filtered(rows),
        n=filtered(known),
    )


def guarded(value: Value, chosen: Sequence[str]) -> Value:
    """Return an argument that is computed only for rows that count.

    DuckDB computes arguments before it filters, so one that fails on other rows would fail the query.
    """
    if not chosen or not value.fails:
        return value
    met = " AND ".join(f"({condition})" for condition in chosen)
    return replace(value, sql=f"CASE WHEN {met} THEN {value.sql} END")


def _counts(record: AggregateFunction) -> bool:
    """Whether a function takes any number of arguments, and ``*``."""
    return bool(record.duckdb_takes) and record.duckdb_takes[-1].endswith("…")


def filtered(conditions: Sequence[str]) -> str:
    """Return the FILTER clause for conditions; an empty text if there are none."""
    return f" FILTER (WHERE {' AND '.join(f'({c})' for c in conditions)})" if conditions else ""
