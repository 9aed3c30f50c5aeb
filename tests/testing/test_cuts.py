"""Any cut: the same events otherwise cut give the same answers; where they do not, the smallest case is printed."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from tests.testing.flows import counts, joined

import tidegate as tg
import tidegate.testing as tt
from tidegate.engine.policies.by_hand import ByDeclaredTimes
from tidegate.engine.steps import step as steps
from tidegate.engine.storage.state import State
from tidegate.local_engine.streaming.feeds.by_hand import ManualFeed
from tidegate.spec import WM
from tidegate.testing.cuts import check_cuts
from tidegate.testing.engines import Setting, SourceInput
from tidegate.testing.recording import Asked, Restarted, Stepped, recorded
from tidegate.testing.variations import varied


@tt.any_cut(count=6)
def test_a_join_does_not_depend_on_cuts(engine: tt.Engine) -> None:
    """Two sources, late rows, answers in between: every question has the same answer whatever the steps."""
    test = tt.trial(joined, engine, tables={"names": [("a", "Ann"), ("b", "Bo")]})
    test.send("left", (1, "a", 1), (2, "b", 2), (3, "a", 3), (None, "a", 9))
    test.send("right", (1, "a", 4), (2, "a", 5), (3, "a", 6))
    test.advance("left", 2)
    test.advance("right", 1)
    test.expect("out", [(1, "a", 1, 4, "Ann")])
    test.send("left", (2, "a", 7), (3, "b", 8))
    test.advance("right", 5)
    assert [row["x"] for row in test.late("left")] == [7]
    test.expect("out", [(2, "b", 2, None, "Bo")])
    test.finish()


@tg.testing.any_cut
def test_it_is_there_as_tg_testing_any_cut() -> None:
    """The decorator needs no engine, no arguments and no expectations: all that can be read at the end is compared."""
    test = tt.trial(counts)
    test.send("s", *((t % 4, "ab"[t % 2]) for t in range(12)))
    test.advance("s", 1)


def events_of(ops: list[Any]) -> dict[str, list[Any]]:
    """What each source was given, in order, with the number of the step."""
    found: dict[str, list[Any]] = {}
    for n, op in enumerate(op for op in ops if isinstance(op, Stepped)):
        for name, given in op.given.items():
            found.setdefault(name, []).extend([(n, row) for row in given.rows] + [(n, WM(t)) for t in given.complete])
    return found


def test_variations_keep_what_is_late() -> None:
    """The same rows and watermarks come, watermarks in their order, and no row is with or before one that made it late.

    Some steps are cut, some joined, rows change places, and there are restarts: over some variations, each happens.
    """
    setting = Setting(counts().plan, {}, {}, declared=False, now=None)  # type: ignore[arg-type]
    rows = [{"t": t, "k": str(i)} for i, t in enumerate((1, 2, 1, 3, 1, 4, 2, 5))]
    plain = [
        Stepped({"s": SourceInput(tuple(rows[:4]), (1,))}),
        Stepped({"s": SourceInput(tuple(rows[4:6]), (3,))}),
        Asked("rows", "out", []),
        Stepped({"s": SourceInput(tuple(rows[6:]))}),
    ]
    many, seen = random.Random(1), set()
    for _ in range(40):
        other = varied(setting, plain, many)
        assert [type(op) for op in other if isinstance(op, Asked)] == [Asked]
        seen |= {"restart"} if any(isinstance(op, Restarted) for op in other) else set()
        seen |= {f"{sum(isinstance(op, Stepped) for op in other)} steps"}
        came = events_of(other)["s"]
        assert sorted(id(e) for _, e in came if isinstance(e, dict)) == sorted(map(id, rows))
        assert [e for _, e in came if isinstance(e, WM)] == [WM(1), WM(3)]
        seen |= {"order"} if [e for _, e in came if isinstance(e, dict)] != rows else set()
        at = {e.t: n for n, e in came if isinstance(e, WM)}
        step_of = {id(e): n for n, e in came if isinstance(e, dict)}
        assert all(step_of[id(row)] <= at[1] for row in rows[:4])
        assert step_of[id(rows[4])] > at[1]
        assert step_of[id(rows[6])] > at[3]
    assert {"restart", "order"} < seen
    assert len(seen) > 5


def test_a_seed_gives_the_same_variations() -> None:
    """So a failure can be repeated."""
    setting = Setting(counts().plan, {}, {}, declared=False, now=None)  # type: ignore[arg-type]
    plain = [Stepped({"s": SourceInput(tuple({"t": t, "k": "a"} for t in range(9)), (4,))})]
    one, same, other = (varied(setting, plain, random.Random(seed)) for seed in (5, 5, 6))
    assert one == same != other


def first_of_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A mistake of a user: what a batch is depends on the cut."""
    return batch.slice(0, 1)


def test_a_function_that_depends_on_the_cut_is_found(engine: tt.Engine) -> None:
    """The error says what the test's steps give and what others do, and ends with a script that shows it."""
    flow = tg.Flow("first")
    source = flow.source("s", "t INT, k STRING", time="t")
    flow.sink("out", source.map_batches(first_of_batch, "k STRING"))

    @tt.any_cut
    def test() -> None:
        trial = tt.trial(flow, engine)
        trial.send("s", *((t, "a") for t in range(6)))
        trial.advance("s", 9)

    with pytest.raises(tt.NotAsExpected, match="the same events give other rows when they are cut otherwise") as caught:
        test()
    assert f"at: flow 'first' on {engine.name}" in str(caught.value)
    (note,) = caught.value.__notes__
    program = note.removeprefix("to paste:\n\n")
    assert "from tests.testing.test_cuts import first_of_batch" in program
    # Two rows are enough to tell which comes first.
    assert program.count("'t':") <= 3
    with pytest.raises(tt.NotAsExpected, match="sink 'out'"):
        exec(program, {})


def story(engine: str) -> None:
    """Rows in two steps, a late one, and a restart."""
    test = tt.trial(counts, engine)
    test.send("s", (1, "a"), (1, "a"), (2, "b"), (3, "b"))
    test.send("s", (1, "b"), (2, "a"))
    test.expect("out", [])
    test.advance("s", 1)
    test.expect("out", [(1, "a", 2), (1, "b", 1)])
    test.restart()
    test.send("s", (1, "late"))
    assert [row["k"] for row in test.late("s")] == ["late"]
    test.finish()
    test.expect("out", [(2, "a", 1), (2, "b", 1), (3, "b", 1)])


def silent(*_: Any) -> list[Any]:
    """A step that sets nothing aside."""
    return []


def too_early(self: ByDeclaredTimes, memory: None, frontier: Any, seen: Any) -> tuple[None, Any]:
    """A frontier that is past everything as soon as anything comes."""
    return memory, type(frontier)(frontier.order, [])


def from_the_beginning(self: ManualFeed, position: Any, noted: Any) -> None:
    """A position that is forgotten by a restart."""


def forgetful(self: State, part: Any) -> State:
    """State that knows what one step has added, and nothing of the steps before."""
    return State((part,)) if part is not None and part.rows else self


@pytest.mark.parametrize(
    ("where", "name", "broken", "said"),
    [
        (steps, "set_aside", silent, "late"),
        (ByDeclaredTimes, "after", too_early, "not expected"),
        (ManualFeed, "resume", from_the_beginning, "a"),
        (State, "grown", forgetful, "missing|not"),
    ],
    ids=["drops late rows in silence", "answers early", "reads again after a restart", "forgets the steps before"],
)
def test_broken_engines_are_caught(
    where: Any, name: str, broken: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The story that the specification and the local engine tell alike is another one on each of them."""
    story("specification")
    story("local")
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(Exception, match=said):
        story("local")


@pytest.mark.parametrize(
    ("where", "name", "broken", "least"),
    [(State, "grown", forgetful, 2), (ManualFeed, "resume", from_the_beginning, 2)],
    ids=["forgets the steps before", "answers again after a restart"],
)
def test_engines_that_depend_on_the_cut_are_caught_and_shrunk(
    where: Any, name: str, broken: Any, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One step hides the mistake; other cuts show it, with as few rows as it takes, in a script that shows it too."""
    with recorded() as found:
        test = tt.trial(counts, "local")
        test.send("s", *((t % 2, "ab"[t % 3 > 0]) for t in range(6)))
        test.finish()
        test.expect("out", [(0, "a", 1), (0, "b", 2), (1, "a", 1), (1, "b", 2)])
    check_cuts(found[0], count=2)
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(tt.NotAsExpected) as caught:
        check_cuts(found[0])
    program = caught.value.__notes__[0].removeprefix("to paste:\n\n")
    assert program.count("'t':") - program.split("test.expect")[1].count("'t':") == least, program
    with pytest.raises(tt.NotAsExpected):
        exec(program, {})


def test_the_number_of_variations_is_looked_at() -> None:
    """None are no check."""
    with pytest.raises(tg.TidegateError, match="expected how often to cut otherwise, 1 or more, got 0"):
        tt.any_cut(count=0)
