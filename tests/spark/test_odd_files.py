"""Small files that are empty, cut or something else: each is refused by name, with what was expected and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

import pytest
from tests.spark.place import DDL, Place, counts
from typer.testing import CliRunner

import tidegate as tg
from tidegate.cli import app
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointInUse, UnfitFileSystem
from tidegate.engine.storage.files import Files
from tidegate.spark.streaming.spark_records import _records_read_at_start, _records_referred_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place with a run of two steps behind it, and rows for a third."""
    place = Place(spark, tmp_path_factory.mktemp("whole"))
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.feed.add((6, "a", 1), (9, "a", 1))
    place.run(counts())
    place.feed.add((12, "a", 1))
    return place


@pytest.fixture
def place(whole: Place, tmp_path: Path) -> Iterator[Place]:
    """The same for each test: what is damaged is put back."""
    for name in ("checkpoint", "out"):
        copytree(whole.path / name, tmp_path / name)
    yield whole
    for name in ("checkpoint", "out"):
        rmtree(whole.path / name)
        copytree(tmp_path / name, whole.path / name)


def empty(path: Path) -> None:
    path.write_text("")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def other(path: Path) -> None:
    path.write_text("[1, 2]\n")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def odd_id(path: Path) -> None:
    path.write_text(path.read_text().replace("-", "=", 1))


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("checkpoint/id", empty),
        ("checkpoint/id", other),
        ("checkpoint/id", directory),
        ("checkpoint/commits/1", empty),
        ("checkpoint/commits/1", cut),
        ("checkpoint/commits/1", directory),
        ("out/_tidegate.json", empty),
        ("out/_tidegate.json", other),
        ("out/_tidegate.json", cut),
        ("checkpoint/spark/metadata", empty),
        ("checkpoint/spark/metadata", cut),
        ("checkpoint/spark/metadata", directory),
        ("checkpoint/spark/metadata", odd_id),
        ("checkpoint/spark/offsets/1", empty),
        ("checkpoint/spark/offsets/1", other),
        ("checkpoint/spark/offsets/1", flip),
        ("checkpoint/spark/offsets/1", directory),
        ("checkpoint/spark/commits/1", empty),
        ("checkpoint/spark/commits/1", flip),
        ("checkpoint/spark/sources/0/1", empty),
        ("checkpoint/spark/sources/0/1", flip),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_named(place: Place, name: str, damage: Callable[[Path], None]) -> None:
    """Before the query starts: the file, what was expected there, what came, and a hint."""
    damage(place.path / name)
    with pytest.raises(BadCheckpoint, match=f"(?s)expected .*{name}.* got .*hint: .*restore"):
        place.start(counts())


@pytest.mark.parametrize(
    ("name", "planned"),
    [("commits/1", 1), ("commits/1", 2), ("offsets/2", 2), ("sources/0/2", 2), ("sources/0/2.compact", 2)],
)
def test_a_record_that_a_power_cut_has_torn_and_nobody_needs_may_be_deleted(
    place: Place, name: str, planned: int
) -> None:
    """Our commits say the same, or nothing was made of it yet. Who does as the hint says has all rows, each once."""
    spark = place.path / "checkpoint" / "spark"
    if planned == 2:
        # The next batch was begun: its position is written, and not that it is done.
        for before, after, changes in [
            ("sources/0/1", "sources/0/2", (("0001.", "0002."), ('Id":1', 'Id":2'))),
            ("offsets/1", "offsets/2", (('Offset":1', 'Offset":2'),)),
        ]:
            text = reduce(lambda found, change: found.replace(*change), changes, (spark / before).read_text())
            (spark / after).write_text(text)
    if name.endswith("compact"):
        (spark / "sources" / "0" / "2").unlink()
    (spark / name).write_text("")
    with pytest.raises(BadCheckpoint, match=rf"spark/{name}: .* got an empty file") as caught:
        place.start(counts())
    said = re.search("a power cut .* not needed: delete (.*); or restore", caught.value.hint)
    assert said, caught.value.hint
    for path in said[1].split(", "):
        Path(path.removeprefix("file:")).unlink()
    place.run(counts())
    assert place.rows() == [(1, "a", 1), (5, "a", 1), (6, "a", 1), (9, "a", 1)]


@pytest.mark.parametrize("name", ["offsets/1", "sources/0/1"])
def test_a_record_of_what_is_committed_has_to_be_restored(place: Place, name: str) -> None:
    """Nothing else says which rows were read."""
    (place.path / "checkpoint" / "spark" / name).write_text("")
    with pytest.raises(BadCheckpoint, match=f"(?s)spark/{name}.* got .*hint: restore"):
        place.start(counts())


def test_a_checkpoint_whose_id_is_gone_is_given_no_other(place: Place) -> None:
    """Its outputs would take it for another one, and a database would take its last step for a new one."""
    path = place.path / "checkpoint" / "id"
    path.unlink()
    for _ in range(2):
        with pytest.raises(BadCheckpoint, match=r"(?s)expected the id .*checkpoint/id.* got no file.*hint: restore"):
            place.start(counts())
    assert not path.exists()


@pytest.mark.parametrize("name", ["spark/offsets", "spark/sources/0/1"])
def test_a_record_of_spark_that_is_gone_is_named(place: Place, name: str) -> None:
    """What Spark has committed has positions, and a position that names a record of its source has that record."""
    path = place.path / "checkpoint" / name
    rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(BadCheckpoint, match=r"a record of Spark's is gone: .*/spark/.*/1"):
        place.start(counts())


def test_what_a_source_has_seen_is_looked_at_as_far_as_spark_reads_it(tmp_path: Path) -> None:
    """The last record of everything so far, and those after it; what came before does not matter any more."""
    for name in ("8", "9.compact", "10", "19.compact", "20", "21", "readme"):
        (tmp_path / "spark" / "sources" / "0").mkdir(parents=True, exist_ok=True)
        (tmp_path / "spark" / "sources" / "0" / name).touch()
    assert sorted(_records_read_at_start(Files(tmp_path))) == [
        f"spark/sources/0/{name}" for name in ("19.compact", "20", "21")
    ]


def test_only_a_source_of_files_has_records_of_its_own(tmp_path: Path) -> None:
    """A topic of Kafka may have any name, also the one that such a source uses for its position."""
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    lines = ["v1", "{}", '{"logOffset":7}', '{"logOffset":{"0":5}}', "-", '{"logOffset":-1}', "3"]
    (tmp_path / "spark" / "offsets" / "0").write_text("\n".join(lines))
    assert list(_records_referred_to(Files(tmp_path))) == ["spark/sources/0/7"]


def test_a_record_that_another_query_has_written_is_explained(spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes a position only if it is not there; that it is says that another run is at work."""
    place = Place(spark, tmp_path)
    place.feed.add((1, "a", 1), (5, "a", 1))
    place.run(counts())
    run = place.start(counts(), trigger={"processingTime": "1 second"})
    run.query.processAllAvailable()
    offsets = place.path / "checkpoint" / "spark" / "offsets"
    (offsets / "1").write_bytes((offsets / "0").read_bytes())
    place.feed.add((6, "a", 1))
    with pytest.raises(CheckpointInUse, match=r"another query has written to .*checkpoint/spark") as caught:
        run.await_termination(60)
    assert caught.value.__cause__ is not None


def test_names_that_are_no_numbers_are_overlooked(place: Place) -> None:
    """What others leave in the directories of records and locks, as an editor or a backup does."""
    for name in ("commits/1~", "commits/²", "locks/readme", "locks/1~"):
        (place.path / "checkpoint" / name).write_text("")
    place.run(counts())
    assert place.rows() == [(1, "a", 1), (5, "a", 1), (6, "a", 1), (9, "a", 1)]


@pytest.mark.parametrize("damage", [empty, cut, directory])
def test_a_published_frontier_that_can_not_be_read_is_named(place: Place, damage: Callable[[Path], None]) -> None:
    """Spark would take an empty one for read, and the flow that follows would wait for ever."""
    promises = place.path / "out" / "_frontier"
    last = max(promises.glob("*.json"), key=lambda path: int(path.stem))
    damage(last)
    flow = tg.Flow("following")
    rows = flow.source("counts", "t INT, k STRING, n BIGINT", time="t", watermark=tg.published(str(place.path / "out")))
    flow.sink("more", rows.where("n > 0"))
    inputs = {"counts": tg.read_stream(place.spark, str(place.path / "out"))}
    outputs = {"more": tg.parquet(str(place.path / "more"))}
    with pytest.raises(BadCheckpoint, match=f"(?s)expected a frontier .*_frontier/{last.name}.* got .*hint: "):
        flow.start(place.spark, inputs, outputs, str(place.path / "following"))


@pytest.mark.parametrize("damage", [empty, cut, other, directory])
def test_inspect_names_a_file_that_is_not_what_it_should_be(place: Place, damage: Callable[[Path], None]) -> None:
    """Without a traceback, and with exit code 1."""
    damage(place.path / "checkpoint" / "commits" / "1")
    result = CliRunner().invoke(app, ["inspect", str(place.path / "checkpoint")])
    assert result.exit_code == 1
    assert "checkpoint/commits/1" in result.output
    assert "expected a commit" in result.output
    assert "hint: " in result.output


def test_a_checkpoint_in_an_object_store_is_refused_at_the_start(place: Place) -> None:
    """By name, and so is an output; what is read may come from anywhere."""
    inputs = {"s": place.spark.readStream.schema(DDL).parquet(str(place.feed.path))}
    with pytest.raises(UnfitFileSystem, match=r"(?s)expected a checkpoint .*got s3a://bucket/ck on s3a.*flow 'counts'"):
        counts().start(place.spark, inputs, {"out": tg.parquet(str(place.path / "out"))}, "s3a://bucket/ck")
    with pytest.raises(UnfitFileSystem, match=r"the output of sink 'out' .*got gs://bucket/out on gs"):
        counts().start(place.spark, inputs, {"out": tg.parquet("gs://bucket/out")}, str(place.path / "another"))


def test_the_half_of_another_query_is_refused_before_it_runs(place: Place) -> None:
    """Whole records, and a valid id: it is not the one that our commits name."""
    path = place.path / "checkpoint" / "spark" / "metadata"
    path.write_text(json.dumps({"id": "8ad22053-c2ed-4f5a-ac2c-d9e7b8e9d5a1"}))
    (path.parent / ".metadata.crc").unlink(missing_ok=True)
    with pytest.raises(BadCheckpoint, match=r"(?s)commits of query .* is of 8ad22053.*hint: restore"):
        place.start(counts())
