"""Letters whose upper or lower case differs between Java and DuckDB."""

from __future__ import annotations

from typing import Final

__all__ = ["LOWER", "UPPER"]

#: Letters that become several in upper case, in Java as in Python; DuckDB has one for each. None has a higher number.
UPPER: Final = {c: c.upper() for c in map(chr, range(0xFB18)) if len(c.upper()) > 1}
LOWER: Final = {"İ": "i̇"}
