"""Every numbered statement, on generated streams over natural numbers, products, sums and random finite orders."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.spec.strategies import ORDERS, TOTAL, cases, fresh_buffers
from tidegate.check.orders import antichains
from tidegate.check.streams import batched, buffers, lassos, plain, two_sided
from tidegate.spec import (
    DT,
    WM,
    Lasso,
    batch_op,
    bulk_op,
    comp_op,
    count_op,
    flatten_op,
    ihist_linear_op,
    ihist_op,
    incr_batch_op,
    incr_op,
    map_op,
)
from tidegate.spec import statements as s
from tidegate.spec.join import swap
from tidegate.time import Nat, Sum


def holds(statement: s.Statement[Any], *args: Any) -> None:
    """Assert that a statement holds, and not only because an assumption does not."""
    assert statement.verdict(*args) == "holds", statement(*args)


@pytest.fixture(scope="module", params=ORDERS)
def orders(request):
    return ORDERS[request.param]


def endless(orders, **options):
    return orders.flatmap(lambda o: st.tuples(st.just(o), lassos(o, **options), buffers(o), buffers(o)))


# (5), (6), (7): streams of anything.

# Operators whose state stays bounded, so that silence can be decided, and operators that count.
BOUNDED = st.one_of(
    st.builds(lambda n: bulk_op(lambda xs: xs[:2], n), st.integers(1, 3)),
    st.builds(lambda n: bulk_op(lambda xs: [len(xs)] if xs else [], n), st.integers(1, 3)),
    st.just(count_op(lambda x: False)),
)
OPERATORS = st.one_of(BOUNDED, st.just(count_op(lambda x: x % 2 == 0)), st.just(count_op(lambda x: x == 0)))
WORDS = st.lists(st.integers(0, 3), max_size=10)
LOOPS = st.builds(Lasso, WORDS, WORDS.filter(bool))


@given(OPERATORS, st.integers(0, 5), st.one_of(WORDS, LOOPS))
def test_5_skip_op(op, n, events):
    """(5) on finite and endless streams."""
    holds(s.s5, op, n, events)


@given(OPERATORS, OPERATORS, st.one_of(WORDS, LOOPS))
def test_6_comp_op(op1, op2, events):
    """(6) on finite and endless streams, where its assumption holds."""
    verdict = s.s6.verdict(op1, op2, events)
    assume(verdict != "vacuous")
    assert verdict == "holds"


def test_6_fails_without_its_assumption():
    """(6) without its assumption: a first operator that stays silent for ever hides the second one's end."""
    silent = count_op(lambda x: False)
    ends = bulk_op(lambda xs: [len(xs)], 2)
    stream = Lasso([], [0])
    assert s.s6.verdict(silent, ends, stream) == "vacuous"
    counterexample = s.s6.without_assumptions(silent, ends, stream)
    assert counterexample is not None
    assert counterexample.given["composed"] == []
    assert counterexample.given["one by one"] == [0]


@given(BOUNDED, st.integers(0, 5), LOOPS, st.integers(0, 10))
def test_7_silent_composition(op1, k, events, n):
    """(7): where a composition is silent for ever, its second part is silent on what the first puts out."""
    verdict = s.s7.verdict(op1, count_op(lambda x: x == k), events, n)
    assume(verdict != "vacuous")
    assert verdict == "holds"


def test_7_needs_its_assumption():
    """A composition that is not silent has a second part that is not."""
    one, two = bulk_op(lambda xs: xs, 1), count_op(lambda x: x == 1)
    assert s.s7.verdict(one, two, Lasso([], [1]), 3) == "vacuous"
    assert s.s7.without_assumptions(one, two, Lasso([], [1]), 3) is not None


def test_5_beyond_what_is_looked_at_of_endless_streams():
    """(5) compares all outputs of a stream that ends, and skips as many as it is told to."""
    holds(s.s5, count_op(lambda x: True), 70, list(range(100)))
    holds(s.s5, count_op(lambda x: True), 70, Lasso([], [1]))


# (10) to (13): batch_op.


@given(st.data())
def test_10_batch_op_sound(orders, data):
    """(10), with initial buffers."""
    order, events, W, tds, _ = data.draw(cases(orders))
    holds(s.s10, order, events, W, tds)


@given(st.data())
def test_11_batch_op_complete(orders, data):
    """(11), with initial buffers, on streams that end and on productive endless ones."""
    order, events, _, tds, _ = data.draw(cases(orders))
    holds(s.s11, order, events, tds)
    order, loop, tds, _ = data.draw(endless(orders))
    wms = [e.t for e in loop.unroll(1) if isinstance(e, WM)]
    holds(s.s11, order, loop, [(t, d) for t, d in tds if any(order.le(t, w) for w in wms)])


@given(st.data())
def test_12_batch_op_keeps_monotone(orders, data):
    """(12), with buffers that the watermarks from before do not cover."""
    order, events, W, _, _ = data.draw(cases(orders))
    holds(s.s12, order, events, W, data.draw(fresh_buffers(order, W)))


@given(st.data())
def test_13_batch_op_keeps_productive(orders, data):
    """(13) on beginnings of streams that leave nothing owed, and on endless streams."""
    order, events, _, tds, _ = data.draw(cases(orders, covered=True))
    holds(s.s13, order, events, tds)
    order, loop, tds, _ = data.draw(endless(orders))
    holds(s.s13, order, loop, tds)


# (14) to (17): incr_op, whose input are batches.


def batches(orders):
    return orders.flatmap(lambda o: st.tuples(st.just(o), batched().monotone(o), buffers(o)))


@st.composite
def before(draw, order, events):
    """Watermarks that could have come before a stream of batches."""
    carried = [t for e in events if isinstance(e, DT) for t in (e.t, *(u for u, _ in e.d))]
    return [w for w in draw(antichains(order, greatest=True)) if not any(order.le(t, w) for t in carried)]


def endless_batches(order):
    """Endless streams of batches, each followed by its watermark."""
    return st.builds(Lasso, batched().monotone(order), batched().monotone(order).filter(bool))


def any_batches(orders):
    """Streams of batches that promise nothing."""
    return orders.flatmap(lambda o: st.tuples(plain(buffers(o)).monotone(o), buffers(o)))


@given(st.data())
def test_14_incr_op_sound(orders, data):
    """(14) on any stream of batches, with initial buffers."""
    holds(s.s14, *data.draw(any_batches(orders)))


@given(st.data())
def test_15_incr_op_complete(orders, data):
    """(15) on any stream of batches, with initial buffers."""
    holds(s.s15, *data.draw(any_batches(orders)))


@given(st.data())
def test_16_incr_op_keeps_monotone(orders, data):
    """(16) on fresh batches, after watermarks that do not cover them."""
    order, events, abs = data.draw(batches(orders))
    holds(s.s16, order, events, data.draw(before(order, events)), abs)


@given(st.data())
def test_17_incr_op_keeps_productive(orders, data):
    """(17) on batches that are followed by their watermarks, and on endless streams of such."""
    order, events, abs = data.draw(batches(orders))
    holds(s.s17, order, events, abs)
    holds(s.s17, order, data.draw(endless_batches(order)), abs)


# (18) to (21): incr_batch_op.


@given(st.data())
def test_18_incr_batch_op_keeps_monotone(orders, data):
    """(18), with initial buffers."""
    order, events, W, _, abs = data.draw(cases(orders))
    holds(s.s18, order, events, W, data.draw(fresh_buffers(order, W)), abs)


@given(st.data())
def test_19_incr_batch_op_keeps_productive(orders, data):
    """(19) on beginnings of streams that leave nothing owed, and on endless streams."""
    order, events, _, tds, abs = data.draw(cases(orders, covered=True))
    holds(s.s19, order, events, tds, abs)
    order, loop, tds, abs = data.draw(endless(orders))
    holds(s.s19, order, loop, tds, abs)


@given(st.data())
def test_20_incr_batch_op_sound(orders, data):
    """(20), with initial buffers."""
    holds(s.s20, *data.draw(cases(orders)))


@given(st.data())
def test_21_incr_batch_op_complete(orders, data):
    """(21)."""
    order, events, *_ = data.draw(cases(orders))
    holds(s.s21, order, events)
    order, loop, *_ = data.draw(endless(orders))
    holds(s.s21, order, loop)


# (22) to (27): histograms.


@given(st.data())
def test_22_ihist_op_sound(orders, data):
    """(22), and the variant of section 5.1 that counts along paths."""
    order, events, W, *_ = data.draw(cases(orders))
    holds(s.s22, order, events, W)
    holds(s.ihist_paths_op_counts_paths, order, events, W)


@given(st.data())
def test_23_ihist_op_complete(orders, data):
    """(23)."""
    order, events, *_ = data.draw(cases(orders))
    holds(s.s23, order, events)
    order, loop, *_ = data.draw(endless(orders))
    holds(s.s23, order, loop)


@given(st.data())
def test_ihist_op_keeps_both(orders, data):
    """`ihist_op` keeps monotone and productive streams so."""
    order, events, W, _, abs = data.draw(cases(orders))
    holds(s.ihist_op_keeps_monotone, order, events, W, data.draw(fresh_buffers(order, W)), abs)
    order, events, _, tds, abs = data.draw(cases(orders, covered=True))
    holds(s.ihist_op_keeps_productive, order, events, tds, abs)
    order, loop, tds, abs = data.draw(endless(orders))
    holds(s.ihist_op_keeps_productive, order, loop, tds, abs)


@given(cases(TOTAL, fits=True))
def test_24_ihist_linear_op_equals_ihist_op(case):
    """(24) on total orders, with initial buffers."""
    order, events, W, tds, abs = case
    holds(s.s24, order, events, W, tds, abs)


@given(cases(TOTAL, fits=True, max_size=4))
def test_26_equal_operators_produce_the_same(case):
    """(26) with `eq_op` to the depth of the stream."""
    order, events, W, tds, abs = case
    linear = ihist_linear_op(order, [d for _, d in abs], tds)
    holds(s.s26, order, W, linear, ihist_op(order, tds, abs), events)


@given(cases(TOTAL, fits=True, max_size=5))
def test_27_the_histograms_are_equal_operators(case):
    """(27) with `eq_op` to a depth of 3."""
    order, events, W, tds, abs = case
    holds(s.s27, order, W, tds, abs, events, 3)


def test_26_needs_equal_operators():
    """`eq_op` tells operators apart that differ, by a shortest input."""
    from tidegate.spec import eq_op

    events = [DT(0, "a"), DT(1, "b"), WM(1)]
    assert eq_op(Nat(), [], batch_op(Nat()), incr_batch_op(Nat()), events, 4) == [DT(0, "a"), WM(1)]


# (28) to (31): joins, and union_op.


def join(a: str, b: str) -> str | None:
    """A join that matches some pairs only, and gives the same answer for several."""
    return None if a == b else min(a, b)


def sides(orders, **options):
    return orders.flatmap(lambda o: st.tuples(st.just(o), two_sided().monotone(o)))


def matched(orders):
    return orders.flatmap(lambda o: st.tuples(st.just(o), two_sided().covered(o), matched_lassos(o)))


def matched_lassos(order):
    """Endless streams, monotone or not, in which both sides reach each watermark."""

    def match(loop):
        others = [WM(swap(e.t)) for e in loop.unroll(1) if isinstance(e, WM)]
        return Lasso(loop.prefix, [*loop.cycle, *others])

    return st.one_of(two_sided().lassos(order), lassos(Sum(order, order)).map(match))


@given(st.data())
def test_28_29_join_op_sound_and_complete(orders, data):
    """(28), (29), and beyond them: each matching pair exactly once."""
    order, events = data.draw(sides(orders))
    both = Sum(order, order)
    W = [w for w in data.draw(antichains(both)) if not any(both.le(e.t, w) for e in events if isinstance(e, DT))]
    holds(s.s28, order, join, events, W)
    holds(s.s29, order, join, events, W)
    holds(s.join_op_gives_each_pair_once, order, join, events)
    loop = data.draw(two_sided().lassos(order))
    holds(s.s29, order, join, loop, [])
    holds(s.join_op_gives_each_pair_once, order, join, loop)


@given(st.data())
def test_30_join_op_keeps_monotone(orders, data):
    """(30)."""
    order, events = data.draw(sides(orders))
    holds(s.s30, order, join, events)


@given(st.data())
def test_31_join_op_keeps_productive(orders, data):
    """(31) on beginnings of streams whose watermarks are all producible, and on such endless streams."""
    order, events, loop = data.draw(matched(orders))
    holds(s.s31, order, join, events)
    holds(s.s31, order, join, loop)


@given(st.data())
def test_union_op(orders, data):
    """The four properties of `union_op`."""
    order, events = data.draw(sides(orders))
    holds(s.union_op_sound, order, events)
    holds(s.union_op_complete, order, events)
    holds(s.union_op_keeps_monotone, order, events)
    order, events, loop = data.draw(matched(orders))
    holds(s.union_op_keeps_productive, order, events)
    holds(s.union_op_keeps_productive, order, loop)


@given(st.data())
def test_map_op_and_flatten_op_keep_both(orders, data):
    """`map_op` and `flatten_op` keep monotone and productive streams so."""
    order, events, W, *_ = data.draw(cases(orders))
    holds(s.map_op_keeps_monotone, order, lambda t, d: (t, d), events, W)
    holds(s.flatten_op_keeps_monotone, order, events, W)
    order, events, *_ = data.draw(cases(orders, covered=True))
    holds(s.map_op_keeps_productive, order, lambda t, d: (t, d), events)
    holds(s.flatten_op_keeps_productive, order, events)
    order, loop, *_ = data.draw(endless(orders))
    holds(s.map_op_keeps_productive, order, lambda t, d: (t, d), loop)
    holds(s.flatten_op_keeps_productive, order, loop)


@given(st.data())
def test_comp_op_keeps_both(orders, data):
    """A composition keeps what both of its parts keep."""
    order, events, *_ = data.draw(cases(orders))
    for first, second in (
        (batch_op(order), incr_op()),
        (batch_op(order), flatten_op()),
        (flatten_op(), batch_op(order)),
    ):
        holds(s.comp_op_keeps_monotone, first, second, (order, order, order), events)
    order, events, *_ = data.draw(cases(orders, covered=True))
    both = (comp_op(batch_op(order), map_op(lambda t, b: b[:1])), flatten_op())
    holds(s.comp_op_keeps_productive, *both, (order, order, order), events)


# The slides.


@given(st.data())
def test_slides_1_2_batch_op(orders, data):
    """Equations (1) and (2) of the slides."""
    order, events, W, tds, _ = data.draw(cases(orders, strict=True))
    holds(s.slides1, order, events, W, tds)
    order, events, _, tds, _ = data.draw(cases(orders, covered=True))
    holds(s.slides2, order, events, tds)
    order, loop, tds, _ = data.draw(endless(orders))
    holds(s.slides2, order, loop, tds)


@given(st.data())
def test_slides_3_4_incr_op(orders, data):
    """Equations (3) and (4) of the slides, with the assumptions of (16) and (17)."""
    order, events, _ = data.draw(batches(orders))
    if s.slides3.verdict(order, events, []) == "vacuous":
        seen: list[Any] = []
        kept = []
        for event in events:
            if isinstance(event, WM):
                if any(order.le(event.t, w) for w in seen):
                    continue
                seen.append(event.t)
            kept.append(event)
        events = kept
    holds(s.slides3, order, events, [])
    order, events, _ = data.draw(batches(orders))
    holds(s.slides4, order, events)
    holds(s.slides4, order, data.draw(endless_batches(order)))


def test_sums_of_sums_are_orders_of_joins_too():
    """A join works on any order, a sum of sums included."""
    order = Sum(Nat(), Nat())
    from tidegate.spec import join_op, produce
    from tidegate.time import Inl, Inr

    t = Inr(3)
    events = [DT(Inl(t), "a"), DT(Inr(t), "b"), WM(Inl(t)), WM(Inr(t))]
    assert list(produce(join_op(order, join), events)) == [DT(t, "a"), WM(t), WM(t)]
