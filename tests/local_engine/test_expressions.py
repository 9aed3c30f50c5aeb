"""Expressions on the local engine: whose functions they use, and what is refused of users alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.flow.errors import NotSupported
from tidegate.local_engine.expressions import TranslationScope

ROWS = pa.table({"t": pa.array([1, 2], pa.int32()), "s": ["a", "b"], "x": pa.array([1, 2], pa.int32())})


def flow_of(make: Callable[[tg.Stream], tg.Stream], **watermark: object) -> tg.Flow:
    """Build a flow of one source."""
    flow = tg.Flow("f")
    flow.sink("out", make(flow.source("rows", "t INT, s STRING, x INT", time="t", **watermark)))
    return flow


@pytest.mark.parametrize("name", ["upper", "UPPER", '"+"', "list_transform"])
def test_macros_of_users_do_not_replace_functions(name: str) -> None:
    """A given connection in which a macro would be taken for a function of DuckDB's is refused, and says which."""
    connection = duckdb.connect(":memory:")
    connection.execute(f"CREATE MACRO {name}(a, b := 1) AS 42")
    flow = flow_of(lambda rows: rows.select("t", "upper(s) AS u", "x + 1 AS y"))
    with pytest.raises(NotSupported, match=re.escape(f"got macros called {name.lower().strip(chr(34))}")):
        flow.compute(connection, {"rows": ROWS})
    connection.execute(f"DROP MACRO {name}")
    assert sorted(flow.compute(connection, {"rows": ROWS})["out"].fetchall()) == [(1, "A", 2), (2, "B", 3)]


def test_other_macros_do_no_harm() -> None:
    """A macro with a name of its own, or in another schema, or for one connection only, is left alone."""
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE SCHEMA mine; CREATE MACRO mine.upper(s) AS 42; CREATE MACRO loud(s) AS upper(s)")
    connection.execute("CREATE TEMP MACRO upper(s) AS 42; USE mine")
    flow = flow_of(lambda rows: rows.select("t", "upper(s) AS u"))
    assert sorted(flow.compute(connection, {"rows": ROWS})["out"].fetchall()) == [(1, "A"), (2, "B")]


@pytest.mark.parametrize("text", ["xxhash64(x)", "timestampdiff(MICROSECOND, NULL, NULL)"])
@pytest.mark.parametrize(
    "make",
    [
        lambda rows, text: rows.select("t", f"{text} AS h"),
        lambda rows, text: rows.where(f"{text} > 0"),
        lambda rows, text: rows.aggregate(f"max({text}) AS h"),
        lambda rows, text: rows.aggregate(f"max(x) FILTER (WHERE {text} > 0) AS h"),
        lambda rows, text: rows.aggregate("count(*) AS n", by=[f"{text} AS h"]),
        lambda rows, text: rows.accumulate(f"max({text}) AS h"),
        lambda rows, text: rows.deduplicate(by=[f"{text} AS h"]),
        lambda rows, text: rows.window(4, every=2).aggregate(f"max({text}) AS h"),
        lambda rows, text: rows.join(rows.select("t", "s", "x AS y"), on="s", where=f"{text} > 0"),
    ],
)
def test_what_only_the_engine_may_write_is_refused_of_users(make: Callable[..., tg.Stream], text: str) -> None:
    """Wherever users write expressions, functions that the engine alone may use are refused at the start, by name."""
    flow = flow_of(lambda rows: make(rows, text))
    with pytest.raises(NotSupported, match=f"cannot compute {text.partition('(')[0]} as Spark does"):
        flow.compute(tg.local(), {"rows": ROWS})


def test_a_condition_is_a_truth_value() -> None:
    """Rows are not chosen by a number, as DuckDB would; the refusal shows the number."""
    scope = TranslationScope({"": {"x": "INT", "b": "BOOLEAN"}}, lambda *_: "")
    assert scope.condition("b AND x > 1")
    with pytest.raises(NotSupported, match=r"cannot compute INT as a condition as Spark does\n  x\n  \^"):
        scope.condition("x")
    with pytest.raises(NotSupported, match=r"cannot compute INT as a condition as Spark does\n  b AND x\n        \^"):
        scope.condition("b AND x")


def test_a_unit_is_not_ignored() -> None:
    """What the engine counts in microseconds is not counted in them if another unit is asked for."""
    scope = TranslationScope({"": {"t": "TIMESTAMP_NTZ", "u": "TIMESTAMP_NTZ"}}, lambda *_: "")
    assert scope.scalar("timestampdiff(MICROSECOND, t, u)") == (
        'CAST(epoch_us("u") - epoch_us("t") AS BIGINT)',
        "BIGINT",
    )
    with pytest.raises(NotSupported, match="only MICROSECOND is supported here"):
        scope.scalar("timestampdiff(DAY, t, u)")


def test_names_in_functions_are_no_columns() -> None:
    """No column of the engine is called as the parameters of functions in what is translated are called."""
    root = Path(__file__).parents[2] / "src" / "tidegate"
    named = [path for path in root.rglob("*.py") if "__λ" in path.read_text(encoding="utf-8")]
    assert {path.parent.name for path in named} == {"agreed"}
    repeat = TranslationScope({"": {"__n": "INT", "__c": "STRING", "n": "INT"}}, lambda *_: "")
    sql, _ = repeat.typed("array_repeat(__n, n)")
    assert duckdb.sql(f"SELECT {sql} FROM (SELECT 7 AS __n, 2 AS n)").fetchall() == [([7, 7],)]


def test_times_without_a_zone_are_counted() -> None:
    """Windows over times without a zone are placed as those over instants are."""
    flow = tg.Flow("f")
    rows = flow.source("rows", "t TIMESTAMP_NTZ, x INT", time="t").where("t >= '2020'")
    flow.sink("out", rows.window("1 hour").aggregate("sum(x) AS s"))
    times = [datetime(2020, 1, 1, 1, 5), datetime(2020, 1, 1, 1, 50), datetime(2019, 1, 1)]
    given = pa.table({"t": pa.array(times, pa.timestamp("us")), "x": pa.array([1, 2, 3], pa.int32())})
    ((end, window, total),) = flow.compute(tg.local(), {"rows": given})["out"].fetchall()
    assert (end, total) == (datetime(2020, 1, 1, 1, 59, 59, 999999), 3)
    assert window["start"] == datetime(2020, 1, 1, 1)
