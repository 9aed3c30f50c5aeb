"""``python -m bench.aggregates evaluate``: what its options do, with sides that are not real."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from bench.aggregates.evaluation import command
from bench.aggregates.evaluation.cell import Cell
from bench.aggregates.evaluation.evaluate import Evaluation
from tests.bench.simulated import fake
from typer.testing import CliRunner

APP = typer.Typer()
APP.command()(command.evaluate)


class Run:
    """Runs of the command in one directory, and the cells that they measured."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.cells: list[Cell] = []

    def __call__(self, *options: str) -> Any:
        return CliRunner().invoke(APP, [*options, "--output", str(self.output)])

    def measure(self, session: Any, cell: Cell, *others: Any) -> dict[str, Any]:
        self.cells.append(cell)
        return fake(session, cell, *others)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    found = Run(tmp_path / "out")
    given = {"measure": found.measure, "warm_up": fake, "check": lambda *_: 1, "cost": lambda _, work: work / 50}
    monkeypatch.setattr(command, "Evaluation", partial(Evaluation, **given))
    monkeypatch.setattr("bench.aggregates.evaluation.asked._DRAWN", {"texts": 50, "scans": 5, "inputs": 5})
    return found


def test_the_short_version_has_a_map_and_a_join(run: Run) -> None:
    """It says what it does, writes a report and figures, and runs nothing twice."""
    found = run("--short")
    assert found.exit_code == 0, found.output
    assert "AHM, dedicated, hand: " in found.output
    assert {cell.query for cell in run.cells} == {"AHM", "ahj"}
    assert {cell.side for cell in run.cells} == {"hand", "spark", "local"}
    assert "### Joins on three sides (Figure 14)" in (run.output / "report.md").read_text(encoding="utf-8")
    names = {path.name for path in run.output.glob("*.svg")}
    assert {"figure-14-maps-throughput.svg", "figure-10-latency.svg"} <= names
    count = len(run.cells)
    assert run("--short").exit_code == 0
    assert len(run.cells) == count


def test_what_is_asked_for_is_run(run: Run) -> None:
    """Queries, figures, sides and forms by name, also in the short version."""
    assert run("--short", "--only", "llm", "--figures", "11", "--forms", "dedicated,A+").exit_code == 0
    assert {(cell.side, cell.query, cell.form) for cell in run.cells} == {
        ("spark", "llm", "dedicated"),
        ("spark", "llm", "A+"),
    }
    assert run("--coarse", "--only", "llj", "--figures", "14", "--sides", "local", "--runs", "2").exit_code == 0
    assert {(cell.side, cell.run) for cell in run.cells if cell.query == "llj"} == {("local", 0), ("local", 1)}


def test_figures_over_rates_have_as_many_runs_as_the_plan(run: Run) -> None:
    """Each rate of Figure 10, and the one rate at which sides are compared, is run as often as any other."""
    assert run("--short", "--only", "AHM", "--figures", "10,14", "--sides", "hand,local", "--runs", "3").exit_code == 0
    ran = [(cell.side, cell.form, cell.rate) for cell in run.cells]
    sustained = {
        (cell.side, cell.form, cell.rate)
        for cell in run.cells
        if fake(None, cell, run_pools(run), run.output)["sustained"]
    }
    assert sustained
    assert all(ran.count(one) == 3 for one in sustained)
    assert all(ran.count(one) == 3 for one in ran if one[0] == "spark" and one[1] == "A+")


def run_pools(run: Run) -> Any:
    """Return the pools that a fake side needs."""
    from bench.aggregates.evaluation.asked import Pools

    return Pools(run.output, {"texts": 50, "scans": 5, "inputs": 5})


def test_it_stops_in_time_and_goes_on(run: Run) -> None:
    """After the minutes that were given it begins nothing new, and says how far it came; a report is written."""
    found = run("--short", "--minutes", "0")
    assert "stopped after 0 minutes: 0 of " in found.output
    assert run.cells == []
    assert run("--short").exit_code == 0
    assert run.cells != []


def test_a_report_runs_nothing(run: Run) -> None:
    """It is written of what is there."""
    assert run("--report").exit_code == 0
    assert run.cells == []
    assert "0 of 24 queries" in (run.output / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "XYZ"), "there is no query 'XYZ'"),
        (("--figures", "x"), "there is no figure that is measured 'x'"),
        (("--figures", "15"), "there is no figure that is measured '15'"),
        (("--sides", "flink"), "there is no side 'flink'"),
        (("--forms", "B"), "there is no form of a query 'B'"),
    ],
)
def test_what_is_unknown_is_refused(run: Run, options: tuple[str, ...], message: str) -> None:
    """Before anything runs; the message names what there is."""
    found = run(*options)
    assert found.exit_code == 2
    assert message in " ".join(found.output.replace("│", " ").split())
    assert run.cells == []
