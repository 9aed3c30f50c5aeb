"""The trace of a run: what it writes beside its commits for tools that show it. No run needs it to continue."""

from tidegate.engine.trace.description import FORMAT, described
from tidegate.engine.trace.writing import DIRECTORY, Trace

__all__ = ["DIRECTORY", "FORMAT", "Trace", "described"]
