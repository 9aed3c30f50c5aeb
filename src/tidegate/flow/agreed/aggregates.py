"""Calls of aggregate functions in DuckDB's SQL: of which types they are known to agree, by the records of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.flow.aggregate_functions import AS_WRITTEN, AggregateFunction
from tidegate.flow.agreed.calls import LITERALS, literal_fits
from tidegate.flow.agreed.kinds import bind_kind, filled
from tidegate.flow.agreed.lists import key
from tidegate.flow.agreed.values import Value, cast

__all__ = ["STAR", "Aggregated", "Unsuited", "aggregated", "filtered", "guarded", "prepared"]

#: What ``count(*)`` is given.
STAR = Value("*", "BIGINT", simple=True)


class Unsuited(ValueError):
    """Arguments for which a function is not known to agree; it says which."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The arguments of a call, widened to the types that it is known for; its type; and whether NULL is passed over."""

    arguments: tuple[Value, ...]
    type: str | None
    ignores_nulls: bool


def prepared(record: AggregateFunction, name: str, given: Sequence[Value], rest: str = "") -> Aggregated:
    """Return the arguments of a call for DuckDB, or raise if the function is not known to agree for them."""
    clause = rest.lower().strip()
    if (
        not record.duckdb
        or clause not in ("", "ignore nulls", "respect nulls")
        or (clause and not record.order_sensitive)
    ):
        raise Unsuited(f"{name} {rest}".strip())
    said = ", ".join(value.type or "a value of unknown type" for value in given)
    if list(given) == [STAR]:
        if not _counts(record):
            raise Unsuited(f"{name}(*)")
        return Aggregated((STAR,), "BIGINT", ignores_nulls=False)
    kinds = record.duckdb_takes
    required = [kind for kind in kinds if not kind.endswith("?")]
    many = bool(kinds) and kinds[-1].endswith("…")
    if len(given) < len(required) or (len(given) > len(kinds) and not many):
        raise Unsuited(f"{name} with {len(given)} arguments")
    found = []
    for i, value in enumerate(given):
        kind = kinds[min(i, len(kinds) - 1)].rstrip("?…")
        wanted = _wanted(kind, value)
        if wanted == "":
            raise Unsuited(f"{name}({said})")
        found.append(
            value if wanted is None or wanted == value.type else Value(cast(value.sql, wanted), wanted, value.fails)
        )
    flag = given[1].literal if len(given) > 1 and record.order_sensitive else None
    return Aggregated(tuple(found), _type(record, found[0].type), clause == "ignore nulls" or flag is True)


def _wanted(kind: str, value: Value) -> str | None:
    """Return the type to which an argument is widened, None if it stays; nothing if it is not of the kind."""
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

    ``chosen`` are conditions of rows, ``tie`` is by what rows are compared that are otherwise equal, ``order`` is the
    clause that sorts them.
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
            # Rows count in which no argument is NULL.
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
    """Return an argument that is computed for chosen rows only: DuckDB computes arguments before it chooses."""
    if not chosen or not value.fails:
        return value
    met = " AND ".join(f"({condition})" for condition in chosen)
    return replace(value, sql=f"CASE WHEN {met} THEN {value.sql} END")


def _counts(record: AggregateFunction) -> bool:
    """Whether it takes any number of arguments, and the star."""
    return bool(record.duckdb_takes) and record.duckdb_takes[-1].endswith("…")


def filtered(conditions: Sequence[str]) -> str:
    """Return the clause that chooses rows, if there are conditions."""
    return f" FILTER (WHERE {' AND '.join(f'({c})' for c in conditions)})" if conditions else ""
