"""Formats of dates: from Java's patterns to those of strftime."""

from __future__ import annotations

import re

from tidegate.flow.agreed.regexes import MeaningDiffers

__all__ = ["strftime_of"]

_LETTERS = {
    "yyyy": "%Y", "yy": "%y", "MM": "%m", "M": "%-m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "d": "%-d", "HH": "%H",
    "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S", "s": "%-S", "SSS": "%g", "SSSSSS": "%f",
    "a": "%p", "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A",
}  # fmt: skip


def strftime_of(pattern: str) -> str:
    """Return a pattern of Java as a format of strftime, or raise `MeaningDiffers`.

    >>> strftime_of("yyyy-MM-dd'T'HH:mm")
    '%Y-%m-%dT%H:%M'
    """
    found = []
    for part in re.finditer(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", pattern, re.DOTALL):
        text = part[0]
        if part[1]:
            if text not in _LETTERS:
                raise MeaningDiffers(f"{text} in a format is not supported")
            found.append(_LETTERS[text])
        elif len(text) > 1:
            found.append(("'" if text == "''" else text[1:-1].replace("''", "'")).replace("%", "%%"))
        elif text in "#{}[]'":
            raise MeaningDiffers(f"{text} in a format is not supported")
        else:
            found.append(text.replace("%", "%%"))
    return "".join(found)
