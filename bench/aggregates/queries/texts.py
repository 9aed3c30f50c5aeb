"""Twelve queries on edits of texts: the most frequent words, and pairs of texts of equal length.

`TEXTS` has them as Table 1 prints them, `PUBLISHED_TEXTS` as the programs of the authors have them, where these differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tidegate.flow import Flow, Stream
from tidegate.flow.watermarks import Watermark

__all__ = ["PUBLISHED_TEXTS", "SCHEMA", "TEXTS", "WORDS", "about_as_long", "equally_long"]

SCHEMA = "ts TIMESTAMP, orig STRING, change STRING, updated STRING"


def _size(parts: str) -> str:
    """How many parts Java's ``split`` has: those that are empty at the end do not count, unless nothing was split."""
    # Not by a pattern that ends with $, which also matches before an end of line at the end of a text.
    last = f"array_max(transform({parts}, (part, i) -> IF(part = '', 0, i + 1)))"
    return f"IF(size({parts}) = 1, 1, {last})"


#: The key of the Joins: how many words were changed. Its type is said, as a composition asks for it.
WORDS = f"""CAST({_size("split(change, ' ')")} AS INT)"""
#: The key of the authors' Joins on Spark, whose ``split`` also counts what is empty at the end.
_ALL_PARTS = "CAST(size(split(change, ' ')) AS INT)"


#: More than there are places in a list.
_PLACES = 1 << 31


def _top(column: str, k: int, least: int) -> str:
    """Return the k most frequent words, equal ones in the order of the alphabet, without those that are too short."""
    # Most texts have no empty parts at their end.
    words = f"IF(get(parts, size(parts) - 1) = '', slice(parts, 1, {_size('parts')}), parts)"
    # Sorted, equal words are runs: where one ends says how often its word comes.
    ends = "filter(transform(words, (w, i) -> IF(get(words, i + 1) = w, 0, i + 1)), e -> e > 0)"
    # How often, and where, is one number: numbers are sorted faster than structs.
    runs = f"transform(ends, (e, i) -> CAST(coalesce(get(ends, i - 1), 0) - e AS BIGINT) * {_PLACES} + e)"
    chosen = f"slice(sort_array({_let('ends', ends, runs)}), 1, {k})"
    top = f"transform({chosen}, n -> words[CAST(pmod(n, {_PLACES}) AS INT) - 1])"
    found = _let("words", "sort_array(" + _let("parts", f"split({column}, '\\\\s+')", words) + ")", top)
    return f"filter({found}, w -> length(w) >= {least})"


def _let(name: str, value: str, result: str) -> str:
    """Return a result that reads a value by name, so that the value is computed once."""
    return f"transform(array({value}), {name} -> {result})[0]"


def _source(name: str, watermark: Watermark | None) -> tuple[Flow, Stream]:
    flow = Flow(name)
    return flow, flow.source("texts", SCHEMA, time="ts", watermark=watermark)


def _frequent(name: str, k: int, least: int, *, watermark: Watermark | None = None) -> Flow:
    flow, texts = _source(name, watermark)
    flow.sink("out", texts.select(f"{_top('orig', k, least)} AS word").explode("word"))
    return flow


def _frequent_in_all(name: str, k: int, least: int, *, watermark: Watermark | None = None) -> Flow:
    """The words of all three columns beside each other, as many as each of them has."""
    flow, texts = _source(name, watermark)
    columns = ("orig", "change", "updated")
    tops = ", ".join(_top(column, k, least) for column in columns)
    # Where one of them has fewer words, it is filled up with nulls.
    full = " AND ".join(f"w.`{i}` IS NOT NULL" for i in range(len(columns)))
    zipped = texts.select(f"filter(arrays_zip({tops}), w -> {full}) AS words").explode("words")
    flow.sink("out", zipped.select(*(f"words.`{i}` AS {column}" for i, column in enumerate(columns))))
    return flow


def _pairs(
    name: str,
    where: str,
    size: str,
    *,
    key: str = WORDS,
    every: str = "1 second",
    early: bool = False,
    watermark: Watermark | None = None,
) -> Flow:
    flow, texts = _source(name, watermark)
    words = f"{key} AS words"
    left, right = texts.select(words, "orig"), texts.select(words, "orig AS other")
    flow.sink("out", left.window_join(right, on="words", size=size, every=every, where=where, early=early))
    return flow


def equally_long(text: str, other: str, longer_than: int, *, lowered: bool = False) -> str:
    """Return the condition of a Join: two texts differ in more than their case, and are equally long.

    >>> equally_long("a", "b", 100)
    'lower(a) <> lower(b) AND length(a) = length(b) AND length(a) > 100'
    """
    a, b = (f"length(lower({t}))" if lowered else f"length({t})" for t in (text, other))
    return f"lower({text}) <> lower({other}) AND {a} = {b} AND {a} > {longer_than}"


def about_as_long(text: str, other: str, least: int) -> str:
    """Return the condition of the Joins in Figure 14: lengths differ by one at most, and the first is long enough.

    >>> about_as_long("a", "b", 100)
    'a <> b AND abs(length(a) - length(b)) < 2 AND length(a) >= 100'
    """
    return f"{text} <> {other} AND abs(length({text}) - length({other})) < 2 AND length({text}) >= {least}"


#: How long the texts of a Join are, and its windows.
_JOINS = {
    "LLJ": (210, "3 seconds"),
    "ALJ": (150, "3 seconds"),
    "HLJ": (100, "3 seconds"),
    "LHJ": (210, "10 seconds"),
    "AHJ": (150, "10 seconds"),
    "HHJ": (100, "10 seconds"),
}


def _joins(
    where: Callable[[str, str, int], str], *, key: str = WORDS, tumbling: bool = False
) -> dict[str, Callable[..., Flow]]:
    return {
        name: partial(
            _pairs,
            name,
            where("left.orig", "right.other", length),
            size,
            key=key,
            every=size if tumbling else "1 second",
        )
        for name, (length, size) in _JOINS.items()
    }


#: How to build each query on texts, by name, as Table 1 prints it. Each takes a ``watermark``, and a Join
#: ``every`` and ``early``.
TEXTS: dict[str, Callable[..., Flow]] = {
    "LLM": partial(_frequent, "LLM", 1, 11),
    "ALM": partial(_frequent, "ALM", 1, 0),
    "HLM": partial(_frequent, "HLM", 3, 0),
    "LHM": partial(_frequent_in_all, "LHM", 1, 11),
    "AHM": partial(_frequent_in_all, "AHM", 1, 0),
    "HHM": partial(_frequent_in_all, "HHM", 3, 0),
    **_joins(equally_long),
}

#: The Maps are the same in all of the authors' programs.
_PUBLISHED_MAPS: dict[str, Callable[..., Flow]] = {
    "LLM": partial(_frequent, "LLM", 1, 10),
    "LHM": partial(_frequent_in_all, "LHM", 1, 10),
}

#: By program, those that differ there from what is printed. Maps are as the program has them. Joins have its key,
#: condition and windows, but put out the key and both texts, as those above do; the program for Flink puts out the two
#: changes, that for Spark both rows. Another program for Flink, for Figure 14, has the Joins of ``uspe``.
PUBLISHED_TEXTS: dict[str, dict[str, Callable[..., Flow]]] = {
    "flink": {**_PUBLISHED_MAPS, **_joins(partial(equally_long, lowered=True))},
    "spark": {**_PUBLISHED_MAPS, **_joins(about_as_long, key=_ALL_PARTS, tumbling=True)},
    "uspe": {**_PUBLISHED_MAPS, **_joins(about_as_long, tumbling=True)},
}
