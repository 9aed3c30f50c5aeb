"""Plots as SVG, written here: bars beside each other, and lines. Axes are logarithmic, as the paper's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from textwrap import wrap

__all__ = ["bars", "lines"]

#: Middle tones, which can be read on dark and on light ground.
_COLOURS = ("#3b82f6", "#16a34a", "#d97706", "#db2777", "#808080", "#7c3aed")
_LEFT, _TOP, _HEIGHT, _BOTTOM = 80, 44, 220, 44
#: A bar and the gap beside it, a gap between groups of bars, and about how wide a letter is.
_BAR, _GAP, _LETTER = 11, 16, 6.5
#: How high a line of a note is.
_LINE = 14


def bars(title: str, names: Sequence[str], series: Mapping[str, Sequence[float]], *, unit: str, note: str = "") -> str:
    """Draw, for each name, a bar of each series; what is 0 or less has none. A note stands beneath.

    >>> bars("Maps", ["LLM", "ALM"], {"A+": [80, 90], "A": [3, 10]}, unit="%").count("<rect")
    6
    """
    group = len(series) * _BAR
    slot = max(group + _GAP, _LETTER * max(map(len, names)) + _GAP)
    width = len(names) * slot
    scale = _Scale([v for values in series.values() for v in values])
    parts = []
    for i, name in enumerate(names):
        middle = _LEFT + (i + 0.5) * slot
        parts.append(_text(middle, _TOP + _HEIGHT + 16, name))
        for j, values in enumerate(series.values()):
            if values[i] > 0:
                y = scale.at(values[i])
                parts.append(
                    f'<rect x="{middle - group / 2 + _BAR * j:.1f}" y="{y:.1f}" width="{_BAR - 1}" '
                    f'height="{_TOP + _HEIGHT - y:.1f}" fill="{_colour(j)}">'
                    f"<title>{escape(name)}: {values[i]:.3g} {escape(unit)}</title></rect>"
                )
    return _svg(title, width, [scale.axis(width, unit), *parts], list(series), note)


def lines(
    title: str,
    xs: Sequence[float],
    series: Mapping[str, Sequence[float]],
    *,
    unit: str,
    over: str,
    note: str = "",
) -> str:
    """Draw a line for each series over ``xs``, which grow. A note stands beneath.

    >>> lines("Rates", [1, 10, 100], {"A": [1, 2, 3]}, unit="s", over="rows").count("<polyline")
    1
    """
    width = 420
    scale = _Scale([v for values in series.values() for v in values])
    across = [log10(x) for x in xs]
    span = (across[-1] - across[0]) or 1
    places = [_LEFT + 20 + (width - 40) * (x - across[0]) / span for x in across]
    parts = [scale.axis(width, unit), _text(_LEFT + width / 2, _TOP + _HEIGHT + 34, over)]
    parts += [_text(place, _TOP + _HEIGHT + 16, f"{x:g}") for place, x in zip(places, xs, strict=True)]
    for j, (name, values) in enumerate(series.items()):
        points = [(p, scale.at(v), x, v) for p, x, v in zip(places, xs, values, strict=True) if v > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_colour(j)}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_colour(j)}">'
            f"<title>{escape(name)} at {at:g}: {value:.3g} {escape(unit)}</title></circle>"
            for x, y, at, value in points
        ]
    return _svg(title, width, parts, list(series), note)


class _Scale:
    """A logarithmic axis that holds all values, from one of 1, 2, 5, 10, 20, … to another.

    >>> _Scale([18, 95]).ticks
    [10.0, 20.0, 50.0, 100.0]
    """

    def __init__(self, values: Sequence[float]) -> None:
        positive = [v for v in values if v > 0] or [1.0]
        low, high = min(positive), max(positive)
        steps = [m * 10.0**p for p in range(floor(log10(low)) - 1, ceil(log10(high)) + 2) for m in (1, 2, 5)]
        # The least value is to be seen, too: it has some height.
        first = max(i for i, step in enumerate(steps) if step < 0.9 * low)
        last = min(i for i, step in enumerate(steps) if step >= 0.999 * high)
        self.least, self.most = log10(steps[first]), log10(steps[last])
        few = [float(f"{step:.0e}") for step in steps[first : last + 1]]
        #: What is written beside the axis: powers of ten alone, where there are many.
        self.ticks = [t for t in few if len(few) <= 8 or f"{t:e}"[0] == "1"]

    def at(self, value: float) -> float:
        """Return the height of a value on the page."""
        return _TOP + _HEIGHT * (1 - (log10(value) - self.least) / (self.most - self.least))

    def axis(self, width: float, unit: str) -> str:
        """Draw a line at each tick."""
        found = [_text(_LEFT - 8, _TOP - 12, unit, "end")]
        for tick in self.ticks:
            y = self.at(tick)
            shown = f"{tick:,.0f}" if tick >= 1 else f"{tick:g}"
            found.append(
                f'<line x1="{_LEFT}" x2="{_LEFT + width:.0f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#808080" '
                f'stroke-opacity="0.4"/>{_text(_LEFT - 8, y + 4, shown, "end")}'
            )
        return "".join(found)


def _colour(j: int) -> str:
    return _COLOURS[j % len(_COLOURS)]


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#808080">{escape(text)}</text>'


def _svg(title: str, width: float, parts: Sequence[str], legend: Sequence[str], note: str) -> str:
    x = float(_LEFT)
    key = []
    for j, name in enumerate(legend):
        key.append(f'<rect x="{x:.1f}" y="22" width="10" height="10" fill="{_colour(j)}"/>')
        key.append(_text(x + 14, 31, name, "start"))
        x += 14 + _LETTER * len(name) + _GAP
    wide, high = max(_LEFT + width, x, _LEFT + _LETTER * len(title)) + 16, _TOP + _HEIGHT + _BOTTOM
    for line in wrap(note, int((wide - 32) / _LETTER)):
        high += _LINE
        key.append(_text(16, high - 8, line, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}" '
        f'font-family="sans-serif" font-size="11">{_text(_LEFT, 14, title, "start")}{"".join([*key, *parts])}</svg>\n'
    )
