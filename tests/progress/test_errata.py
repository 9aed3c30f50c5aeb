"""Places where the paper on progress tracking, as printed, fails its own statements; see docs/errata.md."""

from enum import Enum

import pytest

from tidegate.check.explore import explore
from tidegate.check.mutants import MUTANTS
from tidegate.progress import Enter, Graph, Leave, PropagationConf
from tidegate.progress.errors import Forbidden
from tidegate.time import Antichain, Nat, Poset, Product, ZMultiset

CHAIN = Graph(Nat(), {("a", "b"): 0})


def test_antichains_compare_strictly():
    """With <= in the typedef not even one time is an antichain, because it is at or below itself."""
    order = Nat()

    def printed(A):
        return all(not order.le(a, b) and not order.le(b, a) for a in A for b in A)

    assert printed([])
    assert not printed([0])
    assert len(Antichain(order, [0])) == 1


def test_work_vacant_needs_a_negation_and_the_other_direction():
    """As printed, 0 at b counts as settled in the initial configuration, although b does not expect it."""
    conf = PropagationConf.init(CHAIN, {"a": {0: 1}})

    def vacant(l, t, *, negated, along):
        reach = ((s.results_in(u) <= t) != negated for m, u in conf.pending() for s in CHAIN.path_summary(*along(l, m)))
        return all(reach)

    def printed(l, m):
        return l, m

    def mended(l, m):
        return m, l

    # Both slips, or either of them, let it hold.
    for negated, along in [(False, printed), (False, mended), (True, printed)]:
        assert vacant("b", 0, negated=negated, along=along)
    assert not conf.expects("b", 0)
    assert not vacant("b", 0, negated=True, along=mended)
    assert not conf.work_vacant("b", 0)
    assert conf.safe() is None


def test_work_vacant_of_one_location_says_more():
    """What is pending at c leads nowhere else: for b nothing is pending, for any location something is."""
    graph = Graph(Nat(), {("a", "b"): 0}, locations=["a", "b", "c"])
    conf = PropagationConf.init(graph, {"a": {0: 1}, "c": {0: 1}})
    conf = conf.propagate("a", 0).propagate("b", 0)
    assert list(conf.pending()) == [("c", 0)]
    assert conf.work_vacant("b", 0)
    assert not all(conf.work_vacant(l, 0) for l in graph.locations)
    # Safe speaks of 0 at b all the same, and it is expected there.
    assert conf.expects("b", 0)
    assert conf.safe() is None


def test_times_need_no_addition():
    """Members of an enumeration can be ordered and not be added; their frontiers are propagated all the same."""
    version = Enum("version", ["first", "left", "right"])
    first, left, right = version
    with pytest.raises(TypeError):
        first + left
    order = Poset([(first, left), (first, right)])
    conf = PropagationConf.init(Graph(order, {("a", "b"): order.summaries.neutral}), {"a": {left: 1, right: 1}})
    assert set(conf.propagate_all().frontier("b")) == {left, right}


def test_the_implied_frontier_depends_on_all_locations():
    """The implied frontier of b is that of what is at a, and the pointstamps of b alone do not give it."""
    conf = PropagationConf.init(CHAIN, {"a": {0: 1}})
    assert conf.pts["b"] == ZMultiset()
    assert list(conf.implied_frontier("b")) == [0]


def test_updates_must_reach_their_sender():
    """If updates go to other workers only, the sender's view and what it has not heard do not add up to what exists."""
    mutant = next(m for m in MUTANTS if m.name == "clocks, send_upd: not to the sender")
    violation = explore(mutant.model(), mutant.properties).violation
    assert violation.name == "rec = glob + info"
    assert "'w1'" in violation.counterexample
    assert len(violation.trace) == 3


def test_leaving_a_scope_lowers_the_time():
    """Entering again begins anew: the way round takes (0, 5) to (0, 0), which one order and Figure 5 would forbid."""
    scope = Product(Nat(), Nat())
    orders = {"in": scope, "between": Nat(), "again": scope}
    graph = Graph(orders, {("in", "between"): Leave, ("between", "again"): Enter})
    (path,) = graph.path_summary("in", "again")
    assert path.results_in((0, 5)) == (0, 0)
    assert scope.lt((0, 0), (0, 5))


def test_propagation_chooses_a_location_anew_in_each_step():
    """With one l for all steps, which is free in the print, other locations keep their work, and no step is next."""
    conf = PropagationConf.init(CHAIN, {"a": {0: 1}})
    after = conf.propagate("a", 0)
    assert list(after.pending()) == [("b", 0)]
    with pytest.raises(Forbidden, match="propagate: t ∈ work"):
        after.propagate("a", 0)
    assert list(conf.propagate_all().pending()) == []


def test_propagation_goes_on_while_there_is_work():
    """The condition of `while_option` is that some worklist is not empty; *until* it holds, nothing would be done."""
    conf = PropagationConf.init(CHAIN, {"a": {0: 1}})

    def b(c):
        return any(True for _ in c.pending())

    # Read as "until b is satisfied", the loop ends where it begins, with work left.
    assert b(conf)
    assert not b(conf.propagate_all())
