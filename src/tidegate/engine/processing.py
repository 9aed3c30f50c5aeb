"""The user's own operators: one copy for each key, which is given the complete times of the key in order.

Rows come sorted by key, in batches. A batch is sliced at the keys, without copying. Calling Python for each key
separately would cost more than most operators do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.functions import ORDER, running, with_points
from tidegate.engine.relation import Batches
from tidegate.engine.timing import Timers
from tidegate.flow.arrow import arrow_type, checked_result, rows_of, table_of
from tidegate.flow.errors import BadInput, BadResult
from tidegate.flow.plan import Process
from tidegate.flow.processed import Row, not_a_row, put_out, stepping
from tidegate.flow.schema import Column, Schema
from tidegate.flow.spans import from_units, units
from tidegate.flow.timers import Timer, checked_timer, undeclared
from tidegate.spec import DT, WM
from tidegate.spec.parts import name_of

__all__ = ["Copies", "bounds", "processed", "whole_keys"]


def processed(operator: Process, given: Sequence[Column], declared: Sequence[Column]) -> Batches:
    """Return a user's operator in the form that a backend calls, on the rows of whole keys.

    An operator with ``apply_batch(rows)`` is given the rows of all times at once, as an Arrow table sorted by time and
    then by all columns. It returns ``(operator, table)``, where the table has time columns and declared columns.
    """
    copies = Copies(operator, given, declared)

    def batches(iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in whole_keys(iterator):
            with running(copies.place):
                rows = copies.rows(chunk)
                tables = []
                for start, end in (found := bounds(chunk)):
                    own = rows.slice(start, end - start)
                    timers = copies.timers(lambda _: True)
                    copy, answers = copies.given(copies.fresh(), own, timers)
                    last = copies.exit_time(own) if timers is None else timers.last
                    tables.append([*answers, *copies.exits(copy, last)])
                yield from copies.answers(chunk, [start for start, _ in found], tables)

    return batches


def whole_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Return the rows of batches as tables that end between keys: no key is in two tables."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        starts = pc.indices_nonzero(pc.equal(batch.column(ORDER), 1))
        if len(starts):
            last = starts[-1].as_py()
            chunk = [part for part in (*waiting, batch.slice(0, last)) if part.num_rows]
            if chunk:
                yield pa.Table.from_batches(chunk)
            waiting = [batch.slice(last)]
        elif batch.num_rows:
            waiting.append(batch)
    if waiting:
        yield pa.Table.from_batches(waiting)


def bounds(chunk: pa.Table) -> list[tuple[int, int]]:
    """Return where the rows of each key begin and end."""
    starts = pc.indices_nonzero(pc.equal(chunk.column(ORDER), 1)).to_pylist()
    ends = [*starts[1:], chunk.num_rows]
    # The numbers of rows give the size of each key. Rows in another order would give wrong answers.
    assert chunk.column(ORDER).take(pa.array([end - 1 for end in ends])).to_pylist() == [
        end - start for start, end in zip(starts, ends, strict=True)
    ], "rows did not come sorted by key"
    return list(zip(starts, ends, strict=True))


class Copies:
    """How the copies of an operator are called, and how their answers become rows."""

    def __init__(self, operator: Process, given: Sequence[Column], declared: Sequence[Column]) -> None:
        self.operator = operator
        self.original = operator.operator
        self.name = name_of(operator.operator)
        self.schema = operator.schema.of(given)
        self._at = operator.schema.coordinates
        self.place = f"{operator.verb}(…), {operator.id}"
        self._declared = list(declared)
        self._columns = [*self.schema.times, *declared]
        self._names = [c.name for c in self._columns]
        self._batched = callable(getattr(self.original, "apply_batch", None))
        self._give = stepping(operator)
        self.timed = operator.timers
        self.keys = [f"__k{i}" for i in range(len(operator.by))]
        self.forget = operator.forget

    def rows(self, chunk: pa.Table) -> pa.Table:
        """Return the columns of rows that operators are given: without keys and numbers."""
        return chunk.select(list(self.schema.names)).combine_chunks()

    def fresh(self) -> Any:
        """Return a new copy for a key.

        If it changes itself, instead of returning another one, no other key is affected.
        """
        return deepcopy(self.original)

    def timers(self, complete: Callable[[Any], bool], waiting: Iterable[Any] = ()) -> Timers | None:
        """Return the timers of a copy, with those that wait already; None if the operator has none."""
        if not self.timed:
            return None
        return Timers(self.schema, self.name, complete, waiting)

    def given(self, copy: Any, rows: pa.Table, timers: Timers | None = None) -> tuple[Any, list[pa.Table]]:
        """Return a copy after it was given rows and called for its due timers; and the tables of its answers."""
        if timers is None and not rows.num_rows:
            return copy, []
        if self._batched:
            copy, returned = self._call(copy, rows)
            return copy, [self._checked(returned)]
        found: list[tuple[Any, Any]] = []
        for t, of_time in groupby(rows_of(rows), key=self.schema.time_of):
            for early in timers.before(t) if timers else ():
                copy = self._called(copy, early, [], timers, found)
            copy = self._called(copy, t, list(of_time), timers, found)
        for t in timers.due() if timers else ():
            copy = self._called(copy, t, [], timers, found)
        return copy, [self._table(found)] if found else []

    def _called(self, copy: Any, t: Any, rows: list[Any], timers: Timers | None, found: list[tuple[Any, Any]]) -> Any:
        """Return a copy after a call at a time; its answers are added to ``found``."""
        if timers is not None:
            timers.called(t)
        user_time = self._user_time(t)
        for event in [*(DT(user_time, Row(self._shown(row))) for row in rows), WM(user_time)]:
            copy, answered = self._give(copy, event)
            for answer in answered:
                if timers is not None and isinstance(answer, Timer):
                    if self._at is not None:
                        checked_timer(self._of_user, answer, user_time, self.name, alone=not rows)
                    timers.ask(Timer(self._engine_time(answer.t)), t, alone=not rows)
                else:
                    found.append((t, answer))
        return copy

    @property
    def _of_user(self) -> Schema:
        """The schema with the times as the user's operator knows them."""
        assert self._at is not None
        return Schema(self._at.user, self._at.given.columns, self._at.given)

    def _user_time(self, t: Any) -> Any:
        """Return a time as the user's operator knows it."""
        return t if self._at is None else self._at.time_of_user(t)

    def _engine_time(self, t: Any) -> Any:
        """Return a time given by the user's operator in the engine's form; None if it is not a time of the order.

        A number could also be a coordinate of another time, so the order of the user decides what is a time.
        """
        if self._at is None:
            return t
        return self._at.time_on_axes(t) if self._at.given.contains(t) else None

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row as the user's operator is given it."""
        return row if self._at is None else {n: value for n, value in row.items() if n not in self._at.names}

    def exits(
        self,
        copy: Any,
        last: Any = None,
        *,
        check: Callable[[Any], None] = lambda t: None,  # noqa: ARG005
    ) -> list[pa.Table]:
        """Return tables of a copy's answers at its exit; ``last`` is the last time that it was given, if that is known.

        ``check`` raises if a time is complete, and there can be no answer at it any more.
        """
        found = []
        for answer in copy.exit():
            if isinstance(answer, DT) and self.schema.order.contains(time := self._engine_time(answer.t)):
                if self.forget is not None and not self.schema.order.le(last, time):
                    raise BadResult(
                        f"expected at exit times at or above {last!r}, when the key is forgotten, got {answer.t!r}",
                        hint="answer at the last time that was given plus forget, less one unit; or later",
                    )
                check(time)
            found.append((last, answer))
        return [self._table(found)] if found else []

    def exit_time(self, rows: pa.Table) -> Any:
        """Return the first time at which a copy may answer at its exit.

        That is the time of its last row, or the last time before it is forgotten.
        """
        last = self.schema.time_of(rows_of(rows.slice(rows.num_rows - 1))[0])
        if self.forget is None:
            return last
        return self.time_before(units(last, self.schema.times[0].type or "") + self.forget)

    def time_before(self, count: int) -> Any:
        """Return the time one unit before a number of units."""
        return from_units(count - 1, self.schema.times[0].type or "")

    def answers(
        self, chunk: pa.Table, starts: Sequence[int], tables: Sequence[Sequence[pa.Table]]
    ) -> Iterator[pa.RecordBatch]:
        """Return the answers of the copies of some keys as rows: time, key, and declared columns."""
        whole = [table for of_key in tables for table in of_key]
        if not whole:
            return
        table = pa.concat_tables(whole)
        first: list[int] = []
        for start, of_key in zip(starts, tables, strict=True):
            first += [start] * sum(one.num_rows for one in of_key)
        nth = pa.array(first, pa.int64())
        keys = [chunk.column(name).take(nth) for name in self.keys]
        times = table.select(list(self.schema.time))
        rest = table.select([c.name for c in self._declared])
        names = [*times.column_names, *self.keys, *rest.column_names]
        arrays = [*times.columns, *keys, *rest.columns]
        yield from pa.Table.from_arrays(arrays, names=names).combine_chunks().to_batches()

    def beside(self, columns: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
        """Return rows with the given columns, such as a key, and NULL in the columns of answers."""
        types = {c.name: arrow_type(c.type or "") for c in self._columns}
        names = [*self.schema.time, *self.keys, *self._names[len(self.schema.time) :]]
        nulls = {name: pa.nulls(rows, types[name]) for name in self._names}
        arrays = {name: columns.get(name, nulls.get(name)) for name in names} | dict(columns)
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    def marked(self, batch: pa.RecordBatch, *, timer: bool) -> pa.RecordBatch:
        """Return rows with a column that says whether they are timers, if the operator has timers."""
        if not self.timed:
            return batch
        return batch.append_column("__timer", pa.array([timer] * batch.num_rows, pa.bool_()))

    def _call(self, copy: Any, rows: pa.Table) -> tuple[Any, Any]:
        answer = copy.apply_batch(rows if self._at is None else rows.drop_columns(list(self._at.names)))
        if isinstance(answer, tuple) and len(answer) == 2 and callable(getattr(answer[0], "exit", None)):
            return answer
        raise BadResult(
            f"expected (operator, table) from {type(copy).__name__}.apply_batch, got {answer!r}",
            hint="return the operator to continue with, and a pyarrow.Table of time columns and declared columns",
        )

    def _checked(self, returned: Any) -> pa.Table:
        if self._at is not None:
            columns = [*self._at.user, *self._declared]
            checked = checked_result(returned, columns, self.original.apply_batch)
            return with_points(self._at, checked).select(self._names)
        if isinstance(returned, pa.Table) and self._as_declared(returned.schema):
            return returned
        return checked_result(returned, self._columns, self.original.apply_batch)

    def _as_declared(self, schema: pa.Schema) -> bool:
        """Whether a table has exactly the declared columns and types. Its columns then need no check."""
        return schema.names == self._names and all(
            c.type and f.type == arrow_type(c.type) for f, c in zip(schema, self._columns, strict=True)
        )

    def _table(self, answers: Iterable[tuple[Any, Any]]) -> pa.Table:
        """Return a checked table of an operator's answers, each with the last time that the operator was given."""
        name, names, out = self.name, {c.name for c in self._declared}, self.operator.out
        order, time = self.schema.order, self.schema.time
        rows = []
        for at, answer in ((at, row) for at, each in answers for row in put_out(out, self.original, each)):
            if isinstance(answer, WM):
                continue
            if isinstance(answer, Timer):
                raise undeclared(answer, name)
            if not isinstance(answer, DT) or not isinstance(answer.d, dict) or set(answer.d) != names:
                raise not_a_row(self.operator, answer)
            t = self._engine_time(answer.t)
            if not (order.contains(t) and (at is None or order.le(at, t))):
                given = at if at is None else self._user_time(at)
                raise BadResult(f"expected a time at or above {given!r}, which {name} was given, got {answer.t!r}")
            times = (t,) if len(time) == 1 else t
            rows.append(dict(zip(time, times, strict=True)) | answer.d)
        try:
            return table_of(rows, self._columns)
        except BadInput as error:
            raise BadResult(f"{error.what} from {name}") from None
