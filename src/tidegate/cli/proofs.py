"""``tidegate verify progress --prove``: ask a solver about each statement, and print counterexamples."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from tidegate.check.proofs import MUTANTS, SIZES, ProofMutant, ProofQuery, Result, Verdict, answer, queries

__all__ = ["show_proofs"]

_COLOURS = {Verdict.PROVED: "green", Verdict.REFUTED: "red", Verdict.UNKNOWN: "yellow"}


def show_proofs(console: Console, *, only: str = "", mutants: bool = False) -> bool:
    """Print which statements are proved. Return whether all results are as expected.

    ``only`` chooses statements and mutants by a part of their names. With ``mutants``, each guard is also left out in
    turn, to print what is refuted then. With both, whole counterexamples are printed.
    """
    asked, broken = list(queries(only)), [m for m in MUTANTS if only in m.name] if mutants else []
    if not asked and not broken:
        names = "\n  ".join(dict.fromkeys(f"{q.protocol}: {q.statement}" for q in queries()))
        raise typer.BadParameter(f"no statement has {only!r} in its name; there are\n  {names}", param_hint="--only")
    found, unproved = _ask(console, asked, broken)
    if found:
        console.print(_proved(found))
        console.print(
            "Proved by a solver, for all sizes that the table names; "
            "the induction over workers, edges, paths and queues is by hand. What is assumed: docs/progress.md."
        )
    if broken:
        console.print(_refuted(unproved))
    bad = [r for r in found if r.verdict is not Verdict.PROVED]
    for result in bad:
        console.print(f"\n[bold red]not proved[/]\n{escape(str(result))}", highlight=False)
    surprises = [m for m, results in unproved if not m.as_expected(results)]
    for mutant in surprises:
        expected = f"a counterexample to {mutant.breaks!r}" if mutant.breaks else "that everything is proved"
        console.print(f"\n[bold red]not as documented[/]\n{escape(mutant.name)}: expected {expected}", highlight=False)
    if only:
        for _, results in unproved:
            for result in results:
                if result.counterexample:
                    console.print(f"\n{escape(str(result))}", highlight=False)
    return not bad and not surprises


def _ask(
    console: Console, asked: list[ProofQuery], broken: list[ProofMutant]
) -> tuple[list[Result], list[tuple[ProofMutant, list[Result]]]]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    found: list[Result] = []
    unproved: list[tuple[ProofMutant, list[Result]]] = []
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=len(asked) + len(broken))
        for query in asked:
            bar.update(task, description=escape(query.name))
            found.append(answer(query))
            bar.advance(task)
        for mutant in broken:
            bar.update(task, description=escape(mutant.name))
            unproved.append((mutant, mutant.results()))
            bar.advance(task)
    return found, unproved


def _proved(found: list[Result]) -> Table:
    table = Table("protocol", "statement", "for", title="progress tracking: proofs by a solver")
    table.add_column("parts", justify="right")
    table.add_column("result")
    table.add_column("seconds", justify="right")
    rows: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(found, key=lambda r: (list(SIZES).index(r.query.protocol), r.query.possible)):
        rows.setdefault((result.query.protocol, _statement(result)), []).append(result)
    for (protocol, statement), results in rows.items():
        worst = max((r.verdict for r in results), key=list(Verdict).index)
        possible = results[0].query.possible
        sizes = "small examples" if possible else SIZES[protocol]
        word = "shown" if possible and worst is Verdict.PROVED else worst.value
        verdict = f"[{_COLOURS[worst]}]{word}[/]"
        seconds = f"{sum(r.seconds for r in results):.2f}"
        table.add_row(protocol, escape(statement), sizes, str(len(results)), verdict, seconds)
    return table


def _statement(result: Result) -> str:
    return "what is assumed can happen" if result.query.possible else result.query.statement


def _refuted(unproved: list[tuple[ProofMutant, list[Result]]]) -> Table:
    table = Table("without the guard", "refuted", "by the step", title="mutants: one guard less")
    for mutant, results in unproved:
        steps = [line for r in results for line in r.counterexample if line.startswith("step:")]
        shown = steps[0].removeprefix("step:").strip() if steps else mutant.harmless
        table.add_row(escape(mutant.name), escape(mutant.breaks or "nothing: all is proved"), escape(shown))
    return table
