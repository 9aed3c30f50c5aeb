"""Cases of `iterate` and `tg.graph`: fixpoints for every version, on total and on product orders; exact rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.flow.case import Case, at, day

import tidegate as tg

COMPONENTS: dict[str, Any] = {
    "start": "SELECT src AS node, src AS label FROM input UNION ALL SELECT dst, dst FROM input",
    "step": "SELECT e.dst AS node, k.label FROM known k JOIN input e ON e.src = k.node "
    "UNION ALL SELECT e.src, k.label FROM known k JOIN input e ON e.dst = k.node",
    "key": "node",
    "keep": "min(label) AS label",
}
#: Facts about nodes that follow edges forwards.
FORWARD = "SELECT e.dst AS node, {value} FROM known k JOIN input e ON e.src = k.node"


def edges(flow: tg.Flow, name: str = "edges", columns: str = "src INT, dst INT, w INT") -> tg.Stream:
    """Edges whose time is an integer."""
    return flow.source(name, f"t INT, {columns}", time="t")


def on_pairs(flow: tg.Flow) -> tg.Stream:
    """Edges whose time is a pair: a product order."""
    return flow.source("edges", "v INT, w INT, src INT, dst INT", time=("v", "w"))


def loop(*, start: str, value: str, keep: Any, **options: Any) -> Callable[[tg.Flow], tg.Stream]:
    """A loop along edges, with one value besides the node or more."""
    return lambda flow: edges(flow).iterate(
        start=start, step=FORWARD.format(value=value), key="node", keep=keep, **options
    )


CASES = [
    Case(
        "update: the facts that are new or better at a time",
        lambda f: edges(f).iterate(**COMPONENTS),
        {"edges": [(1, 1, 2, 0), (1, 3, 4, 0), (2, 5, 5, 0), (3, 4, 2, 0)]},
        [(1, 1, 1), (1, 2, 1), (1, 3, 3), (1, 4, 3), (2, 5, 5), (3, 3, 1), (3, 4, 1)],
    ),
    Case(
        "complete: all facts, at each time that carries a row",
        lambda f: edges(f).iterate(**COMPONENTS, emit="complete"),
        {"edges": [(1, 1, 2, 0), (2, 3, 4, 0), (5, 4, 2, 0)]},
        [
            *((1, 1, 1), (1, 2, 1)),
            *((2, 1, 1), (2, 2, 1), (2, 3, 3), (2, 4, 3)),
            *((5, 1, 1), (5, 2, 1), (5, 3, 1), (5, 4, 1)),
        ],
    ),
    Case("on no rows", lambda f: edges(f).iterate(**COMPONENTS), {"edges": []}, []),
    Case(
        "an edge that says nothing new says nothing",
        lambda f: edges(f).iterate(**COMPONENTS),
        {"edges": [(1, 1, 2, 0), (2, 2, 1, 0), (3, 1, 1, 0)]},
        [(1, 1, 1), (1, 2, 1)],
    ),
    Case(
        "an early edge that comes last is early all the same",
        lambda f: edges(f).iterate(**COMPONENTS),
        {"edges": [(3, 2, 3, 0), (3, 4, 5, 0), (1, 1, 2, 0)]},
        [(1, 1, 1), (1, 2, 1), (3, 3, 1), (3, 4, 4), (3, 5, 4)],
    ),
    Case(
        "a chain that comes from its far end: old facts go through new edges, and new facts through old edges",
        lambda f: edges(f).iterate(**COMPONENTS),
        {"edges": [(1, 4, 5, 0), (2, 3, 4, 0), (3, 1, 2, 0), (4, 2, 3, 0)]},
        [
            *((1, 4, 4), (1, 5, 4)),
            *((2, 3, 3), (2, 4, 3), (2, 5, 3)),
            *((3, 1, 1), (3, 2, 1)),
            *((4, 3, 1), (4, 4, 1), (4, 5, 1)),
        ],
    ),
    Case(
        "on dates",
        lambda f: f.source("edges", "t DATE, src STRING, dst STRING", time="t").iterate(**COMPONENTS),
        {"edges": [(day(0), "b", "c"), (day(9), "a", "b")]},
        [(day(0), "b", "b"), (day(0), "c", "b"), (day(9), "a", "a"), (day(9), "b", "a"), (day(9), "c", "a")],
    ),
    Case(
        "on timestamps",
        lambda f: f.source("edges", "t TIMESTAMP, src STRING, dst STRING", time="t").iterate(**COMPONENTS),
        {"edges": [(at(0.5), "b", "c"), (at(90), "a", "c")]},
        [(at(0.5), "b", "b"), (at(0.5), "c", "b"), (at(90), "a", "a"), (at(90), "b", "a"), (at(90), "c", "a")],
    ),
    Case(
        "on a product: sides that do not know of each other, and a time that knows of both",
        lambda f: on_pairs(f).iterate(**COMPONENTS),
        {"edges": [(0, 1, 1, 2), (1, 0, 2, 3), (1, 1, 9, 9)]},
        [(0, 1, 1, 1), (0, 1, 2, 1), (1, 0, 2, 2), (1, 0, 3, 2), (1, 1, 9, 9), (1, 1, 3, 1)],
    ),
    Case(
        "on a product: what follows at a time that carries no row is said at the times above it that do",
        lambda f: on_pairs(f).iterate(**COMPONENTS),
        {"edges": [(0, 1, 1, 2), (1, 0, 2, 3), (2, 1, 9, 9), (1, 2, 8, 8), (2, 2, 7, 7)]},
        [
            *((0, 1, 1, 1), (0, 1, 2, 1), (1, 0, 2, 2), (1, 0, 3, 2)),
            *((2, 1, 9, 9), (2, 1, 3, 1), (1, 2, 8, 8), (1, 2, 3, 1), (2, 2, 7, 7)),
        ],
    ),
    Case(
        "on a product: a better fact of one side, and none of it on the other",
        lambda f: on_pairs(f).iterate(**COMPONENTS),
        {"edges": [(0, 2, 5, 6), (1, 1, 3, 6), (2, 0, 1, 6), (2, 2, 6, 6)]},
        [
            *((0, 2, 5, 5), (0, 2, 6, 5), (1, 1, 3, 3), (1, 1, 6, 3), (2, 0, 1, 1), (2, 0, 6, 1)),
            *((2, 2, 5, 1), (2, 2, 3, 1)),
        ],
    ),
    Case(
        "complete on a product",
        lambda f: on_pairs(f).iterate(**COMPONENTS, emit="complete"),
        {"edges": [(0, 1, 1, 2), (1, 0, 2, 3), (1, 1, 1, 1)]},
        [(0, 1, 1, 1), (0, 1, 2, 1), (1, 0, 2, 2), (1, 0, 3, 2), (1, 1, 1, 1), (1, 1, 2, 1), (1, 1, 3, 1)],
    ),
    Case(
        "no value besides the key: facts are a set",
        lambda f: edges(f).iterate(
            start="SELECT src, dst FROM input",
            step="SELECT k.src, e.dst FROM known k JOIN input e ON e.src = k.dst",
            key=("src", "dst"),
            keep=(),
        ),
        {"edges": [(1, 1, 2, 0), (2, 2, 3, 0), (3, 3, 1, 0)]},
        [(1, 1, 2), (2, 2, 3), (2, 1, 3), (3, 1, 1), (3, 2, 1), (3, 2, 2), (3, 3, 1), (3, 3, 2), (3, 3, 3)],
    ),
    Case(
        "max, and a step that computes: the widest path",
        loop(
            start="SELECT src AS node, 99 AS width FROM input WHERE src = 1",
            value="least(k.width, e.w) AS width",
            keep="max(width) AS width",
        ),
        {"edges": [(1, 1, 2, 5), (1, 2, 3, 9), (2, 1, 3, 7), (3, 2, 3, 9)]},
        [(1, 1, 99), (1, 2, 5), (1, 3, 5), (2, 3, 7)],
    ),
    Case(
        "min_by: the last node of the best path, of several the least",
        loop(
            start="SELECT src AS node, 0 AS dist, CAST(NULL AS INT) AS via FROM input WHERE src = 1",
            value="k.dist + e.w AS dist, k.node AS via",
            keep=("min(dist) AS dist", "min_by(via, dist) AS via"),
        ),
        {"edges": [(1, 1, 3, 2), (1, 1, 2, 1), (1, 3, 4, 1), (1, 2, 4, 2), (2, 2, 4, 1)]},
        [(1, 1, 0, None), (1, 3, 2, 1), (1, 2, 1, 1), (1, 4, 3, 2), (2, 4, 2, 2)],
    ),
    Case(
        "max_by: two values of one fact",
        loop(
            start="SELECT src AS node, w AS score, src AS a, dst AS b FROM input WHERE src < 3",
            value="k.score, k.a, k.b",
            keep=("max(score) AS score", "max_by(a, score) AS a", "max_by(b, score) AS b"),
        ),
        {"edges": [(1, 1, 3, 5), (1, 2, 3, 5), (2, 1, 2, 9)]},
        [(1, 1, 5, 1, 3), (1, 2, 5, 2, 3), (1, 3, 5, 2, 3), (2, 1, 9, 1, 2), (2, 2, 9, 1, 2), (2, 3, 9, 1, 2)],
    ),
    Case(
        "bits: which marks reach a node, and by which it is always reached",
        loop(
            start="SELECT src AS node, w AS some, w AS every FROM input",
            value="k.some, k.every",
            keep=("bit_or(some) AS some", "bit_and(every) AS every"),
        ),
        {"edges": [(1, 1, 3, 5), (1, 2, 3, 6), (2, 3, 4, 8)]},
        [(1, 1, 5, 5), (1, 2, 6, 6), (1, 3, 7, 4), (2, 3, 15, 0), (2, 4, 15, 0)],
    ),
    Case(
        "booleans",
        loop(
            start="SELECT src AS node, w > 3 AS once, w > 3 AS always FROM input",
            value="k.once, k.always",
            keep=("bool_or(once) AS once", "bool_and(always) AS always"),
        ),
        {"edges": [(1, 1, 3, 5), (2, 2, 3, 1)]},
        [(1, 1, True, True), (1, 3, True, True), (2, 2, False, False), (2, 3, True, False)],
    ),
    Case(
        "sets: all nodes that lead to a node, sorted",
        loop(
            start="SELECT dst AS node, array(src) AS origins FROM input",
            value="k.origins",
            keep="collect_union(origins) AS origins",
        ),
        {"edges": [(1, 2, 3, 0), (1, 1, 3, 0), (1, 1, 3, 0), (2, 3, 4, 0), (3, 4, 1, 0)]},
        [
            *((1, 3, [1, 2]), (2, 4, [1, 2, 3])),
            *((3, 1, [1, 2, 3, 4]), (3, 3, [1, 2, 3, 4]), (3, 4, [1, 2, 3, 4])),
        ],
    ),
    Case(
        "facts that are NULL: a group like any other, and a value like none",
        lambda f: edges(f).iterate(
            start="SELECT src AS node, dst AS label FROM input",
            step="SELECT node, label FROM known WHERE label > 100",
            key="node",
            keep="min(label) AS label",
        ),
        {"edges": [(1, None, 4, 0), (1, 7, None, 0), (2, None, 3, 0), (3, 7, 5, 0)]},
        [(1, None, 4), (1, 7, None), (2, None, 3), (3, 7, 5)],
    ),
    Case(
        "two columns of the key, in another order than those of start; UNION is UNION ALL; * means all columns",
        lambda f: edges(f).iterate(
            start="SELECT w AS cost, dst AS there, src AS here FROM input",
            step="SELECT k.here, e.dst AS there, k.cost + e.w AS cost FROM known k, input e WHERE k.there = e.src "
            "UNION SELECT * FROM known",
            key=("here", "there"),
            keep="min(cost) AS cost",
        ),
        {"edges": [(1, 1, 2, 3), (1, 2, 3, 4), (2, 1, 3, 6)]},
        [(1, 1, 2, 3), (1, 2, 3, 4), (1, 1, 3, 7), (2, 1, 3, 6)],
    ),
    Case(
        "a table, which holds from the beginning, and another stream, whose rows hold from their time on",
        lambda f: edges(f).iterate(
            start="SELECT node FROM seeds",
            step="SELECT e.dst AS node FROM known k JOIN input e ON e.src = k.node JOIN open o ON o.node = e.dst",
            key="node",
            keep=(),
            also={"seeds": f.table("seeds", "node INT"), "open": edges(f, "open", "node INT")},
        ),
        {"edges": [(2, 1, 2, 0), (2, 2, 3, 0)], "seeds": [(1,)], "open": [(1, 3), (5, 2)]},
        [(1, 1), (5, 2), (5, 3)],
    ),
    Case(
        "a table on a product: its facts are new at each least time",
        lambda f: on_pairs(f).iterate(
            start="SELECT node FROM seeds",
            step="SELECT e.dst AS node FROM known k JOIN input e ON e.src = k.node",
            key="node",
            keep=(),
            also={"seeds": f.table("seeds", "node INT")},
        ),
        {"edges": [(0, 1, 1, 2), (1, 0, 5, 5), (1, 1, 2, 3)], "seeds": [(1,)]},
        [(0, 1, 1), (0, 1, 2), (1, 0, 1), (1, 1, 3)],
    ),
    Case(
        "two loops in one flow, joined at equal times",
        lambda f: (
            lambda e: tg.graph.components(e, "src", "dst").join(tg.graph.reachable(e, "src", "dst", 1), on="node")
        )(edges(f)),
        {"edges": [(1, 1, 2, 0), (1, 3, 4, 0), (2, 2, 3, 0)]},
        [(1, 1, 1), (1, 2, 1), (2, 3, 1), (2, 4, 1)],
    ),
    Case(
        "the answer of a loop joined with another stream at the same time",
        lambda f: tg.graph.components(edges(f), "src", "dst").join(
            edges(f, "names", "node INT, name STRING"), on="node", how="left"
        ),
        {"edges": [(1, 1, 2, 0), (2, 2, 3, 0)], "names": [(1, 2, "b"), (2, 3, "c"), (3, 1, "a")]},
        [(1, 1, 1, None), (1, 2, 1, "b"), (2, 3, 1, "c")],
    ),
    Case(
        "a loop fed by a window",
        lambda f: tg.graph.components(
            edges(f).window(5).aggregate(by=("src", "dst"), n="count(*)").where("n > 1"), "src", "dst"
        ),
        {"edges": [(0, 1, 2, 0), (3, 1, 2, 0), (4, 2, 3, 0), (5, 2, 3, 0), (6, 2, 3, 0)]},
        [(4, 1, 1), (4, 2, 1), (9, 3, 1)],
    ),
    Case(
        "a loop fed by a join",
        lambda f: tg.graph.components(
            edges(f, "a", "x INT, src INT").join(edges(f, "b", "x INT, dst INT"), on="x"), "src", "dst"
        ),
        {"a": [(1, 7, 1), (2, 8, 2)], "b": [(1, 7, 2), (2, 8, 3), (2, 7, 9)]},
        [(1, 1, 1), (1, 2, 1), (2, 3, 1)],
    ),
    Case(
        "a loop over the answer of a loop: what is reached on the graph of components that touch",
        lambda f: tg.graph.reachable(
            tg.graph.components(edges(f), "src", "dst").join(f.table("doors", "node INT, dst INT"), on="node"),
            "label",
            "dst",
            1,
        ),
        {"edges": [(1, 1, 2, 0), (1, 5, 6, 0), (2, 2, 3, 0)], "doors": [(3, 5), (6, 8)]},
        [(2, 1), (2, 5), (2, 8)],
    ),
    Case(
        "a loop over the answer of a loop that is fed by a join",
        lambda f: tg.graph.reachable(
            tg.graph.components(
                edges(f, "a", "x INT, src INT").join(edges(f, "b", "x INT, dst INT"), on="x"), "src", "dst"
            ),
            "label",
            "node",
            1,
        ),
        {"a": [(1, 7, 1), (2, 8, 2), (3, 9, 5)], "b": [(1, 7, 2), (2, 8, 3), (2, 7, 9), (3, 9, 6)]},
        [(1, 1), (1, 2), (2, 3)],
    ),
    Case(
        "an answer of a loop that is aggregated",
        lambda f: tg.graph.components(edges(f), "src", "dst", emit="complete").aggregate(by="label", nodes="count(*)"),
        {"edges": [(1, 1, 2, 0), (1, 5, 6, 0), (2, 2, 3, 0), (3, 3, 5, 0)]},
        [(1, 1, 2), (1, 5, 2), (2, 1, 3), (2, 5, 2), (3, 1, 5)],
    ),
    Case(
        "rounds: known is replaced, and after so many rounds it is what it is",
        loop(
            start="SELECT src AS node, 1L AS walks FROM input",
            value="k.walks",
            keep="sum(walks) AS walks",
            rounds=2,
        ),
        {"edges": [(1, 1, 2, 0), (1, 1, 2, 0), (1, 2, 3, 0), (2, 2, 3, 0), (2, 3, 4, 0)]},
        [(1, 3, 4), (2, 3, 8), (2, 4, 4)],
    ),
    Case(
        "rounds: complete answers what is known, and no more what no longer is",
        loop(
            start="SELECT src AS node, 1L AS walks FROM input",
            value="k.walks",
            keep="sum(walks) AS walks",
            rounds=1,
            emit="complete",
        ),
        {"edges": [(1, 1, 2, 0), (2, 7, 8, 0)]},
        [(1, 2, 1), (2, 2, 1), (2, 8, 1)],
    ),
    Case(
        "rounds: queries of any form",
        lambda f: edges(f).iterate(
            start="SELECT src AS node, count(*) AS n FROM input GROUP BY src",
            step="WITH least AS (SELECT min(n) AS n FROM known) "
            "SELECT node, k.n + least.n AS n FROM known k CROSS JOIN least "
            "WHERE node IN (SELECT src FROM input) AND NOT EXISTS (SELECT 1 FROM input WHERE dst = k.node)",
            key="node",
            keep="max(n) AS n",
            rounds=2,
        ),
        {"edges": [(1, 1, 2, 0), (1, 1, 2, 0), (1, 3, 4, 0), (2, 4, 1, 0)]},
        [(1, 1, 5), (1, 3, 4)],
    ),
    Case(
        "rounds on a product: said unless it is the same in every time just below",
        lambda f: on_pairs(f).iterate(
            start="SELECT src AS node, 1L AS n FROM input",
            step="SELECT node, n FROM known",
            key="node",
            keep="count(n) AS n",
            rounds=1,
        ),
        {"edges": [(0, 1, 1, 0), (1, 0, 1, 0), (1, 0, 2, 0), (1, 1, 3, 0)]},
        [(0, 1, 1, 1), (1, 0, 1, 1), (1, 0, 2, 1), (1, 1, 2, 1), (1, 1, 3, 1)],
    ),
    Case(
        "shortest_paths: sums of doubles",
        lambda f: tg.graph.shortest_paths(
            f.source("edges", "t INT, a STRING, b STRING, km DOUBLE", time="t"), "a", "b", "km * 2", ["x", "q"]
        ),
        {"edges": [(1, "x", "y", 0.5), (1, "y", "z", 0.25), (2, "q", "z", 0.5), (2, "z", "x", 0.0)]},
        [(1, "x", 0.0), (1, "y", 1.0), (1, "z", 1.5), (2, "q", 0.0), (2, "z", 1.0)],
    ),
    Case(
        "pagerank: equal ranks, parallel edges, a node without edges of its own",
        lambda f: tg.graph.pagerank(edges(f), "src", "dst", rounds=1, damping=0.5),
        {"edges": [(1, 1, 2, 0), (1, 1, 2, 0), (1, 1, 3, 0)]},
        [(1, 1, 5 / 18), (1, 2, 7 / 18), (1, 3, 6 / 18)],
    ),
    Case(
        "triangles: whatever their direction, each once, when the last edge has come",
        lambda f: tg.graph.triangles(edges(f), "src", "dst"),
        {"edges": [(1, 2, 1, 0), (1, 2, 3, 0), (1, 2, 2, 0), (4, 1, 3, 0), (5, 3, 1, 0), (6, 3, 4, 0), (6, 4, 2, 0)]},
        [(4, 1, 2, 3), (6, 2, 3, 4)],
    ),
    Case(
        "a deep chain",
        lambda f: edges(f).iterate(**COMPONENTS),
        {"edges": [(1, n, n + 1, 0) for n in range(20)]},
        [(1, n, 0) for n in range(21)],
    ),
]
