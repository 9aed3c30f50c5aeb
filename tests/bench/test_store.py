"""What is kept of runs, and which code it depends on."""

from __future__ import annotations

from pathlib import Path

from bench.aggregates.evaluation.sides import SIDES
from bench.aggregates.evaluation.store import Store, digest


def test_a_store_keeps_whole_lines(tmp_path: Path) -> None:
    """A line that a kill has left half is not there, and does not spoil the next."""
    path = tmp_path / "cells.jsonl"
    store = Store(path)
    store.put("code", {"a": 1}, {"x": 1.5})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"code": "code", "cell": {"a": 2}, "resu')
    again = Store(path)
    assert again.get("code", {"a": 1}) == {"x": 1.5}
    assert again.get("code", {"a": 2}) is None
    again.put("code", {"a": 2}, {"x": 2})
    assert Store(path).get("code", {"a": 2}) == {"x": 2}
    assert Store(path).get("other", {"a": 1}) is None


def test_the_code_of_a_side_is_what_its_figures_depend_on(tmp_path: Path) -> None:
    """Spark by hand is not measured again because Tidegate changes, and no engine because the other one does."""
    packages = ("flow/agreed", "cli", "engine", "local_engine", "spark")
    for name in ("bench/aggregates/queries", "bench/aggregates/evaluation", *(f"src/tidegate/{p}" for p in packages)):
        (tmp_path / name).mkdir(parents=True)
    parts = ("asked", "by_hand", "cell", "pace", "rule", "sides", "waits")
    names = [f"bench/aggregates/evaluation/{part}.py" for part in parts]
    names += ["bench/aggregates/measure.py", "bench/latency.py"]
    for name in names:
        (tmp_path / name).write_text("", encoding="utf-8")

    def codes() -> dict[str, str]:
        return {side: digest(side, root=tmp_path) for side in SIDES}

    def changed_by(name: str, text: str) -> set[str]:
        before = codes()
        (tmp_path / name).write_text(text, encoding="utf-8")
        after = codes()
        return {side for side in SIDES if before[side] != after[side]}

    assert changed_by("src/tidegate/engine/new.py", "x = 1") == {"spark", "local"}
    assert changed_by("src/tidegate/engine/new.py", '"""In other words."""\nx = 1  # one') == set()
    assert changed_by("src/tidegate/local_engine/new.py", "x = 1") == {"local"}
    assert changed_by("src/tidegate/flow/agreed/new.py", "x = 1") == {"local"}
    assert changed_by("src/tidegate/spark/new.py", "x = 1") == {"spark"}
    assert changed_by("src/tidegate/cli/run.py", "x = 2") == set()
    for name in names:
        assert changed_by(name, "changed") == set(SIDES), name
    assert digest("hand", root=tmp_path, version=lambda _: "0") != digest("hand", root=tmp_path)
