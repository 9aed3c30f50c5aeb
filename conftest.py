"""What examples in docstrings may use without saying so; and the plugin of pytest that the package brings along."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest

from tidegate.flow import Flow

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


@pytest.fixture(autouse=True)
def edits_for_examples(doctest_namespace: dict[str, Any]) -> None:
    """Give examples a stream, each one of its own."""
    doctest_namespace["edits"] = Flow("edits").source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts")
