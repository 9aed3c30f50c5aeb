"""The names that users import: each is there, and errors are found in one place."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tidegate as tg
from tidegate.errors import TidegateError
from tidegate.time import TOP


@pytest.mark.parametrize("name", tg.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """What the package lists can be had from it."""
    assert getattr(tg, name) is not None
    assert name in dir(tg)


def test_names_are_what_they_are_elsewhere() -> None:
    """The bound of watermarks is that of times, and PySpark's name for `foreach` is another name for it."""
    assert tg.TOP is TOP
    assert tg.foreach_batch is tg.foreach
    assert isinstance(tg.foreach_batch(print), tg.Output)


def every_error(kind: type[TidegateError] = TidegateError) -> set[type[TidegateError]]:
    return {kind}.union(*map(every_error, kind.__subclasses__()))


def test_every_error_of_flows_is_in_one_place() -> None:
    """Errors that flows and runs raise are in `tg.errors`, wherever they are defined, and are listed there."""
    listed = dir(tg.errors)
    assert all(issubclass(getattr(tg.errors, name), TidegateError) for name in listed)
    layers = ("extras", "flow", "reference", "engine", "spark", "local_engine")
    raised = [error for error in every_error() if error.__module__.split(".")[1:2][0] in layers]
    assert len(raised) > 30
    assert [error for error in raised if getattr(tg.errors, error.__name__, None) is not error] == []
    assert {error.__name__ for error in raised} <= set(listed)


def test_a_name_that_is_no_error_is_not_there() -> None:
    """Functions of the modules behind it are no errors, and a typo is told as always."""
    for name in ("nearest", "UnknownColum", "_private"):
        with pytest.raises(AttributeError, match=f"module 'tidegate.errors' has no attribute '{name}'"):
            getattr(tg.errors, name)


def test_errors_load_nothing_until_they_are_asked_for() -> None:
    """Importing the package loads no flow, and asking for an error of Spark's does not need Spark."""
    code = (
        "import sys, tidegate as tg; tg.errors; assert 'tidegate.flow' not in sys.modules; "
        "tg.errors.BadWorkers; tg.errors.LateRow; assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
