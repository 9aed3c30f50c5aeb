"""The laws of orders, antichains, frontiers and summaries, on generated orders nested to any depth."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.orders import antichains, orders, summaries, times
from tidegate.time import (
    Antichain,
    Frontier,
    NoSuchTime,
    Order,
    ZMultiset,
    complete_times,
    frontier_times,
    maximal,
    minimal,
)


@st.composite
def order_and_times(draw: st.DrawFn, count: int, *, extended: bool = False) -> tuple[Order[Any], list[Any]]:
    order = draw(orders())
    return order, [draw(times(order, extended=extended)) for _ in range(count)]


@given(order_and_times(3))
def test_an_order_is_reflexive_antisymmetric_and_transitive(case):
    """`le` is a partial order, and `key` extends it to a total one."""
    order, (a, b, c) = case
    assert order.le(a, a)
    assert not (order.le(a, b) and order.le(b, a)) or a == b
    assert not (order.le(a, b) and order.le(b, c)) or order.le(a, c)
    assert not order.lt(a, b) or order.key(a) < order.key(b)
    if order.total:
        assert order.comparable(a, b)


@given(order_and_times(3, extended=True))
def test_extended_times_are_transitive_too(case):
    """With `TOP` and `BOTTOM` inside, `le` is still reflexive and transitive."""
    order, (a, b, c) = case
    assert order.le(a, a)
    assert not (order.le(a, b) and order.le(b, c)) or order.le(a, c)


@given(order_and_times(2))
def test_orders_are_values(case):
    """Two orders that are built alike are equal, hash alike and print as an expression that builds them."""
    order, _ = case
    from tidegate.time import EventTime, Int, Lexicographic, Nat, Poset, Product, Sum

    names = {c.__name__: c for c in (EventTime, Int, Lexicographic, Nat, Poset, Product, Sum)}
    again = eval(repr(order), names)
    assert again == order
    assert hash(again) == hash(order)


@given(order_and_times(3))
def test_join_is_the_least_upper_bound(case):
    """A join is above both and below every common upper bound; it is commutative, idempotent and absorbs the meet."""
    order, (a, b, c) = case
    assert order.join(a, a) == a
    try:
        j = order.join(a, b)
    except NoSuchTime:
        ups = order.upper_bounds(a, b)
        assert len(ups) != 1
        assert not (order.le(a, c) and order.le(b, c)) or any(order.le(u, c) for u in ups)
        return
    assert order.le(a, j)
    assert order.le(b, j)
    assert order.join(b, a) == j
    assert not (order.le(a, c) and order.le(b, c)) or order.le(j, c)
    assert order.meet(a, j) == a


@given(order_and_times(3))
def test_meet_is_the_greatest_lower_bound(case):
    """A meet is below both and above every common lower bound; it is commutative, idempotent and absorbs the join."""
    order, (a, b, c) = case
    assert order.meet(a, a) == a
    try:
        m = order.meet(a, b)
    except NoSuchTime:
        lows = order.lower_bounds(a, b)
        assert len(lows) != 1
        assert not (order.le(c, a) and order.le(c, b)) or any(order.le(c, x) for x in lows)
        return
    assert order.le(m, a)
    assert order.le(m, b)
    assert order.meet(b, a) == m
    assert not (order.le(c, a) and order.le(c, b)) or order.le(c, m)
    assert order.join(a, m) == a


@given(order_and_times(2))
def test_the_least_element_is_below_everything(case):
    """Where there is a least time it is below all; where there is none, `bottoms` still are."""
    order, (a, _) = case
    assert any(order.le(b, a) for b in order.bottoms())
    assert any(order.le(a, t) for t in order.tops())
    try:
        assert order.le(order.least(), a)
    except NoSuchTime:
        assert not any(order.contains(b) for b in order.bottoms()) or len(order.bottoms()) > 1


@given(order_and_times(2))
def test_successors_are_directly_above(case):
    """A successor is strictly above, with nothing in between, and has the time among its predecessors."""
    order, (a, b) = case
    for s in order.successors(a):
        assert order.lt(a, s)
        assert not (order.lt(a, b) and order.lt(b, s))
        assert a in order.predecessors(s)
    for p in order.predecessors(a):
        assert order.lt(p, a)
        assert a in order.successors(p)
    if order.lt(a, b):
        assert any(order.le(s, b) for s in order.above(a))
        assert any(order.le(a, s) for s in order.below(b))


@given(orders().flatmap(lambda o: st.tuples(st.just(o), st.lists(times(o), max_size=12))))
def test_maximal_and_minimal_elements(case):
    """They are those that nothing else is above (below), each once, in the order of first occurrence."""
    order, xs = case
    seen = list(dict.fromkeys(xs))
    assert maximal(order, xs) == [x for x in seen if not any(order.lt(x, y) for y in xs)]
    assert minimal(order, xs) == [x for x in seen if not any(order.lt(y, x) for y in xs)]
    Antichain(order, maximal(order, xs))


@given(orders().flatmap(lambda o: st.tuples(st.just(o), antichains(o), times(o))))
def test_complete_times_of_a_frontier(case):
    """A time is complete exactly if no element of the frontier is at or below it; the way back gives the frontier."""
    order, frontier, t = case
    complete = complete_times(order, frontier)
    assert complete.covers(t) == (not any(order.le(f, t) for f in frontier))
    assert frontier_times(order, complete) == Antichain(order, frontier)


@given(orders().flatmap(lambda o: st.tuples(st.just(o), antichains(o, greatest=True), times(o))))
def test_frontier_of_complete_times(case):
    """A time may still appear exactly if no complete time is at or above it; the way back gives the complete ones."""
    order, complete, t = case
    frontier = frontier_times(order, complete)
    assert frontier.reaches(t) == (not any(order.le(t, c) for c in complete))
    assert complete_times(order, frontier) == Antichain(order, complete)


@given(orders().flatmap(lambda o: st.tuples(st.just(o), st.lists(times(o, extended=True), max_size=3), times(o))))
def test_bounds_stand_for_every_value(case):
    """Both directions also take extended times, and going back and forth changes nothing any more."""
    order, given_times, t = case
    complete = complete_times(order, given_times)
    assert complete.covers(t) == (not any(order.le(f, t) for f in given_times))
    assert complete_times(order, frontier_times(order, complete)) == complete
    frontier = frontier_times(order, given_times)
    assert frontier.reaches(t) == (not any(order.le(t, c) for c in given_times))
    assert frontier_times(order, complete_times(order, frontier)) == frontier


@given(
    orders().flatmap(lambda o: st.tuples(st.just(o), st.lists(st.tuples(times(o), st.integers(-2, 2)), max_size=20)))
)
def test_a_frontier_is_the_minimal_elements_of_what_has_positive_count(case):
    """After any changes, and each change of the frontier is answered exactly."""
    order, changes = case
    frontier: Frontier[Any] = Frontier(order)
    counts: ZMultiset[Any] = ZMultiset()
    seen: ZMultiset[Any] = ZMultiset()
    for t, n in changes:
        counts = counts.add(t, n)
        seen = seen + ZMultiset(dict(frontier.update(t, n)))
        expected = minimal(order, [u for u in counts if counts[u] > 0])
        assert set(frontier) == set(expected)
        assert seen == ZMultiset(expected)
    assert frontier.counts() == counts
    assert Frontier(order, dict(counts.items())).antichain() == frontier.antichain()
    net = Frontier(order).update_all(changes)
    assert ZMultiset(dict(net)) == seen


@given(orders().flatmap(lambda o: st.tuples(st.just(o), times(o), times(o), summaries(o), summaries(o), summaries(o))))
def test_summaries_act_on_times(case):
    """The neutral one does nothing, composition is associative, and results are monotone and never lower."""
    order, t, u, r, s, v = case
    sums = order.summaries
    assert sums.contains(sums.neutral)
    assert sums.results_in(t, sums.neutral) == t
    assert sums.followed_by(s, sums.neutral) == s == sums.followed_by(sums.neutral, s)
    assert sums.results_in(sums.results_in(t, r), s) == sums.results_in(t, sums.followed_by(r, s))
    assert sums.followed_by(sums.followed_by(r, s), v) == sums.followed_by(r, sums.followed_by(s, v))
    assert order.le(t, sums.results_in(t, s))
    assert not order.le(t, u) or order.le(sums.results_in(t, s), sums.results_in(u, s))
    assert sums.contains(sums.followed_by(r, s))


@given(orders().flatmap(lambda o: st.tuples(st.just(o), times(o), *[summaries(o)] * 4)))
def test_summaries_are_ordered_as_their_results(case):
    """`le` is a partial order that results and composition respect, and `advances` means strictly later everywhere."""
    order, t, q, r, s, v = case
    sums = order.summaries
    assert sums.le(sums.neutral, s)
    assert not (sums.le(r, s) and sums.le(s, r)) or r == s
    assert not sums.le(r, s) or order.le(sums.results_in(t, r), sums.results_in(t, s))
    if sums.le(q, r) and sums.le(s, v):
        assert sums.le(sums.followed_by(q, s), sums.followed_by(r, v))
    if sums.advances(s):
        assert order.lt(t, sums.results_in(t, s))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 3))),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 3))),
)
def test_signed_multisets_are_an_abelian_group(xs, ys):
    """Sums are commutative, every multiset has an inverse, and positive and negative parts add up to the whole."""
    a, b = (ZMultiset(), ZMultiset())
    for x, n in xs:
        a = a.add(x, n)
    for y, n in ys:
        b = b.add(y, n)
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)
    assert a - a == ZMultiset()
    assert a - b == a + -b
    assert a.positive() + a.negative() == a
    assert all((a + b)[x] == a[x] + b[x] for x in "abc")
