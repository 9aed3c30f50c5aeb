"""``tidegate check`` does from the shell what `check_operator` does."""

import sys

import pytest
from typer.testing import CliRunner

from tidegate.cli import app
from tidegate.cli.check import order_of
from tidegate.time import Lexicographic, Nat, Poset, Product, Sum


def run(*arguments: str):
    return CliRunner().invoke(app, ["check", *arguments], env={"COLUMNS": "120"})


def test_an_operator_that_is_correct():
    """It says what was checked, and exits with 0."""
    result = run("tidegate.spec:batch_op", "--order", "Nat()", "--examples", "50")
    assert result.exit_code == 0, result.output
    assert "✓  monotonicity" in result.output
    assert "–  soundness: not checked" in result.output


def test_a_built_in_operator_is_checked_against_its_specification():
    """The papers' operators are known by name, with soundness and completeness."""
    result = run("ihist_op", "--examples", "50")
    assert result.exit_code == 0, result.output
    assert "✓  soundness" in result.output


def test_built_in_operators_take_another_order():
    """`--order` is heeded for built-in operators too."""
    result = run("incr_op", "--order", "Nat", "--examples", "20")
    assert result.exit_code == 0, result.output
    assert "over Nat()" in result.output


def test_an_operator_that_takes_no_order():
    """Something that builds an operator without arguments is called without."""
    result = run("tidegate.spec:incr_op", "--inputs", "batched", "--examples", "20")
    assert result.exit_code == 0, result.output


def test_an_operator_that_is_broken():
    """It draws the smallest stream, and exits with 1."""
    result = run("tests.cli.broken:late", "--completeness", "tests.cli.broken:nothing_missing", "--order", "Nat")
    assert result.exit_code == 1, result.output
    assert "✗  monotonicity" in result.output
    assert "┃ WM 0 ┃" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["batch"], "expected module:attribute, got 'batch'"),
        ([":op"], "expected module:attribute, got ':op'"),
        ([".near:op"], "expected module:attribute, got '.near:op'"),
        (["builtins:dict"], "expected builtins:dict to build an operator"),
        (["nowhere:op"], "expected a module 'nowhere'"),
        (["tidegate.spec:nothing"], "expected 'nothing' in the module 'tidegate.spec'"),
        (["tidegate.spec:batch_op", "--order", "Clock()"], "expected an order, got 'Clock()'"),
        (["tidegate.spec:batch_op", "--inputs", "rows"], "expected one of plain, batched, two_sided"),
        (["tests.cli.broken:NUMBER"], "expected an operator at tests.cli.broken:NUMBER, got 3 (int)"),
        (["tests.cli.broken:nothing_missing"], "expected tests.cli.broken:nothing_missing to build an operator"),
        (["tests.cli.broken:builds_nothing"], "expected an operator at tests.cli.broken:builds_nothing, got None"),
        (["ihist_op", "--inputs", "plain"], "expected only --order and --examples with the built-in ihist_op"),
        (["ihist_linear_op", "--order", "Product(Nat, Nat)"], "expected a total order for ihist_linear_op"),
    ],
)
def test_what_is_not_found(arguments, says):
    """Errors say what was expected and what came, and exit with 2."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def (", "it failed with SyntaxError: invalid syntax (mistaken.py, line 1)"),
        ("1 / 0", "it failed with ZeroDivisionError: division by zero"),
        ("import os\nos.nothing", "it failed with AttributeError: module 'os' has no attribute 'nothing'"),
        ("import sys\nsys.exit(3)", "it failed with SystemExit: 3"),
        ("import nowhere", "expected a module 'mistaken', found none: No module named 'nowhere'"),
        ("import sys\nsys.path.remove('')", "expected 'late' in the module 'mistaken', found none"),
    ],
)
def test_mistakes_in_a_module_are_reported(source, says, tmp_path, monkeypatch):
    """Whatever it raises; what it lacks is told only of what it lacks, and a changed path is no error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [part for part in sys.path if part])
    (tmp_path / "mistaken.py").write_text(source)
    sys.modules.pop("mistaken", None)
    result = run("mistaken:late")
    assert result.exit_code == 2, result.exception
    assert says in " ".join(result.output.split())
    assert "" not in sys.path


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("Nat", Nat()),
        ("Product(Nat(), Nat())", Product(Nat(), Nat())),
        ("Sum(Nat, Lexicographic(Nat, Nat))", Sum(Nat(), Lexicographic(Nat(), Nat()))),
        ("Poset([('a', 'b')])", Poset([("a", "b")])),
    ],
)
def test_orders_are_written_as_in_python(text, order):
    """An order on the command line is the expression that builds it; nothing else is evaluated."""
    assert order_of(text) == order
