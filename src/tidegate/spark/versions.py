"""The versions of PySpark that the engine runs on. It uses private parts of Spark, which may change."""

from __future__ import annotations

import re
from typing import Final

from tidegate.flow.errors import NotSupported

__all__ = ["TRIED", "check_version"]

#: The versions that were tested, oldest first. All tests ran on the last one. On the others, the tests of functions and
#: of runs on streams did. The range in `pyproject.toml` begins with the first version.
TRIED: Final = ("4.0.5", "4.1.4", "4.2.1", "4.3.0")


def check_version(found: str) -> None:
    """Raise if a version of PySpark is older than the oldest tested one, or has another major version.

    >>> check_version("4.3.0.dev1")
    >>> check_version("5.0.0")
    Traceback (most recent call last):
    ...
    tidegate.flow.errors.NotSupported: expected PySpark 4.0 or newer, below 5, got 5.0.0; tried with 4.0.5, 4.1.4, ...
      hint: install Tidegate where one of these versions is: pip install 'tidegate[spark]' brings one
    """
    oldest, version = _parts(TRIED[0]), _parts(found)
    if oldest <= version < (oldest[0] + 1, 0):
        return
    raise NotSupported(
        f"expected PySpark {oldest[0]}.{oldest[1]} or newer, below {oldest[0] + 1}, got {found}; "
        f"tried with {', '.join(TRIED)}",
        hint="install Tidegate where one of these versions is: pip install 'tidegate[spark]' brings one",
    )


def _parts(version: str) -> tuple[int, int]:
    """Return the major and the minor version."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)
