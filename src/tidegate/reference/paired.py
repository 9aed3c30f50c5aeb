"""Rules for operators with two inputs: on the disjoint sum of their times, as in the specification."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import zip_longest
from typing import Any

from tidegate.flow import plan
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units
from tidegate.flow.values import freeze, ordered, sort_key
from tidegate.reference.framed import in_windows
from tidegate.reference.held import complete, moved, units_of, with_time
from tidegate.reference.inputs import LateEvent
from tidegate.reference.run import Events, ReferenceRun, evaluate, on_time
from tidegate.spec import DT, WM, Event, fproduce, incr_batch_op, join_op, produce, union_op
from tidegate.time import Inl, Inr

__all__ = ["joined_row", "key_of", "side_by_side"]


def side_by_side(left: list[Event], right: list[Event]) -> list[Event]:
    """Merge two streams into one, on the sum of their times; how they are interleaved does not matter."""
    return [_on((Inl, Inr)[nth], event) for nth, event in _in_turn(left, right)]


def _in_turn(*streams: list[Any]) -> Iterator[tuple[int, Any]]:
    """Return the events of streams, with the number of the stream: the first of each, the second of each, and so on."""
    for events in zip_longest(*streams):
        yield from ((nth, event) for nth, event in enumerate(events) if event is not None)


def _on(side: Any, event: Event) -> Event:
    return WM(side(event.t)) if isinstance(event, WM) else DT(side(event.t), event.d)


@evaluate.register
def _union(operator: plan.Union, running: ReferenceRun, inputs: list[Events]) -> Events:  # noqa: ARG001
    names = operator.schema.names
    streams = [[_renamed(event, names) for event in stream] for stream in inputs]
    if not operator.schema.time:
        return [event for stream in streams for event in stream]
    # Two streams are united as in the specification, the result with the third, and so on.
    unions = [union_op(operator.schema.order) for _ in streams[1:]]
    out: Events = []
    for nth, event in _in_turn(*streams):
        if isinstance(event, LateEvent):
            out.append(event)
            continue
        passed = [event]
        for i in range(max(nth - 1, 0), len(unions)):
            side = Inr if i == nth - 1 else Inl
            unions[i], passed = fproduce(unions[i], [_on(side, each) for each in passed])
        out += passed
    return out


def _renamed(event: Any, names: tuple[str, ...]) -> Any:
    """Return an event with its columns in the order and case of the result."""
    if isinstance(event, WM):
        return event
    lower = {name.lower(): value for name, value in event.d.items()}
    row = {name: lower[name.lower()] for name in names}
    return LateEvent(event.t, row, event.origin) if isinstance(event, LateEvent) else DT(event.t, row)


@evaluate.register
def _join(operator: plan.Join, running: ReferenceRun, inputs: list[Events]) -> Events:
    left, right = running.schemas(operator)
    if operator.with_table:
        return _join_table(operator, running, left, right, *inputs)
    return _equal_times(operator, running, left, right, on_time(inputs[0]), on_time(inputs[1]))


@evaluate.register
def _window_join(operator: plan.WindowJoin, running: ReferenceRun, inputs: list[Events]) -> Events:
    left, right = running.schemas(operator)
    if operator.frame.lateness:
        return _revised(operator, running, left, right, inputs)
    # A row moves to the last unit of each of its windows; rows that share a window then have equal times.
    spread = [
        [placed for event in on_time(stream) for placed in _to_windows(operator, schema, event)]
        for stream, schema in zip(inputs, (left, right), strict=True)
    ]
    return _equal_times(operator, running, left, right, *spread)


def _to_windows(operator: plan.WindowJoin, schema: Schema, event: Event) -> list[Event]:
    if isinstance(event, WM):
        return [event]
    return [DT(t, event.d) for t, _ in in_windows(operator.frame, schema, event, event.d)]


def _revised(
    operator: plan.WindowJoin, running: ReferenceRun, left: Schema, right: Schema, inputs: list[Events]
) -> Events:
    """Return joins in windows that accept late rows: a window and key whole, again for what came since a watermark."""
    schema, order, frame = operator.schema, operator.schema.order, operator.frame
    type_ = schema[frame.over].type or ""
    rows: dict[Hashable, tuple[Any, list[Any], list[Any]]] = {}
    revisions: dict[Hashable, int] = {}
    changed: dict[Hashable, None] = {}
    seen: list[Any] = []
    union = union_op(order)
    out: Events = []

    def is_complete(t: Any) -> bool:
        return any(order.le(t, wm) for wm in seen)

    def answer(*, ended: bool) -> None:
        for place in sorted(changed, key=lambda p: order.key(rows[p][0])):
            t, lefts, rights = rows[place]
            if not (ended or is_complete(t)):
                continue
            del changed[place]
            matches = _Matches(operator, running, left, right, [((), a) for a in lefts], [((), b) for b in rights])
            places = [*((0, i) for i in range(len(lefts))), *((1, j) for j in range(len(rights)))]
            found = _at_one_time(operator.how, matches, places)
            if not found:
                continue
            number = {"revision": revisions.get(place, 0)}
            revisions[place] = number["revision"] + 1
            for i, j in found:
                a, b = None if i is None else lefts[i], None if j is None else rights[j]
                out.append(DT(t, joined_row(operator, left, right, t, a, b) | number))

    for port, event in _in_turn(*inputs):
        if isinstance(event, WM):
            union, passed = union.apply(_on((Inl, Inr)[port], event))
            for wm in passed:
                seen.append(wm.t)
                answer(ended=False)
                out.append(wm)
            continue
        own = (left, right)[port]
        for t, bounds in in_windows(frame, own, event, event.d):
            if is_complete(moved(schema, t, frame.over, units(bounds["end"], type_) - 1 + frame.lateness)):
                continue
            if isinstance(event, LateEvent):
                running.taken.add(event.origin)
            place = (t, freeze([event.d[own[name].name] for name in operator.on]))
            rows.setdefault(place, (t, [], []))[1 + port].append(event.d)
            changed[place] = None
    if running.ended:
        answer(ended=True)
    return out


class _Matches:
    """Which left rows match which right rows, by their places in the two streams."""

    def __init__(
        self,
        operator: Any,
        running: ReferenceRun,
        left: Schema,
        right: Schema,
        lefts: list[tuple[Any, Any]],
        rights: list[tuple[Any, Any]],
    ) -> None:
        by_key: dict[Hashable, list[int]] = {}
        for j, (t, row) in enumerate(rights):
            if (key := key_of(operator.on, right, row)) is not None:
                by_key.setdefault((t, key), []).append(j)
        candidates = []
        for i, (t, row) in enumerate(lefts):
            key = key_of(operator.on, left, row)
            candidates += [(i, j) for j in by_key.get((t, key), ())] if key is not None else []
        if operator.where is not None:
            pairs = [(lefts[i][1], rights[j][1]) for i, j in candidates]
            held = running.duck.matching(pairs, left, right, operator.where)
            candidates = [pair for pair, holds in zip(candidates, held, strict=True) if holds]
        self.pairs = set(candidates)
        self.lefts = {i for i, _ in candidates}
        self.rights = {j for _, j in candidates}


def key_of(on: tuple[str, ...], schema: Schema, row: Any) -> Hashable | None:
    """Return the values that a row is joined on, or None if one is null: null keys never match."""
    values = [row[schema[name].name] for name in on]
    return None if any(value is None for value in values) else freeze(values)


def joined_row(operator: Any, left: Schema, right: Schema, t: Any, a: Any, b: Any) -> dict[str, Any]:
    """Return the row of a pair, of which one side may be missing."""
    on = {name: a[left[name].name] if a is not None else b[right[name].name] for name in operator.on}
    row = on | {name: a and a[name] for name in operator.left_columns}
    row |= {name: b and b[name] for name in operator.right_columns}
    return with_time(operator.schema, t, row) if operator.schema.time else row


def _equal_times(
    operator: Any, running: ReferenceRun, left: Schema, right: Schema, lefts: list[Event], rights: list[Event]
) -> Events:
    rows = [[(event.t, event.d) for event in stream if isinstance(event, DT)] for stream in (lefts, rights)]
    matches = _Matches(operator, running, left, right, *rows)
    numbered = [_numbered(stream) for stream in (lefts, rights)]

    def pair(t: Any, i: int | None, j: int | None) -> dict[str, Any]:
        a = None if i is None else rows[0][i][1]
        b = None if j is None else rows[1][j][1]
        return joined_row(operator, left, right, t, a, b)

    if operator.schema.time and operator.how == "inner":
        joined = running.produced(
            join_op(operator.schema.order, lambda i, j: (i, j) if (i, j) in matches.pairs else None),
            side_by_side(*numbered),
        )
        return [DT(e.t, pair(e.t, *e.d)) if isinstance(e, DT) else e for e in joined]
    # Outer and negative answers at a time need both sides to be complete there: unite them, and hold the rows.
    if operator.schema.time:
        tagged = [[DT(e.t, (side, e.d)) if isinstance(e, DT) else e for e in s] for side, s in enumerate(numbered)]
        both = complete(running, operator.schema, produce(union_op(operator.schema.order), side_by_side(*tagged)))
    else:
        both = complete(
            running, operator.schema, [DT((), (side, n)) for side, s in enumerate(rows) for n in range(len(s))]
        )
    out: Events = []
    for event in both:
        if isinstance(event, WM):
            out.append(event)
            continue
        found = _at_one_time(operator.how, matches, event.d)
        out += [DT(event.t, row) for row in ordered([pair(event.t, *f) for f in found], operator.schema.names)]
    return out


def _numbered(events: list[Event]) -> list[Event]:
    """Replace each row by its place among the rows."""
    out: list[Event] = []
    n = 0
    for event in events:
        out.append(DT(event.t, n) if isinstance(event, DT) else event)
        n += isinstance(event, DT)
    return out


def _at_one_time(how: str, matches: _Matches, data: list[tuple[int, int]]) -> list[tuple[int | None, int | None]]:
    lefts = [i for side, i in data if side == 0]
    rights = [j for side, j in data if side == 1]
    if how in ("semi", "anti"):
        return [(i, None) for i in lefts if (i in matches.lefts) == (how == "semi")]
    found: list[tuple[int | None, int | None]] = [(i, j) for i in lefts for j in rights if (i, j) in matches.pairs]
    if how in ("left", "full"):
        found += [(i, None) for i in lefts if i not in matches.lefts]
    if how in ("right", "full"):
        found += [(None, j) for j in rights if j not in matches.rights]
    return found


def _join_table(
    operator: plan.Join, running: ReferenceRun, left: Schema, right: Schema, stream: Events, table: Events
) -> Events:
    lefts = [((), event.d) for event in stream if not isinstance(event, WM)]
    rights = [((), event.d) for event in table if isinstance(event, DT)]
    matches = _Matches(operator, running, left, right, lefts, rights)
    data = [(1, j) for j in range(len(rights))]
    out: Events = []
    i = 0
    for event in stream:
        if isinstance(event, WM):
            out.append(event)
            continue
        for a, b in _at_one_time(operator.how, matches, [(0, i), *data]):
            row = joined_row(
                operator, left, right, event.t, a if a is None else lefts[a][1], b if b is None else rights[b][1]
            )
            out.append(LateEvent(event.t, row, event.origin) if isinstance(event, LateEvent) else DT(event.t, row))
        i += 1
    return out


@evaluate.register
def _join_asof(operator: plan.JoinAsof, running: ReferenceRun, inputs: list[Events]) -> Events:
    left, right = running.schemas(operator)
    order = operator.schema.order
    others = [name for name in operator.schema.time if name != operator.over] if operator.over else []
    tagged = [
        [DT(e.t, (side, e.d)) if isinstance(e, DT) else e for e in on_time(stream)]
        for side, stream in enumerate(inputs)
    ]
    united = produce(union_op(order), side_by_side(*tagged))
    out: Events = []
    for event in running.produced(incr_batch_op(order), united):
        if isinstance(event, WM):
            out.append(event)
            continue
        found = []
        for t, (side, row) in event.d:
            if side == 0 and t == event.t:
                match = _latest(
                    operator, left, right, row, [r for s, (n, r) in event.d if n == 1 and order.le(s, t)], others
                )
                if match is not None or operator.how == "left":
                    found.append(joined_row(operator, left, right, t, row, match))
        out += [DT(event.t, row) for row in ordered(found, operator.schema.names)]
    return out


def _latest(
    operator: plan.JoinAsof, left: Schema, right: Schema, row: Any, rights: list[Any], others: list[str]
) -> Any:
    """Return the latest of some rows at or below a row's time that it matches, or None."""
    key = key_of(operator.on, left, row)
    at = units_of(left, row, operator.over) if operator.over else 0
    candidates = [
        r
        for r in rights
        if key is not None
        and key_of(operator.on, right, r) == key
        and all(r[name] == row[name] for name in others)
        and (operator.within is None or units_of(right, r, operator.over) >= at - operator.within)
    ]
    if not operator.over:
        # Along all time columns together.
        return max(
            candidates,
            key=lambda r: (right.order.key(right.time_of(r)), [sort_key(r[name]) for name in right.names]),
            default=None,
        )
    names = (operator.over, *right.names)
    return max(candidates, key=lambda r: [sort_key(r[name]) for name in names], default=None)
