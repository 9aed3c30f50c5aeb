"""The kit for testing flows. A test sends events, moves time by hand and checks the answers, on every engine.

>>> import tidegate as tg
>>> import tidegate.testing as tt
>>> flow = tg.Flow("clicks")
>>> clicks = flow.source("clicks", "t INT, page STRING", time="t", watermark=tg.bounded(10))
>>> flow.sink("counts", clicks.aggregate(by="page", n="count(*)"))
>>> test = tt.trial(flow)
>>> test.send("clicks", {"t": 1, "page": "a"}, {"t": 1, "page": "a"})
>>> test.expect("counts", [])
>>> test.advance("clicks", 1)
>>> test.expect("counts", [{"t": 1, "page": "a", "n": 2}])

With pytest, the fixture ``engine`` runs a test on the specification, on the local engine and, with an option, on Spark:
``def test_counts(engine): test = tt.trial(make_flow(), engine)``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.testing.cuts import any_cut
    from tidegate.testing.differences import NotAsExpected, Rows
    from tidegate.testing.engines import ENGINES, Engine
    from tidegate.testing.trials import Trial, trial

__all__ = ["ENGINES", "Engine", "NotAsExpected", "Rows", "Trial", "any_cut", "trial"]

#: The module of each name. It is imported at first use, so that the plugin costs nothing in tests that do not use it.
_HOMES = {
    "ENGINES": "tidegate.testing.engines",
    "Engine": "tidegate.testing.engines",
    "NotAsExpected": "tidegate.testing.differences",
    "Rows": "tidegate.testing.differences",
    "Trial": "tidegate.testing.trials",
    "any_cut": "tidegate.testing.cuts",
    "trial": "tidegate.testing.trials",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
