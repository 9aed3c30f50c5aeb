"""The command ``tidegate verify progress``: a table of what was explored, and an exit code that can be trusted."""

from dataclasses import replace

from typer.testing import CliRunner

from tidegate.check import examples, instances
from tidegate.check.explore import Always
from tidegate.check.instances import Instance
from tidegate.cli import app

run = CliRunner().invoke


def test_the_table_shows_what_was_explored():
    """For each instance the table has states, transitions, depth, number of properties and the result."""
    result = run(app, ["verify", "progress", "--only", "clocks: 2 workers, splits"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    for word in ("instance", "states", "transitions", "depth", "properties", "result", "3,243", "8,702", "holds"):
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
    monkeypatch.setattr(instances, "INSTANCES", [Instance("counter", Counter, [small])])
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
    wrong = replace(examples.load("delay"), frontiers={**examples.load("delay").frontiers, "shift.out": frozenset({4})})
    monkeypatch.setattr(examples, "load", lambda name: wrong)
    result = run(app, ["verify", "progress", "--examples", "--only", "delay"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "delay, after the beginning: worker 0 expects {3} at shift.out, not {4}" in result.output


def test_an_unknown_example_is_refused_with_the_names():
    """A filter that no example matches is an error that lists them."""
    result = run(app, ["verify", "progress", "--examples", "--only", "nonesuch"])
    assert result.exit_code == 2
    assert "pingpong" in result.output


def test_an_unknown_instance_is_refused_with_the_names():
    """A filter that matches nothing is an error that lists what there is."""
    result = run(app, ["verify", "progress", "--only", "nonesuch"])
    assert result.exit_code == 2
    assert "tracker: loop" in result.output
