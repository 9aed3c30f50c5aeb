"""Clocks, exchange, propagation and their combination: what each allows, and what it refuses without a trace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.graphs import graphs, pointstamps
from tidegate.check.orders import times
from tidegate.errors import BadValue, NotFound, TidegateError, WrongType
from tidegate.progress import (
    Clocks,
    Enter,
    Exchange,
    Forbidden,
    Graph,
    Leave,
    Propagation,
    PropagationConf,
    Tracker,
)
from tidegate.time import Nat, NotATime, Product, ZMultiset

PAIR = Product(Nat(), Nat())
WCC = Graph(
    PAIR,
    {("a.1", "b.2"): (0, 0), ("b.1", "b.3"): (0, 0), ("b.2", "b.3"): (0, 0), ("b.3", "c.1"): (0, 0)}
    | {("c.1", "c.2"): (0, 1), ("c.2", "b.1"): (0, 0)},
)


def refused(machine, error, action, *args, rule):
    """Check that the action raises ``error`` with its rule, and leaves the configuration as it was."""
    before = machine.conf
    with pytest.raises(error) as caught:
        getattr(machine, action)(*args)
    assert machine.conf is before
    assert isinstance(caught.value, TidegateError)
    if rule:
        assert caught.value.rule.startswith(rule)
        assert f"rule: {caught.value.rule}" in str(caught.value)
    return str(caught.value)


# What the two protocols for exchanging progress allow.


def test_exchange_allows_repeated_sends_under_one_capability_and_clocks_does_not():
    """An input that sends at one time again and again keeps its capability: the change is justified, not upright."""
    keeps = Exchange(Nat(), {"w1": [0], "w2": []})
    for _ in range(3):
        keeps.perf_op("w1", data=[("w2", 1)])
    assert keeps.conf.rec == ZMultiset({0: 1, 1: 3})
    must_drop = Clocks(Nat(), ["w1", "w2"], [0])
    message = refused(must_drop, Forbidden, "perf_op", "w1", [], [1], rule="perf_op: upright")
    assert "below 1" in message
    must_drop.perf_op("w1", [0], [1, 1, 1])  # only all at once, giving the capability up


def test_clocks_allows_to_drop_what_belongs_to_another_worker_and_exchange_does_not():
    """Clocks has no owners: w2 can drop what only w1 was given. Exchange looks at the worker's own capabilities."""
    no_owners = Clocks(Nat(), ["w1", "w2"], [0])
    no_owners.perf_op("w2", neg=[0])
    assert no_owners.conf.rec == ZMultiset()
    owners = Exchange(Nat(), {"w1": [0], "w2": []})
    message = refused(owners, Forbidden, "perf_op", "w2", [0], [], [], rule="perf_op: Δneg <= caps")
    assert "worker 'w2'" in message
    owners.perf_op("w1", neg=[0])


def test_updates_may_be_sent_in_parts():
    """A worker may send what it added before what it dropped, but not the other way round."""
    clocks = Clocks(Nat(), ["w1", "w2"], [0])
    clocks.perf_op("w1", [0], [1])
    refused(clocks, Forbidden, "send_upd", "w1", [0], rule="send_upd: upright")
    clocks.send_upd("w1", [1])
    clocks.send_upd("w1", [0])
    assert clocks.conf.msg["w1", "w2"] == (ZMultiset({1: 1}), ZMultiset({0: -1}))
    exchange = Exchange(Nat(), {"w1": [0], "w2": []})
    exchange.perf_op("w1", neg=[0], own=[1])
    refused(exchange, Forbidden, "send_upd", "w1", [0], rule="send_upd: justified")
    exchange.send_upd("w1", [1])
    exchange.send_upd("w1", [0])


def test_a_capability_justifies_keeping_back_what_is_above_it():
    """While the worker holds something below, it may keep back what it added and send other changes first."""
    exchange = Exchange(Nat(), {"w1": [0, 1], "w2": []})
    exchange.perf_op("w1", neg=[1], data=[("w2", 2)])
    exchange.send_upd("w1", [1])
    assert exchange.conf.temp["w1"] == ZMultiset({2: 1})


def test_a_worker_hears_from_itself_through_its_own_queue():
    """An update reaches its sender like everyone else: until then its own view is as before."""
    exchange = Exchange(Nat(), {"w1": [0]})
    exchange.perf_op("w1", neg=[0])
    exchange.send_upd("w1", [0])
    assert exchange.conf.glob["w1"] == ZMultiset({0: 1})
    exchange.recv_upd("w1", "w1")
    assert exchange.conf.glob["w1"] == ZMultiset()


# What they refuse.


def test_clocks_refuses_and_changes_nothing():
    """Dropping what does not exist, empty updates, empty queues, strangers and things that are no times are refused."""
    clocks = Clocks(Nat(), ["w1", "w2"], [3])
    message = refused(clocks, Forbidden, "perf_op", "w1", [3, 3], [], rule="perf_op: Δneg <= rec")
    assert "at most 1 of 3" in message
    refused(clocks, Forbidden, "perf_op", "w1", {3: -1}, [], rule="unsigned")
    refused(clocks, Forbidden, "send_upd", "w1", [3], rule="send_upd: γ")
    refused(clocks, Forbidden, "recv_upd", "w1", "w2", rule="recv_upd: msg")
    refused(clocks, NotFound, "perf_op", "w9", [], [], rule="")
    refused(clocks, NotFound, "send_upd", "w9", [3], rule="")
    refused(clocks, NotFound, "recv_upd", "w1", "w9", rule="")
    refused(clocks, NotATime, "perf_op", "w1", [3], ["late"], rule="")


def test_exchange_refuses_and_changes_nothing():
    """A capability used after it was dropped, below what is held, or never sent is refused."""
    exchange = Exchange(Nat(), {"w1": [2], "w2": []})
    refused(exchange, Forbidden, "perf_op", "w1", [], [("w2", 2)], [], rule="perf_op: Δdata")
    refused(exchange, Forbidden, "perf_op", "w1", [], [], [1], rule="perf_op: Δself")
    refused(exchange, Forbidden, "perf_op", "w1", [2], [], [2], rule="perf_op: Δdata ≠")
    refused(exchange, Forbidden, "recv_cap", "w2", 2, rule="recv_cap")
    refused(exchange, Forbidden, "send_upd", "w1", [2], rule="send_upd: γ")
    refused(exchange, Forbidden, "recv_upd", "w1", "w2", rule="recv_upd")
    refused(exchange, NotFound, "perf_op", "w1", [], [("w9", 3)], [], rule="")
    exchange.perf_op("w1", neg=[2])
    message = refused(exchange, Forbidden, "perf_op", "w1", [2], [], [], rule="perf_op: Δneg")
    assert "dropped" in message
    refused(exchange, Forbidden, "perf_op", "w1", [], [("w2", 3)], [], rule="perf_op: Δdata")


def test_propagation_refuses_and_changes_nothing():
    """Changes that come too early, below the frontier or at strange places, and steps out of turn are refused."""
    p = Propagation(WCC, {"a.1": {(1, 0): 1}})
    message = refused(p, Forbidden, "change_multiplicity", "a.1", (1, 0), 1, rule="change_multiplicity")
    assert "'a.1'" in message
    assert "(1, 0)" in message
    refused(p, Forbidden, "propagate", "a.1", (0, 0), rule="propagate: t ∈ work")
    p.propagate_all()
    message = refused(p, Forbidden, "change_multiplicity", "b.1", (1, 0), 1, rule="change_multiplicity: some t'")
    assert "at or above the frontier" in message
    refused(p, Forbidden, "change_multiplicity", "a.1", (1, 0), 0, rule="change_multiplicity: n")
    message = refused(p, NotFound, "change_multiplicity", "z", (1, 0), 1, rule="")
    assert "got 'z'" in message
    assert "time (1, 0)" in message
    refused(p, NotATime, "change_multiplicity", "a.1", 1, 1, rule="")
    p.change_multiplicity("a.1", (1, 0), -1)
    p.change_multiplicity("b.3", (1, 2), 1)
    message = refused(p, Forbidden, "propagate", "b.3", (1, 2), rule="propagate: no smaller")
    assert "'a.1' first" in message


def test_the_tracker_refuses_and_changes_nothing():
    """A worker that has not propagated can not receive; the rules of the exchange hold for locations and times."""
    tracker = Tracker(WCC, {"w1": [("a.1", (0, 0))], "w2": []})
    message = refused(tracker, Forbidden, "perf_op", "w2", [("a.1", (0, 0))], [], [], rule="perf_op: Δneg")
    assert "('a.1', (0, 0))" in message
    tracker.perf_op("w1", data=[("w2", ("b.2", (0, 0)))])
    tracker.send_upd("w1", [("b.2", (0, 0))])
    refused(tracker, Forbidden, "recv_upd", "w1", "w2", rule="recv_upd: init")
    tracker.propagate("w2")
    tracker.recv_upd("w1", "w2")
    refused(tracker, NotFound, "propagate", "w9", rule="")
    refused(tracker, NotFound, "recv_upd", "w1", "w9", rule="")
    message = refused(tracker, NotFound, "perf_op", "w1", [], [("w2", ("z", (0, 0)))], [], rule="")
    assert "time (0, 0)" in message


def test_a_pointstamp_must_be_a_pair():
    """What is not a pair of a location and a time is refused as such."""
    tracker = Tracker(WCC, {"w1": [("a.1", (0, 0))]})
    with pytest.raises(WrongType, match="a pair of a location and a time"):
        tracker.perf_op("w1", neg=["a.1"])


def test_workers_are_several_and_each_is_there_once():
    """A worker that is given twice would hear everything twice; a text is not a collection of workers."""
    with pytest.raises(BadValue, match="got 'w' twice"):
        Clocks(Nat(), ["w", "w"], [0])
    for strange in ("w1", 2):
        with pytest.raises(WrongType, match=f"a collection of workers, got {strange!r}"):
            Clocks(Nat(), strange, [0])
    for start in (lambda: Exchange(Nat(), ["w1"]), lambda: Tracker(WCC, "w1")):
        with pytest.raises(WrongType, match="a mapping from each worker to its capabilities"):
            start()


def test_the_class_of_an_order_is_not_an_order():
    """`Nat` is not `Nat()`, and the hint says so."""
    for start in (
        lambda: Clocks(Nat, ["w1"], [0]),
        lambda: Exchange(Nat, {"w1": [0]}),
        lambda: Exchange(3, {"w1": []}),
    ):
        with pytest.raises(WrongType, match="hint: write Nat"):
            start()


def test_collections_are_asked_for_as_such():
    """A single thing where several are needed, and a pointstamp without its receiver, are refused by name."""
    for machine in (Clocks(Nat(), ["w1"], [0]), Exchange(Nat(), {"w1": [0]})):
        for strange in (3, "ab"):
            message = refused(machine, WrongType, "send_upd", "w1", strange, rule="")
            assert f"a collection of pointstamps, got {strange!r}" in message
        refused(machine, WrongType, "send_upd", "w1", [[3]], rule="")
        refused(machine, WrongType, "perf_op", "w1", 3, rule="")
        refused(machine, WrongType, "perf_op", "w1", [[3]], rule="")
    for strange in (3, "w13", ("w1", 3, 4)):
        message = refused(machine, WrongType, "perf_op", "w1", [], [strange], [], rule="")
        assert f"a pair of a receiver and a pointstamp in Δdata, got {strange!r}" in message


def test_what_to_send_may_be_read_once_only():
    """The pointstamps of an update may come from an iterator: all that it gives are sent."""
    for machine in (Clocks(Nat(), ["w1"], [0]), Exchange(Nat(), {"w1": [0]})):
        machine.perf_op("w1", neg=[0], **{"pos" if isinstance(machine, Clocks) else "own": [2, 3]})
        machine.send_upd("w1", iter([3, 2, 0]))
        assert machine.conf.msg["w1", "w1"] == (ZMultiset({0: -1, 2: 1, 3: 1}),)


@pytest.mark.parametrize("n", [0.5, 1.0, 0.0, True, False, "1", None])
def test_counts_are_integers(n):
    """A count that is a fraction or a truth value is refused wherever one is given, and nothing changes."""
    clocks = Clocks(Nat(), ["w1"], [0])
    assert "pointstamp 0" in refused(clocks, WrongType, "perf_op", "w1", {0: n}, [], rule="")
    p = Propagation(WCC, {"a.1": {(1, 0): 1}})
    p.propagate_all()
    message = refused(p, WrongType, "change_multiplicity", "a.1", (1, 0), n, rule="")
    assert "location 'a.1', time (1, 0)" in message
    with pytest.raises(WrongType, match=r"location 'a\.1', time \(1, 0\)"):
        Propagation(WCC, {"a.1": {(1, 0): n}})


def test_propagation_refuses_strange_pointstamps():
    """Initial pointstamps must be times at locations of the graph."""
    with pytest.raises(NotFound):
        Propagation(WCC, {"z": {(0, 0): 1}})
    with pytest.raises(NotATime, match=r"location 'a\.1'"):
        Propagation(WCC, {"a.1": {0: 1}})


# Local propagation.


def test_the_running_example_of_the_paper():
    """In the dataflow of Figure 2 a pointstamp at b.3 is seen at c.1 and, one round later, at c.2 and b.1."""
    p = Propagation(WCC, {"b.3": {(3, 0): 1}})
    p.propagate_all()
    assert list(p.frontier("c.1")) == [(3, 0)]
    assert list(p.frontier("c.2")) == list(p.frontier("b.1")) == [(3, 1)]
    assert list(p.frontier("a.1")) == list(p.frontier("b.2")) == []


@st.composite
def histories(draw):
    """Draw a graph, initial pointstamps, and changes; whether a change is allowed is for the protocol to say."""
    graph = draw(graphs(max_depth=3))
    start = draw(pointstamps(graph))
    places = st.sampled_from(graph.locations)
    changes = []
    for _ in range(draw(st.integers(0, 6))):
        l = draw(places)
        changes.append((l, draw(times(graph.order(l))), draw(st.sampled_from([-2, -1, 1, 2]))))
    return graph, start, changes, draw(st.randoms(use_true_random=False))


@given(histories())
def test_propagation_converges_to_the_implied_frontier_in_any_order(history):
    """Whatever is propagated first, the end is the same, and its frontiers are the implied ones; scopes included."""
    graph, start, changes, random = history
    conf = PropagationConf.init(graph, start)
    for change in [None, *changes]:
        if change is not None:
            try:
                conf = conf.change_multiplicity(*change)
            except Forbidden:
                continue
        if random.random() < 0.3:
            continue  # let several changes pile up
        at_rest = conf.propagate_all()
        assert conf.propagate_all(choose=random.choice) == at_rest
        for m in graph.locations:
            assert at_rest.frontier(m) == at_rest.implied_frontier(m)
        conf = at_rest


@given(histories())
def test_the_invariants_of_propagation_hold_at_every_step(history):
    """Both invariants, Safe and the lemma on the implied frontier hold after every single step on any graph."""
    graph, start, changes, random = history
    conf = PropagationConf.init(graph, start)
    todo = list(changes)
    for _ in range(30):
        pending = conf.minimal_pending()
        if pending and (not todo or random.random() < 0.7):
            conf = conf.propagate(*random.choice(pending))
        elif todo:
            try:
                conf = conf.change_multiplicity(*todo.pop())
            except Forbidden:
                continue
        else:
            break
        statements = (conf.imp_is_positive, conf.imp_and_work_add_up, conf.safe, conf.converges)
        assert [broken for s in statements if (broken := s()) is not None] == []


def test_frontiers_between_steps_may_jump_ahead():
    """Before all is propagated a frontier can be empty and come back: frontiers are to be read at rest."""
    loop = Graph(Nat(), {("a", "b"): 0, ("b", "a"): 1})
    p = Propagation(loop, {"a": {0: 1}})
    p.propagate_all()
    p.change_multiplicity("a", 0, -1)
    p.change_multiplicity("a", 1, +1)
    p.propagate("a", 0)
    p.propagate("b", 0)
    assert list(p.frontier("b")) == []
    p.propagate_all()
    assert list(p.frontier("b")) == [1]


def test_comparing_times_alone_would_block_scopes_for_ever():
    """Between sibling scopes, 'no smaller time anywhere' can leave nothing to propagate; could-result-in can not."""
    graph = Graph(
        {"first": PAIR, "between": Nat(), "second": PAIR},
        {("first", "between"): Leave, ("between", "second"): Enter},
    )
    conf = PropagationConf.init(graph, {"first": {(0, 1): 1}, "between": {0: 1}, "second": {(0, 0): 1}})
    pending = list(conf.pending())

    def blocks(m, u, l, t):
        """Compare times of equal orders as Figure 6 does, and others by could-result-in."""
        if graph.order(m) == graph.order(l):
            return graph.order(l).lt(u, t)
        return graph.could_result_in((m, u), (l, t))

    assert all(any(blocks(*q, *p) for q in pending) for p in pending)
    assert conf.minimal_pending() == [("first", (0, 1))]
    assert conf.propagate_all().frontier("second") == conf.implied_frontier("second")


# The combination.


def test_all_workers_learn_the_frontier():
    """When two workers have dropped their capabilities and heard of it, the frontier downstream moves on both."""
    tracker = Tracker(WCC, {"w1": [("a.1", (0, 0))], "w2": [("a.1", (0, 0))]})
    for w in ("w1", "w2"):
        tracker.propagate(w)
        tracker.perf_op(w, neg=[("a.1", (0, 0))], own=[("a.1", (1, 0))])
        tracker.send_upd(w, tracker.conf.exch.temp[w])
    tracker.recv_upd("w1", "w1")
    tracker.propagate("w1")
    assert list(tracker.frontier("w1", "b.2")) == [(0, 0)]
    for sender, receiver in [("w2", "w1"), ("w1", "w2"), ("w2", "w2")]:
        tracker.recv_upd(sender, receiver)
    for w in ("w1", "w2"):
        tracker.propagate(w)
        assert list(tracker.frontier(w, "b.2")) == [(1, 0)]
        assert list(tracker.frontier(w, "b.1")) == [(1, 1)]
        assert tracker.implied_frontier(w, "b.1") == tracker.frontier(w, "b.1")
    assert tracker.conf.safe() is None
    assert tracker.conf.pts_are_glob() is None


def test_receiving_changes_the_pointstamps_by_the_update():
    """`recv_upd` changes the receiver's pointstamps by the oldest update from that sender to that receiver."""
    tracker = Tracker(Graph(Nat(), {("a", "b"): 0}), {"w1": [("a", 0)], "w2": [("a", 1)]})
    tracker.propagate("w2")
    for w, t in (("w1", 0), ("w2", 1)):
        tracker.perf_op(w, neg=[("a", t)])
        tracker.send_upd(w, [("a", t)])
    tracker.recv_upd("w1", "w2")
    assert tracker.conf.of("w2").pts["a"] == ZMultiset({1: 1})
    assert tracker.conf.pts_are_glob() is None
