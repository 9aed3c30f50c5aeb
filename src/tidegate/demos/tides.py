"""A day in a harbour: one flow over two sources that report out of order, in this process and then on Spark."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console

import tidegate as tg
from tidegate.demos.harbour import CUT_OFF, Day, day
from tidegate.demos.story import Story
from tidegate.extras import MissingExtra, require
from tidegate.flow.arrow import table_of
from tidegate.ui import INK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Found", "differing", "early_answers", "harbour_flow", "show"]

#: The rows of each sink; those that were rejected are under a name of their own.
Found = Mapping[str, list[dict[str, Any]]]
_REJECTED = "rejected levels"

LEVELS = "ts TIMESTAMP, gauge STRING, number INT, cm INT"
PASSAGES = "ts TIMESTAMP, gauge STRING, ship STRING, draught_cm INT"


def harbour_flow() -> tg.Flow:
    """Build the flow: water per hour, passages with little water under the keel, and each ship's worst so far."""
    flow = tg.Flow("harbour")
    levels = flow.source("levels", LEVELS, time="ts", watermark=tg.bounded("4 hours"))
    passages = flow.source("passages", PASSAGES, time="ts", watermark=tg.bounded("4 hours"))

    once = levels.deduplicate(by=("gauge", "number"), within="1 day")
    hourly = once.window("1 hour").aggregate(by="gauge", reports="count(*)", low="min(cm)", high="max(cm)")
    measured = passages.join_asof(once.select("gauge", "cm"), on="gauge", within="10 minutes")
    under = measured.with_columns(under_keel_cm="cm - draught_cm").where("under_keel_cm < 100")
    worst = under.accumulate(by="ship", close_calls="count(*)", least_cm="min(under_keel_cm)")

    flow.sink("hourly", hourly)
    flow.sink("close_calls", under)
    flow.sink("worst", worst)
    return flow


def early_answers(drawn: Day) -> tuple[int, int]:
    """Return how many hours of gauges would be wrong, and of how many, if each were answered when the next one begins.

    A program that reads reports as they come and trusts their order does this.
    """
    early: dict[tuple[str, datetime], set[int]] = {}
    final: dict[tuple[str, datetime], set[int]] = {}
    latest: dict[str, datetime] = {}
    for report in drawn.levels:
        if report.ts is None:
            continue
        hour = report.ts.replace(minute=0, second=0, microsecond=0)
        final.setdefault((report.gauge, hour), set()).add(report.number)
        if hour >= latest.get(report.gauge, hour):
            latest[report.gauge] = hour
            early.setdefault((report.gauge, hour), set()).add(report.number)
    return sum(early.get(cell, set()) != numbers for cell, numbers in final.items()), len(final)


def show(console: Console, *, session: AbstractContextManager[SparkSession] | None = None) -> None:
    """Show the day as it arrives, the flow and its answers in this process; then the same flow on Spark.

    Spark runs on a session of its own, or on the given one. Without PySpark, a line says how to get it.
    """
    story = Story(console)
    story.title("Tidegate", "a day in a harbour, in this process and on Spark")
    drawn = day()
    _arrival(story, drawn)

    flow = harbour_flow()
    story.chapter(
        "The flow",
        "Two sources, one flow, three results. Expressions are Spark SQL; they were parsed and bound just now, "
        "without Spark.",
    )
    for sink in flow.plan.sinks:
        story.say(f"`{sink.name}`: {_path(flow, sink.input)}")

    rows, started = _rows(flow, drawn), time.monotonic()
    tables = flow.compute(tg.local(), rows)
    here: Found = {name: found.to_arrow_table().to_pylist() for name, found in tables.items()}
    here = {**here, _REJECTED: tables.rejected["levels"].to_arrow_table().to_pylist()}
    seconds = time.monotonic() - started
    console.print()
    story.say(
        f"`flow.compute(tg.local(), …)` has answered in {seconds:.2f} s, in this process: no JVM was started. Its "
        "answers are below."
    )
    _answers(story, drawn, here)
    rejected = here[_REJECTED]
    story.chapter("What could not take part", "Nothing that was read is lost without a count and a place to read it.")
    story.say(
        f"{len(rejected)} reports of a gauge without a clock were rejected, with the reason "
        f"`{rejected[0]['reason']}`. They are in `tables.rejected['levels']`, as they came."
    )
    _on_spark(story, flow, rows, here, seconds, session)
    console.print()


def _on_spark(
    story: Story,
    flow: tg.Flow,
    rows: Mapping[str, Any],
    here: Found,
    seconds: float,
    session: AbstractContextManager[SparkSession] | None,
) -> None:
    """Run the flow on Spark too, compare the rows, and show how long each engine took."""
    try:
        require("spark", "the same flow on Spark")
    except MissingExtra as error:
        story.console.print()
        story.console.print(f"   {error}", soft_wrap=True, markup=False, highlight=False)
        return
    story.chapter("The same flow on Spark", "`flow.compute(spark, …)`, for when one machine is not enough.")
    begun = time.monotonic()
    with session or story.spark() as spark, story.console.status("   computing"):
        started = time.monotonic()
        tables = flow.compute(spark, {name: spark.createDataFrame(given) for name, given in rows.items()})
        there: Found = {name: found.toArrow().to_pylist() for name, found in tables.items()}
        there = {**there, _REJECTED: tables.rejected["levels"].toArrow().to_pylist()}
        ended = time.monotonic()
    times = [("local", "—", f"{seconds:.2f} s"), ("Spark", f"{started - begun:.2f} s", f"{ended - started:.2f} s")]
    story.table(("engine", "to start", "to answer"), times, numbers=("to start", "to answer"))
    wrong = differing(here, there)
    if wrong:
        story.surprise(f"The rows differ in {', '.join(wrong)}. That is a mistake of Tidegate's: please report it.")
        return
    total = sum(map(len, here.values()))
    each = ", ".join(f"{len(found)} of `{name}`" for name, found in here.items())
    story.say(f"All {total} rows of both were compared, and they are equal: {each}.")


def differing(one: Found, other: Found) -> list[str]:
    """Return the names of the results whose rows are not the same, in whatever order they are.

    >>> differing({"a": [{"x": 1}, {"x": 2}], "b": [{"x": 1}]}, {"a": [{"x": 2}, {"x": 1}], "b": []})
    ['b']
    """
    names = dict.fromkeys([*one, *other])
    return [name for name in names if _counted(one.get(name, [])) != _counted(other.get(name, []))]


def _counted(rows: list[dict[str, Any]]) -> Counter[Any]:
    def fixed(value: Any) -> Any:
        return tuple((name, fixed(part)) for name, part in value.items()) if isinstance(value, dict) else value

    return Counter(map(fixed, rows))


def _path(flow: tg.Flow, id_: str) -> str:
    """Return what happens to rows on their way to an operator, as one line."""
    operator = flow.plan[id_]
    if not operator.inputs:
        return operator.id
    inputs = [_path(flow, name) for name in operator.inputs]
    verb = operator.verb.replace(".", " ")
    return f"{inputs[0]} → {verb}" if len(inputs) == 1 else f"({inputs[0]}) with ({inputs[1]}) → {verb}"


def _arrival(story: Story, drawn: Day) -> None:
    reports = [(report.ts, report) for report in drawn.levels if report.ts is not None]
    behind, seen = 0, reports[0][0]
    for measured, _ in reports:
        behind += measured < seen
        seen = max(seen, measured)
    longest = max(report.arrived - measured for measured, report in reports)
    story.chapter(
        "The data, as it arrives",
        f"{len(drawn.levels):,} reports of water levels, {len(drawn.passages)} of ships that pass. "
        f"{behind / len(reports):.0%} of the levels arrive behind a later one; the slowest took "
        f"{longest / timedelta(hours=1):.1f} hours.",
    )
    straggler = next(i for i, (measured, r) in enumerate(reports) if r.arrived - measured > timedelta(hours=1))
    rows = []
    for measured, report in reports[straggler - 3 : straggler + 4]:
        late = report.arrived - measured
        style = INK["surprise"] if late > timedelta(hours=1) else ""
        cells = [f"{report.arrived:%H:%M:%S}", f"{measured:%H:%M:%S}", report.gauge, f"{report.cm}", _span(late)]
        rows.append([f"[{style}]{cell}[/]" if style else cell for cell in cells])
    story.table(("arrived", "measured", "gauge", "cm", "took"), rows, numbers=("cm", "took"))
    wrong, total = early_answers(drawn)
    story.surprise(
        f"Answering each hour when the first report of the next one arrives gets {wrong} of {total} answers wrong: "
        f"among them {CUT_OFF[0]}, which was cut off for two hours and then sent everything at once."
    )


def _answers(story: Story, drawn: Day, found: Found) -> None:
    hourly = sorted(found["hourly"], key=lambda row: (row["gauge"], row["ts"]))
    name, since, _ = CUT_OFF
    cut = [row for row in hourly if row["gauge"] == name][int(since / timedelta(hours=1)) - 1 :][:4]
    story.chapter(
        "The answers: water per hour",
        f"{len(hourly)} rows. Each is at the last microsecond of its hour, and is final: it was given once, when no "
        f"report of that hour could come any more. Here are the hours around the silence of {name}:",
    )
    rows = [
        [f"{r['window']['start']:%H:%M} to {r['window']['end']:%H:%M}", r["gauge"], r["reports"], r["low"], r["high"]]
        for r in cut
    ]
    story.table(("window", "gauge", "reports", "low", "high"), rows, numbers=("reports", "low", "high"))
    story.say("60 reports an hour, although some came twice and some hours late.")
    calls = sorted(found["close_calls"], key=lambda row: row["under_keel_cm"])[:5]
    story.chapter(
        "The answers: close calls",
        f"`join_asof` gives each passage the latest level of its gauge at or before it: {len(found['close_calls'])} of "
        f"{len(drawn.passages)} had less than a metre under the keel.",
    )
    rows = [[f"{r['ts']:%H:%M:%S}", r["ship"], r["gauge"], r["cm"], r["draught_cm"], r["under_keel_cm"]] for r in calls]
    numbers = ("water cm", "draught cm", "under keel cm")
    story.table(("passed", "ship", "gauge", *numbers), rows, numbers=numbers)
    ship, n = Counter(row["ship"] for row in found["worst"]).most_common(1)[0]
    story.say(f"`accumulate` keeps each ship's worst so far. {ship} had most answers, {n}, one at each close call:")
    story.console.print()
    rows = [
        [f"{r['ts']:%H:%M:%S}", r["ship"], r["close_calls"], r["least_cm"]]
        for r in sorted(found["worst"], key=lambda row: row["ts"])
        if r["ship"] == ship
    ]
    so_far = ("close calls so far", "least cm so far")
    story.table(("at", "ship", *so_far), rows, numbers=so_far)


def _rows(flow: tg.Flow, drawn: Day) -> dict[str, Any]:
    """Return the reports as tables of Arrow, which both engines take: instants with a zone."""

    def zoned(at: datetime | None) -> datetime | None:
        return at and at.replace(tzinfo=UTC)

    levels = [(zoned(r.ts), r.gauge, r.number, r.cm) for r in drawn.levels]
    passages = [(zoned(r.ts), r.gauge, r.ship, r.draught_cm) for r in drawn.passages]
    tables = {}
    given: dict[str, Sequence[Sequence[Any]]] = {"levels": levels, "passages": passages}
    for name, rows in given.items():
        columns = flow.plan[name].schema.columns
        named = [dict(zip([c.name for c in columns], row, strict=True)) for row in rows]
        table = table_of(named, columns)
        tables[name] = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", tz="UTC")))
    return tables


def _span(span: timedelta) -> str:
    seconds = span.total_seconds()
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
