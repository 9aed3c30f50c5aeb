"""Twelve queries on edits of texts: the most frequent words, and pairs of texts of equal length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tidegate.flow import Flow, Stream
from tidegate.flow.watermarks import Watermark

__all__ = ["SCHEMA", "TEXTS", "WORDS"]

SCHEMA = "ts TIMESTAMP, orig STRING, change STRING, updated STRING"


def _parts(column: str, separator: str) -> str:
    """Split a text as Java does: parts that are empty at the end do not count, and separators alone have no part."""
    parts = f"split(regexp_replace({column}, '({separator})+$', ''), '{separator}')"
    return f"IF({column} RLIKE '^({separator})+$', array(), {parts})"


#: The key of the Joins: how many words were changed.
WORDS = f"size({_parts('change', ' ')})"


def _top(column: str, k: int, least: int) -> str:
    """Answer the k most frequent words, equal ones in the order of the alphabet, without those that are too short."""
    # Sorted, equal words are runs: where one ends says how often its word comes.
    ends = "filter(transform(words, (w, i) -> i + 1), e -> e = size(words) OR words[e] <> words[e - 1])"
    counted = "transform(ends, (e, i) -> struct(IF(i = 0, 0, ends[i - 1]) - e AS n, words[e - 1] AS word))"
    top = f"transform(slice(sort_array({_let('ends', ends, counted)}), 1, {k}), t -> t.word)"
    words = _parts(column, r"\\s+")
    ranked = _let("words", f"sort_array({words})", top)
    return f"filter({ranked}, w -> length(w) >= {least})"


def _let(name: str, value: str, result: str) -> str:
    """Answer a result that reads a value by name, so that the value is computed once."""
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


def _equally_long(
    name: str, longer_than: int, size: str, *, every: str = "1 second", watermark: Watermark | None = None
) -> Flow:
    flow, texts = _source(name, watermark)
    key = f"{WORDS} AS words"
    left, right = texts.select(key, "orig"), texts.select(key, "orig AS other")
    distinct = "lower(left.orig) <> lower(right.other)"
    length = f"length(left.orig) = length(right.other) AND length(left.orig) > {longer_than}"
    pairs = left.window_join(right, on="words", size=size, every=every, where=f"{distinct} AND {length}")
    flow.sink("out", pairs)
    return flow


#: How to build each query on texts, by name; each takes a ``watermark``, and a Join takes ``every``.
TEXTS: dict[str, Callable[..., Flow]] = {
    "LLM": partial(_frequent, "LLM", 1, 10),
    "ALM": partial(_frequent, "ALM", 1, 0),
    "HLM": partial(_frequent, "HLM", 3, 0),
    "LHM": partial(_frequent_in_all, "LHM", 1, 10),
    "AHM": partial(_frequent_in_all, "AHM", 1, 0),
    "HHM": partial(_frequent_in_all, "HHM", 3, 0),
    "LLJ": partial(_equally_long, "LLJ", 210, "3 seconds"),
    "ALJ": partial(_equally_long, "ALJ", 150, "3 seconds"),
    "HLJ": partial(_equally_long, "HLJ", 100, "3 seconds"),
    "LHJ": partial(_equally_long, "LHJ", 210, "10 seconds"),
    "AHJ": partial(_equally_long, "AHJ", 150, "10 seconds"),
    "HHJ": partial(_equally_long, "HHJ", 100, "10 seconds"),
}
