"""The command line."""

from tidegate.cli import explain, verify
from tidegate.cli.app import app

__all__ = ["app", "explain", "verify"]
