"""Operators of the papers in `process`: at random cuts what they give when they are run by themselves."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests.drawing import drawn_examples
from tests.flow.case import assert_same_rows
from tests.local_engine.engine import arrow_rows
from tests.local_engine.steps import run_locally
from tests.local_engine.test_random_streams import HOW
from tests.local_engine.test_random_streams import compare as compare_drawn
from tests.spark.steps import MARK, Cuts, with_marks
from tidegate.check.flows import DrawnFlow, flows
from tidegate.check.orders import posets
from tidegate.engine import processing
from tidegate.engine.keepers import resumed
from tidegate.flow import processed
from tidegate.flow.orders import Ordered
from tidegate.flow.processed import Row
from tidegate.flow.schema import Schema
from tidegate.flow.values import ordered
from tidegate.spec import (
    DT,
    WM,
    batch_op,
    comp_op,
    flatten_op,
    ihist_linear_op,
    ihist_op,
    ihist_paths_op,
    incr_batch_op,
    map_op,
    produce,
    skip_op,
)
from tidegate.spec.aggregate import A, A_plus, J, M, Window, both_op, composed_J, composed_M, sides_op, unit
from tidegate.time import Int, Poset, Sum


def words(batch: Any) -> list[dict[str, Any]]:
    """What is in a batch, in order: a row for each element, and where it stands."""
    return [{"at": i, "text": f"{t} {row['x']}"} for i, (t, row) in enumerate(batch)]


def counts(histogram: Any) -> list[dict[str, Any]]:
    """A row for each datum of a histogram."""
    return [{"at": n, "text": str(row["x"] if isinstance(row, dict) else row)} for row, n in histogram.items()]


def one(pair: Any) -> dict[str, Any]:
    """A row for an element of a batch."""
    return {"at": 1, "text": str(pair[1]["x"])}


def of_x(t: Any, row: Any) -> Any:
    """The datum of a row."""
    return row["x"]


def line(text: str) -> dict[str, Any]:
    """A row for a text."""
    return {"at": 1, "text": text}


def inside(instance: Any) -> list[str]:
    """What is in an instance of a window, in order."""
    return [f"{instance.l} " + "".join(f"({t} {d if isinstance(d, str) else d['x']})" for t, d in instance.tuples)]


def twice(t: Any, row: Any) -> list[str]:
    """Two texts for a row, or none."""
    return [f"{t} {row['x']}"] * 2 if row["x"] is not None else []


def with_itself(order: Any, join: Any) -> Any:
    """A stream, joined with itself in windows that overlap."""
    window = Window(1, 2, key=lambda t, row: row["x"])
    same = both_op(M(lambda t, row: [row]), M(lambda t, row: [row]))
    return comp_op(same, join(order, window, window, lambda left, right: True))


def pairs_inside(instance: Any) -> list[str]:
    """The pairs that are in an instance of a window."""
    return [f"{instance.l} {[(t, times_of(pair)) for t, pair in instance.tuples]}"]


def times_of(pair: Any) -> dict[str, Any]:
    """A row for a pair."""
    (left, row), (right, _) = pair
    return {"at": left, "text": f"{right} {row['x']}"}


def sizes(t: Any, batch: Any) -> str:
    """How much is in a batch."""
    return str(len(batch))


#: Operators for every order, and such as need a total one; with what makes rows of what they put out.
EVERY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "batch_op": (batch_op, words),
    "batches taken apart": (lambda order: comp_op(batch_op(order), flatten_op()), one),
    "ihist_op": (ihist_op, counts),
    "ihist_op of values": (lambda order: comp_op(map_op(of_x), ihist_op(order)), counts),
    "ihist_paths_op": (lambda order: comp_op(map_op(of_x), ihist_paths_op(order)), counts),
}
TOTAL = EVERY | {
    "incr_batch_op": (incr_batch_op, words),
    "ihist_linear_op": (ihist_linear_op, counts),
    "skip_op": (lambda order: skip_op(batch_op(order), 2), words),
}
#: Operators of the paper on Aggregates, for a time that is counted in units.
AGGREGATES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "M": (lambda order: M(twice), line),
    "composed_M": (lambda order: composed_M(order, twice), line),
    "composed_M with a loop": (lambda order: composed_M(order, twice, using="A", d=4), line),
    "A on units": (lambda order: A(order, unit(lambda t, row: row["x"]), inside), line),
    "A on windows": (lambda order: A(order, Window(3, 3), inside), line),
    "A_plus on windows that overlap": (lambda order: A_plus(order, Window(1, 3), inside), line),
    "A behind A": (lambda order: comp_op(A(order, Window(2, 2), inside), A(order, Window(2, 5), inside)), line),
    "J": (lambda order: with_itself(order, J), times_of),
    "A behind J": (lambda order: comp_op(with_itself(order, J), A(order, Window(3, 3), pairs_inside)), line),
    "composed_J": (lambda order: with_itself(order, composed_J), times_of),
}
#: Operators for sums, on both sides of which is the same.
ON_SUMS = {
    "sides_op": (
        lambda order: sides_op(A(order.left, unit(), inside), comp_op(batch_op(order.right), map_op(sizes))),
        line,
    )
}


#: The time columns of a flow: integers by name, or a column with an order of its own.
Times = tuple[str, ...] | Ordered


def flow_of(times: Times, name: str) -> tg.Flow:
    """One operator of the papers, a copy for each key."""
    flow = tg.Flow("papers")
    if isinstance(times, Ordered):
        columns = "t STRING" if isinstance(times.order, Poset) else "t STRUCT<side: STRING, value: INT>"
    else:
        columns = ", ".join(f"{t} INT" for t in times)
    s = flow.source("s", f"{columns}, k STRING, x INT", time=times)
    make, out = (TOTAL | AGGREGATES | ON_SUMS)[name]
    flow.sink("out", s.process(make(s.schema.order), by="k", schema="at INT, text STRING", out=out))
    return flow


def by_itself(flow: tg.Flow, name: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What the operator gives for the rows of each key, run by itself: complete times in order, rows sorted."""
    schema = flow.plan["s"].schema
    make, out = (TOTAL | AGGREGATES | ON_SUMS)[name]
    dicts = [dict(zip(schema.names, row, strict=True)) for row in rows]
    found = []
    for key in {row["k"] for row in dicts}:
        own = ordered([row for row in dicts if row["k"] == key], schema.names)
        events: list[Any] = []
        for t in sorted({*map(schema.time_of, own)}, key=schema.order.key):
            events += [*(DT(t, Row(row)) for row in own if schema.time_of(row) == t), WM(t)]
        for event in produce(make(schema.order), events):
            if isinstance(event, DT):
                made = out(event.d)
                times = schema.at(event.t).values()
                found += [(*times, key, *row.values()) for row in (made if isinstance(made, list) else [made])]
    return found


def rows_of(rng: random.Random, times: Times) -> list[tuple[Any, ...]]:
    """Few values, so that many are alike."""

    def time() -> tuple[Any, ...]:
        if not isinstance(times, Ordered):
            return tuple(rng.randint(0, 3) for _ in times)
        if isinstance(times.order, Poset):
            return (rng.choice(times.order.elements),)
        return ({"side": rng.choice(["left", "right"]), "value": rng.randint(0, 3)},)

    return [(*time(), rng.choice(["a", "b", None]), rng.choice([0, 1, None])) for _ in range(rng.randint(0, 14))]


def cuts_of(rng: random.Random, rows: list[tuple[Any, ...]], times: int) -> Cuts:
    """Steps in the order of the first time column; of each, what comes later is in a later one."""
    bounds = sorted(rng.sample(range(4), rng.randint(0, 3)))
    cuts, low = [], -1
    for bound in bounds:
        chosen = [row for row in rows if low < row[0] <= bound]
        rng.shuffle(chosen)
        cuts.append({"s": [*chosen, (bound, *[None] * (times - 1), MARK, None)]})
        low = bound
    return [*cuts, {"s": [row for row in rows if row[0] > low]}]


def ordered_cuts_of(rng: random.Random, rows: list[tuple[Any, ...]], schema: Schema) -> Cuts:
    """Steps of rows in a linear extension of their order; each completes some of the times that do not come again."""
    order = schema.order
    timed = [(schema.time_of(dict(zip(schema.names, row, strict=True))), row) for row in rows]
    rng.shuffle(timed)
    timed.sort(key=lambda pair: order.key(pair[0]))
    bounds = [0, *sorted(rng.randint(0, len(rows)) for _ in range(rng.randint(0, 3))), len(rows)]
    cuts: Cuts = []
    for low, high in pairwise(bounds):
        done = {t for t, _ in timed[:high] if not any(order.le(later, t) for later, _ in timed[high:])}
        marks = [(*schema.at(t).values(), MARK, None) for t in sorted(done, key=order.key) if rng.random() < 0.7]
        cuts.append({"s": [*(row for _, row in timed[low:high]), *marks]})
    return cuts


def check(name: str, times: Times, rng: random.Random, **options: Any) -> None:
    """Compare the reference and the engine with the operator itself."""
    flow = flow_of(times, name)
    schema = flow.plan["s"].schema
    rows = rows_of(rng, times)
    expected = by_itself(flow, name, rows)
    given = [dict(zip(schema.names, row, strict=True)) for row in rows]
    assert_same_rows([tuple(row.values()) for row in flow.reference({"s": given}).rows("out")], expected)
    with TemporaryDirectory() as directory:
        cuts = ordered_cuts_of(rng, rows, schema) if schema.ordered else cuts_of(rng, rows, len(schema.time))
        assert_same_rows(run_locally(with_marks(flow.plan), cuts, {}, Path(directory), **options)["out"], expected)


CASES = [(name, ("t",)) for name in TOTAL] + [(name, ("t", "u")) for name in EVERY]
HOWS = {
    "rows": {},
    "restarted": {"restart": True},
    "pickled": {"allow_pickle": True},
    "pickled, in parts": {"allow_pickle": True, "restart": True, "fold": False},
}


@drawn_examples(5, 60)
@given(case=st.sampled_from(CASES), rng=st.randoms(use_true_random=False), how=st.sampled_from(sorted(HOWS)))
def test_an_operator_gives_what_it_gives_by_itself(case: Any, rng: random.Random, how: str) -> None:
    """On both kinds of orders, wherever steps begin and end, with rows kept or the copies themselves."""
    check(*case, rng, **HOWS[how])


ORDERS = st.one_of(posets(), posets(), st.just(Sum(Int(), Int())))


@drawn_examples(8, 60)
@given(
    name=st.sampled_from(sorted(EVERY)),
    order=ORDERS,
    rng=st.randoms(use_true_random=False),
    how=st.sampled_from(sorted(HOWS)),
)
def test_an_operator_gives_what_it_gives_by_itself_on_an_order_of_its_own(
    name: str, order: Any, rng: random.Random, how: str
) -> None:
    """On drawn finite orders and on sums, with watermarks at any of their times."""
    check(name, tg.ordered("t", order), rng, **HOWS[how])


@pytest.mark.parametrize("name", AGGREGATES)
@drawn_examples(2, 30)
@given(rng=st.randoms(use_true_random=False), how=st.sampled_from(sorted(HOWS)))
def test_an_aggregate_gives_what_it_gives_by_itself(name: str, rng: random.Random, how: str) -> None:
    """A window answers at its last time, also if its key has no rows then, wherever steps begin and end."""
    check(name, ("t",), rng, **HOWS[how])


@pytest.mark.parametrize("how", sorted(HOWS))
def test_each_side_of_a_sum_has_an_operator_of_its_own(how: str) -> None:
    """On streams with times of two sides, one operator may be for the left and another for the right."""
    for seed in range(3):
        check("sides_op", tg.ordered("t", Sum(Int(), Int())), random.Random(seed), **HOWS[how])


@drawn_examples(4, 60)
@given(
    drawn=flows(max_operators=2, only=("process", "process", "where", "window")),
    rng=st.randoms(use_true_random=False),
    how=HOW,
)
def test_flows_with_them_give_what_the_specification_gives(drawn: DrawnFlow, rng: random.Random, how: str) -> None:
    """Also where others come before and after."""
    compare_drawn(drawn, rng, how=how)


def test_what_is_refused_depends_on_the_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a product, what came so far is something else if two times that do not compare change places."""
    monkeypatch.setattr(processed, "depends_on_extension", lambda _op: "")
    flow = flow_of(("t", "u"), "incr_batch_op")
    low, high = (0, 1, "a", 0), (1, 0, "a", 1)
    together: Cuts = [{"s": [low, high]}]
    apart: Cuts = [{"s": [high, (None, 0, MARK, None)]}, {"s": [low]}]
    one, other = (
        run_locally(with_marks(flow.plan), cuts, {}, tmp_path / name)["out"]
        for name, cuts in (("together", together), ("apart", apart))
    )
    with pytest.raises(AssertionError):
        assert_same_rows(one, other)


def _the_first_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a list, the first row goes out."""
    real = processing.put_out
    monkeypatch.setattr(processing, "put_out", lambda *given: real(*given)[:1])


def _as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that cannot be counted."""
    monkeypatch.setattr(processing, "Row", dict)


def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a copy knows is lost from step to step."""
    read, write = resumed._CODES[resumed.Memory.PICKLES]
    monkeypatch.setitem(resumed._CODES, resumed.Memory.PICKLES, (lambda copy, _text: copy, write))
    assert read is not write


@pytest.mark.parametrize("mutant", [_the_first_alone, _as_they_are, _forgotten])
def test_broken_copies_are_found(monkeypatch: pytest.MonkeyPatch, mutant: Any) -> None:
    """The comparison can fail, for each of these."""

    def differs() -> bool:
        for seed in range(6):
            try:
                check("ihist_op", ("t",), random.Random(seed), allow_pickle=True)
            except (AssertionError, tg.errors.TidegateError):
                return True
        return False

    assert not differs()
    mutant(monkeypatch)
    assert differs()


def test_what_cannot_be_pickled_is_named(tmp_path: Path) -> None:
    """The operator, why, and what to do instead."""
    flow = tg.Flow("papers")
    s = flow.source("s", "t INT, k STRING, x INT", time="t")
    lock = Lock()
    flow.sink("out", s.process(map_op(lambda t, row: {"n": int(lock.locked())}), by="k", schema="n INT"))
    cuts: Cuts = [{"s": [(1, "a", 1), (1, MARK, None)]}]
    with pytest.raises(tg.errors.TidegateError, match=r"expected an operator that can be pickled.*got map_op"):
        run_locally(with_marks(flow.plan), cuts, {}, tmp_path, allow_pickle=True)


def test_copies_are_pickled_without_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where there is no PySpark, whose pickles know more, those of Python do; a lambda is named then."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for seed in range(3):
        check("ihist_op of values", ("t",), random.Random(seed), allow_pickle=True)
    flow = tg.Flow("papers")
    s = flow.source("s", "t INT, k STRING, x INT", time="t")
    flow.sink("out", s.process(map_op(lambda t, row: {"n": 1}), by="k", schema="n INT"))
    cuts: Cuts = [{"s": [(1, "a", 1), (1, MARK, None)]}]
    with pytest.raises(tg.errors.TidegateError, match=r"expected an operator that can be pickled.*<lambda>"):
        run_locally(with_marks(flow.plan), cuts, {}, tmp_path, allow_pickle=True)


@pytest.mark.parametrize(
    ("out", "match"),
    [
        (lambda counts: 3, r"expected a dict, or a list of dicts, from out for Counter.* of ihist_op, got 3 \(int\)"),
        (lambda counts: "ab", r"of ihist_op, got 'ab' \(str\)"),
        (lambda counts: [{"m": 1}], r"expected DT\(t, dict of n\) from ihist_op and out, got DT\(1, {'m': 1}\)"),
        (None, r"(?s)expected DT\(t, dict of n\) from ihist_op, got DT\(1, Counter.*hint: give out="),
    ],
)
def test_what_is_no_row_is_named(out: Any, match: str) -> None:
    """The operator, what it gave, and what was made of it, on the specification and on the engine."""
    flow = tg.Flow("papers")
    s = flow.source("s", "t INT, x INT", time="t")
    flow.sink("out", s.process(ihist_op(s.schema.order), by=(), schema="n INT", out=out))
    rows = [{"t": 1, "x": 1}]
    for run in (
        lambda: flow.reference({"s": rows}),
        lambda: flow.compute(tg.local(), {"s": arrow_rows(s.schema, [(1, 1)])})["out"].fetchall(),
    ):
        with pytest.raises(Exception, match=match):
            run()


@pytest.mark.parametrize(
    ("type_", "times", "make", "match"),
    [
        (
            "DATE",
            [date.max],
            lambda order: A(order, Window(8, 8), inside),
            "expected windows of A that end at a time, got",
        ),
        (
            "INT",
            [2**31 - 1],
            lambda order: A(order, Window(3, 3), inside),
            "expected a timer from A at a time .* can hold",
        ),
        (
            "INT",
            [1, 4],
            lambda order: composed_M(order, twice, using="A", d=2),
            "expected a watermark at most d = 2 units",
        ),
    ],
    ids=["no such day", "no such number", "too far apart for a loop"],
)
def test_times_that_an_aggregate_cannot_take_are_named(type_: str, times: Any, make: Any, match: str) -> None:
    """Windows that end after the last time there is, and a loop whose bound is less than a gap between two rows."""
    flow = tg.Flow("papers")
    s = flow.source("s", f"t {type_}, x INT", time="t")
    flow.sink("out", s.process(make(s.schema.order), by=(), schema="at INT, text STRING", out=line))
    for run in (
        lambda: flow.reference({"s": [{"t": t, "x": 1} for t in times]}),
        lambda: flow.compute(tg.local(), {"s": arrow_rows(s.schema, [(t, 1) for t in times])})["out"].fetchall(),
    ):
        with pytest.raises(tg.errors.TidegateError, match=match):
            run()


def test_rows_are_values() -> None:
    """Rows are counted by their values, NaN and nested ones included, and can be told as plain values."""
    nan = float("nan")
    rows = [Row(x=nan, xs=[1, {"a": 0.0}]), Row(x=float("nan"), xs=[1, {"a": -0.0}])]
    assert rows[0] == rows[1]
    assert len({*rows}) == 1
    assert Row(x=1) == {"x": 1} != Row(x=2)
    assert repr(Row(x=1)) == "{'x': 1}"
