"""What `explain` says of each operator: what it does, what it keeps and until when, what it does to times; warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tidegate.flow import plan as p
from tidegate.flow import watermarks
from tidegate.flow.aggregates import Aggregation
from tidegate.flow.explain.growing import Concern, growing
from tidegate.flow.explain.words import (
    chosen,
    emitted,
    fewer_times,
    for_how_long,
    forgets,
    on_product,
    per_time,
    rows_of,
)
from tidegate.flow.expressions import Expression
from tidegate.flow.loops.query import Query, members
from tidegate.flow.plan import CalendarFrame, Plan, PlanOperator, SessionFrame, Sink, WindowFrame
from tidegate.flow.schema import Schema
from tidegate.flow.spans import show_span
from tidegate.flow.sql import Sql
from tidegate.flow.watermarks import AtEnd, Bounded, Punctuated
from tidegate.spec.parts import name_of

__all__ = ["Concern", "describe", "kept_text", "later", "new_sink_text", "verb_of", "warnings_of"]

Frame: TypeAlias = WindowFrame | CalendarFrame | SessionFrame

#: If a row is in more windows than this, there is a warning.
MANY_WINDOWS = 100


def describe(plan: Plan, operator: PlanOperator) -> list[str]:
    """Return a few lines that say what an operator does."""
    match operator:
        case p.Source(watermark=watermark, late=late):
            kept = {"divert": "are set aside", "fail": "stop the run", "drop": "are counted and dropped"}[late]
            return [f"{watermarks.show(watermark, operator.schema)}; late rows {kept}", _order(operator.schema)]
        case p.Table():
            return ["complete from the start"]
        case p.Where(condition=condition):
            return [condition.sql]
        case p.Select(outputs=outputs):
            computed = [str(e) for e in outputs if not e.is_column]
            return [", ".join(computed)] if computed else []
        case p.Explode(column=column):
            return [f"a row for each element of {column}"]
        case p.Unfold(column=column):
            return [f"a round for each element of {column}"]
        case p.MapBatches(function=function):
            return [f"{getattr(function, '__qualname__', function)}(batch)"]
        case p.At():
            moved = [e for e in operator.moves if not e.is_column]
            checked = ["rows that would go back, or have no such time, are rejected"] if operator.rejects else []
            return [", ".join(f"{e.name} = {e.sql}" for e in moved), *checked] if moved else []
        case p.Aggregate(aggregation=aggregation):
            return [str(aggregation)]
        case p.WindowAggregate(frame=frame, aggregation=aggregation):
            return [_frame(frame, _input(plan, operator)), str(aggregation)]
        case p.WindowApply(frame=frame, by=by, function=function):
            groups = f" by {', '.join(map(str, by))}" if by else ""
            return [
                _frame(frame, _input(plan, operator)),
                f"{getattr(function, '__qualname__', function)}(rows){groups}",
            ]
        case p.Accumulate(aggregation=aggregation):
            return [emitted(operator), str(aggregation)]
        case p.Top():
            return [emitted(operator), chosen(operator)]
        case p.WindowTop(frame=frame):
            return [_frame(frame, _input(plan, operator)), chosen(operator)]
        case p.Deduplicate(by=by, within=within, over=over):
            span = f" within {show_span(within, operator.schema[over].type or '')}" if within is not None else ""
            return [f"the first for each {', '.join(map(str, by)) or 'row'}{span}{forgets(operator, over)}"]
        case p.Join(on=on, where=where, how=how):
            return [_join(how, on) + (f" where {where.sql}" if where else "")]
        case p.JoinAsof(on=on, within=within, how=how, over=over):
            span = f" within {show_span(within, operator.schema[over].type or '')}" if within is not None else ""
            return [f"{_join(how, on)}, the latest at or below{span}"]
        case p.IntervalJoin(on=on, where=where, how=how):
            return [_join(how, on) + (f" where {where.sql}" if where else ""), _apart(operator)]
        case p.WindowJoin(frame=frame, on=on, where=where, how=how, early=early):
            pairs = _join(how, on) + (f" where {where.sql}" if where else "")
            at_once = ["a pair comes as soon as both rows are there"] if early else []
            return [_frame(frame, _input(plan, operator)), pairs, *at_once]
        case p.Iterate():
            return _loop(operator)
        case p.Process(operator=user, by=by):
            asks = ["a copy may ask to be called at a later time"] if operator.timers else []
            return [
                f"{name_of(user)}, a copy for each {', '.join(map(str, by)) or 'flow'}{forgets(operator)}",
                *asks,
            ]
    return []


def verb_of(operator: PlanOperator) -> str:
    """Return the method that made an operator, as users call it: ``session.aggregate``."""
    if isinstance(getattr(operator, "frame", None), SessionFrame):
        return operator.verb.replace("window", "session")
    return operator.verb


def kept_text(plan: Plan, operator: PlanOperator) -> str:
    """Return what an operator keeps, and until when; an empty text if it keeps nothing."""
    if not operator.schema.time:
        return ""
    match operator:
        case p.Gate():
            return "rows, until their time is complete"
        case p.Distinct():
            return "distinct rows, until their time is complete"
        case p.Aggregate(aggregation=aggregation):
            return f"{_kept(aggregation)} per time and group, until the time is complete"
        case p.WindowAggregate(frame=frame, aggregation=aggregation):
            # Two sessions may become one, and windows with lateness are computed again: both need their rows.
            merges = not isinstance(frame, SessionFrame) and not getattr(frame, "lateness", 0)
            kept = _kept(aggregation) if merges else "rows"
            return f"{kept} per {_each(frame)} and group, until {_end(frame, _input(plan, operator))}"
        case p.WindowApply(frame=frame):
            return f"rows per {_each(frame)} and group, until {_end(frame, _input(plan, operator))}"
        case p.Accumulate(aggregation=aggregation):
            what = f"{_kept(aggregation)} per group, {for_how_long(operator)}"
            return f"{what}{per_time(operator)}"
        case p.Top(n=n):
            return f"{rows_of(n)} per group, {for_how_long(operator)}{per_time(operator)}"
        case p.WindowTop(frame=frame, n=n):
            merges = isinstance(frame, WindowFrame) and not frame.lateness
            kept = rows_of(n) if merges else "rows"
            return f"{kept} per {_each(frame)} and group, until {_end(frame, _input(plan, operator))}"
        case p.Deduplicate(within=within, over=over):
            if within is None:
                return f"every key, {for_how_long(operator, over)}"
            return f"keys, until {show_span(within, operator.schema[over].type or '')} after the last row kept"
        case p.Join(with_table=True):
            return ""
        case p.Join():
            return "rows of both sides, until their time is complete on both"
        case p.JoinAsof(within=within, over=over):
            back = f"; then for {show_span(within, operator.schema[over].type or '')}" if within is not None else ""
            return f"rows until their time is complete on both sides; the latest right row for each key{back}"
        case p.IntervalJoin():
            return "; ".join(f"{side} rows {_needed(operator, port)}" for port, side in enumerate(("left", "right")))
        case p.WindowJoin(frame=frame):
            return f"rows of both sides in a window, until {_end(frame, _input(plan, operator))} on both"
        case p.Iterate(rounds=None):
            return f"rows of all inputs, and what is known of each key, for ever{per_time(operator)}"
        case p.Iterate():
            return "rows of all inputs, for ever"
        case p.Process():
            what = "rows and timers" if operator.timers else "rows"
            held = f"{what} until their time is complete; a copy of the operator for each key"
            return f"{held}, {for_how_long(operator)}"
    return ""


def new_sink_text(plan: Plan, sink: Sink) -> str:
    """Return what a sink begins with if it is added to a flow that already has a checkpoint."""
    if _answers_when_complete(plan, plan[sink.input]):
        # Operators with state cannot be added.
        return "if it is added later to operators that a checkpoint has, it begins with times that become complete then"
    return "if it is added to a checkpoint later, it begins with rows that come then"


def _answers_when_complete(plan: Plan, operator: PlanOperator) -> bool:
    """Whether rows of an operator come when their time is complete, and none of them when it comes in."""
    if operator.keeps_state:
        return not getattr(operator, "early", False)
    streams = [given for given in plan.inputs(operator) if given.schema.time]
    return bool(streams) and all(_answers_when_complete(plan, given) for given in streams)


def later(plan: Plan, operator: PlanOperator) -> str:
    """Return how much later an answer is than the rows that it is made of; an empty text if it is not later."""
    match operator:
        case p.WindowAggregate() | p.WindowApply() | p.WindowTop() | p.WindowJoin():
            type_ = _input(plan, operator)[operator.frame.over].type or ""
            return f"+ {operator.frame.later(type_)} - {show_span(1, type_)}"
        case p.At(shifts=shifts):
            types = operator.schema
            moved = [(c, n) for c, n in zip(types.times, shifts, strict=True) if n != 0]
            texts = [(c.name, "+ 0 or more" if n is None else f"+ {show_span(n, c.type or '')}") for c, n in moved]
            return ", ".join(text if len(types.time) == 1 else f"{name} {text}" for name, text in texts)
        case p.Accumulate(every=every) | p.Top(every=every) if every:
            types = operator.schema
            spans = [(c, show_span(n, types[c].type or ""), show_span(1, types[c].type or "")) for c, n in every]
            return ", ".join(f"{c} + up to {period} - {unit}" for c, period, unit in spans)
    return ""


def warnings_of(plan: Plan) -> Iterator[Concern]:
    """Return all warnings: times that are never complete, state that only grows, output that explodes."""
    if not plan.sinks:
        yield Concern(plan.name, "nothing leaves the flow: it has no sink", "flow.sink(name, stream)")
    for operator in plan:
        yield from _never_complete(plan, operator)
        yield from _unbounded(plan, operator)
        yield from growing(operator)
        yield from _exploding(operator)


def _held_back(plan: Plan, waiting: Sequence[str], happens: str) -> str:
    """Return in words what happens to operators that wait for times: ``happens`` has a place for those that wait.

    Those that answer early only keep their rows.
    """
    early = [id_ for id_ in waiting if getattr(plan[id_], "early", False)]
    silent = [id_ for id_ in waiting if id_ not in early]
    texts = [happens.format(", ".join(silent))] if silent else []
    texts += [f"{', '.join(early)} keeps all rows for ever"] if early else []
    return ", and ".join(texts)


def _never_complete(plan: Plan, operator: PlanOperator) -> Iterator[Concern]:
    if not isinstance(operator, p.Source):
        return
    waiting = [o.id for o in _after(plan, operator.id) if kept_text(plan, o)]
    if not waiting:
        return
    if isinstance(operator.watermark, AtEnd):
        endless = _held_back(plan, waiting, "{} never answers")
        yield Concern(
            operator.id,
            f"nothing is complete before the end of its input: on an endless one, {endless}",
            'on a stream, give it a watermark, as bounded("10 minutes"), punctuated(…) or published(…); or a clock',
        )
    if (
        isinstance(operator.watermark, Bounded)
        and operator.watermark.by
        and operator.watermark.idle is None
        and operator.watermark.clock is None
    ):
        yield Concern(
            operator.id,
            f"if one {operator.watermark.by} is silent, {_held_back(plan, waiting, '{} waits for ever')}",
            'let silent ones go: bounded(…, by=…, idle="5 minutes")',
        )


def _unbounded(plan: Plan, operator: PlanOperator) -> Iterator[Concern]:
    match operator:
        case p.Accumulate(aggregation=aggregation):
            kept = [call.sql for call in aggregation.calls if not call.mergeable]
            if kept and operator.forget is None:
                yield Concern(
                    operator.id,
                    f"every row is kept for ever, for {', '.join(kept)}",
                    "take aggregates whose partial results can be merged, such as sum, count, min, max, avg",
                )
            yield from _never_alike(plan, operator)
        case p.Top():
            yield from _never_alike(plan, operator)
        case p.WindowAggregate() | p.WindowApply() | p.WindowTop() if isinstance(operator.frame, SessionFrame):
            if not _groups(operator) and len(operator.schema.time) == 1:
                yield Concern(
                    operator.id, "one session of all rows ends only when all are silent", "give by=…, or use window(…)"
                )


def _never_alike(plan: Plan, operator: PlanOperator) -> Iterator[Concern]:
    if on_product(operator) and _punctuated(plan, operator):
        yield Concern(
            operator.id,
            "state is kept for every time, unless punctuations have a NULL in a time column",
            "send punctuations that complete every value of a column, such as (valid, NULL)",
        )


def _exploding(operator: PlanOperator) -> Iterator[Concern]:
    match operator:
        case p.Accumulate(emit="complete") | p.Top(emit="complete") if _groups(operator):
            yield Concern(
                operator.id,
                "every group is answered again at every time that carries a row: times × groups rows",
                fewer_times(operator, "every=…"),
            )
        case p.Iterate(rounds=None, emit="complete"):
            yield Concern(
                operator.id,
                "every fact is answered again at every time that carries a row: times × keys rows",
                fewer_times(operator, "a window before it"),
            )
        case p.Iterate(rounds=int() as rounds):
            yield Concern(
                operator.id,
                f"every time that carries a row goes its {rounds} rounds from the beginning, with all rows so far",
                "fewer times: a window before it",
            )
        case p.Join(on=(), where=None, how=how) | p.WindowJoin(on=(), where=None, how=how) if how not in (
            "semi",
            "anti",
        ):
            yield Concern(operator.id, "all pairs of rows of a time are answered", "name the columns to join on")
    frame = getattr(operator, "frame", None)
    if isinstance(frame, WindowFrame | CalendarFrame) and -(-frame.size // frame.every) > MANY_WINDOWS:
        yield Concern(
            operator.id,
            f"each row is in {-(-frame.size // frame.every)} windows",
            "let windows begin less often; or accumulate(…, every=…) for totals",
        )


def _after(plan: Plan, id_: str) -> list[PlanOperator]:
    reached = {id_}
    for operator in plan:
        if reached.intersection(operator.inputs):
            reached.add(operator.id)
    return [operator for operator in plan if operator.id in reached]


def _punctuated(plan: Plan, operator: PlanOperator) -> bool:
    return any(isinstance(s.watermark, Punctuated) and operator in _after(plan, s.id) for s in plan.sources)


def _input(plan: Plan, operator: PlanOperator) -> Schema:
    return plan[operator.inputs[0]].schema


def _order(schema: Schema) -> str:
    if given := schema.ordered:
        elements = getattr(given.order, "elements", ())
        by = f"a Poset of {len(elements)} elements" if elements else f"{given.order!r}"
        return f"times are values of {given.name}, ordered by {by}"
    if len(schema.time) == 1:
        return f"times are ordered by {schema.time[0]}"
    return f"times are pairs of {', '.join(schema.time)}: one is below another if it is in every column"


def _groups(operator: PlanOperator) -> tuple[Expression, ...]:
    by: tuple[Expression, ...] = operator.aggregation.by if hasattr(operator, "aggregation") else operator.by  # type: ignore[attr-defined]
    return by


def _kept(aggregation: Aggregation) -> str:
    return "partial aggregates" if all(call.mergeable for call in aggregation.calls) else "rows"


def _each(frame: Frame) -> str:
    return "session" if isinstance(frame, SessionFrame) else "window"


def _end(frame: Frame, schema: Schema) -> str:
    if isinstance(frame, WindowFrame) and frame.lateness:
        return f"{show_span(frame.lateness, schema[frame.over].type or '')} after its end"
    return "its end is complete"


def _frame(frame: Frame, schema: Schema) -> str:
    return frame.shown(schema[frame.over].type or "", over=len(schema.time) > 1)


def _apart(operator: p.IntervalJoin) -> str:
    """Return how far apart the rows of a pair may be."""
    if operator.lower is None and operator.upper is None:
        return "however far apart they are"
    type_ = operator.schema[operator.over or ""].type or ""
    low, high = (None if n is None else show_span(n, type_) for n in (operator.lower, operator.upper))
    if low is None or high is None:
        return f"the right row at most {high} after the left one" if low is None else f"at least {low} after it"
    return f"the right row from {low} to {high} after the left one"


def _needed(operator: p.IntervalJoin, port: int) -> str:
    span = operator.needed(port)
    if span is None:
        return "for ever"
    type_ = operator.schema[operator.over or ""].type or ""
    after = f" {show_span(span, type_)} after them" if span else ""
    return f"until their time{after} is complete on both sides" if not span else f"until the time{after} is complete"


def _loop(operator: p.Iterate) -> list[str]:
    often = f"until nothing changes, at most {operator.limit} rounds"
    if operator.rounds is not None:
        often = f"exactly {operator.rounds} rounds, known being replaced"
    keys = ", ".join(operator.key)
    kept = ", ".join(map(str, operator.rules or operator.keep.outputs)) or "the key alone"
    return [
        f"emit {operator.emit}, {often}",
        f"keep {kept}, for each {keys}",
        *(f"start: {part}" for part in _members(operator.start)),
        *(f"↻ step: {part}" for part in _members(operator.step)),
    ]


def _members(query: Query) -> list[str]:
    """Return a query as lines: one for each member of a union; or one for each WITH, and one for the rest."""
    if query.branches:
        return [str(member) for member in members(Sql.of(query.sql))]
    defined, rest = query.hoisted()
    return [*(f"{name} = {part.sql}" for name, part in defined.items()), rest.sql]


def _join(how: str, on: tuple[str, ...]) -> str:
    return f"{how} on {', '.join(on)}" if on else f"{how}, all pairs"
