"""The plugin of pytest that the package brings along, with the Spark session that all tests of a worker share."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# An environment that was set up before the plugin was declared does not know it.
_IS_KNOWN = any(found.name == "tidegate" for found in entry_points(group="pytest11"))
pytest_plugins = [] if _IS_KNOWN else ["tidegate.testing.plugin"]


@pytest.fixture(scope="session")
def tidegate_spark(request: pytest.FixtureRequest) -> SparkSession:
    """The session that all tests of a worker share."""
    found: SparkSession = request.getfixturevalue("spark")
    return found
