"""What tests of replays share: the file of an example, and what exists after each of its steps."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tidegate.check import examples
from tidegate.check.examples import Example, Point

__all__ = ["file_of", "pointstamps"]

PLACE = Path(examples.__file__).parent / "dataflows"


def file_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PLACE / f"{name}.json").read_text(encoding="utf-8"))
    return found


def pointstamps(example: Example) -> list[Counter[Point]]:
    """What exists in the beginning and after each step."""
    found = [Counter((l, example.least(l)) for l in example.starts_with for _ in range(example.workers))]
    for step in example.trace:
        now = found[-1].copy()
        now.update(step.changes())
        found.append(now)
    return found
