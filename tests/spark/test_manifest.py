"""Files that a commit names: whether they are what they were is seen, and by which of the checks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.damages import DAMAGES, damaged, unreadable

from tidegate.engine.storage import manifest
from tidegate.engine.storage.dataclass_json import as_list, from_list
from tidegate.engine.storage.disk import sync
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.manifest import FileEntry, damage, list_files, located, measured
from tidegate.engine.storage.sealed import sealed, unsealed
from tidegate.spark.hadoop import DiskFiles, HadoopFiles, files_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(params=["here", "hadoop"])
def files(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Files:
    """A directory with a part of two files, on this machine and through Hadoop, as for any other scheme."""
    for i in range(2):
        (tmp_path / "files" / "part").mkdir(parents=True, exist_ok=True)
        write(tmp_path / "files" / "part" / f"part-{i}.parquet", i)
    found = files_at(spark, str(tmp_path / "files"))
    assert isinstance(found, DiskFiles)
    return HadoopFiles(found._hadoop, found._system, found.root) if request.param == "hadoop" else found


def write(path: Path, seed: int) -> None:
    # Files of the same size, whatever is in them.
    table = pa.table({"a": [1000 * seed + i for i in range(50)], "b": ["x" * 20] * 50})
    pq.write_table(table, path, compression="none", use_dictionary=False)


def unseen(files: Files, place: Path) -> set[str]:
    """The damages that are not seen."""
    written = json.dumps([as_list(entry) for entry in list_files(files, "part")])
    entries = [from_list(FileEntry, entry) for entry in json.loads(written)]
    assert damage(files, "part", entries, whole=True) == []
    found = {"swapped with another": swapped} | DAMAGES
    missed = set()
    for name, inflict in found.items():
        with damaged(place / "part" / "part-0.parquet", inflict):
            if not damage(files, "part", entries, whole=True):
                missed.add(name)
    return missed


def swapped(path: Path) -> None:
    """Write a file of as many bytes and rows, with other rows."""
    write(path, 7)
    assert path.stat().st_size == path.with_name("part-1.parquet").stat().st_size


def test_every_damage_is_seen(files: Files, tmp_path: Path) -> None:
    """Far away too, except of bytes that only Parquet's own checksums cover: there nobody reads all of a file twice."""
    far = files.checksum("part/part-0.parquet") is None
    assert unseen(files, tmp_path / "files") == ({"a bit of a page flipped"} if far else set())


def _no_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are not compared, and what is missing is not missed."""
    real = manifest._difference
    monkeypatch.setattr(
        manifest,
        "_difference",
        lambda files, path, entry, size, *, whole: (
            "" if size != entry.bytes else real(files, path, entry, size, whole=whole)
        ),
    )


def _no_footers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Footers are not compared, and nothing is read whole."""
    monkeypatch.setattr(manifest, "zlib", type("same", (), {"crc32": staticmethod(lambda data: 0)}))
    monkeypatch.setattr(Files, "checksum", lambda self, name: None)


def _not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is read whole."""
    monkeypatch.setattr(Files, "checksum", lambda self, name: None)


def _no_additions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that nobody wrote are overlooked."""
    real = Files.sizes
    monkeypatch.setattr(Files, "sizes", lambda self, name: {n: s for n, s in real(self, name).items() if "99" not in n})


@pytest.mark.parametrize(
    ("mutant", "missed"),
    [
        (_no_sizes, {"emptied", "truncated", "deleted"}),
        (_no_footers, {"a bit of the footer flipped", "a bit of a page flipped", "swapped with another"}),
        (_not_whole, {"a bit of a page flipped"}),
        (_no_additions, {"another file added"}),
    ],
)
def test_checks_that_are_left_out_are_missed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Any, missed: set[str]
) -> None:
    """Each check is what sees some damage: without it, that is not seen."""
    (tmp_path / "part").mkdir()
    for i in range(2):
        write(tmp_path / "part" / f"part-{i}.parquet", i)
    mutant(monkeypatch)
    assert unseen(files_at(spark, str(tmp_path)), tmp_path) == missed


def test_rows_that_cannot_be_seen_are_an_error(files: Files) -> None:
    """What a worker wrote to a disk of its own is not there for the driver."""
    assert [entry.rows for entry in measured(files, "part", 100)] == [50, 50]
    with pytest.raises(
        BadCheckpoint, match=r"150 rows were written to .*/part, and 100 of them can be seen there"
    ) as e:
        measured(files, "part", 150)
    assert "all workers share" in str(e.value)


def test_a_move_that_was_cut_is_found_in_both_places(files: Files, tmp_path: Path) -> None:
    """Each file in one of them or in both, whole; what is whole in neither is told with both places."""
    entries, root = list_files(files, "part"), tmp_path / "files"
    (root / "to").mkdir()
    (root / "part" / "part-0.parquet").rename(root / "to" / "part-0.parquet")
    found = located(files, entries, "part", "to", "it")
    assert {place: [entry.name for entry in there] for place, there in found.items()} == {
        "part": ["part-1.parquet"],
        "to": ["part-0.parquet"],
    }
    with damaged(root / "to" / "part-0.parquet", DAMAGES["truncated"]):
        with pytest.raises(
            BadCheckpoint, match=r"part-0.parquet is missing, and in .*/to it has [0-9,]+ bytes, expected"
        ):
            located(files, entries, "part", "to", "it")
        assert (root / "part" / "part-1.parquet").exists()


def test_what_is_sealed_is_read_as_it_was() -> None:
    """Any bit that changes what it says is seen; without a checksum it is taken only if that is allowed."""
    text = sealed({"step": 7, "frontier": [[30, "TOP"]], "shown": "für immer"})
    whole = unsealed(text)
    assert whole == {"step": 7, "frontier": [[30, "TOP"]], "shown": "für immer"}
    for at in range(len(text)):
        for bit in range(7):
            changed = text[:at] + chr(ord(text[at]) ^ (1 << bit)) + text[at + 1 :]
            try:
                found = unsealed(changed)
            except ValueError:
                continue
            assert found == whole
    with pytest.raises(ValueError, match="no checksum"):
        unsealed('{"step": 7}')
    assert unsealed('{"step": 7}', required=False) == {"step": 7}


def test_directories_are_synced_with_what_is_in_them_and_the_way_to_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for those above: they do not change any more."""
    files, synced, real = files_at(spark, str(tmp_path / "c")), [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd)))
    (tmp_path / "c" / "state" / "key" / "0" / "one").mkdir(parents=True)
    (tmp_path / "c" / "state" / "key" / "0" / "two").mkdir()
    (tmp_path / "c" / "state" / "key" / "0" / "one" / "f").write_text("x")
    sync(files.unsynced(["state/key/0/one"]))
    root = str(tmp_path / "c")
    way = ["", "/state", "/state/key", "/state/key/0"]
    assert sorted(synced) == [f"{root}{name}" for name in [*way, "/state/key/0/one", "/state/key/0/one/f"]]
    synced.clear()
    sync(files.unsynced(["state/key/0/two"], growing=["state/key/0/one"]))
    assert sorted(synced) == [
        f"{root}/state/key/0",
        f"{root}/state/key/0/one",
        f"{root}/state/key/0/one/f",
        f"{root}/state/key/0/two",
    ]
    (tmp_path / "c" / "state" / "key" / "0" / "one" / "g").write_text("x")
    synced.clear()
    sync(files.unsynced([], growing=["state/key/0/one"]))
    assert sorted(synced) == [f"{root}/state/key/0/one", f"{root}/state/key/0/one/g"]
    synced.clear()
    files.create("made/commits/0", {"step": 0})
    assert synced[:2] == [root, f"{root}/made"]
    assert synced[-1] == f"{root}/made/commits"


def test_a_directory_that_is_made_later_is_synced_with_the_one_that_it_is_in(tmp_path: Path) -> None:
    """Its name is an entry of the one above: without that, a commit could name a part that a power cut took away."""
    files = Files(tmp_path)
    for name in ("state/key/0/one", "state/key/1/two", "state/other/0/three", "late/s/four"):
        (tmp_path / name).mkdir(parents=True)
    assert files.unsynced(["state/key/0/one"]) >= {tmp_path, tmp_path / "state", tmp_path / "state/key"}
    assert files.unsynced(["state/key/1/two"]) == {tmp_path / f"state/key{n}" for n in ("", "/1", "/1/two")}
    assert files.unsynced(["state/other/0/three"]) >= {tmp_path / "state", tmp_path / "state/other"}
    assert files.unsynced(["late/s/four"]) >= {tmp_path, tmp_path / "late"}
    assert files.unsynced(["late/s/four"]) == {tmp_path / "late/s", tmp_path / "late/s/four"}


def test_what_is_deleted_from_a_growing_directory_is_not_remembered(tmp_path: Path) -> None:
    """A run that goes on for months remembers what is there now; each file is to be synced once."""
    files, place = Files(tmp_path), tmp_path / "spark" / "offsets"
    place.mkdir(parents=True)
    for number in range(300):
        (place / str(number)).touch()
        if number >= 100:
            (place / str(number - 100)).unlink()
        assert files.unsynced([], growing=["spark/offsets"]) == {place, place / str(number)}
    assert files.unsynced([], growing=["spark/offsets"]) == set()
    assert sum(map(len, [files._kept, *files._grown.values()])) <= 101


@pytest.mark.parametrize("files", ["hadoop"], indirect=True)
def test_a_file_that_hadoop_can_not_read_is_named(files: Files, tmp_path: Path) -> None:
    """As one is of which HDFS has lost a block: its name and its size are right."""
    entries = list_files(files, "part")
    unreadable(tmp_path / "files" / "part" / "part-0.parquet")
    (line,) = damage(files, "part", entries)
    assert re.fullmatch(r"part-0\.parquet cannot be read \(.*ChecksumException.*\)", line)
    with pytest.raises(BadCheckpoint, match=r"part-0\.parquet cannot be read \(.*ChecksumException"):
        list_files(files, "part")
