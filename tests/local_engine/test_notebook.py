"""Runs in notebooks: what a cell shows goes on until the run is over, and no longer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.flow.case import ints
from tidegate.engine import notebook
from tidegate.engine.notebook import Forms, follow
from tidegate.engine.runs import per_second
from tidegate.engine.steps.metrics import StepMetrics

#: In seconds: much longer than anything here takes.
LONG = 60


def published(following: Callable[..., None]) -> list[str]:
    """Return what is published of something that changes twice, the second time when it is over."""
    texts, turns = iter(["a", "b", "b", "c"]), iter([False, False, False, True])
    found: list[str] = []
    following(
        lambda: {"text/plain": next(texts)},
        lambda forms: found.append(forms["text/plain"]),
        lambda seconds: next(turns),
        {"text/plain": "a"},
    )
    return found


def test_what_has_changed_is_published_also_at_the_end() -> None:
    """Once for each change, not for what is shown already, and last what there is when it is over."""
    assert published(follow) == ["b", "c"]


def hasty(render: Any, publish: Any, over: Any, shown: Forms) -> None:
    """Stop as soon as it is over."""
    while not over(1):
        if (found := render()) != shown:
            publish(found)
            shown = found


def chatty(render: Any, publish: Any, over: Any, shown: Forms) -> None:
    """Publish whatever there is."""
    ended = False
    while not ended:
        ended = over(1)
        publish(render())


@pytest.mark.parametrize("broken", [hasty, chatty])
def test_one_that_misses_the_end_or_repeats_itself_is_noticed(broken: Callable[..., None]) -> None:
    """The test above fails for these."""
    assert published(broken) != ["b", "c"]


class Notebook:
    """Where IPython would display things: what comes is put into a queue."""

    def __init__(self) -> None:
        self.came: Queue[tuple[str, str, str]] = Queue()

    def display(self, forms: dict[str, str], *, raw: bool, display_id: str) -> None:
        assert raw
        self.came.put(("new", display_id, forms["text/html"]))

    def update_display(self, forms: dict[str, str], *, raw: bool, display_id: str) -> None:
        assert raw
        self.came.put(("again", display_id, forms["text/html"]))

    def until(self, text: str) -> tuple[str, str, str]:
        """Return the first that says something."""
        while text not in (came := self.came.get(timeout=LONG))[2]:
            pass
        return came


def rows(*times: int) -> pa.Table:
    n = len(times)
    return pa.table({"t": pa.array(times, pa.int32()), "k": ["a"] * n, "x": pa.array([1] * n, pa.int32())})


def test_a_run_goes_on_in_its_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is, as rows come; in each cell that shows it, by one thread, which ends with it and shows the end."""
    monkeypatch.setattr(notebook, "EVERY", 0.01)
    more, end = Event(), Event()

    def feed() -> Iterator[pa.Table]:
        yield rows(1, 2, 30)
        assert more.wait(LONG)
        yield rows(40, 5)
        assert end.wait(LONG)

    flow = tg.Flow("live")
    source = flow.source("s", "t INT, k STRING, x INT", time="t", watermark=tg.bounded(2))
    flow.sink("out", source.gate())
    run = flow.start(tg.local(), {"s": feed()}, {"out": tg.memory("out")}, tmp_path / "ck")
    cells = Notebook()
    run._cell.show(cells)
    kind, key, _ = cells.came.get(timeout=LONG)
    assert kind == "new"
    if run.status().step is None:
        cells.until("step 0")
    thread = run._cell._thread
    assert thread is not None
    run._cell.show(cells)
    more.set()
    kind, again, html = cells.until("open from 38")
    assert again == key
    assert "<td>5</td><td>1</td><td>0</td>" in html
    assert "rows a second" in html
    assert run._cell._thread is thread
    end.set()
    kind, _, html = cells.until("ended")
    assert kind == "again"
    assert "everything is complete" in html
    thread.join(LONG)
    assert not thread.is_alive()
    assert cells.came.empty()
    run._cell.show(cells)
    assert cells.came.get(timeout=LONG)[:2] == ("new", key)
    assert not thread.is_alive()


def test_outside_of_a_notebook_ipython_takes_the_text(tmp_path: Path) -> None:
    """In a script nothing is displayed and no thread begins; this is how IPython is told."""
    flow = tg.Flow("plain")
    flow.sink("out", ints(flow))
    once = {"availableNow": True}
    run = flow.start(tg.local(), {"s": iter([rows(1)])}, {"out": tg.memory("out")}, tmp_path / "ck", trigger=once)
    with pytest.raises(NotImplementedError):
        run._ipython_display_()
    assert run._cell._thread is None
    assert "IPython" not in sys.modules or notebook.notebook_display() is None
    run.await_termination()


def test_what_cannot_be_shown_any_more_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A notebook that is gone does not disturb the run."""
    monkeypatch.setattr(notebook, "EVERY", 0.01)
    begin = Event()

    class Gone(Notebook):
        def update_display(self, forms: dict[str, str], *, raw: bool, display_id: str) -> None:
            raise OSError("the kernel is gone")

    def feed() -> Iterator[pa.Table]:
        assert begin.wait(LONG)
        yield rows(1)

    flow = tg.Flow("gone")
    flow.sink("out", ints(flow))
    run = flow.start(tg.local(), {"s": feed()}, {"out": tg.memory("out")}, tmp_path / "ck")
    run._cell.show(Gone())
    begin.set()
    assert run.await_termination(LONG)
    assert run._cell._thread is not None
    run._cell._thread.join(LONG)
    assert "what the notebook shows is not updated any more" in caplog.text
    assert run.status().state == "ended"


def test_rows_a_second_are_counted_by_the_clock() -> None:
    """From the beginning of the first step to the end of the last: pauses between steps count, too."""

    def step(at: str, seconds: float, n: int) -> StepMetrics:
        given = {"s": n, "r": n}
        return StepMetrics("f", 0, f"2026-01-01T00:00:{at}+00:00", seconds, given, {}, {}, {}, 0, {}, {})

    assert per_second([]) is None
    assert per_second([step("10.000", 0.5, 100)]) == 400
    assert per_second([step("10.000", 1.0, 100), step("14.000", 0.5, 150)]) == 100


CELLS = [
    """
import tempfile
from threading import Event
import pyarrow as pa
import tidegate as tg
flow = tg.Flow("live")
s = flow.source("s", "t INT", time="t", watermark=tg.bounded(0))
flow.sink("out", s.gate())
ending = Event()
def feed():
    yield pa.table({"t": pa.array([1, 2], pa.int32())})
    ending.wait()
run = flow.start(tg.local(), {"s": feed()}, {"out": tg.memory("out")}, tempfile.mkdtemp())
run
""",
    "flow",
    "ending.set(); run.await_termination(); run._cell._thread.join()",
    'flow.compute(tg.local(), {"s": pa.table({"t": pa.array([1, 2], pa.int32())})})',
]


@pytest.mark.slow
def test_a_notebook_shows_it() -> None:
    """In the kernel of a real notebook: the cell that showed the run shows its end, which came in a later cell."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=LONG, kernel_name="python3").execute()
    shown = [[output["data"].get("text/html", "") for output in cell["outputs"]] for cell in book["cells"]]
    [live], [flow], _, [tables] = shown
    assert "ended" in live
    assert "everything is complete" in live
    assert flow.count("<svg") == 1
    assert "out: 2 rows in all" in tables
