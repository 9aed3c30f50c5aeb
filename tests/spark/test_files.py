"""Small files of a checkpoint: whole or not at all, and only one writer of each."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

import pytest

from tidegate.spark.streaming.files import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(params=["here", "without links", "hadoop"])
def files(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Files:
    """A directory on this machine; on one without links; and through Hadoop, as for any other scheme."""
    found = Files(spark, str(tmp_path / "files"))
    if request.param == "without links":

        def refused(*given: Any) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refused)
    elif request.param == "hadoop":
        found.root = found.root.removeprefix("file:")
    return found


def test_a_file_is_created_once(files: Files) -> None:
    """The second is told, and what is there stays; texts are written as they are."""
    assert files.create("commits/0", {"step": 0})
    assert not files.create("commits/0", {"step": 1})
    assert files.read("commits/0") == {"step": 0}
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
    files, start, won = Files(spark, str(tmp_path)), Barrier(8), []

    def write(number: int) -> None:
        start.wait()
        if files.create("commits/0", {"writer": number}):
            won.append(number)

    threads = [Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [files.read("commits/0")["writer"]] == won
    assert [path.name for path in (tmp_path / "commits").iterdir()] == ["0"]
