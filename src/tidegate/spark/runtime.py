"""A Spark session, with the functions of its DataFrame API and its exceptions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tidegate.flow.errors import BadArgument, NotSupported
from tidegate.spark.engine_functions import spark_text
from tidegate.spark.versions import check_version

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

__all__ = ["Runtime", "spark_runtime"]

T = TypeVar("T")

#: At this many values, the cache of a runtime is emptied. Expressions with frontiers are new in each step.
_REMEMBERED = 4096

#: The loggers with which PySpark prints an error of a query, as JSON with its stack, before it is raised.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
#: Whether errors of this thread are reported by us. Those of other threads are printed as usual.
_QUIET = ContextVar("quiet", default=False)


def _wanted(record: logging.LogRecord) -> bool:  # noqa: ARG001  # what `logging` calls a filter with
    return not _QUIET.get()


@dataclass(frozen=True, slots=True)
class Runtime:
    """A session and the parts of the DataFrame API that belong to it."""

    session: SparkSession
    #: The functions module, ``pyspark.sql.functions``.
    F: Any
    #: The exceptions for a plan that Spark refuses.
    refusals: tuple[type[Exception], ...]
    #: The cache of `once`. To look a value up is faster than to call the JVM.
    made: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value for a key; ``make`` is called the first time only."""
        if key not in self.made:
            if len(self.made) >= _REMEMBERED:
                self.made.clear()
            self.made[key] = make()
        found: T = self.made[key]
        return found

    def expr(self, sql: str, name: str | None = None) -> Column:
        """Return the column of an SQL expression, with an alias if one is given."""
        if name is None:
            found: Column = self.once(sql, lambda: self.F.expr(spark_text(sql)))
        else:
            found = self.once((sql, name), lambda: self.F.expr(spark_text(sql)).alias(name))
        return found

    def exprs(self, named: Mapping[str, str]) -> list[Column]:
        """Return the columns of SQL expressions, by name."""
        return [self.expr(sql, name) for name, sql in named.items()]

    @contextmanager
    def settings(self, **values: str) -> Iterator[None]:
        """Set options of the session until the context ends; two underscores in a name stand for a dot."""
        names = {name.replace("__", "."): value for name, value in values.items()}
        before = {name: self.session.conf.get(name, None) for name in names}
        try:
            for name, value in names.items():
                self.session.conf.set(name, value)
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    self.session.conf.unset(name)
                else:
                    self.session.conf.set(name, old)

    def in_steps(self, **values: str) -> AbstractContextManager[None]:
        """Set options that suit many small jobs: as many partitions as cores, and no adaptive plans."""
        partitions = str(self.session.conf.get("spark.sql.shuffle.partitions"))
        if partitions == "200":
            partitions = str(self.session.sparkContext.defaultParallelism)
        return self.settings(
            spark__sql__adaptive__enabled="false", spark__sql__shuffle__partitions=partitions, **values
        )

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Stop PySpark from logging errors of this thread that we report ourselves."""
        from pyspark.logger import PySparkLogger

        for name in _LOGGERS:
            # `logging.getLogger` would make a logger of another class, which PySpark can't use.
            PySparkLogger.getLogger(name).addFilter(_wanted)
        token = _QUIET.set(True)
        try:
            yield
        finally:
            _QUIET.reset(token)


def spark_runtime(session: Any) -> Runtime:
    """Return the runtime of a classic Spark session; raise for anything else."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise NotSupported(
            "expected a classic Spark session, got one of Spark Connect",
            hint="build it with SparkSession.builder.master(…) and without .remote(…); "
            "a running flow needs the driver's own JVM",
        )
    import pyspark
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import SparkSession, functions

    check_version(pyspark.__version__)
    if not isinstance(session, SparkSession):
        raise BadArgument(
            f"expected a Spark session, got {session!r} ({type(session).__name__})",
            hint="SparkSession.builder.getOrCreate()",
        )
    return Runtime(session, functions, (AnalysisException, ParseException))
