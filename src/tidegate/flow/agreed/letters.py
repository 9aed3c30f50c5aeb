"""Letters whose capital or small forms are others in Java than in DuckDB."""

from __future__ import annotations

from typing import Final

__all__ = ["LOWER", "UPPER"]

#: DuckDB has one capital letter for each; Java, as Python, has several for a few, all of them before this place.
UPPER: Final = {c: c.upper() for c in map(chr, range(0xFB18)) if len(c.upper()) > 1}
LOWER: Final = {"İ": "i̇"}
