"""Declarations that are made once more, as in a cell of a notebook that is run again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidegate as tg

COLUMNS = "t INT, k STRING, x INT"


def source(flow: tg.Flow, name: str = "s", columns: str = COLUMNS, **options: Any) -> tg.Stream:
    return flow.source(name, columns, time="t", replace=True, **options)


def test_a_sink_is_replaced() -> None:
    """The last stream of that name leaves the flow, in the place of the first; the others stay."""
    flow = tg.Flow("cells")
    s = source(flow)
    for limit in (1, 2):
        flow.sink("big", s.where(f"x > {limit}"), replace=True)
        flow.sink("all", s, replace=True)
    assert [(sink.name, sink.input) for sink in flow.plan.sinks] == [("big", "where#2"), ("all", "s")]
    assert [operator.id for operator in flow.plan] == ["s", "where#2"]


def test_a_flow_whose_cells_are_run_again_is_the_same() -> None:
    """Built a second time with the same words, it has the same operators by their fingerprints, and gives the same."""
    flow = tg.Flow("cells")
    found = []
    for _ in range(2):
        s = source(flow, watermark=tg.bounded(3))
        names = flow.table("names", "k STRING, name STRING", replace=True)
        flow.sink("out", s.join(names, on="k").aggregate(by="name", n="count(*)"), replace=True)
        inputs = {"s": [{"t": 1, "k": "a", "x": 1}], "names": [{"k": "a", "name": "Ann"}]}
        prints = [flow.plan.fingerprint(operator.id) for operator in flow.plan]
        found.append((prints, dict(flow.reference(inputs))))
    assert found[0] == found[1]


def test_a_source_that_did_not_change_keeps_what_is_built_on_it() -> None:
    """Running its cell again with the same declaration changes nothing."""
    flow = tg.Flow("cells")
    flow.sink("out", source(flow, late="drop").where("x > 1"))
    before = flow.plan
    old = source(flow, late="drop")
    assert flow.plan == before
    flow.sink("more", old.where("x > 2"))


@pytest.mark.parametrize(
    "declare",
    [
        lambda f: source(f, columns="t INT, k STRING, x BIGINT"),
        lambda f: source(f, watermark=tg.bounded(3)),
        lambda f: source(f, was="before"),
        lambda f: f.table("s", "k STRING, x INT", replace=True),
    ],
    ids=["columns", "watermark", "was", "a table"],
)
def test_what_was_built_on_a_replaced_source_is_gone(declare: Callable[[tg.Flow], tg.Stream]) -> None:
    """Its streams and their sinks leave the flow, and say so when they are used; what does not need it stays."""
    flow = tg.Flow("cells")
    first, other = source(flow), source(flow, "other")
    names = flow.table("names", "k STRING, name STRING")
    stale = [first, first.where("x > 1"), first.union(other), first.join(names, on="k"), first.window(5)]
    flow.sink("stale", stale[2])
    kept = other.where("x > 1")
    flow.sink("kept", kept)
    new = declare(flow)
    assert [operator.id for operator in flow.plan] == ["s", "other", "names", "where#2"]
    assert [sink.name for sink in flow.plan.sinks] == ["kept"]
    uses: list[Callable[[Any], Any]] = [
        lambda s: s.aggregate(n="count(*)"),
        lambda s: kept.union(s),
        lambda s: flow.sink("out", s),
        lambda s: s.preview([]),
    ]
    for stream in stale:
        for use in uses[:1] if isinstance(stream, type(stale[4])) else uses:
            with pytest.raises(tg.errors.BadArgument, match="is not part of the flow any more") as caught:
                use(stream)
            assert str(caught.value).endswith("build it again, from what source(…, replace=True) returned")
    new.where("x > 1")
    kept.gate()


def test_a_declaration_that_is_refused_replaces_nothing() -> None:
    """What was there before an error is there after it."""
    flow = tg.Flow("cells")
    flow.sink("out", source(flow).where("x > 1"))
    before = flow.plan
    with pytest.raises(tg.errors.UnknownColumn):
        flow.source("s", "t INT", time="ts", replace=True)
    with pytest.raises(tg.errors.BadArgument):
        flow.sink("out", "s", replace=True)  # type: ignore[arg-type]
    assert flow.plan == before
