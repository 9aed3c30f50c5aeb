"""A local Spark session, for the command line and the demos."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["local_session"]


def local_session(name: str, *, master: str = "local[*]", **options: str) -> SparkSession:
    """Return a new session that logs little, uses only this machine, and has as many partitions as cores.

    ``options`` are options of Spark, with two underscores for each dot. They override those that are set here.
    """
    from pyspark.sql import SparkSession

    # Python functions run in separate processes, which need this Python and this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([package, *(path for path in paths if path)]))
    builder = SparkSession.builder.master(master).appName(name)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        cores = os.cpu_count() or 2
        builder = builder.config("spark.sql.shuffle.partitions", str(cores)).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.log.level", "ERROR")
    for option, value in options.items():
        builder = builder.config(option.replace("__", "."), value)
    with _stderr_in_file() as log_text:
        try:
            return builder.getOrCreate()
        except Exception as error:
            error.add_note(log_text())
            raise


@contextmanager
def _stderr_in_file() -> Iterator[Callable[[], str]]:
    """Redirect standard error to a file while the JVM starts. Yield a function that returns the content of the file.

    The JVM prints half a page about native libraries and incubator modules before a log level can be set.
    """
    sys.stderr.flush()
    with tempfile.TemporaryFile("w+") as log:
        own = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield lambda: (log.seek(0), log.read())[1]
        finally:
            os.dup2(own, 2)
            os.close(own)
