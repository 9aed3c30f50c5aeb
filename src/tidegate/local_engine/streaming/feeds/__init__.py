"""What sources of running flows are read from, one module for each kind. Only this module maps arguments to feeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tidegate.flow.clocks import Clock, given_schema
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.flow.watermarks import Published
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.streaming.feeds.batches import BatchFeed
from tidegate.local_engine.streaming.feeds.by_hand import ManualFeed, ManualInput
from tidegate.local_engine.streaming.feeds.feed import Feed, NewRows
from tidegate.local_engine.streaming.feeds.files import FileFeed, FileStream
from tidegate.local_engine.streaming.feeds.published import PublishedFeed, PublishedStream
from tidegate.local_engine.streaming.feeds.readers import METHODS, ReaderFeed
from tidegate.local_engine.streaming.feeds.ticks import TickFeed

__all__ = ["Feed", "NewRows", "feed_of"]

_HINT = (
    "tg.files(pattern), an iterator of Arrow batches, a function of how many of them were taken, or an object with "
    f"the methods of PySpark's stream readers ({', '.join(METHODS)})"
)


def feed_of(source: Source, backend: LocalBackend, given: Any, clock: Callable[[], float] = time.time) -> Feed:
    """Return the feed of a source from the user's argument; raise if it is not valid."""
    if isinstance(given, Clock):
        return TickFeed(source, backend, given, clock)
    # If the time of a row is its arrival, the rows given do not have it yet.
    source = replace(source, schema=given_schema(source))
    if isinstance(given, ManualInput):
        return ManualFeed(source, backend, given)
    published = isinstance(source.watermark, Published)
    if isinstance(given, PublishedStream):
        return PublishedFeed(source, backend, given)
    if published:
        raise BadInput(
            f"expected the stream of an output that publishes its frontier, got {type(given).__name__}",
            hint="tg.read_stream(tg.local(), path) with the path of tg.published(path)",
        )
    if isinstance(given, FileStream):
        return FileFeed(source, backend, given)
    if all(hasattr(given, name) for name in METHODS):
        return ReaderFeed(source, backend, given)
    whole = hasattr(given, "__arrow_c_stream__") or hasattr(given, "fetchall")
    if whole and not hasattr(given, "__next__"):
        raise BadInput(
            f"expected a stream, got {type(given).__name__}, which is bounded",
            hint="flow.compute(…) takes it; or iter([table]), one batch",
        )
    if not isinstance(given, str | bytes | dict) and (isinstance(given, Iterable) or callable(given)):
        return BatchFeed(source, backend, given)
    raise BadInput(f"expected a stream, got {type(given).__name__}", hint=_HINT)
