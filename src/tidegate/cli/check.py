"""``tidegate check``: the four properties of an operator, from the shell."""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.console import Console

from tidegate import time
from tidegate.cli.app import app
from tidegate.cli.output import say
from tidegate.errors import NotFound, TidegateError
from tidegate.extras import require
from tidegate.time import Order

__all__ = ["check", "order_of"]

ORDERS = ("Nat", "Int", "EventTime", "Product", "Lexicographic", "Sum", "Poset")


def order_of(text: str) -> Order[Any]:
    """Return the order that an expression such as ``Product(Nat(), Nat())`` builds.

    >>> order_of("Product(Nat, Nat)")
    Product(Nat(), Nat())
    """
    import ast

    def build(node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and node.id in ORDERS:
            return getattr(time, node.id)()
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ORDERS
            and not node.keywords
        ):
            return getattr(time, node.func.id)(*map(build, node.args))
        return ast.literal_eval(node)

    try:
        order = build(ast.parse(text, mode="eval").body)
        if not isinstance(order, Order):
            raise TypeError
    except (SyntaxError, ValueError, TypeError) as error:
        if isinstance(error, TidegateError):
            raise
        raise NotFound(
            f"expected an order, got {text!r}",
            hint=f"write an expression of {', '.join(ORDERS)}: Product(Nat(), Nat())",
        ) from None
    return order


def load(name: str) -> Any:
    """Return the attribute for a text ``module:attribute``. The module may be in the current directory."""
    module_name, _, attribute = name.partition(":")
    if not attribute or not module_name or module_name.startswith("."):
        raise NotFound(f"expected module:attribute, got {name!r}", hint="for example mypackage.operators:my_operator")
    found: Any = _imported(module_name)
    try:
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise NotFound(f"expected {attribute!r} in the module {module_name!r}, found none") from None
    return found


def _imported(name: str) -> ModuleType:
    """Import a module and return it. If that fails, raise an error whose message has one line."""
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NotFound(
            f"expected a module {name!r}, found none: {error}", hint="run it where it can be imported"
        ) from None
    except TidegateError as error:
        raise error.at(f"module {name}") from None
    except (Exception, SystemExit) as error:
        raise NotFound(
            f"expected a module {name!r}, and it failed with {type(error).__name__}: {error}",
            hint=f"python -c 'import {name}' shows where that comes from",
        ) from None
    finally:
        # The module itself may have removed it.
        if "" in sys.path:
            sys.path.remove("")


def operator_of(name: str, order: Order[Any]) -> Any:
    """Return the operator of that name. If it is a function, call it, with the order or without arguments."""
    found = load(name)
    if not is_operator(found) and callable(found):
        try:
            takes_order = any(p.default is p.empty for p in inspect.signature(found).parameters.values())
            found = found(order) if takes_order else found()
        except Exception as error:
            raise NotFound(
                f"expected {name} to build an operator, it raised {type(error).__name__}: {error}",
                hint="name something that builds an operator from an order alone, for example a function of yours",
            ) from error
    if not is_operator(found):
        raise NotFound(
            f"expected an operator at {name}, got {found!r} ({type(found).__name__})",
            hint="an operator has apply(event) and exit()",
        )
    return found


def is_operator(found: object) -> bool:
    """Whether something can be run as an operator."""
    return hasattr(found, "apply") and hasattr(found, "exit") and not isinstance(found, type)


@app.command()
def check(
    operator: Annotated[str, typer.Argument(help="module:operator; or the name of a built-in one, such as batch_op")],
    order: Annotated[
        str | None, typer.Option(help="the order of the input's times", show_default="Product(Nat(), Nat())")
    ] = None,
    output_order: Annotated[str | None, typer.Option(help="the order of the output's times, if it is another")] = None,
    soundness: Annotated[str | None, typer.Option(help="module:function(events, output) -> bool")] = None,
    completeness: Annotated[str | None, typer.Option(help="module:function(events, outputs) -> bool")] = None,
    inputs: Annotated[
        str | None, typer.Option(help="what data the operator takes: plain, batched or two_sided", show_default="plain")
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="how many streams to draw for each property")] = 300,
) -> None:
    """Check that an operator is sound and complete, and that it keeps monotone and productive streams so.

    OPERATOR is an operator, or a function that builds one from the order. If a property fails, the command draws the
    smallest stream that shows it, and exits with 1.
    """
    require("check", "tidegate check")
    from tidegate import check as checks

    console = Console()
    try:
        if operator in checks.BLOCKS:
            if output_order or soundness or completeness or inputs:
                raise NotFound(
                    f"expected only --order and --examples with the built-in {operator}, got more",
                    hint=f"it brings its own specification; to give another, name it tidegate.spec:{operator}",
                )
            block = checks.BLOCKS[operator]
            report = block.check(order=None if order is None else order_of(order), examples=examples)
        else:
            built = order_of(order or "Product(Nat(), Nat())")
            kinds = {"plain": checks.plain, "batched": checks.batched, "two_sided": checks.two_sided}
            if inputs is not None and inputs not in kinds:
                raise NotFound(f"expected one of {', '.join(kinds)} for --inputs, got {inputs!r}")
            report = checks.check_operator(
                operator_of(operator, built),
                built,
                output_order=None if output_order is None else order_of(output_order),
                soundness=None if soundness is None else load(soundness),
                completeness=None if completeness is None else load(completeness),
                inputs=kinds[inputs or "plain"](),
                examples=examples,
            )
    except TidegateError as error:
        say(str(error), console=console, style="red", lines=True)
        raise typer.Exit(2) from None
    colours = {"✓": "green", "✗": "bold red", "–": "dim"}
    for line in str(report).splitlines():
        say(line, console=console, style=colours.get(line[:1], ""))
    raise typer.Exit(0 if report.ok else 1)
