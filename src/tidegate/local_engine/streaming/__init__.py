"""Flows on streams in this process. A step takes milliseconds, and is committed as a whole or not at all."""

from tidegate.local_engine.streaming.start import start

__all__ = ["start"]
