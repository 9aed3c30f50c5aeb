"""The rule for joins of rows within a distance in time: every pair is checked."""

from __future__ import annotations

import math
from typing import Any

from tidegate.flow import plan
from tidegate.flow.schema import Schema
from tidegate.flow.values import ordered
from tidegate.reference.held import complete, moved, units_of
from tidegate.reference.paired import joined_row, key_of, side_by_side
from tidegate.reference.run import Events, ReferenceRun, evaluate, on_time
from tidegate.spec import DT, WM, Event, produce, union_op

__all__: list[str] = []

#: Two rows, one of which may be missing, and their time.
_Answer = tuple[Any, Any, Any]


@evaluate.register
def _interval_join(operator: plan.IntervalJoin, running: ReferenceRun, inputs: list[Events]) -> Events:
    left, right = running.schemas(operator)
    streams = [on_time(stream) for stream in inputs]
    lefts, rights = ([event for event in stream if isinstance(event, DT)] for stream in streams)
    met = _met(operator, running, left, right, lefts, rights)
    found = _pairs(operator, met, lefts, rights)
    if operator.how in ("left", "full", "anti"):
        alone = [event for i, event in enumerate(lefts) if i not in {i for i, _ in met}]
        found += [(_settled(operator, 0, left, event), event.d, None) for event in alone]
    if operator.how in ("right", "full"):
        alone = [event for j, event in enumerate(rights) if j not in {j for _, j in met}]
        found += [(_settled(operator, 1, right, event), None, event.d) for event in alone]
    # The answers do not depend on watermarks, as all rows are on time; only when they come does.
    united = produce(union_op(operator.schema.order), side_by_side(*streams))
    answers: list[Event] = [DT(t, joined_row(operator, left, right, t, a, b)) for t, a, b in found]
    out: Events = []
    for event in complete(running, operator.schema, [*answers, *(event for event in united if isinstance(event, WM))]):
        if isinstance(event, WM):
            out.append(event)
        else:
            out += [DT(event.t, row) for row in ordered(event.d, operator.schema.names)]
    return out


def _met(
    operator: plan.IntervalJoin,
    running: ReferenceRun,
    left: Schema,
    right: Schema,
    lefts: list[DT[Any, Any]],
    rights: list[DT[Any, Any]],
) -> list[tuple[int, int]]:
    """Return which rows match, by their places: equal keys, times as far apart as they may be, and the condition."""
    over, others = operator.over, [name for name in operator.schema.time if operator.over not in (None, name)]
    low = -math.inf if operator.lower is None else operator.lower
    high = math.inf if operator.upper is None else operator.upper
    pairs = []
    for i, a in enumerate(lefts):
        for j, b in enumerate(rights):
            key = key_of(operator.on, left, a.d)
            if key is None or key != key_of(operator.on, right, b.d) or any(a.d[n] != b.d[n] for n in others):
                continue
            if over is None or low <= units_of(right, b.d, over) - units_of(left, a.d, over) <= high:
                pairs.append((i, j))
    if operator.where is None:
        return pairs
    held = running.duck.matching([(lefts[i].d, rights[j].d) for i, j in pairs], left, right, operator.where)
    return [pair for pair, holds in zip(pairs, held, strict=True) if holds]


def _pairs(
    operator: plan.IntervalJoin, met: list[tuple[int, int]], lefts: list[DT[Any, Any]], rights: list[DT[Any, Any]]
) -> list[_Answer]:
    """Return the pairs, each at the least time at or above both; or with ``semi`` each left row at its first match."""
    order = operator.schema.order
    times = {(i, j): order.join(lefts[i].t, rights[j].t) for i, j in met}
    if operator.how == "semi":
        return [
            (min((t for (i, _), t in times.items() if i == n), key=order.key), lefts[n].d, None)
            for n in {i for i, _ in met}
        ]
    return [] if operator.how == "anti" else [(t, lefts[i].d, rights[j].d) for (i, j), t in times.items()]


def _settled(operator: plan.IntervalJoin, port: int, schema: Schema, event: DT[Any, Any]) -> Any:
    """Return the time at which it is known that a row matches no other."""
    span = operator.settles(port)
    over = operator.over or ""
    assert span is not None, "what may meet others for ever is never alone"
    return moved(schema, event.t, over, units_of(schema, event.d, over) + span)
