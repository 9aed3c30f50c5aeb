"""The page about the local engine is true: what operators ask of relations, and how large the engine is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.test_docs import prose
from tidegate.engine.plans import lower
from tidegate.flow import plan
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.relation import LocalRelation
from tidegate.spec import map_op

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in prose(ROOT / "docs" / "local.md").split("\n")
    if row.startswith("| `")
]
ASKED = ("group", "distinct", "over", "join", "as_of", "apply_arrow", "map_arrow")


def whole(rows: pa.Table) -> pa.Table:
    return pa.table({"n": pa.array([rows.num_rows], pa.int64())})


def built(verb: str, flow: tg.Flow) -> tg.Stream:
    """A stream whose last operator is the one that a row of the table is about."""
    s = flow.source("s", "t INT, k STRING, x INT", time="t")
    other = flow.source("other", "t INT, k STRING, y INT", time="t")
    streams: dict[str, Any] = {
        "aggregate": lambda: s.aggregate(by="k", n="sum(x)"),
        "distinct": s.distinct,
        "gate": s.gate,
        "window.aggregate": lambda: s.window(10, every=5).aggregate(by="k", n="sum(x)"),
        "session.aggregate": lambda: s.session(10).aggregate(by="k", n="sum(x)"),
        "window.apply": lambda: s.window(10).apply(whole, "n BIGINT", by="k"),
        "join": lambda: s.join(other, on="k"),
        "window_join": lambda: s.window_join(other, "k", size=10),
        "accumulate": lambda: s.accumulate(by="k", n="sum(x)"),
        "window.top": lambda: s.window(10, every=5).top(3, by="k", order="x"),
        "top": lambda: s.top(3, by="k", order="x"),
        "last": lambda: s.last(3, by="k"),
        "latest": lambda: s.latest("k"),
        "join_asof": lambda: s.join_asof(other, on="k"),
        "interval_join": lambda: s.interval_join(other, on="k", lower=0, upper=9),
        "deduplicate": lambda: s.deduplicate(by="k"),
        "process": lambda: s.process(map_op(lambda t, row: {"n": 1}), "k", "n INT"),
    }
    return streams[verb]()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("verb", "asked"), [(row[0].strip("`"), row[4]) for row in ROWS if len(row) == 5 and row[0] != "`iterate`"]
)
def test_an_operator_asks_of_relations_what_the_table_says(
    verb: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each operator of the table, lowered alone: neither more nor less."""
    flow = tg.Flow("asking")
    flow.sink("out", built(verb, flow))
    backend, inside, seen = LocalBackend(tg.local().connection), [0], set()
    given = {s.id: backend.nothing(s.schema.columns) for s in flow.plan.sources}

    def spied(name: str, method: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            # What a relation asks of itself is the backend's affair.
            if not inside[0]:
                seen.add(name)
            inside[0] += 1
            try:
                return method(*arguments, **named)
            finally:
                inside[0] -= 1

        return call

    for name in (*ASKED, "gather"):
        monkeypatch.setattr(
            LocalRelation, name, spied("group" if name == "gather" else name, getattr(LocalRelation, name))
        )
    lower(flow.plan, given)
    assert seen == set(re.findall(r"`(\w+)`", asked))


def test_every_operator_that_keeps_something_is_in_the_table() -> None:
    """By its verb; sessions are windows, and what carries is made of `accumulate`."""
    listed = {row[0].strip("`") for row in ROWS if len(row) == 5}
    kinds = [kind for kind in vars(plan).values() if isinstance(kind, type) and issubclass(kind, plan.PlanOperator)]
    keeping = {kind.verb for kind in kinds if kind.verb and (kind.stateful or "keeps_state" in vars(kind))}
    assert keeping - listed <= {"carry"}
    assert listed - keeping == {"session.aggregate"}


def test_the_engine_is_about_as_large_as_the_page_says() -> None:
    """Each part within a quarter; whoever changes more than that changes the page."""
    sizes = [
        (row[0], int(row[1].replace(",", ""))) for row in ROWS if len(row) == 2 and row[1].replace(",", "").isdigit()
    ]
    assert len(sizes) == 3
    for part, said in sizes:
        places = re.findall(r"`([\w/]+)`", part)
        files = [file for place in places for file in (ROOT / "src" / "tidegate" / place).glob("*.py")]
        lines = sum(len(file.read_text(encoding="utf-8").split("\n")) for file in files)
        assert 0.75 * said < lines < 1.25 * said, f"{part}: {lines} lines"
