"""Outputs: directories when a flow changes or they are gone, places of the user's own, and what is shown."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.place import DDL, Place

import tidegate as tg
from tidegate.engine.outputs import Sender
from tidegate.engine.outputs.refusals import Refusal
from tidegate.engine.storage.errors import BadCheckpoint, FlowChanged, RowRefused
from tidegate.flow.errors import BadArgument
from tidegate.spark.streaming.host import SparkResults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def flow(*columns: str) -> tg.Flow:
    """A flow whose sink has other columns, after the last operator with state."""
    found = tg.Flow("columns")
    rows = found.source("s", DDL, time="t", watermark=tg.bounded(0))
    found.sink("out", rows.aggregate(by="k", n="count(*)").select("k", *columns))
    return found


def out(place: Place) -> Any:
    return tg.read(place.spark, str(place.path / "out")).orderBy("t")


@pytest.mark.slow
def test_columns_that_come_and_go_are_null_where_they_were_not(place: Place) -> None:
    """Those of now come first; a stream of the output has them too; and the files are as they were written."""
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.run(flow("n"))
    place.feed.add((3, "a", 1))
    place.run(flow("n * 2 AS twice", "n"))
    assert out(place).columns == ["t", "k", "twice", "n"]
    assert [tuple(row) for row in out(place).collect()] == [(1, "a", None, 1), (2, "a", 2, 1)]
    place.feed.add((4, "a", 1))
    place.run(flow("n * 2 AS twice"))
    assert out(place).columns == ["t", "k", "twice", "n"]
    found = [(1, "a", None, 1), (2, "a", 2, 1), (3, "a", 2, None)]
    assert [tuple(row) for row in out(place).collect()] == found
    stream = tg.read_stream(place.spark, str(place.path / "out"))
    query = stream.writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
    query.awaitTermination(60)
    assert sorted(tuple(row)[:4] for row in place.spark.table("seen").collect()) == found
    place.spark.catalog.dropTempView("seen")


@pytest.mark.slow
def test_a_flow_that_follows_gets_columns_that_were_added(place: Place) -> None:
    """From the step that has them on; before it they are NULL, and no promise waits for ever."""

    def follow() -> list[tuple[Any, ...]]:
        path = str(place.path / "out")
        other = tg.Flow("other")
        columns = "t INT, k STRING, n BIGINT, twice BIGINT"
        rows = other.source("rows", columns, time="t", watermark=tg.published(path))
        other.sink("sums", rows.accumulate(by="k", n="sum(n)", twice="sum(twice)"))
        stream = tg.read_stream(place.spark, path)
        outputs = {"sums": tg.parquet(str(place.path / "sums"))}
        run = other.start(
            place.spark, {"rows": stream}, outputs, str(place.path / "other"), trigger={"availableNow": True}
        )
        run.await_termination(120)
        return sorted(tuple(row) for row in tg.read(place.spark, str(place.path / "sums")).collect())

    place.feed.add((1, "a", 1), (2, "a", 1))
    place.run(flow("n"))
    place.feed.add((3, "a", 1))
    run = place.start(flow("n", "n * 2 AS twice"), trigger={"processingTime": "0 seconds"})
    run.finish()
    assert follow() == [(1, "a", 1, None), (2, "a", 2, 2), (3, "a", 3, 4)]


def test_a_column_of_another_type_is_refused_at_the_start(place: Place) -> None:
    """With the column and both types, before anything is read; and the same for other time columns."""
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.run(flow("n"))
    owner = (place.path / "out" / "_tidegate.json").read_text()
    place.feed.add((3, "a", 1))
    with pytest.raises(FlowChanged, match=r"column n was BIGINT, and now is STRING") as refused:
        place.start(flow("CAST(n AS STRING) AS n"))
    assert "another name" in str(refused.value)
    with pytest.raises(FlowChanged, match="column n was BIGINT, and now is INT"):
        place.start(flow("CAST(n AS INT) AS n"))
    with pytest.raises(FlowChanged, match="column N was BIGINT, and now is INT"):
        place.start(flow("CAST(n AS INT) AS N"))
    assert (place.path / "out" / "_tidegate.json").read_text() == owner
    place.run(flow("n"))
    assert [tuple(row) for row in out(place).collect()] == [(1, "a", 1), (2, "a", 1)]


class Ledger:
    """A place of the user's own: it writes down what it is given, and takes no count above one."""

    def __init__(self) -> None:
        self.claims: list[tuple[Any, list[str]]] = []
        self.rows: list[tuple[Any, ...]] = []

    def claim(self, sender: Any, schema: Any) -> None:
        self.claims.append((sender, schema.names))

    def refuses(self, schema: Any) -> list[Refusal]:
        return [Refusal(schema.names[-1], "n > 1", "counts above one", "least(n, 1)")]

    def deliver(self, sender: Any, rows: Any, step: int) -> None:
        assert [sender] == [claimed for claimed, _ in self.claims[-1:]]
        self.rows += [(step, *row) for row in rows.collect()]


def test_an_output_of_ones_own_is_given_each_step_once(place: Place) -> None:
    """It is claimed at each start by the same sender; rows that it refuses fail their step before the commit."""
    ledger = Ledger()
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.run(flow("n"), outputs={"out": ledger})
    assert ledger.rows == [(0, 1, "a", 1)]
    place.feed.add((2, "a", 1), (3, "a", 1))
    with pytest.raises(RowRefused, match="values of n that the output can take, got 1 rows with counts above one"):
        place.run(flow("n"), outputs={"out": ledger})
    assert ledger.rows == [(0, 1, "a", 1)]
    ((sender, columns), again) = ledger.claims
    assert again == (sender, columns)
    assert (sender.flow, sender.sink, sender.time, columns) == ("columns", "out", ("t",), ["t", "k", "n"])
    place.run(flow("least(n, 1) AS n"), outputs={"out": ledger})
    assert ledger.rows == [(0, 1, "a", 1), (1, 2, "a", 1)]


def test_an_output_that_is_deleted_under_a_run_fails_it(place: Place) -> None:
    """The run and the next start say which directory is gone; in another one, the sink goes on from there."""
    place.feed.add((1, "a", 1), (2, "a", 1))
    run = place.start(flow("n"), trigger={"processingTime": "0 seconds"})
    run.query.processAllAvailable()
    shutil.rmtree(place.path / "out")
    place.feed.add((3, "a", 1))
    with pytest.raises(BadCheckpoint, match=r"/out was the output of this run, and _tidegate.json is not there"):
        run.await_termination(60)
    assert run.status().state == "failed"
    with pytest.raises(BadCheckpoint, match=r"/out was the output of this run"):
        place.start(flow("n"))
    place.run(flow("n"), outputs={"out": tg.parquet(str(place.path / "elsewhere"))})
    found = tg.read(place.spark, str(place.path / "elsewhere")).collect()
    assert [tuple(row) for row in found] == [(2, "a", 1)]


def test_an_owner_that_was_changed_is_refused(place: Place) -> None:
    """A column with another name would be NULL in silence; one that earlier versions wrote has no checksum."""
    place.feed.add((1, "a", 1), (2, "a", 1))
    place.run(flow("n"))
    owner: Path = place.path / "out" / "_tidegate.json"
    whole = owner.read_text()
    owner.write_text(whole.replace('\\"n\\"', '\\"m\\"'))
    with pytest.raises(BadCheckpoint, match=r"_tidegate.json, .* got something that can't be read: its checksum"):
        out(place)
    with pytest.raises(BadCheckpoint, match=r"_tidegate.json"):
        place.start(flow("n"))
    found = json.loads(whole)
    del found["crc"]
    owner.write_text(json.dumps(found))
    assert out(place).count() == 1


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: tg.console(rows="20"), r"expected a number of rows in console(…), got '20'"),
        (lambda: tg.console(rows=True), r"expected a number of rows in console(…), got True"),
        (lambda: tg.memory("a b"), r"expected the name of a view in memory(…), got 'a b'"),
        (lambda: tg.memory("12"), r"expected the name of a view in memory(…), got '12'"),
        (lambda: tg.memory("ü"), r"expected the name of a view in memory(…), got 'ü'"),
        (lambda: tg.memory(3), r"expected the name of a view in memory(…), got 3"),
    ],
)
def test_what_cannot_be_shown_is_refused_when_it_is_written(build: Callable[[], Any], says: str) -> None:
    """And not after the first step is committed, whose rows could then never be handed over."""
    with pytest.raises(BadArgument, match=re.escape(says)):
        build()


SENDER = Sender("checkpoint", "flow", "out", ("t",))


@pytest.mark.parametrize("name", ["rows_1", "_x", "1a", "`a b`", "select"])
def test_names_of_views_are_those_that_spark_takes(spark: SparkSession, name: str) -> None:
    """With backquotes too."""
    tg.memory(name).deliver(SENDER, SparkResults(spark.range(2)), 0)
    assert spark.sql(f"SELECT * FROM {name}").count() == 2
