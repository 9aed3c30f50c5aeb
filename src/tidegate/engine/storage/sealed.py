"""Small JSON files with a checksum of their own content, by which a changed file is detected."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

__all__ = ["opened", "sealed", "sealed_line", "unsealed"]

_CHECKSUM = "crc"


def sealed(content: Mapping[str, Any]) -> str:
    """Return content as JSON, with a line for each key, and a checksum of all of them.

    >>> print(sealed({"step": 3, "rows": [1, 2]}))
    {
    "step": 3,
    "rows": [1, 2],
    "crc": 1257456693
    }
    """
    lines = {**content, _CHECKSUM: _checksum(content)}.items()
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in lines) + "\n}"


def sealed_line(content: Mapping[str, Any]) -> str:
    """Return content as `sealed` does, on one line, for files of which each line is read by itself."""
    return sealed(content).replace("\n", "") + "\n"


def unsealed(text: str, *, required: bool = True) -> dict[str, Any]:
    """Return the content of a sealed file; raise ValueError if its checksum is wrong.

    If it is not ``required``, content without a checksum is accepted: earlier versions wrote none.

    >>> unsealed(sealed({"step": 3}).replace(": 3,", ": 4,"))
    Traceback (most recent call last):
        ...
    ValueError: its checksum is 1819171284, expected 590335763: it was changed after it was written
    """
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object, got {type(found).__name__}")
    return opened(found, required=required)


def opened(found: Mapping[str, Any], *, required: bool = True) -> dict[str, Any]:
    """Return the sealed content from a parsed JSON object; raise ValueError if its checksum is wrong."""
    content = {key: value for key, value in found.items() if key != _CHECKSUM}
    if _CHECKSUM not in found:
        if required:
            raise ValueError("it has no checksum")
        return content
    seen, expected = _checksum(content), found[_CHECKSUM]
    if seen != expected:
        raise ValueError(f"its checksum is {seen}, expected {expected}: it was changed after it was written")
    return content


def _checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
