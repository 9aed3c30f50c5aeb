"""What may be given as an output, and what every kind of output answers; no session is needed."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.spark.place import DDL

import tidegate as tg
from tidegate.engine.outputs import Fields, Output, Sender, checked_outputs
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.flow.errors import BadArgument

SENDER = Sender("checkpoint", "flow", "out", ("t",))


class Ledger:
    """A place of the user's own: it notes what it is asked, and has names that outputs of ours have, too."""

    directory = "elsewhere"
    needs_workers = False

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def claim(self, sender: Any, schema: Any) -> None:
        self.asked.append(("claim", sender, schema))

    def deliver(self, sender: Any, rows: Any, step: int) -> None:
        self.asked.append(("deliver", sender, rows, step))

    def check(self) -> None:
        raise AssertionError("it is for the user's own use")


class Strict(Ledger):
    """A ledger that does not take everything."""

    def refuses(self, schema: Any) -> list[Any]:
        return [schema]


def checked(given: Any) -> Output:
    flow = tg.Flow("flow")
    flow.sink("out", flow.source("s", DDL, time="t", watermark=tg.bounded(1)).gate())
    (output,) = checked_outputs(flow.plan, {"out": given}).values()
    return output


def test_an_output_of_ones_own_is_asked_what_it_can_answer() -> None:
    """`claim` and `deliver`, and `refuses` if it has that; whatever else it has is its own."""
    ledger, rows, schema = Ledger(), SimpleNamespace(native="rows"), Fields((), "schema", "")
    output: Any = checked(ledger)
    assert checked(output) is output
    output.check(None, "out")
    output.claim(SENDER, schema)
    output.deliver(SENDER, rows, 3)
    assert ledger.asked == [("claim", SENDER, "schema"), ("deliver", SENDER, "rows", 3)]
    assert (output.directory, output.needs_workers, list(output.refuses(schema))) == (None, True, [])
    strict: Any = checked(Strict())
    assert strict.refuses(schema) == ["schema"]


def test_a_function_is_called_with_rows_and_step() -> None:
    """It needs no worker of Spark's, nothing to be made ready, and takes all rows."""
    calls: list[tuple[Any, ...]] = []
    output: Any = checked(tg.foreach(lambda *given: calls.append(given)))
    output.claim(SENDER, None)
    output.deliver(SENDER, SimpleNamespace(native="rows"), 3)
    assert calls == [("rows", 3)]
    assert (output.directory, output.needs_workers, list(output.refuses(None))) == (None, False, [])


def test_a_directory_is_filled_by_the_run() -> None:
    """Rows that were written to be handed over, to another output, are refused."""
    output: Any = checked(tg.parquet("out"))
    assert (output.directory, output.needs_workers, list(output.refuses(None))) == ("out", False, [])
    with pytest.raises(BadCheckpoint, match="rows of step 3 were to be handed over, and the output is a directory now"):
        output.deliver(SENDER, None, 3)


def test_a_table_where_the_checkpoint_keeps_its_own_is_refused(tmp_path: Path) -> None:
    """On a disk of this machine, however its path is written; a store elsewhere is never in the way."""
    pytest.importorskip("deltalake", reason="deltalake is not installed: pip install deltalake")
    checkpoint = Files(tmp_path / "checkpoint")
    for path in (f"{tmp_path}/checkpoint/state/t", f"file://{tmp_path}/checkpoint/state/t"):
        with pytest.raises(BadArgument, match=f"keeps for sink 'out', got {re.escape(path)}\n"):
            checked(tg.delta(path)).check(checkpoint, "out")
    for path in (f"{tmp_path}/checkpoint/t", f"s3:/{tmp_path}/checkpoint/state/t"):
        checked(tg.delta(path)).check(checkpoint, "out")


@pytest.mark.parametrize("given", ["out", None, print, object()])
def test_what_is_no_output_is_told_with_all_that_are(given: Any) -> None:
    """The sink, what came, and what could have."""
    with pytest.raises(BadArgument) as caught:
        checked(given)
    assert f"expected a place for sink 'out', got {given!r} ({type(given).__name__})" in str(caught.value)
    for name in ("parquet", "postgres", "delta", "foreach", "memory", "console"):
        assert f"tg.{name}(" in caught.value.hint
