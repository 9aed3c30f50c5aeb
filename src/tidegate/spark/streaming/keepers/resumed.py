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
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.flow.errors import BadResult
from tidegate.flow.plan import Process
from tidegate.spark.arrow import Batches, map_in_arrow, running
from tidegate.spark.lowering.across_time import answer_columns, answer_type, by_key
from tidegate.spark.lowering.rows import columns_of, sort_columns
from tidegate.spark.processing import Copies, bounds, whole_keys
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.frontiers import Frontier
from tidegate.spark.streaming.plain import plain_text, plain_value
from tidegate.spark.wire import from_spark, in_utc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Memory", "latest", "memory_of", "memory_type", "replayed", "resumed", "states_of"]


class Memory(Enum):
    """What is kept of each copy of an operator."""

    ROWS = "rows"
    VALUES = "values"
    PICKLES = "pickles"


def memory_of(operator: Process, *, allow_pickle: bool) -> Memory:
    """Answer what is kept: an operator with ``state()`` and ``resume(state)`` tells it, and others are not asked."""
    copy = operator.operator
    if callable(getattr(copy, "state", None)) and callable(getattr(copy, "resume", None)):
        return Memory.VALUES
    return Memory.PICKLES if allow_pickle else Memory.ROWS


def memory_type(operator: Process, memory: Memory, runtime: Runtime, rows: DataFrame) -> StructType:
    """Answer the columns of what is kept: rows and the step that they were played in, or keys and what is known."""
    if memory is Memory.ROWS:
        return rows.withColumn("__done", runtime.expr("0L")).schema
    return _keyed(operator, runtime, rows).select(*_keys(operator), *runtime.exprs(_NOTHING | {"__step": "0L"})).schema


def replayed(
    operator: Process, runtime: Runtime, history: DataFrame, step: int, old: Frontier, *, ended: bool
) -> DataFrame:
    """Answer what the rows that became complete in this step give, after the rows before them are played again.

    ``history`` holds all rows that ever became complete; ``__done`` is the step in which that was. At the end of the
    input every copy exits.
    """
    rows = history.drop("__done")
    given = _keyed(operator, runtime, history)
    # Times that became complete in earlier steps were given before; within a step, in an order that extends time's.
    given = by_key(runtime, given, _keys(operator), ["__done", *sort_columns(rows)])
    if not ended:
        newest = f"max(__done) OVER (PARTITION BY {', '.join(_keys(operator)) or 'NULL'})"
        given = given.withColumn("__newest", runtime.expr(newest)).where(runtime.expr(f"__newest = {step}L"))
        given = given.drop("__newest")
    declared = [operator.schema[name] for name in operator.columns]
    function = _replaying(Copies(operator, columns_of(rows.schema), declared), step, _check(operator, old), ended=ended)
    return map_in_arrow(given, function, answer_type(operator, given)).select(*runtime.exprs(answer_columns(operator)))


def resumed(
    operator: Process,
    memory: Memory,
    runtime: Runtime,
    fresh: DataFrame,
    known: DataFrame,
    old: Frontier,
    *,
    few: bool,
    ended: bool,
) -> DataFrame:
    """Answer what fresh rows give, from what is known of their keys, and what is known afterwards (`states_of`).

    ``few`` says that the fresh rows are not many. At the end of the input every copy exits.
    """
    keys = _keys(operator)
    rows = _keyed(operator, runtime, fresh)
    if not ended and keys and few:
        # What is known of other keys stays where it is.
        wanted = rows.select(*(runtime.expr(name, f"{name}x") for name in keys)).distinct()
        same = " AND ".join(f"{name} <=> {name}x" for name in keys)
        known = known.join(runtime.F.broadcast(wanted), runtime.expr(same), "left_semi")
    empty = {name: runtime.F.lit(None).cast(fresh.schema[name].dataType).alias(name) for name in fresh.columns}
    both = rows.select("*", *runtime.exprs(_NOTHING | {"__step": "CAST(NULL AS BIGINT)"})).unionByName(
        known.select(*empty.values(), *keys, "__known", "__step")
    )
    given = by_key(runtime, both, keys, ["__known IS NULL", "__step", *sort_columns(fresh)])
    declared = [operator.schema[name] for name in operator.columns]
    copies = Copies(operator, columns_of(fresh.schema), declared)
    function = _resuming(copies, memory, len(keys), _check(operator, old), ended=ended)
    answers = answer_type(operator, given)
    return map_in_arrow(given, function, answers.add("__known", "string"))


def states_of(operator: Process, runtime: Runtime, result: DataFrame, step: int) -> tuple[DataFrame, DataFrame]:
    """Answer what `resumed` gave in two: the answers, and what is known of each key."""
    known = result.where("__known IS NOT NULL").select(*_keys(operator), "__known", runtime.expr(f"{step}L", "__step"))
    return result.where("__known IS NULL").select(*runtime.exprs(answer_columns(operator))), known


def latest(runtime: Runtime, known: DataFrame) -> DataFrame:
    """Return the answers of what was known of each key the latest."""
    keys = [name for name in known.columns if name.startswith("__k") and name != "__known"]
    newest = {"__known": "max_by(__known, __step)", "__step": "max(__step)"}
    return known.groupBy(*keys).agg(*runtime.exprs(newest))


_NOTHING = {"__known": "CAST(NULL AS STRING)"}


def _keys(operator: Process) -> list[str]:
    return [f"__k{i}" for i in range(len(operator.by))]


def _keyed(operator: Process, runtime: Runtime, rows: DataFrame) -> DataFrame:
    return rows.select("*", *runtime.exprs({f"__k{i}": e.sql for i, e in enumerate(operator.by)}))


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
                rows = from_spark(chunk, copies.schema.columns)
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
                rows = from_spark(chunk, copies.schema.columns)
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
    """Answer what is known of keys as rows beside the answers: only the key, and what is known."""
    nth = pa.array(starts, pa.int64())
    named = {f"__k{i}": in_utc(chunk.column(f"__k{i}")).take(nth).combine_chunks() for i in range(keys)}
    return copies.beside(named | {"__known": pa.array(knows, pa.string())}, len(knows))
