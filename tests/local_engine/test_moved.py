"""Rows that are moved to later times, and those that cannot be: what can be read of them, and how frontiers move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.flow.case import assert_same_rows
from tests.local_engine.engine import arrow_rows
from tests.local_engine.steps import Cut, engine_in, run_locally
from tidegate.engine import lowering, tracking
from tidegate.engine.lowering import moving
from tidegate.flow import plan
from tidegate.flow.spans import span_value
from tidegate.spec import DT, WM

ROWS = [(1, "a", 4), (2, "a", 1), (3, "b", None), (4, "b", 90), (6, "a", 7), (9, "c", 127)]
WHY = {2: "time would go back in t", 3: "null time in t", 9: "time out of range: t is not between -120 and 119"}


def moved(watermark: Any = None) -> tg.Flow:
    """Windows of rows at the times that a column has."""
    flow = tg.Flow("moved")
    source = flow.source("s", "t TINYINT, k STRING, e TINYINT", time="t", watermark=watermark or tg.bounded(2))
    flow.sink("out", source.at("e").window(10).aggregate(n="count(*)"))
    return flow


def test_rows_that_cannot_be_moved_are_told_with_the_reason() -> None:
    """By the specification and on bounded data, under the name of the operator, as they were given."""
    flow = moved()
    given = [DT(t, {"t": t, "k": k, "e": e}) for t, k, e in ROWS]
    found = flow.reference({"s": given})
    assert {r.row["t"]: r.reason for r in found.rejected["at#1"]} == WHY
    tables = flow.compute(tg.local(), {"s": arrow_rows(flow.plan["s"].schema, ROWS)})
    assert {row[0]: row[-1] for row in tables.rejected["at#1"].fetchall()} == WHY
    assert tables.rejected.counts() == {"s": 0, "at#1": 3}
    assert "at#1" in tables.rejected


def test_rejected_rows_of_a_run_are_read_under_the_name_of_the_operator(tmp_path: Path) -> None:
    """Each once, over restarts, with the step and the row; counts are in the status and in the metrics."""
    flow = moved()
    reader = Cut(flow.plan["s"].schema, [ROWS[:3], ROWS[3:]])
    for number in (1, 2):
        reader.released = number
        outputs = {"out": tg.parquet(tmp_path / "out")}
        run = flow.start(tg.local(), {"s": reader}, outputs, tmp_path / "ck", trigger={"availableNow": True})
        assert run.await_termination(60)
    got = {(row[0]["t"], row[1], row[2], row[3], row[5]["k"]) for row in run.rejected("at#1").fetchall()}
    assert got == {(2, "at#1", 0, WHY[2], "a"), (3, "at#1", 0, WHY[3], "b"), (9, "at#1", 1, WHY[9], "c")}
    assert run.status().rejected == {"s": 0, "at#1": 3}
    assert "at#1: 3 rejected" in str(run.status())
    assert [m["rejected"] for m in run.metrics()] == [{"s": 0, "at#1": 1}]
    with pytest.raises(TypeError, match="expected the name of a source"):
        run.late("at#1")


def test_the_frontier_is_that_of_the_input_or_shifted_with_it(tmp_path: Path) -> None:
    """A span that is added to every row is added to the frontier; what depends on a row may come anywhere above it."""
    flow = tg.Flow("frontiers")
    s = flow.source("s", "v INT, w INT, x INT", time=("v", "w"), watermark=tg.bounded(0, 0))
    flow.sink("shifted", s.at(w="w + 3").gate())
    flow.sink("mixed", s.at(v="v + x", w="w + 3").gate())
    flow.sink("away", s.at(v="v + x").gate())
    reader = Cut(flow.plan["s"].schema, [[(4, 7, 1)]])
    engine = engine_in(flow.plan, {"s": reader}, {}, tmp_path)
    reader.released = 1
    engine.step()
    found = {sink.name: set(engine.tracking.of_sink(sink.name)) for sink in flow.plan.sinks}
    assert found == {"shifted": {(4, 10)}, "mixed": {(4, 10)}, "away": {(4, 7)}}


@pytest.mark.parametrize(
    ("text", "zone", "shift"),
    [
        ("ts + INTERVAL 1 HOUR", "Europe/Berlin", 3600 * 10**6),
        ("INTERVAL '90' MINUTE + ts", "UTC", 5400 * 10**6),
        ("(ts + INTERVAL 1 DAY 2 HOURS)", "UTC", 26 * 3600 * 10**6),
        ("ts + INTERVAL 1 DAY", "Europe/Berlin", None),
        ("ts + INTERVAL 1 MONTH", "UTC", None),
        ("ts + INTERVAL '1:30' HOUR TO MINUTE", "UTC", None),
        ("greatest(ts, e)", "UTC", None),
        ("date_trunc('HOUR', ts)", "UTC", None),
    ],
)
def test_what_moves_all_rows_alike_is_known(text: str, zone: str, shift: int | None) -> None:
    """The time column plus a literal span; a day is one only where no clock is put forward or back."""
    flow = tg.Flow("shifts", timezone=zone)
    flow.sink("out", flow.source("s", "ts TIMESTAMP, e TIMESTAMP", time="ts").at(text))
    (operator,) = (o for o in flow.plan if isinstance(o, plan.At))
    assert operator.shifts == (shift,)


def test_a_row_that_is_late_at_its_source_stays_late(tmp_path: Path) -> None:
    """However far it is moved, only a window with lateness takes it; what that does not is late, and not rejected."""
    flow = tg.Flow("late")
    s = flow.source("s", "t INT, k STRING, e INT", time="t", watermark=tg.bounded(0))
    flow.sink("on_time", s.at("e").gate())
    flow.sink("revised", s.at("e").window(10, lateness=5).aggregate(n="count(*)"))
    cuts = [[(12, "a", 12)], [(3, "b", 14), (4, "c", 2), (5, "d", 1), (12, "e", 13)]]
    events = [DT(t, {"t": t, "k": k, "e": e}) for t, k, e in cuts[0]] + [WM(11)]
    events += [DT(t, {"t": t, "k": k, "e": e}) for t, k, e in cuts[1]]
    expected = flow.reference({"s": events})
    assert [event.d["k"] for event in expected.late["s"]] == ["c", "d"]
    assert not expected.rejected["at#1"]
    got = run_locally(flow.plan, [{"s": cut} for cut in cuts], {}, tmp_path)
    assert_same_rows(got["on_time"], [(12, "a", 12), (13, "e", 13)])
    for sink in ("on_time", "revised"):
        assert_same_rows(got[sink], [tuple(row.values()) for row in expected.rows(sink)])


def _all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that would go back are moved all the same."""
    monkeypatch.setattr(moving, "_reason", lambda _operator: "CAST(NULL AS STRING)")


def _shifted_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frontier goes one unit beyond what rows are moved by."""
    monkeypatch.setattr(tracking, "span_value", lambda n, type_: span_value(n + 1, type_))


def _in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows stay where they are."""
    monkeypatch.setitem(lowering._LOWERINGS, plan.At, lambda _operator, rows: rows)


@pytest.mark.parametrize("mutant", [_all, _shifted_too_far, _in_place])
def test_a_broken_move_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Any) -> None:
    """The comparison of steps with the specification can fail, for each of these."""
    flow = tg.Flow("mutant")
    s = flow.source("s", "t INT, k STRING, e INT", time="t", watermark=tg.bounded(0))
    flow.sink("away", s.at("e").aggregate(by="k", n="count(*)"))
    flow.sink("shifted", s.at("t + 2").aggregate(by="k", n="count(*)"))
    cuts = [[(1, "a", 1)], [(1, "a", 3), (2, "a", 1), (2, "b", 2)], [(3, "a", 3)]]
    given = [DT(t, {"t": t, "k": k, "e": e}) for cut in cuts for t, k, e in cut]
    expected = flow.reference({"s": given})
    steps = [{"s": cut} for cut in cuts]

    def compare(directory: Path) -> None:
        got = run_locally(flow.plan, steps, {}, directory)
        for sink, rows in got.items():
            assert_same_rows(rows, [tuple(row.values()) for row in expected.rows(sink)])

    compare(tmp_path / "right")
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match="expected"):
        compare(tmp_path / "wrong")


def test_what_was_promised_is_kept_by_a_flow_that_moves_rows_less_far(tmp_path: Path) -> None:
    """A sink whose times are complete up to a bound gets no rows below it after a change: the run says so."""

    def flow(move: str) -> tg.Flow:
        found = tg.Flow("less")
        read = found.source("s", "t INT, x INT", time="t", watermark=tg.bounded(0))
        found.sink("out", read.at(move) if move else read)
        return found

    def run(move: str, *times: int) -> None:
        tables = [pa.table({"t": pa.array([t], pa.int32()), "x": pa.array([t], pa.int32())}) for t in times]

        def batches(taken: int) -> Any:
            yield from tables[taken:]

        outputs = {"out": tg.parquet(tmp_path / "out")}
        started = flow(move).start(tg.local(), {"s": batches}, outputs, tmp_path / "ck", trigger={"availableNow": True})
        assert started.await_termination(60)

    run("t + 100", 1, 5)
    with pytest.raises(tg.TidegateError, match="below 105, which it has promised"):
        run("", 1, 5, 6)
    run("t + 100", 1, 5, 6)
