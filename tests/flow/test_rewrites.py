"""Flows written with Aggregates alone give what they gave before, and optimising them gives the dedicated plan back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.check.flows import DrawnFlow, flows
from tidegate.flow.equations import both_sides, implied
from tidegate.flow.errors import BadArgument
from tidegate.flow.expressions import Parsed, bound
from tidegate.flow.schema import parse_schema
from tidegate.flow.values import freeze
from tidegate.spec import DT, WM, Event, is_monotone

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


def zeros() -> tuple[tg.Flow, dict[str, list[Any]]]:
    """A flow that explodes arrays of fractions, and rows that differ in the sign of zero only."""
    flow = tg.Flow("zeros")
    s = flow.source("s", "t INT, x DOUBLE, xs ARRAY<DOUBLE>", time="t")
    flow.sink("out", s.explode("xs"))
    some = [0.0, -0.0]
    return flow, {"s": [(1, -0.0, some), (1, 0.0, some), (1, -0.0, some), (1, 1.0, []), (1, 2.0, None)]}


PACK = ["aggregate", "unfold", "select"]
SIDES = ["select", "select", "union"]
#: Each operator that has a rule, and the operators of its compositions with A and with A+.
OPERATORS: dict[str, tuple[Any, list[str], list[str]]] = {
    "where": (lambda s, r: s.where("x > 1"), PACK, PACK),
    "select": (lambda s, r: s.select("k", "x + 1 AS y"), PACK, PACK),
    "with_columns": (lambda s, r: s.with_columns(y="x % 2"), PACK, PACK),
    "where and select": (lambda s, r: s.where("x > 1").select("k", "x * 2 AS y"), PACK, PACK),
    "no column": (lambda s, r: s.select(), PACK, PACK),
    "explode": (lambda s, r: s.explode("xs"), [*PACK, "unfold"], [*PACK, "unfold"]),
    "select and explode": (lambda s, r: s.select("k", "xs").explode("xs"), [*PACK, "unfold"], [*PACK, "unfold"]),
    "fractions beside an array": (
        lambda s, r: s.with_columns(x="x / 2").explode("xs"),
        [*PACK, "unfold"],
        [*PACK, "unfold"],
    ),
    "distinct": (lambda s, r: s.distinct(), ["aggregate", "select"], ["aggregate", "select"]),
    "join": (
        lambda s, r: s.join(r, on="k"),
        [*SIDES, *PACK],
        [*SIDES, "aggregate", "unfold", "unfold", "select"],
    ),
    "join where": (
        lambda s, r: s.join(r, on="k", where="left.x < y"),
        [*SIDES, *PACK],
        [*SIDES, "aggregate", "unfold", "unfold", "where", "select"],
    ),
    "join by a key that is computed": (
        lambda s, r: s.select("x > 0 AS some", "x").join(r.select("y > 0 AS some", "y AS other"), on="some"),
        ["select", "select", *SIDES, *PACK],
        ["select", "select", *SIDES, "aggregate", "unfold", "unfold", "select"],
    ),
    "join that equates": (
        lambda s, r: s.join(r, on="k", where="x + 1 = y AND y > 1 AND left.t + 1 >= y"),
        [*SIDES, *PACK],
        [*SIDES, "aggregate", "unfold", "unfold", "where", "select"],
    ),
    "join that equates what is torn apart elsewhere": (
        lambda s, r: s.join(r, on="k", where="x + 1 = y AND 2 * x + 1 < 4"),
        [*SIDES, *PACK],
        [*SIDES, "aggregate", "unfold", "unfold", "where", "select"],
    ),
    "join that equates one of two": (
        lambda s, r: s.select("x > 0 AS p", "x > 1 AS q").join(
            r.select("y > 8 AS z", "y"), on=(), where="left.p OR left.q = right.z"
        ),
        [*PACK, *PACK, *SIDES, *PACK],
        [*PACK, *PACK, *SIDES, "aggregate", "unfold", "unfold", "where", "select"],
    ),
    "join that equates in a case": (
        lambda s, r: s.join(r, on="k", where="CASE WHEN left.x > 1 THEN left.x = right.y ELSE right.y = 2 END"),
        [*SIDES, *PACK],
        [*SIDES, "aggregate", "unfold", "unfold", "where", "select"],
    ),
    "window_join": (
        lambda s, r: s.window_join(r, on="k", size=4, every=2, where="left.t <= right.t"),
        [*SIDES, "window.aggregate", "unfold", "select"],
        [*SIDES, "window.aggregate", "unfold", "unfold", "where", "select"],
    ),
    "accumulate": (
        lambda s, r: s.accumulate(by="k", n="count(*)", m="sum(x) * 2 + count(x)"),
        ["aggregate", "carry", "select"],
        ["aggregate", "carry", "select"],
    ),
    "accumulate every": (
        lambda s, r: s.accumulate(by="k", every=3, n="count(*)", most="max(x)", emit="complete"),
        ["window.aggregate", "carry", "select"],
        ["window.aggregate", "carry", "select"],
    ),
    "accumulate what cannot be merged": (
        lambda s, r: s.accumulate(by="x % 2 AS x", every=3, n="count(DISTINCT x)", one="first(x)", at="max(t)"),
        ["window.aggregate", "carry", "unfold", "select", "aggregate"],
        ["window.aggregate", "carry", "unfold", "select", "aggregate"],
    ),
    "accumulate all rows": (
        lambda s, r: s.accumulate(ks="collect_list(k)"),
        ["aggregate", "carry", "unfold", "select", "aggregate"],
        ["aggregate", "carry", "unfold", "select", "aggregate"],
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_there_and_back(name: str) -> None:
    """Each operator becomes its composition, which explain shows, and becomes itself again."""
    build, loops, plus = OPERATORS[name]
    flow = flow_of(build)
    forms = {"A": loops, "A+": ["explode" if verb == "unfold" else verb for verb in plus]}
    for using, verbs in forms.items():
        rewritten = flow.to_aggregates(using=using)
        assert [o.verb for o in rewritten.plan if o.verb != "source"] == verbs
        assert all(o.id in str(rewritten.explain()) for o in rewritten.plan)
        assert sink_fingerprints(rewritten.optimize()) == sink_fingerprints(flow)


def test_a_dot_in_a_name_does_not_hide_a_composition() -> None:
    """A column whose name has a dot is one name, and not a field."""
    flow = tg.Flow("dots")
    flow.sink("out", flow.source("s", {"t": "INT", "a.b": "INT"}, time="t").accumulate(ns="collect_list(`a.b`)"))
    assert flow.to_aggregates().optimize().plan == flow.plan


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


def lists(s: Any, r: Any, *, where: str = "k IS NOT NULL", **window: Any) -> Any:
    """The lists of a Join, as a user may write them: names of his own, and a struct of what he needs."""
    filtered = f" FILTER (WHERE {where})" if where else ""
    left = s.select("k", "struct(x, t AS at) AS l", "CAST(NULL AS STRUCT<y: INT, at: INT>) AS r")
    both = left.union(r.select("k", "CAST(NULL AS STRUCT<x: INT, at: INT>) AS l", "named_struct('y', y, 'at', t) AS r"))
    both = both.window(**window) if window else both
    return both.aggregate(by="k", ls=f"collect_list(l){filtered}", rs=f"collect_list(r){filtered}")


ROW = ["k", "x", "xs"]
BY_HAND = {
    "filter": (
        lambda s, r: (
            s.aggregate(by=["xs", "k", "x"], some="array_agg(struct(k, x, xs)) FILTER (WHERE x > 1)")
            .explode("some")
            .select("some.k", "some.x", "some.xs")
        ),
        lambda s, r: s.where("x > 1"),
    ),
    "filter by IF": (
        lambda s, r: (
            s.aggregate(by=ROW, p="collect_list(IF(x > 1, struct(k, x, xs), NULL))")
            .explode("p")
            .select("p.k", "p.x", "p.xs")
        ),
        lambda s, r: s.where("x > 1"),
    ),
    "map": (
        lambda s, r: (
            s.aggregate(by=ROW, p="collect_list(struct(upper(k) AS u, x))")
            .explode("p")
            .select("p.x AS x", "p.u AS name")
        ),
        lambda s, r: s.select("x", "upper(k) AS name"),
    ),
    "map in windows of one unit": (
        lambda s, r: (
            s.window(1).aggregate(by=ROW, p="collect_list(struct(x + 1 AS y))").explode("p").select("p.y AS y")
        ),
        lambda s, r: s.select("x + 1 AS y"),
    ),
    "map that computes behind": (
        lambda s, r: s.aggregate(by=ROW, p="collect_list(struct(x))").explode("p").select("p.x + 1 AS x"),
        lambda s, r: s.select("x + 1 AS x"),
    ),
    "map by another key": (
        lambda s, r: s.aggregate(by=["k", "x"], p="collect_list(struct(xs))").explode("p").select("k", "p.xs AS xs"),
        lambda s, r: s.select("k", "xs"),
    ),
    "map by a key that is called as a column": (
        lambda s, r: s.aggregate(by="x % 2 AS x", p="collect_list(struct(x AS o))").explode("p").select("p.o + x AS y"),
        lambda s, r: s.select("x + (x % 2) AS y"),
    ),
    "map of one value, which is no null": (
        lambda s, r: s.aggregate(by="k", p="collect_list(x)").explode("p").select("k", "p + 1 AS y"),
        lambda s, r: s.where("(x) IS NOT NULL").select("k", "(x) + 1 AS y"),
    ),
    "filter and map": (
        lambda s, r: (
            s.aggregate(by=ROW, p="collect_list(named_struct('y', x + 1)) FILTER (WHERE x > 1)")
            .explode("p")
            .select("p.y")
        ),
        lambda s, r: s.where("x > 1").select("x + 1 AS y"),
    ),
    "flat map": (
        lambda s, r: (
            s.aggregate(by=ROW, p="collect_list(struct(k, xs))").explode("p").select("p.k", "p.xs").explode("xs")
        ),
        lambda s, r: s.select("k", "xs").explode("xs"),
    ),
    "distinct": (
        lambda s, r: s.aggregate(by=ROW, n="count(*)").select(*ROW),
        lambda s, r: s.distinct(),
    ),
    "distinct in windows of one unit, in another order": (
        lambda s, r: s.window(1).aggregate(by=ROW, n="count(*)").select("xs", "x", "k"),
        lambda s, r: s.distinct().select("xs", "x", "k"),
    ),
    "join": (
        lambda s, r: lists(s, r).explode("ls").explode("rs").select("k", "ls.x", "rs.y"),
        lambda s, r: s.select("k", "x").join(r, on="k"),
    ),
    "join with a condition, unfolded the other way round": (
        lambda s, r: lists(s, r).explode("rs").explode("ls").where("ls.x < rs.y").select("k", "ls.x", "rs.y"),
        lambda s, r: s.select("k", "x").join(r, on="k", where="left.x < right.y"),
    ),
    "windowed join": (
        lambda s, r: (
            lists(s, r, size=4, every=2).explode("ls").explode("rs").where("ls.at <= rs.at").select("k", "ls.x", "rs.y")
        ),
        lambda s, r: s.select("k", "x").window_join(r, on="k", size=4, every=2, where="left.t <= right.t"),
    ),
    "accumulate": (
        lambda s, r: s.aggregate(by="k", n="count(*)", m="max(x)").accumulate(by="k", n="sum(n)", most="max(m)"),
        lambda s, r: s.accumulate(by="k", n="count(*)", most="max(x)"),
    ),
    "accumulate every": (
        lambda s, r: s.window(3).aggregate(by="k", n="count(x)").accumulate(by="k", total="sum(n)"),
        lambda s, r: s.accumulate(by="k", every=3, total="count(x)"),
    ),
    "accumulate by less": (
        lambda s, r: s.window(3).aggregate(by=["k", "x % 2 AS odd"], n="sum(x)").accumulate(by="odd", n="sum(n)"),
        lambda s, r: s.accumulate(by="x % 2 AS odd", every=3, n="sum(x)"),
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_a_user_wrote_by_hand_is_recognised(name: str) -> None:
    """Compositions that a user wrote with aggregate, explode and select become the dedicated operators too."""
    by_hand, dedicated = map(flow_of, BY_HAND[name])
    assert {o.verb for o in by_hand.optimize().plan} <= {"select", *(o.verb for o in dedicated.plan)}
    expected = by_time(by_hand.reference(given_rows(by_hand))["out"])
    assert expected == by_time(dedicated.reference(given_rows(dedicated))["out"])
    assert by_time(by_hand.optimize().reference(given_rows(by_hand))["out"]) == expected


ALMOST = {
    "duplicates are dropped": lambda s, r: s.aggregate(by=ROW, p="collect_set(struct(k))").explode("p").select("p.k"),
    "distinct ones are listed": lambda s, r: (
        s.aggregate(by=ROW, p="collect_list(DISTINCT struct(k))").explode("p").select("p.k")
    ),
    "the size of the list is read": lambda s, r: (
        s.aggregate(by=ROW, p="collect_list(struct(k))", n="count(*)").explode("p").select("p.k", "n")
    ),
    "the whole pack is kept": lambda s, r: s.aggregate(by=ROW, p="collect_list(struct(k))").explode("p").select("p"),
    "windows are longer than a unit": lambda s, r: (
        s.window(2).aggregate(by=ROW, p="collect_list(struct(k))").explode("p").select("p.k")
    ),
    "the window is read": lambda s, r: (
        s.window(1).aggregate(by=ROW, p="collect_list(struct(k))").explode("p").select("p.k", "window.start AS a")
    ),
    "windows slide": lambda s, r: s.window(2, every=1).aggregate(by=ROW, n="count(*)").select(*ROW),
    "a fraction comes out of the key": lambda s, r: (
        s.aggregate(by="x / 2 AS h", p="collect_list(struct(k))").explode("p").select("h", "p.k")
    ),
    "a count is kept": lambda s, r: s.aggregate(by=ROW, n="count(*)").select("k", "x", "n AS xs"),
    "a key is missing in a distinct": lambda s, r: s.aggregate(by=["k", "x"], n="count(*)").select("k", "x"),
    "null keys meet": lambda s, r: lists(s, r, where="").explode("ls").explode("rs").select("k", "ls.x", "rs.y"),
    "more than null keys is left out": lambda s, r: (
        lists(s, r, where="k IS NOT NULL AND k <> 'a'").explode("ls").explode("rs").select("k", "ls.x", "rs.y")
    ),
    "one list is not unfolded": lambda s, r: lists(s, r).explode("ls").select("k", "ls.x"),
    "one list is unfolded, of the other the size": lambda s, r: (
        lists(s, r).explode("ls").select("k", "ls.x", "size(rs) AS n")
    ),
    "a condition on a list that is not unfolded yet": lambda s, r: (
        lists(s, r).explode("ls").where("rs.y IS NOT NULL").explode("rs").select("k", "ls.x", "rs.y")
    ),
    "a key reads a column that is called as the pack": lambda s, r: (
        s.select("struct(x AS y) AS p", "x")
        .aggregate(by="p.y AS k", p="collect_list(struct(x + 1 AS y))")
        .explode("p")
        .select("k", "p.y AS z")
    ),
    "windows have an offset": lambda s, r: (
        s.window(3, offset=1).aggregate(by="k", n="count(*)").accumulate(by="k", n="sum(n)")
    ),
    "windows overlap": lambda s, r: s.window(4, every=2).aggregate(by="k", n="count(*)").accumulate(by="k", n="sum(n)"),
    "sessions": lambda s, r: s.session(3).aggregate(by="k", n="count(*)").accumulate(by="k", n="sum(n)"),
    "another merge": lambda s, r: s.window(3).aggregate(by="k", n="count(*)").accumulate(by="k", n="max(n)"),
    "counts are counted": lambda s, r: s.window(3).aggregate(by="k", n="count(*)").accumulate(by="k", n="count(n)"),
    "distinct counts do not merge": lambda s, r: (
        s.window(3).aggregate(by="k", n="count(DISTINCT x)").accumulate(by="k", n="sum(n)")
    ),
    "sums of decimals become wider": lambda s, r: (
        s.window(3).aggregate(by="k", n="sum(CAST(x AS DECIMAL(9, 2)))").accumulate(by="k", n="sum(n)")
    ),
    "the loop has periods of its own": lambda s, r: (
        s.window(3).aggregate(by="k", n="count(*)").accumulate(by="k", every=6, n="sum(n)")
    ),
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
    "a fraction as key": lambda s, r: s.accumulate(by="x / 2 AS h", n="count(*)"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_has_no_composition_stays(name: str) -> None:
    """The operator at the end is the one that was there before."""
    flow = flow_of(LEFT_ALONE[name])
    last = flow.plan.sinks[0].input
    assert flow.to_aggregates().plan[last] == flow.plan[last]


def test_late_rows_still_travel() -> None:
    """An Aggregate ends the way of late rows: before a window with lateness, Maps stay, and so do compositions."""
    flow = tg.Flow("late")
    s = flow.source("s", "t INT, x INT", time="t")
    window = {"size": 2, "lateness": 4}
    flow.sink("out", s.where("x > 1").select("x * 2 AS y").window(**window).aggregate(n="count(*)"))
    assert flow.to_aggregates().plan == flow.plan
    events = [DT(1, {"t": 1, "x": 5}), WM(3), DT(1, {"t": 1, "x": 6}), WM(9)]
    assert [e.d["n"] for e in flow.to_aggregates().reference({"s": events})["out"] if isinstance(e, DT)] == [1, 2]

    by_hand = tg.Flow("late")
    s = by_hand.source("s", "t INT, x INT", time="t")
    mapped = s.aggregate(by="x", p="collect_list(struct(x))").explode("p").select("p.x * 2 AS y")
    by_hand.sink("out", mapped.window(**window).aggregate(n="count(*)"))
    assert by_hand.optimize().plan == by_hand.plan


def test_a_join_that_is_revised_stays() -> None:
    """Late rows of both sides travel through Maps to it, and a revision has no form in Aggregates."""
    flow = tg.Flow("late")
    s, r = (flow.source(name, "t INT, x INT", time="t").where("x > 1") for name in "sr")
    flow.sink("out", s.window_join(r.select("x", "x + 1 AS y"), on="x", size=2, lateness=4))
    assert flow.to_aggregates().plan == flow.plan == flow.optimize().plan


def test_an_unknown_aggregate_is_an_error() -> None:
    """Compositions are of A or of A+."""
    with pytest.raises(BadArgument, match='expected using="A" or using="A\\+", got \'B\''):
        flow_of(lambda s, r: s).to_aggregates(using="B")


def test_a_plus_has_no_loop() -> None:
    """Rounds can be asked for of A alone."""
    with pytest.raises(BadArgument, match='expected looped=True with using="A" only'):
        flow_of(lambda s, r: s).to_aggregates(using="A+", looped=True)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("length(a) = length(b) AND length(a) > 9", ("length(`right`.b) > 9",)),
        ("x = y AND 3 <= y", ("3 <= `left`.x",)),
        ("a = b AND a <> 'left.a'", ("`right`.b <> 'left.a'",)),
        # Not one value, a part of another name, another type, what may fail on a row, and no condition on all pairs.
        ("x + 1 = y AND 2 * x + 1 > 5", ()),
        ("length(a) = y AND char_length(a) > 5", ()),
        ("a = b AND a > 5", ()),
        ("x = y AND 10 / x > 5", ()),
        ("f = g AND f > 5", ()),
        ("x = y AND (x > 5 OR y < 3)", ()),
        ("x = y OR x > 5", ()),
    ],
)
def test_what_holds_for_one_side_of_an_equation_holds_for_the_other(where: str, expected: tuple[str, ...]) -> None:
    """Comparisons of equated values with constants are carried over, and nothing that asks more or means otherwise."""
    left, right = (
        parse_schema("t INT, a STRING, x INT, f DOUBLE", time=("t",)),
        parse_schema("b STRING, y INT, g DOUBLE"),
    )
    condition = bound(Parsed.of(where, "a condition"), both_sides(left, right, ()))
    assert implied(condition, (), left, right) == expected
