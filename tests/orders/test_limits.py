"""Times of other orders at the edges of their types: nothing is added to them, and so none is rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.flow.cases.ordered import left, right
from tests.local_engine.engine import by_local
from tests.orders.streams import answers, stepped
from tidegate.flow.limits import limits
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.time import Int, Poset, Sum

LOOP: dict[str, Any] = {
    "start": "SELECT k, x FROM input",
    "step": "SELECT k.k, k.x FROM known k",
    "key": "k",
    "keep": "max(x) AS x",
}


def test_an_order_of_nine_axes_gives_what_the_specification_gives(tmp_path: Path) -> None:
    """A crown of eight and eight elements: sums at or below each, on bounded data and in steps."""
    crown = Poset([(f"a{i}", f"b{j}") for i in range(8) for j in range(8) if i != j])
    flow = tg.Flow("crown")
    time = tg.ordered("t", crown)
    source = flow.source("s", "t STRING, x INT", time=time, watermark=tg.punctuated("x IS NULL"))
    flow.sink("out", source.accumulate(n="sum(x)"))
    assert len(plan_on_points(flow.plan)["s"].schema.time) == 9
    rows: list[tuple[Any, ...]] = [(f"a{i}", 1 << i) for i in range(8)] + [(f"b{j}", 256) for j in range(8)]
    expected = [(f"a{i}", 1 << i) for i in range(8)] + [(f"b{j}", 256 + 255 - (1 << j)) for j in range(8)]
    assert_same_rows(by_local(flow, {"s": rows}), expected)
    stepped(flow, [[*rows[:10], ("b1", None)], rows[10:]], tmp_path).finish()
    assert_same_rows(answers(flow, tmp_path), expected)


def test_a_loop_takes_all_elements_of_a_large_order() -> None:
    """The numbers of three hundred elements go beyond those that can be added to each other."""
    flow = tg.Flow("many")
    order = Poset([(i, i + 1) for i in range(299)])
    source = flow.source("s", "t INT, k STRING, x INT", time=tg.ordered("t", order))
    flow.sink("out", source.iterate(**LOOP))
    plan = plan_on_points(flow.plan)
    axes = plan["s"].schema.coordinates
    assert axes is not None
    assert all(n in limit for n, limit in zip(axes.encode(299), limits(plan)["s"], strict=True))


def test_a_loop_takes_all_values_of_a_side() -> None:
    """Also the first and the last of a BIGINT, as the specification does."""
    flow = tg.Flow("sides")
    kind = "STRUCT<side: STRING, value: BIGINT>"
    source = flow.source("s", f"t {kind}, k STRING, x INT", time=tg.ordered("t", Sum(Int(), Int())))
    flow.sink("out", source.iterate(**LOOP, emit="complete"))
    times = [left(2**63 - 1), left(2**62 + 5), left(2**62 - 1), right(-(2**63)), right(2**62)]
    rows = [(t, "a", i) for i, t in enumerate(times)]
    expected = flow.reference({"s": [dict(zip(("t", "k", "x"), row, strict=True)) for row in rows]}).rows("out")
    assert len(expected) == len(rows)
    assert_same_rows(by_local(flow, {"s": rows}), [tuple(row.values()) for row in expected])
