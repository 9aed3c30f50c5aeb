"""Hasse diagrams show the order, whole and nothing else: the lines are followed in the drawn text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.spec import draw_hasse
from tidegate.spec.canvas import Canvas
from tidegate.spec.draw_hasse import _ports as ports
from tidegate.spec.draw_hasse import covers, hasse, hasse_canvas
from tidegate.time import Nat, Poset, Product

#: Where each character of a line leads, as steps (right, down).
N, E, S, W = (0, -1), (1, 0), (0, 1), (-1, 0)
LEADS = {
    "│": {N, S},
    "─": {E, W},
    "╭": {S, E},
    "╮": {S, W},
    "╰": {N, E},
    "╯": {N, W},
    "├": {N, S, E},
    "┤": {N, S, W},
    "┬": {S, E, W},
    "┴": {N, E, W},
    "┼": {N, S, E, W},
}


def follow(canvas: Canvas, x: int, y: int) -> set[tuple[int, int]]:
    """Return the places on frames that a line reaches which leaves a frame upwards at ``(x, y)``."""
    reached, seen, waiting = set(), set(), [((x, y - 1), N)]
    while waiting:
        (px, py), came = waiting.pop()
        character, tag = canvas.at(px, py)
        if tag != "line":
            reached.add((px, py))
            continue
        leads = LEADS[character]
        if came in (E, W) and (-came[0], 0) not in leads:
            assert leads == {N, S}, "a line runs into another"
            leads = {E, W}  # it goes on behind the upright one
        assert (-came[0], -came[1]) in leads, f"{character} does not take up the line that comes to it"
        for step in leads - {(-came[0], -came[1])}:
            key = ((px + step[0], py + step[1]), step)
            if key not in seen:
                seen.add(key)
                waiting.append(key)
    return reached


def drawn_covers(canvas: Canvas, names: list[str]) -> set[tuple[str, str]]:
    """Read the picture: which box is joined by a line to which box above it."""
    rows = str(canvas).split("\n")
    boxes = {}
    for y, row in enumerate(rows):
        for name in names:
            for x, cell in enumerate(row):
                if cell == name and canvas.at(x, y)[1] in ("open", "complete"):
                    left = max(i for i in range(x) if row[i] in "╎║")
                    right = min(i for i in range(x, len(row)) if row[i] in "╎║")
                    boxes[name] = (left, right, y)
    assert set(boxes) == set(names), "every time has a box"
    found = set()
    for low, (left, right, y) in boxes.items():
        for x in range(left, right + 1):
            if canvas.at(x, y - 1)[0] in "┴╧":
                for px, py in follow(canvas, x, y - 1):
                    highs = [n for n, (l, r, line) in boxes.items() if l <= px <= r and line == py - 1]
                    assert len(highs) == 1, "a line ends where no box is"
                    found.add((low, highs[0]))
    return found


@st.composite
def posets(draw: st.DrawFn) -> Poset:
    size = draw(st.integers(1, 8))
    names = draw(st.permutations("abcdefgh"[:size]))
    pairs = draw(st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=16))
    return Poset([(names[i], names[j]) for i, j in pairs if i < j], elements=names)


def shows_the_order(order: Poset, complete: set[str]) -> bool:
    names = sorted(str(x) for x in order.elements)
    expected = {(low, high) for high, lows in covers(order, names).items() for low in lows}
    return drawn_covers(hasse_canvas(order, names, complete=complete), names) == expected


@given(posets(), st.sets(st.sampled_from("abcdefgh")))
def test_the_lines_are_the_covers(order: Poset, complete: set[str]) -> None:
    """Following the drawn lines up from each box gives the times immediately above it, and no others."""
    assert shows_the_order(order, complete)


def test_a_line_may_not_arrive_where_another_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that rule two lines run into one, and following the lines notices it."""
    order = Poset([("a", "c"), ("a", "e"), ("b", "c"), ("b", "e")], elements="abcde")
    assert shows_the_order(order, set())
    monkeypatch.setattr(draw_hasse, "_ports", lambda node, lower: ports(node, []))
    with pytest.raises(AssertionError):
        assert shows_the_order(order, set())


@given(posets())
def test_greater_times_are_higher_up(order: Poset) -> None:
    """A time that is above another is drawn on a higher line."""
    names = sorted(str(x) for x in order.elements)
    rows = hasse(order, names).split("\n")
    line = {name: next(y for y, row in enumerate(rows) if name in row) for name in names}
    for a in names:
        for b in names:
            if order.lt(a, b):
                assert line[b] < line[a]


def test_a_long_line_passes_beside_the_boxes_between() -> None:
    """A line that skips a layer goes past it, and complete times have a double frame."""
    order = Poset([("a", "b"), ("b", "c"), ("c", "d"), ("a", "e"), ("e", "d")])
    picture = hasse(order, "abcde", complete="ab")
    assert (
        "\n" + picture
        == """
 ┌╌╌╌╌╌╌┐
 ╎  d   ╎
 └┬╌╌╌┬╌┘
  │   ╰──╮
┌╌┴╌┐    │
╎ c ╎    │
└╌┬╌┘    │
  │      │
╔═╧═╗  ┌╌┴╌┐
║ b ║  ╎ e ╎
╚═╤═╝  └╌┬╌┘
  ╰──┬───╯
   ╔═╧═╗
   ║ a ║
   ╚═══╝"""
    )


def test_a_grid_is_a_diamond() -> None:
    """The product of two chains of two is drawn as a diamond."""
    grid = [(i, j) for i in (0, 1) for j in (0, 1)]
    assert (
        "\n" + hasse(Product(Nat(), Nat()), grid, complete=[(0, 0)])
        == """
      ┌╌╌╌╌╌╌╌╌┐
      ╎ (1, 1) ╎
      └╌╌┬╌╌┬╌╌┘
     ╭───╯  ╰────╮
┌╌╌╌╌┴╌╌╌┐  ┌╌╌╌╌┴╌╌╌┐
╎ (0, 1) ╎  ╎ (1, 0) ╎
└╌╌╌╌┬╌╌╌┘  └╌╌╌╌┬╌╌╌┘
     ╰─────┬─────╯
      ╔════╧═══╗
      ║ (0, 0) ║
      ╚════════╝"""
    )


def test_nothing_is_an_empty_picture() -> None:
    """No times, no picture."""
    assert hasse(Nat(), []) == ""
