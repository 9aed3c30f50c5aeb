"""``tidegate demo``: it runs, fits the terminal, and what it says about the stream is so."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import tidegate
from tidegate.cli import app
from tidegate.demos import DEFAULT, DEMOS, ledger
from tidegate.demos.operators import JOINED, ORDER, STREAM, matching
from tidegate.spec import DT, WM, batch_op, ihist_op, ihist_paths_op, is_monotone, join_op, owed, produce
from tidegate.time import Nat, Sum


def shown(width: int, *, colour: bool = False, name: str = "operators") -> str:
    file = io.StringIO()
    DEMOS[name].show(
        Console(file=file, width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    )
    return file.getvalue()


@pytest.mark.parametrize("name", [demo.name for demo in DEMOS.values() if not demo.spark])
@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_pictures_fit_the_terminal(width: int, name: str) -> None:
    """No line is wider than the terminal, and none ends with blanks."""
    lines = shown(width, name=name).split("\n")
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_colours_change_nothing_but_colours() -> None:
    """Without its colours the picture is the one for pipes, which has no escape codes."""
    from rich.text import Text

    assert "\x1b" not in shown(80)
    assert "\x1b" in shown(80, colour=True)
    assert Text.from_ansi(shown(80, colour=True)).plain.rstrip() == shown(80).rstrip()


def test_the_outputs_are_drawn() -> None:
    """Everything that the operators put out stands in the picture."""
    picture = shown(120)
    for text in [
        "│DT t5 [(t2, b), (t3, a), (t5, a), (t5, c)]│ ┃WM t5┃",
        "│DT t3 [(t0, a), (t1, c), (t2, b), (t3, a), (t5, a), (t5, c)]│",
        "│DT t0 {a}│ │DT t1 {a, c}│ ┃WM t1┃",
        "│DT t5 {a, a, a, b, c}│",
        "│DT t4 {a, c, d}│",
        "│1 tea 3€│ ┃≤1┃ │2 pie 4€│ ┃≤2┃",
    ]:
        assert text in picture


def test_t4_is_open_when_t5_is_complete() -> None:
    """The first surprise: the promise of WM t5 says nothing about t4, which came before it."""
    before = STREAM[: STREAM.index(WM("t5"))]
    assert DT("t4", "d") in before
    assert owed(ORDER, STREAM) == [DT("t4", "d")]
    assert list(produce(batch_op(ORDER), STREAM))[-1] == DT("t4", [("t4", "d")])


def test_t0_counts_once_in_t5() -> None:
    """The second surprise: one operator counts t0 once in t5, the other once for each path."""
    [once] = [e.d for e in produce(ihist_op(ORDER), STREAM) if e.t == "t5" and isinstance(e, DT)]
    [twice] = [e.d for e in produce(ihist_paths_op(ORDER), STREAM) if e.t == "t5" and isinstance(e, DT)]
    assert (once["a"], twice["a"]) == (3, 4)


def test_the_join_waits_for_both_sides() -> None:
    """The third: its watermark is never ahead of either side."""
    assert is_monotone(Sum(Nat(), Nat()), JOINED)
    assert list(produce(join_op(Nat(), matching), JOINED)) == [DT(1, "tea 3€"), WM(1), DT(2, "pie 4€"), WM(2)]


def test_the_ledger_keeps_what_it_answered() -> None:
    """A correction of an early day changes no balance that is final, and counts in its own version."""
    moments = [ledger.balances(ledger.BOOKS[:n]) for n in range(len(ledger.BOOKS) + 1)]
    for before, after in pairwise(moments):
        assert before.items() <= after.items()
    assert moments[-1] == {(1, 1): 100, (2, 1): 70, (1, 2): 95, (2, 2): 85}


def test_one_clock_would_lose_the_correction() -> None:
    """With the day as the only time, what version 2 enters is late."""
    assert [(row["day"], row["version"]) for row in ledger.late_on_one_clock(ledger.BOOKS)] == [(1, 2), (2, 2)]


def test_the_code_that_is_shown_is_the_code_that_runs() -> None:
    """The flow on the screen has the plan of the flow behind it."""
    names: dict[str, Any] = {"tg": tidegate}
    exec(ledger.CODE, names)
    assert str(names["flow"].plan) == str(ledger.ledger("day", "version").plan)


def test_the_command_shows_the_default() -> None:
    """Without a name the default is shown; --list names them all."""
    run = CliRunner().invoke(app, ["demo", "operators"], env={"COLUMNS": "80"})
    assert run.exit_code == 0
    assert "ihist_op" in run.output
    listed = CliRunner().invoke(app, ["demo", "--list"]).output
    assert DEFAULT in DEMOS
    assert all(name in listed for name in DEMOS)


def test_an_unknown_demo_is_refused_with_the_names() -> None:
    """A wrong name is answered with the right ones."""
    run = CliRunner().invoke(app, ["demo", "nonsense"])
    assert run.exit_code == 2
    assert DEFAULT in run.output
