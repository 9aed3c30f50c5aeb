"""The engines of the kit for the cases, and in which steps the rows of a case come on each."""

from __future__ import annotations

import pytest
from tests.flow.case import Steps, at_once, by_time, in_two_steps
from tests.flow.short_run import LOOPS_ON_SPARK, ON_STREAMS, SHARE_ON_LOCAL_STREAMS, SHARE_ON_SPARK

import tidegate.testing as tt

#: State is folded in every step, so that what is kept is all that the next one has.
FOLDED = {"fold_from": lambda parts: 0}
WAYS: dict[str, tuple[str, Steps]] = {
    "specification": ("specification", at_once),
    "specification, watermarks": ("specification", by_time),
    "local, bounded": ("local-bounded", at_once),
    "local": ("local", in_two_steps),
    "spark, bounded": ("spark-bounded", at_once),
    "spark": ("spark", in_two_steps),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the long run most cases on streams of Spark, of loops, and of others all but a share of each table."""
    seen: dict[tuple[str, str], int] = {}
    for item in items:
        # Items of other folders are among them.
        if "way" not in getattr(item, "fixturenames", ()):
            continue
        engine, _, case = item.callspec.id.partition("-")
        table = case.partition(":")[0]
        number = seen[engine, table] = seen.get((engine, table), -1) + 1
        if engine == "spark":
            slow = case not in ON_STREAMS
        elif engine == "spark, bounded" and table == "iterate":
            slow = case not in LOOPS_ON_SPARK
        elif engine == "spark, bounded":
            # What an operator computes is the same text on all engines: what differs is how Spark takes it.
            slow = number % SHARE_ON_SPARK > 0
        elif engine == "local":
            slow = number % SHARE_ON_LOCAL_STREAMS > 0
        else:
            slow = False
        if slow:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=[pytest.param(n, marks=[pytest.mark.spark] if "spark" in n else []) for n in WAYS])
def way(request: pytest.FixtureRequest) -> tuple[str, tt.Engine, Steps]:
    """A way to run a case: its name, an engine, and in which steps the rows come."""
    name, steps = WAYS[request.param]
    engine = tt.Engine(name, options=FOLDED if name in ("local", "spark") else {})
    engine.spark = request.getfixturevalue("spark") if "spark" in name else None
    engine.directory = request.getfixturevalue("tmp_path") if name in ("local", "spark") else None
    return request.param, engine, steps
