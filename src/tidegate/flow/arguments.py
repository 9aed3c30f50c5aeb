"""Checks of arguments that several methods share."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tidegate.flow.errors import BadArgument, did_you_mean

__all__ = [
    "checked_directory",
    "checked_name",
    "checked_path",
    "checked_timezone",
    "checked_was",
    "names_of",
    "one_of",
    "time_columns",
]

#: Characters that Spark reads as a pattern, and Hadoop as the end of a scheme. Below a directory with such a name,
#: Spark reads streams of files twice, or does not find them.
_SPECIAL = "[]{}*?\\:\0"
_FILE_SYSTEM = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?(?=/)")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def checked_name(name: Any, what: str) -> str:
    """Return the name, or raise if it could not be part of a path or of a message."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadArgument(
            f"expected a name for {what}, got {name!r}",
            hint="a letter, then letters, digits, dots, dashes or underscores",
        )
    return name


def checked_path(path: Any, where: str, *, hint: str) -> str:
    """Return a path as text; raise if it is not a path.

    >>> from pathlib import PurePosixPath
    >>> checked_path(PurePosixPath("out") / "hourly", "parquet(…)", hint="")
    'out/hourly'
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text:
        raise BadArgument(f"expected a path in {where}, got {path!r}", hint=hint)
    return text


def checked_directory(path: Any, where: str, *, hint: str, by: str = "Spark", special: str = _SPECIAL) -> str:
    """Return the path of a directory that a flow writes to, as text; raise if an engine would not read it as it is.

    >>> checked_directory("hdfs://host:8020/runs/a b", "parquet(…)", hint="")
    'hdfs://host:8020/runs/a b'
    """
    text = checked_path(path, where, hint=hint)
    if os.path.isfile(text.removeprefix("file:")):
        raise BadArgument(f"expected a directory in {where}, got the file {text}", hint=hint)
    signs = [sign for sign in special if sign in _FILE_SYSTEM.sub("", text)]
    if signs:
        unusable = " ".join(sign for sign in special if sign.isprintable())
        raise BadArgument(
            f"expected a path in {where} that {by} reads as it is, got {text!r} with {' '.join(signs)!r}",
            hint=f"rename the directory: none of {unusable} in its path",
        )
    return text


def names_of(value: Any, what: str) -> tuple[Any, ...]:
    """Return the entries of an argument that may be one text or several."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping) or not hasattr(value, "__iter__"):
        raise BadArgument(
            f"expected {what} as one text or several, got {value!r} ({type(value).__name__})", hint=f'{what}=("a", "b")'
        )
    return tuple(value)


def one_of(value: Any, what: str, allowed: tuple[str, ...]) -> None:
    """Raise unless the value is one of those that are allowed."""
    if value not in allowed:
        raise BadArgument(
            f"expected {what} to be one of {', '.join(allowed)}, got {value!r}",
            hint=did_you_mean(value, allowed),
        )


def checked_timezone(timezone: Any) -> str:
    """Return the name of a time zone; raise if no zone has that name."""
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise BadArgument(
            f"expected a time zone by name, got {timezone!r}", hint='"UTC", "Europe/Copenhagen"'
        ) from None
    return str(timezone)


def time_columns(time: Any) -> tuple[str, ...]:
    """Return the names of time columns that were given as one name or as several."""
    names = (time,) if isinstance(time, str) else tuple(time) if isinstance(time, tuple | list) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise BadArgument(
            f"expected the name of the time column, or names of several, got {time!r}",
            hint='time="ts" or time=("valid", "version")',
        )
    return names


def checked_was(was: Any, name: str) -> None:
    """Raise unless the value can be an earlier name of something."""
    if was == name:
        raise BadArgument(f"expected was= to be another name than {name!r}", hint="leave it out: nothing was renamed")
    if was != "":
        checked_name(was, "what was renamed")
