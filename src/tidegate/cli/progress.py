"""The line that is printed for each step of a running flow."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

__all__ = ["progress_line"]


def progress_line(metrics: Mapping[str, Any], total: int) -> str:
    """Return the line for a step. ``total`` is the number of rows so far, in all steps.

    >>> step = {"step": 3, "seconds": 0.5, "rows": {"edits": 1000}, "late": {"edits": 2}, "rejected": {"edits": 0}}
    >>> step |= {"outputs": {"hourly": 7}, "state_rows": 1200, "behind": {"edits": 3720.0}}
    >>> progress_line(step | {"frontiers": {"edits": "2026-01-01 10:00"}}, 4000)
    'step 3: 1,000 rows (2,000/s, 4,000 in all), 2 late, 7 out; edits from 2026-01-01 10:00, 1:02:00 behind; 1,200 held'
    """
    rows = sum(metrics["rows"].values())
    parts = [f"{rows:,} rows ({rows / max(metrics['seconds'], 1e-3):,.0f}/s, {total:,} in all)"]
    parts += [f"{n:,} {kind}" for kind in ("late", "rejected") if (n := sum(metrics[kind].values()))]
    parts.append(f"{sum(metrics['outputs'].values()):,} out")
    sources = [
        f"{source} from {frontier}" + _behind(metrics["behind"][source])
        for source, frontier in metrics["frontiers"].items()
    ]
    return f"step {metrics['step']}: {', '.join(parts)}; {'; '.join(sources)}; {metrics['state_rows']:,} held"


def _behind(seconds: float | None) -> str:
    return "" if seconds is None else f", {timedelta(seconds=max(0, round(seconds)))} behind"
