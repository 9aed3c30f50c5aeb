"""The paper's example stream, its collections, and what four operators make of it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from rich.console import Console

from tidegate.demos.story import Story
from tidegate.spec import DT, WM, Event, batch_op, ihist_op, ihist_paths_op, incr_op, join_op, lcoll, produce
from tidegate.spec.canvas import Canvas
from tidegate.spec.draw import show as text
from tidegate.spec.draw import stream_canvas
from tidegate.spec.draw_hasse import hasse_canvas
from tidegate.time import Inl, Inr, Nat, Poset
from tidegate.ui import lanes, run_picture, side_by_side

__all__ = ["JOINED", "ORDER", "STREAM", "matching", "show"]

#: The order of Figure 1: t0 < t1 < t4, and t0 below t2 and t3, which are both below t5.
ORDER: Final = Poset([("t0", "t1"), ("t1", "t4"), ("t0", "t2"), ("t2", "t5"), ("t0", "t3"), ("t3", "t5")])
TIMES: Final = ("t0", "t1", "t2", "t3", "t4", "t5")

STREAM: Final[list[Event]] = [
    DT("t0", "a"),
    DT("t1", "c"),
    WM("t1"),
    DT("t2", "b"),
    DT("t3", "a"),
    DT("t5", "a"),
    DT("t5", "c"),
    DT("t4", "d"),
    WM("t5"),
    WM("t2"),
]

#: Orders (left) and payments (right), by day: data is the number of the order, and what was ordered or paid.
JOINED: Final[list[Event]] = [
    DT(Inl(1), "#7 tea"),
    DT(Inr(1), "#7 3€"),
    DT(Inr(2), "#9 4€"),
    WM(Inr(2)),
    DT(Inl(1), "#8 cake"),
    WM(Inl(1)),
    DT(Inl(2), "#9 pie"),
    WM(Inl(3)),
]


def matching(order: str, payment: str) -> str | None:
    """Return an order with its payment, if their numbers are the same."""
    (number, what), (paid, price) = order.split(), payment.split()
    return f"{what} {price}" if number == paid else None


def _complete(events: list[Event]) -> list[str]:
    return [t for t in TIMES if any(isinstance(e, WM) and ORDER.le(t, e.t) for e in events)]


def _collections(events: list[Event]) -> Canvas:
    labels = {t: f"{t} {text(lcoll(events, t))}" for t in TIMES}
    return hasse_canvas(ORDER, labels, complete=_complete(events))


def _histograms(outputs: list[Event]) -> dict[Any, Counter[Any]]:
    return {e.t: e.d for e in outputs if isinstance(e, DT)}


def _day(event: Event) -> str:
    t = event.t.t if isinstance(event.t, Inl | Inr) else event.t
    return f"≤{t}" if isinstance(event, WM) else f"{t} {event.d}"


def show(console: Console) -> None:
    """Show the stream, its collections, and what batch_op, incr_op, ihist_op and join_op make of it."""
    story = Story(console)
    story.title("Tidegate", "time-aware streams whose answers are final")

    story.chapter(
        "The stream",
        "A thin box is data at a time. A heavy one is a watermark, a promise: no more data at its time or below.",
    )
    story.picture(stream_canvas(STREAM, width=story.width))

    story.chapter(
        "Its collections",
        "All data at one time is a collection. Lines lead up from an earlier time to a later one; two times without "
        "such a path are neither, like versions, or records from two sources. A double frame means complete: some "
        "watermark is at or above it.",
    )
    moments = [(f"after WM {wm}", _collections(STREAM[: STREAM.index(WM(wm)) + 1])) for wm in ("t1", "t5")]
    story.picture(side_by_side(moments, width=story.width))
    story.surprise(
        "`t5` is complete and `t4` is not, although `d` came before `WM t5`: no watermark is at or above `t4`. "
        "A single clock cannot say this; there, a watermark for 5 completes 4 as well."
    )

    story.chapter("batch_op", "Holds data until a watermark covers it. What is complete leaves as one batch.")
    story.picture(run_picture(batch_op(ORDER), STREAM, width=story.width))
    story.surprise("`t4` leaves last, when the input has ended: then nothing more can come.")

    batches = list(produce(batch_op(ORDER), STREAM))
    story.chapter("incr_op", "Takes these batches and puts out, for each time in a batch, all batches so far.")
    story.picture(run_picture(incr_op(), batches, width=story.width))

    story.chapter(
        "ihist_op",
        "Both, and a count: when a time is complete, all data at or below it. Put out once, never taken back.",
    )
    story.picture(run_picture(ihist_op(ORDER), STREAM, width=story.width))
    console.print()
    once = _histograms(list(produce(ihist_op(ORDER), STREAM)))
    twice = _histograms(list(produce(ihist_paths_op(ORDER), STREAM)))
    story.picture(hasse_canvas(ORDER, {t: f"{t} {text(once[t])}" for t in TIMES}, complete=TIMES))
    story.surprise(
        f"Two paths lead from `t0` to `t5`, and its `a` counts once: `{text(once['t5'])}`. "
        f"Adding up those of `t2` and `t3` would count it twice: `{text(twice['t5'])}`."
    )

    story.chapter(
        "join_op",
        "Two streams as one, on times whose left and right are never comparable. An order meets the payment of the "
        "same day and number as soon as both sides are complete for that day.",
    )
    story.picture(
        lanes(
            join_op(Nat(), matching),
            JOINED,
            ["orders", "paid"],
            lambda event: isinstance(event.t, Inr),
            text_of=_day,
            result="both",
        )
    )
    story.surprise(
        "Payments are complete up to day 2 early on. The result says `≤1` when orders do too, and never `≤3`."
    )

    console.print()
    story.say("Read on in `docs/model.md`. Other demos: `tidegate demo --list`.")
    console.print()
