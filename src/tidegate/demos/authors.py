"""Who works with whom: the graph of authors and files out of a git history, and its components as it grows.

Two authors are connected if they changed the same file, or if both are connected with a third. Every period adds edges;
a loop keeps the components up to date, and says what is new. A second loop counts how far authors are from one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

import tidegate as tg
from tidegate.demos.history import git_log, period, read_here, span
from tidegate.demos.story import Story
from tidegate.errors import NotFound
from tidegate.spec.canvas import Canvas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Touch", "authors_flow", "labels", "show", "tell", "touches"]

#: The newest changes are enough for a picture.
MOST = 1_000
#: A change of more files than this connects everything, and says little about who works with whom.
MANY_FILES = 30
#: How many authors are drawn.
AUTHORS = 14
#: Authors sort before files, so that a component is named after one of its authors.
AUTHOR, FILE = "a ", "f "
COLUMNS = "at TIMESTAMP, author STRING, file STRING"

CODE = """\
touches = flow.source(
    "touches", "at TIMESTAMP, author STRING, file STRING", time="at")
edges = touches.window(period).aggregate(by=("author", "file"), n="count(*)")
parts = tg.graph.components(edges, "author", "file")
"""


@dataclass(frozen=True, slots=True)
class Touch:
    """A file that an author changed, and when."""

    at: datetime
    author: str
    file: str


def touches(directory: Path) -> list[Touch]:
    """Return who changed which file when, in the repository that a directory is in; large changes are left out."""
    found: list[Touch] = []
    at, author, files = datetime.min, "", list[str]()
    for line in [*git_log(directory, f"--max-count={MOST}", "--name-only", "--format=%x1f%ct%x1f%an"), "\x1f0\x1f"]:
        if line.startswith("\x1f"):
            found += [Touch(at, author, file) for file in files] if len(files) <= MANY_FILES else []
            _, seconds, author = line.split("\x1f")
            at, files = datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None), []
        elif line:
            files.append(line)
    if not found:
        raise NotFound(f"the repository at {directory} has no changes of files", hint="try one with a longer history")
    return found


def authors_flow(length: timedelta, busiest: str) -> tg.Flow:
    """Build the flow: the component of each author and file by the end of each period; the steps from one author."""
    flow = tg.Flow("authors")
    touched = flow.source("touches", COLUMNS, time="at")
    edges = touched.window(length).aggregate(by=("author", "file"), n="count(*)")
    both = edges.select("author AS src", "file AS dst").union(edges.select("file AS src", "author AS dst"))
    flow.sink("parts", tg.graph.components(edges, "author", "file"))
    flow.sink("steps", tg.graph.shortest_paths(both, "src", "dst", "1", busiest))
    return flow


def labels(answers: Iterable[tuple[datetime, str, str]]) -> dict[datetime, dict[str, str]]:
    """Return, for each time, the component of every author and file so far: what was new at that time or before.

    >>> at = [datetime(2026, 1, day) for day in (1, 2)]
    >>> labels([(at[0], "ann", "ann"), (at[0], "bob", "bob"), (at[1], "bob", "ann")])[at[1]]
    {'ann': 'ann', 'bob': 'ann'}
    """
    found: dict[datetime, dict[str, str]] = {}
    known: dict[str, str] = {}
    for at, node, label in sorted(answers):
        known[node] = label
        found[at] = dict(known)
    return found


def show(console: Console, *, session: AbstractContextManager[SparkSession] | None = None) -> None:
    """Show who is connected in the repository in the current directory, period by period."""
    found = read_here(console, touches)

    def computed(flow: tg.Flow, rows: list[tuple[datetime, str, str]]) -> dict[str, list[dict[str, Any]]]:
        from tidegate.spark.wire import python_rows

        with session or Story(console).spark() as spark, console.status("   going round"):
            zoned = [(at.replace(tzinfo=UTC), author, file) for at, author, file in rows]
            tables = flow.compute(spark, {"touches": spark.createDataFrame(zoned, COLUMNS)})
            return {sink: python_rows(tables[sink]) for sink in ("parts", "steps")}

    tell(Story(console), found, computed)


def tell(
    story: Story,
    found: list[Touch],
    computed: Callable[[tg.Flow, list[tuple[datetime, str, str]]], dict[str, list[dict[str, Any]]]],
) -> None:
    """Tell what the flow answers for some touches; ``computed`` runs it, and returns the rows of its sinks."""
    length = period([touch.at for touch in found])
    busy = Counter(touch.author for touch in found)
    busiest = busy.most_common(1)[0][0]
    story.title("Who works with whom", "a loop over a graph that grows")
    files = len({touch.file for touch in found})
    story.chapter(
        "The graph",
        f"Authors: {len(busy):,}; files: {files:,}; and an edge for each of {len(found):,} changes of a file, in "
        f"periods of {span(length)}. An edge holds from its time on; `components` is a loop, `iterate` in the plan.",
    )
    code = Canvas()
    for n, line in enumerate(CODE.splitlines()):
        code.put(0, n, line, "data")
    story.picture(code)
    rows = [(touch.at, AUTHOR + touch.author, FILE + touch.file) for touch in found]
    answers = computed(authors_flow(length, AUTHOR + busiest), rows)
    parts = [(row["at"], row["node"], row["label"]) for row in answers["parts"]]
    _parts(story, labels(parts), busy, length, len(parts))
    _steps(story, [(row["node"], row["distance"]) for row in answers["steps"]], busiest)
    story.console.print()


def _parts(
    story: Story, known: dict[datetime, dict[str, str]], busy: Counter[str], length: timedelta, answers: int
) -> None:
    story.chapter(
        "Components over time",
        "A column is a period, a row an author; the letter says which component the author is in, A being the one with "
        "most authors in the end. Files hang together with those who changed them.",
    )
    drawn = [author for author, _ in busy.most_common(AUTHORS)]
    last = known[max(known)]
    largest = Counter(label for node, label in last.items() if node.startswith(AUTHOR))
    ever = [label for labelled in known.values() for label in labelled.values()]
    letters = {label: _letter(n) for n, label in enumerate(dict.fromkeys([*dict(largest.most_common()), *ever]))}
    form = "%Y-%m-%d" if length >= timedelta(days=1) else "%d. %H:%M"
    times = sorted(known)[-max(2, (story.width - 26) // 12) :]
    rows = []
    for author in sorted(drawn, key=lambda name: letters[last[AUTHOR + name]]):
        rows.append([escape(_cut(author)), *(letters.get(known[t].get(AUTHOR + author, ""), "·") for t in times)])
    rows.append(["components", *(f"{len(set(known[t].values())):,}" for t in times)])
    rows.append(["authors and files", *(f"{len(known[t]):,}" for t in times)])
    story.table(["by the end of", *(f"{t:{form}}" for t in times)], rows)
    everything = sum(map(len, known.values()))
    story.surprise(
        f"The loop gave {answers:,} answers, each when it was new: a new node, or one whose component became part of "
        f"another. All components in each of {len(known)} periods would have been {everything:,} answers."
    )


def _steps(story: Story, steps: Sequence[tuple[str, int]], busiest: str) -> None:
    story.chapter(
        "How far",
        f"The distance from {busiest} over files that two authors share: 1 is a file in common. `shortest_paths`, "
        "the same loop with another rule.",
    )
    near: dict[str, int] = {}
    for node, distance in steps:
        if node.startswith(AUTHOR):
            near[node[len(AUTHOR) :]] = min(distance // 2, near.get(node[len(AUTHOR) :], distance))
    counted = Counter(near.values())
    rows = []
    for distance, number in sorted(counted.items()):
        names = ", ".join(sorted(name for name, d in near.items() if d == distance))
        rows.append([distance, f"{number:,}", escape(_cut(names, max(20, story.width - 24)))])
    story.table(("distance", "authors", "who"), rows, numbers=("distance", "authors"))


def _letter(n: int) -> str:
    return chr(ord("A") + n) if n < 26 else "*"


def _cut(text: str, width: int = 22) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
