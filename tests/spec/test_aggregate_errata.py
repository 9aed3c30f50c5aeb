"""Where the paper on Aggregates fails its own property as printed, with the smallest example: docs/errata.md."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product

import pytest

from tidegate.spec import DT, WM, Operator, fproduce, owed, produce
from tidegate.spec.aggregate import (
    A,
    Aggregate,
    Embedded,
    Folding,
    NotBounded,
    Window,
    composed_infinity,
    embed_join,
    embed_map,
    infinity,
    merge_op,
    unfold,
    unfold_loop,
    unit,
)
from tidegate.spec.aggregate import statements as s
from tidegate.spec.basic import comp_op
from tidegate.time import Inl, Inr, Nat


def count(instance):
    return [len(instance.tuples)]


def mended_rule(end, W, L):
    """Whether a late tuple is taken into an instance with this right boundary: while it is kept."""
    return end + L > W


def printed_rule(end, W, L):
    """The rule of section 2.3 and of C2 in section 4.4."""
    return end <= W + L


def proof_rule(end, W, L):
    """What the proof of Lemma 3 says is met."""
    return end > W + L


@dataclass(frozen=True, slots=True)
class Ruled(Aggregate):
    """A that takes late tuples by a rule that it is given."""

    rule: Callable[..., bool] = mended_rule

    def _add(self, event):
        n, key = self.ticks.of(event.t), self.window.key(event.t, event.d)
        places = [(l, key) for l in self.window.starts(n, self.ticks)]
        if n < self.W:
            places = [p for p in places if self.rule(self.end(p), self.W, self.window.lateness)]
        if not places:
            return replace(self, discarded=(*self.discarded, event)), []
        more = {p: (*self.instances.get(p, ()), (event.t, event.d)) for p in places}
        after = replace(self, instances={**self.instances, **more})
        return after, after._fire(p for p in places if self.end(p) <= self.W)


def by_rule(rule, A):
    """The same Aggregate, by another rule on late tuples."""
    return Ruled(A.ticks, A.window, A.f, A.most, rule=rule)


def loop_by_rule(rule, **parts):
    """The loop of X, with another rule in its A_1 and perhaps without one of the listings."""

    def loop(order, d, *, schedule=None):
        mended = unfold_loop(order, d, schedule=schedule)
        return replace(mended, body=by_rule(rule, mended.body), **parts)

    return loop


class Passing(Operator):
    """Passes everything through at once."""

    def apply(self, event):
        return self, [event]


def test_the_rule_on_late_tuples_is_reversed():
    """Section 2.3: as printed, what comes before the answer is refused, and what comes after it is taken for ever."""
    op = A(Nat(), Window(2, 2), count)
    # The watermark 1 makes a tuple at 0 late, but [0, 2) has not answered yet.
    soon = [WM(0), DT(0, "a")]
    assert list(produce(op, soon)) == [WM(0), DT(1, 1)]
    assert list(produce(by_rule(printed_rule, op), soon)) == [WM(0)]
    # Without lateness nothing is added after the answer. As printed, everything is, and it answers again.
    for last in (1, 2, 9):
        afterwards = [DT(0, "a"), WM(last), DT(0, "b")]
        assert list(produce(op, afterwards)) == [DT(1, 1), WM(last)]
        assert list(produce(by_rule(printed_rule, op), afterwards)) == [DT(1, 1), WM(last), DT(1, 1)]


@pytest.mark.parametrize("window", [Window(2, 2), Window(1, 2), Window(2, 2, lateness=1), Window(1, 2, lateness=2)])
def test_late_tuples_are_taken_by_the_mended_rule(window):
    """On all streams of five of some events, A is the operator with the mended rule, and not that with the printed."""
    op = A(Nat(), window, count)
    streams = list(product([DT(0, "a"), DT(1, "b"), WM(0), WM(1), WM(5)], repeat=5))
    assert all(list(produce(op, e)) == list(produce(by_rule(mended_rule, op), e)) for e in streams)
    assert any(list(produce(op, e)) != list(produce(by_rule(printed_rule, op), e)) for e in streams)


#: Two packs and their watermarks, which keep C1 with d = 1, and a delay until after all of them.
PACKS = [DT(0, Embedded(("x", "y"))), WM(0), DT(1, Embedded(("z",))), WM(1), WM(2)]
SLOW = (0, 0, 0, 0, 1)


@pytest.mark.parametrize(("parts", "discards"), [({}, False), ({"enter": Passing()}, True)], ids=["List. 4", "without"])
def test_c2_as_printed_asks_nothing_of_the_loop_of_X(parts, discards):
    """It holds of all that comes round, also of what A_1 discards without Listing 4. There the mended one fails."""
    came = []

    def noted(end, W, L):
        came.append((end, W, L))
        return mended_rule(end, W, L)

    after = fproduce(loop_by_rule(noted, **parts)(Nat(), 1, schedule=SLOW), PACKS)[0]
    assert came
    assert all(printed_rule(*late) for late in came)
    assert bool(after.body.discarded) == discards
    assert all(mended_rule(*late) for late in came) != discards
    # An A_1 that acts by the print takes whatever comes round, so that C2 and Lemma 3 need no Listing 4.
    assert s.lemma_3.verdict(Nat(), 1, PACKS, SLOW, loop=loop_by_rule(printed_rule, **parts)) == "holds"
    assert (s.lemma_3.verdict(Nat(), 1, PACKS, SLOW, loop=loop_by_rule(mended_rule, **parts)) != "holds") == discards


def test_c2_as_printed_refuses_the_state_of_A_infinity(monkeypatch):
    """The state of [0, 3) comes to [2, 5) at the watermark 3, and 5 <= 3 is false; the total begins anew."""
    events = [DT(0, 1), WM(0), WM(2), DT(3, 2), WM(4)]
    given = (Nat(), TOTAL, 2, lambda t, d: None)

    def answers():
        return [e for e in fproduce(composed_infinity(*given, d=2), events)[1] if isinstance(e, DT)]

    assert answers() == [DT(2, 1), DT(4, 3)]
    assert s.lemma_5.verdict(*given, 2, events) == "holds"
    monkeypatch.setattr(infinity, "A", lambda *given: by_rule(printed_rule, A(*given)))
    assert answers() == [DT(2, 1), DT(4, 2)]
    assert s.lemma_5.verdict(*given, 2, events) not in ("holds", "vacuous")


@pytest.mark.parametrize("data", ["x", "xy"])
def test_what_the_proof_of_lemma_3_says_is_never_met(data):
    """γ.l + WS > W + L' fails of all that comes round: an A_1 that acts by it discards what C2 wants to be taken."""
    events = [DT(0, Embedded(tuple(data))), WM(0)]
    came = []

    def noted(end, W, L):
        came.append((end, W, L))
        return mended_rule(end, W, L)

    assert s.lemma_3.verdict(Nat(), 1, events, loop=loop_by_rule(noted)) == "holds"
    assert set(came) == {(1, 1, 1)}
    assert not any(proof_rule(*late) for late in came)
    by_proof = loop_by_rule(proof_rule)
    assert s.lemma_3.verdict(Nat(), 1, events, loop=by_proof) not in ("holds", "vacuous")
    # The first element is put out all the same; the others only come if their predecessors were taken.
    assert (s.theorem_3.verdict(Nat(), 1, events, X=with_loop(by_proof)) == "holds") == (len(data) == 1)
    assert s.theorem_3.verdict(Nat(), 1, events) == "holds"


def as_set(embed):
    """E with the sets of Listings 1 and 2 in place of lists."""

    def build(*args):
        class Set(Operator):
            def __init__(self, op):
                self.op = op

            def apply(self, event):
                op, out = self.op.apply(event)
                return Set(op), [smaller(e) for e in out]

            def exit(self):
                return [smaller(e) for e in self.op.exit()]

        return Set(embed(*args))

    def smaller(event):
        return DT(event.t, Embedded(tuple(dict.fromkeys(event.d.data)))) if isinstance(event, DT) else event

    return build


def test_sets_lose_duplicates_in_listing_1():
    """Two identical tuples, or one whose Map answers the same twice, are one in a set."""
    for f, events in [(lambda t, d: [d], [DT(0, "a"), DT(0, "a")]), (lambda t, d: [d, d], [DT(0, "a")])]:
        assert s.theorem_1.verdict(Nat(), f, events, embed=as_set(embed_map)) != "holds"
        assert s.theorem_1.verdict(Nat(), f, events) == "holds"


def test_sets_lose_duplicates_in_listing_2():
    """Two identical tuples on one side match twice."""
    windows, events = (Window(1, 1), Window(1, 1)), [DT(Inl(0), "a"), DT(Inl(0), "a"), DT(Inr(0), "b")]
    given = (Nat(), windows, lambda t1, t2: True, events)
    assert s.theorem_2.verdict(*given, embed=as_set(embed_join)) != "holds"
    assert s.theorem_2.verdict(*given) == "holds"


def with_A1(f):
    """The loop of X with another function in its A_1."""

    def loop(order, d, *, schedule=None):
        mended = unfold_loop(order, d, schedule=schedule)
        return replace(mended, body=replace(mended.body, f=f))

    return loop


def with_loop(loop):
    """X around another loop; A_2 as it is printed."""

    def X(order, d, *, schedule=None):
        return comp_op(loop(order, d, schedule=schedule), A(order, unit(), lambda γ: [at(γ.tuples[0][1])]))

    def at(t):
        return t.data[t.index]

    return X


def test_listing_3_runs_one_past_the_end():
    """`t[2] < t[1]`, read as an index below the length, lets A_2 ask for the element after the last."""

    def printed(instance):
        _, t = instance.tuples[0]
        if t.index == -1:
            return [Embedded(t.data, 0)]
        return [Embedded(t.data, t.index + 1)] if t.index < len(t.data) else []

    events = [DT(0, Embedded(("x",))), WM(0), DT(1, Embedded(("y",))), WM(1)]
    out = fproduce(with_A1(printed)(Nat(), 1), events)[1]
    past = next(e for e in out if isinstance(e, DT) and e.d.index == 1)
    with pytest.raises(IndexError):
        past.d.data[past.d.index]
    # Nobody counts on that tuple, so that the listings 4 and 5 wait for ever for one less: y is not covered.
    assert owed(Nat(), out)
    assert not owed(Nat(), fproduce(unfold_loop(Nat(), 1), events)[1])


def printed_A1(gather):
    """A_1 as printed, but for its index; ``gather`` makes T of what the packs of an instance carry: a set or a list."""

    def f_O(instance):
        _, t = instance.tuples[0]
        if t.index == -1:
            return [Embedded(gather(x for _, pack in instance.tuples for x in pack.data), 0)]
        return [Embedded(t.data, t.index + 1)] if t.index + 1 < len(t.data) else []

    return f_O


def as_a_set(xs):
    """A set, in an order of its own, since A_2 reads it by index."""
    return tuple(sorted(set(xs)))


READINGS = {"set": printed_A1(as_a_set), "list": printed_A1(tuple)}
SETS = ["x", "y", "xy"]
LISTS = ["x", "xx", "y", "xy"]


def at_one_time(packs):
    """A stream of packs."""
    return [*(DT(0, Embedded(tuple(pack))) for pack in packs), WM(0)]


def put_out_by(reading, packs):
    """What X puts out, with T read as a set or a list."""
    X = with_loop(with_A1(READINGS[reading]))
    return [e.d for e in produce(X(Nat(), 1), at_one_time(packs)) if isinstance(e, DT)]


def fails(reading, packs):
    """Which of Lemma 2 and Theorem 3 fail, with T read as a set or a list."""
    events, loop = at_one_time(packs), with_A1(READINGS[reading])
    verdicts = {
        "Lemma 2": [s.lemma_2.verdict(Nat(), 1, events, schedule, loop=loop) for schedule in (None, (1,), (0, 3))],
        "Theorem 3": [s.theorem_3.verdict(Nat(), 1, events, X=with_loop(loop))],
    }
    assert not [name for name, found in verdicts.items() if "vacuous" in found]
    return {name for name, found in verdicts.items() if found.count("holds") < len(found)}


def drawn(kinds, most):
    """All ways to have up to so many packs of these kinds."""
    return [packs for n in range(1, most + 1) for packs in combinations_with_replacement(kinds, n)]


def test_with_sets_lemma_2_holds():
    """Equal packs share an instance, and the union of equal sets is that set: different packs stay different."""
    assert [packs for packs in drawn(SETS, 4) if "Lemma 2" in fails("set", packs)] == []


def test_with_sets_theorem_3_fails():
    """Where a pack comes twice, what it carries is put out once; and only there."""
    some = drawn(SETS, 3)
    assert [packs for packs in some if fails("set", packs)] == [p for p in some if len(set(p)) < len(p)]
    assert put_out_by("set", ["x", "x"]) == ["x"]


def test_with_lists_lemma_2_and_theorem_3_fail():
    """Two packs that carry [x] become one that carries [x, x], and there may be another such pack: two x are lost."""
    colliding = ("x", "x", "xx")
    assert [packs for packs in drawn(LISTS, 3) if fails("list", packs)] == [colliding]
    assert fails("list", colliding) == {"Lemma 2", "Theorem 3"}
    assert put_out_by("list", colliding) == ["x", "x"]
    # With a number of copies both hold.
    events = at_one_time(colliding)
    assert s.lemma_2.verdict(Nat(), 1, events) == s.theorem_3.verdict(Nat(), 1, events) == "holds"


def test_with_sets_in_the_packs_and_lists_in_A_1_both_hold():
    """A list that repeats a set without duplicates tells which set it was, and how often."""
    assert [packs for packs in drawn(SETS, 4) if fails("list", packs)] == []


@pytest.mark.parametrize(
    ("reading", "table", "lost"),
    [("set", {"a": "x", "b": "x"}, 1), ("list", {"a": "x", "b": "x", "c": "xx"}, 2), ("set", {"a": "x", "b": "y"}, 0)],
    ids=["set", "list", "different answers"],
)
def test_claim_1_fails_with_sets_and_with_lists(reading, table, lost):
    """With a set, two tuples of which the Map makes x are enough; with a list, one is needed that gives it twice."""

    def f(t, d):
        return table[d]

    def printed(order, f, *, using, d, schedule):
        embed = as_set(embed_map) if reading == "set" else embed_map
        return comp_op(embed(order, f), with_loop(with_A1(READINGS[reading]))(order, d, schedule=schedule))

    events = [*(DT(0, d) for d in table), WM(0)]
    out = [e for e in produce(printed(Nat(), f, using="A", d=1, schedule=None), events) if isinstance(e, DT)]
    assert len(out) == sum(map(len, table.values())) - lost
    assert (s.claim_1.verdict(Nat(), f, 1, events, composed=printed) == "holds") == (not lost)
    assert s.claim_1.verdict(Nat(), f, 1, events) == "holds"


class Listing5(Operator):
    """Listing 5 as printed, but for the mends that are named."""

    def __init__(self, *mends, succ=None, last=-1, greatest=-1):
        self.mends, self.succ, self.last, self.greatest = mends, succ or {}, last, greatest

    def apply(self, event):
        after = Listing5(*self.mends, succ=dict(self.succ), last=self.last, greatest=self.greatest)
        return after, after.processT(event) if isinstance(event, DT) else after.processW(event)

    def processT(self, event):
        n, t = event.t, event.d
        if t.index == (0 if "the test" in self.mends else -1):
            self.succ[n] = self.succ.get(n, 0) + t.total - 1
            if "zeros" in self.mends and not self.succ[n]:
                del self.succ[n]
        else:
            self.succ[n] = self.succ.get(n, 0) - 1
            if not self.succ[n]:
                del self.succ[n]
        return [event, *self.forward(n)]

    def processW(self, event):
        self.greatest = event.t + 1
        return self.forward(event.t + 1)

    def forward(self, free):
        if not self.succ:
            W = max(free, self.greatest) if "the kept watermark" in self.mends else free
        elif min(self.succ) - 1 > self.last:
            W = min(self.succ) - 1
        else:
            return []
        self.last = W
        return [WM(W - 1)] if W > 0 else []


MENDS = ("the test", "zeros", "the kept watermark")


def put_out(mends, events):
    """What the loop of X puts out with Listing 5 as printed, but for some mends."""
    return fproduce(replace(unfold_loop(Nat(), 1), leave=Listing5(*mends)), events)[1]


@pytest.mark.parametrize(("missing", "data"), [("the test", "bba"), ("zeros", "b")])
def test_listing_5_holds_watermarks_back_for_ever(missing, data):
    """Without either of two mends, no watermark ever covers what was embedded at 0, however many follow."""
    events = [DT(0, Embedded(tuple(data))), *map(WM, range(20))]
    assert not any(isinstance(e, WM) for e in put_out([mend for mend in MENDS if mend != missing], events))
    assert not owed(Nat(), put_out(MENDS, events))


def test_listing_5_drops_a_watermark_while_successors_are_pending():
    """Alone unmended, that makes coverage lag by one watermark: it is for ever only if none follows."""
    mends = [mend for mend in MENDS if mend != "the kept watermark"]
    events = [DT(0, Embedded(tuple("bba"))), WM(0)]
    assert owed(Nat(), put_out(mends, events))
    assert not owed(Nat(), put_out(MENDS, events))
    assert not owed(Nat(), put_out(mends, [*events, WM(1)]))
    assert WM(0) not in put_out(mends, [*events, WM(1)])


def test_c1_must_bound_every_tuple_before_the_first_watermark():
    """The first tuple is 1 below the first watermark, the second 4: with L' = 1 that watermark waits for ever."""
    events = [DT(3, Embedded(("x",))), DT(0, Embedded(("y",))), WM(3)]
    assert fproduce(unfold_loop(Nat(), 1), events)[1] == []
    assert s.c1.verdict(Nat(), 1, events) != "holds"
    assert s.c1.verdict(Nat(), 4, events) == "holds"
    assert [e.d for e in fproduce(unfold(Nat(), 4), events)[1] if isinstance(e, DT)] == ["y", "x"]


class LesserOnly(Operator):
    """Section 2.2: the merged watermark is the lesser of the latest ones."""

    def __init__(self, left=0, right=0):
        self.left, self.right = left, right

    def apply(self, event):
        if isinstance(event, DT):
            return self, [DT(event.t.t, event.d)]
        W = event.t.t + 1
        after = LesserOnly(W, self.right) if isinstance(event.t, Inl) else LesserOnly(self.left, W)
        grown = min(after.left, after.right)
        return after, [WM(grown - 1)] if grown > min(self.left, self.right) else []


@pytest.mark.parametrize("last", [2, 5, 9])
def test_c1_needs_another_distance_when_streams_are_merged(last):
    """Section 3: a distance exists for what is put out. It is another one, which those of the inputs do not bound."""
    events = [DT(Inl(0), "a"), *(WM(Inl(t)) for t in range(last)), WM(Inr(last - 1))]

    def keeps(d, **given):
        return s.p1_keeps_c1.verdict(Nat(), d, events, **given)

    merged = fproduce(LesserOnly(), events)[1]
    assert s.p1.verdict(Nat(), events, merge=lambda order: LesserOnly()) == "holds"
    # Both inputs keep a distance of 1. So does what merge_op puts out, and not the lesser of the latest watermarks.
    assert keeps(1) == "holds"
    assert keeps(1, merge=lambda order: LesserOnly()) not in ("holds", "vacuous")
    assert s.c1.verdict(Nat(), last - 1, merged) != "holds"
    assert s.c1.verdict(Nat(), last, merged) == "holds"


@pytest.mark.parametrize("last", [2, 5, 9])
def test_x_behind_merged_streams_has_to_know_their_distance(last):
    """With L' < n nothing ever comes out of X, however many watermarks follow; with n, or with `merge_op`, it does."""
    events = [DT(Inl(0), Embedded(("x", "y"))), *(WM(Inl(t)) for t in range(last)), WM(Inr(last - 1))]
    events += [WM(side(t)) for t in range(last, 4 * last) for side in (Inl, Inr)]

    def given_by(merge, X):
        return [e for e in fproduce(comp_op(merge, X), events)[1] if isinstance(e, DT)]

    for d in range(1, last + 2):
        # Without the guard of C1, so that it can be seen what C1 guards against.
        unguarded = with_loop(unfold_loop)(Nat(), d)
        assert given_by(LesserOnly(), unguarded) == ([] if d < last else [DT(0, "x"), DT(0, "y")])
        assert given_by(merge_op(Nat()), unguarded) == [DT(0, "x"), DT(0, "y")]
    with pytest.raises(NotBounded):
        given_by(LesserOnly(), unfold(Nat(), last - 1))
    assert given_by(LesserOnly(), unfold(Nat(), last)) == given_by(merge_op(Nat()), unfold(Nat(), 1))


# Listing 6, with period 2: instances [0, 3), [2, 5), [4, 7) and so on.


def test_listing_6_tests_the_wrong_boundary():
    """With `γ.l + P - δ` a tuple at 1 is in no instance's share and one at 2 in two; it must be `γ.l + P`."""

    def share(boundary):
        def f_O(instance):
            return [[d for t, d in instance.tuples if t != instance.l + boundary]]

        return [e.d for e in produce(A(Nat(), Window(2, 3), f_O), [DT(1, "a"), DT(2, "b")])]

    assert share(2 - 1) == [["b"], ["b"]]
    assert share(2) == [["a"], ["b"]]


def test_listing_6_has_no_state_where_only_boundary_tuples_came():
    """A lone tuple at 4 falls into [2, 5) too, at its boundary: no state was created there that could be returned."""
    shares = {}

    def f_O(instance):
        shares[instance.l] = [d for t, d in instance.tuples if t != instance.l + 2]
        return []

    list(produce(A(Nat(), Window(2, 3), f_O), [DT(4, "a"), WM(9)]))
    assert shares == {2: [], 4: ["a"]}
    # Nothing is returned for [2, 5): the first answer is that of [4, 7).
    composed = composed_infinity(Nat(), TOTAL, 2, lambda t, d: None, d=2)
    out = fproduce(composed, [DT(4, 1), WM(4), WM(6)])[1]
    assert [e.t for e in out if isinstance(e, DT)] == [6]


def test_with_lateness_the_state_fires_its_own_instance_for_ever():
    """Lemma 5 asks for L > d. The state of [0, 3) has time 2, falls into [0, 3) again, and makes it answer again."""

    def state(instance):
        return [sum(d for t, d in instance.tuples if t != instance.l + 2)]

    def rounds(lateness):
        op, out = fproduce(A(Nat(), Window(2, 3, lateness=lateness), state), [DT(0, 7), WM(2)])
        queue, answered = [e for e in out if isinstance(e, DT)], 0
        while queue and answered < 50:
            op, out = op.apply(queue.pop(0))
            queue += out
            answered += 1
        return answered

    assert rounds(lateness=3) == 50
    assert rounds(lateness=0) == 1


TOTAL = Folding(lambda d: d, lambda s, d: s + d, lambda s, r: s + r, lambda s: s)


def test_lemma_5_needs_d_at_most_the_period(monkeypatch):
    """A watermark that ends two instances at once makes the second answer before the state of the first is there."""
    events = [DT(0, 1), DT(3, 2), WM(5)]
    with pytest.raises(NotBounded):
        list(produce(composed_infinity(Nat(), TOTAL, 2, lambda t, d: None, d=2), events))
    monkeypatch.setattr(infinity, "c1_op", lambda order, d: Passing())
    unguarded = composed_infinity(Nat(), TOTAL, 2, lambda t, d: None, d=2)
    assert [e for e in fproduce(unguarded, events)[1] if isinstance(e, DT)][:2] == [DT(2, 1), DT(4, 2)]


def two_rounds(f_O, *, fed_back=True):
    """The answers of [0, 3) and of [2, 5), on inputs at 0 and 1 and, if the loop is there, the first answer."""
    op, out = fproduce(A(Nat(), Window(2, 3), f_O), [DT(0, ((5,), ())), DT(1, ((6,), ())), WM(2)])
    (first,) = [e for e in out if isinstance(e, DT)]
    events = [first] * fed_back + [DT(3, ((7,), ())), WM(4)]
    (second,) = [e for e in fproduce(op, events)[1] if isinstance(e, DT)]
    return first.d, second.d


def counting(answer):
    """Listing 6 for a state that counts inputs; ``answer`` says where in the result the state is."""

    def f_O(instance):
        mine = [d for t, d in instance.tuples if t != instance.l + 2]
        inputs = sum(1 for given, _ in mine if given)
        return [answer(inputs + sum(state[0] for given, state in mine if not given))]

    return f_O


def test_listing_6_returns_the_state_in_the_wrong_place():
    """In the first place a state is taken for an input: of two inputs and one, two are counted, not three."""
    assert two_rounds(counting(lambda state: ((state,), ()))) == (((2,), ()), ((2,), ()))
    assert two_rounds(counting(lambda state: ((), (state,)))) == (((), (2,)), ((), (3,)))


def test_listing_6_leaves_out_its_loop():
    """With S_M as the only input of Γ, an instance knows nothing of those before it."""
    assert two_rounds(counting(lambda state: ((), (state,))), fed_back=False)[1] == ((), (1,))
    assert two_rounds(counting(lambda state: ((), (state,))))[1] == ((), (3,))


def test_listing_6_asks_a_state_for_the_key_of_an_input():
    """A state need not have the attributes that f_k reads; here it carries its key, and f_k sees inputs only."""
    events = [DT(0, {"k": "a", "x": 1}), WM(0), WM(2), DT(3, {"k": "a", "x": 2}), WM(4)]
    total = Folding(lambda d: d["x"], lambda s, d: s + d["x"], lambda s, r: s + r, lambda s: s)
    op = A(Nat(), Window(2, 3, lambda t, d: d["k"]), lambda instance: [total.f_c(instance.tuples[0][1])])
    after, out = fproduce(op, events[:3])
    with pytest.raises(TypeError, match="not subscriptable"):
        after.apply(next(e for e in out if isinstance(e, DT)))
    composed = composed_infinity(Nat(), total, 2, lambda t, d: d["k"], d=2)
    assert [e for e in produce(composed, events) if isinstance(e, DT)][:2] == [DT(2, 1), DT(4, 3)]


@pytest.mark.parametrize("last", [4, 8, 16])
def test_listing_4_cannot_count_the_successors_of_a_state(last):
    """One input has as many successors as periods follow, without end: no number can be counted down to none."""
    events = [DT(0, 1), *(WM(t) for t in range(last + 1))]
    out = fproduce(composed_infinity(Nat(), TOTAL, 2, lambda t, d: None, d=1), events)[1]
    assert sum(isinstance(e, DT) for e in out) == last // 2
