"""The worked example of the first paper as a stream on Spark: histograms on times that are only partially ordered."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import tidegate as tg
from tidegate.demos.operators import ORDER, STREAM
from tidegate.demos.story import Story
from tidegate.spec import DT, WM, ihist_op, produce
from tidegate.spec.canvas import Canvas
from tidegate.spec.draw import show as text
from tidegate.spec.draw import stream_canvas
from tidegate.spec.draw_hasse import hasse_canvas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Histograms", "histograms_flow", "on_spark", "show", "specified"]

#: How often each word occurs at or below a time, for times that are complete.
Histograms = dict[str, Counter[str]]

COLUMNS: Final = "t STRING, word STRING"

CODE: Final = """\
flow = tg.Flow("histograms")
words = flow.source(
    "words", "t STRING, word STRING",
    time=tg.ordered("t", order), watermark=tg.punctuated("word = 'WM'"),
)
out = words.accumulate(by="word", n="count(*)", emit="complete")
flow.sink("histograms", out)
"""


def histograms_flow() -> tg.Flow:
    """Build the flow: when a time is complete, how often each word occurs at or below it."""
    flow = tg.Flow("histograms")
    watermark = tg.punctuated("word = 'WM'")
    words = flow.source("words", COLUMNS, time=tg.ordered("t", ORDER), watermark=watermark)
    flow.sink("histograms", words.accumulate(by="word", n="count(*)", emit="complete"))
    return flow


def specified() -> Histograms:
    """Return the histograms that the paper's operator gives in the end."""
    return {event.t: event.d for event in produce(ihist_op(ORDER), STREAM) if isinstance(event, DT)}


def on_spark(spark: SparkSession) -> tuple[Histograms, str, Histograms]:
    """Run the flow on a stream; return what can be read after the watermarks, what is open then, and all at the end."""
    rows = [(event.t, "WM" if isinstance(event, WM) else event.d) for event in STREAM]
    with tempfile.TemporaryDirectory() as place:
        given = Path(place, "in")
        given.mkdir()
        pq.write_table(
            pa.table(dict(zip(("t", "word"), zip(*rows, strict=True), strict=True))), given / "words.parquet"
        )
        stream = spark.readStream.schema(COLUMNS).parquet(str(given))
        outputs = {"histograms": tg.parquet(f"{place}/out")}
        run = histograms_flow().start(spark, {"words": stream}, outputs, f"{place}/checkpoint")

        def so_far() -> Histograms:
            found: Histograms = {}
            for t, word, n in tg.read(spark, f"{place}/out").collect():
                found.setdefault(t, Counter())[word] = n
            return found

        while not run.status().rows["words"]:
            run.await_termination(0.1)
        before, still_open = so_far(), ", ".join(run.frontiers()["histograms"])
        run.finish()
        return before, still_open, so_far()


def show(console: Console, *, session: AbstractContextManager[SparkSession] | None = None) -> None:
    """Show the paper's stream, the flow, and its histograms, before and after the input has ended."""
    story = Story(console)
    story.title("Histograms", "the first paper's example, as a stream on Spark")

    story.chapter("The stream", "Its times are a partial order: there are three branches above t0, and two meet in t5.")
    story.picture(stream_canvas(STREAM, width=story.width))

    story.chapter(
        "The flow",
        "`order` has the pairs of times of which one is above the other. A row with the word WM is a watermark.",
    )
    code = Canvas()
    for n, line in enumerate(CODE.splitlines()):
        code.put(0, n, line, "data")
    story.picture(code)

    with session or story.spark() as spark, console.status("   the stream runs"):
        before, still_open, after = on_spark(spark)

    story.chapter(
        "After the watermarks",
        "A double frame is a time that is complete: its histogram has been written, and is final.",
    )
    story.picture(_drawn(before))
    story.surprise(
        f"`t5` is complete, and the `a` of `t0` counts once in it, though two branches lead there. Open is only "
        f"{still_open}: nothing promises that no more data comes there."
    )

    story.chapter("At the end", "The input has ended, so nothing more can come.")
    story.picture(_drawn(after))
    console.print()
    same = after == specified()
    story.say(f"`ihist_op`, the operator of the paper, gives {'the same' if same else 'other'} histograms.")
    console.print()


def _drawn(found: Histograms) -> Canvas:
    return hasse_canvas(
        ORDER, {t: f"{t} {text(found[t])}" if t in found else t for t in ORDER.elements}, complete=found
    )
