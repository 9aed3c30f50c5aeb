"""Small files of a checkpoint: whole or not at all, and only one writer of each."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.damages import unreadable

from tidegate.engine.storage.errors import BadCheckpoint, UnfitFileSystem
from tidegate.engine.storage.files import Files
from tidegate.spark.hadoop import files_at
from tidegate.spark.stores import check_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(params=["here", "hadoop"])
def files(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Files]:
    """A directory on a disk of this machine; and the same through Hadoop, as it is reached on other file systems."""
    if request.param == "here":
        yield files_at(spark, str(tmp_path / "files"))
        return
    # Hadoop keeps a file system for each authority: this one is of this test alone.
    authority = tmp_path.name.replace("_", "-")
    mount = f"fs.viewfs.mounttable.{authority}.link./mounted"
    spark.conf.set(mount, tmp_path.as_uri())
    yield files_at(spark, f"viewfs://{authority}/mounted/files")
    spark.conf.unset(mount)


def test_a_file_is_created_once(files: Files) -> None:
    """The second is told, and what is there stays; texts are written as they are."""
    assert files.create("commits/0", {"step": 0})
    assert not files.create("commits/0", {"step": 1})
    assert files.read("commits/0", "a commit", {"step": int}) == {"step": 0}
    assert files.create("promises/0.json", "a line\n")
    assert files.text("promises/0.json") == "a line\n"
    assert files.names("commits") == ["0"]


def test_a_file_is_not_there_before_it_is_whole(files: Files) -> None:
    """Midway its content is written, and nobody can see it."""
    seen: list[bool] = []
    files.create("commits/0", {"step": 0}, lambda: seen.append(files.exists("commits/0")))
    assert seen
    assert not any(seen)


def test_of_many_writers_one_is_first(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever they do at the same time; and they leave nothing behind."""
    files, start, won = files_at(spark, str(tmp_path)), Barrier(8), []

    def write(number: int) -> None:
        start.wait()
        if files.create("commits/0", {"writer": number}):
            won.append(number)

    threads = [Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [files.read("commits/0", "a commit", {"writer": int})["writer"]] == won
    assert [path.name for path in (tmp_path / "commits").iterdir()] == ["0"]


def test_files_are_listed_moved_dated_and_deleted(files: Files) -> None:
    """The same on every file system: nothing is moved onto what is there, and what is not there is no error."""
    files.create("a/x/1", "one\n")
    files.make("b")
    assert files.rename("a/x", "b/y")
    assert not files.rename("a/x", "b/z")
    assert (files.names("b"), files.names("a"), files.names("c")) == (["y"], [], [])
    assert (files.is_directory("b/y"), files.is_directory("b/y/1"), files.is_directory("c")) == (True, False, False)
    before = files.written("b/y/1")
    files.touch("b/y/1")
    assert abs(files.written("b/y/1") - before) < 60
    files.delete("b")
    files.delete("b")
    assert not files.exists("b")


def test_a_listing_has_what_is_there_whatever_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is gone by the time that it is looked at is left out, and the others are not."""
    files, real = Files(tmp_path), os.scandir
    for number in range(10):
        files.create(f"commits/{number}", {})

    @contextmanager
    def scandir(path: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
        with real(path) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        (path / "3").unlink()
        yield iter(listed)

    monkeypatch.setattr(os, "scandir", scandir)
    assert files.numbers("commits") == [9, 8, 7, 6, 5, 4, 2, 1, 0]


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ("", "an empty file"),
        ("{", "something that can't be read"),
        ("\xff", "something that can't be read"),
        ("[1]", r"list: '\[1\]'"),
        ("{}", "an object without 'id'"),
        ('{"id": 3}', r"3 \(int\) for 'id'"),
        (None, "no file"),
        ("directory", "a directory"),
    ],
)
def test_what_is_not_what_it_should_be_is_named(files: Files, content: str | None, got: str) -> None:
    """The file, what was expected, what came, and what to do."""
    if content == "directory":
        files.make("id")
    elif content is not None:
        files.create("id", content)
    with pytest.raises(
        BadCheckpoint, match=f"expected an id in .*/files/id, a file of JSON with id; got {got}(.|\n)*hint"
    ):
        files.read("id", "an id", {"id": str})


def test_a_file_whose_bytes_can_not_be_had_is_named(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails, or a block that HDFS has lost: the file is there, and can't be read."""
    files.create("id", {"id": "a"})
    if (tmp_path / "files" / ".id.crc").exists():
        unreadable(tmp_path / "files" / "id")
    else:

        def fail(self: Path, **options: Any) -> str:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(Path, "read_text", fail)
    got = "something that can't be read: .*(ChecksumException|Input/output error)"
    with pytest.raises(BadCheckpoint, match=f"expected an id in .*/files/id.*; got {got}"):
        files.read("id", "an id", {"id": str})


def test_a_disk_without_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, nothing could be created whole and once."""

    def refused(*given: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(UnfitFileSystem, match=f"hard links.* for {tmp_path}"):
        Files(tmp_path).create("id", {})
    assert list(tmp_path.iterdir()) == []


def test_a_link_whose_answer_was_lost_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS, where a request that was answered too late is sent again; a link of another is none of ours."""
    real = os.link

    def twice(hidden: Path, place: Path) -> None:
        real(hidden, place)
        real(hidden, place)

    monkeypatch.setattr(os, "link", twice)
    assert Files(tmp_path).create("id", {"id": "a"})
    assert not Files(tmp_path).create("id", {"id": "b"})
    assert [path.name for path in tmp_path.iterdir()] == ["id"]


def test_what_a_living_writer_has_not_finished_is_not_swept(tmp_path: Path) -> None:
    """Only what is older than the run that sweeps."""
    files = Files(tmp_path)
    (tmp_path / ".7.x.tmp").write_text("")
    os.utime(tmp_path / ".7.x.tmp", (1000, 1000))
    files.sweep("", before=1000)
    assert (tmp_path / ".7.x.tmp").exists()
    files.sweep("", before=1001)
    assert not (tmp_path / ".7.x.tmp").exists()


@pytest.mark.parametrize("scheme", ["s3a", "gs", "abfss", "wasb", "dbfs", "oss"])
def test_object_stores_are_refused_by_name(spark: SparkSession, scheme: str) -> None:
    """Before anything of them is accessed: there are no classes for them here, and that is not what is said."""
    with pytest.raises(UnfitFileSystem, match=rf"expected a checkpoint on .*got {scheme}://bucket/ck on {scheme}\n"):
        check_store(spark, f"{scheme}://bucket/ck", "a checkpoint")


def test_the_default_file_system_counts_for_paths_without_a_scheme(spark: SparkSession) -> None:
    """A path alone can be in an object store; one with a scheme that is fit is not."""
    before = spark.conf.get("fs.defaultFS", "file:///")
    spark.conf.set("fs.defaultFS", "s3a://bucket")
    try:
        with pytest.raises(UnfitFileSystem, match="got ck on s3a, the default file system of Spark"):
            check_store(spark, "ck", "a checkpoint")
        check_store(spark, "file:///ck", "a checkpoint")
        check_store(spark, "viewfs://cluster/ck", "a checkpoint")
        check_store(spark, "hdfs://cluster/ck", "a checkpoint")
    finally:
        spark.conf.set("fs.defaultFS", before or "file:///")
