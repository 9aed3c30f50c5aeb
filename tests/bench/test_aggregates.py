"""``python -m bench.aggregates``: all of it on next to nothing, and what it says about bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import typer
from bench.aggregates.__main__ import aggregates
from bench.aggregates.experiment import Plan, Results
from bench.aggregates.measure import FORMS, Cost, bounded
from bench.aggregates.report import markdown, plots, show
from rich.console import Console


def test_an_unknown_query_is_an_error() -> None:
    """The message says which queries there are."""
    with pytest.raises(typer.BadParameter, match="there is no query 'XXM'; there are: LLM"):
        aggregates(only="XXM")


def cost(seconds: float) -> Cost:
    """What takes so long by any clock, and in every run."""
    return Cost(seconds, seconds, seconds, seconds)


@pytest.fixture
def results() -> Results:
    """Results of a Map and a Join, as if they had been measured: A+ takes twice as long, A ten times."""
    costs = {form: cost(n) for form, n in zip(FORMS, (1.0, 2.0, 10.0, 1.0), strict=True)}
    return Results(
        Plan(),
        queries={"AHM": (4000, dict(costs)), "ahj": (9000, dict(costs))},
        synthetic={(s, work): costs for s in Plan().selectivities for work in Plan().work},
        by_hand={"ahj": (9000, {"ours": cost(1), "by hand": cost(2), "A+": cost(4)})},
    )


def test_tables_have_dedicated_as_100_percent(results: Results) -> None:
    """Shares are of the throughput of dedicated."""
    console = Console(width=200, record=True, file=StringIO())
    show(results, console)
    text = console.export_text()
    (row,) = [line for line in text.splitlines() if "AHM" in line and "4,000" in line]
    assert [word for word in row.split() if word.isdigit()][-5:] == ["50", "10", "100", "50", "10"]
    assert "200 %" in text


def test_the_report_says_which_goals_are_met(results: Results) -> None:
    """For each query, and for all: A+ has half of dedicated here, which is too little, and the Join beats Spark's."""
    text = markdown(results)
    assert "| AHM | 1 | 4,000 | 4,000 | 50 % (50-50) | 10 % | 100 % (100-100) | 50 % | 10 % | missed |" in text
    assert "A+ has at least 60 %: 0 of 2; missed: AHM, ahj. By the clock: 0 of 2; missed: AHM, ahj." in text
    assert "Ours is as fast as by hand, or faster: 1 of 1." in text
    results.queries["AHM"][1]["A+"] = Cost(2.0, 2.0, 1.5, 2.5)
    assert "A+ has at least 60 %: 0 of 2; within the spread: AHM; missed: ahj." in markdown(results)


def test_figures_are_numbered_as_in_the_paper(results: Results) -> None:
    """There is a figure for the synthetic Map, for Maps, for Joins, and for Spark by hand."""
    found = plots(results)
    assert {name.split(".")[0].split("-")[1] for name in found} == {"9", "11", "13", "14"}
    assert all(svg.startswith("<svg") and svg.endswith("</svg>\n") for svg in found.values())
    assert json.loads(results.as_json())["queries"]["AHM"][0] == 4000


def test_what_was_measured_is_read_again(results: Results) -> None:
    """By the same plan and code on the same machine all of it; else nothing, since it was measured otherwise."""
    text = results.as_json()
    again = Results.of_json(text, Plan(), "", "")
    assert (again.queries, again.synthetic, again.by_hand) == (results.queries, results.synthetic, results.by_hand)
    others = ((Plan(repeats=5), "", ""), (Plan(), "another machine", ""), (Plan(), "", "other code"))
    for plan, machine, code in others:
        other = Results.of_json(text, plan, machine, code)
        assert (other.queries, other.synthetic, other.by_hand) == ({}, {}, {})


@pytest.mark.slow
def test_the_benchmark_runs(tmp_path: Path) -> None:
    """On next to nothing, it prints its tables, and writes its figures and all numbers."""
    command = [sys.executable, "-m", "bench.aggregates", "--quick", "--output", str(tmp_path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, cwd=root)
    assert done.returncode == 0, done.stderr
    assert "measured in" in done.stdout
    assert (tmp_path / "bounded-9.svg").exists()
    assert set(json.loads((tmp_path / "measured.json").read_text(encoding="utf-8"))["queries"]) == {"LLM", "LLJ"}


def test_what_takes_long_is_warmed_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each form has runs that do not count before those that do; one that takes long has one of each."""
    ran: list[str] = []

    class Table:
        """Rows that are thrown away."""

        def __getattr__(self, name: str) -> object:
            return lambda *_: self

    def table(name: str) -> object:
        ran.append(name)
        table = Table()
        table.write = table  # type: ignore[attr-defined]
        return table

    class Spark:
        """A session that has garbage to collect."""

        sparkContext = Table()  # noqa: N815

    Spark.sparkContext._jvm = Spark.sparkContext.System = Table()  # type: ignore[attr-defined]
    Spark.sparkContext._jvm.System = Table()  # type: ignore[attr-defined]
    monkeypatch.setattr("bench.aggregates.measure.processor", lambda _: lambda: 1.0)
    found = bounded(Spark(), {n: lambda n=n: table(n) for n in ("dedicated", "A")}, warm=3, repeats=2)  # type: ignore[arg-type, misc]
    assert ran == ["dedicated"] * 3 + ["A"] + ["dedicated", "A", "dedicated"]
    assert set(found) == {"dedicated", "A"}
