"""The plugin of pytest: the fixture ``engine``, differences of rows in assertions, and scripts of failing trials.

It is registered with the package, and imports nothing of it before a test asks for an engine.
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
#: The engine of a test that is running.
_ENGINE: pytest.StashKey[Any] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting that say on which engines tests run."""
    group = parser.getgroup("tidegate")
    what = "engines that the fixture `engine` of tidegate runs a test on, with commas between them"
    group.addoption("--tidegate-engines", metavar="NAMES", default=None, help=f"{what} (default: {_DEFAULT})")
    parser.addini("tidegate_engines", what, default=_DEFAULT)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses our engine once on each."""
    # Others may have a parameter ``engine`` of their own, from this hook in their conftest, which was called before.
    # Nothing public tells; before pytest 8, such a parameter was in ``funcargs``.
    calls = getattr(metafunc, "_calls", ())
    theirs = any("engine" in {**call.params, **getattr(call, "funcargs", {})} for call in calls)
    if "tidegate_engine_name" in metafunc.fixturenames and not theirs:
        given = metafunc.config.getoption("--tidegate-engines") or metafunc.config.getini("tidegate_engines")
        names = [name.strip() for name in str(given).replace("\n", ",").split(",") if name.strip()]
        metafunc.parametrize("tidegate_engine_name", names)


@pytest.fixture
def tidegate_engine_name() -> str:
    """Return the name of an engine; tests get each that was asked for."""
    raise AssertionError("it is given by pytest_generate_tests")


@pytest.fixture(scope="session")
def tidegate_spark() -> Iterator[SparkSession]:
    """A session of Spark on this machine, one for each worker of pytest; define it anew to give another."""
    from tidegate.extras import require

    require("spark", "--tidegate-engines=spark")
    from tidegate.spark.session import local_session

    session = local_session("tidegate.testing", master="local[2]", spark__sql__shuffle__partitions="2")
    yield session
    session.stop()


@pytest.fixture
def engine(request: pytest.FixtureRequest, tidegate_engine_name: str) -> Iterator[Engine]:
    """An engine to try flows on: ``tt.trial(flow, engine)``. A test that takes it runs on each that is asked for."""
    from tidegate.testing.engines import Engine

    made = Engine(tidegate_engine_name)
    if "spark" in made.name:
        made.spark = request.getfixturevalue("tidegate_spark")
    request.node.stash[_ENGINE] = made
    yield made
    for trial in made.trials:
        trial.close()
    # Nobody asks for scripts any more, and a test lives as long as the session.
    del request.node.stash[_ENGINE]


# Not `wrapper=True`: where a pluggy before 1.2 is installed, pytest would not even start.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Print the trials of a test that failed as scripts."""
    report = (yield).get_result()
    made = item.stash.get(_ENGINE, None)
    if made is not None and report.when == "call" and report.failed:
        notes = getattr(call.excinfo.value, "__notes__", ()) if call.excinfo else ()
        for trial in made.trials if not any("import tidegate.testing" in note for note in notes) else ():
            report.sections.append(("tidegate: the same without pytest, to paste", trial.script()))


def pytest_assertrepr_compare(op: str, left: Any, right: Any) -> list[str] | None:
    """Explain why rows of a trial are not those that an assertion expects."""
    import sys

    known = sys.modules.get("tidegate.testing.differences")
    if known is None or op != "==" or not (isinstance(left, known.Rows) or isinstance(right, known.Rows)):
        return None
    from tidegate.testing.assertions import explain_difference

    return explain_difference(left, right)
