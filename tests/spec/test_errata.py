"""Each place where a text fails its own property as printed, with the smallest stream that shows it: docs/errata.md."""

from collections import Counter
from importlib import import_module
from itertools import combinations_with_replacement, permutations, product

import pytest

from tests.spec.test_examples import ORDER, STREAM_2
from tidegate.check import check_operator
from tidegate.spec import (
    DT,
    WM,
    Lasso,
    Operator,
    batch_op,
    batching,
    comp_op,
    flatten_op,
    histogram,
    ihist_linear_op,
    ihist_op,
    ihist_paths_op,
    incr_op,
    is_monotone,
    is_productive,
    is_strictly_monotone,
    join_op,
    lcoll,
    map_op,
    produce,
)
from tidegate.spec import statements as s
from tidegate.spec.collections import set_t
from tidegate.spec.statements.incr import batches_are_completed
from tidegate.time import Inl, Inr, Nat, Poset, Product


class Figure7(Operator):
    """ihist_op' line by line as printed, but for what ``forwards`` mends in the `else` branch."""

    def __init__(self, H=(), buf=(), *, forwards=False):
        self.H, self.buf, self.forwards = Counter(H), list(buf), forwards

    def apply(self, event):
        if isinstance(event, DT):
            return self.after(self.H, [*self.buf, (event.t, event.d)]), []
        wm = event.t
        if any(t <= wm for t, _ in self.buf):
            out = [(t, d) for t, d in self.buf if t <= wm]
            rest = [(t, d) for t, d in self.buf if t > wm]
            return self.after(self.H + Counter(d for _, d in out), rest), [*self.histograms(out), event]
        return self.after(self.H, self.buf), [event] if self.forwards else []

    def exit(self):
        return self.histograms(self.buf)

    def histograms(self, out):
        return [DT(t, self.H + Counter(d for u, d in out if u <= t)) for t in last_occurrences([t for t, _ in out])]

    def after(self, H, buf):
        return Figure7(H, buf, forwards=self.forwards)


def test_figure_7_drops_watermarks(monkeypatch):
    """(24) fails on `WM 0`, and on no stream if the `else` branch forwards the watermark."""
    events = [WM(0), DT(0, "a"), DT(1, "a"), WM(1)]
    streams = [list(stream) for n in range(5) for stream in permutations(events, n) if is_monotone(Nat(), stream)]

    def failing(**mends):
        monkeypatch.setattr(
            "tidegate.spec.statements.histogram.ihist_linear_op", lambda order, H, buf: Figure7(H, buf, **mends)
        )
        return [stream for stream in streams if s.s24.verdict(Nat(), stream, [], [], []) != "holds"]

    assert failing()[0] == [WM(0)]
    assert list(produce(Figure7(), [WM(0)])) == []
    assert list(produce(ihist_op(Nat()), [WM(0)])) == list(produce(ihist_linear_op(Nat()), [WM(0)])) == [WM(0)]
    # A watermark that completes something is forwarded as it is printed.
    assert [DT(0, "a"), WM(0), DT(1, "a"), WM(1)] not in failing()
    assert failing(forwards=True) == []


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


def test_17_with_its_condition_as_printed_says_nothing():
    """(17) asks for `¬ b ≠ []`, so for empty batches, of which only watermarks come out; it must be `b ≠ []`."""

    def condition(events, of_batch):
        return all(
            WM(e.t) in events[n + 1 :] and all(t <= e.t for t in set_t(e.d)) and of_batch(e.d)
            for n, e in enumerate(events)
            if isinstance(e, DT)
        )

    def printed(events):
        return condition(events, lambda b: not b != [])  # noqa: SIM202

    def mended(events):
        return condition(events, lambda b: b != [])

    def carries_data(events):
        return any(isinstance(e, DT) and e.d for e in events)

    alphabet = [DT(1, []), DT(1, [(0, "x")]), DT(1, [(2, "x")]), WM(1), WM(2)]
    streams = [list(stream) for n in range(5) for stream in product(alphabet, repeat=n)]
    assert [DT(1, []), WM(1)] in filter(printed, streams)
    assert not any(carries_data(stream) for stream in filter(printed, streams))
    assert not any(isinstance(e, DT) for stream in filter(printed, streams) for e in produce(incr_op(), stream))
    # Section 4.4 applies (17) to what batch_op puts out, which has no empty batch.
    batched = list(produce(batch_op(Nat()), [DT(0, "x"), WM(1)]))
    assert batched == [DT(1, [(0, "x")]), WM(1)]
    assert not printed(batched)
    assert mended(batched)
    # The other condition is the one of (17) here.
    assert list(filter(mended, streams)) == [stream for stream in streams if batches_are_completed(Nat(), stream)]
    assert s.s17.verdict(Nat(), batched, []) == "holds"


def test_6_does_not_hold_unconditionally():
    """Section 3.2 says that the equation "does hold unconditionally"; the sentence after it shows that it does not."""
    from tests.spec.test_statements import test_6_fails_without_its_assumption

    test_6_fails_without_its_assumption()


def at_t5(op):
    """What an operator puts out for t5 on the slides' stream."""
    return next(e.d for e in produce(op, STREAM_2) if isinstance(e, DT) and e.t == "t5")


def total(*times):
    """The sum of some collections of the slides' stream."""
    return sum((lcoll(STREAM_2, t) for t in times), Counter())


#: What the slides print for t5.
PRINTED = Counter("aaabc")


def test_no_five_collections_give_the_slides_output():
    """Both texts have five collections in the row. Of those at or below t5, only sums of four give what is printed."""
    below = [t for t in ORDER.elements if ORDER.le(t, "t5")]
    assert set(below) == {"t0", "t2", "t3", "t5"}
    rows = [row for n in range(8) for row in combinations_with_replacement(below, n) if total(*row) == PRINTED]
    assert {len(row) for row in rows} == {4}
    assert at_t5(ihist_op(ORDER)) == total(*below) == PRINTED


def test_neither_text_of_the_slides_row_gives_their_output():
    """One row has two collections twice, or the paths beneath it; the other has t1 and t4, which are not below t5."""
    as_it_reads = [total(t, t, u, u, "t5") for t, u in product(ORDER.elements, repeat=2)]
    assert PRINTED not in as_it_reads
    along_paths = total("t5", *("t0", "t2"), *("t0", "t3"))
    assert at_t5(ihist_paths_op(ORDER)) == along_paths == Counter("aaaabc")
    assert total("t0", "t1", "t2", "t3", "t4") == Counter("aabcd")
    assert not ORDER.le("t1", "t5")
    assert not ORDER.le("t4", "t5")


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


def test_28_and_29_say_nothing_of_how_often(monkeypatch):
    """(28) and (29) speak of membership; an operator that puts every pair out twice has both properties."""
    stream = [DT(Inl(0), "a"), DT(Inr(0), "b"), WM(Inl(0)), WM(Inr(0))]
    given = (Nat(), lambda a, b: a + b, stream)

    def twice(order, join):
        return comp_op(comp_op(join_op(order, join), map_op(lambda t, d: [d, d])), flatten_op())

    assert s.join_op_gives_each_pair_once.verdict(*given) == "holds"
    monkeypatch.setattr("tidegate.spec.statements.join.join_op", twice)
    assert [e.d for e in produce(twice(*given[:2]), stream) if isinstance(e, DT)] == ["ab", "ab"]
    assert s.s28.verdict(*given, []) == s.s29.verdict(*given, []) == "holds"
    assert s.join_op_gives_each_pair_once(*given) is not None


class Swallows(Operator):
    """An operator of which no watermark comes out."""

    def __init__(self, op):
        self.op = op

    def apply(self, event):
        op, out = self.op.apply(event)
        return Swallows(op), [e for e in out if not isinstance(e, WM)]

    def exit(self):
        return [e for e in self.op.exit() if not isinstance(e, WM)]


BOTH = [DT(Inl(0), "a"), DT(Inr(0), "b")]


@pytest.mark.parametrize(
    ("statement", "operator", "rows", "marks", "others"),
    [
        (s.s13, "batch.batch_op", [DT(0, "a")], [WM(0)], [[]]),
        (s.s17, "incr.incr_op", [DT(0, [(0, "a")])], [WM(0)], [[]]),
        (s.s19, "incr_batch.incr_batch_op", [DT(0, "a")], [WM(0)], [[], []]),
        (s.s31, "join.join_op", BOTH, [WM(Inl(0)), WM(Inr(0))], []),
    ],
    ids=["13", "17", "19", "31"],
)
def test_finite_streams_are_productive_whatever_happens(monkeypatch, statement, operator, rows, marks, others):
    """(13), (17), (19), (31) hold on streams that end, also for operators that swallow every watermark."""
    module, _, name = f"tidegate.spec.statements.{operator}".rpartition(".")
    of_join = [lambda a, b: a + b] if name == "join_op" else []

    def verdict(events):
        return statement.verdict(Nat(), *of_join, events, *others)

    def printed(op, events, order):
        return None if is_productive(order, list(produce(op, events))) else "the output is not productive"

    assert verdict([*rows, *marks]) == verdict(Lasso(rows, marks)) == "holds"
    op = getattr(import_module(module), name)
    monkeypatch.setattr(f"{module}.{name}", lambda *args: Swallows(op(*args)))
    # As the beginning of a stream, and on a stream without end, such an operator is refuted.
    assert isinstance(verdict([*rows, *marks]), s.Counterexample)
    assert isinstance(verdict(Lasso(rows, marks)), s.Counterexample)
    # If the stream ends there, the definition of productive admits it, whatever comes out.
    monkeypatch.setattr(f"{module}.owes_nothing", is_productive)
    monkeypatch.setattr(f"{module}.breaks_productivity", printed)
    assert verdict([*rows, *marks]) == "holds"


def test_an_operator_that_swallows_watermarks_is_found_out():
    """A check of any operator, which goes by the beginnings of streams, refutes it."""

    class Passes(Operator):
        def apply(self, event):
            return self, [event]

    order = Product(Nat(), Nat())
    assert check_operator(Passes(), order)["productivity"].ok
    assert not check_operator(Swallows(Passes()), order)["productivity"].ok


def test_slides_1_needs_strictly_monotone_streams():
    """The slides' streams are: in the paper's sense, a watermark may follow a greater one, and opens the buffer."""
    events, known, buffer = [WM(2)], [3], [(1, "a")]
    assert s.slides1.verdict(Nat(), events, known, buffer) == "vacuous"
    assert is_monotone(Nat(), events, known)
    put_out = list(produce(batch_op(Nat(), buffer), events))
    assert not is_monotone(Nat(), put_out, known)


def test_12_needs_its_assumption_on_the_buffer():
    """The slides' (1) has none: with an exit, what the buffer holds below a known watermark comes out at the end."""
    assert s.s12.verdict(Nat(), [], [3], [(1, "a")]) == "vacuous"
    assert s.s12.without_assumptions(Nat(), [], [3], [(1, "a")]) is not None
    assert list(batch_op(Nat(), [(1, "a")]).exit()) == [DT(1, [(1, "a")])]
