"""The sides of the evaluation: they give the same answers, and say when which rows could be read."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from bench.aggregates.evaluation.asked import Asked, Pools
from bench.aggregates.evaluation.cell import Cell, run_cell
from bench.aggregates.evaluation.pace import rows_of, write_file
from bench.aggregates.evaluation.same import Differ, answers, matching, read_rows, same
from bench.aggregates.evaluation.sides import SIDES, Session, Started, start
from bench.aggregates.queries import QUERIES
from pyarrow import parquet

import tidegate as tg

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRAWN = {"texts": 200, "scans": 60, "inputs": 200}


@pytest.fixture
def pools(tmp_path: Path) -> Pools:
    """Few rows."""
    return Pools(tmp_path, DRAWN)


def asked_for(name: str) -> Asked:
    """A query as it is compared: a Join in tumbling windows."""
    return Asked(name, tumbling=name[2] in "Jj")


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", [n if n in ("HHM", "HLJ") else pytest.param(n, marks=pytest.mark.slow) for n in QUERIES]
)
def test_all_sides_give_the_same_answers(spark: SparkSession, pools: Pools, tmp_path: Path, name: str) -> None:
    """By hand, on Spark and locally, on streams: the same rows, each as often."""
    same(Session(spark=spark), asked_for(name), pools, list(SIDES), tmp_path)


def test_sides_that_differ_are_told_apart(pools: Pools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A side that leaves an answer out, or gives one twice, is not the same."""
    from bench.aggregates.evaluation import same as module

    right = answers(Session(), "local", asked_for("ALM"), pools, tmp_path)
    assert right.total() == 120
    one = Counter([next(iter(right))])
    for other in (right - one, right + one):
        found = iter([right, other])
        monkeypatch.setattr(module, "answers", lambda *_, found=found: next(found))
        with pytest.raises(Differ, match="ALM: spark gives"):
            same(Session(), asked_for("ALM"), pools, ["local", "spark"], tmp_path)


def fed(started: Started, pools: Pools, given: Path, files: int) -> list[int]:
    """Give a side some files, one after the other; return how many rows it says can be read after each."""
    rows, counts = {}, []
    for number in range(files):
        name = f"{number}.parquet"
        rows[name] = 10 + number
        write_file(rows_of(pools.table("texts"), sum(rows.values()) - rows[name], rows[name], 10.0), given / name)
        until = time.time() + 60
        while time.time() < until and sum(rows.values()) > (found[-1][1] if (found := started.steps(rows)) else 0):
            started.check()
            time.sleep(0.02)
        counts.append(started.steps(rows)[-1][1])
    return counts


def test_what_the_local_engine_says_can_be_read_is_there(pools: Pools, tmp_path: Path) -> None:
    """After each file all of its rows are counted, and `tg.read` has their answers."""
    given = tmp_path / "in"
    given.mkdir()
    started = start(Session(), "local", Asked("ALM"), given, tmp_path)
    try:
        assert fed(started, pools, given, 3) == [10, 21, 33]
        assert len(tg.read(tg.local(), tmp_path / "out").fetchall()) == 33
        instants = [at for at, _ in started.steps({})]
        assert instants == sorted(instants)
        assert abs(instants[-1] - time.time()) < 60
    finally:
        started.stop()


@pytest.mark.spark
def test_what_spark_by_hand_says_can_be_read_is_there(spark: SparkSession, pools: Pools, tmp_path: Path) -> None:
    """After each file all of its rows are counted, and the files that the sink's log names have their answers."""
    given = tmp_path / "in"
    given.mkdir()
    started = start(Session(spark=spark), "hand", Asked("ALM"), given, tmp_path)
    try:
        assert fed(started, pools, given, 3) == [10, 21, 33]
        written = [parquet.read_table(file).num_rows for file in (tmp_path / "out").glob("*.parquet")]
        assert sum(written) == 33
    finally:
        started.stop()


#: A Join that answers early, as in Figure 14; one that waits for its windows; and a Map that is composed of Aggregates.
ANSWERING = [Asked("llj", tumbling=True), Asked("llj"), Asked("ALM", "A+")]


def read_after_each_step(session: Session, side: str, asked: Asked, pools: Pools, place: Path) -> None:
    """Give a side some files, and compare what can be read after each with what waits count as answered by then."""
    given, taken = place / "in", []
    given.mkdir()
    # Few rows, which are repeated: so there is a pair in every window.
    pool = matching(pools.table(asked.source)).slice(0, 5)
    started = start(session, side, asked, given, place)
    seen = set()
    try:
        for number in range(5):
            # A file has the rows of seven tenths of a second, so that windows end between files and within them.
            rows = rows_of(pool, 7 * number, 7, 10.0)
            write_file(rows, given / f"{number}.parquet")
            taken.append(rows)
            known = {f"{i}.parquet": rows.num_rows for i, rows in enumerate(taken)}
            until = time.time() + 60
            while not (steps := started.steps(known)) or steps[-1][1] < sum(known.values()):
                assert time.time() < until
                started.check()
                time.sleep(0.02)
            everything = pa.concat_tables(taken)
            expected = asked.flow().compute(tg.local(), {asked.source: everything})["out"].to_arrow_table().to_pylist()
            if not (side == "hand" or asked.early):
                # An answer is complete when a later row was taken in.
                last = max(everything["ts"].to_pylist())
                expected = [row for row in expected if row["ts"] < last]
            found = read_rows(side, place / "out")
            assert times_of(found) == times_of(expected)
            seen.add(len(found))
    finally:
        started.stop()
    # Something was to be read between two files, and not all of it at once.
    assert len(seen) > 2


def times_of(rows: list[dict[str, Any]]) -> list[datetime]:
    """Return the times of rows, in order, in UTC."""
    return sorted(row["ts"].replace(tzinfo=UTC) for row in rows)


@pytest.mark.parametrize("asked", ANSWERING, ids=str)
def test_waits_count_answers_when_they_can_be_read(pools: Pools, tmp_path: Path, asked: Asked) -> None:
    """Latency is taken from the numbers of rows that steps took in: what can be read then is what that says."""
    read_after_each_step(Session(), "local", asked, pools, tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("side", "asked"),
    [
        ("hand", ANSWERING[0]),
        *(pytest.param("spark", asked, marks=pytest.mark.slow) for asked in ANSWERING),
        pytest.param("spark", Asked("ALM", "A"), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_waits_count_answers_when_spark_has_them(
    spark: SparkSession, pools: Pools, tmp_path: Path, side: str, asked: Asked
) -> None:
    """So it is by hand, and on Spark."""
    read_after_each_step(Session(spark=spark), side, asked, pools, tmp_path)


@pytest.mark.parametrize(("name", "rate"), [("LLM", 200.0), ("llj", 20.0)])
def test_a_cell_runs_on_the_local_engine(pools: Pools, tmp_path: Path, name: str, rate: float) -> None:
    """A second of rows, after one that does not count: all of them are answered, and have waited for something."""
    found = run_cell(Session(), Cell("local", name, rate, tumbling=True, seconds=2, warm=1), pools, tmp_path)
    waits = found["windows" if name == "llj" else "rows"]
    assert waits["count"] == (2 if name == "llj" else 400)
    assert 0 < waits["median"] <= waits["p95"] <= waits["p99"]
    assert found["throughput"] > 0
    assert (found["comparisons"] > 0) == (name == "llj")
