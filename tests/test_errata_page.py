"""docs/errata.md: every entry of a table names a test, and every test of an erratum is named there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Files whose tests are about errata alone.
OWN = ("tests/spec/test_errata.py", "tests/spec/test_aggregate_errata.py", "tests/progress/test_errata.py")


def entries() -> list[list[str]]:
    """The rows of the tables of the page, as cells."""
    lines = (ROOT / "docs/errata.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in rows if row[0] != "where" and set(row[0]) != {"-"}]


def names_in(path: Path) -> set[str]:
    """The names of the tests of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@cache
def known() -> set[str]:
    """The names of the tests of layers that errata are about."""
    return {
        name
        for layer in ("spec", "progress", "sim")
        for p in (ROOT / "tests" / layer).glob("*.py")
        for name in names_in(p)
    }


def named(entry: list[str]) -> list[str]:
    """The tests that an entry names in its last cell."""
    return re.findall(r"`(test_\w+)`", entry[-1])


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry[0])
def test_every_entry_names_a_test(entry: list[str]) -> None:
    """A test whose failure would refute it, and which is there."""
    assert len(entry) == 4, "where, as printed, what holds, and the test"
    assert named(entry)
    assert set(named(entry)) <= known()


def test_every_test_of_an_erratum_is_named() -> None:
    """What is no longer an entry has no test in these files, and the page says of each what it shows."""
    found = {name for path in OWN for name in names_in(ROOT / path)}
    assert found - {name for entry in entries() for name in named(entry)} == set()


def test_slips_of_notation_claim_no_test() -> None:
    """Nothing can be run against them, so they are in a list and not in a table, and the page says why."""
    page = (ROOT / "docs/errata.md").read_text(encoding="utf-8")
    slips = page.partition("\n## Slips of notation\n")[2]
    assert "cannot be run" in slips
    assert [line for line in slips.splitlines() if line.startswith("- ")]
    assert not [line for line in slips.splitlines() if line.startswith("|") or "test_" in line]
