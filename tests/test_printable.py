"""Texts that are made fit for a terminal."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.printable import printable


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    """Nor is anything lost: what is escaped can be read back, but for backslashes that were there before."""
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    assert printable(text, lines=True).replace("\n", "").isprintable()
    if "\\" not in text:
        assert re.sub(r"\\(x..|u....|U........|[tnr])", lambda m: m[0].encode().decode("unicode_escape"), shown) == text


def test_errors_print_what_they_quote() -> None:
    """They may name a column or quote a row; their own lines stay."""
    error = tg.TidegateError("expected a, got \x1b[31m\u2066b", hint="c\x9b").at("flow '\x07'")
    assert str(error) == "expected a, got \\x1b[31m\\u2066b\n  at: flow '\\x07'\n  hint: c\\x9b"
