"""Texts from elsewhere, made fit for a terminal: rows, names and files may hold sequences that a terminal obeys."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return a text with all that is not printed escaped as in Python: controls, direction marks, odd blanks.

    With ``lines``, the text is one of ours and may have several of them: line breaks stay.

    >>> printable("pump \x1b[2J\u202e1\n")
    'pump \\x1b[2J\\u202e1\\n'
    >>> print(printable("expected a,\ngot b", lines=True))
    expected a,
    got b
    """
    return "".join(c if c.isprintable() or (lines and c == "\n") else _escaped(c) for c in text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
