"""Streams may be endless: `produce` is lazy, and a `Lasso` can be reasoned about."""

from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import BadValue
from tidegate.spec import (
    DT,
    WM,
    Ended,
    Lasso,
    Monitor,
    NotMonotone,
    Produced,
    Undecided,
    batch_op,
    bulk_op,
    comp_op,
    count_op,
    ihist_op,
    is_monotone,
    map_op,
    monitored,
    owed,
    produce,
    produce1,
)
from tidegate.time import TOP, Nat, Product


def counted(events):
    """A stream that remembers how many events were taken from it."""
    taken = []

    def generate():
        for event in events:
            taken.append(event)
            yield event

    return generate(), taken


def test_produce_reads_no_further_than_it_must():
    """The first outputs come as soon as the event that causes them was read, also through a composition."""
    endless = (e for n in count() for e in (DT(n, "a"), DT(n, "b"), WM(n)))
    events, taken = counted(endless)
    out = produce(comp_op(batch_op(Nat()), map_op(lambda t, b: len(b))), events)
    assert taken == []
    assert next(out) == DT(0, 2)
    assert taken == [DT(0, "a"), DT(0, "b"), WM(0)]
    assert next(out) == WM(0)
    assert len(taken) == 3
    assert next(out) == DT(1, 2)
    assert len(taken) == 6


def test_the_exit_of_a_composition_is_lazy():
    """The second operator works on the first one's endless exit without waiting for its end."""
    from dataclasses import dataclass

    from tidegate.spec import Operator

    @dataclass(frozen=True)
    class CountsForEver(Operator):
        def apply(self, event):
            return self, []

        def exit(self):
            return count()

    op = comp_op(CountsForEver(), count_op(lambda n: n % 2 == 0))
    assert list(islice(produce(op, ["x"]), 3)) == [1, 2, 3]


def test_produce1_answers_none_where_a_state_recurs_without_output():
    """On a lasso, silence for ever is decided."""
    assert produce1(count_op(lambda x: x > 9), Lasso([1, 2], [3, 4])) is None
    assert list(produce(count_op(lambda x: x > 2), Lasso([3, 4], [1]))) == [1, 2]


def test_produce1_answers_what_the_paper_says():
    """`Produced` with the operator, outputs and rest; `Ended` with the operator."""
    first = produce1(bulk_op(lambda xs: xs, 2), [1, 2, 3])
    assert isinstance(first, Produced)
    assert (first.x, first.xs, list(first.rest)) == (2, [1], [3])
    assert isinstance(produce1(first.op, [3]), Ended)
    rest = produce1(bulk_op(lambda xs: xs, 2), Lasso([1], [2, 3])).rest
    assert list(islice(rest, 4)) == [3, 2, 3, 2]


def test_a_state_that_grows_in_silence_is_undecided():
    """A buffer that grows for ever without output is neither an output nor a repetition."""
    with pytest.raises(Undecided, match="expected an output or a state that repeats within 50 rounds"):
        produce1(batch_op(Nat()), Lasso([], [DT(1, "a")]), patience=50)


@given(st.lists(st.integers(0, 2), max_size=4), st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(0, 12))
def test_a_lasso_is_its_prefix_and_then_its_cycle(prefix, cycle, n):
    """Dropping events commutes with reading them."""
    loop = Lasso(prefix, cycle)
    assert list(islice(loop.drop(n), 10)) == list(islice(loop, n, n + 10))
    assert loop.unroll(3) == list(islice(loop, len(prefix) + 3 * len(cycle)))


def test_an_empty_cycle_is_an_error():
    """A stream that ends is a list."""
    with pytest.raises(BadValue, match="expected at least one event in the cycle"):
        Lasso([1], [])


def test_a_lasso_is_monotone_if_its_second_round_is():
    """Data of the cycle comes again after the watermarks of the cycle."""
    assert not is_monotone(Nat(), Lasso([], [DT(1, "a"), WM(1)]))
    assert is_monotone(Nat(), Lasso([DT(1, "a")], [WM(1)]))
    assert owed(Nat(), Lasso([DT(1, "a"), DT(9, "b")], [WM(1)])) == [DT(9, "b")]


def test_a_monitor_names_the_event_and_the_watermark():
    """The error of a live stream says which event broke which watermark, and where."""
    passed = []
    with pytest.raises(NotMonotone) as caught:
        passed.extend(monitored(Nat(), [DT(3, "a"), WM(2), DT(4, "b"), DT(1, "late"), DT(5, "c")]))
    assert caught.value.event == DT(1, "late")
    assert caught.value.watermark == 2
    assert caught.value.number == 3
    assert "event 3 of the stream" in str(caught.value)


def test_a_monitor_goes_on_after_an_error():
    """What broke a watermark is forgotten, and the next event is judged by itself."""
    monitor = Monitor(Nat(), strict=True)
    monitor.see(WM(3))
    with pytest.raises(NotMonotone, match="expected a watermark"):
        monitor.see(WM(2))
    monitor.see(DT(4, "a"))
    assert monitor.owed == [DT(4, "a")]
    assert monitor.number == 3
    with pytest.raises(NotMonotone, match="event 3 of the stream"):
        monitor.see(DT(1, "late"))


def test_owed_data_comes_in_the_order_of_its_arrival():
    """Also where times alternate."""
    monitor = Monitor(Nat())
    events = [DT(2, "a"), DT(1, "b"), DT(2, "c"), DT(3, "d")]
    for event in events:
        monitor.see(event)
    assert monitor.owed == events
    monitor.see(WM(1))
    assert monitor.owed == [DT(2, "a"), DT(2, "c"), DT(3, "d")]


def test_a_long_silence_is_not_the_end():
    """`produce` waits on a lasso as on any endless stream, as long as the state changes."""
    assert next(produce(bulk_op(lambda xs: [len(xs)], 5000), Lasso([], [1]))) == 5000


def test_what_is_put_out_belongs_to_whoever_takes_it():
    """Changing a histogram that was put out does not change the operator."""
    from tidegate.spec import fproduce, ihist_linear_op

    op, out = fproduce(ihist_linear_op(Nat()), [DT(0, "a"), WM(0)])
    out[0].d["z"] += 5
    assert fproduce(op, [DT(1, "b"), WM(1)])[1][0] == DT(1, {"a": 1, "b": 1})


def test_extended_watermarks_complete_every_value_of_a_component():
    """A watermark with TOP in a component says that no more comes at any value there."""
    order = Product(Nat(), Nat())
    stream = [DT((0, 5), "a"), DT((7, 1), "b"), DT((2, 2), "c"), WM((TOP, 1)), WM((0, TOP))]
    assert [e for e in produce(batch_op(order), stream) if isinstance(e, DT)] == [
        DT((TOP, 1), [((7, 1), "b")]),
        DT((0, TOP), [((0, 5), "a")]),
        DT((2, 2), [((2, 2), "c")]),
    ]
    histograms = [e for e in produce(ihist_op(order), stream) if isinstance(e, DT)]
    assert [e.t for e in histograms] == [(7, 1), (0, 5), (2, 2)]
