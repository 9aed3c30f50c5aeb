"""The command ``tidegate verify progress``: a table of what was explored, and an exit code that can be trusted."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tidegate.check import examples, models
from tidegate.check.explore import Always
from tidegate.check.models import NamedModel
from tidegate.check.proofs import MUTANTS, Result, Verdict
from tidegate.cli import app, proofs

run = CliRunner().invoke


def test_the_table_shows_what_was_explored():
    """For each model the table has states, transitions, depth, number of properties and the result."""
    result = run(app, ["verify", "progress", "--only", "clocks: 2 workers, splits"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    for word in ("model", "states", "transitions", "depth", "properties", "result", "3,243", "8,702", "holds"):
        assert word in result.output


def test_mutants_are_shown_with_their_shortest_traces():
    """With --mutants each guard is left out in turn and the trace that breaks a property is printed."""
    result = run(app, ["verify", "progress", "--only", "clocks, send_upd", "--mutants"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "send_upd w1 {1} · recv_upd w1 → w1" in result.output


def test_a_violation_is_printed_and_exits_with_one(monkeypatch):
    """A broken property is named with its shortest trace, and the exit code says so."""

    class Counter:
        def initial(self):
            return [0]

        def steps(self, state):
            return [("add one", state + 1)]

    small = Always("small", lambda n: f"{n} is large" if n > 2 else None)
    monkeypatch.setattr(models, "MODELS", [NamedModel("counter", Counter, [small])])
    result = run(app, ["verify", "progress"])
    assert result.exit_code == 1
    assert "small: 3 is large" in result.output
    assert "3. add one" in result.output


def test_examples_are_replayed_on_everything():
    """With --examples each example dataflow has a row, with what it was replayed on and how often."""
    result = run(app, ["verify", "progress", "--examples", "--only", "bfs"], env={"COLUMNS": "140"})
    assert result.exit_code == 0, result.output
    for word in ("bfs", "propagation", "all protocols", "fast tracker", "one tracker", "simulation", "✓ 18 runs"):
        assert word in result.output
    assert "pingpong" not in result.output


def test_an_example_that_is_not_as_written_exits_with_one(monkeypatch):
    """A frontier that is written wrong is printed with the example, the step and what was found."""
    delay = examples.load_example("delay")
    wrong = replace(delay, frontiers={**delay.frontiers, "shift.out": frozenset({4})})
    monkeypatch.setattr(examples, "load_example", lambda name: wrong)
    result = run(app, ["verify", "progress", "--examples", "--only", "delay"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "delay, after the beginning: worker 0 expects {3} at shift.out, not {4}" in result.output


def test_an_unknown_example_is_refused_with_the_names():
    """A filter that no example matches is an error that lists them."""
    result = run(app, ["verify", "progress", "--examples", "--only", "nonesuch"])
    assert result.exit_code == 2
    assert "pingpong" in result.output


def test_an_unknown_model_is_refused_with_the_names():
    """A filter that matches nothing is an error that lists what there is."""
    result = run(app, ["verify", "progress", "--only", "nonesuch"])
    assert result.exit_code == 2
    assert "tracker: loop" in result.output


def test_proofs_are_shown_by_statement():
    """With --prove each statement has a row: for which sizes, of how many parts, and what the solver says."""
    result = run(app, ["verify", "progress", "--prove", "--only", "tracker: "], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    lines = [line.split("│") for line in result.output.splitlines()]
    rows = {cells[2].strip(): [cell.strip() for cell in cells[3:6]] for cells in lines if len(cells) > 5}
    assert rows["Safe"] == ["any number of workers and locations, any orders", "1", "proved"]
    assert rows["pts = glob"][1:] == ["4", "proved"]
    assert rows["what is assumed can happen"][::2] == ["small examples", "shown"]


def test_a_mutant_is_shown_with_its_counterexample():
    """With --prove --mutants --only the configuration, the step and what it leads to are told in words."""
    asked = ["--prove", "--mutants", "--only", "exchange, send_upd: <= in justified"]
    result = run(app, ["verify", "progress", *asked], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    for words in ("refuted (with 2 workers, 2 pointstamps)", "step:   send_upd w0: send {t0: -1}", "w0 holds {t1: +1}"):
        assert words in result.output


@pytest.mark.parametrize("verdict", [Verdict.REFUTED, Verdict.UNKNOWN])
def test_what_is_not_proved_exits_with_one(monkeypatch, verdict):
    """Something that is refuted, or unknown, is named after the table, and the exit code says so."""
    monkeypatch.setattr(proofs, "answer", lambda query: Result(query, verdict, "", 0.0))
    result = run(app, ["verify", "progress", "--prove", "--only", "clocks: Safe, follows"], env={"COLUMNS": "160"})
    assert result.exit_code == 1
    assert f"clocks: Safe, follows: {verdict.value}" in result.output


def test_a_mutant_that_is_not_refuted_exits_with_one(monkeypatch):
    """A mutant whose statement is proved after all is not as documented."""
    harmless = replace(MUTANTS[3], breaks="rec is positive", harmless="")
    monkeypatch.setattr(proofs, "MUTANTS", [harmless])
    result = run(app, ["verify", "progress", "--prove", "--mutants", "--only", harmless.name], env={"COLUMNS": "160"})
    assert result.exit_code == 1
    assert "expected a counterexample to 'rec is positive'" in result.output


def test_an_unknown_statement_is_refused_with_the_names():
    """A filter that matches no statement is an error that lists what there is."""
    result = run(app, ["verify", "progress", "--prove", "--only", "nonesuch"])
    assert result.exit_code == 2
    assert "exchange: Mono of the receiver" in result.output
