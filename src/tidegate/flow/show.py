"""Rows as tables for readers: as text for a terminal, as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from html import escape
from typing import Any

from tidegate.printable import printable

__all__ = ["html_table", "shown", "text_table"]

#: The longest value in a cell of text.
_WIDEST = 60


def shown(value: Any) -> str:
    r"""Return a value as text on one line, with everything escaped that a terminal would act on.

    >>> shown(None), shown({"start": datetime(2026, 1, 1), "end": None}), shown([1, "a\n"])
    ('NULL', '{start: 2026-01-01 00:00:00, end: NULL}', '[1, a\\n]')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(shown, value)) + "]"
    return printable(str(value))


def text_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as lines of text with their columns below each other, numbers to the right.

    >>> print(text_table(["page", "n"], [("home", 7), (None, 12)]))
    page   n
    home   7
    NULL  12
    """
    given = [list(row) for row in rows]
    columns = [
        _column(name, [row[i] for row in given], last=i == len(names) - 1)
        for i, name in enumerate(map(printable, names))
    ]
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def _column(name: str, values: Sequence[Any], *, last: bool) -> list[str]:
    texts = [_cut(text) for text in (name, *map(shown, values))]
    width = max(map(len, texts))
    numbers = any(value is not None for value in values) and all(
        value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool)) for value in values
    )
    if numbers:
        return [text.rjust(width) for text in texts]
    return texts if last else [text.ljust(width) for text in texts]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def html_table(names: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "") -> str:
    """Return rows as an HTML table; everything in it is escaped.

    >>> html_table(["a<b"], [(None,)])
    '<table><thead><tr><th>a&lt;b</th></tr></thead><tbody><tr><td>NULL</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(printable(name))}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(shown(value))}</td>' for value in row)}</tr>" for row in rows)
    above = f"<caption>{escape(printable(caption))}</caption>" if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
