"""The format of commits: a recorded one is written and read as it was, and one that is not whole is refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tidegate as tg
from tidegate.engine import frontiers
from tidegate.engine.commits.by_step import files_in, manifest_of
from tidegate.engine.commits.commit import Commit, Origin, Publication
from tidegate.engine.marks import Marks, Seen
from tidegate.engine.partitions import Beat
from tidegate.engine.shape import Shape, shape_of
from tidegate.engine.storage import dataclass_json
from tidegate.engine.storage.dataclass_json import as_object
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.log import Token, read_log
from tidegate.engine.storage.manifest import FileEntry
from tidegate.engine.storage.published import Outlet, Promise
from tidegate.engine.storage.sealed import sealed, unsealed
from tidegate.engine.storage.state import Part, State
from tidegate.flow.clocks import ticking
from tidegate.flow.orders.on_points import plan_on_points
from tidegate.flow.plan import Plan
from tidegate.time import Int, Sum

#: What a version before this test has written.
RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> dict[str, Any]:
    """The content of a recorded file."""
    return unsealed((RECORDED / f"{name}.json").read_text())


def inside(found: Any, path: Iterable[Any]) -> Any:
    """What is in JSON under some keys and positions."""
    for key in path:
        found = found[key]
    return found


@pytest.fixture(scope="module")
def flow() -> Plan:
    """A flow with a source for every strategy that remembers something."""
    flow = tg.Flow("recorded")
    at, number = "ts TIMESTAMP, k STRING", "t INT, k STRING"
    flow.source("bounded", "v INT, w INT, k STRING", time=("v", "w"), watermark=tg.bounded(2, 1))
    flow.source("parts", number, time="t", watermark=tg.bounded(2, by="k", idle="40 seconds"))
    flow.source("behind", at, time="ts", watermark=tg.bounded("1 minute", by="k", clock="10 minutes"))
    flow.source("silent", at, time="ts", watermark=tg.bounded("1 minute", clock="10 minutes"))
    flow.source("arriving", "k STRING", time=tg.arrival("ts"))
    flow.source("followed", number, time="t", watermark=tg.published("out/counts"))
    flow.source("marked", number, time="t", watermark=tg.punctuated("k = 'w'"))
    flow.source("ticking", "ts TIMESTAMP", time="ts")
    sides = tg.ordered("t", Sum(Int(), Int()))
    flow.source("sides", "t STRUCT<side: STRING, value: INT>", time=sides, watermark=tg.bounded(2, 1))
    stage = flow.source("last", number, time="t").at("t + 3").window(10).aggregate(n="count(*)")
    flow.sink("out", stage)
    return ticking(plan_on_points(flow.plan), {"ticking": tg.clock("1 minute")})


def recorded_commit(flow: Plan) -> Commit:
    """A commit in which every field says something."""
    second = 1_000_000
    seen = {
        "bounded": Seen(rows=9, late=2, greatest=(5, 2)),
        "parts": Seen(
            rows=3,
            rejected=1,
            partitions=(("a", (30,)), ("b", (12,)), (None, (20,))),
            lines=(Beat(0, 5 * second).line, Beat(1, 9 * second).line),
        ),
        "behind": Seen(rows=1, partitions=(("a", (60 * second,)),), lines=(Beat(1, 90 * second).line,)),
        "arriving": Seen(rows=1, greatest=(91 * second,), lines=(Beat(1, 90 * second).line,)),
        "followed": Seen(
            rows=6,
            steps=((0, 3), (1, 2), (3, 1)),
            lines=(Promise(0, 3, ((2,),)).line, Promise(1, 9, ((4,), ("TOP",))).line, Promise(2, 9, ()).line),
        ),
        "marked": Seen(rows=2, watermarks=1, marks=((7,),)),
        "sides": Seen(rows=1, greatest=(None, 8)),  # type: ignore[arg-type]
        "ticking": Seen(rows=2, greatest=(120 * second,)),
    }
    marks = {s.id: Marks.start(s).after(s, seen[s.id]) if s.id in seen else Marks.start(s) for s in flow.sources}
    files = (FileEntry("part-0.parquet", 900, 4, 123, 456), FileEntry("k=a/part-1.parquet", 70, 1, 12, None))
    parts = (Part("state/a", 4, (9, 2), (1, 0), files), Part("state/b", 1, None, None, files[:1]))
    return Commit(
        7,
        Origin("local", None, "q", "o", {"bounded": {"kind": "files", "at": {"offset": 3}}}),
        marks,
        {"aggregate-1": (State(parts), State()), "fold-2": (State((Part("state/c", 2),)),)},
        (Publication("/out", "_pending/7", "step=7", files=files), Publication("/ck", "p", "o/step=7", "out")),
        {"out": 5},
        {"name": "recorded", "origins": {"bounded": "0"}},
        ended=True,
        outlets={
            "out": Outlet("/out", 12, ((3,), ("BOTTOM",)), 7),
            "new": Outlet("/new"),
            "done": Outlet("/d", 1, (), 6),
        },
        aside={"late/bounded": 2},
        number=8,
        token=Token(3, "me"),
    )


def test_a_commit_is_written_byte_for_byte_as_it_was_recorded(flow: Plan) -> None:
    """With the memory of every strategy, parts, files, publications and outlets; and so is the shape of its flow."""
    commit = recorded_commit(flow)
    written = commit.to_json(flow) | {"number": commit.number, "token": as_object(commit.token)}
    assert sealed(written) + "\n" == (RECORDED / "commit.json").read_text()
    assert sealed(shape_of(flow).to_json()) + "\n" == (RECORDED / "shape.json").read_text()


def test_a_recorded_commit_is_read_as_what_was_written(flow: Plan) -> None:
    """Each value and its type; and so is the shape of its flow."""
    assert Commit.from_json(flow, recorded("commit")) == recorded_commit(flow)
    assert Shape.from_json(recorded("shape")) == shape_of(flow)


def test_a_commit_of_an_earlier_version_is_read(flow: Plan) -> None:
    """It names no engine, no positions and no files, and its parts have fewer fields."""
    found, now = recorded("commit"), recorded_commit(flow)
    del found["engine"], found["positions"], found["aside"]
    found["format"] = 1
    for publication in found["publish"]:
        del publication["files"]
    first, second = found["state"]["aggregate-1"][0]
    del first[4:], second[2:]
    before = Commit.from_json(flow, found)
    assert before.origin == Origin("spark", None, "q", "o")
    assert before.publish == tuple(replace(publication, files=()) for publication in now.publish)
    assert before.state["aggregate-1"][0].parts == (Part("state/a", 4, (9, 2), (1, 0)), Part("state/b", 1))
    assert before.aside == {}


def test_a_field_that_no_version_had_is_ignored_in_an_object(flow: Plan) -> None:
    """A later version may add one, as earlier ones did."""
    found = recorded("commit")
    found["outlets"]["out"]["more"] = found["publish"][0]["more"] = 1
    assert Commit.from_json(flow, found) == recorded_commit(flow)


OUTLET, FILE = ("outlets", "out"), ("publish", 0, "files", 0)
PARTS, FOLLOWING = ("sources", "parts", "partitions"), ("sources", "followed", "following")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (OUTLET, 3),
        ((*OUTLET, "rows"), None),
        ((*OUTLET, "rows"), "12"),
        ((*OUTLET, "frontier"), [3]),
        ((*OUTLET, "frontier"), "BOTTOM"),
        (FILE, ["part-0.parquet", 900, 4, 123]),
        (FILE, ["part-0.parquet", 900, 4, 123, 456, 789]),
        ((*FILE, 1), "900"),
        (("publish", 1, "call"), None),
        (("batch",), "7"),
        (("positions",), []),
        (("token", "lock"), None),
        (("state", "aggregate-1", 0, 0), ["state/a"]),
        (("state", "aggregate-1", 0, 0, 2), 9),
        ((*PARTS, "members", 0), ["a", [30]]),
        ((*PARTS, "members", 0, 1, 0), None),
        ((*PARTS, "beat"), [1]),
        (("sources", "arriving", "clock", "latest"), "91"),
        ((*FOLLOWING, "waiting", 0), [1, 9]),
        ((*FOLLOWING, "later", 0), 1),
        ((*FOLLOWING, "later", 0), [1]),
        ((*FOLLOWING, "later", 0), [1, 2, 3]),
        ((*FOLLOWING, "later"), {}),
        # Python would take each of these for a number, or for a list.
        ((*OUTLET, "rows"), True),
        ((*OUTLET, "rows"), 12.0),
        ((*OUTLET, "rows"), float("nan")),
        ((*FILE, 2), True),
        (("batch",), False),
        (("outputs", "out"), True),
        (("outputs", "out"), None),
        (("aside", "late/bounded"), 2.0),
        (("aside",), None),
        (("positions", "bounded"), None),
        (("positions", "bounded", "kind"), None),
        (("positions", "bounded", "at"), 3),
        (("state", "aggregate-1"), {}),
        (("state", "aggregate-1", 0), {}),
        (("state", "aggregate-1", 0), None),
        (("state", "aggregate-1", 0), "ab"),
        (("state", "aggregate-1", 0, 0), "ab"),
        (("state", "aggregate-1", 0, 0), {"path": "state/a", "rows": 4}),
        (("publish", 0), None),
        (("publish", 0), []),
        (("sources", "bounded"), None),
        (("sources", "bounded", "rows"), None),
        (("sources", "bounded", "late"), True),
        (("sources", "bounded", "frontier"), None),
        (("sources", "bounded", "frontier"), {}),
        (("sources", "bounded", "frontier", 0), [3]),
        (("sources", "bounded", "frontier"), [[3, 1], [4, 2]]),
        (("sources", "bounded", "frontier", 0, 0), 3.0),
        (("sources", "bounded", "frontier", 0, 0), True),
        (("sources", "bounded", "frontier", 0, 0), None),
        (("sources", "bounded", "frontier", 0, 0), "SOON"),
        (("sources", "behind", "frontier", 0, 0), 10**30),
        (("sources", "sides", "frontier", 0, 0), "middle"),
        (("sources", "sides", "frontier", 1, 1), 3.5),
        (("sources", "bounded", "greatest"), "52"),
        (("sources", "bounded", "greatest"), {}),
        (("sources", "bounded", "greatest"), [5]),
        (("sources", "bounded", "greatest", 0), 5.5),
        (("sources", "bounded", "greatest", 0), None),
        (("sources", "sides", "greatest"), [8]),
        (("sources", "ticking", "tick"), "120"),
        (("sources", "arriving", "clock"), {}),
        (("sources", "arriving", "clock"), 0),
        (("sources", "behind", "clock"), []),
        ((*PARTS, "by"), None),
        ((*PARTS, "members", 0, 1), [30, 30]),
        ((*PARTS, "members", 0, 1), []),
        (PARTS, []),
    ],
)
def test_a_value_of_another_type_is_refused(flow: Plan, path: tuple[Any, ...], value: Any) -> None:
    """Commits of the first format have no checksum, and each field is checked by its type."""
    found = recorded("commit")
    *places, last = path
    inside(found, places)[last] = value
    with pytest.raises(BadCheckpoint, match=r"expected (.* in a checkpoint|a frontier with times of .*), got"):
        Commit.from_json(flow, found)


@pytest.mark.parametrize(
    "place",
    [
        ("publish", 0),
        OUTLET,
        ("publish", 1),
        ("token",),
        PARTS,
        ("sources", "arriving", "clock"),
        FOLLOWING,
    ],
)
def test_a_field_that_is_missing_is_refused(flow: Plan, place: tuple[Any, ...]) -> None:
    """Whichever it is; a default of the class is not taken for it."""
    optional = {"by"}
    for name in inside(recorded("commit"), place).keys() - optional:
        found = recorded("commit")
        del inside(found, place)[name]
        with pytest.raises(BadCheckpoint, match=rf"as an object with .*{name}.* in a checkpoint, got"):
            Commit.from_json(flow, found)


@pytest.mark.parametrize("name", ["frontier", "shown", "rows", "late", "rejected", "watermarks"])
def test_a_source_that_lacks_a_key_is_refused_with_its_name(flow: Plan, name: str) -> None:
    """The error says which source it is, and which key."""
    found = recorded("commit")
    del found["sources"]["marked"][name]
    with pytest.raises(BadCheckpoint, match=rf"got one without {name}: [\s\S]*at: source 'marked'"):
        Commit.from_json(flow, found)


def test_a_commit_with_fewer_sources_is_refused(flow: Plan) -> None:
    """Sources are matched by position, so each after the missing one would get the marks of another."""
    found = recorded("commit")
    del found["sources"]["parts"]
    with pytest.raises(BadCheckpoint, match="expected 10 sources in a checkpoint, got"):
        Commit.from_json(flow, found)


def test_a_state_that_is_missing_is_refused_unless_the_input_has_ended(flow: Plan) -> None:
    """It would be taken for a state without rows."""
    found = recorded("commit") | {"ended": False}
    found["flow"]["state"] = {"aggregate-1": "aggregate", "fold-2": "fold"}
    assert set(Commit.from_json(flow, found).state) == {"aggregate-1", "fold-2"}
    del found["state"]["fold-2"]
    with pytest.raises(BadCheckpoint, match=r"expected the state of fold in a checkpoint, got only .*aggregate'"):
        Commit.from_json(flow, found)
    assert set(Commit.from_json(flow, found | {"ended": True}).state) == {"aggregate-1"}


@pytest.mark.parametrize("name", ["engine", "positions", "aside"])
def test_a_commit_of_this_format_has_what_earlier_ones_lack(tmp_path: Path, name: str) -> None:
    """Without it, the run would go on as one of another engine, or from the beginning of its sources."""
    found = recorded("commit") | {"ended": False}
    del found[name]
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "8").write_text(sealed(found))
    with pytest.raises(BadCheckpoint, match=f"commits/8, .* got an object without '{name}'"):
        read_log(Files(tmp_path))
    (tmp_path / "commits" / "8").write_text(sealed(found | {"format": 1}))
    assert read_log(Files(tmp_path)).number == 8


@pytest.mark.parametrize("entry", [None, ["part-0.parquet", 900], ["part-0.parquet", "900", 4, 123, 456]])
def test_a_file_in_a_manifest_that_cannot_be_read_is_refused(entry: Any) -> None:
    """The error names the manifest."""
    found = manifest_of(1, 0, [FileEntry("part-0.parquet", 900, 4, 123, 456)])
    assert files_in(found, "out/step=1/_files.json")[0].rows == 4
    with pytest.raises(BadCheckpoint, match=r"in a checkpoint, got [\s\S]*at: out/step=1/_files.json"):
        files_in(found | {"files": [entry]}, "out/step=1/_files.json")


@pytest.mark.parametrize(
    "text", ['{"beat": 1.5, "at": 2}', '{"beat": Infinity, "at": 2}', '{"beat": true, "at": 2}', "[]"]
)
def test_a_beat_that_is_no_number_is_refused(text: str) -> None:
    """It is not rounded."""
    with pytest.raises(BadCheckpoint, match="expected a beat of the clock"):
        Beat.parse(text)


def test_without_the_checks_of_types_wrong_values_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: a reader that takes values as they are lets them through."""
    found = recorded("commit")["outlets"]["out"] | {"rows": True}
    monkeypatch.setattr(dataclass_json, "value_from_json", lambda _type, value, _what: value)
    assert dataclass_json.from_object(Outlet, found).rows is True


def test_without_the_comparison_of_texts_a_frontier_is_rounded(flow: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: 3.5 would be read as 3, which is another frontier."""
    found = recorded("commit")
    found["sources"]["bounded"]["frontier"][0] = [3.5, 1]
    with pytest.raises(BadCheckpoint, match="expected a frontier with times of v, w"):
        Commit.from_json(flow, found)
    monkeypatch.setattr(frontiers.json, "dumps", lambda _: "")
    assert list(Commit.from_json(flow, found).marks["bounded"].frontier) == [(3, 1)]
