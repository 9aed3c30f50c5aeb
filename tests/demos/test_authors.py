"""``tidegate demo authors``: who hangs together with whom in a git history, as it grows."""

from __future__ import annotations

import io
import subprocess
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import tidegate as tg
from tidegate.demos import authors
from tidegate.demos.authors import AUTHOR, FILE, Touch
from tidegate.demos.story import Story
from tidegate.spec import DT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Who changed which files on which day.
CHANGES = [(1, "Ann", "a x"), (1, "Bob", "b"), (9, "Cy", "c"), (17, "Dee [bot]", "b c"), (33, "Ann", "a c")]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which four authors come to hang together, and one change of too many files."""
    run(tmp_path, "init", "-q")
    for day, author, files in [*CHANGES, (34, "Zoe", " ".join(f"z{n}" for n in range(authors.MANY_FILES + 1)))]:
        for name in files.split():
            (tmp_path / name).write_text(f"{day}")
        run(tmp_path, "add", ".", who=author, day=day)
        run(tmp_path, "commit", "-q", "-m", "change", who=author, day=day)
    return tmp_path


def run(directory: Path, *arguments: str, who: str = "x", day: int = 0) -> None:
    """Run git, as somebody and on some day."""
    names = {f"GIT_{role}_NAME": who for role in ("AUTHOR", "COMMITTER")}
    mails = {f"GIT_{role}_EMAIL": "x@example.org" for role in ("AUTHOR", "COMMITTER")}
    dates = {f"GIT_{role}_DATE": f"@{day * 86400} +0000" for role in ("AUTHOR", "COMMITTER")}
    environment = {**names, **mails, **dates, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True, env=environment)


def test_changes_of_files_are_read(repository: Path) -> None:
    """Who changed what when, newest first, without the change of too many files."""
    found = authors.touches(repository)
    expected = [(day, who, name) for day, who, files in CHANGES for name in files.split()]
    assert sorted(found, key=lambda t: (t.at, t.author, t.file)) == [
        Touch(datetime(1970, 1, 1) + timedelta(days=day), who, name) for day, who, name in expected
    ]


def by_reference(flow: tg.Flow, rows: list[tuple[Any, ...]]) -> dict[str, list[dict[str, Any]]]:
    """Run the flow on the specification."""
    dicts = [dict(zip(("at", "author", "file"), row, strict=True)) for row in rows]
    results = flow.reference({"touches": [DT(row["at"], row) for row in dicts]})
    return {sink: results.rows(sink) for sink in results}


def test_components_over_time(repository: Path) -> None:
    """By the end of each period, an author is called after the first of those that it hangs together with."""
    rows = [(t.at, AUTHOR + t.author, FILE + t.file) for t in authors.touches(repository)]
    results = by_reference(authors.authors_flow(timedelta(days=8), AUTHOR + "Ann"), rows)
    known = authors.labels((r["at"], r["node"], r["label"]) for r in results["parts"])
    by_period = [{n[2:]: label[2:] for n, label in known[t].items() if n.startswith(AUTHOR)} for t in sorted(known)]
    assert by_period == [
        {"Ann": "Ann", "Bob": "Bob"},
        {"Ann": "Ann", "Bob": "Bob", "Cy": "Cy"},
        {"Ann": "Ann", "Bob": "Bob", "Cy": "Bob", "Dee [bot]": "Bob"},
        {"Ann": "Ann", "Bob": "Ann", "Cy": "Ann", "Dee [bot]": "Ann"},
    ]
    steps = {row["node"]: row["distance"] for row in results["steps"]}
    assert {name: steps[AUTHOR + name] // 2 for name in by_period[-1]} == {"Ann": 0, "Cy": 1, "Dee [bot]": 1, "Bob": 2}


@pytest.mark.parametrize("width", [80, 120])
def test_the_story_fits_the_terminal(repository: Path, width: int) -> None:
    """The picture has a row for each author, and no line is wider than the terminal."""
    file = io.StringIO()
    authors.tell(Story(Console(file=file, width=width)), authors.touches(repository), by_reference)
    lines = file.getvalue().split("\n")
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    [bob] = [line.split() for line in lines if line.split()[:1] == ["Bob"]]
    assert bob == ["Bob", "B", "B", "B", "A"]
    assert any(line.split()[:2] == ["Dee", "[bot]"] for line in lines)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_tells_the_same_story(spark: SparkSession, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo, which runs on Spark, says what the specification says."""
    monkeypatch.chdir(repository)
    shown, expected = io.StringIO(), io.StringIO()
    authors.show(Console(file=shown, width=80), session=nullcontext(spark))
    authors.tell(Story(Console(file=expected, width=80)), authors.touches(repository), by_reference)
    assert shown.getvalue() == expected.getvalue()


def test_a_history_without_files_is_met_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a repository, and in one without changes of files, the demo says so."""
    run(tmp_path, "init", "-q")
    run(tmp_path, "commit", "-q", "--allow-empty", "-m", "nothing")
    with pytest.raises(tg.errors.NotFound, match="no changes of files"):
        authors.touches(tmp_path)
    monkeypatch.chdir(tmp_path)
    file = io.StringIO()
    with pytest.raises(SystemExit):
        authors.show(Console(file=file, width=100))
    assert "hint: try one with a longer history" in file.getvalue()
