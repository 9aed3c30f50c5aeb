"""The pytest plugin: the fixture ``engine``, differences of rows in assertions, and scripts of failing trials.

Every run of pytest loads it, so it imports nothing else of Tidegate before a test uses an engine.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.testing.engines import Engine

__all__: list[str] = []

_DEFAULT = "specification,local"
#: The key under which a running test has its engine.
_ENGINE: pytest.StashKey[Any] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting for the engines that tests run on."""
    group = parser.getgroup("tidegate")
    what = "engines that the fixture `engine` of tidegate runs a test on, with commas between them"
    group.addoption("--tidegate-engines", metavar="NAMES", default=None, help=f"{what} (default: {_DEFAULT})")
    parser.addini("tidegate_engines", what, default=_DEFAULT)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses our fixture ``engine`` once on each engine."""
    # A project may define a parameter ``engine`` of its own, with this hook in its conftest, which is called before
    # ours. No public API says so. Before pytest 8, such a parameter was in ``funcargs``.
    calls = getattr(metafunc, "_calls", ())
    theirs = any("engine" in {**call.params, **getattr(call, "funcargs", {})} for call in calls)
    if "tidegate_engine_name" in metafunc.fixturenames and not theirs:
        given = metafunc.config.getoption("--tidegate-engines") or metafunc.config.getini("tidegate_engines")
        names = [name.strip() for name in str(given).replace("\n", ",").split(",") if name.strip()]
        metafunc.parametrize("tidegate_engine_name", names)


@pytest.fixture
def tidegate_engine_name() -> str:
    """Return the name of an engine. The plugin runs tests with each engine that was chosen."""
    raise AssertionError("it is given by pytest_generate_tests")


@pytest.fixture(scope="session")
def tidegate_spark() -> Iterator[SparkSession]:
    """Yield a local Spark session that all tests share. Override this fixture to use another session."""
    from tidegate.extras import require

    require("spark", "--tidegate-engines=spark")
    from tidegate.spark.session import local_session

    session = local_session("tidegate.testing", master="local[2]", spark__sql__shuffle__partitions="2")
    yield session
    session.stop()


@pytest.fixture
def engine(request: pytest.FixtureRequest, tidegate_engine_name: str) -> Iterator[Engine]:
    """Yield an engine for trials: ``tt.trial(flow, engine)``. A test with this fixture runs on each chosen engine."""
    from tidegate.testing.engines import Engine

    made = Engine(tidegate_engine_name)
    if "spark" in made.name:
        made.spark = request.getfixturevalue("tidegate_spark")
    request.node.stash[_ENGINE] = made
    yield made
    for trial in made.trials:
        trial.close()
    # Scripts are not needed any more, and pytest would keep the engine until its session ends.
    del request.node.stash[_ENGINE]


# With `wrapper=True`, pytest would not start where pluggy is older than 1.2.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """If a test failed, add its trials to the report, as scripts."""
    report = (yield).get_result()
    made = item.stash.get(_ENGINE, None)
    if made is not None and report.when == "call" and report.failed:
        notes = getattr(call.excinfo.value, "__notes__", ()) if call.excinfo else ()
        for trial in made.trials if not any("import tidegate.testing" in note for note in notes) else ():
            report.sections.append(("tidegate: the same without pytest, to paste", trial.script()))


def pytest_assertrepr_compare(op: str, left: Any, right: Any) -> list[str] | None:
    """Return lines that explain a failed assertion about the rows of a trial."""
    import sys

    known = sys.modules.get("tidegate.testing.differences")
    if known is None or op != "==" or not (isinstance(left, known.Rows) or isinstance(right, known.Rows)):
        return None
    from tidegate.testing.assertions import explain_difference

    return explain_difference(left, right)
