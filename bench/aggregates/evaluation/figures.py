"""Figures 9 to 14 of what a store has, numbered as the paper's, and drawn as they are: throughput above latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.aggregates.evaluation.plan import FORMS
from bench.aggregates.evaluation.sides import SIDES
from bench.aggregates.evaluation.store import Store
from bench.aggregates.evaluation.theirs import THEIRS
from bench.aggregates.plots import bars, lines
from bench.aggregates.queries import QUERIES

__all__ = ["Found", "Measured", "figures", "found_in", "latency_of", "mean_of"]

#: Side, form, query, and whether windows are tumbling.
Key: TypeAlias = tuple[str, str, str, bool]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a side sustains of a query, in rows and in comparisons a second, and the latency there, in seconds."""

    rate: float
    comparisons: float
    latency: Mapping[str, float]
    pairs: Mapping[str, float] | None
    #: How many runs of how many seconds it was found in, and within which factor; the load of the machine before, and
    #: the share of the processors that other machines on the host took, at the most.
    runs: int
    seconds: float
    tolerance: float
    load: float
    stolen: float
    #: The least rate that is known to be too high, if one is.
    beyond: float | None

    def throughput(self, query: str) -> float:
        """Return the comparisons of a Join, and the rows of a Map, a second."""
        return self.comparisons if is_join(query) else self.rate


@dataclass(frozen=True, slots=True)
class Found:
    """What a store has."""

    sustained: Mapping[Key, Measured]
    #: The cells of each, at all rates that were run.
    cells: Mapping[Key, Mapping[float, Sequence[Mapping[str, Any]]]]
    #: How many answers the sides agreed on, or why not, by query.
    checked: Mapping[str, Any]
    #: What a row of the synthetic Map costs by its rounds of work, in microseconds of a processor.
    costs: Mapping[int, float]
    #: What it was measured on.
    machine: str = ""
    #: What was not measured again when the code of its side changed.
    older: Sequence[Key] = ()


def is_join(query: str) -> bool:
    """Whether a query is a Join."""
    return not query.startswith("S") and query[2] in "Jj"


def found_in(store: Store) -> Found:
    """Return what a store has: of the machine that ran last, and of each query what one code did.

    That is the code that ran last of its side, if it came to the greatest rate of the query; else the last that did.
    """
    machine = [entry["machine"] for entry in store.entries()][-1:]
    entries = [entry for entry in store.entries() if [entry["machine"]] == machine]
    latest = {entry["cell"].get("side"): entry["code"] for entry in entries}
    codes = {_key(entry): entry["code"] for entry in entries if "begin" not in entry["cell"]}
    ended = [entry for entry in entries if "runs" in entry["cell"]]
    codes |= {_key(entry): entry["code"] for entry in ended}
    codes |= {_key(entry): entry["code"] for entry in ended if entry["code"] == latest[entry["cell"]["side"]]}
    searches: dict[Key, tuple[dict[str, Any], dict[str, Any]]] = {}
    cells: dict[Key, dict[float, list[dict[str, Any]]]] = {}
    checked: dict[str, Any] = {}
    costs: dict[int, float] = {}
    for entry in entries:
        cell, result = entry["cell"], entry["result"]
        key = _key(entry)
        if "begin" in cell or entry["code"] != codes[key]:
            continue
        if "same" in cell:
            checked[cell["same"]] = result.get("differs") or result["answers"]
            continue
        if "cost" in cell:
            costs[cell["cost"]] = result["micros"]
            continue
        if "runs" in cell:
            # Of several searches, the one with the longest runs counts; of these, the last.
            if key not in searches or cell["seconds"] >= searches[key][0]["seconds"]:
                searches[key] = (cell, result)
        else:
            cells.setdefault(key, {}).setdefault(cell["rate"], []).append({**result, "cell": cell})
    sustained = {}
    for key, (cell, result) in searches.items():
        at = [
            run
            for run in cells.get(key, {}).get(result["rate"], ())
            if run["cell"]["seconds"] == cell["seconds"] and run["cell"]["run"] < cell["runs"]
        ]
        if at and not isinstance(checked.get(key[2]), str):
            sustained[key] = _measured(cell, result, at)
    # Runs of one rate that were shorter than others, as those of a first try are, say nothing beside them.
    longest = {key: {rate: _longest(runs) for rate, runs in rates.items()} for key, rates in cells.items()}
    older = [key for key in longest if codes[key] != latest[key[0]]]
    return Found(sustained, longest, checked, costs, "".join(machine), older)


def _longest(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    most = max(run["cell"]["seconds"] for run in runs)
    return [run for run in runs if run["cell"]["seconds"] == most]


def _key(entry: Mapping[str, Any]) -> Key:
    """Return what an entry is about; costs, and whether sides answer the same, are of no side."""
    cell = entry["cell"]
    if "side" in cell:
        return cell["side"], cell["form"], cell["query"], cell["tumbling"]
    return "", "cost" if "cost" in cell else "same", str(cell.get("cost", cell.get("same"))), False


def _measured(cell: Mapping[str, Any], result: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Measured:
    join = is_join(cell["query"])
    return Measured(
        result["rate"],
        mean_of([run["comparisons"] / run["throughput"] * result["rate"] for run in runs if run["throughput"]]),
        latency_of([run["windows" if join else "rows"] for run in runs]),
        latency_of([run["pairs"] for run in runs]) if join else None,
        len(runs),
        cell["seconds"],
        cell["tolerance"],
        mean_of([run["load"] for run in runs]),
        max((run.get("stolen", 0.0) for run in runs), default=0.0),
        result["beyond"],
    )


def latency_of(runs: Sequence[Mapping[str, float] | None]) -> dict[str, float]:
    """Return the mean of what runs have of each: of their means, their medians, and so on; nothing of no runs."""
    known = [run for run in runs if run]
    names = ("mean", "median", "p95", "p99") if known else ()
    return {name: mean_of([run[name] for run in known]) for name in names}


def mean_of(values: Sequence[float]) -> float:
    """Return the mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def figures(found: Found) -> dict[str, str]:
    """Return the figures as SVG, by the names of their files; what was not measured has none."""
    return {
        name: svg
        for name, svg in {
            **_figure_9(found),
            **_of_rates(found, 10, "AHM"),
            **_of_forms(found, 11, "Maps"),
            **_of_rates(found, 12, "ahj"),
            **_of_forms(found, 13, "Joins"),
            **_of_sides(found),
        }.items()
        if svg
    }


def _figure_9(found: Found) -> dict[str, str]:
    """Throughput and latency of A and A+ in percent of dedicated, over what a row costs."""
    known = sorted({query for side, _, query, _ in found.sustained if query.startswith("S")})
    points: dict[tuple[str, int], dict[str, Measured]] = {}
    for query in known:
        selectivity, rounds = query[1:].split("x")
        forms = {form: ("spark", form, query, False) for form in FORMS}
        points[selectivity, int(rounds)] = {
            f: found.sustained[key] for f, key in forms.items() if key in found.sustained
        }
    works = sorted({work for _, work in points})
    if len(works) < 2:
        return {}
    # The paper's axis is what a row costs; where that was not measured, it is the work.
    known_costs = all(work in found.costs for work in works)
    across = [found.costs[work] if known_costs else float(work) for work in works]
    drawn: dict[str, dict[str, list[float]]] = {"throughput": {}, "latency": {}}
    for form in ("A+", "A"):
        for selectivity in sorted({selectivity for selectivity, _ in points}):
            for what, series in drawn.items():
                values = []
                for work in works:
                    there = points.get((selectivity, work), {})
                    if form in there and "dedicated" in there:
                        one, base = there[form], there["dedicated"]
                        share = (
                            one.rate / base.rate if what == "throughput" else one.latency["mean"] / base.latency["mean"]
                        )
                        values.append(100 * share)
                    else:
                        values.append(0.0)
                series[f"{form}/{selectivity}"] = values
    return {
        f"figure-9-{what}.svg": lines(
            f"Figure 9: {what} of A and A+, dedicated = 100 %",
            across,
            {name: values for name, values in series.items() if any(values)},
            unit="%",
            over="µs of a processor for each row, dedicated" if known_costs else "rounds of work for each row",
            note=THEIRS["9"],
        )
        for what, series in drawn.items()
    }


def _of_rates(found: Found, figure: int, query: str) -> dict[str, str]:
    """Throughput and latency of the forms over the rate at which rows come."""
    by_form = {form: cells for form in FORMS if (cells := found.cells.get(("spark", form, query, False)))}
    if len(by_form) < 2:
        return {}
    # A form that was not run at a rate has no point there.
    ran = [rate for cells in by_form.values() for rate in cells]
    rates = sorted({rate for rate in ran if ran.count(rate) > 1})
    if len(rates) < 2:
        return {}
    join = is_join(query)
    name = "pairs" if join else "rows"
    throughput = {
        f: [mean_of([r["comparisons" if join else "throughput"] for r in c.get(x, ())]) for x in rates]
        for f, c in by_form.items()
    }
    latency = {
        f: [mean_of([r[name]["mean"] for r in c.get(x, ()) if r[name]]) for x in rates] for f, c in by_form.items()
    }
    over = "rows a second that come"
    return {
        f"figure-{figure}-throughput.svg": lines(
            f"Figure {figure}: {query}, {'comparisons' if join else 'rows'} a second",
            *(rates, throughput),
            unit="pairs/s" if join else "rows/s",
            over=over,
            note=THEIRS[str(figure)],
        ),
        f"figure-{figure}-latency.svg": lines(
            f"Figure {figure}: {query}, mean latency{' of pairs' if join else ''}",
            *(rates, latency),
            unit="s",
            over=over,
            note=THEIRS[str(figure)],
        ),
    }


def _of_forms(found: Found, figure: int, kind: str) -> dict[str, str]:
    """What the forms sustain of all Maps, or all Joins, and the latency there."""
    names = [n for n in QUERIES if is_join(n) == (kind == "Joins")]
    there = [form for form in FORMS if any(("spark", form, n, False) in found.sustained for n in names)]
    names = [n for n in names if sum(("spark", form, n, False) in found.sustained for form in there) > 1]
    by_form = {form: [found.sustained.get(("spark", form, n, False)) for n in names] for form in there}
    return _both(f"figure-{figure}", f"Figure {figure}: {kind} on Spark", THEIRS[str(figure)], names, by_form)


def _of_sides(found: Found) -> dict[str, str]:
    """What the sides sustain of Maps and of Joins in tumbling windows, and the latency there."""
    drawn: dict[str, str] = {}
    for kind in ("Maps", "Joins"):
        join = kind == "Joins"
        names = [n for n in QUERIES if is_join(n) == join]
        there = [side for side in SIDES if any((side, "dedicated", n, join) in found.sustained for n in names)]
        names = [n for n in names if sum((side, "dedicated", n, join) in found.sustained for side in there) > 1]
        by_side = {SIDES[side]: [found.sustained.get((side, "dedicated", n, join)) for n in names] for side in there}
        drawn |= _both(f"figure-14-{kind.lower()}", f"Figure 14: {kind}", THEIRS[f"14 {kind}"], names, by_side)
    return drawn


def _both(
    file: str, title: str, note: str, names: Sequence[str], series: Mapping[str, Sequence[Measured | None]]
) -> dict[str, str]:
    """Draw throughput and mean latency; of Joins both latencies, that of pairs being the paper's."""
    if not names or len(series) < 2:
        return {}
    join = is_join(names[0])
    what, unit = ("comparisons", "pairs/s") if join else ("rows", "rows/s")
    rates = {
        s: [one.throughput(n) if one else 0.0 for n, one in zip(names, found, strict=True)]
        for s, found in series.items()
    }
    drawn = {
        f"{file}-throughput.svg": bars(
            f"{title}, {what} a second that are sustained", names, rates, unit=unit, note=note
        )
    }
    for name in ("pairs", "windows") if join else ("latency",):
        waits = {
            s: [_mean_of(one.pairs if name == "pairs" else one.latency) if one else 0.0 for one in found]
            for s, found in series.items()
        }
        of = f" of {name}" if join else ""
        drawn[f"{file}-{name}.svg"] = bars(f"{title}, mean latency{of} there", names, waits, unit="s", note=note)
    return drawn


def _mean_of(latency: Mapping[str, float] | None) -> float:
    return latency["mean"] if latency else 0.0
