"""Pictures of runs: nothing is lost, nothing overlaps, and they keep to the width."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.streams import streams
from tidegate.spec import DT, WM, Operator, batch_op, flatten_op, ihist_op, map_op, produce, union_op
from tidegate.spec.canvas import Canvas
from tidegate.spec.draw import show_event
from tidegate.time import Inr, Nat, Product, Sum
from tidegate.ui import lanes, run_picture, side_by_side
from tidegate.ui.pictures import PASSES

PAIRS = Product(Nat(), Nat())


def chips(picture: str) -> list[str]:
    return re.findall(r"[│┃]((?:DT|WM) .*?)[│┃]", picture)


@given(streams(PAIRS), st.sampled_from([batch_op(PAIRS), ihist_op(PAIRS)]), st.integers(90, 130))
def test_a_run_has_all_inputs_and_outputs(events: list[Any], op: Operator[Any, Any], width: int) -> None:
    """Each input and each output stands in the picture once; a watermark that passes stands for both."""
    picture = str(run_picture(op, events, width=width))
    expected = [show_event(e) for e in [*events, *produce(op, events)]]
    passed = re.findall(rf"┃(WM [^┃]*)┃ {PASSES}", picture)
    assert sorted([*chips(picture), *passed]) == sorted(expected)


@given(streams(PAIRS), st.integers(40, 130))
def test_a_run_keeps_to_the_width(events: list[Any], width: int) -> None:
    """No line is wider than asked for, if each event alone is not."""
    picture = str(run_picture(map_op(lambda t, d: d), events, width=width))
    assert all(len(line) <= width for line in picture.split("\n"))


@given(streams(Sum(Nat(), Nat())))
def test_lanes_have_all_inputs_and_outputs(events: list[Any]) -> None:
    """Each input stands in its lane, and the outputs stand in theirs, in their order."""
    picture = str(lanes(union_op(Nat()), events, ["left", "right"], lambda event: isinstance(event.t, Inr)))
    rows = picture.split("\n")
    assert chips(rows[0]) == [show_event(e) for e in events if not isinstance(e.t, Inr)]
    assert chips(rows[1]) == [show_event(e) for e in events if isinstance(e.t, Inr)]
    assert chips(rows[-1]) == [show_event(e) for e in produce(union_op(Nat()), events)]


def test_what_passes_gets_no_arrow() -> None:
    """An event that comes out as it is, alone, is only said to pass."""
    assert str(run_picture(flatten_op(), [WM(1), DT(2, ["a"])], width=60)).split("\n") == [
        "┃WM 1┃ passes  │DT 2 [a]│",
        "                    ╰─▶ │DT 2 a│",
    ]


def test_pictures_go_below_each_other_where_they_do_not_fit() -> None:
    """Two pictures stand side by side only if the width allows it."""
    box = Canvas()
    box.put(0, 0, "#" * 10)
    wide, narrow = (str(side_by_side([("a", box), ("b", box)], width=w, gap=2)) for w in (22, 21))
    assert wide == "a           b\n##########  ##########"
    assert narrow == "a\n##########\n\nb\n##########"
