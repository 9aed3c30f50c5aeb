"""``tidegate verify``: explore the protocols exhaustively, or prove them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from tidegate.cli.app import app
from tidegate.cli.replays import show_examples
from tidegate.extras import require

if TYPE_CHECKING:
    from tidegate.check.explore import Exploration, Violation

__all__ = ["progress", "verify"]

verify = typer.Typer(help="Check the protocols that Tidegate relies on.")
app.add_typer(verify, name="verify")


@verify.callback()
def _verify() -> None:
    """Check the protocols that Tidegate relies on."""


@verify.command()
def progress(
    only: Annotated[str, typer.Option(help="Explore only models whose name contains this.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Explore the large models too.")] = False,
    mutants: Annotated[bool, typer.Option(help="Also leave out each guard in turn, and see what breaks.")] = False,
    examples: Annotated[bool, typer.Option("--examples", help="Replay example dataflows instead.")] = False,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Prove the protocols for any size, by a solver; "
            "the induction over workers, edges, paths and queues is by hand.",
        ),
    ] = False,
) -> None:
    """Explore all schedules of the progress protocols on small models, or prove them for any size."""
    require("check", "tidegate verify")
    if examples:
        show_examples(only)
        return
    if prove:
        require("prove", "tidegate verify progress --prove")
        from tidegate.cli.proofs import show_proofs

        raise typer.Exit(0 if show_proofs(Console(), only=only, mutants=mutants) else 1)
    from tidegate.check.explore import explore
    from tidegate.check.models import MODELS
    from tidegate.check.mutants import MUTANTS

    chosen = [i for i in MODELS if only in i.name and (everything or not i.large)]
    broken = [i for i in MUTANTS if only in i.name] if mutants else []
    if not chosen and not broken:
        names = "\n  ".join(i.name for i in MODELS)
        raise typer.BadParameter(f"no model has {only!r} in its name; there are\n  {names}", param_hint="--only")
    console = Console()
    violations: list[tuple[str, Violation[Any]]] = []
    surprises: list[str] = []
    table = Table("model", title="progress tracking: all schedules, breadth first")
    for column in ("states", "transitions", "depth", "properties"):
        table.add_column(column, justify="right")
    table.add_column("result")
    without = Table("without the guard", "breaks", "shortest trace", title="mutants: one guard less")

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=len(chosen) + len(broken))
        for named in chosen:
            bar.update(task, description=named.name)

            def report(states: int, waiting: int, name: str = named.name) -> None:
                bar.update(task, description=f"{name}: {states:,} states, {waiting:,} to visit")

            found = explore(named.model(), named.properties, progress=report)
            if found.violation is not None:
                violations.append((named.name, found.violation))
            counts = (f"{found.states:,}", f"{found.transitions:,}", str(found.depth), str(len(named.properties)))
            table.add_row(escape(named.name), *counts, _result(found))
            bar.advance(task)
        for mutant in broken:
            bar.update(task, description=mutant.name)
            seen = mutant.explore().violation
            if (seen.name if seen else "") != mutant.breaks:
                surprises.append(f"{mutant.name}: expected {mutant.breaks or 'nothing'} to break, got {seen}")
            steps = "" if seen is None else " · ".join(label for label, _ in seen.trace if label)
            without.add_row(escape(mutant.name), seen.name if seen else "nothing", escape(steps or mutant.harmless))
            bar.advance(task)

    if chosen:
        console.print(table)
    if broken:
        console.print(without)
    for name, violation in violations:
        console.print(f"\n[bold red]{escape(name)}[/]\n{escape(str(violation))}", highlight=False)
    for surprise in surprises:
        console.print(f"\n[bold red]not as documented[/]\n{escape(surprise)}", highlight=False)
    if violations or surprises:
        raise typer.Exit(1)


def _result(found: Exploration[Any]) -> str:
    if found.violation is not None:
        return f"[red]✗ {escape(found.violation.name)}[/]"
    return "[green]✓ holds[/]" if found.complete else "[yellow]✓ holds up to the bound[/]"
