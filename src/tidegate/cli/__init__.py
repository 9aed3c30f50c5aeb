"""The command line."""

from tidegate.cli import verify
from tidegate.cli.app import app

__all__ = ["app", "verify"]
