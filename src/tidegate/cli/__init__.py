"""The command line."""

from tidegate.cli import bench, check, demo, explain, inspect, run, verify
from tidegate.cli.app import app

__all__ = ["app", "bench", "check", "demo", "explain", "inspect", "run", "verify"]
