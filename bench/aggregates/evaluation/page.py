"""What was found, as a page of Markdown: tables, what is theirs beside it, and which cells there are."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from textwrap import fill

from bench.aggregates.evaluation.figures import Found, Measured, is_join
from bench.aggregates.evaluation.plan import FORMS
from bench.aggregates.evaluation.sides import SIDES
from bench.aggregates.queries import QUERIES

__all__ = ["page"]

_WIDTH = 120
#: What the local engine is to have of the throughput of Spark by hand: Maps, and Joins.
_GOALS = {"Maps": 1.0, "Joins": 20.0}


def page(found: Found, machine: str, drawn: Sequence[str] = ()) -> str:
    """Return the page; ``drawn`` are the names of the figures that there are."""
    parts = [
        _said(found, machine),
        _missing(found, drawn),
        *_beside(found),
        *_at_one_rate(found),
        *_forms(found),
        *_rates(found),
        *_synthetic(found),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _said(found: Found, machine: str) -> str:
    agreed = [name for name, answers in found.checked.items() if isinstance(answers, int)]
    differ = [f"{name} ({why})" for name, why in found.checked.items() if isinstance(why, str)]
    spans = sorted({one.seconds for one in found.sustained.values()})
    runs = sorted({one.runs for one in found.sustained.values()})
    factors = sorted({one.tolerance for one in found.sustained.values()})
    loads = [one.load for one in found.sustained.values()]
    texts = [
        f"`python -m bench.aggregates evaluate` on {machine}.",
        f"Before anything was timed, all sides gave the same answers to few rows: {len(agreed)} queries.",
        *([f"**Sides differ, and were not timed: {'; '.join(differ)}.**"] if differ else []),
    ]
    if spans:
        texts += [
            f"Runs of {_list(spans)} s after the warm-up (the paper: 600), {_list(runs)} of each rate (the paper: 3); "
            f"the greatest rate was found within a factor of {_list(factors)}"
            f"{_wider(found)}.",
            f"The load of the machine before runs was {min(loads):.1f} to {max(loads):.1f}.",
        ]
    return fill(" ".join(texts), _WIDTH)


def _wider(found: Found) -> str:
    """Say where a search ended with more between what is sustained and what is not."""
    wide = [
        f"{query} {SIDES[side]}{', ' + form if form != 'dedicated' else ''} {one.beyond / one.rate:.1f}"
        for (side, form, query, _), one in found.sustained.items()
        if one.beyond is not None and one.beyond > 1.02 * one.tolerance * one.rate
    ]
    return f" ({'; '.join(wide)})" if wide else ""


def _missing(found: Found, drawn: Sequence[str]) -> str:
    """Say what was not measured."""
    sides = {side: [n for n in QUERIES if (side, "dedicated", n, is_join(n)) in found.sustained] for side in SIDES}
    said = [
        f"{SIDES[side]}: {len(names)} of 24 queries ({', '.join(names) or 'none'})" for side, names in sides.items()
    ]
    without = [str(n) for n in range(9, 15) if not any(name.startswith(f"figure-{n}-") for name in drawn)]
    none = f" Nothing was measured for Figures {', '.join(without)}." if without else ""
    return fill(f"**What there is.** {'; '.join(said)}.{none}", _WIDTH)


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _table(title: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [headings, ["---"] * len(headings), *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return [f"### {title}", *([fill(caption, _WIDTH)] if caption else []), text]


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:.1f}"


def _latency(one: Measured) -> str:
    return "/".join(_seconds(one.latency[name]) for name in ("median", "p95", "p99"))


def _beside(found: Found) -> list[str]:
    parts = []
    for kind in ("Maps", "Joins"):
        join = kind == "Joins"
        rows, ratios, sooner = [], {}, {}
        for name in (n for n in QUERIES if is_join(n) == join):
            sides = {side: found.sustained.get((side, "dedicated", name, join)) for side in SIDES}
            if not any(sides.values()):
                continue
            cells = [f"{one.throughput(name):,.0f}" if one else "" for one in sides.values()]
            cells += [_latency(one) if one else "" for one in sides.values()]
            hand, local = sides["hand"], sides["local"]
            if hand and local and hand.rate:
                ratios[name] = local.throughput(name) / hand.throughput(name)
                sooner[name] = local.latency["median"] / hand.latency["median"]
                cells.append(f"{ratios[name]:.1f} times")
            else:
                cells.append("")
            rows.append([name, *cells])
        caption = ""
        if ratios:
            goal = _GOALS[kind]
            missed = [name for name, ratio in ratios.items() if ratio < goal]
            later = [name for name, ratio in sooner.items() if ratio >= 1]
            wanted = f"{goal:g} times" if goal > 1 else "ahead of"
            theirs = {
                "Maps": "The paper: their micro engine has 1.21 times the throughput of Spark and 10 % of its latency.",
                "Joins": "The paper: their micro engine has 20 times the throughput of Spark and 28 % of its latency.",
            }
            caption = (
                f"{'Comparisons' if join else 'Rows'} a second that are sustained, and the latency there in seconds: "
                "median/95 %/99 %"
                f"{', from the last row of a window' if join else ''}. The local engine beside Spark by hand: "
                f"{geometric_mean(ratios.values()):.1f} times the throughput and "
                f"{100 * geometric_mean(sooner.values()):.0f} % of the median latency, each at its own greatest rate. "
                f"Goal, {wanted} Spark by hand: {len(ratios) - len(missed)} of {len(ratios)}"
                f"{'; missed: ' + ', '.join(missed) if missed else ''}; "
                f"sooner: {len(sooner) - len(later)} of {len(sooner)}"
                f"{'; not: ' + ', '.join(later) if later else ''}. {theirs[kind]}"
            )
        short = ["by hand", "on Spark", "local"]
        headings = ["query", *short, *(f"latency, {side}" for side in short), "local to hand"]
        parts += _table(
            f"{kind} on three sides (Figure 14){', in tumbling windows' if join else ''}", caption, headings, rows
        )
    return parts


def _at_one_rate(found: Found) -> list[str]:
    """All sides at one rate, which all of them sustain: there latencies can be compared."""
    rows, ahead, compared = [], 0, 0
    behind: list[str] = []
    for name in QUERIES:
        join = is_join(name)
        cells = {side: found.cells.get((side, "dedicated", name, join), {}) for side in SIDES}
        best = {side: found.sustained.get((side, "dedicated", name, join)) for side in SIDES}
        shared = [
            (len(sides), rate)
            for rate in set().union(*cells.values())
            if len(sides := [s for s in SIDES if rate in cells[s] and (most := best[s]) and rate <= most.rate]) > 1
        ]
        if not shared:
            continue
        # Where most sides were run, and there the greatest rate.
        rate = max(shared)[1]
        row = [name, f"{rate:,.0f}"]
        medians = {}
        for side in SIDES:
            runs = cells[side].get(rate, ()) if cells[side] else ()
            one = runs[-1] if runs else None
            what = (one["windows"] if join else one["rows"]) if one else None
            row.append("/".join(_seconds(what[n]) for n in ("median", "p95", "p99")) if what else "")
            if what:
                medians[side] = what["median"]
            if join:
                row[-1] += f" ({_seconds(one['pairs']['median'])})" if one and one["pairs"] else ""
        if {"hand", "local"} <= set(medians):
            compared += 1
            ahead += medians["local"] < medians["hand"]
            behind += [name] if medians["local"] >= medians["hand"] else []
        rows.append(row)
    caption = (
        "A rate that all of these sides sustain; seconds, median/95 %/99 %. Of Joins from the last row of a window "
        "until all of its pairs can be read; in parentheses the median of pairs, from the later row of a pair, as "
        "the authors' programs count. Spark writes an inner pair when it is found; Tidegate answers when the window is "
        "complete, so that its pairs wait for the end of the window. "
        f"The local engine is sooner than Spark by hand for {ahead} of {compared}"
        f"{'; not: ' + ', '.join(behind) if behind else ''}."
    )
    headings = ["query", "rows a second", *("by hand", "on Spark", "local")]
    return _table("Latency of all sides at one rate", caption, headings, rows)


def _forms(found: Found) -> list[str]:
    parts = []
    for figure, kind in ((11, "Maps"), (13, "Joins")):
        rows = []
        for name in (n for n in QUERIES if is_join(n) == (kind == "Joins")):
            forms = [found.sustained.get(("spark", form, name, False)) for form in FORMS]
            if sum(one is not None for one in forms) < 2:
                continue
            base = forms[0]
            cells = [f"{one.throughput(name):,.0f}" if one else "" for one in forms]
            cells += [f"{100 * one.rate / base.rate:.0f} %" if one and base and base.rate else "" for one in forms[1:]]
            cells += [_latency(one) if one else "" for one in forms]
            rows.append([name, *cells])
        theirs = {
            "Maps": (
                "The paper, on Flink: A has 34 % less than dedicated for LLM and 90 % less for HLM; A+ about as much "
                "on the Odroid."
            ),
            "Joins": "The paper, on Flink: A+ and dedicated differ negligibly, A more, and its latency grows.",
        }
        caption = f"{'Rows' if kind == 'Maps' else 'Comparisons'} a second that are sustained, on Spark. {theirs[kind]}"
        headings = ["query", *FORMS, "A+ of dedicated", "A of dedicated", *(f"latency, {form}" for form in FORMS)]
        parts += _table(f"{kind} in three forms (Figure {figure})", caption, headings, rows)
    return parts


def _rates(found: Found) -> list[str]:
    parts = []
    for figure, name in ((10, "AHM"), (12, "ahj")):
        join = is_join(name)
        by_form = {form: found.cells.get(("spark", form, name, False), {}) for form in FORMS}
        rows = []
        for rate in sorted(set().union(*by_form.values())):
            row = [f"{rate:,.0f}"]
            for cells in by_form.values():
                runs = cells.get(rate)
                row.append(f"{runs[-1]['comparisons' if join else 'throughput']:,.0f}" if runs else "")
            for cells in by_form.values():
                runs = cells.get(rate)
                what = runs[-1]["windows" if join else "rows"] if runs else None
                row.append(_seconds(what["mean"]) if what else "")
            if sum(cell != "" for cell in row[1:4]) > 1:
                rows.append(row)
        theirs = {
            10: "The paper, on Flink: A has about 50 % less than dedicated, A+ about 16 % less.",
            12: "The paper, on Flink: D and A+ are close; A's latency grows faster.",
        }
        what = "comparisons" if join else "rows"
        headings = [
            "rows a second that come",
            *(f"{what} a second, {form}" for form in FORMS),
            *(f"latency, {f}" for f in FORMS),
        ]
        parts += _table(
            f"{name} over the rate (Figure {figure})",
            f"On Spark; mean latency in seconds. {theirs[figure]}",
            headings,
            rows,
        )
    return parts


def _synthetic(found: Found) -> list[str]:
    rows = []
    queries = {query for _, _, query, _ in found.sustained if query.startswith("S")}
    for query in sorted(queries, key=lambda q: tuple(map(float, q[1:].split("x")))):
        forms = {form: found.sustained.get(("spark", form, query, False)) for form in FORMS}
        base = forms["dedicated"]
        if base is None or not base.rate:
            continue
        selectivity, work = query[1:].split("x")
        cost = found.costs.get(int(work))
        row = [selectivity, work, f"{cost:.1f}" if cost else "", f"{base.rate:,.0f}"]
        row += [f"{100 * one.rate / base.rate:.0f} %" if (one := forms[form]) else "" for form in FORMS[1:]]
        row += [
            f"{100 * one.latency['mean'] / base.latency['mean']:.0f} %" if (one := forms[form]) else ""
            for form in FORMS[1:]
        ]
        rows.append(row)
    caption = (
        "On Spark, dedicated = 100 %. The paper, on Flink, for 0.6 to 46 µs a row: A+ has 30 to 38 % of the throughput "
        "where a row costs little and 98 to 100 % where it costs much; A 3 to 28 %, and 90 to 96 % for low selectivity."
    )
    headings = [
        "outputs a row",
        "rounds of work",
        "µs of a processor a row",
        "dedicated a second",
        "A+",
        "A",
        "latency, A+",
        "latency, A",
    ]
    return _table("The synthetic Map (Figure 9)", caption, headings, rows)
