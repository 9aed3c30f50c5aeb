"""Each place where a text fails its own property as printed, with the smallest stream that shows it: docs/errata.md."""

from collections import Counter

import pytest

from tidegate.spec import (
    DT,
    WM,
    DTs,
    Lasso,
    Operator,
    batch_op,
    batching,
    comp_op,
    flatten_op,
    fproduce,
    histogram,
    ihist_linear_op,
    ihist_op,
    ihist_paths_op,
    incr_op,
    is_monotone,
    is_productive,
    is_strictly_monotone,
    join_op,
    map_op,
    produce,
)
from tidegate.spec import statements as s
from tidegate.spec.collections import coll, set_t, ts
from tidegate.spec.histogram import S_coll
from tidegate.time import Inl, Inr, Nat, Poset, Product
from tidegate.time.order import NotATime


class Printed(Operator):
    """Figure 7 as printed: a watermark that completes nothing is dropped."""

    def __init__(self, op):
        self.op = op

    def apply(self, event):
        op, out = self.op.apply(event)
        silent = isinstance(event, WM) and not any(isinstance(e, DT) for e in out)
        return Printed(op), [] if silent else out

    def exit(self):
        return self.op.exit()


def test_figure_7_drops_watermarks():
    """(24) needs the `else` branch to forward the watermark: `WM 0` tells the two apart."""
    assert list(produce(Printed(ihist_linear_op(Nat())), [WM(0)])) == []
    assert list(produce(ihist_op(Nat()), [WM(0)])) == [WM(0)]
    assert list(produce(ihist_linear_op(Nat()), [WM(0)])) == [WM(0)]


def test_remdups_keeps_the_first_occurrence():
    """Isabelle's `remdups` keeps the last occurrence of a time; the authors' theory keeps the first, as here."""
    batch = [(2, "a"), (1, "b"), (2, "c")]
    printed = [t for i, (t, _) in enumerate(batch) if t not in [u for u, _ in batch[i + 1 :]]]
    assert printed == [1, 2]
    assert [e.t for e in produce(incr_op(), [DT(2, batch)])] == [2, 1]
    assert [e.t for e in produce(ihist_linear_op(Nat(), buf=batch), [])] == [2, 1]


def last_occurrences(times):
    """Isabelle's `remdups`."""
    return [t for i, t in enumerate(times) if t not in times[i + 1 :]]


def test_either_order_of_times_satisfies_the_statements(monkeypatch):
    """(14) to (24) do not tell which occurrence is kept; but (24) does tell if the two operators do not agree."""
    order, events = Nat(), [DT(2, "a"), DT(1, "b"), DT(2, "c"), WM(2), DT(3, "d"), DT(4, "e"), DT(3, "f"), WM(4)]
    batches = list(produce(batch_op(order), events))

    def verdicts():
        no_batches, no_data, no_watermarks = [], [], []
        return {
            14: s.s14.verdict(batches, no_batches),
            15: s.s15.verdict(batches, no_batches),
            16: s.s16.verdict(order, batches, no_watermarks, no_batches),
            17: s.s17.verdict(order, batches, no_batches),
            18: s.s18.verdict(order, events, no_watermarks, no_data, no_batches),
            19: s.s19.verdict(order, events, no_data, no_batches),
            20: s.s20.verdict(order, events, no_watermarks, no_data, no_batches),
            21: s.s21.verdict(order, events),
            22: s.s22.verdict(order, events, no_watermarks),
            23: s.s23.verdict(order, events),
            24: s.s24.verdict(order, events, no_watermarks, no_data, no_batches),
        }

    def like_isabelle(event_times):
        return lambda out, given: sorted(out, key=lambda e: last_occurrences(event_times(given)).index(e.t))

    apply, histograms = batching._Incr.apply, histogram._IhistLinear._histograms
    times = like_isabelle(lambda batch: [t for t, _ in batch])

    def incr(self, event):
        after, out = apply(self, event)
        return after, times(out, event.d) if isinstance(event, DT) else out

    def linear(self, out):
        H, found = histograms(self, out)
        return H, times(found, list(out))

    assert set(verdicts().values()) == {"holds"}
    monkeypatch.setattr(batching._Incr, "apply", incr)
    assert [n for n, verdict in verdicts().items() if verdict != "holds"] == [24]
    monkeypatch.setattr(histogram._IhistLinear, "_histograms", linear)
    assert [e.t for e in produce(incr_op(), batches) if isinstance(e, DT)] == [1, 2, 4, 3]
    assert set(verdicts().values()) == {"holds"}


def test_section_4_4_needs_13_of_batch_op():
    """(17) is about incr_op, whose data are batches; what batch_op takes in, it cannot even be asked about."""
    stream = Lasso([DT(1, "a")], [WM(1)])
    assert s.s13.verdict(Nat(), stream, []) == "holds"
    with pytest.raises((TypeError, ValueError)):
        s.s17.verdict(Nat(), stream, [])


def test_s_coll_needs_the_times_of_its_pairs():
    """As printed, `t' ∈ set xs` is a pair, which is not a time that could be compared with t; `set_t xs` has times."""
    xs = [(0, "a"), (2, "b")]
    with pytest.raises(NotATime):
        [pair for pair in set(xs) if Nat().le(pair, 1)]
    assert set_t(xs) == {0, 2}
    assert S_coll(Nat(), 1, xs) == sum((coll(xs, t) for t in set_t(xs) if Nat().le(t, 1)), Counter()) == Counter("a")


def test_ts_needs_one_name_for_its_datum():
    """As printed, `d` is free and `d'` unused: the times would depend on a datum that `ts` is not given."""
    stream = [DT(0, "a"), DT(1, "b"), DT(3, "a")]

    def printed(d):
        return {e.t for e in stream if e.d == d and e.t <= 2}

    assert printed("a") == {0}
    assert printed("b") == {1}
    assert ts(Nat(), stream, 2) == {0, 1}


def test_15_is_about_the_set_of_what_is_produced():
    """`produce` gives a sequence, in order and with repetitions; membership is of its set, `lset`."""
    stream = [DT(1, [(1, "a"), (0, "b")])]
    assert s.s15.verdict(stream, []) == "holds"
    produced = list(produce(incr_op(), stream))
    assert {e.t for e in produced} == set_t(stream[0].d)
    # A sequence is not the set of its elements: it has an order.
    assert produced != produced[::-1]


def test_30_and_31_need_their_stream():
    """`produce` takes an operator and a stream; as printed it is given no stream, and what comes out depends on it."""
    with pytest.raises(TypeError):
        produce(join_op(Nat(), min))
    one, two = [WM(Inl(0)), WM(Inr(0))], [WM(Inl(0))]
    assert list(produce(join_op(Nat(), min), one)) != list(produce(join_op(Nat(), min), two))
    assert s.s30.verdict(Nat(), min, one) == s.s31.verdict(Nat(), min, one) == "holds"


def test_17_with_its_condition_as_printed_says_nothing():
    """(17) asks for `¬ b ≠ []`, so for empty batches, of which nothing comes out; it must be `b ≠ []`."""
    printed = [DT(1, []), WM(1)]
    assert s.s17.verdict(Nat(), printed, []) == "vacuous"
    assert fproduce(incr_op(), printed)[1] == [WM(1)]
    assert s.s17.verdict(Nat(), [DT(1, [(0, "x")]), WM(1)], []) == "holds"


def test_6_does_not_hold_unconditionally():
    """Section 3.2 says that the equation "does hold unconditionally"; the sentence after it shows that it does not."""
    from tests.spec.test_statements import test_6_fails_without_its_assumption

    test_6_fails_without_its_assumption()


SIDES = [("t0", "t2"), ("t2", "t5"), ("t0", "t3"), ("t3", "t5")]


def test_the_slides_formula_counts_paths_and_their_output_does_not():
    """H at t5: the slides' formula has the collection of t0 twice, the output that they print has it once."""
    order = Poset(SIDES)
    stream = [DT("t0", "a"), DT("t2", "b"), DT("t3", "a"), DT("t5", "c"), WM("t5")]
    once = {e.t: e.d for e in produce(ihist_op(order), stream) if isinstance(e, DT)}
    paths = {e.t: e.d for e in produce(ihist_paths_op(order), stream) if isinstance(e, DT)}
    assert once["t5"] == Counter("aabc")
    assert paths["t5"] == Counter("aaabc")


def test_the_slides_row_of_t5_is_that_of_the_paths_beside_it():
    """One copy of the slides sums t0 to t4 at t5; with the paths that it gives, t1 and t4 do not belong there."""
    order = Poset([("t0", "t1"), ("t1", "t4"), *SIDES])
    stream = [DT(t, t) for t in order.elements] + [WM("t5")]
    histogram = {e.t: e.d for e in produce(ihist_paths_op(order), stream) if isinstance(e, DT)}["t5"]
    by_paths = Counter({"t5": 1}) + Counter(("t0", "t2")) + Counter(("t0", "t3"))
    assert histogram == by_paths
    assert histogram != Counter(("t0", "t1", "t2", "t3", "t4"))
    assert not order.le("t1", "t5")
    assert not order.le("t4", "t5")


def test_the_path_variant_on_a_diamond_with_a_tail():
    """Section 5.1's second variant: the text's recursion and the authors' sum over maximal chains differ on a tail.

    With t0 < t1 < t4 < t6 and t0 < t2 < t4, the recursion gives t6 its collection and H(t4), in which t4 counts once.
    The authors' paths to t6 are the maximal chains below it, without t6: each has t4. This project follows the text.
    """
    order = Poset([("t0", "t1"), ("t0", "t2"), ("t1", "t4"), ("t2", "t4"), ("t4", "t6")])
    stream = [DT(t, t) for t in order.elements] + [WM("t6")]
    histogram = {e.t: e.d for e in produce(ihist_paths_op(order), stream) if isinstance(e, DT)}["t6"]
    assert histogram == Counter({"t0": 2, "t1": 1, "t2": 1, "t4": 1, "t6": 1})
    assert over_chains(order, "t6") == Counter({"t0": 2, "t1": 1, "t2": 1, "t4": 2, "t6": 1})
    # Without a tail they agree.
    assert over_chains(order, "t4") == Counter({"t0": 2, "t1": 1, "t2": 1, "t4": 1})


def over_chains(order, t):
    """Count t, and what the maximal chains below t have in common with one another as often as they do."""
    below = [u for u in order.elements if order.lt(u, t)]
    subsets = [{u for i, u in enumerate(below) if n >> i & 1} for n in range(2 ** len(below))]
    chains = [c for c in subsets if all(order.le(u, v) or order.le(v, u) for u in c for v in c)]
    maximal = [c for c in chains if not any(c < other for other in chains)]
    return sum(map(Counter, maximal), Counter([t]))


def test_slides_3_needs_the_assumption_of_16():
    """`WM 2, DT 5 [(1, x)]` is strictly monotone; incr_op puts out t=1 after it."""
    stream = [WM(2), DT(5, [(1, "x")])]
    assert is_strictly_monotone(Nat(), stream)
    assert s.slides3.verdict(Nat(), stream, []) == "vacuous"
    assert s.slides3.without_assumptions(Nat(), stream, []) is not None


def test_slides_4_needs_the_assumption_of_17():
    """`DT 1 [(9, x)], WM 1, WM 1, …` without end is productive; incr_op puts out t=9, which nothing ever covers."""
    stream = Lasso([DT(1, [(9, "x")])], [WM(1)])
    assert is_productive(Nat(), stream)
    assert not is_productive(Nat(), Lasso([DT(9, [(9, "x")])], [WM(1)]))
    assert next(iter(produce(incr_op(), stream))) == DT(9, [(9, "x")])
    assert s.slides4.verdict(Nat(), stream) == "vacuous"
    assert s.slides4.without_assumptions(Nat(), stream) is not None
    # If the stream ends there, it is productive by definition, and so is what comes out.
    assert is_productive(Nat(), list(produce(incr_op(), [DT(1, [(9, "x")]), WM(1)])))


def test_join_op_does_not_keep_strict_monotonicity():
    """(30) is about monotone streams: two sides that reach the same watermark give it twice."""
    stream = [WM(Inl(0)), WM(Inr(0))]
    out = list(produce(join_op(Nat(), min), stream))
    assert out == [WM(0), WM(0)]
    assert is_monotone(Nat(), out)
    assert not is_strictly_monotone(Nat(), out)


def test_28_and_29_say_nothing_of_how_often():
    """(28) and (29) speak of membership; an operator that puts every pair out twice has both properties."""
    stream = [DT(Inl(0), "a"), DT(Inr(0), "b"), WM(Inl(0)), WM(Inr(0))]
    once = join_op(Nat(), lambda a, b: a + b)
    twice = comp_op(comp_op(once, map_op(lambda t, d: [d, d])), flatten_op())
    pairs = {a + b for a in DTs(stream, Inl(0)) for b in DTs(stream, Inr(0))}
    assert [e.d for e in produce(once, stream) if isinstance(e, DT)] == ["ab"]
    assert [e.d for e in produce(twice, stream) if isinstance(e, DT)] == ["ab", "ab"]
    assert {e.d for e in produce(twice, stream) if isinstance(e, DT)} == pairs
    # The multisets tell them apart: see the mutant join_gives_each_pair_twice.


def test_finite_streams_are_productive_whatever_happens():
    """(13), (17), (19), (31) on streams that end would hold for an operator that swallows every watermark."""
    from tidegate.check import check_operator

    class Swallows(Operator):
        def apply(self, event):
            return self, [event] if isinstance(event, DT) else []

    assert not check_operator(Swallows(), Product(Nat(), Nat()))["productivity"].ok


def test_12_needs_its_assumption_on_the_buffer():
    """The slides' (1) has none: with an exit, what the buffer holds below a known watermark comes out at the end."""
    assert s.s12.verdict(Nat(), [], [3], [(1, "a")]) == "vacuous"
    assert s.s12.without_assumptions(Nat(), [], [3], [(1, "a")]) is not None
    assert list(batch_op(Nat(), [(1, "a")]).exit()) == [DT(1, [(1, "a")])]
