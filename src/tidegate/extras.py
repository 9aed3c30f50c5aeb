"""Extras: packages that only some users need, and the error that says which one is missing.

The base of Tidegate is what building a flow and its reference need. An extra adds the packages for something more.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tidegate.errors import TidegateError

__all__ = ["EXTRAS", "MissingExtra", "require"]

#: The modules that each extra brings, as `pyproject.toml` declares them.
EXTRAS: Final = {
    "spark": ("pyspark",),
    "check": ("hypothesis",),
    "prove": ("z3",),
    "cli": ("rich", "typer"),
    "postgres": ("psycopg",),
    "delta": ("deltalake",),
}


class MissingExtra(TidegateError, ImportError):
    """Something needs a package of an extra that is not installed. The message is one line, with the command."""


def require(extra: str, purpose: str) -> None:
    """Raise `MissingExtra` unless the packages of an extra can be imported; ``purpose`` is what needs them.

    >>> require("check", "tidegate check")
    """
    for module in EXTRAS[extra]:
        try:
            import_module(module)
        except ImportError as error:
            absent = isinstance(error, ModuleNotFoundError) and error.name == module
            wrong = "is not installed" if absent else f"cannot be imported ({error})"
            raise MissingExtra(
                f"{purpose} needs the extra {extra!r}, and {module} {wrong}: pip install 'tidegate[{extra}]'"
            ) from None
