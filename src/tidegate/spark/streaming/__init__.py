"""Flows on streams: steps that are committed whole or not at all."""

from tidegate.spark.streaming.metrics import Reporter
from tidegate.spark.streaming.reading import read, read_stream
from tidegate.spark.streaming.run import Run, Status
from tidegate.spark.streaming.start import start

__all__ = ["Reporter", "Run", "Status", "read", "read_stream", "start"]
