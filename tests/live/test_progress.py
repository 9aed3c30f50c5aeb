"""Frontiers and reasons from a checkpoint alone are those that its run gives."""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.drawing import drawn_examples
from tests.local_engine.steps import Cut, engine_in
from tests.spark.steps import in_steps, marked_rows, with_marks
from tests.spark.test_streaming_flows import shuffled
from tidegate.check.flows import DrawnFlow, flows
from tidegate.check.ordered_flows import ordered_flows
from tidegate.engine.frontiers import frontier_to_json, settled, start_of
from tidegate.engine.runs import Run
from tidegate.engine.shape import Shape, shape_of
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Lock
from tidegate.engine.storage.sealed import sealed
from tidegate.engine.times import parse_time
from tidegate.engine.trace import DIRECTORY, FORMAT
from tidegate.engine.tracking import Tracking, in_user_times
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.plan import Source
from tidegate.live.checkpoint import checkpoint_at
from tidegate.live.progress import CommittedProgress
from tidegate.live.snapshot import snapshot
from tidegate.live.view import View, read_view
from tidegate.spec import DT, WM
from tidegate.time import Antichain

DRAWN = drawn_examples(10, 60)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(drawn=st.one_of(flows(), ordered_flows()), data=st.data())
def test_a_description_gives_the_tracker_of_its_flow(drawn: DrawnFlow, data: st.DataObject) -> None:
    """Written as JSON and read again, moved to the frontiers of a commit: what a tracker of the flow itself gives."""
    plan = plan_on_points(drawn.flow.plan)
    progress = CommittedProgress(Shape.from_json(json.loads(json.dumps(shape_of(plan).to_json()))))
    own = Tracking(plan, {s.id: start_of(s.schema) for s in plan.sources})
    for _ in range(2):
        frontiers = {s.id: data.draw(frontiers_of(s, drawn)) for s in plan.sources}
        own.move(frontiers)
        committed = {s.id: {"frontier": frontier_to_json(s.schema, frontiers[s.id])} for s in plan.sources}
        progress.move(json.loads(json.dumps({"sources": committed})))
        for operator in plan:
            if operator.schema.time:
                assert progress.frontier(progress.shape[operator.id]) == own.frontier(operator)
        t = data.draw(st.sampled_from(times_in(drawn) or [None]))
        if t is not None:
            schema = progress.schema_of_sink("out")
            reasons = [in_user_times(own.shape, reason) for reason in own.why("out", parse_time(schema, t))]
            assert progress.why("out", t) == reasons


def frontiers_of(source: Source, drawn: DrawnFlow) -> st.SearchStrategy[Any]:
    """Some of the times of a source as its frontier, or where it begins, or its end."""
    at = source.schema.coordinates
    times = [t if at is None else at.time_on_axes(t) for t in times_in(drawn)]
    few = st.lists(st.sampled_from(times), max_size=3) if times else st.just([])
    minimal = few.map(lambda ts: settled(source.schema, Antichain.minimal(source.schema.order, ts)))
    return st.one_of(minimal, st.just(start_of(source.schema)))


def times_in(drawn: DrawnFlow) -> list[Any]:
    sources = [s.id for s in drawn.flow.plan.sources]
    return [event.t for name in sources for event in drawn.inputs[name] if isinstance(event, DT)]


class Asked(Run):
    """A run that makes no steps of its own: what there is to ask of any run."""

    def stop(self, timeout: float | None = 20) -> bool:
        return True

    def finish(self) -> None:
        """Do nothing."""

    def _rows(self, paths: Any, columns: Any, condition: str) -> Any:
        return None


@pytest.mark.slow
@DRAWN
@given(drawn=flows(max_operators=4), rng=st.randoms(use_true_random=False))
def test_a_checkpoint_tells_what_its_run_tells(drawn: DrawnFlow, rng: random.Random) -> None:
    """After each step: the frontier of every operator and sink, and what holds times back, with the paths."""
    compare(drawn, rng)


@pytest.mark.slow
@DRAWN
@given(drawn=ordered_flows(max_operators=3), rng=st.randoms(use_true_random=False))
def test_so_it_does_on_times_of_other_orders(drawn: DrawnFlow, rng: random.Random) -> None:
    """Of finite orders, sums and lexicographic orders, in the user's times and operators."""
    compare(drawn, rng)


def compare(drawn: DrawnFlow, rng: random.Random) -> None:
    plan = with_marks(drawn.flow.plan)
    rows = {s.id: marked_rows(s, shuffled(drawn.inputs[s.id], rng)) for s in plan.sources}
    tables = {t.id: [tuple(row[name] for name in t.schema.names) for row in drawn.inputs[t.id]] for t in plan.tables}
    cuts = in_steps(rows, rng, steps=2)
    times = times_in(drawn)
    with TemporaryDirectory() as directory:
        readers = {s.id: Cut(s.schema, [cut[s.id] for cut in cuts]) for s in plan.sources}
        engine = engine_in(plan, readers, tables, Path(directory))
        # One that follows the run from step to step, and one that sees each view for the first time.
        follower = checkpoint_at(Path(directory) / "checkpoint")
        known = None
        for number in range(len(cuts) + 1):
            asked = rng.sample(times, min(2, len(times)))
            view = read_view(follower, known)
            known = view.progress
            for seen in (view, read_view(checkpoint_at(Path(directory) / "checkpoint"))):
                assert_same(seen, Asked(engine), asked)
            for reader in readers.values():
                reader.released = number + 1
            engine.step() if number < len(cuts) else engine.finish()
        assert read_view(follower, known).state == "ended"


def assert_same(view: View, run: Run, times: list[Any]) -> None:
    status, progress = run.status(), view.progress
    assert view.problems == []
    assert progress is not None
    told = snapshot(view)
    assert {sink["name"]: sink["frontier"] for sink in told["sinks"]} == status.frontiers
    assert {source["id"]: source["rows"] for source in told["sources"]} == dict(status.rows)
    for operator in run.running.flow:
        if operator.schema.time:
            assert progress.frontier(progress.shape[operator.id]) == run.running.published_tracking.frontier(operator)
    for t in times:
        assert progress.why("out", t) == run.why(t)


def test_a_summary_that_is_forgotten_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: with a description that leaves out by how much rows are moved."""
    flow = tg.Flow("moved")
    flow.sink("out", flow.source("s0", "t INT, k STRING, x INT", time="t").at("t + 5"))
    drawn = DrawnFlow(flow, {"s0": [DT(1, {"t": 1, "k": "a", "x": 1}), WM(3), DT(8, {"t": 8, "k": "a", "x": 2})]}, ())
    compare(drawn, random.Random(1))
    real = Shape.to_json

    def forgetful(shape: Shape) -> dict[str, Any]:
        found = real(shape)
        return found | {"stages": [{k: v for k, v in s.items() if k != "shifts"} for s in found["stages"]]}

    monkeypatch.setattr(Shape, "to_json", forgetful)
    with pytest.raises(AssertionError):
        compare(drawn, random.Random(1))


def test_a_round_that_is_running_holds_its_times_back(tmp_path: Path) -> None:
    """While a loop goes round, the checkpoint says in which round, and that is one of the reasons."""
    flow = tg.Flow("chain")
    edges = flow.source("edges", "t INT, src INT, dst INT", time="t", watermark=tg.bounded(0))
    flow.sink("out", tg.graph.components(edges, "src", "dst"))
    place, seen = checkpoint_at(tmp_path / "checkpoint"), []

    def probe(point: str, step: int) -> None:
        if point == "round":
            view = read_view(place)
            assert view.progress is not None
            seen.append((snapshot(view)["doing"], [r.path[0] for r in view.progress.why("out", 1)]))

    reader = Cut(flow.plan.sources[0].schema, [[(1, n, n + 1) for n in range(4)], [(5, 0, 9)]])
    # Only who holds the lock is taken for running.
    lock = Lock(Files(tmp_path / "checkpoint"))
    engine = engine_in(flow.plan, {"edges": reader}, {}, tmp_path, probe=probe, lock=lock)
    engine.trace.every = 0.0
    for released in (1, 2):
        reader.released = released
        engine.step()
    rounds = [(doing["round"], first) for doing, paths in seen for first in paths if first[0] == "rounds of iterate#1"]
    assert len(rounds) >= 3
    assert all(first == ("rounds of iterate#1", (1, number)) for number, first in rounds)
    assert all(doing["loop"] == "iterate#1" for doing, _ in seen)
    lock.release()


def test_no_round_is_left_behind_in_a_view() -> None:
    """A tracker that was in a round goes on to a commit without it."""
    flow = tg.Flow("chain")
    edges = flow.source("edges", "t INT, src INT, dst INT", time="t")
    flow.sink("out", tg.graph.components(edges, "src", "dst"))
    progress = CommittedProgress(shape_of(flow.plan))
    progress.move(None, {"loop": "iterate#1", "at": [4], "number": 2})
    assert ("rounds of iterate#1", (4, 2)) in [r.path[0] for r in progress.why("out", 4)]
    progress.move(None)
    assert [r.path[0][0] for r in progress.why("out", 4)] == ["edges"]


@pytest.mark.parametrize("marks", [None, {}, {"frontier": None}, {"frontier": [["SOON"]]}, {"frontier": [[1.0]]}])
def test_a_frontier_in_a_commit_that_cannot_be_read_is_refused(marks: Any) -> None:
    """The error names the source."""
    flow = tg.Flow("ints")
    flow.sink("out", flow.source("s", "t INT, k STRING", time="t"))
    progress = CommittedProgress(shape_of(flow.plan))
    with pytest.raises(BadCheckpoint, match="at: source 's'"):
        progress.move({"sources": {"s": marks}})


@pytest.mark.parametrize("shape", [{}, {"stages": [1]}, {"stages": [{"id": "s"}], "sinks": {}, "orders": {}}])
def test_a_description_whose_shape_cannot_be_read_is_refused(tmp_path: Path, shape: dict[str, Any]) -> None:
    """The error names the file."""
    whole = {"format": FORMAT, "flow": "ints", "shape": shape, "operators": [], "sinks": [], "state": {}, "asides": {}}
    (tmp_path / DIRECTORY).mkdir()
    (tmp_path / DIRECTORY / "flow").write_text(sealed(whole))
    with pytest.raises(BadCheckpoint, match=f"expected the shape of a flow in .*{DIRECTORY}/flow"):
        checkpoint_at(tmp_path).description()
