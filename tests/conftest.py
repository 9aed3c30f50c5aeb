"""Settings for the whole suite: how many examples are drawn, where files go, and a Spark session for each worker."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.classes import java_options
from tests.drawing import PROFILE
from tests.left_to_check import is_left

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Drawing is reproducible in `make test`, so that a failure there can be repeated; `make check` looks further.
_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}
settings.register_profile("test", max_examples=20, derandomize=True, **_common)
settings.register_profile("check", max_examples=300, **_common)
settings.load_profile(PROFILE)

# Checkpoints are many small files that are forced to disk. In memory that takes no time; a container may have little.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    # Examples that are drawn have directories of their own, within one test.
    tempfile.tempdir = tempfile.tempdir or str(MEMORY)


def _leave_at_once() -> None:
    """End the process as it is.

    When an interpreter ends, DuckDB's binding counts the objects that caches still hold, and prints a page about them.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def pytest_configure(config: pytest.Config) -> None:
    """Register it early, as what is registered first is called last. Only in workers: their exit code says nothing."""
    if hasattr(config, "workerinput"):
        atexit.register(_leave_at_once)


# For every JVM that a test starts, also those of commands in processes of their own.
os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the long run what takes long, and has others of its kind beside it."""
    for item in items:
        if is_left(item.nodeid):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark session, one for each worker of pytest, started when the first test needs it."""
    from pyspark.sql import SparkSession

    from tests.spark.sessions import QUICK

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Workers run this Python, and see what this process sees.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("tidegate-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
    )
    if PROFILE == "test":
        # `make check` leaves these as users have them.
        for name, value in QUICK.items():
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
