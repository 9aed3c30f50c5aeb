"""Runs of flows on Spark: streaming queries whose batches are steps."""

from tidegate.spark.streaming.reading import read, read_stream
from tidegate.spark.streaming.start import start

__all__ = ["read", "read_stream", "start"]
