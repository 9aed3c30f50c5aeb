"""Fingerprints of operators: the same from version to version, and made of every field that does not say otherwise."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from operator import methodcaller
from typing import Any

import pytest

import tidegate as tg
from tidegate.flow import operators
from tidegate.flow.fingerprint import content
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Schema
from tidegate.spec import map_op

FACTS = "SELECT src AS node, 0 AS dist FROM input WHERE src = 'a' UNION ALL SELECT id, W FROM Fixed"
STEPS = "SELECT e.dst AS node, k.dist + e.w AS dist FROM known k JOIN input e ON e.src = k.node AND e.w BETWEEN 1 AND 9"
COUNTED = (
    "WITH d AS (SELECT src, count(*) AS n FROM input GROUP BY src) SELECT k.node, k.dist / d.n AS dist FROM known k"
)


def every_operator() -> tg.Flow:
    """A flow with each operator that a user can write, and with the forms of it that differ in what they hold."""
    flow = tg.Flow("golden")
    s = flow.source(
        "s",
        "ts TIMESTAMP, k STRING, x INT, d DECIMAL(10, 2), xs ARRAY<INT>, p STRUCT<a: INT, b: STRING>",
        time="ts",
        watermark=tg.bounded("10 minutes", by="k", idle="1 hour"),
        late="drop",
    )
    r = flow.source("r", "ts TIMESTAMP, k STRING, y INT", time="ts", watermark=tg.punctuated("k = 'WM'"), was="q")
    two = flow.source("two", "v INT, ts TIMESTAMP, k STRING, x INT", time=("v", "ts"), watermark=tg.bounded(1, "1 day"))
    edges = flow.source("edges", "t INT, src STRING, dst STRING, w INT", time="t", watermark=tg.at_end())
    fixed = flow.table("fixed", "id STRING, w INT", was="old")
    kept = {
        "where": s.where("X > 1 AND k LIKE 'A%' /* large */"),
        "select": s.select("*", "p.b AS b", "transform(xs, x -> X + 1L) AS ys", "CASE WHEN x > 1 THEN 'Y' END AS c"),
        "with_columns": s.with_columns(x="- x", day="CAST(ts AS DATE)"),
        "explode": s.explode("xs"),
        "map_batches": s.map_batches(copy.copy, "k STRING, n BIGINT"),
        "moved": s.at("ts + INTERVAL 1 HOUR"),
        "moved_by_columns": two.at(V="v + ABS(x)", ts="ts"),
        "gate": s.gate(),
        "aggregate": s.aggregate(
            "collect_set(K) FILTER (WHERE x > 1) AS ks", by=["k", "X % 2 AS odd"], m="sum(x) / Count(DISTINCT d) + 1"
        ),
        "windows": s.window("1 hour", every="10 minutes", offset="1 minute").aggregate(by="k", f="first(x, true)"),
        "months": s.window("2 months", every="1 month").aggregate(by="k", n="count(*)"),
        "weeks": s.window("1 week", zone="Europe/Berlin").apply(copy.copy, "n INT"),
        "revised": s.window("1 hour", lateness="2 hours").aggregate(n="count(*)", top="max_by(k, x)"),
        "sessions": two.session("30 minutes", over="ts").aggregate(by="k", n="count_if(x > 0)"),
        "applied": s.window("1 day").apply(copy.copy, "n INT", by="upper(k) AS name"),
        "applied_to_sessions": s.session("5 minutes").apply(methodcaller("slice", 1), "n INT"),
        "accumulate": s.accumulate(by="k", total="sum(d)", p="percentile_cont(0.5) WITHIN GROUP (ORDER BY x)"),
        "complete": two.accumulate(by="k", n="max(x)", emit="complete", every={"v": 2, "ts": "1 hour"}),
        "top": s.top(3, by=["k", "X % 2 AS odd"], order="d DESC, K NULLS LAST"),
        "last": two.last(2, emit="complete", every={"v": 2}),
        "latest": s.latest("k", every="1 hour"),
        "top_in_windows": s.window("1 hour", every="10 minutes").top(3, by="k", order="x"),
        "latest_in_sessions": s.session("1 hour").latest(by="k"),
        "accumulate_and_forget": s.accumulate(by="k", n="count(*)", forget="1 day"),
        "latest_and_forget": s.latest("k", forget="1 day"),
        "deduplicate_and_forget": two.deduplicate("k", forget="1 day", over="ts"),
        "process_and_forget": s.process(map_op(copy.copy), by="k", schema="n INT", forget="1 day"),
        "distinct": s.select("k").distinct(),
        "deduplicate": s.deduplicate("k", within="1 day"),
        "deduplicate_for_ever": two.deduplicate(["k", "x"], over="ts"),
        "union": s.select("k", "x AS y").union(r),
        "union_of_three": r.union(r.where("y > 1"), r),
        "join": s.join(r, on="k", where="left.x < right.Y AND length(left.k) = length(right.k)"),
        "outer_join": s.select("k", "x").join(r.select("y"), on=(), where="x = y", how="left"),
        "join_with_a_table": edges.join(fixed.select("id AS src", "w AS fixed_w"), on="src", how="anti"),
        "join_asof": s.join_asof(r, on="k", within="1 hour", how="left"),
        "interval_join": s.interval_join(
            r, on={"k": "k"}, lower="-1 hour", upper=0, where="left.ts < right.ts", how="left"
        ),
        "apart_on_pairs": two.interval_join(two.select("x AS y"), on=()),
        "window_join": s.window_join(r, on="k", size="1 hour", every="30 minutes", where="x > y"),
        "revised_join": s.window_join(r, on="k", size="1 hour", lateness="2 hours", how="full"),
        "iterate": edges.iterate(FACTS, STEPS, "node", "min(dist) AS dist", also={"fixed": fixed}, limit=50),
        "rounds": edges.iterate(
            FACTS, f"{COUNTED} JOIN d ON d.src = k.node", "node", "avg(dist) AS dist", also={"fixed": fixed}, rounds=3
        ),
        "process_and_out": s.process(map_op(copy.copy), by="k", schema="n INT", out=copy.copy),
        "process": s.process(map_op(copy.copy), by="k", schema="n INT"),
    }
    for name, stream in kept.items():
        flow.sink(name, stream)
    return flow


def forms(flow: tg.Flow) -> list[Plan]:
    """The plan of a flow as it was written, of A with its loops, and of A+."""
    return [flow.plan, flow.to_aggregates(using="A", looped=True).plan, flow.to_aggregates(using="A+").plan]


def test_the_flow_has_every_operator() -> None:
    """No kind of operator is missing from what is compared: some are in compositions only."""
    kinds = {getattr(operators, name) for name in operators.__all__}
    # Only plans of engines, on times of other orders, have columns that are restored: see tests/orders.
    kinds -= {operators.PlanOperator, operators.Restored}
    assert {type(operator) for plan in forms(every_operator()) for operator in plan} == {
        kind for kind in kinds if issubclass(kind, operators.PlanOperator)
    }


#: What each sink gives: as it was written, of A, and of A+.
GOLDEN = {
    "where": ("755badf9ddee60fb", "d89cccace333ae16", "a4c5ab108133b463"),
    "select": ("e56c963352400041", "f7437f1c6183f01a", "48ec00491653cb10"),
    "with_columns": ("bcd48cab31c0559d", "ad07e43df6a7327b", "0fef0835df6cbcfc"),
    "explode": ("1652e799d6bf5b39", "22054a1e482645b4", "90f0b8d3288c09ba"),
    "map_batches": ("411639db9af97d74", "411639db9af97d74", "411639db9af97d74"),
    "moved": ("38ae3a88fd4fe3b2", "38ae3a88fd4fe3b2", "38ae3a88fd4fe3b2"),
    "moved_by_columns": ("b86aaac7c0d15741", "b86aaac7c0d15741", "b86aaac7c0d15741"),
    "gate": ("6571f8aa22d99409", "6571f8aa22d99409", "6571f8aa22d99409"),
    "aggregate": ("339425c21ba27d56", "339425c21ba27d56", "339425c21ba27d56"),
    "windows": ("44abb5ec616355aa", "44abb5ec616355aa", "44abb5ec616355aa"),
    "months": ("e82b6f6e96f9e5d3", "e82b6f6e96f9e5d3", "e82b6f6e96f9e5d3"),
    "weeks": ("3169c9fc3c19477f", "3169c9fc3c19477f", "3169c9fc3c19477f"),
    "revised": ("bc8d937e5044dfce", "bc8d937e5044dfce", "bc8d937e5044dfce"),
    "sessions": ("e945a8af3b36d7b7", "e945a8af3b36d7b7", "e945a8af3b36d7b7"),
    "applied": ("3423019835609b2d", "3423019835609b2d", "3423019835609b2d"),
    "applied_to_sessions": ("ddca606ce405cecd", "ddca606ce405cecd", "ddca606ce405cecd"),
    "accumulate": ("7aa4b9ba36428fdd", "94527cb2e557dd24", "6c8cc0d5f64f4e88"),
    "complete": ("9a335386a6b51af9", "78fb7fbd4f3eeaca", "78fb7fbd4f3eeaca"),
    "top": ("fa2f0125c34fbd98", "fa2f0125c34fbd98", "fa2f0125c34fbd98"),
    "last": ("77f47240aa5a78a9", "77f47240aa5a78a9", "77f47240aa5a78a9"),
    "latest": ("4128833d844845b8", "4128833d844845b8", "4128833d844845b8"),
    "top_in_windows": ("bbb52a395b5a1755", "bbb52a395b5a1755", "bbb52a395b5a1755"),
    "latest_in_sessions": ("2167d35d253514bc", "2167d35d253514bc", "2167d35d253514bc"),
    "accumulate_and_forget": ("44ec5e3047246799", "44ec5e3047246799", "44ec5e3047246799"),
    "latest_and_forget": ("ebce8766280bc953", "ebce8766280bc953", "ebce8766280bc953"),
    "deduplicate_and_forget": ("f9b2a661c20d5a03", "f9b2a661c20d5a03", "f9b2a661c20d5a03"),
    "process_and_forget": ("208a68c022c30945", "208a68c022c30945", "208a68c022c30945"),
    "distinct": ("b238a7e6cd599f27", "442595d6ba394d1f", "6fc64d36e71bb674"),
    "deduplicate": ("a55deb4e2123c4c3", "a55deb4e2123c4c3", "a55deb4e2123c4c3"),
    "deduplicate_for_ever": ("651eeb4815862de5", "651eeb4815862de5", "651eeb4815862de5"),
    "union": ("4514d26008374b1c", "882ff20bc4aac47a", "08d9ffb847d92c04"),
    "union_of_three": ("e1eb9185d4e4cae5", "dd8baa8ece5556f5", "d571597cfef54263"),
    "join": ("deda1eba7ed65e29", "54ab8c17c241fb08", "b342445e23d18527"),
    "outer_join": ("864d1c5d395fba70", "2323a8427945a71f", "9b69caa9fe2c0361"),
    "join_with_a_table": ("ce26f556ec83b6df", "ce26f556ec83b6df", "ce26f556ec83b6df"),
    "join_asof": ("cc1e71f766e30df8", "cc1e71f766e30df8", "cc1e71f766e30df8"),
    "interval_join": ("1753d42b139dce29", "1753d42b139dce29", "1753d42b139dce29"),
    "apart_on_pairs": ("4e5f53ffc2a28338", "ee392f63a8e8ad52", "a2203415b942d847"),
    "window_join": ("f2ca1ebe44d42e66", "34d140fabe4bd888", "3c032d36a1379ed9"),
    "revised_join": ("baae352c0e1aa93e", "baae352c0e1aa93e", "baae352c0e1aa93e"),
    "iterate": ("2908157878076a94", "2908157878076a94", "2908157878076a94"),
    "rounds": ("f455a0c9111c9d2d", "f455a0c9111c9d2d", "f455a0c9111c9d2d"),
    "process_and_out": ("4e19460c6e91856c", "4e19460c6e91856c", "4e19460c6e91856c"),
    "process": ("be23247699f0c220", "be23247699f0c220", "be23247699f0c220"),
}


def test_fingerprints_stay_as_they_are() -> None:
    """These are in checkpoints: if one changes, what is running cannot go on after an upgrade."""
    plans = forms(every_operator())
    prints = [plan.fingerprints() for plan in plans]
    assert {
        sink.name: tuple(found[plan[sink.input].id] for plan, found in zip(plans, prints, strict=True))
        for sink in plans[0].sinks
    } == GOLDEN


#: Fields that do not take part, besides ``id``, ``inputs`` and, unless users declare it, ``schema``.
LEFT_OUT = {
    "Source.watermark", "Source.late", "Source.was", "Table.was", "Unfold.looped", "Aggregate.embeds", "At.bounds",
    "WindowAggregate.embeds", "Iterate.limit", "Expression.type", "Expression.columns", "AggregateCall.type",
    "AggregateCall.columns", "AggregateExpression.type", "AggregateExpression.columns", "Query.columns",
    "Query.branches", "Query.relations",
}  # fmt: skip
DECLARED = ("Source", "Table", "MapBatches", "WindowApply", "Process")


def takes_part(kind: str, name: str) -> bool:
    """Whether a field of a class takes part, by the table above."""
    if name == "schema":
        return kind in DECLARED
    return name not in ("id", "inputs") and f"{kind}.{name}" not in LEFT_OUT


def changed(value: Any) -> Iterator[tuple[str, bool, Any]]:
    """A value with one field changed, at any depth: the path to it, whether it takes part, and the new value."""
    for each in fields(value):
        held, kind = getattr(value, each.name), type(value).__name__
        part = takes_part(kind, each.name)
        yield f"{kind}.{each.name}", part, replace(value, **{each.name: "changed"})
        if isinstance(held, Schema):
            continue
        if is_dataclass(held):
            for path, inner, new in changed(held):
                yield f"{kind}.{each.name}.{path}", part and inner, replace(value, **{each.name: new})
        for i, element in enumerate(held if isinstance(held, tuple) else ()):
            for path, inner, new in changed(element) if is_dataclass(element) else ():
                other = (*held[:i], new, *held[i + 1 :])
                yield f"{kind}.{each.name}.{path}", part and inner, replace(value, **{each.name: other})


def test_every_field_takes_part_but_those_that_say_otherwise() -> None:
    """Whatever is changed in an operator, at any depth, changes its fingerprint, unless it is named above."""
    seen: dict[str, bool] = {}
    for plan in forms(every_operator()):
        for operator in plan:
            own = content(operator)
            for path, part, new in changed(operator):
                assert (content(new) != own) == part, path
                seen[".".join(path.split(".")[-2:])] = part
    assert seen.keys() >= LEFT_OUT
    assert len(seen) > 100


@dataclass(frozen=True)
class Named:
    """An operator of a user's own, whose fields are called as those of a plan that do not take part, or hold SQL."""

    type: str = "it's"
    columns: tuple[str, ...] = ()
    branches: int = 0
    relations: int = 0
    sql: str = "it's"
    where: str = "A"
    id: str = ""
    schema: str = ""

    def apply(self, event: Any) -> Any:
        return self, []

    def exit(self) -> Any:
        return ()


@pytest.mark.parametrize("name", [each.name for each in fields(Named)])
def test_a_field_of_a_users_operator_takes_part_whatever_it_is_called(name: str) -> None:
    """What is left out is said by a field, and not guessed from its name; a text is SQL only if that is said, too."""

    def fingerprint(operator: Named) -> str:
        flow = tg.Flow("named")
        stream = flow.source("s", "t INT, k STRING", time="t").process(operator, by="k", schema="n INT")
        flow.sink("out", stream)
        return flow.plan.fingerprint(stream.id)

    assert fingerprint(Named()) == fingerprint(Named())
    assert fingerprint(Named(where="a")) != fingerprint(Named())
    assert fingerprint(replace(Named(), **{name: ("other",)})) != fingerprint(Named())
