"""The example of a connector: the same class on both engines, which go on where they were."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidegate as tg

ROOT = Path(__file__).parents[1]
FIRST = ["2026-01-01T00:10:00Z home 120", "2026-01-01T00:40:00Z home 30"]
MORE = ["2026-01-01T01:20:00Z news 7", "2026-01-01T02:30:00Z home 1"]
#: The hours that are complete after the second start, and at the end.
HOURS = [(0, "home", 2, 150), (1, "news", 1, 7), (2, "home", 1, 1)]


def line(text: str) -> str:
    ts, page, size = text.split()
    return f'{{"ts": "{ts}", "page": "{page}", "bytes": {size}, "more": null}}\n'


def check_a_journal(example: dict[str, Any], session: Any, stream: Callable[[str], Any], directory: Path) -> None:
    """Run the flow of the example in three starts, on a journal that grows in between."""
    journal, out = directory / "edits.jsonl", directory / "hourly"

    def start(**options: Any) -> tg.Run:
        given = ({"edits": stream(str(journal))}, {"hourly": tg.parquet(out)}, directory / "checkpoint")
        return example["flow"].start(session, *given, **options)

    whole = "".join(map(line, MORE))
    for text in ("".join(map(line, FIRST)) + whole[:30], whole[30:]):
        with journal.open("a", encoding="utf-8") as file:
            file.write(text)
        assert start(trigger={"availableNow": True}).await_termination(120)
    assert hours(out) == HOURS[:2]
    run = start()
    run.finish()
    assert run.status().rows == {"edits": 4}
    assert hours(out) == HOURS


def hours(out: Path) -> list[tuple[Any, ...]]:
    rows = tg.read(tg.local(), out).to_arrow_table().to_pylist()
    return sorted((row["window"]["start"].hour, row["page"], row["edits"], row["bytes"]) for row in rows)


def test_the_local_engine_takes_it_as_it_is(tmp_path: Path) -> None:
    """Lines are read when they are whole, each once."""
    example = runpy.run_path(str(ROOT / "examples" / "journal.py"), run_name="journal")
    check_a_journal(example, tg.local(threads=2), example["Journal"], tmp_path)


def test_the_example_runs_as_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the hours that are complete, and that it has ended."""
    runpy.run_path(str(ROOT / "examples" / "journal.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "|home|2    |150  |" in printed
    assert "flow journal: ended" in printed


@pytest.mark.spark
def test_spark_takes_it_in_a_data_source(spark: Any, tmp_path: Path) -> None:
    """The same class, wrapped, gives the same hours."""
    example = runpy.run_path(str(ROOT / "examples" / "journal.py"), run_name="journal")
    check_a_journal(example, spark, lambda path: example["stream_on_spark"](spark, path), tmp_path)
