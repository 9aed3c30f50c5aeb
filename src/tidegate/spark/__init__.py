"""The engine on Apache Spark: plans become DataFrames."""

from tidegate.spark.compute import compute
from tidegate.spark.tables import Rejected, Tables

__all__ = ["Rejected", "Tables", "compute"]
