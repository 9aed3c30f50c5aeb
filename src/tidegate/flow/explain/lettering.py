"""Texts in pictures: how wide they are, and how they are broken into lines.

A picture contains no font, and readers have different ones. So widths are those of the widest common font: then no text
is wider than its box.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from tidegate.printable import printable

__all__ = ["CODE", "MONOSPACE", "NAME", "NOTE", "SANS", "SMALL", "TITLE", "Lettering", "balanced", "wrapped"]

SANS = "system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

#: Widths of characters in the widest common sans-serif font, as a share of its size; others are as wide as capitals.
_WIDTHS = {
    **dict.fromkeys("ijlI'", 0.3),
    **dict.fromkeys(" .,:;/\\|", 0.34),
    **dict.fromkeys("ft()[]-!", 0.4),
    **dict.fromkeys("r", 0.42),
    **dict.fromkeys('cszJ*"`', 0.55),
    **dict.fromkeys("kvxy_?FL", 0.6),
    **dict.fromkeys("abdeghnopqu0123456789$PTYZ{}µ", 0.64),
    **dict.fromkeys("wm#+<>=~^→↻", 0.9),
    **dict.fromkeys("MW%@…—", 1.0),
}
_CAPITAL = 0.79
_BOLD = 1.14
_IN_MONOSPACE = 0.61


@dataclass(frozen=True, slots=True)
class Lettering:
    """How a text is written: its size, whether its font is monospaced (``fixed``), whether it is bold."""

    size: float
    fixed: bool = False
    bold: bool = False

    @property
    def line(self) -> int:
        """The distance between two lines."""
        return round(self.size * 1.42)

    def width(self, text: str) -> float:
        """Return the greatest width that a text may have, in pixels.

        >>> Lettering(10).width("window") < Lettering(10, bold=True).width("window") < Lettering(10).width("WINDOW")
        True
        """
        return self.size * sum(map(self._em, text)) * (_BOLD if self.bold else 1.0)

    def _em(self, sign: str) -> float:
        if combining(sign):
            return 0.0
        if east_asian_width(sign) in "WF":
            return 1.05
        return _IN_MONOSPACE if self.fixed else _WIDTHS.get(sign, _CAPITAL)


TITLE = Lettering(15, bold=True)
NAME = Lettering(13, bold=True)
CODE = Lettering(11, fixed=True)
NOTE = Lettering(11)
SMALL = Lettering(10)


def wrapped(text: str, lettering: Lettering, width: float, *, most: int = 0, indent: str = "") -> list[str]:
    """Return a text as lines that are no wider than ``width``.

    Lines end after a comma if possible. All but the first begin with ``indent``. If there would be more than ``most``
    lines, the rest is left out and the last line ends with dots.

    >>> wrapped("n, sum(bytes) AS bytes, max(bytes) AS most", Lettering(10, fixed=True), 160)
    ['n, sum(bytes) AS bytes,', 'max(bytes) AS most']
    >>> wrapped("bytes > 100 AND page LIKE 'A%'", Lettering(10, fixed=True), 100, most=1)
    ['bytes > 100 AND…']
    """
    lines = [""]

    def fits(part: str, line: str) -> bool:
        return lettering.width((line + part).rstrip()) <= width

    def add(part: str) -> None:
        if lines[-1].strip() and not fits(part, lines[-1]):
            lines.append(indent)
        lines[-1] += part

    for item in re.findall(r"[^,]*,\s*|[^,]+", printable(text)):
        if fits(item, lines[-1]) or fits(item, indent):
            add(item)
            continue
        for word in re.findall(r"\S+\s*|\s+", item):
            for part in _fitting(word, lettering, width - lettering.width(indent)):
                add(part)
    lines = [line.rstrip() for line in lines]
    if not most or len(lines) <= most:
        return lines
    last = lines[most - 1]
    while last and lettering.width(last + "…") > width:
        last = last[:-1]
    return [*lines[: most - 1], last + "…"]


def balanced(text: str, lettering: Lettering, width: float, *, most: int = 0) -> list[str]:
    """Return a text as few lines of about the same width.

    >>> balanced("rows for ever; rows", Lettering(10), 85)
    ['rows for', 'ever; rows']
    """
    lines = wrapped(text, lettering, width, most=most)
    best = lines
    while (width := width * 0.95) and len(lines) > 1 and len(found := wrapped(text, lettering, width)) == len(lines):
        best = found
    return best


def _fitting(word: str, lettering: Lettering, width: float) -> list[str]:
    """Return a word in parts that each fit into a line."""
    parts = [""]
    for sign in word:
        if parts[-1] and lettering.width(parts[-1] + sign.rstrip()) > width:
            parts.append("")
        parts[-1] += sign
    return parts
