"""What several tests of running flows need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Iterator[Place]:
    """A place to run a flow in; queries that a test leaves behind are stopped."""
    yield Place(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()
