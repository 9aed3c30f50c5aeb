"""The incremental histogram for total orders against the generic one, and the cost of antichains.

    python bench/bench_histogram.py            # about two minutes
    python bench/bench_histogram.py --quick    # a few seconds

Processor time of one thread, median of several runs with the spread between the fastest and the slowest.
"""

from __future__ import annotations

import argparse
import random
from collections import deque
from collections.abc import Callable, Iterator
from statistics import median
from time import process_time

from rich.console import Console
from rich.table import Table

from tidegate.spec import DT, WM, Event, ihist_linear_op, ihist_op, produce
from tidegate.time import Nat, Product, maximal, minimal


def stream(events: int, every: int | None, seed: int = 0) -> Iterator[Event]:
    """Events slightly out of order with at most 100 distinct data, and a watermark every so many, or one at the end."""
    rng = random.Random(seed)
    for n in range(events):
        yield DT(max(0, n // 5 + rng.randint(0, 3)), rng.randrange(100))
        if every and n % every == every - 1:
            yield WM(max(0, n // 5 - 1))
    yield WM(events)


def measure(run: Callable[[], object], repeats: int) -> tuple[float, float, float]:
    """Return the median, the least and the greatest processor time of some runs."""
    taken = []
    for _ in range(repeats):
        start = process_time()
        run()
        taken.append(process_time() - start)
    return median(taken), min(taken), max(taken)


def drain(outputs: Iterator[object]) -> None:
    """Take all outputs and keep none."""
    deque(outputs, maxlen=0)


def histograms(console: Console, sizes: list[int], generic_up_to: int, repeats: int) -> None:
    """Print the cost per event of both histograms."""
    table = Table(title="incremental histogram, microseconds per event (least … greatest)")
    for column in ("watermarks", "events", "ihist_linear_op", "ihist_op", "ratio"):
        table.add_column(column, justify="right")
    for label, every in (("every 10 events", 10), ("one, at the end", None)):
        for size in sizes:
            events = list(stream(size, every))
            mid, low, high = measure(lambda events=events: drain(produce(ihist_linear_op(Nat()), events)), repeats)  # type: ignore[misc]
            linear = f"{mid / size * 1e6:.1f} ({low / size * 1e6:.1f} … {high / size * 1e6:.1f})"
            generic, ratio = "not run", "–"
            if size <= generic_up_to:
                slow, low, high = measure(lambda events=events: drain(produce(ihist_op(Nat()), events)), 1)  # type: ignore[misc]
                generic, ratio = f"{slow / size * 1e6:.0f}", f"{slow / mid:.0f}"
            table.add_row(label, f"{size:,}", linear, generic, ratio)
        table.add_section()
    console.print(table)


def antichains(console: Console, size: int, repeats: int) -> None:
    """Print what the extremal elements of many pairs cost, where few and where all are extremal."""
    rng = random.Random(1)
    order = Product(Nat(), Nat())
    inputs = {
        "random pairs": [(rng.randrange(size), rng.randrange(size)) for _ in range(size)],
        "an antichain": [(n, size - n) for n in range(size)],
        "a chain": [(n, n) for n in range(size)],
    }
    table = Table(title=f"extremal elements of {size:,} times of Product(Nat(), Nat()), milliseconds")
    for column in ("input", "maximal", "minimal", "elements kept"):
        table.add_column(column, justify="right")
    for label, times in inputs.items():
        rng.shuffle(times)
        cells = []
        for f in (maximal, minimal):
            mid, low, high = measure(lambda f=f, times=times: f(order, times), repeats)  # type: ignore[misc]
            cells.append(f"{mid * 1e3:.0f} ({low * 1e3:.0f} … {high * 1e3:.0f})")
        table.add_row(label, *cells, f"{len(maximal(order, times)):,}")
    console.print(table)


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    quick = parser.parse_args().quick
    console = Console()
    histograms(console, [1_000, 5_000] if quick else [1_000, 5_000, 20_000, 50_000], 1_000 if quick else 50_000, 3)
    antichains(console, 10_000, 5)


if __name__ == "__main__":
    main()
