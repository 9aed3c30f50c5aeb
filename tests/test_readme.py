"""The README is true: its program prints what stands there, its pictures are the demo's, its commands exist."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.test_docs import FENCE
from tidegate.demos.operators import show
from tidegate.spec import DT

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [(match["info"], match["body"]) for match in FENCE.finditer(README)]
PROGRAM = next(i for i, (info, _) in enumerate(BLOCKS) if info == "python")


def run() -> tuple[dict[str, Any], list[str]]:
    """Run the first two Python blocks, one after the other; what each prints."""
    names: dict[str, Any] = {}
    found = []
    for number in (PROGRAM, PROGRAM + 2):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(BLOCKS[number][1], "README.md", "exec"), names)
        found.append(printed.getvalue())
    return names, found


def test_the_programs_print_what_stands_below_them() -> None:
    """The first two Python blocks of the README run as they are, and print the blocks after them."""
    for number, printed in zip((PROGRAM + 1, PROGRAM + 3), run()[1], strict=True):
        info, expected = BLOCKS[number]
        assert info == "text"
        assert printed == expected


@pytest.mark.spark
def test_the_same_flow_runs_on_spark(spark: Any) -> None:
    """The third Python block goes on from there: on the same entries, Spark answers what the others do."""
    names, _ = run()
    on_spark = [body for info, body in BLOCKS if info == "python"][2]
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(on_spark, "README.md", "exec"), names)
    assert names["rows"].fetchall() == [tuple(event.d.values()) for event in names["books"] if isinstance(event, DT)]
    computed = names["tables"]["balance"].collect()
    expected = names["flow"].reference({"entries": names["books"]}).rows("balance")
    assert sorted(tuple(row) for row in computed) == sorted(tuple(row.values()) for row in expected)
    assert sorted(names["balance"].fetchall()) == sorted(tuple(row) for row in computed)


def test_the_pictures_are_of_the_demo() -> None:
    """Each line of the README's pictures stands in what the demo shows at 80 columns."""
    file = io.StringIO()
    show(Console(file=file, width=80))
    shown = {line.strip() for line in file.getvalue().split("\n")}
    pictures = [body for info, body in BLOCKS[PROGRAM + 4 :] if info == "text"]
    assert pictures
    for picture in pictures:
        assert {line.strip() for line in picture.split("\n")} <= shown


def test_the_commands_exist() -> None:
    """Every `make` target that the README and CONTRIBUTING name is in the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    pages = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", pages, flags=re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= targets
