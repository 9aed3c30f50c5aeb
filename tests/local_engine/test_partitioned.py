"""Results in directories by the values of columns: each row once, as it was, for whoever reads it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidegate as tg
from tests.deaths import Died, Killer
from tests.local_engine.place import Place
from tests.spark.place import counts
from tidegate.engine.steps.step import POINTS
from tidegate.engine.storage import manifest
from tidegate.engine.storage.errors import CheckpointClosed
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.partitions import directory_of_value, longest_text
from tidegate.local_engine.paths import parquet_files
from tidegate.local_engine.streaming import parts, reading, written
from tidegate.local_engine.streaming.start import prepare

NOW = {"availableNow": True}
DDL = "t INT, k STRING, n BIGINT, b BOOLEAN, d DATE, x DOUBLE"
#: Texts that are hard to name a directory after; each is one that files can have.
ODD = [
    None,
    "",
    " ",
    ".",
    "..",
    "a/b",
    "../../up",
    "100%",
    "a%2Fb",
    "k=v",
    "K",
    "k",
    "it's",
    "ä ü 漢字 😀",
    "a\nb\tc",
    "[x]{y}*?",
    "\\",
    '"',
    "#:^",
    "+",
    "NULL",
    "__HIVE_DEFAULT_PARTITION__",
    "12",
    "012",
    "2026-01-01",
    "x" * longest_text("k"),
]
ROWS = [(i, text, i % 3 - 1, i % 2 == 0, date(2026, 1, 1 + i % 2), 0.5) for i, text in enumerate(ODD)]


def given(rows: list[tuple[Any, ...]]) -> pa.Table:
    types = [pa.int32(), pa.string(), pa.int64(), pa.bool_(), pa.date32(), pa.float64()]
    names = ["t", "k", "n", "b", "d", "x"]
    columns = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
    return pa.Table.from_arrays(columns, names)


def flow(late: str = "divert") -> tg.Flow:
    found = tg.Flow("apart")
    found.sink("out", found.source("s", DDL, time="t", watermark=tg.bounded(0), late=late).gate())
    return found


def run(path: Path, rows: list[tuple[Any, ...]], **options: Any) -> tg.Run:
    outputs = {"out": tg.parquet(path / "out", **options)}
    found = flow().start(tg.local(threads=1), {"s": iter([given(rows)])}, outputs, path / "checkpoint", trigger=NOW)
    with found:
        found.finish()
    return found


def read(path: Path) -> list[tuple[Any, ...]]:
    return sorted(tg.read(tg.local(), path / "out").fetchall())


@pytest.mark.parametrize("few", [True, False], ids=["by Arrow", "by DuckDB"])
@pytest.mark.parametrize("by", ["k", ("n", "k"), ("b", "d", "K"), ("t",)])
def test_rows_are_read_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: Any, few: bool) -> None:
    """Whatever the values are, and however rows are written; each is in the directory that is named after it."""
    if not few:
        monkeypatch.setattr(parts, "FEW", -1)
    run(tmp_path, ROWS, partition_by=by)
    assert read(tmp_path) == ROWS
    names = ["t", "k", "n", "b", "d", "x"]
    columns = [name.lower() for name in ((by,) if isinstance(by, str) else by)]
    for path in (tmp_path / "out").glob("step=*/**/*.parquet"):
        for row in duckdb.sql(f"SELECT * FROM read_parquet('{_escaped(path)}', hive_partitioning = false)").fetchall():
            texts = [str(row[names.index(name)]) if row[names.index(name)] is not None else None for name in columns]
            texts = [text.lower() if name == "b" and text else text for name, text in zip(columns, texts, strict=True)]
            expected = [directory_of_value(name, text) for name, text in zip(columns, texts, strict=True)]
            assert list(path.relative_to(tmp_path / "out").parts[1:-1]) == expected


def _escaped(path: Path) -> str:
    return str(path).translate(str.maketrans({"[": "[[]", "*": "[*]", "?": "[?]", "'": "''"}))


def test_other_readers_leave_out_what_they_do_not_need(tmp_path: Path) -> None:
    """DuckDB finds the columns in the names of directories, and opens the files of the values that it is asked for."""
    run(
        tmp_path,
        [(1, "a", 1, True, date(2026, 1, 1), 0.5), (2, "b c", 2, True, date(2026, 1, 2), 0.5)],
        partition_by="k",
    )
    [other] = (tmp_path / "out").glob("step=*/k=b c/*.parquet")
    other.write_text("not a Parquet file")
    whole = f"read_parquet('{tmp_path}/out/step=*/*/*.parquet', hive_partitioning = true)"
    assert duckdb.sql(f"SELECT t, k FROM {whole} WHERE k = 'a'").fetchall() == [(1, "a")]


def test_nothing_is_lost_or_doubled_by_a_crash(tmp_path: Path) -> None:
    """At whatever point a run dies, the next one goes on, and the rows are those of an undisturbed run."""
    expected = None
    for i, point in enumerate((None, *POINTS)):
        (tmp_path / str(i)).mkdir()
        place = Place(tmp_path / str(i))
        for cut in ([(1, "a", 1), (2, "b/c", 2)], [(3, "a", 3), (4, None, 4)], [(9, "", 9)]):
            place.feed.add(*cut)
        killer = Killer(point or "never", 1)
        output = tg.parquet(place.path / "out", partition_by=["k"])
        for _ in range(2):
            inputs = {"s": tg.files(place.feed.path, per_step=1)}
            files = Files(place.path / "checkpoint")
            try:
                engine = prepare(counts(delay=0).plan, place.session, inputs, {"out": output}, files, probe=killer)
                while engine.step():
                    pass
                engine.finish()
            except (Died, CheckpointClosed):
                continue
        rows = tg.read(place.session, place.path / "out").fetchall()
        assert killer.done == (point is not None)
        found = sorted(rows, key=str)
        expected = found if expected is None else expected
        assert found == expected
        assert len(found) == 5


def test_a_half_moved_step_is_moved_and_read(tmp_path: Path) -> None:
    """Where a move was cut in the middle, some files are in each place: all are read, and the rest is moved."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (1, "b", 2))
    place.feed.add((5, "c", 1))
    output = tg.parquet(place.path / "out", partition_by="k")

    def engine(probe: Any = lambda point, step: None) -> Any:
        inputs = {"s": tg.files(place.feed.path, per_step=1)}
        files = Files(place.path / "checkpoint")
        return prepare(counts(delay=0).plan, place.session, inputs, {"out": output}, files, probe=probe)

    first = engine(Killer("publishing", 1))
    first.step()
    with pytest.raises(Died):
        first.step()
    [staged] = (place.path / "out" / "_pending").iterdir()
    (place.path / "out" / "step=1").mkdir()
    (staged / "k=a").rename(place.path / "out" / "step=1" / "k=a")
    assert place.rows() == [(1, "a", 1), (1, "b", 1)]
    engine()
    assert place.rows() == [(1, "a", 1), (1, "b", 1)]
    assert sorted(p.name for p in (place.path / "out" / "step=1").glob("k=*")) == ["k=a", "k=b"]


def test_a_file_that_is_gone_changed_or_put_there_is_noticed(tmp_path: Path) -> None:
    """The manifest of a step knows the files in all of its directories."""
    for i, harm in enumerate(
        (lambda path: path.unlink(), lambda path: path.write_bytes(b"PAR1"), lambda path: path.with_name("x").touch())
    ):
        path = tmp_path / str(i)
        run(path, ROWS[:8], partition_by=("k", "b"))
        harm(next(iter(sorted((path / "out").glob("step=*/*/*/*.parquet")))))
        with pytest.raises(tg.errors.BadCheckpoint, match=r"the output in .* is not what was written: k="):
            read(path)


def test_partitions_may_change_from_run_to_run(tmp_path: Path) -> None:
    """Steps of before stay as they are, and are read together with new ones."""
    place = Place(tmp_path)
    for t, options in ((1, {}), (3, {"partition_by": "k"}), (5, {"partition_by": ("n", "k")}), (7, {})):
        place.feed.add((t, "a", t))
        place.run(counts(delay=0), outputs={"out": tg.parquet(place.path / "out", **options)})
    assert place.rows() == [(1, "a", 1), (3, "a", 1), (5, "a", 1)]


def test_a_flow_follows_a_partitioned_output(tmp_path: Path) -> None:
    """Rows and frontiers come as from any other output, odd values included."""
    run(tmp_path, ROWS, partition_by=("k", "d"))
    following = tg.Flow("following")
    source = following.source("s", DDL, time="t", watermark=tg.published(tmp_path / "out"))
    following.sink("seen", source.gate())
    stream = tg.read_stream(tg.local(), tmp_path / "out")
    outputs = {"seen": tg.parquet(tmp_path / "seen")}
    found = following.start(tg.local(threads=1), {"s": stream}, outputs, tmp_path / "other", trigger=NOW)
    assert found.await_termination(60)
    assert sorted(tg.read(tg.local(), tmp_path / "seen").fetchall()) == ROWS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "x" * (longest_text("k") + 1),
            "1 rows with texts of more than 61 characters, which are no names of directories",
        ),
        ("a\0b", "1 rows with U+0000 in a text"),
    ],
)
def test_a_text_that_names_no_directory_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """The step fails before it is committed, and says which sink and column, and what helps."""
    with pytest.raises(tg.errors.RowRefused) as caught:
        run(tmp_path, [*ROWS[:3], (9, text, 1, True, None, 0.5)], partition_by="k")
    assert f"expected values of k that the output can take, got {said}" in str(caught.value)
    assert "sink 'out'" in str(caught.value)
    assert read(tmp_path) == ROWS[:3]


def test_columns_that_cannot_name_directories_are_refused(tmp_path: Path) -> None:
    """Those that are not there or have other types at the start; names that readers overlook at once."""
    refused = [
        ("kk", tg.errors.UnknownColumn, "unknown column kk"),
        ("x", tg.errors.BadArgument, "whose values can be names of directories, got x DOUBLE"),
    ]
    for i, (by, kind, said) in enumerate(refused):
        with pytest.raises(kind, match=said) as caught:
            run(tmp_path / str(i), [], partition_by=by)
        assert "at: sink 'out'" in str(caught.value)
    for by in ("step", "_k", ".k", ("k", "K"), 3, "", ("k", None)):
        with pytest.raises(tg.errors.BadArgument, match="partition_by"):
            tg.parquet("out", partition_by=by)  # type: ignore[arg-type]


def _by_names(files: Any, **options: Any) -> str:
    return parquet_files(files, **options).replace("hive_partitioning = false", "hive_partitioning = true")


#: Where, which name, and what is there instead.
MUTANTS = {
    "names are not escaped": (written, "directory_of_value", lambda column, text: f"{column}={text}"),
    "files in directories are not listed": (manifest, "is_partition", lambda name: False),
    "values are read from names": (reading, "parquet_files", _by_names),
    "one value is left out": (written, "write_few", lambda rows, to: pq.write_table(rows.slice(1), to)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_way_to_write_or_read_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """By the run, which counts what can be seen of what it wrote; or by the rows, which are not those that went in."""
    monkeypatch.setattr(*MUTANTS[name])
    try:
        run(tmp_path / "a" / "b" / "c", ROWS, partition_by="k")
        found = read(tmp_path / "a" / "b" / "c")
    except (tg.TidegateError, OSError, duckdb.Error):
        return
    assert found != ROWS
