"""A ledger on days and versions: a correction of an early day is not late, and earlier answers stay."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console

from tidegate.demos.story import Story
from tidegate.flow import Flow
from tidegate.spec import DT, WM, Event, WMs
from tidegate.spec.canvas import DOUBLE, OPEN, Canvas
from tidegate.time import Nat, Product
from tidegate.ui import side_by_side

__all__ = ["BOOKS", "balances", "late_on_one_clock", "show"]

ORDER: Final = Product(Nat(), Nat())
DAYS: Final = (1, 2, 3)
VERSIONS: Final = (1, 2)

#: How wide a cell of the grid is.
WIDE: Final = 7

CODE: Final = """\
flow = tg.Flow("ledger")
schema = "day INT, version INT, account STRING, eur INT"
entries = flow.source("entries", schema, time=("day", "version"))
flow.sink("balance", entries.accumulate(by="account", balance="sum(eur)"))
"""


def _entry(day: int, version: int, eur: int) -> DT[Any, Any]:
    return DT((day, version), {"day": day, "version": version, "account": "ann", "eur": eur})


#: Version 1 of the books is closed up to day 2; then version 2 opens, with a correction of day 1.
BOOKS: Final[list[Event]] = [
    _entry(1, 1, 100),
    _entry(2, 1, -30),
    WM((2, 1)),
    _entry(1, 2, -5),
    _entry(2, 2, 20),
    _entry(3, 1, 7),
    WM((2, 2)),
]


def ledger(*time: str) -> Flow:
    """Build the flow: the balance of each account, of all entries at or below a time."""
    flow = Flow("ledger")
    entries = flow.source("entries", "day INT, version INT, account STRING, eur INT", time=time)
    flow.sink("balance", entries.accumulate(by="account", balance="sum(eur)"))
    return flow


def _complete(events: list[Event]) -> set[tuple[int, int]]:
    wms = WMs(events)
    return {(d, v) for d in DAYS for v in VERSIONS if any(ORDER.le((d, v), w) for w in wms)}


def balances(events: list[Event]) -> dict[tuple[int, int], int]:
    """Return the balances that are final after some events."""
    done = _complete(events)
    answers = ledger("day", "version").reference({"entries": events})["balance"]
    return {e.t: e.d["balance"] for e in answers if isinstance(e, DT) and e.t in done}


def late_on_one_clock(events: list[Event]) -> list[dict[str, Any]]:
    """Return what would be late if the day were the only clock, with the same rows and watermarks in the same order."""
    one_clock = [WM(e.t[0]) if isinstance(e, WM) else DT(e.t[0], e.d) for e in events]
    return [event.d for event in ledger("day").reference({"entries": one_clock}).late["entries"]]


def _grid(events: list[Event]) -> Canvas:
    """Draw days to the right and versions upwards: balances that are final, and the entries of what is still open."""
    final, done = balances(events), _complete(events)
    canvas = Canvas()
    for row, version in enumerate(reversed(VERSIONS)):
        canvas.put(0, 3 * row + 1, f"v{version}", "caption")
        for column, day in enumerate(DAYS):
            entered = [f"{e.d['eur']:+}" for e in events if isinstance(e, DT) and e.t == (day, version)]
            if (day, version) in done:
                canvas.box(3 + WIDE * column, 3 * row, str(final[day, version]), DOUBLE, tag="complete", width=WIDE)
            else:
                canvas.box(3 + WIDE * column, 3 * row, ",".join(entered), OPEN, tag="open", width=WIDE)
    for column, day in enumerate(DAYS):
        canvas.put(3 + WIDE * column, 3 * len(VERSIONS), f"day {day}".center(WIDE), "caption")
    return canvas


def show(console: Console) -> None:
    """Show how the balances become final, and what one clock would have lost."""
    story = Story(console)
    story.title("A ledger", "on days and versions")

    story.chapter(
        "The flow",
        "Entries are about a day and belong to a version of the books. The balance at (day, version) is of all entries "
        "that are at or below it in both.",
    )
    code = Canvas()
    for n, line in enumerate(CODE.splitlines()):
        code.put(0, n, line, "data")
    story.picture(code)

    story.chapter(
        "The gate opens",
        "A double frame has a balance, in euros, that is final. A dashed one is open, with the entries so far.",
    )
    moments = [("v1 closed up to day 2", 3), ("v2 corrects day 1", 6), ("v2 closed up to day 2", 7)]
    story.picture(side_by_side([(caption, _grid(BOOKS[:n])) for caption, n in moments], width=story.width, gap=2))
    story.surprise(
        "The correction of day 1 comes after the books were closed up to day 2. It is not late, since (1, 2) is not "
        "below (2, 1); and it changes nothing that was answered. Both versions of day 2 stay to be read."
    )

    late = late_on_one_clock(BOOKS)
    story.chapter("With one clock", "The same rows and watermarks in the same order, with the day as the only time.")
    canvas = Canvas()
    x = 0
    for row in late:
        x += canvas.box(x, 0, f"day {row['day']}, version {row['version']}: {row['eur']:+}€", OPEN, tag="surprise") + 1
    story.picture(canvas)
    story.surprise(
        f"{len(late)} of {sum(isinstance(e, DT) for e in BOOKS)} entries are late. They are counted and can be read, "
        "but no balance has them."
    )
    console.print()
