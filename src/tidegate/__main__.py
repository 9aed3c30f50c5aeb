"""The program ``tidegate``, also as ``python -m tidegate``: the command line, or one line about the extra it needs."""

from __future__ import annotations

import sys

from tidegate.extras import MissingExtra, require

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        require("cli", "the command tidegate")
        from tidegate.cli import app

        app()
    except MissingExtra as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
