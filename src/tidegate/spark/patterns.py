"""Paths for Spark's readers, which treat every path as a pattern."""

from __future__ import annotations

import re

__all__ = ["pattern_of"]


def pattern_of(path: str) -> str:
    r"""Return the pattern that stands for one path and nothing else.

    >>> print(pattern_of("runs/[1] {a,b}"), pattern_of("out/step=3"))
    runs/\[1\] \{a,b\} out/step=3
    """
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
