"""Bad input: each kind has its own exception that says what, where and what to do."""

from dataclasses import dataclass

import pytest

from tidegate.errors import BadValue, TidegateError, WrongType
from tidegate.spec import (
    DT,
    WM,
    NotAnEvent,
    Operator,
    batch_op,
    comp_op,
    flatten_op,
    ihist_linear_op,
    ihist_op,
    incr_op,
    join_op,
    map_op,
    produce,
    union_op,
)
from tidegate.time import (
    TOP,
    Antichain,
    CyclicOrder,
    EventTime,
    Inl,
    Lexicographic,
    Nat,
    NoSuchTime,
    NotATime,
    Poset,
    Product,
    Sum,
)


def message(error_type: type[TidegateError], op: Operator, events: list) -> str:
    with pytest.raises(error_type) as caught:
        list(produce(op, events))
    return str(caught.value)


def test_a_time_that_is_not_of_the_order():
    """The error names the order, the value, the event of the stream, and what a time looks like."""
    assert message(NotATime, batch_op(Nat()), [DT(1, "a"), DT("two", "b")]) == (
        "expected a time of Nat(), got 'two' (str)\n"
        "  at: event 1 of the stream (counted from 0): DT('two', 'b')\n"
        "  hint: a natural number: 0, 1, 2, …"
    )


def test_the_event_is_found_behind_outputs_and_compositions():
    """The count goes on after outputs, and the first operator's place comes before that of the stream."""
    op = comp_op(map_op(lambda t, d: d), batch_op(Product(Nat(), Nat())))
    events = [DT((0, 0), "a"), WM((0, 0)), DT((1, 0), "b"), WM((1,))]
    text = message(NotATime, op, events)
    assert "expected a time of Product(Nat(), Nat()), got (1,) (tuple)" in text
    assert "event 3 of the stream (counted from 0): WM((1,))" in text
    assert "a tuple of 2, one time for each of Nat(), Nat()" in text


@pytest.mark.parametrize(
    ("order", "bad"),
    [
        (Nat(), -1),
        (Nat(), True),
        (Nat(), TOP),
        (EventTime(), 3),
        (Product(Nat(), Nat()), (1, 2, 3)),
        (Lexicographic(Nat(), Nat()), (1, "x")),
        (Sum(Nat(), Nat()), 3),
        (Sum(Nat(), Nat()), Inl(-1)),
        (Poset([("a", "b")]), "c"),
    ],
)
def test_no_order_takes_data_at_a_time_that_is_not_its_own(order, bad):
    """Every order refuses what is not one of its times; bounds are for watermarks only."""
    assert "expected" in message(NotATime, batch_op(order), [DT(bad, "x")])


@pytest.mark.parametrize(
    ("order", "a", "b"),
    [
        (Nat(), 1, "x"),
        (Nat(), "x", 1),
        (Nat(), "a", "b"),
        (Product(Nat(), Nat()), (1, 2), (1,)),
        (Product(Nat(), Nat()), (1, 2), 3),
        (Lexicographic(Nat(), Nat()), (1, 2), (1, "x")),
        (Sum(Nat(), Nat()), Inl(1), 1),
        (Poset([("a", "b")]), "a", "zzz"),
        (Poset([("a", "b")]), ["a"], "a"),
    ],
)
def test_comparing_what_is_not_a_time(order, a, b):
    """`le` raises the same error, whichever side is wrong."""
    with pytest.raises(NotATime):
        order.le(a, b)


def test_an_aware_datetime_is_told_how_to_become_a_time():
    """Instants are naive and in UTC; the hint says how to convert."""
    from datetime import UTC, datetime

    text = message(NotATime, batch_op(EventTime()), [DT(datetime(2026, 1, 1, tzinfo=UTC), "x")])
    assert "t.astimezone(UTC).replace(tzinfo=None)" in text


def test_a_poset_with_a_cycle():
    """The error names the cycle, not the whole order."""
    with pytest.raises(CyclicOrder) as caught:
        Poset([("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y")])
    assert str(caught.value) == (
        "expected a partial order, got a cycle: 'c' < 'a' < 'b' < 'c'\n  hint: leave out one of these pairs"
    )


@dataclass(frozen=True)
class Answers(Operator):
    """An operator that answers whatever it was told to."""

    answer: object

    def apply(self, event):
        return self.answer


@pytest.mark.parametrize("answer", [None, [], (1, 2), ("not an operator", []), (Answers(None), "ab"), (Answers(None),)])
def test_an_operator_whose_apply_answers_the_wrong_shape(answer):
    """The error shows the answer, the operator and the event, and says what to answer."""
    text = message(WrongType, Answers(answer), [DT(0, "a")])
    assert f"expected (operator, list of outputs) from apply, got {answer!r}" in text
    assert "operator Answers" in text
    assert "event 0 of the stream (counted from 0): DT(0, 'a')" in text
    assert "hint: return a pair" in text


def test_a_watermark_as_data():
    """An event inside an event is refused where it comes in."""
    text = message(WrongType, batch_op(Nat()), [DT(0, "a"), DT(1, WM(1))])
    assert "expected data in DT(t, d), got the event WM(1) as data of time 1" in text
    assert "event 1 of the stream" in text
    assert "put events into the stream one after the other" in text


@pytest.mark.parametrize("op", [batch_op(Nat()), incr_op(), map_op(lambda t, d: d), union_op(Nat())])
def test_something_that_is_not_an_event(op):
    """Plain values are told how to become events."""
    text = message(NotAnEvent, op, [(1, "a")])
    assert "expected DT(t, d) or WM(t), got (1, 'a') (tuple)" in text
    assert "wrap data as DT(time, data)" in text


def test_a_partial_order_where_a_total_one_is_needed():
    """`ihist_linear_op` says which operator to use instead."""
    with pytest.raises(BadValue, match="use ihist_op, which takes any order"):
        ihist_linear_op(Product(Nat(), Nat()))


def test_data_that_cannot_be_counted():
    """A histogram of lists says to map them to something hashable."""
    text = message(WrongType, ihist_op(Nat()), [DT(0, ["a"]), WM(0)])
    assert "expected data that can be counted" in text
    assert "event 0 between the two parts of a composition" in text
    assert "event 1 of the stream" in text


def test_an_error_at_the_end_of_the_input():
    """What goes wrong when the input ends is not blamed on one of its events."""
    text = message(WrongType, ihist_op(Nat()), [DT(0, ["a"])])
    assert "event 0 between the two parts of a composition" in text
    assert "the end of the stream" in text


def test_the_event_of_an_endless_stream():
    """On a lasso, events are counted from its beginning, whatever was put out since."""
    from tidegate.spec import Lasso

    with pytest.raises(NotATime, match="event 5 of the stream"):
        list(produce(batch_op(Nat()), Lasso([WM(0), WM(1), DT(2, "a"), WM(2), WM(3)], [WM("x")])))


@pytest.mark.parametrize(("op", "bad"), [(incr_op(), "abc"), (incr_op(), [1]), (flatten_op(), 5)])
def test_data_that_is_not_a_batch(op, bad):
    """Operators that take lists say so."""
    text = message(WrongType, op, [WM(0), DT(0, bad)])
    assert "expected a" in text
    assert "event 1 of the stream" in text


def test_an_exit_that_answers_nothing():
    """None is not an empty list."""

    class Silent(Operator):
        def apply(self, event):
            return self, []

        def exit(self):
            return None

    assert "from exit, got None" in message(WrongType, Silent(), [])


def test_something_that_is_not_an_operator():
    """A number, or a class instead of an operator."""
    assert "expected an operator, got 3" in message(WrongType, 3, [])
    assert "expected an operator" in message(WrongType, Answers, [])


def test_owed_checks_its_events():
    """Also the functions on whole streams say which event is wrong."""
    from tidegate.spec import owed

    with pytest.raises(NotAnEvent, match="event 0 of the stream"):
        owed(Nat(), [3])
    with pytest.raises(NotATime, match="event 1 of the stream"):
        owed(Nat(), [DT(1, "a"), WM("y")])


def test_skipping_a_negative_number():
    """There is nothing before the first output."""
    from tidegate.spec import skip_op

    with pytest.raises(ValueError, match="at least 0, got -1"):
        skip_op(incr_op(), -1)


def test_a_join_of_times_without_a_side():
    """The two sides of a join are told apart by Inl and Inr; a bare bound is of neither."""
    assert "Inl(t) with a time of Nat(), or Inr(t)" in message(NotATime, join_op(Nat(), min), [DT(1, "a")])
    assert "got TOP" in message(NotATime, union_op(Nat()), [WM(TOP)])


def test_comparable_times_in_an_antichain():
    """The error names the two, and what to build instead."""
    with pytest.raises(BadValue, match="expected times of which none is below another"):
        Antichain(Nat(), [1, 2])


def test_what_an_order_does_not_have():
    """A least time, a join or a meet that does not exist is an error that says so."""
    with pytest.raises(NoSuchTime, match=r"Sum\(Nat\(\), Nat\(\)\) has no least time"):
        Sum(Nat(), Nat()).least()
    with pytest.raises(NoSuchTime, match="has no join"):
        Poset([("a", "b"), ("a", "c")]).join("b", "c")


def test_a_summary_that_is_not_one():
    """Summaries are checked, and the error says what one looks like."""
    with pytest.raises(BadValue, match="an integer of at least 0; got -1"):
        Nat().summaries.check(-1)


@pytest.mark.parametrize(
    "build",
    [lambda: Product(Nat), lambda: Product(), lambda: Sum(Nat, Nat), lambda: Poset(["ab"]), lambda: EventTime("hour")],
)
def test_orders_check_their_arguments(build):
    """A class instead of an order, nothing, or something that is no pair, is an error at once."""
    with pytest.raises((TypeError, ValueError), match="expected"):
        build()
