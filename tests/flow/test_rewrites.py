"""Flows written with Aggregates alone give what they gave before, and optimising them gives the dedicated plan back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.check.flows import DrawnFlow, flows
from tidegate.flow.errors import BadArgument
from tidegate.flow.values import freeze
from tidegate.spec import DT, Event, is_monotone

USING = st.sampled_from(["A", "A+"])


def by_time(events: list[Event]) -> Counter[Any]:
    """The rows at each time, as a multiset."""
    return Counter((event.t, freeze(event.d)) for event in events if isinstance(event, DT))


def sink_fingerprints(flow: tg.Flow) -> dict[str, str]:
    """What each sink stands for: the operator before it and everything before that."""
    return {sink.name: flow.plan.fingerprint(sink.input) for sink in flow.plan.sinks}


@given(flows(), USING)
def test_compositions_give_what_dedicated_operators_give(drawn: DrawnFlow, using: str) -> None:
    """On the reference, a flow of Aggregates gives the same rows at the same times, and nothing late."""
    rewritten = drawn.flow.to_aggregates(using=using)
    events = rewritten.reference(drawn.inputs)["out"]
    assert by_time(events) == by_time(drawn.flow.reference(drawn.inputs)["out"])
    assert is_monotone(rewritten.plan[rewritten.plan.sinks[0].input].schema.order, events)


@given(flows(), USING)
def test_optimising_a_composition_gives_the_dedicated_plan(drawn: DrawnFlow, using: str) -> None:
    """There and back, each sink has the fingerprint that it had; and optimising twice changes nothing more."""
    optimised = drawn.flow.to_aggregates(using=using).optimize()
    assert sink_fingerprints(optimised) == sink_fingerprints(drawn.flow.optimize())
    assert optimised.optimize().plan == optimised.plan


def flow_of(build: Any) -> tg.Flow:
    flow = tg.Flow("rewritten")
    s = flow.source("s", "t INT, k STRING, x INT, xs ARRAY<INT>", time="t")
    r = flow.source("r", "t INT, k STRING, y INT", time="t")
    flow.sink("out", build(s, r))
    return flow


#: Each operator that has a rule, and the operators of its composition with A.
OPERATORS = {
    "where": (lambda s, r: s.where("x > 1"), ["aggregate", "unfold", "select"]),
    "select": (lambda s, r: s.select("k", "x + 1 AS y"), ["aggregate", "unfold", "select"]),
    "with_columns": (lambda s, r: s.with_columns(y="x % 2"), ["aggregate", "unfold", "select"]),
    "no column": (lambda s, r: s.select(), ["aggregate", "unfold", "select"]),
    "explode": (lambda s, r: s.explode("xs"), ["aggregate", "unfold", "unfold", "select"]),
    "distinct": (lambda s, r: s.distinct(), ["aggregate", "select"]),
    "join": (
        lambda s, r: s.join(r, on="k"),
        ["select", "select", "union", "aggregate", "unfold", "unfold", "select"],
    ),
    "join where": (
        lambda s, r: s.join(r, on="k", where="left.x < y"),
        ["select", "select", "union", "aggregate", "unfold", "unfold", "aggregate", "unfold", "select"],
    ),
    "window_join": (
        lambda s, r: s.window_join(r, on="k", size=4, every=2, where="left.t <= right.t"),
        ["select", "select", "union", "window.aggregate", "unfold", "unfold", "aggregate", "unfold", "select"],
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_there_and_back(name: str) -> None:
    """Each operator becomes its composition, which explain shows, and becomes itself again."""
    build, verbs = OPERATORS[name]
    flow = flow_of(build)
    rewritten = flow.to_aggregates(using="A")
    assert [o.verb for o in rewritten.plan if o.verb != "source"] == verbs
    assert all(o.id in str(rewritten.explain()) for o in rewritten.plan)
    plus = [o.verb for o in flow.to_aggregates(using="A+").plan if o.verb != "source"]
    assert plus == ["explode" if verb == "unfold" else verb for verb in verbs]
    assert sink_fingerprints(rewritten.optimize()) == sink_fingerprints(flow)


ROWS = {
    "s": [
        (1, "a", 1, [1, 2]),
        (1, "a", 1, [1, 2]),
        (1, "a", 3, []),
        (2, None, 2, None),
        (2, "b", None, [None]),
        (5, "a", 2, [7]),
    ],
    "r": [(1, "a", 2), (1, "a", 2), (2, None, 9), (2, "b", 9), (3, "a", 1), (4, "b", 5)],
}


def given_rows(flow: tg.Flow) -> dict[str, list[Event]]:
    """The rows as events of the reference."""
    schemas = {name: flow.plan[name].schema for name in ROWS}
    return {
        name: [DT(row[0], dict(zip(schemas[name].names, row, strict=True))) for row in rows]
        for name, rows in ROWS.items()
    }


@pytest.mark.parametrize("name", OPERATORS)
def test_each_composition_gives_the_same_rows(name: str) -> None:
    """With duplicates, nulls as keys, empty arrays and no arrays, on the reference."""
    flow = flow_of(OPERATORS[name][0])
    expected = by_time(flow.reference(given_rows(flow))["out"])
    assert expected
    for using in ("A", "A+"):
        assert by_time(flow.to_aggregates(using=using).reference(given_rows(flow))["out"]) == expected


BY_HAND = {
    "filter": (
        lambda s, r: (
            s.aggregate(by=["xs", "k", "x"], some="array_agg(struct(k, x, xs)) FILTER (WHERE x > 1)")
            .explode("some")
            .select("some.k", "some.x", "some.xs")
        ),
        lambda s, r: s.where("x > 1"),
    ),
    "map": (
        lambda s, r: (
            s.aggregate(by=["k", "x", "xs"], p="collect_list(struct(upper(k) AS u, x))")
            .explode("p")
            .select("p.x AS x", "p.u AS name")
        ),
        lambda s, r: s.select("x", "upper(k) AS name"),
    ),
    "filter and map": (
        lambda s, r: (
            s.aggregate(by=["k", "x", "xs"], p="collect_list(named_struct('y', x + 1)) FILTER (WHERE x > 1)")
            .explode("p")
            .select("p.y")
        ),
        lambda s, r: s.where("x > 1").select("x + 1 AS y"),
    ),
    "flat map": (
        lambda s, r: (
            s.aggregate(by=["k", "x", "xs"], p="collect_list(xs)").explode("p").explode("p").select("k", "x", "p AS xs")
        ),
        lambda s, r: s.explode("xs"),
    ),
    "distinct": (
        lambda s, r: s.aggregate(by=["k", "x", "xs"], n="count(*)").select("k", "x", "xs"),
        lambda s, r: s.distinct(),
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_a_user_wrote_by_hand_is_recognised(name: str) -> None:
    """Compositions that a user wrote with aggregate, explode and select become the dedicated operators too."""
    by_hand, dedicated = map(flow_of, BY_HAND[name])
    assert sink_fingerprints(by_hand.optimize()) == sink_fingerprints(dedicated)
    expected = by_time(by_hand.reference(given_rows(by_hand))["out"])
    assert by_time(by_hand.optimize().reference(given_rows(by_hand))["out"]) == expected


ALMOST = {
    "a key is missing": lambda s, r: s.aggregate(by=["k", "x"], p="collect_list(struct(k))").explode("p").select("p.k"),
    "duplicates are dropped": lambda s, r: (
        s.aggregate(by=["k", "x", "xs"], p="collect_set(struct(k))").explode("p").select("p.k")
    ),
    "the pack is computed with": lambda s, r: (
        s.aggregate(by=["k", "x", "xs"], p="collect_list(struct(x))").explode("p").select("p.x + 1 AS x")
    ),
    "a count is kept": lambda s, r: s.aggregate(by=["k", "x", "xs"], n="count(*)").select("k", "x", "n AS xs"),
}


@pytest.mark.parametrize("name", ALMOST)
def test_what_only_looks_like_a_composition_stays(name: str) -> None:
    """A rule does not fire where the meaning would change."""
    flow = flow_of(ALMOST[name])
    assert flow.optimize().plan == flow.plan


@pytest.mark.parametrize("read", [lambda pack: pack, lambda pack: pack.where("size(p) > 1")])
def test_a_composition_that_someone_else_reads_stays(read: Any) -> None:
    """If the pack also goes to a sink or to another operator, the Aggregate is needed."""
    flow = tg.Flow("shared")
    s = flow.source("s", "t INT, k STRING", time="t")
    pack = s.aggregate(by="k", p="collect_list(struct(k))")
    flow.sink("out", pack.explode("p").select("p.k"))
    flow.sink("pack", read(pack))
    assert flow.optimize().plan == flow.plan


LEFT_ALONE = {
    "an outer join": lambda s, r: s.join(r, on="k", how="left"),
    "a column that is called left": lambda s, r: s.with_columns(left="x").gate().join(r, on="k"),
    "a Python function": lambda s, r: s.map_batches(lambda batch: batch, "k STRING, x INT, xs ARRAY<INT>"),
    "fractions beside an array": lambda s, r: s.with_columns(x="x / 2").gate().explode("xs"),
    "accumulate": lambda s, r: s.accumulate(by="k", n="count(*)"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_has_no_composition_stays(name: str) -> None:
    """The operator at the end is the one that was there before."""
    flow = flow_of(LEFT_ALONE[name])
    last = flow.plan.sinks[0].input
    assert flow.to_aggregates().plan[last] == flow.plan[last]


def test_an_unknown_aggregate_is_an_error() -> None:
    """Compositions are of A or of A+."""
    with pytest.raises(BadArgument, match='expected using="A" or using="A\\+", got \'B\''):
        flow_of(lambda s, r: s).to_aggregates(using="B")
