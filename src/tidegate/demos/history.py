"""The history of a git repository on two clocks: when a change was written, and when it came into the history.

Rebased, cherry-picked and mailed changes come in long after they were written, and out of order. So "how much was
written by then" has no answer with one clock: it depends on when you ask. With a product order, each answer is final.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

import tidegate as tg
from tidegate.demos.story import Story
from tidegate.errors import NotFound
from tidegate.ui import INK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["GitCommit", "commits", "git_log", "history_flow", "period", "read_here", "show", "span"]

T = TypeVar("T")

#: The newest commits are enough for a picture.
MOST = 20_000
PERIODS = 8
COLUMNS = "written TIMESTAMP, committed TIMESTAMP, author STRING"
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
#: Periods that a reader can think in.
NICE = (_HOUR / 6, _HOUR / 2, _HOUR, 3 * _HOUR, 12 * _HOUR, *(n * _DAY for n in (1, 7, 28, 91, 182, 364, 1820)))


@dataclass(frozen=True, slots=True)
class GitCommit:
    """A change: when it was written, when it came into the history, by whom, and its subject."""

    written: datetime
    committed: datetime
    author: str
    hash: str
    subject: str


def git_log(directory: Path, *options: str) -> list[str]:
    """Return the lines of the log of the repository that a directory is in, newest first."""
    command = ["git", "-C", str(directory), "log", "--no-merges", *options]
    try:
        run = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise NotFound("this demo needs git, which is not installed", hint="tidegate demo tides") from None
    if run.returncode:
        raise NotFound(
            f"expected a directory inside of a git repository with a history, got {directory}",
            hint="change to a repository of yours and run it again: cd …; tidegate demo git",
        )
    return run.stdout.decode(errors="replace").split("\n")


def commits(directory: Path) -> list[GitCommit]:
    """Return the commits of the repository that a directory is in, newest first."""
    found = []
    for line in git_log(directory, f"--max-count={MOST}", "--format=%at%x1f%ct%x1f%an%x1f%h%x1f%s"):
        parts = line.split("\x1f")
        if len(parts) == 5:
            written, committed = (datetime.fromtimestamp(int(part), UTC) for part in parts[:2])
            found.append(GitCommit(written, committed, *parts[2:]))
    if not found:
        raise NotFound(f"the repository at {directory} has no commits", hint="try one that has a longer history")
    return found


def period(times: Sequence[datetime]) -> timedelta:
    """Return a period of which a history has about eight.

    >>> period([datetime(2026, 1, 1), datetime(2026, 2, 10)])
    datetime.timedelta(days=7)
    """
    whole = max(times) - min(times)
    return next((length for length in NICE if whole <= length * PERIODS), NICE[-1])


def history_flow(length: timedelta) -> tg.Flow:
    """Build the flow: how many changes were written by a time, as known at another; and the same by author."""
    flow = tg.Flow("history")
    changes = flow.source("changes", COLUMNS, time=("written", "committed"))
    every = {"written": length, "committed": length}
    waits = changes.with_columns(seconds="unix_seconds(committed) - unix_seconds(written)")
    flow.sink("known", changes.accumulate(every=every, emit="complete", changes="count(*)"))
    flow.sink("waited", waits.accumulate(by="author", every=every, changes="count(*)", longest="max(seconds)"))
    return flow


def read_here(console: Console, read: Callable[[Path], T]) -> T:
    """Read the history of the repository in the current directory; if there is none, say so and stop."""
    try:
        return read(Path.cwd())
    except NotFound as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        raise SystemExit(1) from None


def show(console: Console, *, session: AbstractContextManager[SparkSession] | None = None) -> None:
    """Show the two clocks of the repository in the current directory, and what was known when."""
    story = Story(console)
    found = read_here(console, commits)
    story.title("Tidegate", "the history of this repository, on two clocks")
    _clocks(story, found)
    length = period([commit.committed for commit in found])
    with session or story.spark() as spark, console.status("   computing"):
        known, waited = _computed(spark, history_flow(length), found)
    _known(story, known, length)
    _waited(story, waited)
    console.print()


def _clocks(story: Story, found: list[GitCommit]) -> None:
    delayed = sum(c.committed - c.written > timedelta(minutes=1) for c in found)
    behind = sum(older.written > newer.written for newer, older in pairwise(found))
    story.chapter(
        "The data: two clocks",
        f"{len(found):,} changes. Each has the time when it was written, and the time when it came into the history. "
        f"{delayed:,} came in more than a minute later, and {behind:,} stand right after one that was written later. "
        "Those that took longest:",
    )
    rows = []
    for commit in sorted(found, key=lambda c: c.written - c.committed)[:5]:
        clocks = [f"{at:%Y-%m-%d %H:%M}" for at in (commit.written, commit.committed)]
        subject = commit.subject[: max(10, story.width - 66)]
        rows.append([*clocks, span(commit.committed - commit.written), f"{commit.hash} {subject}"])
    story.table(("written", "committed", "took", "change"), rows, numbers=("took",))


def _computed(
    spark: SparkSession, flow: tg.Flow, found: list[GitCommit]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from tidegate.spark.wire import python_rows

    rows = [(c.written, c.committed, c.author) for c in found]
    tables = flow.compute(spark, {"changes": spark.createDataFrame(rows, COLUMNS)})
    return python_rows(tables["known"]), python_rows(tables["waited"])


def _known(story: Story, known: list[dict[str, Any]], length: timedelta) -> None:
    story.chapter(
        "What was known when",
        f"`accumulate` on both clocks, in periods of {span(length)}: the number of changes that were written by the "
        "end of the row's period, as the history had them at the end of the column's.",
    )
    form = "%Y-%m-%d" if length >= _DAY else "%d. %H:%M"
    answers = {(row["written"], row["committed"]): row["changes"] for row in known}
    # As many columns as fit; the latest say most.
    room = max(2, (story.width - 14) // (12 if length >= _DAY else 11))
    columns = sorted({committed for _, committed in answers})[-min(room, PERIODS + 1) :]
    lines, changed = [], 0
    for written in sorted({written for written, _ in answers})[-PERIODS - 1 :]:
        line, grown = _line([answers.get((written, committed)) for committed in columns])
        lines.append([f"{written:{form}}", *line])
        changed += grown
    headings = ["written by", *(f"{committed:{form}}" for committed in columns)]
    story.table(headings, lines, numbers=headings[1:])
    if changed:
        story.surprise(
            f"Along its row, an answer grew {changed} times after the period was over: changes that were written in it "
            "came in later. With one clock, one of the numbers would be wrong. With two, each is final."
        )
    else:
        story.say("Here every change came in within the period in which it was written: one clock would have done.")


def _line(numbers: Sequence[int | None]) -> tuple[list[str], int]:
    """Return the answers of a row as text, marked where they grew; and how often they did."""
    texts, grown, before = [], 0, None
    for number in numbers:
        grew = number is not None and before is not None and number > before
        grown += grew
        texts.append("·" if number is None else f"[{INK['surprise']}]{number:,}[/]" if grew else f"{number:,}")
        before = before if number is None else number
    return texts, grown


def _waited(story: Story, waited: Iterable[dict[str, Any]]) -> None:
    last: dict[str, dict[str, Any]] = {}
    for row in waited:
        if row["changes"] >= last.get(row["author"], row)["changes"]:
            last[row["author"]] = row
    story.chapter(
        "Who waits longest", "The same by author: how many changes, and how long the slowest took to come in."
    )
    slowest = sorted(last.values(), key=lambda row: -row["longest"])[:5]
    rows = [[r["author"], f"{r['changes']:,}", span(timedelta(seconds=r["longest"]))] for r in slowest]
    story.table(("author", "changes", "slowest"), rows, numbers=("changes", "slowest"))


def span(span: timedelta) -> str:
    """Return a span in its largest unit.

    >>> span(timedelta(days=7)), span(timedelta(hours=3)), span(timedelta(minutes=1)), span(timedelta(seconds=5))
    ('7 days', '3 hours', '1 minute', '5 seconds')
    """
    units = {"day": _DAY, "hour": _HOUR, "minute": timedelta(minutes=1), "second": timedelta(seconds=1)}
    name, unit = next(((n, u) for n, u in units.items() if span >= u), ("second", timedelta(seconds=1)))
    return f"{span // unit} {name}{'' if span // unit == 1 else 's'}"
