"""Streams as pictures: everything is there, in order, within the width."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.streams import streams
from tidegate.spec import DT, WM, Lasso
from tidegate.spec.draw import draw_stream, show_event
from tidegate.time import Nat, Product, Sum

ORDERS = st.sampled_from([Nat(), Product(Nat(), Nat()), Sum(Nat(), Nat())])


@given(ORDERS.flatmap(streams), st.integers(20, 120))
def test_a_picture_has_every_event_within_the_width(events: list[Any], width: int) -> None:
    """Read from left to right and top to bottom, the boxes are the events, and no line is too long."""
    picture = draw_stream(events, width=width)
    boxes = re.findall(r"[│┃] (.*?) [│┃]", picture)
    assert boxes == [show_event(event) for event in events]
    assert all(len(line) <= width and line == line.rstrip() for line in picture.split("\n"))


def test_an_endless_stream_is_cut() -> None:
    """Only the beginning is drawn, and no more is read."""
    numbers = count()
    picture = draw_stream((DT(n, "a") for n in numbers), limit=2)
    assert picture.split("\n")[1] == "│ DT 0 a │ │ DT 1 a │ …"
    assert next(numbers) == 3


def test_a_lasso_is_drawn_once_round() -> None:
    """The beginning and the end of the cycle are marked."""
    assert draw_stream(Lasso([DT(0, "a")], [WM(0)])).split("\n")[1] == "│ DT 0 a │ ↻ ┃ WM 0 ┃ ⟲"


def test_nothing_is_drawn_as_such() -> None:
    """An empty stream is not an empty picture."""
    assert draw_stream([]) == "(empty stream)"
