"""An extension of Griffe: examples in docstrings become blocks of code, and names in single backticks links.

Docstrings are written for a terminal. In Markdown, ``>>>`` would be a quotation in a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["Examples", "fenced"]

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n(?!>>> )|\Z)", re.DOTALL | re.MULTILINE)


def fenced(text: str) -> str:
    """Return a docstring in which each example, up to the next blank line, is a block of code."""
    return _EXAMPLE.sub(lambda example: f"```pycon\n{example[0].rstrip()}\n```", text)


class Examples(griffe.Extension):
    """Fences the examples of all docstrings."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was just found."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
