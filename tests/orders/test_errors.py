"""Mistakes with orders of times: each message says what was expected, what came, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

import tidegate as tg
from tests.flow.cases.ordered import PAPER, named
from tidegate.errors import TidegateError
from tidegate.time import EventTime, Int, Nat, Poset, Product, Sum

SIDES = "t STRUCT<side: STRING, value: INT>"

#: What is built, and how the message begins.
BUILDING: dict[str, tuple[Callable[[tg.Flow], Any], str]] = {
    "no order": (lambda f: tg.ordered("t", "a"), "expected a Poset or a Sum in ordered('t', …), got 'a'"),
    "a product": (lambda f: tg.ordered("t", Product(Int(), Int())), "expected a Poset or a Sum in ordered('t', …)"),
    "no elements": (lambda f: tg.ordered("t", Poset([])), "expected a Poset with elements, got one without"),
    "too many elements": (
        lambda f: tg.ordered("t", Poset([], elements=range(301))),
        "expected a Poset of at most 300 elements, got one of 301",
    ),
    "partial orders inside": (
        lambda f: tg.ordered("t", Sum(PAPER, Nat())),
        "expected a Sum of total orders of numbers, days or instants, got Sum(",
    ),
    "no such column": (lambda f: source(f, "u STRING", PAPER), "unknown column t"),
    "a column of another type": (
        lambda f: source(f, "t DOUBLE", PAPER),
        "expected a column of type STRING, DATE or of an integer type for a Poset, got t DOUBLE",
    ),
    "elements of another type": (
        lambda f: source(f, "t INT", PAPER),
        "expected elements that t INT can have, got 't0' (str)",
    ),
    "an element that does not fit": (
        lambda f: source(f, "t TINYINT", Poset([(1, 128)])),
        "expected elements that t TINYINT can have, got 128 (int)",
    ),
    "an instant for a day": (
        lambda f: source(f, "t DATE", Poset([], elements=[datetime(2026, 1, 1)])),
        "expected elements that t DATE can have, got datetime.datetime(2026, 1, 1, 0, 0) (datetime)",
    ),
    "a sum without a struct": (
        lambda f: source(f, "t INT", Sum(Int(), Int())),
        "expected a struct of side and value for a Sum, got t INT",
    ),
    "sides of other orders": (
        lambda f: source(f, SIDES, Sum(Int(), EventTime())),
        "expected in Sum(Int(), EventTime()) the order of INT, which the column t has there, got EventTime()",
    ),
    "windows": (
        lambda f: named(f).window(10),
        "expected times with a distance between them, got t, which is ordered by a Poset",
    ),
    "sessions": (lambda f: named(f).session(10), "expected times with a distance between them, got t"),
    "periods": (lambda f: named(f).accumulate(n="count(*)", every=10), "expected times with a distance between them"),
    "forgetting": (lambda f: named(f).top(1, order="x", forget=3), "expected times with a distance between them"),
    "the latest": (lambda f: named(f).latest("k"), "expected times with a distance between them"),
    "the last": (lambda f: named(f).last(2), "expected times with a distance between them"),
    "other times": (lambda f: named(f).at("'t5'"), "expected times with a distance between them"),
    "as of": (lambda f: named(f).join_asof(named(f, "r"), on="k"), "expected times with a distance between them"),
    "apart": (lambda f: named(f).interval_join(named(f, "r"), on="k"), "expected times with a distance between them"),
    "duplicates": (lambda f: named(f).deduplicate("k"), "expected times with a distance between them"),
    "two orders": (
        lambda f: named(f).union(
            f.source("r", "t STRING, k STRING, x INT", time=tg.ordered("t", Poset([("t0", "t1")])))
        ),
        "expected two streams with the same time columns, got",
    ),
    "a bound without distances": (
        lambda f: source(f, "t STRING", PAPER, watermark=tg.bounded(3)),
        "expected a watermark that needs no distance, as t is ordered by a Poset, got bounded(3)",
    ),
    "one bound for two sides": (
        lambda f: source(f, SIDES, Sum(Int(), Int()), watermark=tg.bounded(3)),
        "expected two delays and nothing else, for the left and the right side of t, got 1",
    ),
    "bounds of partitions": (
        lambda f: source(f, SIDES, Sum(Int(), Int()), watermark=tg.bounded(3, 3, by="x")),
        "expected two delays and nothing else, for the left and the right side of t, got 2 and by",
    ),
}


def source(flow: tg.Flow, column: str, order: Any, **options: Any) -> tg.Stream:
    """A source with a time column and another."""
    return flow.source("s", f"{column}, x INT", time=tg.ordered("t", order), **options)


@pytest.mark.parametrize(("build", "message"), BUILDING.values(), ids=BUILDING)
def test_a_mistake_is_told_when_the_flow_is_built(build: Callable[[tg.Flow], Any], message: str) -> None:
    """Before anything runs."""
    with pytest.raises(TidegateError, match="^" + re.escape(message)):
        build(tg.Flow("bad"))
