"""The tracker of the engines, against the definition of the implied frontier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from tidegate.check.changes import Batch, batches
from tidegate.check.graphs import flat_graphs, graphs
from tidegate.check.nests import nests
from tidegate.check.orders import orders, times
from tidegate.errors import NotFound, WrongType
from tidegate.progress import Enter, Forbidden, Graph, Leave, Progress, Propagation, layout, settle
from tidegate.time import BOTTOM, TOP, Antichain, EventTime, Frontier, Int, Nat, NotATime, Product, Sum, ZMultiset

Held = Counter[tuple[Any, Any]]


def implied(graph: Graph, held: Held, m: Any) -> Antichain[Any]:
    """The definition: every pointstamp along every minimal path, and then the least of the results."""
    results = [s.results_in(t) for (l, t), n in held.items() if n > 0 for s in graph.path_summary(l, m)]
    return Antichain.minimal(graph.order(m), results)


def frontiers(progress: Progress) -> dict[Any, Antichain[Any]]:
    return {l: progress.frontier(l) for l in progress.graph.locations}


def differs(graph: Graph, changes: Iterable[Batch], *, signed: bool = False) -> bool:
    """Return whether, after some batch, a frontier is not the implied one or the changed ones are not those named."""
    progress = Progress(graph, signed=signed)
    held: Held = Counter()
    before = frontiers(progress)
    for batch in changes:
        named = progress.update(batch)
        for l, t, n in batch:
            held[l, t] += n
        after = frontiers(progress)
        changed = {l for l in graph.locations if before[l] != after[l]}
        if after != {l: implied(graph, held, l) for l in graph.locations}:
            return True
        if len(named) != len(changed) or set(named) != changed:
            return True
        before = after
    return False


FLAT = orders(max_leaves=3).flatmap(lambda order: flat_graphs(order, max_locations=6))
GRAPHS = st.one_of(graphs(max_locations=8), nests(), FLAT)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Graph, list[Batch]]:
    graph = draw(GRAPHS)
    return graph, draw(batches(graph, max_batches=6))


@given(runs())
def test_equals_the_implied_frontier_after_every_batch(run: tuple[Graph, list[Batch]]) -> None:
    """After every batch each frontier is the implied frontier, and exactly those that changed are named."""
    assert not differs(*run)


@given(runs())
def test_equals_what_the_model_propagates(run: tuple[Graph, list[Batch]]) -> None:
    """The paper's propagation comes to rest with the same frontiers; they are empty when all is dropped."""
    graph, changes = run
    progress = Progress(graph)
    for batch in changes:
        progress.update(batch)
        model = Propagation(graph, {l: dict(progress.pointstamps(l).items()) for l in graph.locations})
        model.propagate_all()
        assert frontiers(progress) == {l: model.frontier(l) for l in graph.locations}
    progress.update([(l, t, -n) for l in graph.locations for t, n in progress.pointstamps(l).items()])
    assert not any(frontiers(progress).values())


@given(runs(), st.data())
def test_loops_are_settled_in_an_order_that_edges_keep(run: tuple[Graph, list[Batch]], data: st.DataObject) -> None:
    """Within a loop, the key never decreases along an edge, and it increases with the time."""
    graph, _ = run
    places = Progress(graph)._places
    for l, place in places.items():
        if not isinstance(place, settle.LoopMember):
            continue
        t, u = data.draw(st.tuples(times(place.order), times(place.order)))
        assert not place.order.lt(t, u) or place.key(t) < place.key(u)
        for m, edge in graph.successors(l).items():
            target = places[m]
            if isinstance(target, settle.LoopMember) and target.loop is place.loop:
                assert all(place.key(t) <= target.key(s.results_in(t)) for s in edge)


@given(st.one_of(graphs(), nests()).flatmap(lambda graph: st.tuples(st.just(graph), batches(graph))))
def test_nothing_is_settled_twice(run: tuple[Graph, list[Batch]]) -> None:
    """In one batch no change is applied twice at a location and time, however many ways lead there."""
    graph, changes = run
    progress = Progress(graph)
    with pytest.MonkeyPatch.context() as patch:
        applied: Held = Counter()
        update = Frontier.update

        def counting(self: Frontier[Any], t: Any, n: int) -> list[tuple[Any, int]]:
            applied[id(self), t] += 1
            return update(self, t, n)

        patch.setattr(Frontier, "update", counting)
        for batch in changes:
            applied.clear()
            progress.update(batch)
            loops = [p for p in progress._places.values() if isinstance(p, settle.LoopMember)]
            assert all(applied[id(p.implied), t] <= 1 for p in loops for (_, t) in list(applied))


@given(runs(), st.data())
def test_counts_may_be_negative_for_a_while(run: tuple[Graph, list[Batch]], data: st.DataObject) -> None:
    """With signed counts, as in one worker's view, changes may come in any order: positive counts make the frontier."""
    graph, changes = run
    assert not differs(graph, data.draw(st.permutations(changes)), signed=True)


@given(runs(), st.data())
def test_why_names_exactly_what_could_result_in_it(run: tuple[Graph, list[Batch]], data: st.DataObject) -> None:
    """The reasons are the pointstamps that could result in the one asked for, along edges; none if it is complete."""
    graph, changes = run
    progress = Progress(graph)
    for batch in changes:
        progress.update(batch)
    m = data.draw(st.sampled_from(graph.locations))
    u = data.draw(times(graph.order(m)))
    reasons = progress.why(m, u)
    held = {(l, t): n for l in graph.locations for t, n in progress.pointstamps(l).items()}
    assert {(r.location, r.time): r.count for r in reasons} == {
        p: n for p, n in held.items() if graph.could_result_in(p, (m, u))
    }
    assert progress.complete(m, u) == (not reasons)
    assert {(r.location, r.time) for r in progress.why(m, TOP)} == {p for p in held if graph.path_summary(p[0], m)}
    for reason in reasons:
        assert reason.path[-1][0] == m
        assert graph.order(m).le(reason.arrives, u)
        for (l, t), (k, v) in zip(reason.path, reason.path[1:], strict=False):
            assert v in [s.results_in(t) for s in graph.summary(l, k)]


NESTED = Graph(
    {"in": Nat(), "head": Product(Nat(), Nat()), "tail": Product(Nat(), Nat()), "out": Nat()},
    {("in", "head"): Enter, ("head", "tail"): (0, 0), ("tail", "head"): (0, 1), ("tail", "out"): Leave},
)


def test_a_loop_holds_its_outside_back_until_it_is_empty() -> None:
    """What goes round in a scope holds its outer time back at the exit, and lets it go when it is dropped."""
    progress = Progress(NESTED, {"in": {3: 1}})
    assert progress.update([("in", 3, -1), ("head", (3, 0), 1)]) == ["in"]
    for i in range(5):
        assert progress.update([("head", (3, i), -1), ("head", (3, i + 1), 1)]) == ["head", "tail"]
        assert list(progress.frontier("out")) == [3]
    assert set(progress.drop("head", (3, 5))) == {"head", "tail", "out"}
    assert progress.complete("out", 3)


def test_leaving_and_entering_again_may_lower_the_inner_time() -> None:
    """Along an outer loop, (0, 5) becomes (1, 0): both are in the frontier, and both go when the pointstamp does."""
    inner = Product(Nat(), Nat())
    graph = Graph({"a": inner, "b": Nat(), "c": Nat()}, {("a", "b"): Leave, ("b", "c"): 1, ("c", "a"): Enter})
    progress = Progress(graph, {"a": {(0, 5): 1}})
    assert set(progress.frontier("a")) == {(0, 5), (1, 0)}
    progress.drop("a", (0, 5))
    assert all(not frontier for frontier in frontiers(progress).values())


@st.composite
def unbounded_runs(draw: st.DrawFn) -> tuple[Graph, list[Batch]]:
    order = draw(st.sampled_from([Int(), Product(Int(), Nat()), Product(EventTime("day"), Int()), Sum(Int(), Nat())]))
    graph = draw(st.one_of(flat_graphs(order, max_locations=6), graphs(root=order, max_locations=6)))
    places = Progress(graph)._places
    return graph, draw(batches(graph, times=lambda l: times(graph.order(l), extended=True).filter(places[l].accepts)))


@given(unbounded_runs())
def test_where_there_is_no_least_time_bottom_stands_for_it(run: tuple[Graph, list[Batch]]) -> None:
    """A pointstamp may be below all integers, as before a source has said anything, and it can be dropped again."""
    assert not differs(*run)


def test_bottom_is_refused_where_it_would_go_round_for_ever() -> None:
    """In a loop that only counts integers up, no time comes after BOTTOM, so none may begin there."""
    loop = Graph(Int(), {("a", "b"): 0, ("b", "a"): 1})
    with pytest.raises(NotATime, match="location 'a'"):
        Progress(loop, {"a": {BOTTOM: 1}})
    rounds = Graph(Product(Int(), Nat()), {("a", "b"): (0, 0), ("b", "a"): (0, 1)})
    assert list(Progress(rounds, {"a": {(BOTTOM, 0): 1}}).frontier("b")) == [(BOTTOM, 0)]


def test_a_time_past_the_end_of_the_order_is_none() -> None:
    """On a loop, a time that would pass the last day leaves nothing behind that holds itself up."""
    order = Product(EventTime("day"), Nat())
    day = date(2026, 1, 2) - date(2026, 1, 1)
    graph = Graph(order, {("a", "b"): (day, 0), ("b", "a"): (day, 0)})
    progress = Progress(graph, {"a": {(date.max, 3): 1}})
    assert list(progress.frontier("a")) == [(date.max, 3)]
    progress.drop("a", (date.max, 3))
    assert not progress.frontier("a")


@pytest.mark.parametrize("fan_in", [1, layout.FAN_IN, layout.FAN_IN + 1, 50])
def test_many_edges_into_one_location(fan_in: int) -> None:
    """A location follows the least of its predecessors, however many there are."""
    graph = Graph(Nat(), {(i, "sink"): i % 3 for i in range(fan_in)})
    progress = Progress(graph, {i: {0: 1} for i in range(fan_in)})
    for i in range(fan_in):
        progress.update([(i, 0, -1), (i, 10, 1)])
        left = [j % 3 for j in range(i + 1, fan_in)] + [10 + j % 3 for j in range(i + 1)]
        assert list(progress.frontier("sink")) == [min(left)]


def test_a_toggled_pointstamp_leaves_no_trace() -> None:
    """What the tracker keeps does not grow when a pointstamp above the least one comes and goes."""
    graph = Graph(Nat(), {("a", "b"): 0, ("b", "c"): 0, ("c", "b"): 1})
    progress = Progress(graph, {"a": {0: 1}, "b": {0: 1}})
    for _ in range(1000):
        for l in ("a", "b"):
            progress.add(l, 7)
            progress.drop(l, 7)
    source, loop = progress._places["a"], progress._places["b"]
    assert isinstance(source, settle.LeastLocation)
    assert isinstance(loop, settle.LoopMember)
    assert len(source.heap) < 20
    assert len(loop.own._heap or []) < 20


# What is refused.

REFUSED: list[tuple[Batch, type[Exception], str]] = [
    ([("nowhere", 0, 1)], NotFound, r"(?s)'nowhere'.*time 0"),
    ([("in", 3, 0.5)], WrongType, "location 'in', time 3"),
    ([("in", 3, True)], WrongType, "location 'in', time 3"),
    ([("head", 3, 1)], NotATime, "location 'head'"),
    ([("in", -1, 1)], NotATime, "location 'in'"),
    ([("in", [3], 1)], NotATime, "location 'in'"),
    ([("in", 3, -2)], Forbidden, r"(?s)rule: counts stay at least 0.*location 'in', time 3"),
    ([("out", 3, -1)], Forbidden, r"(?s)rule: counts stay at least 0.*location 'out', time 3"),
]


@pytest.mark.parametrize(("bad", "error", "place"), REFUSED)
def test_a_refused_batch_changes_nothing(bad: Batch, error: type[Exception], place: str) -> None:
    """One refused change, wherever it is in the batch, leaves the tracker as it was, and is named."""
    good: Batch = [("in", 3, -1), ("head", (3, 1), 2)]
    for batch in (bad + good, good + bad):
        progress = Progress(NESTED, {"in": {3: 1}, "tail": {(4, 4): 1}})
        counts = {l: progress.pointstamps(l) for l in NESTED.locations}
        before = frontiers(progress)
        with pytest.raises(error, match=place):
            progress.update(batch)
        assert counts == {l: progress.pointstamps(l) for l in NESTED.locations}
        assert frontiers(progress) == before
        assert progress.update(good)


@pytest.mark.parametrize("n", [0.5, True, "1"])
def test_only_integers_are_added_and_dropped(n: Any) -> None:
    """A number of pointstamps is an integer, also where it is negated on the way."""
    progress = Progress(NESTED, {"in": {3: 1}})
    for change in (progress.add, progress.drop):
        with pytest.raises(WrongType, match="location 'in', time 3"):
            change("in", 3, n)
    assert progress.pointstamps("in") == ZMultiset({3: 1})


def test_a_batch_may_drop_before_it_adds() -> None:
    """Only the sum of a batch counts, so a drop may stand before the addition that allows it."""
    progress = Progress(NESTED)
    assert progress.update([("in", 3, -1), ("in", 3, 1)]) == []


def test_questions_about_what_is_not_there() -> None:
    """Frontiers and reasons at an unknown location, or at a time of another order, are refused by name."""
    progress = Progress(NESTED)
    for ask in (progress.frontier, progress.pointstamps):
        with pytest.raises(NotFound, match="'nowhere'"):
            ask("nowhere")
    for question in (progress.why, progress.complete):
        with pytest.raises(NotFound, match="'nowhere'"):
            question("nowhere", 3)
        with pytest.raises(NotATime, match="location 'head'"):
            question("head", 3)


# Mutants: each breaks the tracker in one place, and the comparison with the definition has to notice.


class Endless(Exception):
    """The mutant goes round and round."""


def drops_no_retraction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop passes on only what is new."""
    receive = settle.LoopMember.receive
    monkeypatch.setattr(settle.LoopMember, "receive", lambda self, t, n: receive(self, t, n) if n > 0 else None)


def greatest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop applies changes in the order in which they came, not least first."""
    arrivals = Counter[int]()
    receive = settle.LoopMember.receive

    def limited(self: settle.LoopMember, t: Any, n: int) -> None:
        arrivals[id(self.loop)] += 1
        if arrivals[id(self.loop)] > 2000:
            raise Endless
        receive(self, t, n)

    ticket = iter(range(10**9))
    monkeypatch.setattr(settle.LoopMember, "receive", limited)
    monkeypatch.setattr(layout, "_key", lambda *_: lambda t: next(ticket))


def forgets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A location outside loops looks at its predecessors only."""
    monkeypatch.setattr(settle.LeastLocation, "point", lambda self, t, n, agenda: None)


def stops_at_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop does not tell the locations behind it."""
    monkeypatch.setattr(settle.TrackedLocation, "send", lambda self, changes, agenda: None)


@pytest.mark.parametrize("mutant", [drops_no_retraction, greatest_first, forgets_its_own, stops_at_the_region])
def test_mutants_are_noticed(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken tracker differs from the definition, or does not end, on some generated run."""
    mutant(monkeypatch)

    def noticed(run: tuple[Graph, list[Batch]]) -> bool:
        try:
            return differs(*run)
        except (Endless, KeyError):
            return True

    search = settings(max_examples=2000, derandomize=True, database=None, phases=[Phase.generate])
    assert find(runs(), noticed, settings=search)
