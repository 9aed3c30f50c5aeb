"""Results in Delta tables, with the library that writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.deaths import Killer, run_dying
from tests.spark.place import Place, counts

import tidegate as tg
from tidegate.flow.errors import BadArgument
from tidegate.spark.streaming.errors import BadCheckpoint, SinkFailed
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.sinks import Sender
from tidegate.spark.streaming.start import prepare

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: pip install deltalake")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist())


def test_rows_are_added_once_if_a_run_dies_when_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    """The step that was written is known by its number, and is not written again; each step is one version."""
    path = tmp_path / "out"
    cuts = [[(1, "a", 1), (2, "b", 1)], [(2, "a", 1), (3, "b", 1)], [(3, "b", 1), (4, "c", 1)]]
    output = tg.delta(str(path))
    run_dying(spark, counts(delay=0).plan, output, tmp_path, cuts, Killer("handed over", 1))
    assert rows_of(path) == [(1, "a", 1), (2, "a", 1), (2, "b", 1), (3, "b", 2)]
    history = deltalake.DeltaTable(str(path)).history()
    assert [entry.get("step") for entry in reversed(history)] == [None, "0", "1", "2"]


def test_values_of_every_type_arrive(spark: SparkSession, tmp_path: Path) -> None:
    """Nested values too, and instants as the instants that they are."""
    rows = spark.sql(
        "SELECT 1 AS t, CAST('1.50' AS DECIMAL(10, 2)) AS price, TIMESTAMP '2026-01-01 00:00:00+02:00' AS at, "
        "struct(array('a', NULL) AS texts, map('k', 1L) AS counts) AS nested, CAST(NULL AS BINARY) AS bytes"
    )
    sender, output = Sender("checkpoint", "flow", "out", ("t",)), tg.delta(str(tmp_path / "out"))
    output.claim(sender, rows.schema)
    output.deliver(sender, rows, 0)
    nested = {"texts": ["a", None], "counts": [("k", 1)]}
    at = datetime(2025, 12, 31, 22, tzinfo=UTC)
    assert rows_of(tmp_path / "out") == [(1, Decimal("1.50"), at, nested, None)]
    assert deltalake.DeltaTable(str(tmp_path / "out")).schema().to_json() == _json(rows)
    with pytest.raises(BadCheckpoint, match="with columns t, x, got"):
        output.claim(sender, spark.sql("SELECT 1 AS t, 2 AS x").schema)


def _json(rows: Any) -> str:
    """The schema in Delta's words, with every value nullable."""
    from tidegate.spark.streaming.delta import _nullable

    return deltalake.Schema.from_json(_nullable(rows.schema)).to_json()


def test_a_table_has_one_writer_and_secrets_stay_secret(place: Place) -> None:
    """A table of another checkpoint is refused; a store that can't be reached is told without its key."""
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts(), outputs={"out": tg.delta(str(place.path / "table"))})
    assert rows_of(place.path / "table") == [(1, "a", 1)]
    other = Files(place.spark, str(place.path / "other"))
    with pytest.raises(BadCheckpoint, match="belongs to another: written by tidegate: sink out of flow counts"):
        prepare(counts().plan, place.spark, {}, {"out": tg.delta(str(place.path / "table"))}, other)
    secrets = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "xyzzy-key")
    secrets |= {"aws_endpoint": "http://127.0.0.1:1/xyzzy-key", "aws_allow_http": "true", "aws_region": "nowhere"}
    output = tg.delta("s3://nowhere/table", storage_options=secrets | {"max_retries": "0"})
    with pytest.raises(SinkFailed) as failed:
        output.claim(Sender("checkpoint", "flow", "out", ("t",)), place.spark.sql("SELECT 1 AS t").schema)
    assert "xyzzy-key" not in f"{failed.value} {output!r}"


def test_a_path_that_is_none_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(BadArgument, match="expected a path"):
        tg.delta("")
