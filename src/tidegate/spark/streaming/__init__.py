"""Flows on streams: steps that are committed whole or not at all."""

from tidegate.spark.streaming.delta import Delta, delta
from tidegate.spark.streaming.metrics import Reporter
from tidegate.spark.streaming.postgres import Postgres, postgres
from tidegate.spark.streaming.reading import read, read_stream
from tidegate.spark.streaming.run import Run, Status
from tidegate.spark.streaming.sinks import Foreach, Output, Parquet, console, foreach, memory, parquet
from tidegate.spark.streaming.start import start

__all__ = [
    "Delta",
    "Foreach",
    "Output",
    "Parquet",
    "Postgres",
    "Reporter",
    "Run",
    "Status",
    "console",
    "delta",
    "foreach",
    "memory",
    "parquet",
    "postgres",
    "read",
    "read_stream",
    "start",
]
