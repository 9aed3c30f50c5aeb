"""The command ``tidegate explain``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidegate.cli import app

FLOW = """
import tidegate as tg
from helper import CONDITION

flow = tg.Flow("clicks")
clicks = flow.source("clicks", "t INT, page STRING", time="t")
flow.sink("n", clicks.where(CONDITION).aggregate(by="page", n="count(*)"))
if __name__ == "__main__":
    raise SystemExit("this part must not run")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("CONDITION = \"page <> ''\"\n")
    path = tmp_path / "flow.py"
    path.write_text(FLOW)
    return path


def test_it_prints_what_the_flow_does(file: Path) -> None:
    """The file is run, with its neighbours importable, and its flow explained."""
    result = CliRunner().invoke(app, ["explain", str(file)])
    assert result.exit_code == 0
    assert "count(*) AS n by page" in result.output


@pytest.mark.parametrize(("form", "beginning"), [("mermaid", "flowchart TD"), ("svg", "<svg")])
def test_it_writes_other_forms_to_a_file(file: Path, tmp_path: Path, form: str, beginning: str) -> None:
    """The form is chosen by an option, and the output goes where it is told."""
    target = tmp_path / "out"
    result = CliRunner().invoke(app, ["explain", str(file), "--format", form, "--output", str(target)])
    assert result.exit_code == 0
    assert target.read_text().startswith(beginning)


def test_a_file_without_a_flow_is_named(tmp_path: Path) -> None:
    """What is missing is said in one line and a hint, without a traceback."""
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    result = CliRunner().invoke(app, ["explain", str(path)])
    assert result.exit_code == 1
    assert "defines no flow" in result.output
    assert "Traceback" not in result.output


def test_of_several_flows_one_is_chosen(file: Path) -> None:
    """With several flows in a file, one has to be named; a wrong name is met with those that there are."""
    file.write_text(FLOW + "\nother = tg.Flow('other')\n")
    assert "choose one: --flow clicks" in CliRunner().invoke(app, ["explain", str(file)]).output
    assert "did you mean clicks?" in CliRunner().invoke(app, ["explain", str(file), "--flow", "click"]).output
    assert CliRunner().invoke(app, ["explain", str(file), "--flow", "other"]).exit_code == 0


def test_two_flows_of_one_name_are_reported(file: Path) -> None:
    """None of them is taken in silence; one flow under two names is one."""
    file.write_text(FLOW + "\nsame = flow\n")
    assert CliRunner().invoke(app, ["explain", str(file)]).exit_code == 0
    file.write_text(FLOW + "\nother = tg.Flow('clicks')\n")
    assert "has several flows of one name" in CliRunner().invoke(app, ["explain", str(file)]).output


def test_an_error_of_the_flow_is_shown_as_it_is(file: Path) -> None:
    """A mistake in the flow itself shows its own message."""
    file.write_text(FLOW.replace("CONDITION)", '"pge > 1")'))
    result = CliRunner().invoke(app, ["explain", str(file)])
    assert result.exit_code == 1
    assert "did you mean page?" in result.output
