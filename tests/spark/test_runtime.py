"""What flows leave as it was: errors of Spark that are not theirs to tell."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ArithmeticException

import tidegate as tg
from tidegate.flow.errors import BadExpression
from tidegate.spark.runtime import Runtime, spark_runtime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOGGER = "SQLQueryContextLogger"
SCHEMA = "t INT, x INT"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which PySpark has not told an error yet: its logger is made when it is first needed."""
    monkeypatch.delitem(logging.Logger.manager.loggerDict, LOGGER, raising=False)


def divide(spark: SparkSession) -> None:
    spark.sql("SELECT 1 / id FROM range(1)").collect()


def refuse(spark: SparkSession) -> None:
    """Let Spark refuse a flow: it is asked quietly what is wrong."""
    flow = tg.Flow("refused")
    flow.sink("out", flow.source("s", SCHEMA, time="t").select("nosuch(x) AS y"))
    with pytest.raises(BadExpression):
        flow.compute(spark, {"s": spark.createDataFrame([], SCHEMA)})


def test_errors_of_own_queries_are_what_they_are(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a flow, a query of the user's fails with Spark's error, which PySpark logs; a plain logger breaks it."""
    refuse(spark)
    assert capsys.readouterr().err == ""
    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        divide(spark)
    assert '"errorClass": "DIVIDE_BY_ZERO"' in capsys.readouterr().err

    def plain(self: Runtime) -> AbstractContextManager[None]:
        logging.getLogger(LOGGER)
        return nullcontext()

    monkeypatch.delitem(logging.Logger.manager.loggerDict, LOGGER)
    monkeypatch.setattr(Runtime, "quiet", plain)
    with spark_runtime(spark).quiet(), pytest.raises(TypeError, match="unexpected keyword argument"):
        divide(spark)


def test_one_thread_is_quiet_and_another_is_not(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """While errors of one thread are told in our words, PySpark prints those of the others, and its own again after."""

    def failing() -> None:
        with pytest.raises(ArithmeticException):
            divide(spark)

    def printed(action: Callable[[], None]) -> int:
        action()
        return capsys.readouterr().err.count('"logger": "SQLQueryContextLogger"')

    def elsewhere() -> None:
        thread = Thread(target=failing)
        thread.start()
        thread.join()

    with spark_runtime(spark).quiet():
        assert (printed(failing), printed(elsewhere)) == (0, 1)
        with spark_runtime(spark).quiet():
            assert printed(failing) == 0
        assert printed(failing) == 0
    assert printed(failing) == 1
