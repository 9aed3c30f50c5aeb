"""Graphs that change: components, reachability, distances, ranks and triangles, exact at every time that has an answer.

Each function is a short composition of methods of `Stream`; read them as examples of `iterate`. Edges are rows of a
stream, with a column for each of their two ends. An edge exists from its time on. An edge with a NULL in a column that
is used is ignored. Self-loops and parallel edges count as edges. There are answers only at times that have a row: an
edge, or a node to start from. ``emit`` and ``limit`` are those of `iterate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from tidegate.flow import sqltypes
from tidegate.flow.building import not_a_stream
from tidegate.flow.errors import BadArgument
from tidegate.flow.loops.build import LIMIT
from tidegate.flow.parser import exp
from tidegate.flow.stream import Stream

__all__ = ["components", "pagerank", "reachable", "shortest_paths", "triangles"]


_P = ParamSpec("_P")


def _names_errors(function: Callable[_P, Stream]) -> Callable[_P, Stream]:
    """Decorate a function of this module: its errors say in which function they were raised, and for which edges."""

    @wraps(function)
    def build(*arguments: _P.args, **options: _P.kwargs) -> Stream:
        edges = arguments[0] if arguments else options.get("edges")
        if not isinstance(edges, Stream):
            raise not_a_stream(edges)
        with edges._building(f"graph.{function.__name__}"):
            return function(*arguments, **options)

    return build


@_names_errors
def components(edges: Stream, src: str, dst: str, *, emit: str = "update", limit: int = LIMIT) -> Stream:
    """Return the weakly connected component of each node: ``label`` is the least node of it.

    Use it to know which accounts, devices or pages belong together.

    >>> import tidegate as tg
    >>> links = tg.Flow("site").source("links", "t INT, src STRING, dst STRING, ms INT", time="t")
    >>> given = [(1, "home", "news", 5), (1, "shop", "cart", 5), (2, "news", "shop", 5)]
    >>> rows = [{"t": t, "src": src, "dst": dst, "ms": ms} for t, src, dst, ms in given]
    >>> tg.graph.components(links, "src", "dst").preview(rows)
    iterate#1: 6 rows
      t  node  label
      1  cart  cart
      1  home  home
      1  news  home
      1  shop  cart
      2  home  cart
      2  news  cart
    """
    return _edges(edges, src, dst).iterate(
        start="SELECT src AS node, src AS label FROM input UNION ALL SELECT dst, dst FROM input",
        step="SELECT e.dst AS node, k.label FROM known k JOIN input e ON e.src = k.node "
        "UNION ALL SELECT e.src, k.label FROM known k JOIN input e ON e.dst = k.node",
        key="node",
        keep="min(label) AS label",
        emit=emit,
        limit=limit,
    )


@_names_errors
def reachable(edges: Stream, src: str, dst: str, sources: Any, *, emit: str = "update", limit: int = LIMIT) -> Stream:
    """Return the nodes that can be reached from ``sources``, the sources included.

    Use it to find what something can lead to, such as infections or permissions.

    ``sources`` is a stream or a table with one column besides time; or it is a value, or a list of values, each of
    which counts from the first edge on that has it.

    >>> import tidegate as tg
    >>> links = tg.Flow("site").source("links", "t INT, src STRING, dst STRING, ms INT", time="t")
    >>> given = [(1, "home", "news", 5), (1, "shop", "cart", 5), (2, "news", "shop", 5)]
    >>> rows = [{"t": t, "src": src, "dst": dst, "ms": ms} for t, src, dst, ms in given]
    >>> tg.graph.reachable(links, "src", "dst", "home").preview(rows)
    iterate#1: 4 rows
      t  node
      1  home
      1  news
      2  cart
      2  shop
    """
    linked = _edges(edges, src, dst)
    start, also = _sources(sources, linked, "node")
    return linked.iterate(
        start=start,
        step="SELECT e.dst AS node FROM known k JOIN input e ON e.src = k.node",
        key="node",
        keep=(),
        also=also,
        emit=emit,
        limit=limit,
    )


@_names_errors
def shortest_paths(
    edges: Stream, src: str, dst: str, weight: str, sources: Any, *, emit: str = "update", limit: int = LIMIT
) -> Stream:
    """Return the ``distance`` of each node that can be reached from ``sources``: the least sum of weights on a path.

    Use it to find the cheapest way to each node, at each time.

    ``weight`` is an expression, and ``sources`` are as in `reachable`. Weights may be negative, but the sum along a
    cycle must not be: distances would fall for ever, and the loop stops with an error. The sum of integers is a BIGINT.

    >>> import tidegate as tg
    >>> links = tg.Flow("site").source("links", "t INT, src STRING, dst STRING, ms INT", time="t")
    >>> given = [(1, "home", "news", 5), (1, "shop", "cart", 5), (2, "news", "shop", 5)]
    >>> rows = [{"t": t, "src": src, "dst": dst, "ms": ms} for t, src, dst, ms in given]
    >>> tg.graph.shortest_paths(links, "src", "dst", "ms", "home").preview(rows)
    iterate#1: 4 rows
      t  node  distance
      1  home         0
      1  news         5
      2  cart        15
      2  shop        10
    """
    weighed = _edges(edges, src, dst, weight=weight)
    type_ = _sum_type(weighed.schema["weight"].type)
    start, also = _sources(sources, weighed, f"node, CAST(0 AS {type_}) AS distance")
    return weighed.iterate(
        start=start,
        step=f"SELECT e.dst AS node, CAST(k.distance + e.weight AS {type_}) AS distance "
        "FROM known k JOIN input e ON e.src = k.node",
        key="node",
        keep="min(distance) AS distance",
        also=also,
        emit=emit,
        limit=limit,
    )


@_names_errors
def pagerank(
    edges: Stream, src: str, dst: str, *, rounds: int = 20, damping: float = 0.85, emit: str = "complete"
) -> Stream:
    """Return the ``rank`` of each node after ``rounds`` rounds of the power iteration, which begins with equal ranks.

    Use it to find the nodes that many others, or important others, lead to. The ranks of all nodes add up to 1.

    In a round, a node passes the share ``damping`` of its rank on along its edges, in equal parts. Parallel edges each
    get a part. A node without outgoing edges passes that share on to all nodes. The remaining share of every rank goes
    to all nodes, too. The last digits of sums of DOUBLE depend on the order of summation. So each answer has the ranks
    of all nodes, and not only those that have changed.

    >>> import tidegate as tg
    >>> links = tg.Flow("site").source("links", "t INT, src STRING, dst STRING, ms INT", time="t")
    >>> given = [(1, "a", "b", 5), (1, "b", "a", 5), (1, "c", "a", 5)]
    >>> rows = [{"t": t, "src": src, "dst": dst, "ms": ms} for t, src, dst, ms in given]
    >>> ranks = tg.graph.pagerank(links, "src", "dst", rounds=30)
    >>> [(row["node"], round(row["rank"], 3)) for row in ranks.preview(rows)]
    [('a', 0.485), ('b', 0.465), ('c', 0.05)]
    """
    if not isinstance(damping, int | float) or not 0 <= damping <= 1:
        raise BadArgument(f"expected damping as a number from 0 to 1, got {damping!r}", hint="damping=0.85")
    linked = _edges(edges, src, dst)
    node = linked.schema["src"].type
    if node is None:
        raise BadArgument(f"expected {src} of a type that is known, got one that is open", hint="cast it before")
    return linked.iterate(
        start=_EQUAL_RANKS.format(node=node),
        step=_GIVEN_RANKS.format(node=node, damping=damping, rest=1 - damping),
        key="node",
        keep="sum(rank) AS rank",
        rounds=rounds,
        emit=emit,
    )


_NODES = "WITH nodes AS (SELECT src AS node FROM input UNION SELECT dst FROM input)"
# Types of columns of subqueries are given by casts, because only Spark could derive them.
_EQUAL_RANKS = f"""{_NODES},
    total AS (SELECT count(*) AS n FROM nodes)
    SELECT CAST(nodes.node AS {{node}}) AS node, CAST(1 / total.n AS DOUBLE) AS rank FROM nodes CROSS JOIN total"""
# What every node gets is computed in one pass over the ranks, of which there is one for each node.
_GIVEN_RANKS = f"""{_NODES},
    degrees AS (SELECT src, count(*) AS n FROM input GROUP BY src),
    links AS (SELECT e.src, e.dst, CAST({{damping}} AS DOUBLE) / d.n AS share
              FROM input e JOIN degrees d ON d.src = e.src),
    ends AS (SELECT nodes.node FROM nodes LEFT JOIN degrees d ON d.src = nodes.node WHERE d.src IS NULL),
    lost AS (SELECT coalesce(sum(k.rank) FILTER (WHERE ends.node IS NOT NULL), CAST(0 AS DOUBLE)) AS rank, count(*) AS n
             FROM known k LEFT JOIN ends ON ends.node = k.node)
    SELECT CAST(l.dst AS {{node}}) AS node, CAST(k.rank * l.share AS DOUBLE) AS rank
    FROM known k JOIN links l ON l.src = k.node
    UNION ALL
    SELECT CAST(nodes.node AS {{node}}),
           CAST((CAST({{rest}} AS DOUBLE) + CAST({{damping}} AS DOUBLE) * lost.rank) / lost.n AS DOUBLE)
    FROM nodes CROSS JOIN lost"""


@_names_errors
def triangles(edges: Stream, src: str, dst: str, *, emit: str = "update") -> Stream:
    """Return the triples ``a < b < c`` of nodes of which each two have an edge between them, in either direction.

    Use it to measure how tightly a graph is connected.

    A loop without rounds: what is found at first is all there is.

    >>> import tidegate as tg
    >>> links = tg.Flow("site").source("links", "t INT, src STRING, dst STRING, ms INT", time="t")
    >>> given = [(1, "a", "b", 5), (1, "b", "c", 5), (2, "c", "a", 5)]
    >>> rows = [{"t": t, "src": src, "dst": dst, "ms": ms} for t, src, dst, ms in given]
    >>> tg.graph.triangles(links, "src", "dst").preview(rows)
    iterate#1: 1 row
      t  a  b  c
      2  a  b  c
    """
    pairs = _edges(edges, src, dst).select("least(src, dst) AS lo", "greatest(src, dst) AS hi")
    return pairs.iterate(
        start="SELECT x.lo AS a, x.hi AS b, y.hi AS c FROM input x JOIN input y ON y.lo = x.hi "
        "JOIN input z ON z.lo = x.lo AND z.hi = y.hi WHERE x.lo < x.hi AND y.lo < y.hi",
        step="SELECT a, b, c FROM known",
        key=("a", "b", "c"),
        keep=(),
        emit=emit,
    )


def _edges(edges: Stream, src: str, dst: str, **more: str) -> Stream:
    """Return the edges with columns src, dst and others under fixed names, none of them NULL."""
    columns = {"src": _column(edges, src), "dst": _column(edges, dst), **more}
    named = edges.select(*(f"{value} AS {name}" for name, value in columns.items()))
    return named.where(" AND ".join(f"{name} IS NOT NULL" for name in columns))


def _column(edges: Stream, name: Any) -> str:
    return sqltypes.quoted(edges._column(name).name)


def _sources(sources: Any, edges: Stream, outputs: str) -> tuple[str, dict[str, Stream]]:
    """Return the query that a loop starts from, and what it reads besides the edges."""
    if isinstance(sources, Stream):
        columns = sources.schema.data
        if len(columns) != 1:
            raise BadArgument(
                f"expected sources with one column besides time, got {sources.id}: {sources.schema}",
                hint=f'{sources.id}.select("…")',
            )
        node = sqltypes.quoted(columns[0].name)
        return f"SELECT {node} AS {outputs} FROM sources WHERE {node} IS NOT NULL", {"sources": sources}
    values = [sources] if isinstance(sources, str | int) else sources
    if not isinstance(values, Sequence) or not values or not all(isinstance(v, str | int) for v in values):
        raise BadArgument(
            f"expected sources as a stream, a table, or nodes that are texts or whole numbers, got {sources!r}",
            hint='"home", or flow.table("sources", "node STRING")',
        )
    type_ = edges.schema["src"].type
    for value in values:
        if (type_ == "STRING" and not isinstance(value, str)) or (
            type_ in sqltypes.INTEGERS and isinstance(value, str)
        ):
            raise BadArgument(
                f"expected sources of the type of nodes, {type_}, got {value!r} ({type(value).__name__})",
                hint="write them as they are in the edges",
            )
    listed = ", ".join(map(_literal, values))
    return (
        " UNION ALL ".join(f"SELECT {end} AS {outputs} FROM input WHERE {end} IN ({listed})" for end in ("src", "dst")),
        {},
    )


def _literal(value: str | int) -> str:
    return str(exp.convert(value).sql("spark"))


def _sum_type(type_: str | None) -> str:
    if type_ in sqltypes.INTEGERS:
        return "BIGINT"
    if type_ is not None and type_.startswith("DECIMAL"):
        return f"DECIMAL(38,{type_.rstrip(')').split(',')[1]})"
    if type_ is None or type_ in sqltypes.FRACTIONS:
        return "DOUBLE"
    raise BadArgument(f"expected a number as weight, got {type_}", hint="cast it")
