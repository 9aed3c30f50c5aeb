"""Queries of loops: their branches give what their text gives, with the times of the rows that facts are made from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tidegate as tg
from tidegate.flow.duck import Duck
from tidegate.flow.loops.query import KNOWN, Query
from tidegate.flow.plan import Iterate
from tidegate.flow.values import freeze

ROWS: dict[str, list[dict[str, Any]]] = {
    "input": [
        {"t": t, "src": s, "dst": d, "at": {"x": x, "tags": tags}}
        for t, s, d, x, tags in [(1, 1, 2, 5, [1]), (2, 2, 3, 6, []), (3, 2, 2, None, [1, 2]), (4, None, 1, 7, [3])]
    ],
    "names": [{"t": 2, "id": 2, "from": "b"}, {"t": 5, "id": 3, "from": None}],
    "fixed": [{"id": 1, "w": 10}, {"id": 2, "w": 20}],
    KNOWN: [{"t": 1, "node": 1, "label": 9}, {"t": 4, "node": 2, "label": 7}, {"t": 2, "node": None, "label": 1}],
}

QUERIES = {
    "one relation": "SELECT src AS node, dst AS label FROM input",
    "a union, named by its first": "SELECT src AS node, 1 AS label FROM input UNION ALL SELECT dst, 2 FROM input",
    "all columns": "SELECT * FROM known",
    "all columns of one": "SELECT k.* FROM known AS K INNER JOIN input e ON e.src = k.node;",
    "columns in another order": "SELECT label, k.node FROM known k WHERE NOT label < 5 -- the better ones",
    "a condition in ON and one in WHERE": "SELECT e.dst AS node, k.label FROM known k JOIN input e "
    "ON (e.src = k.node AND e.dst <> 1) WHERE k.label > 1 OR e.at.x IS NULL",
    "commas and a cross join": "SELECT a.src AS node, b.dst AS label FROM input a, input b CROSS JOIN fixed f "
    "WHERE f.id = a.src",
    "three relations": "SELECT i.dst AS node, CAST(f.w AS INT) AS label FROM known k JOIN input i ON i.src = k.node "
    "JOIN fixed f ON f.id = i.dst WHERE k.label BETWEEN 1 AND 9",
    "words that are clauses elsewhere": "SELECT src AS node, "
    "CASE WHEN src IS DISTINCT FROM dst THEN 1 ELSE 2 END AS label FROM input",
    "a quoted column, and functions with commas": "SELECT n.id AS node, "
    "coalesce(length(n.`from`), least(0, -1)) AS label FROM names n",
    "fields and lambdas": "SELECT at.x AS node, size(transform(e.at.tags, x -> x + 1)) AS label FROM input e",
    "only tables": "SELECT id AS node, w AS label FROM fixed",
}


def analysed(text: str) -> tuple[tg.Stream, Query]:
    """The query as a member of a step, with one that reads what is known beside it."""
    flow = tg.Flow("queries")
    columns = "t INT, src INT, dst INT, at STRUCT<x: INT, tags: ARRAY<INT>>"
    stream = flow.source("edges", columns, time="t")
    also = {
        "names": flow.source("names", "t INT, id INT, `from` STRING", time="t"),
        "fixed": flow.table("fixed", "id INT, w INT"),
    }
    more = "" if "known" in text.lower() else " UNION ALL SELECT node, label FROM known WHERE false"
    loop = stream.iterate(
        start="SELECT src AS node, dst AS label FROM input",
        step=text + more,
        key="node",
        keep="min(label) AS label",
        also=also,
    )
    operator = loop._operator
    assert isinstance(operator, Iterate)
    return loop, operator.step


def run(loop: tg.Stream, query: Query, *, timed: bool) -> Counter[Any]:
    """What a query gives, on rows with or without their times."""
    operator = loop._operator
    assert isinstance(operator, Iterate)
    schemas = {n: loop.flow._operators[i].schema for n, i in zip(operator.names, operator.inputs, strict=True)}
    columns = {name: schema.columns if timed else schema.data for name, schema in schemas.items()}
    columns[KNOWN] = (*(operator.schema.times if timed else ()), *operator.known.columns)
    found = Duck().query(query, {name: (ROWS[name], columns[name]) for name in query.relations})
    return Counter(freeze(list(row.values())) for row in found)


@pytest.mark.parametrize("name", QUERIES)
def test_branches_give_what_the_text_gives(name: str) -> None:
    """The union of the branches is, as a multiset, the query."""
    loop, query = analysed(QUERIES[name])
    found: Counter[Any] = Counter()
    for branch in query.branches:
        sql = branch.select({r.alias: r.name for r in branch.relations})
        names = tuple(dict.fromkeys(r.name for r in branch.relations))
        found += run(loop, Query(sql, query.columns, (), names), timed=False)
    assert found == run(loop, query, timed=False)


def test_the_time_of_a_fact_is_the_join_of_those_of_its_rows() -> None:
    """The greatest time of the rows; of those that have one; and none if none has one."""
    loop, query = analysed(
        "SELECT e.dst AS node, f.w AS label FROM known k JOIN input e ON e.src = k.node JOIN fixed f ON f.id = e.src "
        "UNION ALL SELECT id, w FROM fixed"
    )
    times = loop.schema.times
    found = []
    for branch in query.branches:
        sql = branch.select({r.alias: r.name for r in branch.relations}, extra=branch.times([c.name for c in times]))
        names = tuple(dict.fromkeys(r.name for r in branch.relations))
        found.append(run(loop, Query(sql, (*times, *query.columns), (), names), timed=True))
    assert found[0] == Counter(freeze(fact) for fact in [[1, 2, 10], [4, 3, 20], [4, 2, 20]])
    assert found[1] == Counter(freeze(fact) for fact in [[None, 1, 10], [None, 2, 20]])


def test_what_does_not_depend_on_the_round_is_hoisted() -> None:
    """Definitions that do not read known, directly or through others, are asked once; others stay as they are."""
    query = Query(
        "WITH a AS (SELECT x FROM input), b AS (SELECT * FROM known JOIN a ON true), c AS (SELECT (x) FROM a), "
        "d(x) AS (SELECT x FROM a), e AS (SELECT * FROM d) SELECT c.x FROM c JOIN e ON (c.x = e.x)",
        (),
        (),
        (),
    )
    found, rest = query.hoisted()
    assert {name: str(part) for name, part in found.items()} == {
        "a": "SELECT x FROM input",
        "c": "SELECT (x) FROM a",
    }
    assert str(rest) == (
        "WITH b AS (SELECT * FROM known JOIN a ON true), d(x) AS (SELECT x FROM a), e AS (SELECT * FROM d) "
        "SELECT c.x FROM c JOIN e ON (c.x = e.x)"
    )
    assert rest.relations == ("known", "a", "c")
    plain = Query("SELECT x FROM input", (), (), ("input",))
    assert plain.hoisted() == ({}, plain)
