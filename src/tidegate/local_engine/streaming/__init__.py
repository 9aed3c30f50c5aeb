"""Flows on streams in this process: steps of milliseconds, committed whole or not at all."""

from tidegate.local_engine.streaming.start import start

__all__ = ["start"]
