"""What `python -m bench.aggregates` found, as tables, as a page of Markdown, and as figures numbered as the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from textwrap import fill

from rich.console import Console
from rich.table import Table

from bench.aggregates.experiment import Results
from bench.aggregates.measure import FORMS, Cost
from bench.aggregates.plots import bars, lines
from bench.aggregates.queries import QUERIES, SELECTIVITY

__all__ = ["Share", "markdown", "plots", "show", "tables"]

#: What A+ is to have of the throughput of dedicated, and Joins of that of Spark by hand, in percent.
GOAL, BY_HAND = 60.0, 100.0
#: How long lines of a page are.
_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Share:
    """The throughput of one form in percent of another's: of medians, and the least and the most that runs make of it.

    >>> share = Share.of(Cost(1, 1.0, 0.9, 1.2), Cost(2, 2.0, 1.8, 2.0))
    >>> str(share), share.reaches(50), share.reaches(60), share.reaches(70)
    ('50 % (45-67)', 'met', 'within the spread', 'missed')
    """

    percent: float
    least: float
    most: float

    @classmethod
    def of(cls, base: Cost, form: Cost) -> Share:
        """Return what a form has of the throughput of a base."""
        return cls(100 * base.processor / form.processor, 100 * base.least / form.most, 100 * base.most / form.least)

    def reaches(self, goal: float) -> str:
        """Say whether a goal is met; within the spread, it may be."""
        return "met" if self.percent >= goal else "within the spread" if self.most >= goal else "missed"

    def __str__(self) -> str:
        return f"{self.percent:.0f} % ({self.least:.0f}-{self.most:.0f})"


def tables(results: Results) -> list[Table]:
    """Return the figures as tables; the caption of each says what to see in it."""
    found = [
        _of_queries(results),
        _of_synthetic(results),
        _of_hand(results),
    ]
    return [table for table in found if table.row_count]


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i else "left")
    return table


def _reached(goal: str, of: Mapping[str, str]) -> str:
    """Say for how many a goal is met, and for which it is not."""
    said = [f"{goal}: {list(of.values()).count('met')} of {len(of)}"]
    for verdict in ("within the spread", "missed"):
        names = [name for name, found in of.items() if found == verdict]
        said += [f"{verdict}: {', '.join(names)}"] if names else []
    return "; ".join(said) + "."


def _of_queries(results: Results) -> Table:
    table = _table(
        "Bounded: rows or comparisons a second of processor time, dedicated = 100 %",
        *("query", "selectivity", "rows or comparisons", "dedicated a second", "A+", "A", "optimised"),
        *("A+ by the clock", "A by the clock", f"A+ at least {GOAL:.0f} %"),
    )
    verdicts, by_clock, optimised = {}, {}, []
    for name, (size, costs) in results.queries.items():
        shares = {form: Share.of(costs["dedicated"], costs[form]) for form in ("A+", "A", "optimised")}
        verdicts[name] = shares["A+"].reaches(GOAL)
        optimised.append(shares["optimised"].percent)
        clocks = [100 * costs["dedicated"].seconds / costs[form].seconds for form in ("A+", "A")]
        by_clock[name] = "met" if clocks[0] >= GOAL else "missed"
        rate = size / costs["dedicated"].processor
        cells = [str(shares["A+"]), f"{shares['A'].percent:.0f} %", str(shares["optimised"])]
        cells += [f"{clock:.0f} %" for clock in clocks]
        table.add_row(name, f"{SELECTIVITY[name]:g}", f"{size:,}", f"{rate:,.0f}", *cells, verdicts[name])
    if optimised:
        table.caption = (
            f"{_reached(f'A+ has at least {GOAL:.0f} %', verdicts)} {_reached('By the clock', by_clock)} "
            "Optimised is the dedicated plan again: its "
            f"{min(optimised):.0f} to {max(optimised):.0f} %, {median(optimised):.0f} % in the middle, show how far "
            "two measurements of one plan differ."
        )
    return table


def _of_synthetic(results: Results) -> Table:
    table = _table(
        "The synthetic Map (Figure 9), bounded: throughput by processor time, dedicated = 100 %",
        *("outputs a row", "rounds of work", "dedicated, µs a row", "A+", "A", "optimised"),
    )
    for (selectivity, work), costs in results.synthetic.items():
        shares = {form: Share.of(costs["dedicated"], costs[form]) for form in ("A+", "A", "optimised")}
        each = 1e6 * costs["dedicated"].processor / results.plan.rows_of(work)
        cells = [str(shares["A+"]), f"{shares['A'].percent:.0f} %", str(shares["optimised"])]
        table.add_row(f"{selectivity:g}", str(work), f"{each:.1f}", *cells)
    return table


def _of_hand(results: Results) -> Table:
    table = _table(
        "Joins in tumbling windows: comparisons a second of processor time, Spark by hand = 100 %",
        *(
            "query",
            "comparisons",
            "by hand a second",
            "ours a second",
            "ours",
            "A+",
            "ours by the clock",
            "ours as fast",
        ),
    )
    verdicts = {}
    for name, (size, costs) in results.by_hand.items():
        shares = {form: Share.of(costs["by hand"], costs[form]) for form in ("ours", "A+")}
        verdicts[name] = shares["ours"].reaches(BY_HAND)
        rates = [f"{size / costs[form].processor:,.0f}" for form in ("by hand", "ours")]
        clock = f"{100 * costs['by hand'].seconds / costs['ours'].seconds:.0f} %"
        table.add_row(name, f"{size:,}", *rates, *map(str, shares.values()), clock, verdicts[name])
    if verdicts:
        table.caption = _reached("Ours is as fast as by hand, or faster", verdicts)
    return table


def show(results: Results, console: Console) -> None:
    """Print all tables."""
    for table in tables(results):
        console.print(table)


def markdown(results: Results) -> str:
    """Return all tables as a page of Markdown: what was run, then each table with what to see in it."""
    plan = results.plan
    only = "" if plan.names == tuple(QUERIES) else f" --only {','.join(plan.names)}"
    said = (
        f"`python -m bench.aggregates{only}` on {results.machine}. Medians of {plan.repeats} runs after {plan.warm} "
        "that do not count, A of one after a run that does not count; in parentheses, the fastest run of one form "
        "against the slowest of the other, both ways. Maps ran on "
        f"{plan.texts:,} texts and {plan.scans:,} scans, Joins on {plan.text_pairs:,} and {plan.scan_pairs:,} "
        f"({plan.text_pairs_by_hand:,} and {plan.scan_pairs_by_hand:,} against Spark by hand), the "
        f"synthetic Map on {plan.rows_of(max(plan.work)):,} to {plan.rows_of(min(plan.work)):,} rows."
    )
    return "\n\n".join([fill(said, _WIDTH), *map(_markdown, tables(results))]) + "\n"


def _markdown(table: Table) -> str:
    rows = [[str(column.header) for column in table.columns], ["---"] * len(table.columns)]
    rows += [list(map(str, cells)) for cells in zip(*(column.cells for column in table.columns), strict=True)]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return "\n\n".join([f"### {table.title}", *([fill(str(table.caption), _WIDTH)] if table.caption else []), text])


def plots(results: Results) -> dict[str, str]:
    """Return the figures as SVG, by file name; they have the numbers of the paper's that they are like."""
    found = {"bounded-9.svg": _over_work(results)} if results.synthetic else {}
    for figure, kind in ((11, "Maps"), (13, "Joins")):
        names = [name for name in results.queries if name[2].upper() == kind[0]]
        if names:
            what, unit = ("rows", "rows/s") if kind == "Maps" else ("comparisons", "pairs/s")
            rates = {f: [_rate(*results.queries[n], f) for n in names] for f in FORMS}
            title = f"{kind}: {what} a second of processor time"
            found[f"bounded-{figure}.svg"] = bars(title, names, rates, unit=unit)
    names = list(results.by_hand)
    if names:
        rates = {f: [_rate(*results.by_hand[n], f) for n in names] for f in ("by hand", "ours", "A+")}
        title = "Joins in tumbling windows: comparisons a second of processor time"
        found["bounded-14.svg"] = bars(title, names, rates, unit="pairs/s")
    return found


def _rate(size: int, costs: Mapping[str, Cost], form: str) -> float:
    return size / costs[form].processor


def _over_work(results: Results) -> str:
    shares = {
        f"{form}/{selectivity:g}": [
            Share.of(
                results.synthetic[selectivity, work]["dedicated"], results.synthetic[selectivity, work][form]
            ).percent
            for work in results.plan.work
        ]
        for form in ("A+", "A")
        for selectivity in results.plan.selectivities
    }
    title = "The synthetic Map, form/outputs a row: throughput, dedicated = 100 %"
    return lines(title, results.plan.work, shares, unit="%", over="rounds of work for each row")
