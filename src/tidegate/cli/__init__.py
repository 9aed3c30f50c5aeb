"""The command line."""

from tidegate.cli import demo, explain, verify
from tidegate.cli.app import app

__all__ = ["app", "demo", "explain", "verify"]
