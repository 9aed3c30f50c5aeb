"""Joins that DuckDB would do by inequalities: every kind chooses the rows that its condition says."""

from __future__ import annotations

from random import Random

import duckdb
import pyarrow as pa
import pytest

from tidegate.flow.agreed.compile import compiled
from tidegate.flow.agreed.queries import compiled_query
from tidegate.flow.schema import Column
from tidegate.local_engine.backend import LocalBackend
from tidegate.local_engine.hoisted import _on

KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"]
COLUMNS = (
    Column("i", "BIGINT"),
    *(Column(name, "DOUBLE") for name in "pquv"),
    Column("k", "BIGINT"),
    Column("s", "STRING"),
)
TYPES = {f"{table}.{column.name}": column.type for table in "lr" for column in COLUMNS}
INEQUALITIES = "l.p <= r.q AND r.p <= l.q AND l.u <= r.v"
CONDITIONS = {
    "few": "l.p <= r.q AND (l.v = r.u OR l.p = r.v)",
    "comparisons": INEQUALITIES,
    "and another": f"{INEQUALITIES} AND (l.v = r.u OR l.p = r.v)",
    "and one side": f"{INEQUALITIES} AND l.i < 40 AND r.i > 20",
    "unequal": f"{INEQUALITIES} AND l.k <> r.k",
    "between": "l.p BETWEEN r.p AND r.q AND l.u <= r.v AND (l.v = r.u OR l.k > 2)",
    "case": f"CASE WHEN l.k > 3 THEN true ELSE r.k > 2 END AND {INEQUALITIES}",
    "equation": f"l.k = r.k AND {INEQUALITIES} AND (l.v > r.u OR l.p = r.v)",
    "equation of one side": f"l.k = l.i AND {INEQUALITIES} AND (l.v > r.u OR l.p = r.v)",
    "equation that may fail": f"{INEQUALITIES} AND l.k % 4 = r.k % 4",
    "equation of casts": f"{INEQUALITIES} AND CAST(l.s AS BIGINT) = r.k",
    "tried before": f"{INEQUALITIES} AND lower(l.s) = r.s",
}


def given(seed: int, rows: int = 60) -> pa.Table:
    rng = Random(seed)
    columns = {name: [float(rng.randrange(40)) for _ in range(rows)] for name in "pquv"}
    keys = [rng.randrange(6) for _ in range(rows)]
    return pa.table({"i": range(rows), **columns, "k": keys, "s": list(map(str, keys))})


def session() -> duckdb.DuckDBPyConnection:
    """Return a session in which DuckDB joins few rows as it otherwise joins thousands."""
    connection = duckdb.connect()
    connection.execute("SET merge_join_threshold = 0")
    connection.execute("SET nested_loop_join_threshold = 0")
    return connection


def joined(condition: str, how: str) -> list[tuple[int | None, ...]]:
    backend = LocalBackend(session())
    tables = {name: backend.table(given(seed), COLUMNS) for seed, name in enumerate("lr")}
    columns = {"i": "l.i"} if how in ("SEMI JOIN", "ANTI JOIN") else {"i": "l.i", "j": "r.i"}
    found = backend.pairs(tables, [condition], [how], None, columns)
    return sorted((tuple(row.values()) for row in found.few()), key=repr)


def compared(condition: str, how: str) -> list[tuple[int | None, ...]]:
    """Return what the condition chooses among all pairs."""
    connection = session()
    for seed, name in enumerate("lr"):
        connection.register(name, given(seed))
    where = f"CASE WHEN {compiled(condition, TYPES).sql} THEN true ELSE false END"
    pairs = connection.execute(f"SELECT l.i, r.i FROM l, r WHERE {where}").fetchall()
    left, right = ({pair[side] for pair in pairs} for side in (0, 1))
    alone = [i for i in range(60) if i not in left]
    found: dict[str, list[tuple[int | None, ...]]] = {
        "SEMI JOIN": [(i,) for i in left],
        "ANTI JOIN": [(i,) for i in alone],
    }
    if how in found:
        return sorted(found[how], key=repr)
    outer: list[tuple[int | None, ...]] = list(pairs)
    outer += [(i, None) for i in alone if how in ("LEFT JOIN", "FULL JOIN")]
    outer += [(None, j) for j in range(60) if j not in right and how in ("RIGHT JOIN", "FULL JOIN")]
    return sorted(outer, key=repr)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_every_kind_of_join_chooses_what_its_condition_says(condition: str, how: str) -> None:
    """With inequalities alone, beside other conditions, and with equations, which may fail or not."""
    assert joined(condition, how) == compared(condition, how)


@pytest.mark.parametrize("how", KINDS[1:])
def test_the_comparison_finds_the_fault(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `in_join`, DuckDB 2.0 is wrong for all kinds but inner joins. If it no longer is, that can go."""
    monkeypatch.setattr("tidegate.local_engine.backend.in_join", lambda how, condition, ranged: condition)
    condition = CONDITIONS["and another"]
    assert joined(condition, how) != compared(condition, how)


def test_equations_are_still_used() -> None:
    """A join that has an equation, or few conditions, is done as DuckDB does it."""
    shapes = tuple((name, COLUMNS) for name in "lr")
    ranged = {name for name, condition in CONDITIONS.items() if _on(condition, shapes, 0, False)[0].ranged}
    assert ranged.isdisjoint({"few", "comparisons", "equation"})
    assert {"and another", "between", "equation that may fail"} <= ranged


@pytest.mark.parametrize(
    ("source", "more"),
    [
        ("l", ""),
        # Equations by which no row of the table that is joined can be found.
        ("l JOIN l AS m ON l.i = m.i", " AND l.k = m.k"),
        ("l", " AND l.k = (SELECT max(r.k) FROM l AS r)"),
        ("l", " AND l.k = (SELECT max(k) FROM l AS o)"),
    ],
    ids=["plain", "of others", "of a query", "of a query without names"],
)
def test_queries_of_loops_choose_the_same(source: str, more: str) -> None:
    """Also where the engine does not take them apart."""
    tables = {name: {column.name: column.type for column in COLUMNS} for name in "lr"}
    connection = session()
    for seed, name in enumerate("lr"):
        connection.register(name, given(seed))
    sql, _ = compiled_query(f"SELECT l.i FROM {source} LEFT SEMI JOIN r ON {CONDITIONS['and another']}{more}", tables)
    expected = compared(CONDITIONS["and another"] + (" AND l.k = 5" if "max" in more else ""), "SEMI JOIN")
    assert sorted(connection.execute(sql).fetchall(), key=repr) == expected
    assert expected


def test_columns_with_dots_are_of_their_table() -> None:
    """The engine joins by names alone where both sides have others; it would compare all pairs otherwise."""
    shapes = (("l", (Column("a.b", "INT"), Column("c", "INT"))), ("r", (Column("x", "INT"), Column("b", "INT"))))
    assert not _on("`a.b` <=> x AND c < b AND c <= x AND c <> b AND c > 1", shapes, 0, False)[0].ranged
