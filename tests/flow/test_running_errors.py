"""Mistakes that show when a flow runs: each message says what was expected, what came, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.flow.case import ints, pairs

import tidegate as tg
from tidegate.flow import errors
from tidegate.spec import DT, WM, Operator
from tidegate.time import NotATime

Build = Callable[[tg.Flow], Any]


class Echo(Operator[Any, Any]):
    """Returns the answers that it was built with."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def apply(self, event: Any) -> tuple[Echo, list[Any]]:
        return self, self.answers if isinstance(event, WM) else []


ROW = {"t": 1, "k": "a", "x": 2}


def renamed(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.rename_columns(["t", "k", "z"])


def retyped(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"t": 1, "k": "a", "x": "2"}])


def retimed(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"t": 9, "k": "a", "x": 2}], schema=batch.schema)


def nothing(rows: pa.Table) -> None:
    return None


RUNNING: dict[str, tuple[Build, dict[str, Any], type[Exception], str]] = {
    "an input that is missing": (
        ints,
        {"z": []},
        errors.BadInput,
        """expected an input for 's', got none
  at: flow 'bad'
  hint: declared are s""",
    ),
    "an input too many": (
        ints,
        {"s": [], "ss": []},
        errors.BadInput,
        """got an input 'ss' that the flow has no source or table for
  at: flow 'bad'
  hint: did you mean s?""",
    ),
    "an input with other columns": (
        ints,
        {"s": [DT(1, {"t": 1, "k": "a", "y": 2})]},
        errors.BadInput,
        """expected row 0 of s with columns t, k, x; it lacks x and has y too many
  at: operator s
  at: flow 'bad'""",
    ),
    "an input with other types": (
        ints,
        {"s": [DT(1, ROW), DT(1, ROW | {"x": "two"})]},
        errors.BadInput,
        """expected values of x INT, got 'two' (str) in row 1
  at: input 's'
  at: operator s
  at: flow 'bad'""",
    ),
    "an event that is none": (
        ints,
        {"s": [(1, "a", 2)]},
        errors.BadInput,
        """expected a row, DT or WM in event 0 of s, got (1, 'a', 2) (tuple)
  at: operator s
  at: flow 'bad'
  hint: a row is a dict of all columns; DT(time, row) also says its time, WM(time) is a watermark""",
    ),
    "a watermark at something that is no time": (
        ints,
        {"s": [WM("noon")]},
        NotATime,
        """expected a time of Int(), got 'noon' (str)
  at: event 0 of s: WM('noon')
  at: operator s
  at: flow 'bad'
  hint: an integer""",
    ),
    "a time that is not the row's": (
        ints,
        {"s": [DT(2, ROW)]},
        errors.BadInput,
        """expected the time of the row, 1, in event 0 of s, got DT(2, …)
  at: operator s
  at: flow 'bad'
  hint: DT(t, row) with t from the row's time columns; or the row alone""",
    ),
    "a function that returns other columns": (
        lambda f: ints(f).map_batches(renamed, "k STRING, x INT"),
        {"s": [DT(1, ROW)]},
        errors.BadResult,
        """expected columns t, k, x from renamed, got t, k, z
  at: operator map_batches#1
  at: flow 'bad'
  hint: return what the schema says, or declare t int32, k string, z int32""",
    ),
    "a function that returns other types": (
        lambda f: ints(f).map_batches(retyped, "k STRING, x INT"),
        {"s": [DT(1, ROW)]},
        errors.BadResult,
        """expected t INT (int32) from retyped, got int64
  at: operator map_batches#1
  at: flow 'bad'
  hint: cast it: column.cast('int32'), or declare another type""",
    ),
    "a function that returns a time that was not in its input": (
        lambda f: ints(f).map_batches(retimed, "k STRING, x INT"),
        {"s": [DT(1, ROW)]},
        errors.BadResult,
        """expected from retimed only times that are in its batch, got 9
  at: operator map_batches#1
  at: flow 'bad'
  hint: a function may drop, change and multiply rows, but a row keeps its time""",
    ),
    "a function that returns nothing": (
        lambda f: ints(f).window(5).apply(nothing, "y INT"),
        {"s": [DT(1, ROW)]},
        errors.BadResult,
        """expected a pyarrow.RecordBatch or pyarrow.Table from nothing, got NoneType
  at: operator window#1
  at: flow 'bad'
  hint: return the batch that you made""",
    ),
    "an operator that answers other columns": (
        lambda f: ints(f).process(Echo(DT(1, {"z": 1})), by="k", schema="y INT"),
        {"s": [DT(1, ROW)]},
        errors.BadResult,
        """expected DT(t, dict of y) from Echo, got DT(1, {'z': 1})
  at: operator process#1
  at: flow 'bad'
  hint: the key's columns and the time are added""",
    ),
    "an operator that answers in the past": (
        lambda f: ints(f).process(Echo(DT(0, {"y": 1})), by="k", schema="y INT"),
        {"s": [DT(1, ROW)]},
        errors.BadResult,
        """expected a time at or above 1, which Echo was given, got 0
  at: operator process#1
  at: flow 'bad'""",
    ),
    "a function that the reference does not know": (
        lambda f: ints(f).select("hash(k) AS h"),
        {"s": [DT(1, ROW)]},
        errors.NotSupported,
        """the reference cannot compute hash as Spark does
  hash(k)
  ^^^^
  at: operator select#1
  at: flow 'bad'
  hint: check this flow against batch Spark instead""",
    ),
    "an operator that the reference does not know for these types": (
        lambda f: ints(f).select("1 + CAST(x AS STRING) AS e"),
        {"s": [DT(1, ROW)]},
        errors.NotSupported,
        """the reference cannot compute + of INT and STRING as Spark does
  1 + CAST(x AS STRING)
  ^^^^^^^^^^
  at: operator select#1
  at: flow 'bad'
  hint: check this flow against batch Spark instead""",
    ),
}


@pytest.mark.parametrize("mistake", RUNNING)
def test_a_mistake_in_running(mistake: str) -> None:
    """The message is shown whole when the reference runs."""
    build, inputs, kind, message = RUNNING[mistake]
    flow = tg.Flow("bad")
    flow.sink("out", build(flow))
    with pytest.raises(kind) as caught:
        flow.reference(inputs)
    assert str(caught.value) == message


def test_an_error_inside_of_a_function_says_where_it_was() -> None:
    """An exception of the user's own stays what it is, and names the operator and the flow."""

    def broken(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise ZeroDivisionError("my own")

    flow = tg.Flow("bad")
    flow.sink("out", ints(flow).map_batches(broken, "x INT"))
    with pytest.raises(ZeroDivisionError, match="my own") as caught:
        flow.reference({"s": [DT(1, ROW)]})
    assert caught.value.__notes__ == ["  at: operator map_batches#1\n  at: flow 'bad'"]


def test_a_flow_without_a_sink_is_not_run() -> None:
    """Nothing would come out of it."""
    flow = tg.Flow("bad")
    ints(flow)
    with pytest.raises(errors.BadArgument, match="expected a flow with a sink, got none"):
        flow.reference({"s": []})


def test_rows_with_a_null_time_are_rejected_with_the_reason() -> None:
    """A row without a time takes no part, and can be read with the reason."""
    flow = tg.Flow("nulls")
    flow.sink("out", pairs(flow).aggregate(n="count(*)"))
    rows: list[dict[str, Any]] = [{"v": 1, "w": w, "k": "a", "x": 0} for w in (1, None)]
    results = flow.reference({"s": [DT((row["v"], row["w"]), row) for row in rows]})
    assert results.rows("out") == [{"v": 1, "w": 1, "n": 1}]
    assert [(r.row, r.reason) for r in results.rejected["s"]] == [(rows[1], "null time in w")]
