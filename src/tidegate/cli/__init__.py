"""The command line."""

from tidegate.cli.app import app

__all__ = ["app"]
