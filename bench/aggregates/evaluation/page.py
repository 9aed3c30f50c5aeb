"""What was found, as a page of Markdown: tables, what is theirs beside it, and which cells there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from textwrap import fill

from bench.aggregates.evaluation.figures import Found, Measured, is_join, latency_of, mean_of
from bench.aggregates.evaluation.plan import FORMS, Plan
from bench.aggregates.evaluation.sides import SIDES
from bench.aggregates.evaluation.theirs import SHARES, THEIRS
from bench.aggregates.queries import QUERIES

__all__ = ["page"]

_WIDTH = 120
#: What the local engine is to have of the throughput of Spark by hand: Maps, and Joins.
_GOALS = {"Maps": 1.0, "Joins": 20.0}


def page(found: Found, drawn: Sequence[str] = ()) -> str:
    """Return the page; ``drawn`` are the names of the figures that there are."""
    parts = [
        _said(found),
        _missing(found, drawn),
        *_beside(found),
        *_at_one_rate(found),
        *_forms(found),
        *_rates(found),
        *_synthetic(found),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _said(found: Found) -> str:
    agreed = [name for name, answers in found.checked.items() if isinstance(answers, int)]
    differ = [f"{name} ({why})" for name, why in found.checked.items() if isinstance(why, str)]
    spans = sorted({one.seconds for one in found.sustained.values()})
    runs = sorted({one.runs for one in found.sustained.values()})
    factors = sorted({one.tolerance for one in found.sustained.values()})
    loads = [one.load for one in found.sustained.values()]
    texts = [
        f"`python -m bench.aggregates evaluate` on {found.machine or 'nothing yet'}.",
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
        if stolen := max(one.stolen for one in found.sustained.values()):
            texts.append(f"Others on its host took up to {100 * stolen:.0f} % of the processors in a run.")
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
        f"{SIDES[side]}: {len(names)} of 24 queries" + (f" ({', '.join(names)})" if 0 < len(names) < 24 else "")
        for side, names in sides.items()
    ]
    without = [str(n) for n in range(9, 15) if not any(name.startswith(f"figure-{n}-") for name in drawn)]
    none = f" Nothing was measured for Figures {', '.join(without)}." if without else ""
    older = [
        f"{SIDES[side]}{', ' + form if form != 'dedicated' else ''}: "
        + ", ".join(sorted({query for s, f, query, t in found.older if (s, f, t) == (side, form, tumbling)}))
        + (" in tumbling windows" if tumbling else "")
        for side, form, tumbling in dict.fromkeys((side, form, tumbling) for side, form, _, tumbling in found.older)
    ]
    before = (
        f" **Measured with older code than others of their side:** {'; '.join(older)}. They were measured again after "
        "changes that these were not."
        if older
        else ""
    )
    return fill(f"**What there is.** {'; '.join(said)}.{none}{before}", _WIDTH)


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


def _latency(found: Mapping[str, float] | None) -> str:
    return "/".join(_seconds(found[name]) for name in ("median", "p95", "p99")) if found else ""


def _beside(found: Found) -> list[str]:
    parts = []
    for kind in ("Maps", "Joins"):
        join = kind == "Joins"
        rows: list[list[str]] = []
        compared: dict[str, tuple[Measured, Measured]] = {}
        for name in (n for n in QUERIES if is_join(n) == join):
            sides = {side: found.sustained.get((side, "dedicated", name, join)) for side in SIDES}
            if not any(sides.values()):
                continue
            hand, local = sides["hand"], sides["local"]
            if hand and local and hand.rate:
                compared[name] = hand, local
            cells = [f"{one.throughput(name):,.0f}" if one else "" for one in sides.values()]
            cells.append(f"{_ratio(name, compared[name]):.1f}" if name in compared else "")
            if join:
                cells += [_latency(one.pairs) if one else "" for one in sides.values()]
            cells += [_latency(one.latency) if one else "" for one in sides.values()]
            rows.append([name, *cells])
        short = ["by hand", "on Spark", "local"]
        whats = ["pairs", "windows"] if join else ["latency"]
        headings = ["query", *short, "local to hand", *(f"{what}, {side}" for what in whats for side in short)]
        parts += _table(
            f"{kind} on three sides (Figure 14){', in tumbling windows' if join else ''}",
            _compared(kind, compared),
            headings,
            rows,
        )
    return parts


def _ratio(name: str, sides: tuple[Measured, Measured]) -> float:
    hand, local = sides
    return local.throughput(name) / hand.throughput(name)


def _compared(kind: str, compared: Mapping[str, tuple[Measured, Measured]]) -> str:
    """Say how the local engine stands beside Spark by hand: throughput, and latency as the paper counts it."""
    if not compared:
        return ""
    join = kind == "Joins"
    # The paper has texts only here.
    sources = {"texts": [n for n in compared if n.isupper()], "scans": [n for n in compared if not n.isupper()]}
    said = "; ".join(
        f"on {source}, {_of_source({name: compared[name] for name in names}, join=join)}"
        for source, names in sources.items()
        if names
    )
    ratios = {name: _ratio(name, sides) for name, sides in compared.items()}
    goal = _GOALS[kind]
    wanted = f"{goal:g} times" if goal > 1 else "as much as"
    missed = [f"{name} {ratio:.1f}" for name, ratio in ratios.items() if ratio < goal]
    ways = (
        " Latency of *pairs*, which is the paper's, counts from the later row of a pair until the pair can be read, "
        "that of *windows* from the last row of a window until all of its pairs can."
        if join
        else ""
    )
    return (
        f"{'Comparisons' if join else 'Rows'} a second that are sustained, and the latency there in seconds: "
        f"median/95 %/99 %.{ways} The local engine beside Spark by hand, each at its own greatest rate: {said}. "
        f"Goal, {wanted} Spark by hand: {len(ratios) - len(missed)} of {len(ratios)}"
        f"{'; missed: ' + ', '.join(missed) if missed else ''}. {THEIRS[f'14 {kind}']}"
    )


def _of_source(compared: Mapping[str, tuple[Measured, Measured]], *, join: bool) -> str:
    """Say what the local engine has of the throughput and the latency of Spark by hand, in the (geometric) mean."""
    latencies = {"rows": {n: _sooner(h.latency, m.latency) for n, (h, m) in compared.items()}}
    if join:
        latencies = {
            "pairs": {n: _sooner(h.pairs, m.pairs) for n, (h, m) in compared.items()},
            "windows": latencies["rows"],
        }
    said = []
    for what, found in latencies.items():
        later = [name for name, ratio in found.items() if ratio >= 1]
        said.append(
            f"{100 * geometric_mean(found.values()):.0f} % of the median latency of {what} (sooner: "
            f"{len(found) - len(later)} of {len(found)}{'; not: ' + ', '.join(later) if later else ''})"
        )
    mean = geometric_mean(_ratio(name, sides) for name, sides in compared.items())
    return f"{mean:.1f} times the throughput and {' and '.join(said)}"


def _sooner(hand: Mapping[str, float] | None, local: Mapping[str, float] | None) -> float:
    return local["median"] / hand["median"] if hand and local else 1.0


def _at_one_rate(found: Found) -> list[str]:
    """All sides at one rate, which all of them sustain: there latencies can be compared."""
    rows: list[list[str]] = []
    shares: list[float] = []
    medians: dict[str, list[tuple[str, float, float]]] = {"rows": [], "pairs": [], "windows": []}
    for name in QUERIES:
        join = is_join(name)
        cells = {side: found.cells.get((side, "dedicated", name, join), {}) for side in SIDES}
        best = {side: found.sustained.get((side, "dedicated", name, join)) for side in SIDES}
        shared: list[tuple[int, float, float, float]] = []
        for rate in set().union(*cells.values()):
            sides = [s for s in SIDES if rate in cells[s] and (most := best[s]) and rate <= most.rate]
            # As in the evaluation: Tidegate on Spark does not decide, if both others are there.
            decide = [side for side in sides if side != "spark" or len(sides) < 3]
            if len(sides) > 1:
                share = rate / min(most.rate for side in decide if (most := best[side]))
                shared.append((len(sides), -abs(share - Plan().common), share, rate))
        if not shared:
            continue
        # Where most sides were run, and there the rate that is nearest to the one that is wanted.
        *_, share, rate = max(shared)
        runs = {s: cells[s][rate] for s in SIDES if rate in cells[s] and (most := best[s]) and rate <= most.rate}
        shares.append(share)
        row = [name, f"{rate:,.0f}"]
        for what in ("pairs", "windows") if join else ("rows", ""):
            waits = {side: latency_of([run[what] for run in ran]) for side, ran in runs.items() if what}
            row += [_latency(waits.get(side)) for side in SIDES]
            if waits.get("hand") and waits.get("local"):
                medians[what].append((name, waits["hand"]["median"], waits["local"]["median"]))
        rows.append(row)
    if not rows:
        return []
    sooner = []
    for what, known in medians.items():
        later = [name for name, hand, local in known if local >= hand]
        if known:
            but = f" (not: {', '.join(later)})" if later else ""
            sooner.append(f"for {len(known) - len(later)} of {len(known)} by {what}{but}")
    caption = (
        f"A rate that all of these sides sustain, {_share(shares)} of what the slower of them does (of Spark by hand "
        "and the local engine, where they are there); seconds, median/95 %/99 %. Of Joins, the latency of pairs, which "
        "is the paper's, stands before that of windows; all sides write a pair as soon as both rows are there. The "
        f"local engine is sooner than Spark by hand {', '.join(sooner)}."
    )
    short = ("by hand", "on Spark", "local")
    headings = [
        "query",
        "rows a second",
        *(f"rows or pairs, {side}" for side in short),
        *(f"windows, {side}" for side in short),
    ]
    return _table("Latency of all sides at one rate", caption, headings, rows)


def _share(shares: Sequence[float]) -> str:
    low, high = (f"{100 * share:.0f} %" for share in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"


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
            shares = [
                one.throughput(name) / base.throughput(name) if one and base and base.rate else None for one in forms
            ]
            cells += [_beside_theirs(form, name, share) for form, share in zip(FORMS[1:], shares[1:], strict=True)]
            cells += [_latency(one.pairs or one.latency) if one else "" for one in forms]
            rows.append([name, *cells])
        what = "Rows" if kind == "Maps" else "Comparisons"
        of = " of pairs" if kind == "Joins" else ""
        caption = f"{what} a second that are sustained, on Spark. {THEIRS[str(figure)]}"
        headings = ["query", *FORMS, "A+ of dedicated", "A of dedicated", *(f"latency{of}, {form}" for form in FORMS)]
        parts += _table(f"{kind} in three forms (Figure {figure})", caption, headings, rows)
    return parts


def _beside_theirs(form: str, name: str, share: float | None) -> str:
    """Write a share of what dedicated operators do, and what the paper has there."""
    ours = "" if share is None else f"{100 * share:.{0 if share >= 0.01 else 1}f} %"
    theirs = SHARES.get((form, name))
    return f"{ours} (paper: {100 * theirs:.0f} %)" if ours and theirs else ours


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
                row.append(
                    f"{mean_of([r['comparisons' if join else 'throughput'] for r in runs]):,.0f}" if runs else ""
                )
            for cells in by_form.values():
                waits = latency_of([run["pairs" if join else "rows"] for run in cells.get(rate, ())])
                row.append(_seconds(waits["mean"]) if waits else "")
            if sum(cell != "" for cell in row[1:4]) > 1:
                rows.append(row)
        what = "comparisons" if join else "rows"
        headings = [
            "rows a second that come",
            *(f"{what} a second, {form}" for form in FORMS),
            *(f"latency, {f}" for f in FORMS),
        ]
        parts += _table(
            f"{name} over the rate (Figure {figure})",
            f"On Spark; mean latency{' of pairs' if join else ''} in seconds. {THEIRS[str(figure)]}",
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
    caption = f"On Spark, dedicated = 100 %. {THEIRS['9']}"
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
