"""Tidegate: time-aware stream processing whose answers are final."""

from tidegate.errors import TidegateError

__all__ = ["TidegateError", "__version__"]

__version__ = "0.1.0"
