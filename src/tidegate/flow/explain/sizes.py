"""Sizes of everything in a picture of a flow, in pixels, apart from those of letters."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BETWEEN_BOXES", "CHIP_HEIGHT", "LOOP_WIDTH", "MANY_BOXES", "MARGIN", "MOST_LINES", "NARROWEST_BOX",
    "NARROWEST_NOTES", "NARROW_TEXT", "PADDING_LEFT", "PADDING_RIGHT", "PADDING_TOP", "WIDE_TEXT",
]  # fmt: skip

#: Around the whole picture, and between two boxes of a layer.
MARGIN: Final = 16
BETWEEN_BOXES: Final = 28

#: The narrowest box, and the room between its border and its texts.
NARROWEST_BOX: Final = 120
PADDING_LEFT: Final = 16
PADDING_RIGHT: Final = 12
PADDING_TOP: Final = 9

#: The widest line of text in a box: wide, or narrow if a layer has more than so many boxes.
WIDE_TEXT: Final = 320
NARROW_TEXT: Final = 200
MANY_BOXES: Final = 6
#: The most lines that are shown of one text.
MOST_LINES: Final = 7

#: How high a chip is: a text of a word or two in a rounded frame, on an edge or on the border of a box.
CHIP_HEIGHT: Final = 18
#: How far a loop sticks out of its box.
LOOP_WIDTH: Final = 34
#: The narrowest column of notes below a picture.
NARROWEST_NOTES: Final = 460
