"""``python -m bench.aggregates``: what it costs to write everything with one Aggregate, and what optimising gives back.

Each query is computed in each form on the same rows, which are all there. Throughput is rows (Maps) or comparisons
(Joins) a second of processor time, so that a busy machine disturbs less, and by the clock; dedicated is 100 %. Streams
are measured by `bench.aggregates.evaluation`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bench.aggregates.evaluation.asked import Asked
from bench.aggregates.evaluation.by_hand import by_hand
from bench.aggregates.evaluation.store import digest
from bench.aggregates.measure import FORMS, Cost, bounded, written
from bench.aggregates.queries import QUERIES, draw_scans, draw_texts, synthetic
from bench.aggregates.queries import scans as scan_queries
from bench.aggregates.queries import texts as text_queries
from tidegate.flow import Flow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Plan", "Results", "measure"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    names: tuple[str, ...] = tuple(QUERIES)
    #: Rows of Maps on texts and on scans, and of Joins on either. With few of them, what any shuffle costs would count
    #: for more than the operators.
    texts: int = 100_000
    scans: int = 32_000
    text_pairs: int = 60_000
    scan_pairs: int = 2000
    #: Rows of Joins against Spark by hand: more, because tumbling windows make fewer pairs.
    text_pairs_by_hand: int = 200_000
    scan_pairs_by_hand: int = 6000
    #: Rows of the synthetic Map where a row is most work; there are up to ten times as many where it is less.
    rows: int = 100_000
    #: Runs that do not count: Java compiles what they do often, more than once.
    warm: int = 3
    repeats: int = 3
    #: Of the synthetic Map: outputs for each row, and work, in rounds of a loop for each row.
    selectivities: tuple[float, ...] = (0.1, 1, 3)
    work: tuple[int, ...] = (1, 30, 1000)

    def rows_of(self, work: int) -> int:
        """Return the rows of the synthetic Map: more of them where each is less work.

        >>> Plan().rows_of(1), Plan().rows_of(500), Plan().rows_of(1000)
        (1000000, 200000, 100000)
        """
        return self.rows * min(10, max(self.work) // work)

    def scaled(self, share: float) -> Plan:
        """Return a plan with a share of the rows.

        >>> Plan().scaled(0.5).texts, Plan().scaled(0.5).scan_pairs
        (50000, 1000)
        """
        sizes = ("texts", "scans", "text_pairs", "scan_pairs", "text_pairs_by_hand", "scan_pairs_by_hand", "rows")
        return replace(self, **{name: max(1, round(share * getattr(self, name))) for name in sizes})

    def quick(self) -> Plan:
        """Return a plan that takes little: a Map and a Join, on next to nothing."""
        names = tuple(name for name in self.names if name in ("LLM", "LLJ")) or self.names[:1]
        return replace(
            self,
            names=names,
            texts=100,
            scans=40,
            text_pairs=40,
            scan_pairs=40,
            text_pairs_by_hand=40,
            scan_pairs_by_hand=40,
            rows=500,
            warm=1,
            repeats=1,
            selectivities=(3,),
            work=(1, 100),
        )


@dataclass(slots=True)
class Results:
    """What was measured, in seconds; rates are made of them where they are shown."""

    plan: Plan
    #: What it was measured on.
    machine: str = ""
    #: The code that was measured, by its digest.
    code: str = ""
    #: For each query, its rows or comparisons, and what each form cost.
    queries: dict[str, tuple[int, dict[str, Cost]]] = field(default_factory=dict)
    #: For each selectivity and amount of work, what each form of the synthetic Map cost.
    synthetic: dict[tuple[float, int], dict[str, Cost]] = field(default_factory=dict)
    #: For each Join, its comparisons in tumbling windows, and what it cost here and by hand.
    by_hand: dict[str, tuple[int, dict[str, Cost]]] = field(default_factory=dict)

    @classmethod
    def of_json(cls, text: str, plan: Plan, machine: str, code: str) -> Results:
        """Return what was measured before, if it was by the same plan and code, there; nothing if not."""
        known = json.loads(text)
        ours = json.loads(json.dumps([asdict(plan), machine, code]))
        same = ours == [known["plan"], known["machine"], known["code"]]
        return cls(
            plan,
            machine,
            code,
            {n: (size, _costs(costs)) for n, (size, costs) in known["queries"].items()} if same else {},
            {(s, work): _costs(costs) for s, work, costs in known["synthetic"]} if same else {},
            {n: (size, _costs(costs)) for n, (size, costs) in known["by_hand"].items()} if same else {},
        )

    def as_json(self) -> str:
        """Return everything as text."""
        return json.dumps(
            {
                "plan": asdict(self.plan),
                "machine": self.machine,
                "code": self.code,
                "queries": {n: [size, _plain(costs)] for n, (size, costs) in self.queries.items()},
                "synthetic": [[*key, _plain(costs)] for key, costs in self.synthetic.items()],
                "by_hand": {n: [size, _plain(costs)] for n, (size, costs) in self.by_hand.items()},
            },
            indent=1,
        )


def _costs(costs: dict[str, dict[str, float]]) -> dict[str, Cost]:
    return {form: Cost(**cost) for form, cost in costs.items()}


def _plain(costs: dict[str, Cost]) -> dict[str, Any]:
    return {form: asdict(cost) for form, cost in costs.items()}


def measure(spark: SparkSession, plan: Plan, *, say: Callable[[str], None], kept: Path | None = None) -> Results:
    """Measure all that a plan asks for; ``say`` is told what comes next. What a file has already is not run again."""
    results = Results(plan, _machine(spark), digest("spark"))
    if kept is not None and kept.exists():
        results = Results.of_json(kept.read_text(encoding="utf-8"), plan, results.machine, results.code)

    def keep() -> None:
        if kept is not None:
            # Whole or not at all: whoever is stopped in between goes on from what was there.
            aside = kept.with_name(f".{kept.name}")
            aside.write_text(results.as_json() + "\n", encoding="utf-8")
            aside.rename(kept)

    with TemporaryDirectory(prefix="tidegate-bench-") as directory:
        place = Path(directory)
        for name in (name for name in plan.names if name not in results.queries):
            say(f"{name}, bounded")
            rows = _rows(spark, plan, name, place)
            flow = QUERIES[name]()
            forms = {form: _computing(spark, rewrite(flow), _source(name), rows) for form, rewrite in FORMS.items()}
            results.queries[name] = (
                _size(spark, name, rows),
                bounded(spark, forms, warm=plan.warm, repeats=plan.repeats),
            )
            keep()
        for name in (name for name in plan.names if name[2] in "Jj" and name not in results.by_hand):
            say(f"{name}, against Spark by hand")
            results.by_hand[name] = _against_hand(spark, plan, name, place)
            keep()
        for selectivity in plan.selectivities:
            for work in plan.work:
                if (selectivity, work) not in results.synthetic:
                    say(f"the synthetic Map, {selectivity} outputs a row, {work} rounds of work")
                    results.synthetic[selectivity, work] = _synthetic(spark, plan, selectivity, work)
                    keep()
    return results


def _machine(spark: SparkSession) -> str:
    java = spark.sparkContext._jvm.java.lang.System.getProperty("java.version")  # type: ignore[union-attr]
    return f"{spark.sparkContext.defaultParallelism} cores, Spark {spark.version}, Java {java}"


def _source(name: str) -> str:
    return "texts" if name.isupper() else "scans"


def _drawn(name: str) -> tuple[Any, str, timedelta]:
    """Return what draws the rows of a query, their schema, and how far they are apart."""
    if name.isupper():
        return draw_texts, text_queries.SCHEMA, timedelta(milliseconds=40)
    return draw_scans, scan_queries.SCHEMA, timedelta(milliseconds=40)


def _rows(spark: SparkSession, plan: Plan, name: str, place: Path, *, tumbling: bool = False) -> DataFrame:
    draw, schema, apart = _drawn(name)
    kind = {"M": "texts", "m": "scans", "J": "text_pairs", "j": "scan_pairs"}[name[2]]
    rows = getattr(plan, f"{kind}_by_hand" if tumbling else kind)
    path = place / f"{_source(name)}-{rows}"
    return spark.read.parquet(str(path)) if path.exists() else written(spark, draw, schema, rows, apart, path)


def _computing(spark: SparkSession, flow: Flow, source: str, rows: DataFrame) -> Callable[[], DataFrame]:
    # A loop runs its rounds while the table is built: that is part of what it costs.
    return lambda: flow.compute(spark, {source: rows})["out"]


def _size(spark: SparkSession, name: str, rows: DataFrame, *, tumbling: bool = False) -> int:
    """Return the rows of a Map, or the pairs of rows of one window and key that a Join compares."""
    if name[2] in "Mm":
        return rows.count()
    flow = QUERIES[name](**({"every": _window(name)} if tumbling else {}))
    operators = [o if getattr(o, "where", None) is None else replace(o, where=None) for o in flow.plan]  # type: ignore[call-arg]
    pairs = flow._with(replace(flow.plan, operators=tuple(operators)))
    return int(pairs.compute(spark, {_source(name): rows})["out"].count())


def _window(name: str) -> str:
    return {"L": "3 seconds", "H": "10 seconds", "l": "1 second", "h": "2 seconds"}[name[1]]


def _against_hand(spark: SparkSession, plan: Plan, name: str, place: Path) -> tuple[int, dict[str, Cost]]:
    rows = _rows(spark, plan, name, place, tumbling=True)
    ours = QUERIES[name](every=_window(name))
    forms = {
        "ours": _computing(spark, ours, _source(name), rows),
        "by hand": lambda: by_hand(Asked(name, tumbling=True), rows),
        "A+": _computing(spark, ours.to_aggregates(), _source(name), rows),
    }
    return _size(spark, name, rows, tumbling=True), bounded(spark, forms, warm=plan.warm, repeats=plan.repeats)


def _synthetic(spark: SparkSession, plan: Plan, selectivity: float, work: int) -> dict[str, Cost]:
    rows = spark.range(plan.rows_of(work)).selectExpr("timestamp_micros(id) AS ts", "id")
    flow = synthetic.synthetic_map(selectivity, work)
    forms = {form: _computing(spark, rewrite(flow), "inputs", rows) for form, rewrite in FORMS.items()}
    return bounded(spark, forms, warm=plan.warm, repeats=plan.repeats)
