"""Plots as SVG, written here: bars beside each other, and lines. Axes are logarithmic, as the paper's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

__all__ = ["bars", "lines"]

#: Middle tones, which can be read on dark and on light ground.
_COLOURS = ("#3b82f6", "#16a34a", "#d97706", "#db2777", "#808080", "#7c3aed")
_LEFT, _TOP, _HEIGHT, _BOTTOM = 64, 40, 220, 44


def bars(title: str, names: Sequence[str], series: Mapping[str, Sequence[float]], *, unit: str) -> str:
    """Draw, for each name, a bar of each series; what is 0 or less has none.

    >>> bars("Maps", ["LLM", "ALM"], {"A+": [80, 90], "A": [3, 10]}, unit="%").count("<rect")
    6
    """
    width = max(160, len(names) * (len(series) * 11 + 12))
    scale = _Scale([v for values in series.values() for v in values])
    parts = [scale.axis(width, unit)]
    for i, name in enumerate(names):
        x = _LEFT + i * width / len(names)
        parts.append(_text(x + width / len(names) / 2, _TOP + _HEIGHT + 16, name))
        for j, values in enumerate(series.values()):
            if values[i] > 0:
                y = scale.at(values[i])
                parts.append(
                    f'<rect x="{x + 6 + 11 * j:.1f}" y="{y:.1f}" width="10" height="{_TOP + _HEIGHT - y:.1f}" '
                    f'fill="{_COLOURS[j % len(_COLOURS)]}"><title>{escape(name)}: {values[i]:.3g} {unit}</title></rect>'
                )
    return _svg(title, width, [*parts, *_legend(list(series))])


def lines(title: str, xs: Sequence[float], series: Mapping[str, Sequence[float]], *, unit: str, over: str) -> str:
    """Draw a line for each series over ``xs``, which grow.

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
    for j, values in enumerate(series.values()):
        points = " ".join(f"{p:.1f},{scale.at(v):.1f}" for p, v in zip(places, values, strict=True) if v > 0)
        colour = _COLOURS[j % len(_COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return _svg(title, width, [*parts, *_legend(list(series))])


class _Scale:
    """A logarithmic axis that holds all values."""

    def __init__(self, values: Sequence[float]) -> None:
        positive = [v for v in values if v > 0] or [1.0]
        self.least = floor(log10(min(positive)))
        self.most = max(ceil(log10(max(positive))), self.least + 1)

    def at(self, value: float) -> float:
        """Answer the height of a value on the page."""
        share = (log10(value) - self.least) / (self.most - self.least)
        return _TOP + _HEIGHT * (1 - max(0.02, min(1.0, share)))

    def axis(self, width: float, unit: str) -> str:
        """Draw a line at each power of ten."""
        found = [_text(_LEFT - 8, _TOP - 10, unit, "end")]
        for power in range(self.least, self.most + 1):
            y = _TOP + _HEIGHT * (1 - (power - self.least) / (self.most - self.least))
            found.append(
                f'<line x1="{_LEFT}" x2="{_LEFT + width:.0f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#808080" '
                f'stroke-opacity="0.4"/>{_text(_LEFT - 8, y + 4, f"{10.0**power:g}", "end")}'
            )
        return "".join(found)


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#808080">{escape(text)}</text>'


def _legend(names: Sequence[str]) -> list[str]:
    found = []
    for j, name in enumerate(names):
        x = _LEFT + 90 * j
        found.append(f'<rect x="{x}" y="22" width="10" height="10" fill="{_COLOURS[j % len(_COLOURS)]}"/>')
        found.append(_text(x + 14, 31, name, "start"))
    return found


def _svg(title: str, width: float, parts: Sequence[str]) -> str:
    wide, high = _LEFT + width + 16, _TOP + _HEIGHT + _BOTTOM
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}" '
        f'font-family="sans-serif" font-size="11">{_text(_LEFT, 14, title, "start")}{"".join(parts)}</svg>\n'
    )
