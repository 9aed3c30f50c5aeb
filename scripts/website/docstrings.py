"""An extension of Griffe, which reads docstrings for the site: their examples become blocks of code."""

from __future__ import annotations

from typing import Any

import griffe

from scripts.website.fences import fenced

__all__ = ["Examples"]


class Examples(griffe.Extension):  # type: ignore[misc]  # Griffe is not where types are checked
    """Fences the examples of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was just found."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
