"""Multiplicity changes per second of the tracker, against recomputing the implied frontiers.

    python bench/bench_tracker.py [--quick]

Shapes: a chain; a binary tree towards its root, all of whose leaves hold a pointstamp; a loop whose last edge adds one.
In each, one pointstamp

- *walks*: it moves along an edge, two changes in a batch, and at most two frontiers change, whatever the size;
- *advances*: where it is at the beginning, its time goes up by one, and every frontier downstream changes. In the tree
  all leaves advance in one batch.

"Recomputing" is the definition: for every location the least of what all pointstamps become along path summaries. These
are found beforehand and not counted. It is timed on as many steps as fit into a fraction of a second, at least one, and
in the tree not beyond 1,000 locations, where path summaries from every leaf would take minutes.

Seconds are those of the processor, so that other work on the machine disturbs the figures less.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median
from time import process_time
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegate.progress import Graph, Progress
from tidegate.time import Nat, Order, Product, minimal

Batch = list[tuple[Any, Any, int]]
Steps = Iterator[Batch]

REPEATS = 7
SECONDS = 0.1


@dataclass(frozen=True)
class Case:
    """A graph, the pointstamps that it begins with, and endless batches of changes."""

    graph: Graph
    start: dict[Any, dict[Any, int]]
    steps: Callable[[], Steps]


def chain(n: int, kind: str, order: Order[Any], up: Any) -> Case:
    summaries = order.summaries
    graph = Graph(order, {(i, i + 1): summaries.neutral for i in range(n - 1)})
    first = order.least()
    return Case(graph, {0: {first: 1}}, lambda: steps(kind, list(range(n)), [0], first, up, summaries.results_in))


def tree(n: int, kind: str, order: Order[Any], up: Any) -> Case:
    summaries = order.summaries
    graph = Graph(order, {(i, (i - 1) // 2): summaries.neutral for i in range(1, n)})
    leaves = list(range((n - 1) // 2, n)) if n > 1 else [0]
    path = [n - 1]
    while path[-1]:
        path.append((path[-1] - 1) // 2)
    first = order.least()
    start = {leaf: {first: 1} for leaf in leaves}
    if kind == "walks":
        # The walker comes on top of the pointstamps that stay at the leaves.
        start[n - 1] = {first: 2}
    return Case(graph, start, lambda: steps(kind, path, leaves, first, up, summaries.results_in))


def loop(n: int, kind: str, order: Order[Any], up: Any) -> Case:
    summaries = order.summaries
    graph = Graph(order, {(i, (i + 1) % n): up if i == n - 1 else summaries.neutral for i in range(n)})
    first = order.least()
    return Case(graph, {0: {first: 1}}, lambda: steps(kind, list(range(n)), [0], first, up, summaries.results_in))


def steps(
    kind: str, path: list[int], holders: list[int], first: Any, up: Any, results_in: Callable[[Any, Any], Any]
) -> Steps:
    t = first
    if kind == "walks":
        for here, there in cycle(zip(path, [*path[1:], path[0]], strict=True)):
            u = results_in(t, up) if there == path[0] else t
            yield [(here, t, -1), (there, u, 1)]
            t = u
    while True:
        u = results_in(t, up)
        yield [change for l in holders for change in ((l, t, -1), (l, u, 1))]
        t = u


def track(case: Case) -> list[float]:
    """Return changes per second, several times; making the batches is not counted."""
    progress = Progress(case.graph, case.start)
    update = progress.update
    ahead = case.steps()
    many = 1
    rates: list[float] = []
    while len(rates) < REPEATS:
        todo = list(islice(ahead, many))
        start = process_time()
        for batch in todo:
            update(batch)
        took = process_time() - start
        if took < SECONDS and not rates:
            many *= 2
            continue
        rates.append(sum(map(len, todo)) / took)
    return rates


def recompute(case: Case) -> float:
    """Return changes per second if all implied frontiers are computed anew after each batch."""
    graph = case.graph
    held = {(l, t): n for l, counts in case.start.items() for t, n in counts.items()}
    spent = 0.0
    changes = 0
    for batch in case.steps():
        for l, t, n in batch:
            held[l, t] = held.get((l, t), 0) + n
        present = [p for p, n in held.items() if n > 0]
        for l, _ in present:
            graph.path_summaries(l)
        start = process_time()
        implied: dict[Any, list[Any]] = {}
        for l, t in present:
            for m, paths in graph.path_summaries(l).items():
                implied.setdefault(m, []).extend(s.results_in(t) for s in paths)
        for m, results in implied.items():
            minimal(graph.order(m), results)
        spent += process_time() - start
        changes += len(batch)
        if spent > SECONDS or changes > 200:
            break
    return changes / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the graphs of 10,000 locations")
    sizes = [10, 100, 1_000] if parser.parse_args().quick else [10, 100, 1_000, 10_000]
    table = Table(title=f"multiplicity changes per second: median of {REPEATS} (least to greatest)")
    for column in ("shape", "locations", "pointstamp", "tracker", "spread", "µs a change", "recomputing", "ratio"):
        table.add_column(column, justify="left" if column in ("shape", "pointstamp") else "right")
    pairs = Product(Nat(), Nat())
    shapes: list[tuple[str, Callable[[int, str, Order[Any], Any], Case], Order[Any], Any]] = [
        ("chain", chain, Nat(), 1),
        ("tree", tree, Nat(), 1),
        ("loop", loop, Nat(), 1),
        ("loop, pairs", loop, pairs, (0, 1)),
    ]
    for name, shape, order, up in shapes:
        for kind in ("walks", "advances"):
            for n in sizes:
                case = shape(n, kind, order, up)
                rates = track(case)
                middle = median(rates)
                feasible = shape is not tree or n <= 1_000
                anew = recompute(case) if feasible else None
                table.add_row(
                    name,
                    f"{n:,}",
                    kind,
                    f"{middle:,.0f}",
                    f"{min(rates):,.0f} to {max(rates):,.0f}",
                    f"{1e6 / middle:.2f}",
                    "" if anew is None else f"{anew:,.1f}" if anew < 100 else f"{anew:,.0f}",
                    ""
                    if anew is None
                    else f"{middle / anew:,.1f} ×"
                    if middle < 10 * anew
                    else f"{middle / anew:,.0f} ×",
                )
            table.add_section()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
