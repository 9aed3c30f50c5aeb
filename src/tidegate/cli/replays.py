"""``tidegate verify progress --examples``: example dataflows on everything that tracks progress."""

from __future__ import annotations

from random import Random

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["show_examples"]

#: How many schedules each machine is replayed under, besides the one in which every message arrives at once.
SCHEDULES = 5


def show_examples(only: str) -> None:
    """Replay the examples whose name contains ``only``, and print the results; exit with 1 if one is wrong."""
    from tidegate.check.examples import EXAMPLES, load_example
    from tidegate.check.machines import machines
    from tidegate.check.replay import Mismatch, replay

    chosen = [load_example(name) for name in EXAMPLES if only in name]
    if not chosen:
        names = "\n  ".join(EXAMPLES)
        raise typer.BadParameter(f"no example has {only!r} in its name; there are\n  {names}", param_hint="--only")
    console = Console()
    table = Table("example", title="example dataflows: frontiers as written, after every step and on every machine")
    for column in ("workers", "locations", "steps"):
        table.add_column(column, justify="right")
    for column in machines(chosen[0]):
        table.add_column(column)
    wrong: list[Mismatch] = []
    with console.status("") as status:
        for example in chosen:
            status.update(example.name)
            row = [example.name, str(example.workers), str(len(example.graph.locations)), str(len(example.trace))]
            for makers in machines(example).values():
                seeds = range(SCHEDULES if makers[0]().scheduled else 0)
                schedules = [None, *(Random(seed).randrange for seed in seeds)]
                runs = [replay(example, make(), choose) for make in makers for choose in schedules]
                found = [run for run in runs if run is not None]
                times = f"{len(runs)} runs" if len(runs) > 1 else "1 run"
                row.append(f"[red]✗ {len(found)} of {times}[/]" if found else f"[green]✓ {times}[/]")
                wrong += found
            table.add_row(*row)
    console.print(table)
    for mismatch in wrong:
        console.print(f"\n[bold red]not as written[/]\n{escape(str(mismatch))}", highlight=False)
    if wrong:
        raise typer.Exit(1)
