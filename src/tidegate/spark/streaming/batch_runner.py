"""Runs the micro-batches of a query as steps. When the run is stopped, a running step ends or is cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition
from typing import TYPE_CHECKING

from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["BatchRunner"]

#: How many seconds a batch that will not be run waits for Spark to stop the query.
_LONGEST_WAIT = 60


class _Interrupted(Exception):
    """The error of a batch that was interrupted because its query is being stopped. Spark knows it by its text.

    Spark looks for this text with a regular expression, which overflows the JVM's stack on a long text such as that of
    an interrupted job, and then prints a thousand lines. This text is short.
    """

    def __init__(self) -> None:
        super().__init__("py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException")


class BatchRunner:
    """The function that Spark calls with each micro-batch, in a thread of its own; it runs the batch as a step.

    It keeps the error of a failed step, because Spark passes on only the text of it.
    """

    def __init__(self, step: Callable[[DataFrame, int], None], runtime: Runtime) -> None:
        self._step = step
        self._runtime = runtime
        self._changed = Condition()
        self._busy = False
        #: The query that is being stopped; no step begins after that.
        self._stopping: StreamingQuery | None = None
        self._cancelled = False
        #: Whether a step was interrupted because it was cancelled.
        self._broken_off = False
        self.failure: BaseException | None = None
        #: How many steps have ended.
        self.done = 0

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Run a batch as a step, unless the run is being stopped."""
        with self._changed:
            self._busy = self._stopping is None
        try:
            if self._busy:
                with self._runtime.quiet():
                    self._step(batch, number)
                self.done += 1
                return
        except BaseException as error:
            if not self._cancelled:
                self.failure = error
                raise
            self._broken_off = True
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
        self._wait_for_stop()

    def stop(self, query: StreamingQuery, timeout: float | None) -> bool:
        """Stop a query. Return whether the running step ended within ``timeout`` seconds; otherwise it is cancelled."""
        with self._changed:
            self._stopping = query
            self._cancelled = not self._changed.wait_for(lambda: not self._busy, timeout)
        query.stop()
        return not self._broken_off

    def _wait_for_stop(self) -> None:
        """Wait until Spark stops the query; then raise the error of an interrupted batch.

        If it were raised earlier, Spark would take it for a failure of the query.
        """
        for _ in range(_LONGEST_WAIT * 100):
            if self._stopping is None or not self._stopping.isActive:
                break
            time.sleep(0.01)
        raise _Interrupted from None
