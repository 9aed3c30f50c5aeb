"""The engine on Apache Spark. A plan becomes DataFrames."""

from tidegate.engine.tables import Rejected, Tables
from tidegate.spark.compute import compute

__all__ = ["Rejected", "Tables", "compute"]
