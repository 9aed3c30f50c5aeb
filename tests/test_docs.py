"""The documentation is true: its examples print what the pages say, its links lead somewhere, and nothing is left out.

A fenced block with ``>>>`` is an example, whether it is marked ``pycon`` or ``python``. The blocks of a page are one
session. A page with a block marked ``pycon spark`` needs a Spark session; its examples find it as ``spark``.
"""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tidegate.engine.runs import Run, Status
from tidegate.flow import Flow, Stream
from tidegate.spec import statements
from tidegate.spec.statements import Statement

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.ELLIPSIS


def blocks(page: Path) -> list[tuple[list[str], str]]:
    """Return the examples of a page, each with the words after its fence."""
    found = [(m["info"].split(), m["body"]) for m in FENCE.finditer(page.read_text(encoding="utf-8"))]
    return [(info, body) for info, body in found if info[:1] in (["pycon"], ["python"]) and ">>> " in body]


def needs_spark(page: Path) -> bool:
    return any("spark" in info for info, _ in blocks(page))


def named(pages: list[Path]) -> list[Any]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


def failures(page: Path, *, leave_out: str = "", **names: Any) -> str:
    """Run the examples of a page as one session; return what doctest has to say about those that differ.

    Blocks that are marked with the word ``leave_out`` are left out.
    """
    text = "\n".join(body for info, body in blocks(page) if not leave_out or leave_out not in info)
    session = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__", **names}, page.name, str(page), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(session, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("page", named([p for p in PAGES if blocks(p) and not needs_spark(p)]))
def test_examples_print_what_the_page_says(page: Path) -> None:
    """Every example of the page, run in order, prints what stands under it."""
    assert not failures(page)


@pytest.mark.spark
@pytest.mark.parametrize("page", named([p for p in PAGES if needs_spark(p)]))
def test_examples_on_spark_print_what_the_page_says(page: Path, spark: Any) -> None:
    """The same for pages that show Spark at work."""
    assert not failures(page, spark=spark)


@pytest.mark.parametrize(
    "page", named([p for p in PAGES if needs_spark(p) and any("spark" not in i for i, _ in blocks(p))])
)
def test_examples_beside_those_on_spark_need_no_session(page: Path) -> None:
    """What a page shows beside Spark runs without it, and prints the same."""
    assert not failures(page, leave_out="spark")


def test_an_example_that_lies_is_found(tmp_path: Path) -> None:
    """The check itself can fail, with either fence, and a block without a prompt is no example."""
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1 / 0\n```\n\n```python\n>>> x = 2\n```\n\n```pycon\n>>> x + 2\n5\n```\n")
    assert "Expected:\n    5\nGot:\n    4" in failures(page)


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the names under which the headings of a page can be linked to, as forges make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", named(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link of the page leads to a file of this repository, and to a heading that is there."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        known = found.is_relative_to(ROOT) and found.exists()
        if not known or (anchor and anchor not in anchors(found)):
            broken.append(target)
    assert not broken


def test_the_index_lists_every_page() -> None:
    """Whoever opens docs/ finds each page in its index, once."""
    listed = re.findall(r"^\| \[[^]]*\]\(([^)#\s]+)\)", prose(ROOT / "docs" / "README.md"), flags=re.MULTILINE)
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in ROOT.glob("docs/**/*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages)


def test_every_benchmark_is_in_the_table() -> None:
    """The page of benchmarks has a row for each script."""
    listed = re.findall(r"^\| \[[^]]*\]\(([^)#\s]+)\)", prose(ROOT / "bench" / "README.md"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(script.name for script in ROOT.glob("bench/bench_*.py"))


def test_every_statement_is_in_the_table() -> None:
    """The page of statements names every statement that the code has, in a row with its number."""
    rows = [row for row in prose(ROOT / "docs" / "statements.md").split("\n") if row.startswith("|")]
    for name in statements.__all__:
        statement = getattr(statements, name)
        if isinstance(statement, Statement):
            [row] = [row for row in rows if f"`{name}`" in row]
            numbers = re.findall(r"\(\d+\)", statement.number) if statement.number.startswith("(") else []
            assert all(number in row for number in numbers)


def methods(*classes: type) -> list[str]:
    return [n for cls in classes for n in dir(cls) if not n.startswith("_") and callable(getattr(cls, n))]


def test_every_method_is_on_the_page_of_flows() -> None:
    """No public method of streams and flows is missing from the reference page."""
    text = (ROOT / "docs" / "flows.md").read_text(encoding="utf-8")
    assert len(methods(Stream, Flow)) > 20
    assert not [name for name in methods(Stream, Flow) if f"{name}(" not in text and f"`{name}`" not in text]


def test_every_method_of_a_run_is_on_the_page_of_streams() -> None:
    """The table of what a run answers has a row for each public method, and names all that its status has."""
    rows = prose(ROOT / "docs" / "streaming.md").split("\n")
    assert len(methods(Run)) > 5
    assert not [name for name in methods(Run) if not any(row.startswith(f"| `run.{name}(") for row in rows)]
    [status] = [row for row in rows if row.startswith("| `run.status(")]
    assert not [field.name for field in fields(Status) if f"`{field.name}`" not in status]
