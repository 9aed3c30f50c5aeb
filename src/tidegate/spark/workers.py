"""Checks the Python of Spark's workers, the processes that run users' functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from tidegate.flow.errors import FlowError
from tidegate.flow.plan import MapBatches, Plan, Process, WindowApply
from tidegate.spark.arrow import map_in_arrow
from tidegate.spark.error_messages import describe_error
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BadWorkers", "check_workers", "runs_python"]

#: The settings for the Python of workers, the one with priority first.
_SETTINGS = ("spark.sql.execution.pyspark.python", "spark.pyspark.python")
#: The pairs of an application and a Python that were checked.
_TRIED: set[tuple[str, str]] = set()


class BadWorkers(FlowError, RuntimeError):
    """Spark's workers can't run the Python functions of a flow: they have another Python, or no Tidegate."""


def runs_python(flow: Plan) -> bool:
    """Whether a flow runs Python functions."""
    return any(isinstance(operator, MapBatches | WindowApply | Process) for operator in flow)


def check_workers(runtime: Runtime) -> None:
    """Raise if a worker has another version of Python or of Tidegate. If Spark is local, make it use this Python.

    By default, Spark runs ``python3``, which is rarely that of a virtual environment. The check runs a job of one row,
    once in each application.
    """
    context = runtime.session.sparkContext
    given = "PYSPARK_PYTHON" in os.environ or any(runtime.session.conf.get(name, None) for name in _SETTINGS)
    if _local(runtime) and not given:
        context.pythonExec = sys.executable
    tried = (context.applicationId, context.pythonExec)
    if tried not in _TRIED:
        _compare(runtime, context.pythonExec)
        _TRIED.add(tried)


def _local(runtime: Runtime) -> bool:
    return str(runtime.session.sparkContext.master).startswith("local")


def _compare(runtime: Runtime, executable: str) -> None:
    version = import_module("tidegate").__version__
    hint = f"set PYSPARK_PYTHON to a Python with Tidegate {version}, before the session starts"
    hint += f": here it is {sys.executable}" if _local(runtime) else ""
    try:
        with runtime.quiet():
            found = _worker_versions(runtime)
    except Exception as error:
        what = f"expected workers that run Python functions, got from {executable}\n  {describe_error(error).text}"
        raise BadWorkers(what, hint=hint) from error
    python = ".".join(map(str, sys.version_info[:2]))
    if found != (python, version):
        raise BadWorkers(
            f"expected Python {python} and Tidegate {version} on the workers, "
            f"got Python {found[0]} and {found[1]} from {executable}",
            hint=hint,
        )


def _worker_versions(runtime: Runtime) -> tuple[str, str]:
    """Return the versions of Python and of Tidegate that a worker has."""
    from pyspark.sql.types import StringType, StructField, StructType

    # A nested function is pickled by value, so the worker need not have this module.
    def versions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys
        from importlib import import_module

        import pyarrow as pa

        try:
            found = import_module("tidegate").__version__
        except ImportError as error:
            found = f"no Tidegate ({error})"
        for _ in batches:
            python = ".".join(map(str, sys.version_info[:2]))
            yield pa.RecordBatch.from_arrays([pa.array([python]), pa.array([found])], names=["python", "tidegate"])

    schema = StructType([StructField("python", StringType()), StructField("tidegate", StringType())])
    row = map_in_arrow(runtime.session.range(0, 1, 1, 1), versions, schema).collect()[0]
    return row["python"], row["tidegate"]
