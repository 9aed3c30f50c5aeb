"""The examples of the reference page run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import tidegate as tg
from tidegate.flow import Stream

PAGE = Path(__file__).parents[2] / "docs" / "flows.md"


def test_the_examples_of_the_page_run() -> None:
    """Every example on the page gives what is printed below it."""
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    failed = []
    for number, block in enumerate(blocks):
        example = doctest.DocTestParser().get_doctest(block, names, f"block {number}", str(PAGE), 0)
        example.globs = names
        runner.run(example, clear_globs=False, out=failed.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(failed)
    assert len(blocks) > 10


def test_every_method_is_on_the_page() -> None:
    """No public method of streams and flows is missing from the page."""
    text = PAGE.read_text(encoding="utf-8")
    methods = [n for cls in (Stream, tg.Flow) for n in vars(cls) if not n.startswith("_") and callable(getattr(cls, n))]
    assert len(methods) > 20
    missing = [name for name in methods if f"{name}(" not in text and f"`{name}`" not in text]
    assert missing in ([], ["start"])
