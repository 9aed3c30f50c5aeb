"""`process` from step to step: each copy of the user's operator continues from where it was.

`Memory` says how. If the operator has ``state()`` and ``resume(state)``, what a copy knows is written as a plain value.
If the user allows pickles for this checkpoint, the copy is pickled. Otherwise its rows are kept, and replayed whenever
its key has new ones. Only pickles run code when they are read.
"""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, complete_at
from tidegate.engine.functions import running
from tidegate.engine.keepers.keeper import FrontierMove
from tidegate.engine.lowering.across_time import answer_columns, by_key, declared, same_as_given
from tidegate.engine.lowering.chains import UNTIL, remembered
from tidegate.engine.plain import plain_text, plain_value
from tidegate.engine.processing import Copies, bounds, whole_keys
from tidegate.engine.relation import Batches, Relation, as_they_are
from tidegate.engine.timing import complete_by
from tidegate.engine.units import units_of
from tidegate.flow.arrow import rows_of, table_of
from tidegate.flow.errors import BadResult
from tidegate.flow.plan import Process
from tidegate.flow.schema import Column
from tidegate.spec.parts import name_of

__all__ = [
    "Memory",
    "latest",
    "memory_of",
    "memory_of_rows",
    "not_forgotten",
    "replayed",
    "resumed",
    "states_of",
    "timers_in",
    "timers_of_rows",
]


class Memory(Enum):
    """What is kept of each copy of an operator."""

    ROWS = "rows"
    VALUES = "values"
    PICKLES = "pickles"


def memory_of(operator: Process, *, allow_pickle: bool) -> Memory:
    """Return what is kept of copies.

    It is values if the operator has ``state()`` and ``resume(state)``, else pickles if they are allowed, else rows.
    """
    copy = operator.operator
    if callable(getattr(copy, "state", None)) and callable(getattr(copy, "resume", None)):
        return Memory.VALUES
    return Memory.PICKLES if allow_pickle else Memory.ROWS


def memory_of_rows(operator: Process, memory: Memory, rows: Relation) -> Relation:
    """Return the columns that are kept of copies; ``rows`` are rows of the input.

    These are the rows with the step in which they were given, or the keys with what is known of each.
    """
    if memory is Memory.ROWS:
        return rows.with_columns({"__done": "0L"})
    known = _keyed(operator, rows).with_columns(_NOTHING | {"__last": "0L", "__step": "0L"})
    return known.select(as_they_are([*_keys(operator), *_of_copies(operator), "__step"]))


def not_forgotten(operator: Process, history: Relation, at: Frontier) -> Relation:
    """Return the rows of the copies that are not forgotten yet."""
    if operator.forget is None:
        return history
    known = _remembered(operator, _keyed(operator, history), _at(operator), _keys(operator))
    return known.where(f"NOT ({_over(operator, at, UNTIL)})").select(as_they_are(history.names))


def timers_of_rows(operator: Process, rows: Relation) -> Relation:
    """Return the columns that are kept of timers: the key, and the time."""
    return _keyed(operator, rows).select(as_they_are([*_keys(operator), *operator.schema.time]))


def timers_in(operator: Process, result: Relation) -> tuple[Relation, Relation]:
    """Return the two parts of a result of `replayed` or `resumed`: all rows but timers, and the new timers.

    The operator must have timers.
    """
    timers = result.where("__timer").select(as_they_are([*_keys(operator), *operator.schema.time]))
    return result.where("NOT __timer").without("__timer"), timers


def replayed(
    operator: Process, history: Relation, step: int, moved: FrontierMove, timers: Relation | None = None
) -> Relation:
    """Return the answers to the rows that became complete in this step, after replaying the rows before them.

    ``history`` has all rows that ever became complete, and ``__done`` is the step in which they did. At the end of the
    input every copy exits. Before that, only copies that are forgotten exit. ``timers`` are those that became complete,
    if the operator has timers. The result then contains the newly set timers, too (`timers_in`).
    """
    rows, keys = history.without("__done"), _keys(operator)
    given = _keyed(operator, history)
    exits = "true" if moved.ended else "false"
    if operator.forget is not None:
        given = _remembered(operator, given, _at(operator), keys).where(f"NOT ({_over(operator, moved.old, UNTIL)})")
        keys, exits = [*keys, UNTIL], exits if moved.ended else _over(operator, moved.new, UNTIL)
    if timers is not None:
        given = _with_timers(given, timers, {"__done": f"{step}L"})
    # Rows are replayed in the order in which they were given: step by step, and within a step in an order that extends
    # the order of time.
    given = by_key(given, keys, ["__done", *rows.order])
    given = given.with_columns({"__exits": exits})
    if not moved.ended:
        newest = given.over({"__newest": call("max", "__done")}, keys)
        given = newest.where(f"__newest = {step}L OR __exits").without("__newest")
    copies = Copies(operator, rows.columns, declared(operator))
    function = _replaying(copies, step, _CompleteTimes(operator, moved))
    columns = [*declared(operator), *([] if timers is None else [_TIMER])]
    answers = given.map_arrow(function, columns, same_as_given(operator), by=keys)
    return answers if timers is not None else answers.select(answer_columns(operator))


def resumed(
    operator: Process,
    memory: Memory,
    fresh: Relation,
    known: Relation,
    moved: FrontierMove,
    timers: Relation | None = None,
    *,
    few: bool,
) -> Relation:
    """Return the answers to fresh rows, and what is known of their keys afterwards (`states_of`).

    ``known`` is what was known of all keys before. ``few`` says that there are only a few fresh rows. At the end of the
    input every copy exits. Before that, only copies that are forgotten exit. ``timers`` are those that became complete,
    if the operator has timers. The result then contains the newly set timers, too (`timers_in`).
    """
    keys = _keys(operator)
    rows = _keyed(operator, fresh)
    if timers is not None:
        rows = _with_timers(rows, timers)
    exits = "true" if moved.ended else "false"
    if operator.forget is not None:
        known = latest(operator, known, moved.old)
        exits = exits if moved.ended else _over(operator, moved.new, f"__last + {operator.forget}L")
    if not moved.ended and keys and few:
        # Only the states of keys with fresh rows are read, and those of copies that may exit.
        wanted = rows.select({f"{name}x": name for name in keys}).distinct()
        same = " AND ".join(f"{name} <=> {name}x" for name in keys)
        going_on = known if operator.forget is None else known.where(f"NOT ({exits})")
        going_on = going_on.join(wanted.small(), same, "semi")
        known = going_on if operator.forget is None else going_on.union(known.where(exits))
    empty = known.with_columns(dict.fromkeys(fresh.names, "NULL"), like=fresh.shape)
    if timers is not None:
        empty = empty.with_columns({"__timer": "false"})
    nothing = dict.fromkeys(("__step", *([] if operator.forget is None else ["__last"])), "CAST(NULL AS BIGINT)")
    both = rows.with_columns(_NOTHING | nothing).union(empty)
    groups = keys
    if operator.forget is not None:
        both = _remembered(operator, both, f"coalesce(__last, {_at(operator)})", keys)
        groups, exits = [*keys, UNTIL], exits if moved.ended else _over(operator, moved.new, UNTIL)
    given = by_key(both.with_columns({"__exits": exits}), groups, ["__known IS NULL", "__step", *fresh.order])
    copies = Copies(operator, fresh.columns, declared(operator))
    function = _resuming(copies, memory, len(keys), _CompleteTimes(operator, moved))
    types = {"__known": "STRING", "__last": "BIGINT"}
    columns = [*declared(operator), *(Column(name, types[name]) for name in _of_copies(operator))]
    columns += [] if timers is None else [_TIMER]
    return given.map_arrow(function, columns, same_as_given(operator), by=groups)


def states_of(operator: Process, result: Relation, step: int) -> tuple[Relation, Relation]:
    """Return the two parts of a result of `resumed`: the answers, and what is known of each key."""
    known = result.where("__known IS NOT NULL").select(
        as_they_are([*_keys(operator), *_of_copies(operator)]) | {"__step": f"{step}L"}
    )
    return result.where("__known IS NULL").select(answer_columns(operator)), known


def latest(operator: Process, known: Relation, at: Frontier) -> Relation:
    """Return what was known last of each key that is not forgotten."""
    newest = {name: call("max_by", name, "__step") for name in _of_copies(operator)} | {"__step": call("max", "__step")}
    found = known.group(as_they_are(_keys(operator)), newest)
    return (
        found
        if operator.forget is None
        else found.where(f"NOT ({_over(operator, at, f'__last + {operator.forget}L')})")
    )


def _with_timers(rows: Relation, timers: Relation, more: Mapping[str, str] | None = None) -> Relation:
    """Return rows and timers together. Timers are rows with a key and a time only, and ``__timer`` is true."""
    there = set(timers.names)
    nothing = dict.fromkeys((name for name in rows.names if name not in there), "NULL") | dict(more or {})
    added = timers.with_columns(nothing, like=rows.shape).with_columns({"__timer": "true"})
    return rows.with_columns({"__timer": "false"}).union(added)


#: The column that tells timers from rows and answers.
_TIMER = Column("__timer", "BOOLEAN")
_NOTHING = {"__known": "CAST(NULL AS STRING)"}


def _of_copies(operator: Process) -> list[str]:
    """Return the columns of what is known of a copy: its state, and the time of its last row in units."""
    return ["__known"] if operator.forget is None else ["__known", "__last"]


def _at(operator: Process) -> str:
    return units_of(operator.schema, operator.schema.time[0])


def _remembered(operator: Process, rows: Relation, at: str, keys: Sequence[str]) -> Relation:
    return remembered(rows, at, operator.forget or 0, keys)


def _over(operator: Process, at: Frontier, until: str) -> str:
    """Return the SQL condition that a copy is forgotten.

    ``until`` is SQL for the time, in units, until which it is remembered.
    """
    return complete_at(operator.schema, at, operator.schema.time[0], f"{until} - 1L")


def _keys(operator: Process) -> list[str]:
    return [f"__k{i}" for i in range(len(operator.by))]


def _keyed(operator: Process, rows: Relation) -> Relation:
    return rows.with_columns({f"__k{i}": e.sql for i, e in enumerate(operator.by)})


def _check(operator: Process, old: Frontier) -> Callable[[Any], None]:
    order, elements, at = operator.schema.order, list(old), operator.schema.coordinates

    def check(t: Any) -> None:
        if not any(order.le(f, t) for f in elements):
            raise BadResult(
                f"expected at exit only times that are not complete yet, got {at.time_of_user(t) if at else t!r}",
                hint="answer at the latest when the time is given; a time that is complete stays as it is",
            )

    return check


class _CompleteTimes:
    """Which times were complete before a step, and which are now.

    ``check`` raises if a copy answers at its exit for a time that was complete before.
    """

    def __init__(self, operator: Process, moved: FrontierMove) -> None:
        order = operator.schema.order
        self.before = complete_by(order, moved.old)
        self.now = complete_by(order, moved.new)
        self.check = _check(operator, moved.old)


def _own(copies: Copies, chunk: pa.Table, rows: pa.Table, start: int, end: int) -> tuple[pa.Table, list[Any]]:
    """Return the rows of a key without its timers, and the times of its timers."""
    own = rows.slice(start, end - start)
    if "__timer" not in chunk.column_names:
        return own, []
    timer = chunk.column("__timer").slice(start, end - start)
    return own.filter(pc.invert(timer)), [copies.schema.time_of(row) for row in rows_of(own.filter(timer))]


def _timer_rows(copies: Copies, chunk: pa.Table, asked: Sequence[tuple[int, Any]], keys: int) -> pa.RecordBatch:
    """Return timers as rows beside the answers. Each has the key of the row with the given number."""
    nth = pa.array([start for start, _ in asked], pa.int64())
    times = [t if len(copies.schema.time) > 1 else (t,) for _, t in asked]
    table = table_of([dict(zip(copies.schema.time, t, strict=True)) for t in times], copies.schema.times)
    named = {f"__k{i}": chunk.column(f"__k{i}").take(nth).combine_chunks() for i in range(keys)}
    named |= {name: table.column(name).combine_chunks() for name in copies.schema.time}
    return copies.beside(named, len(asked))


def _replaying(copies: Copies, step: int, when: _CompleteTimes) -> Batches:
    keys = len(copies.keys)

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in whole_keys(iterator):
            with running(copies.place):
                rows = copies.rows(chunk)
                played = pc.less(chunk.column("__done"), step).to_pylist()
                exits = chunk.column("__exits").to_pylist()
                tables, asked = [], []
                for start, end in (found := bounds(chunk)):
                    before = sum(played[start:end])
                    past = copies.timers(when.before)
                    copy, _ = copies.given(copies.fresh(), rows.slice(start, before), past)
                    own, due = _own(copies, chunk, rows, start + before, end)
                    waited = past.waiting if past else set()
                    timers = copies.timers(when.now, waited | set(due))
                    copy, answers = copies.given(copy, own, timers)
                    if exits[start]:
                        whole, _ = _own(copies, chunk, rows, start, end)
                        last = copies.exit_time(whole)
                        if timers is not None:
                            last = timers.last if timers.last is not None else (past and past.last)
                        answers += copies.exits(copy, last, check=when.check)
                    tables.append(answers)
                    asked += [(start, t) for t in timers.waiting - waited] if timers else []
                for batch in copies.answers(chunk, [start for start, _ in found], tables):
                    yield copies.marked(batch, timer=False)
                if asked:
                    yield copies.marked(_timer_rows(copies, chunk, asked, keys), timer=True)

    return batches


def _resuming(copies: Copies, memory: Memory, keys: int, when: _CompleteTimes) -> Batches:
    read, write = _CODES[memory]

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in whole_keys(iterator):
            with running(copies.place):
                rows = copies.rows(chunk)
                known = chunk.column("__known").to_pylist()
                exits = chunk.column("__exits").to_pylist()
                until = [] if copies.forget is None else chunk.column(UNTIL).to_pylist()
                tables, knows, starts, asked = [], [], [], []
                for start, end in bounds(chunk):
                    # Known states come before fresh rows, and the latest state is the last of them.
                    first = next((i for i in range(start, end) if known[i] is None), end)
                    if first == end and not exits[start]:
                        continue
                    copy = read(copies.fresh(), known[first - 1]) if first > start else copies.fresh()
                    own, due = _own(copies, chunk, rows, first, end)
                    timers = copies.timers(when.now, due)
                    copy, answers = copies.given(copy, own, timers)
                    if exits[start]:
                        last = copies.time_before(until[start]) if until else None
                        answers += copies.exits(copy, last, check=when.check)
                    else:
                        knows.append((start, write(copy)))
                    tables.append(answers)
                    starts.append(start)
                    asked += [(start, t) for t in timers.waiting] if timers else []
                for batch in copies.answers(chunk, starts, tables):
                    empty = {"__known": pa.string()} | ({"__last": pa.int64()} if until else {})
                    arrays = [*batch.columns, *(pa.nulls(batch.num_rows, type_) for type_ in empty.values())]
                    unknown = pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *empty])
                    yield copies.marked(unknown, timer=False)
                if asked:
                    timers_ = _timer_rows(copies, chunk, asked, keys)
                    unknown = timers_.append_column("__known", pa.nulls(len(asked), pa.string()))
                    yield copies.marked(unknown, timer=True)
                if knows:
                    yield copies.marked(_known(chunk, knows, copies, keys), timer=False)

    return batches


def _pickled(copy: Any) -> str:
    dumps: Callable[[Any], bytes] = pickle.dumps
    with suppress(ImportError):
        # Unlike `pickle`, it can write a class that was defined in a notebook, and a lambda.
        from pyspark import cloudpickle

        dumps = cloudpickle.dumps
    try:
        return b64encode(dumps(copy)).decode()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise BadResult(
            f"expected an operator that can be pickled, as the run allows it, got {name_of(copy)}: {error}",
            hint="give it state() and resume(state); or start without allow_pickle, and the rows of each key are kept",
        ) from None


#: How the state of a copy is read from text, and written to text.
_CODES: dict[Memory, tuple[Callable[[Any, str], Any], Callable[[Any], str]]] = {
    Memory.VALUES: (lambda copy, text: copy.resume(plain_value(text)), lambda copy: plain_text(copy.state())),
    Memory.PICKLES: (lambda _, text: pickle.loads(b64decode(text)), _pickled),
}


def _known(chunk: pa.Table, knows: Sequence[tuple[int, str]], copies: Copies, keys: int) -> pa.RecordBatch:
    """Return the states of keys as rows beside the answers, with the key and the state only."""
    nth = pa.array([start for start, _ in knows], pa.int64())
    named = {f"__k{i}": chunk.column(f"__k{i}").take(nth).combine_chunks() for i in range(keys)}
    named["__known"] = pa.array([text for _, text in knows], pa.string())
    if copies.forget is not None:
        until = chunk.column(UNTIL).take(nth).combine_chunks()
        named["__last"] = pc.subtract(until, copies.forget).cast(pa.int64())
    return copies.beside(named, len(knows))
