"""Other operators that look across times: deduplication, as-of joins, and the user's own operators."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.engine.calls import call
from tidegate.engine.functions import ORDER, check_given
from tidegate.engine.lowering.chains import UNTIL, remembered
from tidegate.engine.processing import processed
from tidegate.engine.relation import Relation, as_they_are
from tidegate.engine.types import same_types
from tidegate.engine.units import to_units, units_of
from tidegate.flow import plan
from tidegate.flow.schema import Column
from tidegate.flow.sqltypes import literal, quoted

__all__ = ["answer_columns", "by_key", "declared", "deduplicate", "join_asof", "process", "same_as_given"]


def deduplicate(operator: plan.Deduplicate, rows: Relation) -> Relation:
    """Return the first row of each key.

    With ``within``, also return each row that comes at least that long after the last row that was returned.
    """
    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.by)}
    keys |= {f"__o{i}": quoted(name) for i, name in enumerate(operator.schema.time) if name != operator.over}
    names = rows.names
    whole = f"named_struct({', '.join(f'{literal(name)}, {quoted(name)}' for name in names)})"
    at = units_of(operator.schema, operator.over)
    order = [quoted(operator.over), *(sql for sql in rows.order if sql != quoted(operator.over))]
    if operator.forget is not None:
        rows, keys = remembered(rows.with_columns(keys), at, operator.forget, list(keys)), as_they_are([*keys, UNTIL])
    if operator.within is None:
        least = rows.group(keys, {"__row": call("first", whole)}, order=order)
        return least.select({name: f"__row.{quoted(name)}" for name in names})
    # This is one pass over the sorted rows of a key, and only the rows that are kept are copied.
    found = rows.group(keys, {"__rows": call("collect_list", f"struct({at} AS at, {whole} AS row)")}, order=order)
    nothing = "named_struct('last', CAST(NULL AS BIGINT), 'kept', slice(__rows, 1, 0))"
    fresh = f"__a.last IS NULL OR __r.at >= __a.last + {operator.within}L"
    keep = "named_struct('last', __r.at, 'kept', concat(__a.kept, array(__r)))"
    kept = f"aggregate(__rows, {nothing}, (__a, __r) -> IF({fresh}, {keep}, __a)).kept"
    each = found.select({"__kept": kept}).explode("__kept", "__kept")
    return each.select({name: f"__kept.row.{quoted(name)}" for name in names})


def join_asof(operator: plan.JoinAsof, left: Relation, right: Relation) -> Relation:
    """Return each left row with the latest right row at or below it."""
    same_types(operator, left, right, operator.on)
    schema, over = operator.schema, operator.over
    keys = {f"__k{i}": quoted(name) for i, name in enumerate(operator.on)}
    keys |= {f"__o{i}": quoted(name) for i, name in enumerate(schema.time) if name != over}
    keyed = keys | {"__at": quoted(over)}
    own = {f"__l{i}": quoted(name) for i, name in enumerate(operator.left_columns)}
    # If several right rows are at one time, the greatest counts.
    carried = ", ".join(f"{literal(name)}, {quoted(name)}" for name in (over, *operator.right_columns))
    ties = _ties(right, operator.right_columns)
    rights = right.select(keyed | {"__found": f"named_struct({carried})"} | ties)
    found = left.select(keyed | own).as_of(rights, list(keys), "__at", "__found", list(ties) or ["__found"])
    # A NULL key matches nothing.
    allowed = [f"__k{i} IS NOT NULL" for i in range(len(operator.on))]
    if operator.within is not None:
        type_ = schema[over].type or ""
        age = f"{to_units('__at', type_)} - {to_units(f'__found.{quoted(over)}', type_)}"
        allowed.append(f"{age} <= {operator.within}L")
    if allowed:
        found = found.with_columns({"__found": f"IF({' AND '.join(allowed)}, __found, NULL)"})
    if operator.how == "inner":
        found = found.where("__found IS NOT NULL")
    columns = {name: "__at" if name == over else f"__o{i}" for i, name in enumerate(schema.time)}
    columns |= {name: f"__k{i}" for i, name in enumerate(operator.on)}
    columns |= dict(zip(operator.left_columns, own, strict=True))
    return found.select(columns | {name: f"__found.{quoted(name)}" for name in operator.right_columns})


def _ties(rows: Relation, names: Sequence[str]) -> dict[str, str]:
    """Return columns to sort by if the carried value itself has no order, as maps do."""
    chosen = [sql for name, sql in zip(rows.names, rows.order, strict=True) if name in names]
    if chosen == [quoted(name) for name in rows.names if name in names]:
        return {}
    return {f"__s{i}": sql for i, sql in enumerate(chosen)}


def process(operator: plan.Process, rows: Relation) -> Relation:
    """Return the answers of the user's operator.

    There is one copy for each key, and it is given the rows of the key in an order that extends the order of time.
    """
    check_given(rows.columns)
    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.by)}
    keyed, groups = rows.with_columns(keys), list(keys)
    if operator.forget is not None:
        at = units_of(operator.schema, operator.schema.time[0])
        keyed, groups = remembered(keyed, at, operator.forget, groups), [*groups, UNTIL]
    given = by_key(keyed, groups, rows.order)
    function = processed(operator, rows.columns, declared(operator))
    answers = given.map_arrow(function, declared(operator), same_as_given(operator), by=groups)
    return answers.select(answer_columns(operator))


def by_key(rows: Relation, keys: Sequence[str], order: Sequence[str]) -> Relation:
    """Return rows with those of a key together, in the given order; the column `ORDER` numbers them."""
    return rows.over({ORDER: call("row_number")}, keys, order)


def declared(operator: plan.Process) -> list[Column]:
    """Return the columns that the user declared."""
    return [operator.schema[name] for name in operator.columns]


def same_as_given(operator: plan.Process) -> list[str]:
    """Return the columns that the Python function returns as they were given to it: time and key."""
    return [*operator.schema.time, *(f"__k{i}" for i in range(len(operator.by)))]


def answer_columns(operator: plan.Process) -> dict[str, str]:
    """Return SQL for the columns of the result, from what the Python function returns."""
    columns = as_they_are(operator.schema.time)
    columns |= {e.name: f"__k{i}" for i, e in enumerate(operator.by)}
    return columns | as_they_are(operator.columns)
