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
from tidegate.engine.frontiers import Frontier
from tidegate.engine.functions import running
from tidegate.engine.lowering.across_time import answer_columns, by_key, declared, same_as_given
from tidegate.engine.plain import plain_text, plain_value
from tidegate.engine.processing import Copies, bounds, whole_keys
from tidegate.engine.relation import Batches, Relation, as_they_are
from tidegate.flow.errors import BadResult
from tidegate.flow.plan import Process
from tidegate.flow.schema import Column

__all__ = ["Memory", "latest", "memory_of", "memory_of_rows", "replayed", "resumed", "states_of"]


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
    known = _keyed(operator, rows).with_columns(_NOTHING | {"__step": "0L"})
    return known.select(as_they_are([*_keys(operator), "__known", "__step"]))


def replayed(operator: Process, history: Relation, step: int, old: Frontier, *, ended: bool) -> Relation:
    """Return what the rows that became complete in this step give, after the rows before them are played again.

    ``history`` holds all rows that ever became complete; ``__done`` is the step in which that was. At the end of the
    input every copy exits.
    """
    rows, keys = history.without("__done"), _keys(operator)
    given = _keyed(operator, history)
    # Times that became complete in earlier steps were given before; within a step, in an order that extends time's.
    given = by_key(given, keys, ["__done", *rows.order])
    if not ended:
        newest = given.over({"__newest": call("max", "__done")}, keys)
        given = newest.where(f"__newest = {step}L").without("__newest")
    copies = Copies(operator, rows.columns, declared(operator))
    function = _replaying(copies, step, _check(operator, old), ended=ended)
    answers = given.map_arrow(function, declared(operator), same_as_given(operator), by=keys)
    return answers.select(answer_columns(operator))


def resumed(
    operator: Process, memory: Memory, fresh: Relation, known: Relation, old: Frontier, *, few: bool, ended: bool
) -> Relation:
    """Return what fresh rows give, from what is known of their keys, and what is known afterwards (`states_of`).

    ``few`` says that the fresh rows are not many. At the end of the input every copy exits.
    """
    keys = _keys(operator)
    rows = _keyed(operator, fresh)
    if not ended and keys and few:
        # What is known of other keys stays where it is.
        wanted = rows.select({f"{name}x": name for name in keys}).distinct()
        known = known.join(wanted.small(), " AND ".join(f"{name} <=> {name}x" for name in keys), "semi")
    empty = known.with_columns(dict.fromkeys(fresh.names, "NULL"), like=fresh.shape)
    both = rows.with_columns(_NOTHING | {"__step": "CAST(NULL AS BIGINT)"}).union(empty)
    given = by_key(both, keys, ["__known IS NULL", "__step", *fresh.order])
    copies = Copies(operator, fresh.columns, declared(operator))
    function = _resuming(copies, memory, len(keys), _check(operator, old), ended=ended)
    columns = [*declared(operator), Column("__known", "STRING")]
    return given.map_arrow(function, columns, same_as_given(operator), by=keys)


def states_of(operator: Process, result: Relation, step: int) -> tuple[Relation, Relation]:
    """Return what `resumed` gave in two: the answers, and what is known of each key."""
    known = result.where("__known IS NOT NULL").select(
        as_they_are([*_keys(operator), "__known"]) | {"__step": f"{step}L"}
    )
    return result.where("__known IS NULL").select(answer_columns(operator)), known


def latest(known: Relation) -> Relation:
    """Return what was known of each key the latest."""
    keys = [name for name in known.names if name.startswith("__k") and name != "__known"]
    newest = {"__known": call("max_by", "__known", "__step"), "__step": call("max", "__step")}
    return known.group(as_they_are(keys), newest)


_NOTHING = {"__known": "CAST(NULL AS STRING)"}


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


def _replaying(copies: Copies, step: int, check: Callable[[Any], None], *, ended: bool) -> Batches:
    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in whole_keys(iterator):
            with running(copies.place):
                rows = copies.rows(chunk)
                played = pc.less(chunk.column("__done"), step).to_pylist()
                tables = []
                for start, end in (found := bounds(chunk)):
                    before = sum(played[start:end])
                    copy, _ = copies.given(copies.fresh(), rows.slice(start, before))
                    own = rows.slice(start + before, end - start - before)
                    copy, answers = copies.given(copy, own)
                    if ended:
                        answers += copies.exits(copy, copies.last_time(rows.slice(start, end - start)), check=check)
                    tables.append(answers)
                yield from copies.answers(chunk, [start for start, _ in found], tables)

    return batches


def _resuming(copies: Copies, memory: Memory, keys: int, check: Callable[[Any], None], *, ended: bool) -> Batches:
    read, write = _CODES[memory]

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in whole_keys(iterator):
            with running(copies.place):
                rows = copies.rows(chunk)
                known = chunk.column("__known").to_pylist()
                tables, knows, starts = [], [], []
                for start, end in bounds(chunk):
                    # What is known comes first, the latest last.
                    first = next((i for i in range(start, end) if known[i] is None), end)
                    if first == end and not ended:
                        continue
                    copy = read(copies.fresh(), known[first - 1]) if first > start else copies.fresh()
                    copy, answers = copies.given(copy, rows.slice(first, end - first))
                    if ended:
                        answers += copies.exits(copy, check=check)
                    else:
                        knows.append(write(copy))
                    tables.append(answers)
                    starts.append(start)
                for batch in copies.answers(chunk, starts, tables):
                    yield batch.append_column("__known", pa.nulls(batch.num_rows, pa.string()))
                if knows:
                    yield _known(chunk, starts, knows, copies, keys)

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


def _known(chunk: pa.Table, starts: Sequence[int], knows: Sequence[str], copies: Copies, keys: int) -> pa.RecordBatch:
    """Return what is known of keys as rows beside the answers: only the key, and what is known."""
    nth = pa.array(starts, pa.int64())
    named = {f"__k{i}": chunk.column(f"__k{i}").take(nth).combine_chunks() for i in range(keys)}
    return copies.beside(named | {"__known": pa.array(knows, pa.string())}, len(knows))
