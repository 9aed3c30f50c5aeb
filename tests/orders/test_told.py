"""What is told of times that are ordered by something else than their size."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import tidegate as tg
from tests.flow.cases.ordered import PAPER
from tests.orders.streams import stepped
from tidegate.cli import app
from tidegate.time import EventTime, Int, Sum


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (["left", "5"], "may still give rows from left 4 or right any"),
        (["left", "3"], "complete: no source"),
        (["middle", "3"], "expected a time of t, which has two sides, got ('middle', '3')"),
        (["left"], 'hint: the side and its value: ("left", 0) or ("right", "1970-01-01")'),
    ],
)
def test_the_command_line_takes_the_side_and_its_value(tmp_path: Path, time: list[str], said: str) -> None:
    """And says so, if it is given something else."""
    flow = tg.Flow("sides")
    kind = "STRUCT<side: STRING, left: INT, right: DATE>"
    order = Sum(Int(), EventTime("day"))
    rows = flow.source("s", f"t {kind}, x INT", time=tg.ordered("t", order), watermark=tg.punctuated("x = 0"))
    flow.sink("out", rows.aggregate(n="sum(x)"))
    stepped(flow, [[({"side": "left", "left": 3, "right": None}, 0)]], tmp_path)
    assert said in CliRunner().invoke(app, ["why", str(tmp_path / "checkpoint"), *time]).output


def test_explain_says_how_times_are_kept_apart() -> None:
    """Per element, or per side; and it advises nothing that is refused."""
    flow = tg.Flow("explained")
    for name, kind, order in (("s", "STRING", PAPER), ("r", "STRUCT<side: STRING, value: INT>", Sum(Int(), Int()))):
        source = flow.source(
            name, f"t {kind}, k STRING", time=tg.ordered("t", order), watermark=tg.punctuated("k = ''")
        )
        flow.sink(f"{name}_all", source.accumulate(by="k", n="count(*)", emit="complete"))
        flow.sink(f"{name}_top", source.top(2, by="k", order="k"))
    text = str(flow.explain())
    assert "holds partial aggregates per group, for ever; per element\n" in text
    assert "for ever; per side, and per time until it is complete\n" in text
    assert not any(word in text for word in ("every=", "window", "forget", "NULL in a time"))
