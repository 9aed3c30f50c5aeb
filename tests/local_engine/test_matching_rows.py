"""Joins keep only rows that may be in an answer: the answers are the same, and less is kept."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.flow.guarded import GUARDED, guarded
from tests.flow.specified import by_reference
from tests.local_engine.steps import Cut, engine_in, run_locally
from tidegate.engine import keepers
from tidegate.engine.keepers import matching
from tidegate.engine.storage.errors import RunFailed
from tidegate.flow.equations import LEFT, RIGHT
from tidegate.flow.errors import BadExpression
from tidegate.flow.one_sided import needed_of, unfailing_columns

#: Both sides ask something of themselves, one of them also by what follows from an equation.
WHERE = "left.x > 3 AND right.y < 7 AND left.x = right.y AND (left.s <> right.s OR left.x = 5)"
VERBS: dict[str, dict[str, Any]] = {
    "join": {},
    "window_join": {"size": 4, "every": 2},
    "early": {"size": 4, "every": 2, "early": True},
    "interval_join": {"lower": -2, "upper": 2},
}
KINDS = [
    (verb, how)
    for verb in VERBS
    for how in ("inner", "left", "right", "full", "semi", "anti")
    if verb != "early" or how == "inner"
]


#: A parameter of a lambda has the name of a column, in the same case or another.
LAMBDAS = [
    "exists(left.xs, x -> x > left.x)",
    "exists(left.xs, X -> X > left.x)",
    "size(filter(left.xs, x -> x > left.x)) = pmod(right.y, 3)",
    "size(filter(left.xs, x -> x > left.x)) > 0 AND left.x < 9",
    "exists(left.xs, `p.q` -> `p.q` > left.`p.q`)",
]

#: Parameters that are called as the sides are.
NAMED_AS_SIDES = [
    "exists(left.xs, right -> right > 3) AND left.x = right.y",
    "exists(left.xs, left -> left > 3) AND left.x < right.y",
]


def joined(verb: str, how: str, where: str = WHERE) -> tg.Flow:
    flow = tg.Flow("pairs")
    left = flow.source("a", "t INT, k STRING, x INT, s STRING", time="t", watermark=tg.bounded(3))
    left = left.with_columns(xs="array(0, x + t, 5)") if "xs" in where else left
    right = flow.source("b", "t INT, k STRING, y INT, s STRING", time="t", watermark=tg.bounded(3))
    left = left.with_columns(**{"p.q": "x"}) if "p.q" in where else left
    right = right if how in ("semi", "anti") else right.select("k", "y", "s AS s2")
    where = where if how in ("semi", "anti") else where.replace("right.s", "right.s2")
    method = getattr(left, "window_join" if verb == "early" else verb)
    flow.sink("out", method(right, on="k", where=where, how=how, **VERBS[verb]))
    return flow


def drawn(seed: int) -> list[dict[str, list[tuple[Any, ...]]]]:
    """Return rows in steps, none of them late, with values that are NULL now and then."""
    rng = Random(seed)

    def row(step: int) -> tuple[Any, ...]:
        value = rng.choice([None, *range(10)])
        return (2 * step + rng.randrange(3), rng.choice("pq"), value, rng.choice(["u", "v", None]))

    return [{side: [row(step) for _ in range(rng.randrange(5))] for side in "ab"} for step in range(8)]


def compare(verb: str, how: str, place: Path, where: str = WHERE) -> None:
    for seed in range(3):
        cuts = drawn(seed)
        rows = {side: [row for cut in cuts for row in cut[side]] for side in "ab"}
        expected = by_reference(joined(verb if verb != "early" else "window_join", how, where), rows)
        assert_same_rows(run_locally(joined(verb, how, where).plan, cuts, {}, place / str(seed))["out"], expected)


@pytest.mark.parametrize(("verb", "how"), KINDS)
def test_the_answers_are_those_of_the_specification(verb: str, how: str, tmp_path: Path) -> None:
    """For each join and each kind of it, step by step: what is not kept was in no answer."""
    compare(verb, how, tmp_path)


@pytest.mark.parametrize(
    ("verb", "how"), [(verb, how) for verb, how in KINDS if how in ("left", "right", "full", "anti")]
)
def test_joins_that_keep_too_little_are_found(
    verb: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison can fail: rows without a match, which are answers too, are taken for rows that are in none."""
    monkeypatch.setattr(matching, "_UNMATCHED", {})
    with pytest.raises(AssertionError):
        compare(verb, how, tmp_path)


@pytest.mark.parametrize("where", LAMBDAS)
@pytest.mark.parametrize("verb", ["join", "window_join"])
def test_parameters_take_no_columns(verb: str, where: str, tmp_path: Path) -> None:
    """A condition on one side keeps its meaning where it is asked of the rows of that side alone."""
    cuts = drawn(1)
    rows = {side: [row for cut in cuts for row in cut[side]] for side in "ab"}
    expected = by_reference(joined(verb, "inner", where), rows)
    assert expected
    assert_same_rows(run_locally(joined(verb, "inner", where).plan, cuts, {}, tmp_path)["out"], expected)


def kept(verb: str, how: str, rows: dict[str, list[tuple[Any, ...]]], place: Path) -> list[int]:
    """Return how many rows of each side are kept after one step."""
    plan = joined(verb, how).plan
    readers = {source.id: Cut(source.schema, [rows[source.id]]) for source in plan.sources}
    engine = engine_in(plan, readers, {}, place, fold_from=lambda _: 0)
    for reader in readers.values():
        reader.released = 1
    engine.step()
    assert engine.last is not None
    (states,) = engine.last.state.values()
    return [state.rows for state in states]


@pytest.mark.parametrize("verb", ["join", "window_join", "interval_join"])
@pytest.mark.parametrize(
    ("how", "expected"),
    [("inner", [3, 3]), ("semi", [3, 3]), ("left", [10, 3]), ("anti", [10, 3]), ("right", [3, 10]), ("full", [10, 10])],
)
def test_rows_that_match_nothing_are_not_kept(verb: str, how: str, expected: list[int], tmp_path: Path) -> None:
    """Of x and y from 0 to 9 only 4, 5 and 6 can match; a side whose rows are answers without a match is kept whole."""
    rows = {side: [(0, "p", i, "u") for i in range(10)] for side in "ab"}
    assert kept(verb, how, rows, tmp_path) == expected


def test_an_early_join_keeps_no_rows_that_match_nothing(tmp_path: Path) -> None:
    """As joins do that wait for the end of a window."""
    rows = {side: [(0, "p", i, "u") for i in range(10)] for side in "ab"}
    assert kept("early", "inner", rows, tmp_path) == [3, 3]


@pytest.mark.parametrize(
    ("where", "left", "right"),
    [
        ("left.x > 3", ("x > 3",), ()),
        ("left.x > 3 AND right.y < 7", ("x > 3",), ("y < 7",)),
        ("left.x = right.y AND left.x > 3", ("x > 3",), ("y > 3",)),
        # It may be true by the other side.
        ("left.x > 3 OR right.y < 7", (), ()),
        ("left.x + right.y > 3", (), ()),
        # It may fail, and must not fail for a row without a pair.
        ("10 / left.x > 3", (), ()),
        ("CAST(left.s AS INT) > 3 AND left.x > 3", ("x > 3",), ()),
        ("array(left.x > 3)[1] AND right.y IN (1, 2)", (), ("y IN (1, 2)",)),
        ("left.x < CAST(300 AS TINYINT) AND left.x < CAST(99 AS TINYINT)", ("x < CAST(99 AS TINYINT)",), ()),
        ("CAST(left.x AS DATE) IN ('bad')", (), ()),
        ("date_add(DATE '2026-01-01', left.x) BETWEEN 'bad' AND '2026-02-01'", (), ()),
        # It is about neither side; a key is the left one.
        ("1 < 2", (), ()),
        ("k = 'p'", ("k = 'p'",), ()),
    ],
)
def test_conditions_on_one_side(where: str, left: tuple[str, ...], right: tuple[str, ...]) -> None:
    """Parts that read one side only and cannot fail, and those that follow from them by an equation."""
    (operator,) = (operator for operator in joined("join", "inner", where).plan if operator.verb == "join")
    sides = [joined("join", "inner", where).plan.inputs(operator)[port].schema for port in (0, 1)]
    names = [frozenset(side.names) for side in sides]
    found = [
        needed_of(side, operator.where, operator.on, *sides, c) for side, c in zip((LEFT, RIGHT), names, strict=True)
    ]  # type: ignore[attr-defined]
    assert found == [left, right]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda a, b, u: a, {"t", "k", "x", "l"}),
        (lambda a, b, u: a.select("k AS k2", "length(k) AS n", "CAST(k AS INT) AS m"), {"t", "k2", "n"}),
        (lambda a, b, u: a.select("CAST(size(split(k, ' ')) AS INT) AS words", "k AS other"), {"t", "other"}),
        # What reads a column that may fail may fail, too.
        (lambda a, b, u: a.with_columns(n="CAST(k AS INT)").with_columns(m="n > 3"), {"t", "k", "x", "l"}),
        (lambda a, b, u: a.where("CAST(k AS INT) > 3"), {"t", "k", "x", "l"}),
        (lambda a, b, u: a.explode("l"), {"t", "k", "x", "l"}),
        (lambda a, b, u: a.select("k", "1 / x AS n", "x").union(a.select("k", "1D AS n", "x")), {"t", "k", "x"}),
        # From what a join equates, engines infer conditions on other columns. Aggregates compute in ways of their own.
        (lambda a, b, u: a.join(u, on="k"), set()),
        (lambda a, b, u: a.join(b, on="k", how="semi"), set()),
        (lambda a, b, u: a.aggregate(by="k", n="count(*)").select("k"), set()),
    ],
)
def test_columns_that_conditions_may_read(build: Any, expected: set[str]) -> None:
    """They come from sources row by row, and nothing computes them that may fail."""
    flow = tg.Flow("columns")
    a, b = (flow.source(name, "t INT, k STRING, x INT, l ARRAY<INT>", time="t") for name in "ab")
    flow.sink("out", build(a, b, flow.table("u", "k STRING, y INT")))
    assert unfailing_columns(flow.plan, flow.plan.sinks[0].input) == expected


@pytest.mark.parametrize("where", GUARDED)
@pytest.mark.parametrize("how", ["semi", "inner", "anti"])
def test_no_condition_is_evaluated_for_rows_that_are_excluded_before(how: str, where: str, tmp_path: Path) -> None:
    """A join with a table excludes the row of which the number can't be computed."""
    flow, rows, tables = guarded(how, where)
    expected = by_reference(flow, rows | tables)
    assert expected
    cuts = [{"a": rows["a"][:2], "c": rows["c"][:2]}, {"a": rows["a"][2:], "c": rows["c"][2:]}]
    assert_same_rows(run_locally(flow.plan, cuts, tables, tmp_path)["out"], expected)


def test_conditions_that_are_evaluated_too_early_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would find it if conditions could read all columns."""
    monkeypatch.setattr(keepers, "unfailing_columns", lambda flow, name: frozenset(flow[name].schema.names))
    with pytest.raises(RunFailed):
        test_no_condition_is_evaluated_for_rows_that_are_excluded_before("anti", GUARDED[0], tmp_path)


@pytest.mark.parametrize("where", NAMED_AS_SIDES)
@pytest.mark.parametrize("how", ["right", "full"])
def test_parameters_may_be_called_as_the_sides_are(how: str, where: str, tmp_path: Path) -> None:
    """For the rows of the right side without a match, an interval join is computed with exchanged sides."""
    compare("interval_join", how, tmp_path, where)


@pytest.mark.parametrize("how", ["right", "full"])
@pytest.mark.parametrize(
    "where", ["exists(left.xs, right -> right > left.x)", "exists(left.xs, RIGHT -> left.x < right.y + RIGHT)"]
)
def test_a_parameter_that_hides_a_side_is_refused(where: str, how: str) -> None:
    """Exchanged, left.x would be the parameter's field: the call is refused, as a run would be on any engine."""
    refused = r"(?s)expected no parameter called right around a column of left .*call the parameter otherwise"
    with pytest.raises(BadExpression, match=refused):
        joined("interval_join", how, where)


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_a_parameter_may_be_called_as_the_other_side(how: str, tmp_path: Path) -> None:
    """Only for the rows of the right side without a match are the sides exchanged."""
    compare("interval_join", how, tmp_path, "exists(left.xs, right -> right > left.x)")


@pytest.mark.parametrize("where", ["exists(left.xs, left -> left > x)", "exists(left.xs, right -> right > y)"])
def test_a_parameter_that_hides_the_side_of_a_column_is_refused(where: str) -> None:
    """A column is bound to its side: `left.x` would be a field of the parameter."""
    with pytest.raises(BadExpression, match=r"(?s)is a column of (left|right), which is a parameter here.*otherwise"):
        joined("join", "inner", where)
