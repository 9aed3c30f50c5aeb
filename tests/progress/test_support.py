"""Upright and justified changes: what the predicates say, and how they are related."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.orders import orders, times
from tidegate.progress.support import (
    beta_upright,
    justified,
    justified_with,
    supp,
    supp_strong,
    unsupported,
    upright,
    vacant,
)
from tidegate.time import Nat, Product, ZMultiset

PAIR = Product(Nat(), Nat())
EMPTY = ZMultiset()


@st.composite
def order_and_multisets(draw, count):
    order = draw(orders())
    signed = st.dictionaries(times(order), st.integers(-2, 2), max_size=4).map(ZMultiset)
    return order, [draw(signed) for _ in range(count)]


@given(order_and_multisets(1))
def test_both_variants_of_supp_make_the_same_changes_upright(case):
    """What Abadi et al. ask in addition of a supporting pointstamp changes nothing for the whole of a change."""
    order, [M] = case
    assert upright(order, M) == upright(order, M, strong=True)


def test_the_variants_of_supp_differ_on_a_change_that_is_not_upright():
    """They agree on whether a change is upright, and not on every pointstamp of a change that is not."""
    M = ZMultiset({0: 1, 1: -1, 2: 1})
    assert supp(Nat(), M, 2)
    assert not supp_strong(Nat(), M, 2)
    assert not upright(Nat(), M)


@given(order_and_multisets(2))
def test_a_stronger_support_is_a_support(case):
    """The variant of Abadi et al. implies the paper's, for every pointstamp."""
    order, [M, _] = case
    assert all(supp(order, M, p) for p in M if supp_strong(order, M, p))


@given(order_and_multisets(3))
def test_the_predicates_generalise_each_other(case):
    """Upright implies justified; with nothing behind, beta upright is upright and justified_with is justified."""
    order, [C, M, N] = case
    assert beta_upright(order, M, EMPTY) == upright(order, M)
    assert justified_with(order, C, M, EMPTY) == justified(order, C, M)
    if upright(order, M):
        assert justified(order, C, M)
        assert beta_upright(order, M, N)
    assert upright(order, M) == (not unsupported(order, M))


@given(order_and_multisets(2))
def test_the_sum_of_upright_changes_is_upright(case):
    """Upright changes may be put together: what one adds is supported by a minimal pointstamp that both take away."""
    order, [M, N] = case
    if upright(order, M) and upright(order, N):
        assert upright(order, M + N)


@given(order_and_multisets(1))
def test_what_has_no_positive_count_is_upright(case):
    """Sending all that was added leaves only what was taken away, which is upright: such a send is always allowed."""
    order, [M] = case
    assert upright(order, M.negative())
    assert justified(order, EMPTY, M.negative())


def test_the_three_ways_to_justify():
    """A count is justified by what is taken away below it, by a capability below it, or by more capabilities at it."""
    M = ZMultiset({(1, 1): 1})
    assert justified(PAIR, EMPTY, M.add((0, 1), -1))
    assert justified(PAIR, ZMultiset({(0, 1): 1}), M)
    assert justified(PAIR, ZMultiset({(1, 1): 2}), M)
    assert not justified(PAIR, ZMultiset({(1, 1): 1}), M)
    assert not justified(PAIR, ZMultiset({(0, 2): 1, (2, 0): 1}), M)


def test_vacant_is_about_everything_at_or_below():
    """A multiset is vacant up to a pointstamp if nothing at or below it has a count, positive or negative."""
    M = ZMultiset({(1, 0): 1, (0, 2): -1})
    assert vacant(PAIR, M, (0, 1))
    assert not vacant(PAIR, M, (0, 2))
    assert not vacant(PAIR, M, (1, 1))
