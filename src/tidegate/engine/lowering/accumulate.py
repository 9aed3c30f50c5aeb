"""`accumulate`: aggregates over all rows at or below a time, by running windows and not by joining times with times.

On a total order, it is one running window over the rows themselves. With d time columns, the partial aggregates of each
time are put on the grid of the group (every combination of the values of its time columns). Then d running windows, one
along each column, add up everything at or below each cell, and each cell counts once. Finite orders are the exception:
they have few elements and maybe many axes, so their elements are joined in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from tidegate.engine.calls import call, finished, has_running_form, named_calls
from tidegate.engine.lowering.cells import cell_columns, cell_merges, mergeable, merged, with_results
from tidegate.engine.lowering.chains import UNTIL, remembered
from tidegate.engine.relation import Call, Relation, as_they_are
from tidegate.engine.units import from_units, to_units, units_of
from tidegate.flow import plan
from tidegate.flow.aggregates import Aggregation
from tidegate.flow.orders import PosetCoordinates
from tidegate.flow.sqltypes import literal, quoted

__all__ = ["accumulate", "answers_of", "cells_of", "counted_at", "merged_cells"]


def accumulate(operator: plan.Accumulate, rows: Relation) -> Relation:
    """Return, for each group, aggregates over all rows at or below a time."""
    calls = operator.aggregation.calls
    along_rows = len(operator.schema.time) == 1 and operator.emit == "update" and not operator.every
    if along_rows and all(map(has_running_form, calls)):
        return _running(operator, rows)
    return _on_grid(operator, rows)


def _running(operator: plan.Accumulate, rows: Relation) -> Relation:
    """Return the answers by a running window over the rows of each group; the last row of each time has the answer."""
    aggregation, time = operator.aggregation, quoted(operator.schema.time[0])
    keys = {f"__k{i}": e.sql for i, e in enumerate(aggregation.by)}
    keyed, groups = rows.with_columns(keys), list(keys)
    if operator.forget is not None:
        at = units_of(operator.schema, operator.schema.time[0])
        keyed, groups = remembered(keyed, at, operator.forget, groups), [*groups, UNTIL]
    # Sorting by all columns is expensive, and only calls that depend on the order of rows need it.
    ordered = any(call.order_sensitive for call in aggregation.calls)
    order = rows.order if ordered else [time]
    calls_and_next = named_calls(aggregation) | {"__next": call("lead", time)}
    run = keyed.over(calls_and_next, groups, order, so_far=True, ties=rows.order)
    calls = [call.name for call in aggregation.calls]
    run = run.select({"__t0": time} | as_they_are([*keys, *calls, "__next"]))
    return _finished(operator, run.where("__next IS NULL OR __next != __t0"))


@dataclass(frozen=True, slots=True)
class _Cells:
    """The columns of cells: how they are computed from rows, how they are merged, and what is computed from them."""

    of_rows: dict[str, Call]
    merged: dict[str, Call]
    then: dict[str, str] = field(default_factory=dict)


def _on_grid(operator: plan.Accumulate, rows: Relation) -> Relation:
    """Return the answers by partial aggregates in cells, and a running window over them along each time column."""
    return answers_of(operator, cells_of(operator, rows).with_columns({"__here": "__n"}), rows)


def cells_of(operator: plan.Accumulate, rows: Relation) -> Relation:
    """Return a cell for each group and time.

    It has the group ``__k…``, the time ``__t…``, the partial aggregates, and the number of rows.
    """
    keys, times = _axes(operator)
    return rows.group(keys | times, _kept(operator, rows).of_rows | {"__n": call("count", "*")})


def merged_cells(operator: plan.Accumulate, cells: Relation, rows: Relation, *apart: str) -> Relation:
    """Return cells with those merged that have the same group, time and columns ``apart``; ``__here`` is added up."""
    keys, times = _axes(operator)
    counts = {name: call("sum", name) for name in ("__n", "__here")}
    return merged(cells, [*keys, *times, *apart], cell_merges(operator.aggregation, rows) | counts)


def answers_of(operator: plan.Accumulate, found: Relation, rows: Relation) -> Relation:
    """Return the answers at each cell with rows of its own, which ``__here`` counts.

    With ``emit="complete"``, there is an answer for every group at each time with such a cell. ``rows`` gives the
    types.
    """
    keys, times = (list(names) for names in _axes(operator))
    kept = _kept(operator, rows)
    if operator.forget is not None:
        at = to_units("__t0", operator.schema.times[0].type or "")
        found, keys = remembered(found, at, operator.forget, keys), [*keys, UNTIL]
    merges = kept.merged | {"__n": call("sum", "__n")}
    if isinstance(operator.schema.coordinates, PosetCoordinates):
        answers = _by_pairs(operator, found, keys, times, _Cells(kept.of_rows, merges, kept.then))
        return _with_outputs(operator, answers, rows, [*keys, *times])
    cells = found
    if len(times) > 1 or operator.emit == "complete":
        cells = _grid(operator, found, keys, times)
    for name in times:
        others = [*keys, *(other for other in times if other != name)]
        # Each sum of decimals would have a wider type than the one before, so the type is kept.
        cells = cells.over(merges, others, [name], so_far=True, like=None if kept.then else found.shape)
        cells = cells.with_columns(kept.then).select(as_they_are([*keys, *times, "__here", *merges]))
    answers = cells.where("__here > 0" if operator.emit == "update" else "__n > 0")
    if operator.emit == "complete" and operator.forget is not None:
        answers = answers.where(f"{at} < {UNTIL}")
    if operator.emit == "complete":
        here = found.where("__here > 0").select({f"{name}h": name for name in times}).distinct()
        answers = answers.join(here, " AND ".join(f"{name} = {name}h" for name in times), "semi")
    return _with_outputs(operator, answers, rows, [*keys, *times])


def _with_outputs(operator: plan.Accumulate, answers: Relation, rows: Relation, groups: list[str]) -> Relation:
    """Return the answers from cells that are fully accumulated."""
    if mergeable(operator.aggregation):
        return _finished(operator, with_results(operator.aggregation, answers, rows))
    return _finished(operator, _recomputed(operator, rows, answers, groups))


def _by_pairs(operator: plan.Accumulate, found: Relation, keys: list[str], times: list[str], kept: _Cells) -> Relation:
    """Return accumulated cells by joining elements with elements, of which there are few.

    A grid would have as many cells as there are elements to the power of the axes.
    """
    own = [] if operator.emit == "complete" else keys
    asked = found.where("__here > 0").select({f"{name}x": name for name in (*own, *times)}).distinct()
    if operator.emit == "complete" and keys:
        asked = asked.join(found.select({f"{name}x": name for name in keys}).distinct(), "true")
    same = [f"{name} <=> {name}x" for name in keys]
    below = " AND ".join([*same, *(f"{name} <= {name}x" for name in times)])
    places = {name: f"{name}x" for name in (*keys, *times)}
    return (
        asked.join(found, below)
        .group(places, kept.merged, like=None if kept.then else found.shape)
        .with_columns(kept.then)
    )


def _axes(operator: plan.Accumulate) -> tuple[dict[str, str], dict[str, str]]:
    keys = {f"__k{i}": e.sql for i, e in enumerate(operator.aggregation.by)}
    return keys, {f"__t{i}": sql for i, sql in enumerate(counted_at(operator))}


def _kept(operator: plan.Accumulate, rows: Relation) -> _Cells:
    aggregation = operator.aggregation
    if not mergeable(aggregation):
        return _collected(aggregation, rows)
    return _Cells(cell_columns(aggregation, rows), cell_merges(aggregation, rows))


def counted_at(operator: plan.Accumulate | plan.Top) -> list[str]:
    """Return SQL for the time from which on a row counts: its own time, or the last unit of its period."""
    found, periods = [], dict(operator.every)
    for name in operator.schema.time:
        if name not in periods:
            found.append(quoted(name))
            continue
        at, period = units_of(operator.schema, name), periods[name]
        found.append(from_units(f"({at} - pmod({at}, {period}L) + {period - 1}L)", operator.schema[name].type or ""))
    return found


def _collected(aggregation: Aggregation, rows: Relation) -> _Cells:
    """Return cells that keep the rows themselves, from which the calls are computed at the end."""
    fields = ", ".join(f"{literal(name)}, {quoted(name)}" for name in _read(aggregation, rows)) or "'__row', 1"
    listed = {"__rows": call("collect_list", f"named_struct({fields})")}
    return _Cells(listed, {"__rows": call("collect_list", "__rows")}, {"__rows": "flatten(__rows)"})


def _read(aggregation: Aggregation, rows: Relation) -> list[str]:
    """Return the columns that the calls need; all of them if a call depends on the order of rows."""
    read = {name for call in aggregation.calls for name in call.columns}
    ordered = any(call.definition.sees_order for call in aggregation.calls)
    return [name for name in rows.names if ordered or name in read]


def _grid(operator: plan.Accumulate, found: Relation, keys: list[str], times: list[str]) -> Relation:
    """Return the cells of each group's grid.

    With ``emit="update"``, the grid of a group is made of the values of its own times only.
    """
    if operator.schema.coordinates is not None:
        # In a sum of orders, the join of two times, if there is one, is one of the two. So the grid has no further
        # cells.
        if operator.emit == "update":
            return found
        places = [found.select(as_they_are(axis)).distinct() for axis in (keys, times) if axis]
        grid = reduce(lambda one, other: one.join(other, "true"), places)
    elif operator.emit == "complete":
        axes = [found.select(as_they_are(axis)).distinct() for axis in (keys, *([name] for name in times)) if axis]
        grid = reduce(lambda one, other: one.join(other, "true"), axes)
    else:
        grid = found.group(as_they_are(keys), {f"__a{i}": call("collect_set", name) for i, name in enumerate(times)})
        for i, name in enumerate(times):
            grid = grid.explode(name, f"__a{i}").without(f"__a{i}")
    grid = grid.select(as_they_are([*keys, *times]))
    data = [name for name in found.names if name not in (*keys, *times)]
    empty = grid.with_columns(dict.fromkeys(data, "NULL"), like=found.shape)
    # At most one row of a cell has data. Grouping takes the place of a join here, because keys may be NULL.
    only = {name: call("first", name, ignore_nulls=True) for name in data}
    return found.union(empty).group(as_they_are([*keys, *times]), only)


def _recomputed(operator: plan.Accumulate, rows: Relation, answers: Relation, groups: list[str]) -> Relation:
    """Return the calls, computed from the rows that each answer has collected."""
    fields = _read(operator.aggregation, rows)
    each = answers.explode("__row", "__rows")
    spread = each.select(as_they_are(groups) | {name: f"__row.{quoted(name)}" for name in fields})
    order = rows.order if fields == rows.names else []
    return spread.group(as_they_are(groups), named_calls(operator.aggregation), order=order)


def _finished(operator: plan.Accumulate, results: Relation) -> Relation:
    aggregation = operator.aggregation
    columns = {name: f"__t{i}" for i, name in enumerate(operator.schema.time)}
    columns |= {e.name: f"__k{i}" for i, e in enumerate(aggregation.by)}
    named = results.select(columns | {call.name: call.name for call in aggregation.calls})
    return named.select(as_they_are(operator.schema.time) | finished(aggregation))
