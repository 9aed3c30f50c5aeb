"""The list of what is left to the long run names tests that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.left_to_check import LEFT_TO_CHECK, is_left


@pytest.mark.parametrize("module", LEFT_TO_CHECK)
def test_what_is_left_is_there(module: str) -> None:
    """Each is a test of its module; and the module has others."""
    text = (Path(__file__).parent / module).read_text(encoding="utf-8")
    names = LEFT_TO_CHECK[module]
    assert all(f"def {name.partition('[')[0]}(" in text for name in names)
    assert all(is_left(f"tests/{module}::{name}") for name in names)
    assert not is_left(f"tests/{module}::test_another")
