"""One function for each operator of a flow, which draws how it is used; and operators to draw for `process`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, cast

import pyarrow as pa
from hypothesis import strategies as st

from tidegate.check.reminders import Remembered, Reminders
from tidegate.flow import Flow, Stream
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.schema import Schema
from tidegate.spec import DT, Event, Operator, batch_op, ihist_op, ihist_paths_op

__all__ = ["GREATEST", "OPERATORS", "TIMES", "Drawing", "Totals", "Visits", "VisitsWithState", "other_side"]

#: Kinds of time: the declaration of the time columns, and for each how a small number becomes a value and a span.
TIMES: dict[str, tuple[tuple[str, ...], tuple[Callable[[int], Any], ...], tuple[Callable[[int], Any], ...]]] = {
    "INT": (("t INT",), (int,), (int,)),
    "DATE": (("t DATE",), (lambda n: date(2026, 1, 1) + timedelta(days=n),), (lambda n: f"{n} days",)),
    "TIMESTAMP": (
        ("t TIMESTAMP",),
        (lambda n: datetime(2026, 1, 1) + timedelta(minutes=n),),
        (lambda n: f"{n} minutes",),
    ),
    "INT, INT": (("t INT", "u INT"), (int, int), (int, int)),
    "DATE, INT": (
        ("t DATE", "u INT"),
        (lambda n: date(2026, 1, 1) + timedelta(days=n), int),
        (lambda n: f"{n} days", int),
    ),
}
GREATEST = 7


@dataclass(frozen=True)
class Totals(Operator[Event, Event]):
    """The number of rows of a key at or below each of its times: an operator to draw for `process`.

    Its answers do not depend on which of two times that do not compare comes first, as `process` requires.
    """

    seen: tuple[Any, ...] = ()

    def apply(self, event: Event) -> tuple[Totals, list[Event]]:
        if isinstance(event, DT):
            return Totals((*self.seen, event.t)), []
        return self, [DT(event.t, {"n": sum(_below(t, event.t) for t in self.seen)})]


@dataclass(frozen=True)
class Visits(Operator[Event, Event]):
    """The number of rows of a key so far, and at the exit, ``after`` units after the last: to draw for `process`."""

    after: Any
    rows: int = 0
    last: Any = None

    def apply(self, event: Event) -> tuple[Visits, list[Event]]:
        if isinstance(event, DT):
            return replace(self, rows=self.rows + 1, last=event.t), []
        return self, [DT(event.t, {"n": self.rows})]

    def exit(self) -> list[Event]:
        return [DT(self.last + self.after, {"n": -self.rows})]


class VisitsWithState(Visits):
    """The same operator with `state` and `resume`."""

    def state(self) -> Any:
        return [self.rows, self.last]

    def resume(self, state: Any) -> VisitsWithState:
        return replace(self, rows=state[0], last=state[1])


def _below(a: Any, b: Any) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else bool(a <= b)


@dataclass(slots=True)
class Drawing:
    """A flow that is being drawn."""

    draw: st.DrawFn
    flow: Flow
    time: str
    steps: list[str] = field(default_factory=list)

    def one(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def number(self, least: int, greatest: int) -> int:
        return self.draw(st.integers(least, greatest))

    @property
    def total(self) -> bool:
        return len(TIMES[self.time][0]) == 1

    def span(self, n: int, column: int = 0) -> Any:
        return TIMES[self.time][2][column](n)

    def over(self) -> tuple[dict[str, Any], int]:
        """Draw which time column to work along: the options that say so, and its number."""
        if self.total:
            return {}, 0
        column = self.number(0, 1)
        return {"over": "tu"[column]}, column

    def text(self, schema: Schema) -> str | None:
        names = [c.name for c in schema.data if c.type == "STRING"]
        return self.draw(st.sampled_from(names)) if names else None

    def integer(self, schema: Schema) -> str | None:
        names = [c.name for c in schema.data if c.type in ("INT", "BIGINT")]
        return self.draw(st.sampled_from(names)) if names else None

    def by(self, schema: Schema) -> tuple[str, ...]:
        name = self.text(schema)
        return (name,) if name is not None and self.draw(st.booleans()) else ()

    def aggregates(self, schema: Schema) -> dict[str, str]:
        """Draw one or two aggregates that are exact in every engine."""
        x, k = self.integer(schema), self.text(schema)
        known = ["count(*)"]
        if x is not None:
            known += [
                f"sum({x})",
                f"min({x})",
                f"max({x})",
                f"count({x})",
                f"sum({x}) * 2 + count(*)",
                f"count(DISTINCT {x})",
            ]
            known += [f"count(*) FILTER (WHERE {x} > 0)", f"coalesce(sum({x}), 0)"]
        if k is not None:
            known += [f"max({k})", f"count(DISTINCT {k})", f"first({k})", f"upper(max({k}))"]
        chosen = self.draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True))
        return {f"a{len(self.steps)}_{i}": text for i, text in enumerate(chosen)}

    def condition(self, schema: Schema) -> str:
        x, k = self.integer(schema), self.text(schema)
        choices = ["t IS NOT NULL"]
        if x is not None:
            choices += [f"{x} > {self.number(-2, 3)}", f"{x} % 2 = 0", f"{x} IS NULL", f"NOT {x} = 1"]
        if k is not None:
            choices += [f"{k} = 'a'", f"{k} <> 'b'", f"coalesce({k}, '?') > 'a'"]
        return self.draw(st.sampled_from(choices))


def _where(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    return s.where(b.condition(s.schema))


def _select(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    x, k, n = b.integer(s.schema), b.text(s.schema), len(b.steps)
    outputs = [f"{x} * 2 - 1 AS i{n}"] if x else ["1 AS one"]
    outputs += [f"coalesce({k}, 'none') AS s{n}", k] if k else []
    return s.select(*outputs)


def _with_columns(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    x = b.integer(s.schema)
    return s.with_columns(**{f"w{len(b.steps)}": f"CASE WHEN {x} > 0 THEN {x} ELSE 0 END" if x else "7"})


def _explode(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    x, name = b.integer(s.schema), f"e{len(b.steps)}"
    return s.with_columns(**{name: f"array({x}, {x})" if x else "array(1, 2)"}).explode(name)


def _at(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    later = {"INT": "{0} + {1}", "DATE": "date_add({0}, {1})", "TIMESTAMP": "{0} + INTERVAL {1} MINUTES"}
    moved = {}
    for column in s.schema.times:
        form, name = later[column.type or ""], column.name
        one, other = (form.format(name, b.number(least, 3)) for least in (0, 1))
        before = form.format(name, -1) if column.type != "TIMESTAMP" else f"{name} - INTERVAL 1 MINUTE"
        otherwise = b.one(name, other, other, before, "NULL")
        moved[name] = b.one(name, one, f"CASE WHEN {b.condition(s.schema)} THEN {one} ELSE {otherwise} END")
    return s.at(**moved)


def _gate(_: Drawing, s: Stream, __: list[Stream]) -> Stream:
    return s.gate()


def _distinct(_: Drawing, s: Stream, __: list[Stream]) -> Stream:
    return s.distinct()


def _aggregate(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    return s.aggregate(by=b.by(s.schema), **b.aggregates(s.schema))


def _window(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    over, column = b.over()
    every = b.number(1, 3)
    size = every + b.number(0, 3)
    shift = {"offset": b.span(b.number(0, 2), column)} if b.draw(st.booleans()) else {}
    windowed = s.window(b.span(size, column), every=b.span(every, column), **shift, **over)
    return _without_struct(windowed.aggregate(by=b.by(s.schema), **b.aggregates(s.schema)), "window")


def _calendar(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    over, column = b.over()
    type_ = s.schema.times[column].type
    if type_ not in ("DATE", "TIMESTAMP"):
        return _window(b, s, _)
    zoned = type_ == "TIMESTAMP" and b.draw(st.booleans())
    unit = b.one("day", "week", "month", "year") if zoned else b.one("month", "year")
    every = b.number(1, 2)
    options: dict[str, Any] = {"every": f"{every} {unit}s", "offset": f"{b.number(0, 2)} {unit}s"}
    options |= {"zone": b.one("Asia/Kolkata", "Pacific/Apia")} if zoned else {}
    windowed = s.window(f"{every + b.number(0, 1)} {unit}s", **options, **over)
    return _without_struct(windowed.aggregate(by=b.by(s.schema), **b.aggregates(s.schema)), "window")


def _session(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    over, column = b.over()
    windowed = s.session(b.span(b.number(1, 3), column), **over)
    return _without_struct(windowed.aggregate(by=b.by(s.schema), **b.aggregates(s.schema)), "session")


def _without_struct(s: Stream, name: str) -> Stream:
    """Drop the bounds, since a second window would have a column of the same name."""
    return s.drop(name)


def _so_far(b: Drawing) -> dict[str, Any]:
    """Draw when there are answers over all rows so far."""
    options: dict[str, Any] = {"emit": b.one("update", "complete")}
    if b.draw(st.booleans()):
        _, column = b.over()
        period = b.span(b.number(1, 4), column)
        options["every"] = period if b.total else {"tu"[column]: period}
    if b.total and b.draw(st.booleans()):
        options["forget"] = b.span(b.number(1, 4))
    return options


def _accumulate(b: Drawing, s: Stream, __: list[Stream]) -> Stream:
    return s.accumulate(by=b.by(s.schema), **_so_far(b), **b.aggregates(s.schema))


def _ranked(b: Drawing, s: Stream, of: Any, **options: Any) -> Stream:
    """Draw which rows are chosen of a stream, of windows, or of sessions."""
    by, verb = b.by(s.schema), b.one("top", "top", "last", "latest")
    if verb == "latest":
        return cast("Stream", of.latest(by, **options))
    if verb == "last":
        found = of.last(b.number(1, 3), by, **options)
    else:
        names = [name for name in (b.integer(s.schema), b.text(s.schema)) if name] or ["t"]
        order = [f"{name} {b.one('', 'ASC', 'DESC', 'NULLS LAST', 'DESC NULLS FIRST')}" for name in names]
        found = of.top(b.number(1, 3), by, order[: b.number(1, 2)], **options)
    # A second rank would be a column with the same name.
    return cast(
        "Stream", found.select(*(c.name for c in found.schema.data if c.name != "rank"), f"rank AS r{len(b.steps)}")
    )


def _top(b: Drawing, s: Stream, __: list[Stream]) -> Stream:
    return _ranked(b, s, s, **_so_far(b))


def _window_top(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    over, column = b.over()
    every = b.number(1, 3)
    if b.draw(st.booleans()):
        return _without_struct(_ranked(b, s, s.session(b.span(every, column), **over)), "session")
    size = every + b.number(0, 3)
    windowed = s.window(b.span(size, column), every=b.span(every, column), **over)
    return _without_struct(_ranked(b, s, windowed), "window")


def _deduplicate(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    over, column = b.over()
    bound = b.one("", "within", "forget")
    spans = {bound: b.span(b.number(1, 3), column)} if bound else {}
    return s.deduplicate(b.by(s.schema), **spans, **over)


def _union(b: Drawing, s: Stream, others: list[Stream]) -> Stream:
    alike = [o for o in others if sorted(o.schema.columns, key=str) == sorted(s.schema.columns, key=str)]
    chosen = [b.one(*alike) if alike else s.where(b.condition(s.schema)) for _ in range(b.number(1, 2))]
    return s.union(*chosen)


def other_side(b: Drawing, s: Stream, others: list[Stream]) -> tuple[Stream, tuple[str, ...]]:
    """Draw the right side of a join: a text column to join on, if both have one, and the rest renamed."""
    other = b.one(*others)
    left, right = b.text(s.schema), b.text(other.schema)
    on = (left,) if left is not None and right is not None else ()
    renamed = [f"{right} AS {left}"] if on else []
    x = b.integer(other.schema)
    renamed += [f"{x} AS r{len(b.steps)}" if x else f"1 AS r{len(b.steps)}"]
    return other.select(*renamed), on


def _join(b: Drawing, s: Stream, others: list[Stream]) -> Stream:
    other, on = other_side(b, s, others)
    x = b.integer(s.schema)
    where = f"left.{x} <= right.r{len(b.steps)}" if x and b.draw(st.booleans()) else None
    return s.join(other, on=on, where=where, how=b.one("inner", "inner", "left", "right", "full", "semi", "anti"))


def _join_table(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    k = b.text(s.schema)
    if k is None:
        return s.with_columns(**{f"c{len(b.steps)}": "1"})
    table = b.flow.table(f"table{len(b.steps)}", f"{k} STRING, z{len(b.steps)} INT")
    return s.join(table, on=k, how=b.one("inner", "left", "semi", "anti"))


def _join_asof(b: Drawing, s: Stream, others: list[Stream]) -> Stream:
    other, on = other_side(b, s, others)
    over, column = b.over()
    within = b.span(b.number(0, 3), column) if b.draw(st.booleans()) else None
    return s.join_asof(other, on=on, within=within, how=b.one("inner", "left"), **over)


def _window_join(b: Drawing, s: Stream, others: list[Stream]) -> Stream:
    other, on = other_side(b, s, others)
    over, column = b.over()
    every = b.number(1, 3)
    size = b.span(every + b.number(0, 2), column)
    how = b.one("inner", "left", "full", "anti")
    early = how == "inner" and b.draw(st.booleans())
    return s.window_join(other, on=on, size=size, every=b.span(every, column), how=how, **over, early=early)


def _interval_join(b: Drawing, s: Stream, others: list[Stream]) -> Stream:
    other, on = other_side(b, s, others)
    how = b.one("inner", "inner", "left", "right", "full", "semi", "anti")
    if not b.total and b.draw(st.booleans()):
        return s.interval_join(other, on=on)
    over, column = b.over()
    low, length = b.number(-3, 2), b.number(0, 4)
    # A kind that gives rows without a match needs a bound on what may still come.
    lower = b.span(low, column) if how in ("right", "full") or b.draw(st.booleans()) else None
    upper = b.span(low + length, column) if how in ("left", "anti", "full") or b.draw(st.booleans()) else None
    x = b.integer(s.schema)
    where = f"left.{x} <= right.r{len(b.steps)} OR left.t < right.t" if x and b.draw(st.booleans()) else None
    return s.interval_join(other, on=on, lower=lower, upper=upper, where=where, how=how, **over)


def _process(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    k = b.text(s.schema)
    if k == "n":
        return s.gate()
    by = (k,) if k else ()
    if b.draw(st.booleans()):
        order = s.schema.order
        operator, out = b.one((ihist_op(order), _summed), (ihist_paths_op(order), _summed), (batch_op(order), _each))
        return s.process(operator, by=by, schema="n INT", out=out)
    if not b.total or b.draw(st.booleans()):
        # On several time columns, an operator with timers has `state` and `resume`.
        asking = b.one(Reminders, Remembered) if b.total else Remembered
        operator = b.one(Totals(), asking(after=b.number(1, 4)))
        return s.process(operator, by=by, schema="n INT")
    n = b.number(1, 4)
    after = {"INT": n - 1, "DATE": timedelta(days=n - 1), "TIMESTAMP": timedelta(minutes=n, microseconds=-1)}[b.time]
    return s.process(b.one(Visits, VisitsWithState)(after), by=by, schema="n INT", forget=b.span(n))


def _summed(histogram: Any) -> dict[str, int]:
    """Return the number of rows in a histogram: a function to draw for `process`."""
    return {"n": sum(histogram.values())}


def _each(batch: Any) -> list[dict[str, int]]:
    """Return a row for each element of a batch, with its position: a function to draw for `process`."""
    return [{"n": i} for i in range(len(batch))]


def _iterate(b: Drawing, s: Stream, others: list[Stream]) -> Stream:
    x = b.integer(s.schema)
    if x is None:
        return s.gate()
    other = b.one(*others)
    y = b.integer(other.schema)
    # The edges of the loop lead from x to a number modulo 5, or to a value of another stream.
    node = f"CAST((e.{x} + {b.number(0, 4)}) % 5 AS BIGINT) AS node"
    joined = ""
    if y is not None and b.draw(st.booleans()):
        node, joined = f"CAST(o.{y} AS BIGINT) AS node", f"JOIN other o ON o.{y} >= e.{x}"
    name = f"l{len(b.steps)}"
    kept: list[tuple[str, dict[str, int]]] = [(f"{rule}({name})", {}) for rule in _rules_for("BIGINT")]
    keep, often = b.one(*kept, (f"sum({name})", {"rounds": 2}))
    return s.iterate(
        start=f"SELECT CAST({x} AS BIGINT) AS node, CAST({x} AS BIGINT) AS {name} FROM input",
        step=f"SELECT {node}, k.{name} FROM known k JOIN input e ON e.{x} = k.node {joined}",
        key="node",
        keep=f"{keep} AS {name}",
        also={"other": other} if joined else {},
        emit=b.one("update", "complete"),
        **often,
    )


def _rules_for(type_: str) -> list[str]:
    """Return the functions by which a loop may keep a column of a type, each under its usual name."""
    rules = {function.names[0]: function.loop for function in AGGREGATE_FUNCTIONS.values()}
    return [name for name, rule in rules.items() if rule and not rule.by and rule.fits(type_)]


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return each row of a batch twice: a function to draw for `map_batches`."""
    return batch.take(pa.array([i // 2 for i in range(2 * batch.num_rows)], pa.int64()))


def counted(rows: pa.Table) -> pa.Table:
    """Return the number of rows: a function to draw for windows."""
    return pa.table({"n": pa.array([rows.num_rows], pa.int64())})


def _map_batches(_: Drawing, s: Stream, __: list[Stream]) -> Stream:
    # What a function returns must be declared, so all types have to be known.
    known = {c.name: c.type for c in s.schema.columns if c.type is not None}
    return s.map_batches(twice, known) if len(known) == len(s.schema.columns) else s.gate()


def _apply(b: Drawing, s: Stream, _: list[Stream]) -> Stream:
    over, column = b.over()
    by = tuple(name for name in b.by(s.schema) if name != "n")
    applied = s.window(b.span(b.number(1, 4), column), **over).apply(counted, "n BIGINT", by)
    return _without_struct(applied, "window")


OPERATORS: dict[str, Callable[[Drawing, Stream, list[Stream]], Stream]] = {
    "where": _where,
    "select": _select,
    "with_columns": _with_columns,
    "explode": _explode,
    "map_batches": _map_batches,
    "at": _at,
    "gate": _gate,
    "distinct": _distinct,
    "aggregate": _aggregate,
    "window": _window,
    "calendar": _calendar,
    "apply": _apply,
    "session": _session,
    "accumulate": _accumulate,
    "top": _top,
    "window_top": _window_top,
    "deduplicate": _deduplicate,
    "union": _union,
    "join": _join,
    "join_table": _join_table,
    "join_asof": _join_asof,
    "window_join": _window_join,
    "interval_join": _interval_join,
    "process": _process,
    "iterate": _iterate,
}
