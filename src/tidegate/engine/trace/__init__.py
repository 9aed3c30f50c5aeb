"""The trace of a run: what it leaves beside its commits for those who look on. No run goes on from it, or needs it."""

from tidegate.engine.trace.description import FORMAT, described
from tidegate.engine.trace.writing import DIRECTORY, Trace

__all__ = ["DIRECTORY", "FORMAT", "Trace", "described"]
