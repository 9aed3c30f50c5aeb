"""Changing a flow: what goes on with a checkpoint, and what is refused with the difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark.place import DDL, Place

import tidegate as tg
from tidegate.engine.keepers import keepers_of
from tidegate.engine.meaning import check_meaning, meaning, origins_of, state_keys
from tidegate.engine.storage.errors import FlowChanged
from tidegate.flow.errors import BadArgument


def keys(flow: tg.Flow, origins: dict[str, str] | None = None) -> dict[str, str]:
    """The names of the states of a flow."""
    return state_keys(flow.plan, keepers_of(flow.plan), origins)


def meant(flow: tg.Flow, old: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a checkpoint holds of the meaning of a flow that goes on from another."""
    origins = origins_of(flow.plan, old)
    found = meaning(flow.plan, keepers_of(flow.plan), keys(flow, origins), origins)
    if old is not None:
        check_meaning(flow.plan, old, found)
    return found


def totals(source: str = "s", table: str = "names", total: str = "sum(x)", **renamed: str) -> tg.Flow:
    flow = tg.Flow("totals")
    rows = flow.source(source, DDL, time="t", watermark=tg.bounded(0), was=renamed.get("source_was", ""))
    names = flow.table(table, "k STRING, name STRING", was=renamed.get("table_was", ""))
    flow.sink("out", rows.join(names, on="k").aggregate(by="name", total=total))
    return flow


def test_renamed_sources_and_tables_go_on() -> None:
    """With ``was`` once; after that the checkpoint knows the new name, and may be told of another."""
    first = meant(totals())
    second = meant(totals("rows", "people", source_was="s", table_was="names"), first)
    third = meant(totals("rows", "people"), second)
    assert first["state"].keys() == second["state"].keys() == third["state"].keys()
    assert meant(totals("edits", "people", source_was="rows"), third)["origins"] == {"edits": "s", "people": "names"}


def test_functions_in_capitals_are_the_same() -> None:
    """The case of names of functions means nothing, and a text in quotes is what it is."""
    meant(totals(total="SUM(x)"), meant(totals()))
    with pytest.raises(FlowChanged):
        meant(totals(total="max('A')"), meant(totals(total="max('a')")))


def _without_was() -> tg.Flow:
    return totals("rows")


def _another_sum() -> tg.Flow:
    return totals(total="max(x)")


def _another_column() -> tg.Flow:
    flow = tg.Flow("totals")
    rows = flow.source("s", "t INT, k STRING, x BIGINT", time="t")
    names = flow.table("names", "k STRING, name STRING")
    flow.sink("out", rows.join(names, on="k").aggregate(by="name", total="sum(x)"))
    return flow


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        (_without_was, ["sources were s, and now are rows"]),
        (
            _another_sum,
            [
                "there is state of s.join(names, on=[k], how=inner).aggregate(aggregation=sum(x) AS total by name)",
                "there is no state of s.join(names, on=[k], how=inner).aggregate(aggregation=max(x) AS total by name)",
            ],
        ),
        (
            _another_column,
            ["source s had t INT, k STRING, x INT; time: t", "and now has t INT, k STRING, x BIGINT; time: t"],
        ),
    ],
)
def test_a_refusal_says_what_differs(changed: Callable[[], tg.Flow], lines: list[str]) -> None:
    """In the words of the flow, and nothing that follows from it."""
    with pytest.raises(FlowChanged) as refused:
        meant(changed(), meant(totals()))
    said = [line.strip() for line in str(refused.value).splitlines()]
    assert said[0] == "the flow is not the one that the checkpoint was made by:"
    assert said[1 : 1 + len(lines)] == lines
    assert said[1 + len(lines)] == "at: flow 'totals'"


def test_operators_that_only_look_the_same_are_refused() -> None:
    """Two functions of one name: after a change nobody could tell whose state is whose. The same one twice is fine."""

    def flow(*functions: Callable[[Any], Any]) -> tg.Flow:
        found = tg.Flow("f")
        rows = found.source("s", DDL, time="t")
        for i, function in enumerate(functions):
            found.sink(f"out{i}", rows.map_batches(function, DDL).distinct())
        return found

    same = lambda batch: batch  # noqa: E731
    assert len(set(keys(flow(same, same)).values())) == 2
    with pytest.raises(BadArgument, match="got distinct#1 and distinct#2, whose functions differ and have one name"):
        keys(flow(same, lambda batch: batch.slice(1)))


def test_another_kind_of_state_is_refused() -> None:
    """A version that keeps rows where another keeps cells would read nulls; a commit that does not say goes on."""
    old = meant(totals())
    ((key, kept),) = old["kept"].items()
    assert kept == "cells"
    with pytest.raises(FlowChanged, match="the checkpoint keeps rows, and this version of Tidegate keeps cells"):
        meant(totals(), old | {"kept": {key: "rows"}})
    assert meant(totals(), {name: value for name, value in old.items() if name != "kept"})


def test_a_commit_that_does_not_say_its_zone_goes_on() -> None:
    """Earlier versions did not write it. One that says another zone is refused, and both zones are named."""

    def counts(zone: str) -> tg.Flow:
        flow = tg.Flow("counts", timezone=zone)
        flow.sink("out", flow.source("s", DDL, time="t").aggregate(n="count(*)"))
        return flow

    old = meant(counts("UTC"))
    assert meant(counts("UTC"), old)["timezone"] == "UTC"
    with pytest.raises(FlowChanged, match="in the zone UTC, and now are in Asia/Tokyo"):
        meant(counts("Asia/Tokyo"), old)
    del old["timezone"]
    assert meant(counts("Asia/Tokyo"), old)["timezone"] == "Asia/Tokyo"


def test_what_is_said_of_renaming_is_checked() -> None:
    """A name that it had, and another one."""
    with pytest.raises(BadArgument, match="expected was= to be another name than 's'"):
        totals(source_was="s")
    with pytest.raises(tg.TidegateError, match="what was renamed"):
        tg.Flow("f").table("t", "k STRING", was=7)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_goes_on_under_other_names(place: Place) -> None:
    """Its state, what it has promised, and its late rows are all there."""
    table = place.spark.createDataFrame([("a", "ann")], "k STRING, name STRING")
    place.feed.add((5, "a", 1))
    place.feed.add((2, "a", 1))
    place.run(totals(), inputs={"names": table})
    renamed = totals("rows", "people", source_was="s", table_was="names")
    place.feed.add((5, "a", 2), (3, "a", 1), (9, "a", 4))
    inputs = {"rows": place.feed.stream(place.spark), "people": table}
    outputs = {"out": tg.parquet(str(place.path / "out"))}
    trigger = {"availableNow": True}
    run = renamed.start(place.spark, inputs, outputs, str(place.path / "checkpoint"), trigger=trigger)
    run.await_termination(120)
    assert place.rows() == [(5, "ann", 3)]
    assert (run.status().rows, run.status().late) == ({"rows": 5}, {"rows": 2})
    assert sorted(tuple(row.row) for row in run.late("rows").collect()) == [(2, "a", 1), (3, "a", 1)]
