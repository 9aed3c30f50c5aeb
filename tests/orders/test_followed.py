"""Flows that follow the frontier of another on a finite order: it means the same to both, or is refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

import tidegate as tg
from tests.orders.streams import stepped
from tidegate.flow.errors import BadInput
from tidegate.time import Poset

MARKS = tg.punctuated("x = 0")


def flow_on(order: Poset, type_: str = "STRING") -> tg.Flow:
    """A flow that hands on complete rows."""
    flow = tg.Flow("first")
    flow.sink("out", flow.source("s", f"t {type_}, x INT", time=tg.ordered("t", order), watermark=MARKS).gate())
    return flow


def follower(order: Poset, directory: Path, type_: str = "STRING") -> tuple[str, list[Any]]:
    """The frontier of a flow that follows the first one, and its rows."""
    flow = tg.Flow("second")
    path = str(directory / "first" / "out")
    source = flow.source("c", f"t {type_}, x INT", time=tg.ordered("t", order), watermark=tg.published(path))
    flow.sink("out", source.accumulate(n="sum(x)"))
    outputs = {"out": tg.parquet(directory / "out")}
    given = {"c": tg.read_stream(tg.local(), path)}
    with flow.start(tg.local(), given, outputs, directory / "second", trigger={"availableNow": True}) as run:
        run.await_termination(30)
        frontier = run.status().frontiers["out"]
    return frontier, sorted(tg.read(tg.local(), str(directory / "out")).fetchall())


APART = Poset([], elements=["a", "b"])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (Poset([("a", "b")]), "in which 'a' is not below 'b', got one in which it is"),
        (Poset([("a", "z"), ("z", "b")]), "in which 'a' is not below 'b', got one in which it is"),
        (Poset([], elements=["a"]), "with all elements that .*out has, got one without 'b'"),
    ],
    ids=["more pairs", "by way of another", "fewer elements"],
)
def test_who_follows_has_the_same_order(tmp_path: Path, order: Poset, message: str) -> None:
    """Of a frontier at which b is complete, an order with a below b would take a for complete, and lose its rows."""
    stepped(flow_on(APART), [[("b", 1), ("b", 0)]], tmp_path / "first")
    with pytest.raises(BadInput, match=message):
        follower(order, tmp_path)


def test_who_follows_has_no_fewer_pairs(tmp_path: Path) -> None:
    """Only the greatest complete elements are told: those below them would never be complete."""
    stepped(flow_on(Poset([("a", "b")])), [[("b", 1), ("b", 0)]], tmp_path / "first")
    with pytest.raises(BadInput, match="in which 'a' is below 'b', got one in which it is not"):
        follower(APART, tmp_path)


def test_another_order_that_is_followed_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: an output that does not say its order is followed by any."""
    monkeypatch.setattr("tidegate.engine.steps.owner.promised_order", lambda times: {})
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_who_follows_has_the_same_order(tmp_path, Poset([("a", "b")]), "is not below")


def test_who_follows_may_have_more_elements_and_goes_on_as_the_order_grows(tmp_path: Path) -> None:
    """Both may grow; what the output says of its order is that of the last run. Elements may be days."""
    days = [date(2026, 1, n) for n in (3, 1, 2)]
    small, large = Poset([(days[0], days[1])]), Poset([(days[0], days[1]), (days[0], days[2])])
    first = [[(days[0], 1), (days[1], 2), (days[1], 0)]]
    stepped(flow_on(small, "DATE"), first, tmp_path / "first")
    assert follower(large, tmp_path, "DATE") == ("2026-01-02", [(days[1], 3), (days[0], 1)])
    stepped(flow_on(large, "DATE"), [*first, [(days[2], 4), (days[2], 0)]], tmp_path / "first", begin=1)
    with pytest.raises(BadInput, match=r"got one without datetime\.date"):
        follower(small, tmp_path, "DATE")
    frontier, rows = follower(large, tmp_path, "DATE")
    assert frontier == "everything is complete"
    assert rows == [(days[1], 3), (days[2], 5), (days[0], 1)]
