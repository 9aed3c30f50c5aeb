"""The flow that tests of explanations and of their pictures look at."""

from __future__ import annotations

import tidegate as tg

__all__ = ["edits_by_topic"]


def edits_by_topic() -> tg.Flow:
    """Return a flow with a source, a table and two sinks: edits by the hour, and visits."""
    flow = tg.Flow("edits")
    columns = "ts TIMESTAMP, page STRING, editor STRING, bytes INT"
    edits = flow.source("edits", columns, time="ts", watermark=tg.bounded("10 minutes"), late="fail")
    pages = flow.table("pages", "page STRING, topic STRING")
    topics = edits.where("bytes > 100").join(pages, on="page")
    flow.sink("hourly", topics.window("1 hour", every="10 minutes").aggregate(by="topic", n="count(*)"))
    flow.sink("visits", topics.session("30 minutes").aggregate(by="editor", n="count(*)"))
    return flow
