"""Flows on streams in this process, in steps of milliseconds. Each is committed whole or not at all."""

from tidegate.local_engine.streaming.start import start

__all__ = ["start"]
