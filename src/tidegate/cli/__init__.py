"""The command line."""

from tidegate.cli import check, demo, explain, inspect, run, ui, verify
from tidegate.cli.app import app

__all__ = ["app", "check", "demo", "explain", "inspect", "run", "ui", "verify"]
