"""The engines on which stories of several steps run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.orders.streams import LocalStreams, SparkStreams, Streams


@pytest.fixture
def streams(request: pytest.FixtureRequest, tmp_path: Path) -> Streams:
    """An engine by name; see `IN_FEW_STEPS` and `IN_MANY_STEPS`."""
    if request.param == "local":
        return LocalStreams(tmp_path)
    return SparkStreams(tmp_path, request.getfixturevalue("spark"))
