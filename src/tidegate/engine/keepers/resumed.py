"""`process` from step to step: each copy of the user's operator goes on from where it was.

How it does is up to the operator and the user (`Memory`). What a copy knows is written down as a plain value, if it can
tell it and be made of it again; as a pickle, if the user allows that for this checkpoint; and otherwise its rows are
kept, and played again whenever the key has new ones. Only the second runs code on reading.
"""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.calls import call
from tidegate.engine.frontiers import Frontier, complete_at
from tidegate.engine.functions import running
from tidegate.engine.keepers.keeper import Moved
from tidegate.engine.lowering.across_time import answer_columns, by_key, declared, same_as_given
from tidegate.engine.lowering.chains import UNTIL, remembered
from tidegate.engine.plain import plain_text, plain_value
from tidegate.engine.processing import Copies, bounds, whole_keys
from tidegate.engine.relation import Batches, Relation, as_they_are
from tidegate.engine.units import units_of
from tidegate.flow.errors import BadResult
from tidegate.flow.plan import Process
from tidegate.flow.schema import Column

__all__ = ["Memory", "latest", "memory_of", "memory_of_rows", "not_forgotten", "replayed", "resumed", "states_of"]


class Memory(Enum):
    """What is kept of each copy of an operator."""

    ROWS = "rows"
    VALUES = "values"
    PICKLES = "pickles"


def memory_of(operator: Process, *, allow_pickle: bool) -> Memory:
    """Return what is kept: an operator with ``state()`` and ``resume(state)`` tells it, and others are not asked."""
    copy = operator.operator
    if callable(getattr(copy, "state", None)) and callable(getattr(copy, "resume", None)):
        return Memory.VALUES
    return Memory.PICKLES if allow_pickle else Memory.ROWS


def memory_of_rows(operator: Process, memory: Memory, rows: Relation) -> Relation:
    """Return what is kept: rows and the step that they were played in, or keys and what is known."""
    if memory is Memory.ROWS:
        return rows.with_columns({"__done": "0L"})
    known = _keyed(operator, rows).with_columns(_NOTHING | {"__last": "0L", "__step": "0L"})
    return known.select(as_they_are([*_keys(operator), *_of_copies(operator), "__step"]))


def not_forgotten(operator: Process, history: Relation, at: Frontier) -> Relation:
    """Return the rows of copies that can still be given others, or have not exited."""
    if operator.forget is None:
        return history
    known = _remembered(operator, _keyed(operator, history), _at(operator), _keys(operator))
    return known.where(f"NOT ({_over(operator, at, UNTIL)})").select(as_they_are(history.names))


def replayed(operator: Process, history: Relation, step: int, moved: Moved) -> Relation:
    """Return what the rows that became complete in this step give, after the rows before them are played again.

    ``history`` holds all rows that ever became complete; ``__done`` is the step in which that was. At the end of the
    input every copy exits; before, those that are forgotten.
    """
    rows, keys = history.without("__done"), _keys(operator)
    given = _keyed(operator, history)
    exits = "true" if moved.ended else "false"
    if operator.forget is not None:
        given = _remembered(operator, given, _at(operator), keys).where(f"NOT ({_over(operator, moved.old, UNTIL)})")
        keys, exits = [*keys, UNTIL], exits if moved.ended else _over(operator, moved.new, UNTIL)
    # Times that became complete in earlier steps were given before; within a step, in an order that extends time's.
    given = by_key(given, keys, ["__done", *rows.order])
    given = given.with_columns({"__exits": exits})
    if not moved.ended:
        newest = given.over({"__newest": call("max", "__done")}, keys)
        given = newest.where(f"__newest = {step}L OR __exits").without("__newest")
    copies = Copies(operator, rows.columns, declared(operator))
    function = _replaying(copies, step, _check(operator, moved.old))
    answers = given.map_arrow(function, declared(operator), same_as_given(operator), by=keys)
    return answers.select(answer_columns(operator))


def resumed(
    operator: Process, memory: Memory, fresh: Relation, known: Relation, moved: Moved, *, few: bool
) -> Relation:
    """Return what fresh rows give, from what is known of their keys, and what is known afterwards (`states_of`).

    ``few`` says that the fresh rows are not many. At the end of the input every copy exits; before, those that are
    forgotten.
    """
    keys = _keys(operator)
    rows = _keyed(operator, fresh)
    exits = "true" if moved.ended else "false"
    if operator.forget is not None:
        known = latest(operator, known, moved.old)
        exits = exits if moved.ended else _over(operator, moved.new, f"__last + {operator.forget}L")
    if not moved.ended and keys and few:
        # What is known of other keys stays where it is, but for copies that may exit.
        wanted = rows.select({f"{name}x": name for name in keys}).distinct()
        same = " AND ".join(f"{name} <=> {name}x" for name in keys)
        going_on = known if operator.forget is None else known.where(f"NOT ({exits})")
        going_on = going_on.join(wanted.small(), same, "semi")
        known = going_on if operator.forget is None else going_on.union(known.where(exits))
    empty = known.with_columns(dict.fromkeys(fresh.names, "NULL"), like=fresh.shape)
    nothing = dict.fromkeys(("__step", *([] if operator.forget is None else ["__last"])), "CAST(NULL AS BIGINT)")
    both = rows.with_columns(_NOTHING | nothing).union(empty)
    groups = keys
    if operator.forget is not None:
        both = _remembered(operator, both, f"coalesce(__last, {_at(operator)})", keys)
        groups, exits = [*keys, UNTIL], exits if moved.ended else _over(operator, moved.new, UNTIL)
    given = by_key(both.with_columns({"__exits": exits}), groups, ["__known IS NULL", "__step", *fresh.order])
    copies = Copies(operator, fresh.columns, declared(operator))
    function = _resuming(copies, memory, len(keys), _check(operator, moved.old))
    types = {"__known": "STRING", "__last": "BIGINT"}
    columns = [*declared(operator), *(Column(name, types[name]) for name in _of_copies(operator))]
    return given.map_arrow(function, columns, same_as_given(operator), by=groups)


def states_of(operator: Process, result: Relation, step: int) -> tuple[Relation, Relation]:
    """Return what `resumed` gave in two: the answers, and what is known of each key."""
    known = result.where("__known IS NOT NULL").select(
        as_they_are([*_keys(operator), *_of_copies(operator)]) | {"__step": f"{step}L"}
    )
    return result.where("__known IS NULL").select(answer_columns(operator)), known


def latest(operator: Process, known: Relation, at: Frontier) -> Relation:
    """Return what was known of each key the latest, unless it is forgotten."""
    newest = {name: call("max_by", name, "__step") for name in _of_copies(operator)} | {"__step": call("max", "__step")}
    found = known.group(as_they_are(_keys(operator)), newest)
    return (
        found
        if operator.forget is None
        else found.where(f"NOT ({_over(operator, at, f'__last + {operator.forget}L')})")
    )


_NOTHING = {"__known": "CAST(NULL AS STRING)"}


def _of_copies(operator: Process) -> list[str]:
    """Return the columns of what is known of a copy: what it told, and when its last row was, in units."""
    return ["__known"] if operator.forget is None else ["__known", "__last"]


def _at(operator: Process) -> str:
    return units_of(operator.schema, operator.schema.time[0])


def _remembered(operator: Process, rows: Relation, at: str, keys: Sequence[str]) -> Relation:
    return remembered(rows, at, operator.forget or 0, keys)


def _over(operator: Process, at: Frontier, until: str) -> str:
    """Return the condition that a copy is forgotten, if it is at so many units."""
    return complete_at(operator.schema, at, operator.schema.time[0], f"{until} - 1L")


def _keys(operator: Process) -> list[str]:
    return [f"__k{i}" for i in range(len(operator.by))]


def _keyed(operator: Process, rows: Relation) -> Relation:
    return rows.with_columns({f"__k{i}": e.sql for i, e in enumerate(operator.by)})


def _check(operator: Process, old: Frontier) -> Callable[[Any], None]:
    order, elements = operator.schema.order, list(old)

    def check(t: Any) -> None:
        if not any(order.le(f, t) for f in elements):
            raise BadResult(
                f"expected at exit only times that are not complete yet, got {t!r}",
                hint="answer at the latest when the time is given; a time that is complete stays as it is",
            )

    return check


def _replaying(copies: Copies, step: int, check: Callable[[Any], None]) -> Batches:
    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in whole_keys(iterator):
            with running(copies.place):
                rows = copies.rows(chunk)
                played = pc.less(chunk.column("__done"), step).to_pylist()
                exits = chunk.column("__exits").to_pylist()
                tables = []
                for start, end in (found := bounds(chunk)):
                    before = sum(played[start:end])
                    copy, _ = copies.given(copies.fresh(), rows.slice(start, before))
                    own = rows.slice(start + before, end - start - before)
                    copy, answers = copies.given(copy, own)
                    if exits[start]:
                        answers += copies.exits(copy, copies.exit_time(rows.slice(start, end - start)), check=check)
                    tables.append(answers)
                yield from copies.answers(chunk, [start for start, _ in found], tables)

    return batches


def _resuming(copies: Copies, memory: Memory, keys: int, check: Callable[[Any], None]) -> Batches:
    read, write = _CODES[memory]

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in whole_keys(iterator):
            with running(copies.place):
                rows = copies.rows(chunk)
                known = chunk.column("__known").to_pylist()
                exits = chunk.column("__exits").to_pylist()
                until = [] if copies.forget is None else chunk.column(UNTIL).to_pylist()
                tables, knows, starts = [], [], []
                for start, end in bounds(chunk):
                    # What is known comes first, the latest last.
                    first = next((i for i in range(start, end) if known[i] is None), end)
                    if first == end and not exits[start]:
                        continue
                    copy = read(copies.fresh(), known[first - 1]) if first > start else copies.fresh()
                    copy, answers = copies.given(copy, rows.slice(first, end - first))
                    if exits[start]:
                        last = copies.time_before(until[start]) if until else None
                        answers += copies.exits(copy, last, check=check)
                    else:
                        knows.append((start, write(copy)))
                    tables.append(answers)
                    starts.append(start)
                for batch in copies.answers(chunk, starts, tables):
                    empty = {"__known": pa.string()} | ({"__last": pa.int64()} if until else {})
                    arrays = [*batch.columns, *(pa.nulls(batch.num_rows, type_) for type_ in empty.values())]
                    yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *empty])
                if knows:
                    yield _known(chunk, knows, copies, keys)

    return batches


def _pickled(copy: Any) -> str:
    # Unlike `pickle` it can write down a class of a notebook.
    from pyspark import cloudpickle

    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return b64encode(dumps(copy)).decode()


#: How what a copy knows is read and written, as text.
_CODES: dict[Memory, tuple[Callable[[Any, str], Any], Callable[[Any], str]]] = {
    Memory.VALUES: (lambda copy, text: copy.resume(plain_value(text)), lambda copy: plain_text(copy.state())),
    Memory.PICKLES: (lambda _, text: pickle.loads(b64decode(text)), _pickled),
}


def _known(chunk: pa.Table, knows: Sequence[tuple[int, str]], copies: Copies, keys: int) -> pa.RecordBatch:
    """Return what is known of keys as rows beside the answers: only the key, and what is known."""
    nth = pa.array([start for start, _ in knows], pa.int64())
    named = {f"__k{i}": chunk.column(f"__k{i}").take(nth).combine_chunks() for i in range(keys)}
    named["__known"] = pa.array([text for _, text in knows], pa.string())
    if copies.forget is not None:
        until = chunk.column(UNTIL).take(nth).combine_chunks()
        named["__last"] = pc.subtract(until, copies.forget).cast(pa.int64())
    return copies.beside(named, len(knows))
