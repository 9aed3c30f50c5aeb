"""What examples in docstrings may use without saying so."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.flow import Flow


@pytest.fixture(autouse=True)
def edits_for_examples(doctest_namespace: dict[str, Any]) -> None:
    """Give examples a stream, each one of its own."""
    doctest_namespace["edits"] = Flow("edits").source("edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts")
