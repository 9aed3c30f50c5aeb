"""Flows on Spark's streams."""

from tidegate.spark.streaming.reading import read, read_stream
from tidegate.spark.streaming.start import start

__all__ = ["read", "read_stream", "start"]
