"""Cases of names that mean something in SQL, in paths or in formats: they are names like any other."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from tests.flow.case import Case, span

import tidegate as tg
from tidegate.spec import DT, WM

T = 'it\'s `the` "time".x'
K = "select `k`.*, 'é' FROM \\"
X = "100 %s {x} :x /* -- $1\n\t;"
FIELD = "a `b`: 'c', \"d\".e"
V, W = "v`", "w'"


def tick(name: str) -> str:
    """A name as users write it in expressions."""
    return f"`{name.replace('`', '``')}`"


t, k, x = tick(T), tick(K), tick(X)
ROWS: list[tuple[Any, ...]] = [(1, "a", 1), (1, "a", 2), (2, None, 3), (7, "a", 4), (7, "b", None)]
OTHER: list[tuple[Any, ...]] = [(1, "a", 10), (7, "b", 20), (7, None, 30)]
PAIRS: list[tuple[Any, ...]] = [(0, 1, "a", 1), (1, 0, "a", 2), (1, 1, "b", 4)]


def named(f: tg.Flow, name: str = "s") -> tg.Stream:
    """A source whose columns have such names."""
    return f.source(name, {T: "INT", K: "STRING", X: "INT"}, time=T)


def other(f: tg.Flow) -> tg.Stream:
    """A second source with the same time and key."""
    return f.source("r", {T: "INT", K: "STRING", f"{X}2": "INT"}, time=T)


def pairs(f: tg.Flow) -> tg.Stream:
    """A source on a product order."""
    return f.source("s", {V: "INT", W: "INT", K: "STRING", X: "INT"}, time=(V, W))


def shouted(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A function of the user's."""
    doubled = pa.array([None if n is None else 2 * n for n in batch.column(X).to_pylist()], pa.int32())
    return pa.RecordBatch.from_arrays([batch.column(T), doubled], names=[T, X])


class Latest:
    """An operator that answers the greatest value at each time."""

    def __init__(self, rows: tuple[Any, ...] = ()) -> None:
        self.rows = rows

    def apply(self, event: Any) -> tuple[Latest, list[Any]]:
        if isinstance(event, DT):
            return Latest((*self.rows, event.d)), []
        return Latest(), [DT(event.t, {X: len(self.rows)}), WM(event.t)] if self.rows else [event]

    def exit(self) -> list[Any]:
        return []


CASES = [
    Case(
        "rows",
        lambda f: (
            named(f)
            .where(f"{x} > 1 AND {k} IS NOT NULL")
            .with_columns(**{FIELD: f"named_struct('{X[:4]}', {x})", "list": f"array({x}, {x})"})
            .select(k, tick(FIELD), "list")
            .explode("list")
        ),
        {"s": ROWS},
        [(1, "a", {X[:4]: 2}, 2)] * 2 + [(7, "a", {X[:4]: 4}, 4)] * 2,
    ),
    Case(
        "aggregates and lists",
        lambda f: named(f).aggregate(f"collect_list({x}) AS {tick(FIELD)}", by=k),
        {"s": ROWS},
        [(1, "a", [1, 2]), (2, None, [3]), (7, "a", [4]), (7, "b", [])],
    ),
    Case(
        "windows",
        lambda f: named(f).window(5).aggregate(f"sum({x}) AS {x}", by=k),
        {"s": ROWS},
        [(4, span(0, 5), "a", 3), (4, span(0, 5), None, 3), (9, span(5, 10), "a", 4), (9, span(5, 10), "b", None)],
    ),
    Case(
        "sessions",
        lambda f: named(f).session(5).aggregate(f"max({x}) AS {x}", by=k),
        {"s": ROWS},
        [
            (5, span(1, 6), "a", 2),
            (6, span(2, 7), None, 3),
            (11, span(7, 12), "a", 4),
            (11, span(7, 12), "b", None),
        ],
    ),
    Case(
        "accumulated lists on a product",
        lambda f: pairs(f).accumulate(f"percentile({x}, 1.0) AS {x}", by=k),
        {"s": PAIRS},
        [(0, 1, "a", 1.0), (1, 0, "a", 2.0), (1, 1, "b", 4.0)],
    ),
    Case(
        "accumulated, all groups",
        lambda f: named(f).accumulate(f"sum({x}) AS {x}", by=k, emit="complete"),
        {"s": ROWS},
        [(1, "a", 3), (2, "a", 3), (2, None, 3), (7, "a", 7), (7, None, 3), (7, "b", None)],
    ),
    Case(
        "the first rows, and those of windows",
        lambda f: (
            named(f)
            .top(1, by=k, order=f"{x} DESC NULLS FIRST", every=5)
            .select(k, x)
            .union(named(f, "r").window(5).last(1, by=k).select(k, x))
        ),
        {"s": ROWS, "r": ROWS},
        [(4, "a", 2), (4, None, 3), (9, "a", 4), (9, "b", None)] * 2,
    ),
    Case(
        "distinct and deduplicated",
        lambda f: named(f).distinct().deduplicate(by=k, within=5),
        {"s": ROWS},
        [(1, "a", 1), (2, None, 3), (7, "a", 4), (7, "b", None)],
    ),
    Case(
        "joined",
        lambda f: named(f).join(other(f), on=K, where=f"left.{x} < right.{tick(X + '2')}", how="left"),
        {"s": ROWS, "r": OTHER},
        [(1, "a", 1, 10), (1, "a", 2, 10), (2, None, 3, None), (7, "a", 4, None), (7, "b", None, None)],
    ),
    Case(
        "joined as of",
        lambda f: named(f).join_asof(other(f), on=K, within=9),
        {"s": ROWS, "r": OTHER},
        [(1, "a", 1, 10), (1, "a", 2, 10), (7, "a", 4, 10), (7, "b", None, 20)],
    ),
    Case(
        "joined in windows",
        lambda f: named(f).window_join(other(f), on=K, size=5),
        {"s": ROWS, "r": OTHER},
        [(4, "a", 1, 10), (4, "a", 2, 10), (9, "b", None, 20)],
    ),
    Case(
        "united and given to functions",
        lambda f: named(f).union(named(f, "r")).map_batches(shouted, {T: "INT", X: "INT"}),
        {"s": ROWS[:2], "r": ROWS[4:]},
        [(1, 2), (1, 4), (7, None)],
    ),
    Case(
        "processed",
        lambda f: named(f).process(Latest(), by=k, schema={X: "INT"}),
        {"s": ROWS},
        [(1, "a", 2), (2, None, 1), (7, "a", 1), (7, "b", 1)],
    ),
    Case(
        "loops",
        lambda f: named(f).iterate(
            start=f"SELECT {k}, {x} FROM input WHERE {k} IS NOT NULL",
            step=f"SELECT `i'`.{k}, `k \"`.{x} FROM known AS `k \"` JOIN input AS `i'` ON `i'`.{x} = `k \"`.{x}",
            key=K,
            keep=f"min({x}) AS {x}",
        ),
        {"s": ROWS},
        [(1, "a", 1), (7, "b", None)],
    ),
]
