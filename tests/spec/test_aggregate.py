"""The statements on Aggregates hold on generated streams, and each of the important ones can fail."""

import datetime
import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.check.bounded import bounded_streams, bounded_two_sided
from tidegate.check.streams import DATA, streams
from tidegate.spec import DT, WM, Operator, fproduce, is_monotone, produce
from tidegate.spec.aggregate import A as A_
from tidegate.spec.aggregate import (
    A_infinity,
    A_plus,
    Embedded,
    Folding,
    J,
    Window,
    composed_infinity,
    composed_J,
    composed_M,
    unfold,
    unfold_loop,
)
from tidegate.spec.aggregate import statements as s
from tidegate.spec.aggregate.merge import merge_op, on_stream, stream_of, sum_of
from tidegate.time import EventTime, Inl, Inr, Int, Nat, Sum

ORDER = st.sampled_from([Nat(), Int()])
BOUND = st.integers(1, 4)
SCHEDULES = st.none() | st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)
LISTS = st.lists(st.sampled_from("xy"), max_size=3).map(lambda xs: Embedded(tuple(xs)))
FULL = LISTS.filter(lambda e: e.data)


def by_datum(t, d):
    return d


def in_one_window(t, d):
    return None


WINDOWS = st.builds(
    lambda advance, more, key: Window(advance, advance + more, key),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from([by_datum, in_one_window]),
)
PAIRS = WINDOWS.map(lambda w: (w, replace(w)))
#: Maps that answer nothing, one, several, the same for different data.
FUNCTIONS = st.fixed_dictionaries(dict.fromkeys("abc", st.lists(st.sampled_from("xy"), max_size=3))).map(
    lambda table: lambda t, d: table[d]
)


def matches(t1, t2):
    return t1[1] <= t2[1]


def append(state, d):
    return (*state, d)


ALL = Folding(lambda d: (d,), append, lambda s, r: (*s, *r), lambda state: state)


@st.composite
def cases(draw, data=DATA, **options):
    """Draw (order, d, a stream that keeps C1 with d)."""
    order, d = draw(ORDER), draw(BOUND)
    return order, d, draw(bounded_streams(order, d, data=data, **options))


@given(cases())
def test_the_drawn_streams_keep_c1(case):
    """What is drawn as bounded satisfies C1, and is monotone."""
    order, d, events = case
    assert s.c1(order, d, events) is None
    assert is_monotone(order, events)


# Definitions, and what an Aggregate promises on its own.


@given(ORDER, BOUND, st.integers(0, 5), st.lists(st.sampled_from("xy"), min_size=1, max_size=4).map(tuple))
def test_definition_1(order, d, t, data):
    """A tuple that embeds n others has n successors, which is what Listing 4 counts on."""
    assert s.definition_1.verdict(order, d, t, data) == "holds"


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), WINDOWS, streams(o))))
def test_definition_2(case):
    """An Aggregate processes the tuples of a key in an instance jointly and exactly once."""
    assert s.definition_2.verdict(*case) == "holds"


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), streams(o) | st.lists(st.sampled_from([DT(0, "a"), WM(0)])))))
def test_definition_3(case):
    """The paper's watermark and monotone streams say the same."""
    assert s.definition_3(*case) is None


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), WINDOWS, streams(o), st.integers(0, 12))))
def test_definition_4(case):
    """A watermark triggers the instances that it ends, and follows what it triggered."""
    assert s.definition_4.verdict(*case) == "holds"


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), WINDOWS, streams(o))), st.integers(0, 4))
def test_observation_1(case, lateness):
    """No output is earlier than an input of its instance, also with lateness."""
    order, window, events = case
    assert s.observation_1(order, replace(window, lateness=lateness), events) is None


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), streams(o))))
def test_lemma_1(case):
    """With windows of one unit, tuples are answered at their own time."""
    assert s.lemma_1.verdict(*case) == "holds"


# What an engine must offer and take care of.


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), streams(Sum(o, o)))))
def test_p1(case):
    """Merging loses nothing and makes nothing late."""
    assert s.p1.verdict(*case) == "holds"


@given(ORDER, st.integers(1, 4), st.data())
def test_p1_of_any_number_of_streams(order, number, data):
    """Merging loses nothing, makes nothing late, and is what merging two, and the result with a third, gives."""
    events = data.draw(streams(sum_of(order, number)))
    assert s.p1.verdict(order, events, number) == "holds"
    if number > 1:
        assert list(produce(merge_op(order, number), events)) == two_by_two(order, number, events)


def two_by_two(order, number, events):
    """Merge two streams, what that gives with the third, and so on."""
    ops = [merge_op(order) for _ in range(number - 1)]
    out = []
    for event in events:
        nth, t = stream_of(event.t, number)
        passed = [DT(t, event.d) if isinstance(event, DT) else WM(t)]
        for i in range(max(nth - 1, 0), len(ops)):
            side = Inr if i == nth - 1 else Inl
            sided = [DT(side(e.t), e.d) if isinstance(e, DT) else WM(side(e.t)) for e in passed]
            ops[i], passed = fproduce(ops[i], sided)
        out += passed
    return out


@given(ORDER, BOUND, st.integers(2, 4), st.data())
def test_p1_of_any_number_of_streams_keeps_c1(order, d, number, data):
    """A merged stream keeps the bound of its parts, however many there are, and in whatever order they come."""
    waiting = [
        [DT(on_stream(n, number, e.t), e.d) if isinstance(e, DT) else WM(on_stream(n, number, e.t)) for e in events]
        for n, events in enumerate(data.draw(bounded_streams(order, d, rounds=3)) for _ in range(number))
    ]
    events = []
    while any(waiting):
        events.append(data.draw(st.sampled_from([w for w in waiting if w])).pop(0))
    assert s.p1_keeps_c1.verdict(order, d, events, number) == "holds"


@pytest.mark.parametrize("number", [0, -1, 1.5])
def test_a_number_of_streams_is_one(number):
    """Of no streams, nothing is merged."""
    with pytest.raises(ValueError, match="expected a number of streams, at least 1"):
        merge_op(Nat(), number)


@given(ORDER, BOUND, st.data())
def test_p1_keeps_c1(order, d, data):
    """A merged stream keeps the bound of its parts, however late one of them begins."""
    assert s.p1_keeps_c1.verdict(order, d, data.draw(bounded_two_sided(order, d))) == "holds"


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), WINDOWS, FUNCTIONS, streams(o))))
def test_p2(case):
    """One stream feeds two Aggregates as it would feed each of them."""
    order, window, f, events = case
    count = A_(order, window, lambda γ: [len(γ.tuples)])
    assert s.p2.verdict(count, composed_M(order, f), events) == "holds"


@given(cases(FULL), SCHEDULES)
def test_p3(case, schedule):
    """All that leaves the loop comes round to it, once."""
    order, d, events = case
    assert s.p3.verdict(unfold_loop(order, d, schedule=schedule), events) == "holds"


# Compositions.


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), FUNCTIONS, streams(o))))
def test_theorem_1(case):
    """E_M embeds what the Map gives."""
    assert s.theorem_1.verdict(*case) == "holds"


@given(cases(), FUNCTIONS, SCHEDULES)
def test_claim_1(case, f, schedule):
    """The Map composed of A gives what the Map gives, under every delay in its loop."""
    order, d, events = case
    assert s.claim_1.verdict(order, f, d, events, schedule) == "holds"


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), PAIRS, st.just(matches), streams(Sum(o, o)))))
def test_theorem_2(case):
    """E_J embeds what the Join gives."""
    assert s.theorem_2.verdict(*case) == "holds"


@given(ORDER, BOUND, PAIRS, SCHEDULES, st.data())
def test_claim_2(order, d, windows, schedule, data):
    """The Join composed of A gives what the Join gives, under every delay in its loop."""
    events = data.draw(bounded_two_sided(order, d))
    assert s.claim_2.verdict(order, windows, matches, d, events, schedule) == "holds"


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), FUNCTIONS, streams(o))))
def test_section_5_1_map(case):
    """One A+ is a Map, on any monotone stream: no loop, no bound."""
    assert s.section_5_1_map.verdict(*case) == "holds"


@given(ORDER.flatmap(lambda o: st.tuples(st.just(o), PAIRS, st.just(matches), streams(Sum(o, o)))))
def test_section_5_1_join(case):
    """A+ makes a Join, on any monotone streams: no loop, no bound."""
    assert s.section_5_1_join.verdict(*case) == "holds"


@given(cases(), st.sampled_from(["A", "A+"]))
def test_filter_is_a_map(case, using):
    """The composed Filter gives what the Filter gives."""
    order, d, events = case
    assert s.filter_is_a_map.verdict(order, lambda t, x: x != "b", using, d, events) == "holds"


@given(cases(covered=True), FUNCTIONS, st.sampled_from(["A", "A+"]))
def test_a_composed_map_keeps_productive(case, f, using):
    """A composed Map covers its data with watermarks: nothing stays in its loop."""
    order, d, events = case
    op = composed_M(order, f, using=using, d=d)
    assert s.composition_keeps_productive.verdict(order, op, events) == "holds"


# Loops.


@given(cases(LISTS), SCHEDULES)
def test_theorem_3(case, schedule):
    """X puts out all that is carried, as often as it is carried; also of lists that are empty."""
    order, d, events = case
    assert s.theorem_3.verdict(order, d, events, schedule) == "holds"


@given(cases(FULL), SCHEDULES)
def test_lemmas_2_to_4(case, schedule):
    """In the loop of X nothing comes twice, nothing is discarded, and nothing that leaves it is late."""
    order, d, events = case
    for lemma in (s.lemma_2, s.lemma_3, s.lemma_4):
        assert lemma.verdict(order, d, events, schedule) == "holds"


@given(cases(FULL), SCHEDULES, st.integers(0, 3))
def test_more_lateness_than_the_bound_does_no_harm(case, schedule, more):
    """Theorem 3 asks for L' at least d, not for equality."""
    order, d, events = case

    def X(order, d, *, schedule):
        return unfold(order, d, lateness=d + more, schedule=schedule)

    assert s.theorem_3.verdict(order, d, events, schedule, X=X) == "holds"


@given(cases(), SCHEDULES, st.integers(0, 3), st.sampled_from([by_datum, in_one_window]))
def test_lemma_5(case, schedule, more, key):
    """A sliding A with a loop is A-infinity, also for states that remember the order of what was added."""
    order, d, events = case
    assert s.lemma_5.verdict(order, ALL, d + more, key, d, events, schedule) == "holds"


def test_compositions_run_on_event_time():
    """Spans are in units of the order: days here."""
    day, day2 = datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)
    order = EventTime("day")
    events = [DT(day, "a b"), WM(day), DT(day2, "c"), WM(day2)]
    out = list(produce(composed_M(order, lambda t, d: d.split(), using="A", d=1), events))
    assert [e for e in out if isinstance(e, DT)] == [DT(day, "a"), DT(day, "b"), DT(day2, "c")]
    weekly = A_plus(order, Window(7, 7), lambda γ: [len(γ.tuples)])
    assert list(produce(weekly, [DT(day, "a"), DT(day2, "b")])) == [DT(datetime.date(2026, 1, 7), 2)]


def test_lateness_re_emits_and_then_discards():
    """A late tuple makes its instance answer again while W < γ.l + WS + L, and is kept apart after that."""
    op = A_(Nat(), Window(2, 2, lateness=2), lambda γ: [len(γ.tuples)])
    events = [DT(0, "a"), WM(1), DT(0, "b"), WM(2), DT(1, "c"), WM(3), DT(0, "d")]
    after, out = fproduce(op, events)
    assert out == [DT(1, 1), WM(1), DT(1, 2), WM(2), DT(1, 3), WM(3)]
    assert after.discarded == (DT(0, "d"),)


def test_a_join_with_lateness_pairs_what_is_late_and_then_refuses_it():
    """A late tuple meets all of the other side's in its instance while W < γ.l + WS + L, and nothing after that."""
    window = Window(2, 2, lateness=2)

    def both(t):
        return [WM(Inl(t)), WM(Inr(t))]

    events = [DT(Inl(0), "a"), *both(1), DT(Inr(1), "b"), *both(2), DT(Inr(0), "c"), *both(3), DT(Inr(1), "d")]
    found = list(produce(J(Nat(), window, window, lambda t1, t2: True), events))
    assert found == [WM(1), DT(1, ((0, "a"), (1, "b"))), WM(2), DT(1, ((0, "a"), (0, "c"))), WM(3)]


SIDED = st.tuples(st.sampled_from([Inl, Inr]), st.integers(0, 6), st.sampled_from(["a", "b", None])).map(
    lambda e: WM(e[0](e[1])) if e[2] is None else DT(e[0](e[1]), e[2])
)


@given(st.lists(SIDED, max_size=12), WINDOWS, st.integers(0, 4))
def test_a_join_gives_the_pairs_of_the_instances_that_took_both(events, window, lateness):
    """An instance takes tuples of both sides until the lesser watermark has passed its end by the lateness."""
    Ws, taken = {Inl: -math.inf, Inr: -math.inf}, {Inl: [], Inr: []}
    for event in events:
        side, t = type(event.t), event.t.t
        if isinstance(event, WM):
            Ws[side] = max(Ws[side], t + 1)
            continue
        starts = [l for l in range(0, t + 1, window.advance) if t < l + window.size]
        places = [(l, window.key(t, event.d)) for l in starts if min(Ws.values()) < l + window.size + lateness]
        taken[side] += [(place, (t, event.d)) for place in places]
    pairs = [(p[0], a, b) for p, a in taken[Inl] for q, b in taken[Inr] if p == q and matches(a, b)]
    late = replace(window, lateness=lateness)
    found = [e for e in produce(J(Nat(), late, late, matches), events) if isinstance(e, DT)]
    assert Counter((e.t, e.d) for e in found) == Counter((l + window.size - 1, (a, b)) for l, a, b in pairs)


def test_the_periods_of_a_infinity_go_on_without_data():
    """A-infinity answers at every end of a period, also where nothing is new."""
    total = Folding(lambda d: d, lambda s, d: s + d, lambda s, r: s + r, lambda s: 10 * s)
    events = [DT(1, 1), WM(1), WM(2), WM(3), WM(4), DT(5, 2), WM(5)]
    expected = [DT(2, 10), DT(4, 10), DT(6, 30)]
    for op in (
        A_infinity(Nat(), total, 2, in_one_window),
        composed_infinity(Nat(), total, 2, in_one_window, d=2),
        composed_infinity(Nat(), total, 2, in_one_window, d=2, schedule=(0, 0, 1)),
    ):
        assert [e for e in produce(op, events) if isinstance(e, DT)] == expected


# Mutants: each of them is found.


class Dropping(Operator):
    """Passes what an operator puts out, without its watermarks."""

    def __init__(self, op):
        self.op = op

    def apply(self, event):
        op, out = self.op.apply(event)
        return Dropping(op), [e for e in out if isinstance(e, DT)]

    def exit(self):
        return self.op.exit()


class Passing(Operator):
    """Passes everything through at once."""

    def apply(self, event):
        return self, [event]


def mutant_loop(**parts):
    def loop(order, d, *, schedule=None):
        return replace(unfold_loop(order, d, schedule=schedule), **parts)

    return loop


TWO = [DT(0, Embedded(("x", "y"))), WM(0), DT(1, Embedded(("z",))), WM(1), WM(2)]


def test_a_watermark_that_says_less_than_one_that_waits_takes_nothing_back():
    """Watermarks need not ascend: of those that wait for the loop, the greatest goes on in the end."""
    events = [DT(0, "a"), WM(1), WM(3), WM(2), *[WM(0)] * 9]
    for stream in (events, [e for e in events if e != WM(2)]):
        composed = composed_M(Nat(), lambda t, d: [d], using="A", d=2, schedule=[0, 0, 0, 1])
        assert max(e.t for e in produce(composed, stream) if isinstance(e, WM)) == 3


def test_without_listing_4_a_loop_discards():
    """C2 can fail: with a slow loop and nothing to hold watermarks back, what comes round is too late."""
    assert s.lemma_3.verdict(Nat(), 1, TWO, (0, 0, 0, 0, 1), loop=mutant_loop(enter=Passing())) != "holds"
    assert s.lemma_3.verdict(Nat(), 1, TWO, (0, 0, 0, 0, 1)) == "holds"


def test_without_listing_5_outputs_are_late():
    """C3 can fail: a watermark that does not wait for successors makes them late."""
    assert s.lemma_4.verdict(Nat(), 1, TWO, loop=mutant_loop(leave=Passing())) != "holds"
    assert s.lemma_4.verdict(Nat(), 1, TWO) == "holds"


def test_a_merge_that_passes_every_watermark_is_found():
    """P1 can fail: the merged watermark is the lesser one, not the latest."""

    class Careless(Operator):
        def apply(self, event):
            return self, [DT(event.t.t, event.d) if isinstance(event, DT) else WM(event.t.t)]

    late = [WM(Inl(1)), DT(Inr(0), "b")]
    assert s.p1.verdict(Nat(), late, merge=lambda order: Careless()) != "holds"
    assert s.p1.verdict(Nat(), late, merge=merge_op) == "holds"


def test_an_aggregate_that_forgets_keys_is_found():
    """Definition 2 can fail: without keys, too much is processed jointly."""

    def keyless(order, window, f):
        return A_(order, replace(window, key=in_one_window), f)

    events = [DT(0, "a"), DT(0, "b"), WM(0)]
    assert s.definition_2.verdict(Nat(), Window(1, 1, by_datum), events, A=keyless) != "holds"
    assert s.definition_2.verdict(Nat(), Window(1, 1, by_datum), events) == "holds"


def test_a_composition_that_drops_watermarks_is_found():
    """Productivity can fail, though the data is all there."""
    op = composed_M(Nat(), lambda t, d: [d], using="A", d=1)
    events = [DT(0, "a"), WM(0)]
    assert s.composition_keeps_productive.verdict(Nat(), op, events) == "holds"
    assert s.composition_keeps_productive.verdict(Nat(), Dropping(op), events) not in ("holds", "vacuous")


@pytest.mark.parametrize("using", ["A", "A+"])
def test_a_composed_join_pairs_within_shared_windows(using):
    """A pair comes out once for each window that both fall into."""
    window = Window(1, 2)
    op = composed_J(Nat(), window, window, lambda a, b: True, using=using, d=2)
    events = [DT(Inl(1), "a"), DT(Inr(1), "b"), WM(Inl(1)), WM(Inr(1)), WM(Inl(2)), WM(Inr(2))]
    pair = ((1, "a"), (1, "b"))
    assert [e for e in produce(op, events) if isinstance(e, DT)] == [DT(1, pair), DT(2, pair)]
