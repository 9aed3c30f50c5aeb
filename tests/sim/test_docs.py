"""The examples in the documentation of progress tracking, of the tracker and of the simulation."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["progress.md", "simulation.md", "tracker.md"])
def test_examples_give_what_the_page_says(page: str) -> None:
    """Every session on the page, from the first to the last, prints what the page says it prints."""
    text = (DOCS / page).read_text(encoding="utf-8")
    sessions = re.findall(r"```pycon\n(.*?)```", text, flags=re.DOTALL)
    assert sessions
    names: dict[str, Any] = {}
    examples = doctest.DocTestParser().get_doctest("\n".join(sessions), names, page, str(DOCS / page), 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
    assert results.attempted > 0
    assert results.failed == 0
