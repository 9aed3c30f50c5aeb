"""Graphs: path summaries, the order on pointstamps, scopes, and what is refused."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.graphs import graphs
from tidegate.check.orders import times
from tidegate.errors import NotFound, TidegateError, WrongType
from tidegate.progress import BadGraph, Enter, Graph, Leave
from tidegate.time import Antichain, EventTime, Int, Lexicographic, Nat, NoSuchTime, Poset, Product, Sum, minimal

PAIR = Product(Nat(), Nat())


def walks(graph, l, t, longest):
    """Return the minimal times to which walks of up to ``longest`` edges take ``t`` from ``l``."""
    reached = {l: {t}}
    for _ in range(longest):
        longer = {m: set(found) for m, found in reached.items()}
        for m, found in reached.items():
            for n, edge in graph.successors(m).items():
                longer.setdefault(n, set()).update(s.results_in(u) for s in edge for u in found)
        reached = {m: set(minimal(graph.order(m), found)) for m, found in longer.items()}
    return reached


@st.composite
def graph_and_pointstamps(draw, count):
    graph = draw(graphs())
    locations = [draw(st.sampled_from(graph.locations)) for _ in range(count)]
    return graph, [(l, draw(times(graph.order(l)))) for l in locations]


@given(graph_and_pointstamps(1))
def test_path_summaries_say_what_walks_do(case):
    """Along the path summaries a time reaches the same minimal times as along all walks, scopes and loops included."""
    graph, [(l, t)] = case
    expected = walks(graph, l, t, longest=3 * len(graph.locations))
    for m in graph.locations:
        reached = {s.results_in(t) for s in graph.path_summary(l, m)}
        assert set(minimal(graph.order(m), reached)) == expected.get(m, set())


@given(graph_and_pointstamps(3))
def test_could_result_in_is_a_partial_order(case):
    """On pointstamps of any valid graph, could-result-in is reflexive, antisymmetric and transitive."""
    graph, (p, q, r) = case
    le = graph.could_result_in
    assert le(p, p)
    assert not (le(p, q) and le(q, p)) or p == q
    assert not (le(p, q) and le(q, r)) or le(p, r)


@given(graph_and_pointstamps(1))
def test_path_summaries_are_antichains_and_compose(case):
    """No path summary is at or below another of the same pair, and following an edge is at or above one of the next."""
    graph, [(l, _)] = case
    for m, paths in graph.path_summaries(l).items():
        assert not any(a.le(b) for a in paths for b in paths if a is not b)
        for n, edge in graph.successors(m).items():
            for longer in (p.followed_by(s) for p in paths for s in edge):
                assert any(q.le(longer) for q in graph.path_summary(l, n))


@given(graph_and_pointstamps(2))
def test_comparing_summaries_agrees_with_applying_them(case):
    """If one path summary is at or below another, so are the times that they lead to."""
    graph, [(l, t), (m, _)] = case
    paths = [p.followed_by(s) for p in graph.path_summary(l, l) for s in graph.path_summary(l, m)]
    for a in paths:
        for b in paths:
            if a.le(b):
                assert graph.order(m).le(a.results_in(t), b.results_in(t))


def test_parallel_summaries_are_an_antichain():
    """Incomparable summaries along one edge are all kept, and those above another are dropped."""
    graph = Graph(PAIR, {("a", "b"): [(0, 2), (1, 0), (1, 2)], ("b", "c"): Antichain(PAIR, [(0, 1)])})
    assert {s.change for s in graph.summary("a", "b")} == {(0, 2), (1, 0)}
    assert {s.change for s in graph.path_summary("a", "c")} == {(0, 3), (1, 1)}
    assert graph.could_result_in(("a", (0, 0)), ("b", (1, 0)))
    assert not graph.could_result_in(("a", (0, 0)), ("b", (0, 1)))


def test_a_summary_of_a_finite_order_is_one_summary():
    """A finite order writes a summary as a set of moves; that is one summary, and a list of them is several."""
    order = Poset([("x", "y"), ("p", "q")])
    up, across = frozenset({("x", "y")}), frozenset({("p", "q")})
    one = Graph(order, {("a", "b"): up})
    assert one.could_result_in(("a", "p"), ("b", "p"))
    assert not one.could_result_in(("a", "x"), ("b", "x"))
    for several in ([up, across], {up, across}):
        two = Graph(order, {("a", "b"): several})
        assert len(two.summary("a", "b")) == 2
        assert two.could_result_in(("a", "x"), ("b", "x"))


def test_an_empty_set_of_summaries_is_no_edge():
    """The empty antichain means that the two locations are not connected, also for a location and itself."""
    graph = Graph(Nat(), {("a", "b"): [], ("a", "a"): set()})
    assert graph.path_summary("a", "b") == ()
    assert not graph.successors("a")


def test_scopes_nest_to_any_depth():
    """Entering three scopes and leaving them again is neutral on the outside; each inner loop counts on its own."""
    orders = {"in": Nat(), "one": PAIR, "two": Product(Nat(), Nat(), Nat()), "out": Nat()}
    orders["three"] = orders["back"] = Product(orders["two"], Nat())
    edges = {("in", "one"): Enter, ("one", "two"): Enter(), ("two", "three"): Enter}
    edges |= {("three", "back"): ((0, 0, 0), 0), ("back", "three"): ((0, 0, 0), 1)}
    graph = Graph(orders, edges)
    (path,) = graph.path_summary("in", "three")
    assert path.results_in(4) == ((4, 0, 0), 0)
    assert graph.could_result_in(("in", 4), ("three", ((4, 0, 0), 9)))
    up = {("three", "two2"): Leave, ("two2", "one2"): Leave, ("one2", "out"): Leave()}
    graph = Graph({**orders, "two2": orders["two"], "one2": PAIR}, {**edges, **up})
    (path,) = graph.path_summary("in", "out")
    assert path.neutral
    (path,) = graph.path_summary("back", "out")
    assert path.results_in(((4, 3, 2), 1)) == 4


def test_a_loop_around_a_scope_begins_it_anew():
    """Round a loop that leaves a scope the inner component starts again, which needs a path summary of its own."""
    graph = Graph(
        {"head": Nat(), "in": PAIR, "tail": Nat()},
        {("head", "in"): Enter, ("in", "tail"): Leave, ("tail", "head"): 1},
    )
    assert {s.results_in((2, 5)) for s in graph.path_summary("in", "in")} == {(2, 5), (3, 0)}
    assert graph.could_result_in(("in", (2, 5)), ("in", (3, 0)))
    assert not graph.could_result_in(("in", (2, 5)), ("in", (2, 4)))


@pytest.mark.parametrize("whole", [Product(Nat(), Nat()), Lexicographic(Nat(), Nat())])
def test_a_loop_that_leaves_a_scope_must_advance_outside(whole):
    """Counting inside does not help a loop that leaves the scope: the count is lost on the way."""
    orders = {"head": Nat(), "in": whole, "in2": whole, "tail": Nat()}
    edges = {("head", "in"): Enter, ("in", "in2"): (0, 1), ("in2", "tail"): Leave}
    with pytest.raises(BadGraph, match="'in' → 'in2' → 'tail'"):
        Graph(orders, {**edges, ("tail", "head"): 0})
    Graph(orders, {**edges, ("tail", "head"): 1})
    Graph(orders, {**edges, ("tail", "head"): 1, ("in2", "in"): (0, 0)})
    with pytest.raises(BadGraph):
        Graph(orders, {**edges, ("in", "in2"): (0, 0), ("tail", "head"): 1, ("in2", "in"): (0, 0)})


def test_a_cycle_that_does_not_advance_is_named():
    """The error names the locations of the cycle and its summary."""
    with pytest.raises(BadGraph) as caught:
        Graph(Nat(), {("x", "a"): 1, ("a", "b"): 0, ("b", "c"): 0, ("c", "a"): 0, ("c", "x"): 0})
    assert "the cycle" in str(caught.value)
    assert all(repr(l) in str(caught.value) for l in "abc")
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TidegateError)


def test_one_summary_of_several_is_enough_to_stand_still():
    """Every choice along parallel summaries must advance, not only one of them."""
    Graph(PAIR, {("a", "b"): [(0, 1), (1, 0)], ("b", "a"): (0, 0)})
    with pytest.raises(BadGraph):
        Graph(Sum(Nat(), Nat()), {("a", "b"): [(0, 1), (1, 0)], ("b", "a"): (0, 0)})


def test_edges_may_advance_together_what_none_advances_alone():
    """On a disjoint sum a cycle advances if both sides are advanced somewhere on it."""
    order = Sum(Nat(), Nat())
    Graph(order, {("a", "b"): (0, 1), ("b", "a"): (1, 0)})
    with pytest.raises(BadGraph):
        Graph(order, {("a", "b"): (0, 1), ("b", "a"): (0, 1)})


def test_a_finite_order_allows_no_cycle():
    """A greatest time can not increase, so no cycle of a finite order advances."""
    order = Poset([("x", "y")])
    with pytest.raises(BadGraph):
        Graph(order, {("a", "b"): frozenset({("x", "y")}), ("b", "a"): frozenset()})


@pytest.mark.parametrize(
    ("order", "summary"),
    [
        (Nat(), -1),
        (Nat(), "1"),
        (PAIR, (0, -1)),
        (PAIR, 1),
        (EventTime(), timedelta(seconds=-1)),
        (Poset([("x", "y"), ("y", "z")]), frozenset({("x", "z")})),
    ],
)
def test_a_summary_that_is_not_monotone_is_refused(order, summary):
    """A summary that lowers a time or loses the order of two is refused with the edge that carries it."""
    with pytest.raises(BadGraph, match=r"the edge from 'a' to 'b'"):
        Graph(order, {("a", "b"): summary})


def test_the_error_shows_two_times_whose_order_is_lost():
    """For a finite order the message gives the two times that end up the wrong way round."""
    with pytest.raises(BadGraph, match="'x' <= 'y', but they become 'z' and 'y'"):
        Graph(Poset([("x", "y"), ("y", "z")]), {("a", "b"): frozenset({("x", "z")})})


@pytest.mark.parametrize(
    ("orders", "summary"),
    [
        ({"a": Nat(), "b": PAIR}, 1),
        ({"a": PAIR, "b": Nat()}, Enter),
        ({"a": Nat(), "b": Product(PAIR, Nat())}, Enter),
        ({"a": Nat(), "b": PAIR}, Leave),
        ({"a": Nat(), "b": Nat()}, Leave),
        ({"a": Lexicographic(Nat(), Nat()), "b": Product(Nat(), Nat(), Nat())}, Enter),
    ],
)
def test_summaries_must_fit_the_orders_at_both_ends(orders, summary):
    """An edge between orders that its summary does not connect is refused."""
    with pytest.raises(BadGraph, match=r"the edge from 'a' to 'b'"):
        Graph(orders, {("a", "b"): summary})


def test_a_scope_without_a_least_time_can_not_be_entered():
    """`Enter` needs the least element of the inner order, which the integers lack."""
    with pytest.raises(NoSuchTime, match=r"the edge from 'a' to 'b'"):
        Graph({"a": Nat(), "b": Product(Nat(), Int())}, {("a", "b"): Enter})


def test_self_edges_are_refused():
    """An edge from a location to itself is refused even if it advances."""
    with pytest.raises(BadGraph, match="'a' to itself"):
        Graph(Nat(), {("a", "a"): 1})


@pytest.mark.parametrize("orders", [Nat, {"a": Nat(), "b": Nat}, 3])
def test_orders_must_be_orders(orders):
    """The class of an order, or anything else that is none, is refused with the location that it was given for."""
    with pytest.raises(WrongType, match=r"write Nat\(\), not Nat") as caught:
        Graph(orders, {("a", "b"): 0})
    assert caught.value.places == (["location 'b'"] if isinstance(orders, dict) else [])


@pytest.mark.parametrize("edge", ["abc", "ab", ("a",), ("a", "b", "c"), 3])
def test_edges_must_be_pairs(edge):
    """An edge is a pair of two locations: neither a text nor a longer tuple."""
    with pytest.raises(WrongType, match="a pair of two locations, got") as caught:
        Graph(Nat(), {edge: 1})
    assert repr(edge) in str(caught.value)


def test_edges_need_summaries():
    """Edges without summaries are not a graph."""
    with pytest.raises(WrongType, match="a mapping from edges to summaries"):
        Graph(Nat(), [("a", "b")])


def test_unknown_locations_are_refused():
    """An edge or a question that names a location without an order is refused, and what exists is listed."""
    with pytest.raises(NotFound, match="got 'b'"):
        Graph({"a": Nat()}, {("a", "b"): 1})
    graph = Graph(Nat(), {}, locations="a")
    for ask in (graph.order, graph.successors, graph.predecessors, graph.path_summaries):
        with pytest.raises(NotFound, match="the graph has 'a'"):
            ask("c")
    with pytest.raises(NotFound):
        graph.path_summary("a", "c")
    with pytest.raises(NotFound):
        graph.could_result_in(("c", 0), ("a", 0))


def test_large_graphs_are_checked_in_time_that_follows_the_edges():
    """A loop of 20,000 locations is built without looking at all pairs of locations."""
    n = 20_000
    loop = {(i, i + 1): 0 for i in range(n)} | {(n, 0): 1}
    assert len(Graph(Nat(), loop).locations) == n + 1
    with pytest.raises(BadGraph):
        Graph(Nat(), {**{(i, i + 1): 0 for i in range(200)}, (200, 0): 0})
