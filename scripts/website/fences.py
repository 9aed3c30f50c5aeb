"""Examples in docstrings as blocks of Markdown: there, ``>>>`` would be a quotation in a quotation."""

from __future__ import annotations

import re

__all__ = ["fenced"]

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n(?!>>> )|\Z)", re.DOTALL | re.MULTILINE)


def fenced(text: str) -> str:
    """Return a docstring in which each example, up to the blank line behind it, is a block of code."""
    return _EXAMPLE.sub(lambda example: f"```pycon\n{example[0].rstrip()}\n```", text)
