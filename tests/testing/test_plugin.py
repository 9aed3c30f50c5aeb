"""The plugin of pytest, as users have it: in a directory of their own, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

FLOWS = """
import tidegate as tg

def make_flow():
    flow = tg.Flow("counts")
    rows = flow.source("s", "t INT, k STRING", time="t", watermark=tg.bounded(3))
    flow.sink("out", rows.aggregate(by="k", n="count(*)"))
    return flow
"""
TESTS = """
import tidegate.testing as tt
from flows import make_flow

def test_good(engine):
    test = tt.trial(make_flow(), engine)
    test.send("s", (1, "a"))
    test.advance("s", 1)
    test.expect("out", [(1, "a", 1)])

def test_bad(engine):
    test = tt.trial(make_flow(), engine)
    test.send("s", (1, "a"))
    assert test.rows("out") == [{"t": 1, "k": "a", "n": 1}]

def test_of_another_engine(other):
    assert other == "mine"
"""
# What is loaded by the time that all tests are collected.
LOADED = """
import sys
import pytest

@pytest.fixture
def other():
    return "mine"

def pytest_collection_finish(session):
    print("loaded:", *sorted(m for m in sys.modules if m.partition(".")[0] in
          ("tidegate", "pyarrow", "duckdb", "sqlglot", "hypothesis", "pyspark", "rich", "typer")))
"""


def pytest_in(directory: Path, *arguments: str, **files: str) -> str:
    """Run pytest with the plugin in a directory with some modules, and return what it prints."""
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text, encoding="utf-8")
    # An environment that was set up before the plugin was declared does not know it; another one may not be told twice.
    known = any(found.name == "tidegate" for found in entry_points(group="pytest11"))
    options = [] if known else ["-p", "tidegate.testing.plugin"]
    options += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-q", "-s"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=directory)
    return done.stdout + done.stderr


def test_a_test_runs_on_each_engine_and_says_what_is_wrong(tmp_path: Path) -> None:
    """By default on two; what differs is in the assertion, with what to do, and the trial is a script to paste."""
    said = pytest_in(tmp_path, conftest=LOADED, flows=FLOWS, test_flows=TESTS)
    assert "2 failed, 3 passed" in said
    for engine in ("specification", "local"):
        assert f"FAILED test_flows.py::test_bad[{engine}]" in said
        assert f"test = tt.trial(flow, '{engine}')" in said
    assert "E         -  1  a  1  missing" in said
    assert "hint: test.advance('s', 1), or test.finish()" in said
    assert said.count("the same without pytest, to paste") == 2
    assert "rows = flow" not in said
    assert "s = flow.source('s', 't INT, k STRING', time='t', watermark=tg.bounded(3))" in said


def test_engines_are_chosen_by_an_option_or_a_setting(tmp_path: Path) -> None:
    """The option wins over the setting; an engine that there is not is named, and so are those that there are."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntidegate_engines = local\n", encoding="utf-8")
    files = {"conftest": LOADED, "flows": FLOWS, "test_flows": TESTS}
    said = pytest_in(tmp_path, "--collect-only", **files)
    assert "test_good[local]" in said
    assert "specification" not in said
    said = pytest_in(tmp_path, "-k", "good", "--tidegate-engines", "specification, local-bounded, sparc", **files)
    assert "test_good[local-bounded]" in said
    assert "ask after test.finish()" in said
    assert "got 'sparc'" in said
    assert "did you mean spark?" in said


def test_where_it_is_not_used_it_costs_nothing(tmp_path: Path) -> None:
    """When tests of others are collected, nothing is loaded but the plugin and the empty packages around it."""
    said = pytest_in(tmp_path, conftest=LOADED, test_others="def test_nothing(other):\n    assert other\n")
    assert "1 passed" in said
    (line,) = [line for line in said.splitlines() if line.startswith("loaded:")]
    allowed = {"tidegate", "tidegate.errors", "tidegate.printable", "tidegate.testing", "tidegate.testing.plugin"}
    assert set(line.split()[1:]) <= allowed


OWN_FIXTURE = """
import pytest

@pytest.fixture(scope="session")
def engine():
    return "mine"
"""

OWN_PARAMETER = """
def pytest_generate_tests(metafunc):
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", ["mine"])
"""


@pytest.mark.parametrize("conftest", [OWN_FIXTURE, OWN_PARAMETER])
def test_an_engine_of_others_is_theirs(tmp_path: Path, conftest: str) -> None:
    """A fixture or a parameter ``engine`` of a project wins, and its tests run once."""
    said = pytest_in(tmp_path, conftest=conftest, test_own="def test_own(engine):\n    assert engine == 'mine'\n")
    assert "1 passed" in said
