"""The plan: plain data, with fingerprints that follow the meaning."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

import tidegate as tg
from tidegate.flow.plan import Plan, Where, WindowAggregate


def edits_flow(
    *, condition: str = "bytes > 100", delay: str = "10 minutes", name: str = "edits", count: str = "count(*)"
) -> tg.Flow:
    flow = tg.Flow(name)
    edits = flow.source(
        "edits", "ts TIMESTAMP, page STRING, bytes INT", time="ts", watermark=tg.bounded(delay), late="drop"
    )
    hourly = edits.where(condition).window("1 hour").aggregate(by="page", n=count)
    flow.sink("hourly", hourly)
    return flow


def run_python(program: str) -> str:
    """Run a program in a process of its own and return what it prints."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True, env=environment)
    return run.stdout.strip()


def test_two_flows_built_alike_have_equal_plans() -> None:
    """A plan is a value: building the same flow twice gives equal plans."""
    assert edits_flow().plan == edits_flow().plan
    assert edits_flow().plan != edits_flow(condition="bytes > 101").plan


def test_operators_hold_what_an_engine_needs() -> None:
    """Spans are in units of the time column, expressions are bound, names are resolved."""
    window = edits_flow().plan["window#1"]
    assert isinstance(window, WindowAggregate)
    assert (window.frame.over, window.frame.size) == ("ts", 3_600_000_000)
    assert window.aggregation.calls[0].arguments == ("*",)
    assert window.schema.time == ("ts",)


def test_a_fingerprint_follows_the_meaning() -> None:
    """Only the meaning counts: not watermarks, blanks, comments, or the case of names and functions."""
    base = edits_flow().plan.fingerprint("window#1")
    assert edits_flow(condition="BYTES   >  100 /* large */").plan.fingerprint("window#1") == base
    assert edits_flow(count="COUNT(*)").plan.fingerprint("window#1") == base
    assert edits_flow(delay="1 hour", name="other").plan.fingerprint("window#1") == base
    assert edits_flow(condition="bytes > 101").plan.fingerprint("window#1") != base
    plan = edits_flow().plan
    assert len(set(plan.fingerprints().values())) == len(plan.operators)


def test_fingerprints_stay_from_version_to_version() -> None:
    """These fingerprints are in checkpoints: if this fails, what is running cannot go on after an upgrade."""
    assert edits_flow().plan.fingerprints() == {
        "edits": "93ec728f2a16d288",
        "where#1": "c218f7bc3e0f6e65",
        "window#1": "e8c54a2a18912860",
    }


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    """Fingerprints do not depend on the process: no hash seeds, no addresses."""
    program = (
        "import tidegate as tg; flow = tg.Flow('x'); s = flow.source('s', 't INT, k STRING', time='t');"
        "flow.sink('o', s.accumulate(by='k', n='count(*)', top='max_by(k, t)'));"
        "print(flow.plan.fingerprint('accumulate#1'))"
    )
    assert len({run_python(program) for _ in range(2)}) == 1


def test_the_fingerprint_of_a_loop_is_what_it_computes() -> None:
    """Another step, rule or number of rounds is another loop; another limit, or other blanks in a query, is not."""

    def fingerprint(**changed: Any) -> str:
        flow = tg.Flow("loop")
        arguments: dict[str, Any] = {
            "start": "SELECT x AS node, x AS label FROM input",
            "step": "SELECT e.x AS node, k.label FROM known k JOIN input e ON e.x = k.node + 1",
            "key": "node",
            "keep": "min(label) AS label",
        }
        stream = flow.source("s", "t INT, x INT", time="t").iterate(**(arguments | changed))
        flow.sink("out", stream)
        return flow.plan.fingerprint(stream.id)

    same = fingerprint()
    assert fingerprint(limit=5) == same
    assert fingerprint(start="SELECT  x AS node,\n x AS label FROM input") == same
    assert len({same, fingerprint(keep="max(label) AS label"), fingerprint(rounds=2), fingerprint(rounds=3)}) == 4
    assert fingerprint(step="SELECT e.x AS node, k.label FROM known k JOIN input e ON e.x = k.node + 2") != same


def test_the_plan_keeps_only_what_sinks_need() -> None:
    """Streams that lead nowhere are not in the plan; sources and tables stay, since inputs are given for them."""
    flow = edits_flow()
    flow.table("pages", "page STRING")
    plan = flow.plan
    assert [operator.id for operator in plan] == ["edits", "where#1", "window#1", "pages"]


def test_a_rewrite_is_a_function_from_plan_to_plan() -> None:
    """Replacing an operator gives another plan and leaves the first as it was."""
    plan = edits_flow().plan

    def without_conditions(plan: Plan) -> Plan:
        dropped = {o.id: o.inputs[0] for o in plan if isinstance(o, Where)}
        kept = [replace(o, inputs=tuple(dropped.get(i, i) for i in o.inputs)) for o in plan if o.id not in dropped]
        return replace(plan, operators=tuple(kept))

    rewritten = without_conditions(plan)
    assert [operator.id for operator in rewritten] == ["edits", "window#1"]
    assert rewritten["window#1"].inputs == ("edits",)
    assert plan["window#1"].inputs == ("where#1",)


def test_a_plan_prints_every_operator() -> None:
    """The printed plan names each operator, its inputs and its columns."""
    text = str(edits_flow().plan)
    assert "where#1 = where(edits, condition=bytes > 100)" in text
    assert "count(*) AS n by page" in text
    assert "sink hourly = window#1" in text


def test_a_stream_can_be_used_twice() -> None:
    """One stream feeds two operators; both read the same operator of the plan."""
    flow = tg.Flow("twice")
    s = flow.source("s", "t INT, k STRING, x INT", time="t")
    big = s.where("x > 1")
    flow.sink("n", big.aggregate(by="k", n="count(*)"))
    flow.sink("total", big.accumulate(by="k", total="sum(x)"))
    assert {o.id for o in flow.plan.consumers("where#1")} == {"aggregate#1", "accumulate#1"}


def test_flows_nest_as_functions() -> None:
    """A function from stream to stream is a part that can be used again."""

    def large(stream: tg.Stream) -> tg.Stream:
        return stream.where("x > 10").select("x")

    flow = tg.Flow("nest")
    a = flow.source("a", "t INT, x INT", time="t")
    b = flow.source("b", "t INT, x INT, y INT", time="t")
    assert large(a).union(large(b)).schema.names == ("t", "x")


def test_building_needs_no_engine() -> None:
    """Importing and building loads neither PySpark nor pandas nor pyarrow."""
    program = (
        "import sys, tidegate as tg; flow = tg.Flow('x'); s = flow.source('s', 't INT, k STRING', time='t');"
        "flow.sink('o', s.aggregate(by='k', n='count(*)'));"
        "print([m for m in ('pyspark', 'pandas', 'pyarrow', 'duckdb') if m in sys.modules])"
    )
    assert run_python(program) == "[]"


def test_an_unknown_operator_is_a_key_error() -> None:
    """Asking a plan for an operator that is not there fails."""
    with pytest.raises(KeyError):
        edits_flow().plan["nothing"]
