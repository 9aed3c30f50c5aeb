"""Metrics: a line for each step, and what Spark's own listeners see."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryListener
from tests.spark.place import DDL, Place, counts

import tidegate as tg
from tidegate.flow.errors import BadArgument

pytestmark = pytest.mark.spark


class Listener(StreamingQueryListener):
    """What Spark tells about a query."""

    def __init__(self) -> None:
        self.observed: list[Any] = []

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        self.observed += [metrics.asDict() for metrics in event.progress.observedMetrics.values()]

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


def test_each_step_is_a_line_and_listeners_see_its_rows(place: Place) -> None:
    """Lines count what was late, rejected and given out, exactly; listeners see what was read, once or more often."""
    place.feed.add((1, "a", 1), (5, "a", 2))
    place.feed.add((2, "a", 9), (3, "b", 4), (None, "b", 3), (7, "b", 5))
    path, listener = place.path / "metrics.jsonl", Listener()
    place.spark.streams.addListener(listener)
    try:
        run = place.run(counts(), metrics=str(path))
        place.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        place.spark.streams.removeListener(listener)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == run.metrics()
    kinds = ("step", "rows", "late", "rejected", "outputs", "frontiers", "behind")
    assert [[line[kind] for kind in kinds] for line in lines] == [
        [0, {"s": 2}, {"s": 0}, {"s": 0}, {"out": 1}, {"s": "3"}, {"s": None}],
        [1, {"s": 4}, {"s": 1}, {"s": 1}, {"out": 1}, {"s": "5"}, {"s": None}],
    ]
    # Late rows are set aside in a pass of their own, and Spark counts what it reads in each pass.
    first, second = listener.observed
    assert first == {"s_rows": 2, "s_untimed": 0}
    passes = second["s_untimed"]
    assert passes in (1, 2)
    assert second["s_rows"] == 4 * passes


def test_a_function_may_take_the_metrics_and_its_mistakes_do_not_undo_a_step(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """The step is committed when it is called; what it raises is logged. Instants tell how far behind they are."""
    flow = tg.Flow("days")
    flow.sink("out", flow.source("s", DDL, time="t").select("k"))
    days = flow.source("d", "day DATE", time="day", watermark=tg.bounded("1 day"))
    flow.sink("days", days)
    given: list[Any] = []

    def note_metrics(metrics: Any) -> None:
        given.append(metrics)
        raise OSError("the disk is full")

    place.feed.add((1, "a", 1))
    instants = place.path / "given"
    place.spark.sql("SELECT DATE '2026-01-02' AS day").write.parquet(str(instants))
    stream = place.spark.readStream.schema("day DATE").parquet(str(instants))
    with caplog.at_level(logging.WARNING, "tidegate"):
        run = place.run(flow, inputs={"d": stream}, metrics=note_metrics)
    assert run.status().state == "ended"
    assert [metrics["step"] for metrics in given] == [0, 1]
    assert given[0]["frontiers"]["d"] == "2026-01-01"
    assert given[0]["behind"]["d"] > 86_400
    assert given[0]["behind"]["s"] is None
    assert "the metrics of step 0 got lost" in caplog.text
    with pytest.raises(BadArgument, match="a path or a function for metrics"):
        place.start(counts(), metrics=5)


def test_the_console_shows_each_step(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of a step and its rows are printed, not more rows than wanted."""
    place.feed.add((1, "a", 1), (2, "b", 1), (9, "a", 1))
    place.feed.add((12, "c", 1))
    place.run(counts(), outputs={"out": tg.console(rows=1)})
    shown = capsys.readouterr().out
    assert shown.count("step ") == 2
    assert "|1  |a  |1  |" in shown
    assert "|2  |b" not in shown
    assert "only showing top 1 row" in shown
