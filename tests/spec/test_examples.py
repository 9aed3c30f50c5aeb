"""The worked examples of the paper (Figures 1, 3, 4, 6, 8) and of the slides, with literal expectations."""

from collections import Counter

import pytest

from tidegate.spec import (
    DT,
    WM,
    Lasso,
    Operator,
    S_coll,
    batch_op,
    comp_op,
    fproduce,
    ihist_linear_op,
    ihist_op,
    ihist_paths_op,
    incr_op,
    is_monotone,
    is_productive,
    is_strictly_monotone,
    lcoll,
    map_op,
    owed,
    produce,
)
from tidegate.time import Nat, Poset

ORDER = Poset([("t0", "t1"), ("t1", "t4"), ("t0", "t2"), ("t2", "t5"), ("t0", "t3"), ("t3", "t5")])

STREAM_1 = [
    DT("t0", "a"),
    DT("t1", "c"),
    WM("t1"),
    DT("t2", "b"),
    DT("t3", "a"),
    DT("t5", "a"),
    DT("t5", "c"),
    DT("t4", "d"),
    WM("t5"),
    WM("t2"),
]

STREAM_2 = [
    DT("t4", "d"),
    DT("t0", "a"),
    DT("t1", "c"),
    WM("t1"),
    DT("t2", "b"),
    WM("t2"),
    DT("t5", "c"),
    DT("t3", "a"),
    DT("t5", "a"),
    WM("t5"),
]


def test_figure_1_collections():
    """Figure 1: the collections of the example stream, in their order."""
    collections = {t: sorted(lcoll(STREAM_1, t).elements()) for t in ORDER.elements}
    assert collections == {"t0": ["a"], "t1": ["c"], "t2": ["b"], "t3": ["a"], "t4": ["d"], "t5": ["a", "c"]}
    assert ORDER.predecessors("t5") == ["t2", "t3"] or set(ORDER.predecessors("t5")) == {"t2", "t3"}
    assert ORDER.predecessors("t4") == ["t1"]


def test_figure_1_is_monotone_and_owes_t4():
    """Section 4.1: the stream is monotone, and productive only if it ends or covers t4 later."""
    assert is_monotone(ORDER, STREAM_1)
    assert not is_strictly_monotone(ORDER, STREAM_1)
    assert owed(ORDER, STREAM_1) == [DT("t4", "d")]
    assert is_productive(ORDER, STREAM_1)
    assert is_productive(ORDER, Lasso(STREAM_1, [WM("t4")]))
    assert not is_productive(ORDER, Lasso(STREAM_1, [WM("t5")]))


BATCHED = [
    DT("t1", [("t0", "a"), ("t0", "a"), ("t1", "c")]),
    WM("t1"),
    DT("t5", [("t2", "b"), ("t3", "a"), ("t5", "a"), ("t5", "c")]),
    WM("t5"),
    WM("t2"),
]


def test_figure_3_batches():
    """Figure 3: what batch_op puts out, with (t0, a) in its buffer; and at the end, t4."""
    op, out = fproduce(batch_op(ORDER, [("t0", "a")]), STREAM_1)
    assert out == BATCHED
    assert list(op.exit()) == [DT("t4", [("t4", "d")])]


def test_figure_4_accumulated_batches():
    """Figure 4: what incr_op makes of these batches; the outputs at t2 and t3 are where the figure has an ellipsis."""
    first = [("t0", "a"), ("t0", "a"), ("t1", "c")]
    both = [*first, ("t2", "b"), ("t3", "a"), ("t5", "a"), ("t5", "c")]
    assert list(produce(incr_op(), BATCHED)) == [
        DT("t0", first),
        DT("t1", first),
        WM("t1"),
        DT("t2", both),
        DT("t3", both),
        DT("t5", both),
        WM("t5"),
        WM("t2"),
    ]


def test_figure_6_histograms():
    """Figure 6: H at t5 counts t0 once; the other variant of section 5.1 counts it once for each path."""
    histograms = {e.t: e.d for e in produce(ihist_op(ORDER), STREAM_1) if isinstance(e, DT)}
    assert histograms == {
        "t0": Counter("a"),
        "t1": Counter("ac"),
        "t2": Counter("ab"),
        "t3": Counter("aa"),
        "t4": Counter("acd"),
        "t5": Counter("aaabc"),
    }
    along_paths = {e.t: e.d for e in produce(ihist_paths_op(ORDER), STREAM_1) if isinstance(e, DT)}
    assert along_paths == {**histograms, "t5": Counter("aaaabc")}


def test_figure_8_the_histograms_differ_on_a_broken_stream():
    """Figure 8: on input that is not monotone, only the generic histogram looks at the times again."""
    stream = [DT(1, "a"), WM(1), DT(0, "a"), WM(0)]
    assert not is_monotone(Nat(), stream)
    assert list(produce(ihist_linear_op(Nat()), stream)) == [
        DT(1, Counter("a")),
        WM(1),
        DT(0, Counter("aa")),
        WM(0),
    ]
    assert list(produce(ihist_op(Nat()), stream)) == [DT(1, Counter("a")), WM(1), DT(0, Counter("a")), WM(0)]


def test_the_slides_stream():
    """The slides: their stream is strictly monotone, and this is its incremental histogram."""
    assert is_strictly_monotone(ORDER, STREAM_2)
    op, out = fproduce(ihist_op(ORDER), STREAM_2)
    assert out == [
        DT("t0", Counter("a")),
        DT("t1", Counter("ac")),
        WM("t1"),
        DT("t2", Counter("ab")),
        WM("t2"),
        DT("t5", Counter("aaabc")),
        DT("t3", Counter("aa")),
        WM("t5"),
    ]
    assert list(op.exit()) == [DT("t4", Counter("acd"))]


def test_the_slides_stream_comes_out_as_printed_with_isabelles_remdups():
    """The slides print t3 before t5, as `remdups` does, which keeps the last occurrence; `ihist_op` keeps the first."""
    times = [e.t for e in STREAM_2[STREAM_2.index(WM("t2")) :] if isinstance(e, DT)]
    assert times == ["t5", "t3", "t5"]
    assert remdups(times) == ["t3", "t5"]
    # All of it, with the operators as the slides print them.
    printed = comp_op(comp_op(batch_op(ORDER), Incremental()), map_op(lambda t, batch: S_coll(ORDER, t, batch)))
    assert fproduce(printed, STREAM_2)[1] == [
        DT("t0", Counter("a")),
        DT("t1", Counter("ac")),
        WM("t1"),
        DT("t2", Counter("ab")),
        WM("t2"),
        DT("t3", Counter("aa")),
        DT("t5", Counter("aaabc")),
        WM("t5"),
    ]
    # With the first occurrence it would be printed so of a stream in which t3 comes first.
    stream = [e for e in STREAM_2 if e != DT("t3", "a")]
    stream.insert(stream.index(DT("t5", "c")), DT("t3", "a"))
    printed = [DT("t3", Counter("aa")), DT("t5", Counter("aaabc")), WM("t5")]
    assert fproduce(ihist_op(ORDER), stream)[1][-3:] == printed


class Incremental(Operator):
    """`incr_op` with the `remdups` that is printed."""

    def __init__(self, buf=()):
        self.buf = list(buf)

    def apply(self, event):
        if isinstance(event, WM):
            return self, [event]
        together = self.buf + event.d
        return Incremental(together), [DT(t, together) for t in remdups([t for t, _ in event.d])]


def remdups(xs):
    """Isabelle's: of what occurs again later, nothing stays."""
    return [x for i, x in enumerate(xs) if x not in xs[i + 1 :]]


@pytest.mark.parametrize("op", [batch_op(ORDER), ihist_op(ORDER)])
def test_operators_are_values(op):
    """Applying an operator leaves it as it was: the same state can go on in several ways."""
    before, _ = op.apply(DT("t0", "a"))
    one = list(produce(before, [DT("t1", "x"), WM("t1")]))
    two = list(produce(before, [WM("t1")]))
    assert one == list(produce(before, [DT("t1", "x"), WM("t1")]))
    assert two == list(produce(before, [WM("t1")]))
    assert one != two
