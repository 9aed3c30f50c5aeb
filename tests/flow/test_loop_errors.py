"""Bad loops: each mistake is met when the flow is built, with what was expected, what came, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidegate as tg
from tidegate.errors import TidegateError
from tidegate.flow import errors
from tidegate.flow.errors import BadLoop, NotConverging
from tidegate.spec import DT

START = "SELECT src AS node, src AS label FROM input"
STEP = "SELECT e.dst AS node, k.label FROM known k JOIN input e ON e.src = k.node"


def edges(flow: tg.Flow, name: str = "edges") -> tg.Stream:
    """The stream that the loops are built on."""
    return flow.source(name, "t INT, src INT, dst INT, ok BOOLEAN", time="t")


def loop(flow: tg.Flow, **changed: Any) -> tg.Stream:
    """A loop that is right, but for what is changed."""
    right: dict[str, Any] = {"start": START, "step": STEP, "key": "node", "keep": "min(label) AS label"}
    return edges(flow).iterate(**(right | changed))


#: What is built, the class of the error, and its message without the two lines that say where it was.
MISTAKES: dict[str, tuple[Callable[[tg.Flow], Any], type[TidegateError], str]] = {
    "start that is no text": (
        lambda f: loop(f, start=5),
        errors.BadArgument,
        """expected start as a query in Spark SQL, got 5 (int)
  hint: start="SELECT src AS node FROM input"
""",
    ),
    "an empty step": (
        lambda f: loop(f, step=" "),
        errors.BadArgument,
        """expected step as a query in Spark SQL, got an empty text
  hint: step="SELECT src AS node FROM input"
""",
    ),
    "a step that does not parse": (
        lambda f: loop(f, step="SELECT node FROM known WHERE WHERE x"),
        errors.BadExpression,
        """step does not parse
  SELECT node FROM known WHERE WHERE x
                               ^^^^^
  hint: a query of Spark SQL: SELECT … FROM … JOIN … ON … WHERE … UNION ALL SELECT …
""",
    ),
    "a step that is no query": (
        lambda f: loop(f, step="known"),
        errors.BadExpression,
        """expected step to be a query
  known
  ^^^^^
  hint: a query of Spark SQL: SELECT … FROM … JOIN … ON … WHERE … UNION ALL SELECT …
""",
    ),
    "an unknown relation": (
        lambda f: loop(f, step="SELECT e.dst AS node, k.label FROM known k JOIN inputs e ON e.src = k.node"),
        errors.UnknownRelation,
        """unknown relation inputs
  SELECT e.dst AS node, k.label FROM known k JOIN inputs e ON e.src = k.node
                                                  ^^^^^^
  relations: input, known
  hint: did you mean input?
""",
    ),
    "a relation of nowhere": (
        lambda f: loop(f, start="SELECT page AS node, 1 AS label FROM pages"),
        errors.UnknownRelation,
        """unknown relation pages
  SELECT page AS node, 1 AS label FROM pages
                                       ^^^^^
  relations: input
  hint: other streams and tables: also={"name": …}
""",
    ),
    "an unknown column": (
        lambda f: loop(f, step="SELECT e.dest AS node, k.label FROM known k JOIN input e ON e.src = k.node"),
        errors.UnknownColumn,
        """unknown column dest
  SELECT e.dest AS node, k.label FROM known k JOIN input e ON e.src = k.node
           ^^^^
  columns: src INT, dst INT, ok BOOLEAN
  hint: did you mean dst?
""",
    ),
    "a column that known has not": (
        lambda f: loop(f, step="SELECT e.dst AS node, k.lbl AS label FROM known k JOIN input e ON e.src = k.node"),
        errors.UnknownColumn,
        """unknown column lbl
  SELECT e.dst AS node, k.lbl AS label FROM known k JOIN input e ON e.src = k.node
                          ^^^
  columns: node INT, label INT
  hint: did you mean label?
""",
    ),
    "a column of two relations": (
        lambda f: loop(
            f,
            step="SELECT dst AS node, 1 AS label FROM known JOIN input a ON a.src = node JOIN input b ON b.src = node",
        ),
        errors.AmbiguousColumn,
        """column dst is in several relations
  SELECT dst AS node, 1 AS label FROM known JOIN input a ON a.src = node JOIN input b ON b.src = node
         ^^^
  hint: write a.dst or b.dst
""",
    ),
    "two relations of one name": (
        lambda f: loop(f, start="SELECT a.src AS node, b.dst AS label FROM input a JOIN input a ON true"),
        errors.ColumnClash,
        """two relations are called a
  SELECT a.src AS node, b.dst AS label FROM input a JOIN input a ON true
                                                         ^^^^^
  hint: give them names: input AS a, input AS b
""",
    ),
    "known in start": (
        lambda f: loop(f, start="SELECT node, label FROM known"),
        errors.BadLoop,
        """start reads known, but nothing is known before start
  SELECT node, label FROM known
                          ^^^^^
  hint: read known in step
""",
    ),
    "known not in step": (
        lambda f: loop(f, step=START),
        errors.BadLoop,
        """step does not read known: it would give the same facts in every round
  hint: FROM known k JOIN …
""",
    ),
    "known twice": (
        lambda f: loop(f, step="SELECT a.node, b.label FROM known a JOIN known b ON a.label = b.node"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got known twice in a branch
  SELECT a.node, b.label FROM known a JOIN known b ON a.label = b.node
                                           ^^^^^
  hint: a branch may read it once: keep what is needed in one fact, or join the answer of an earlier loop
""",
    ),
    "an aggregate": (
        lambda f: loop(
            f, step="SELECT e.dst AS node, min(k.label) AS label FROM known k JOIN input e ON e.src = k.node GROUP BY 1"
        ),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got the aggregate min
  SELECT e.dst AS node, min(k.label) AS label FROM known k JOIN input e ON e.src = k.node GROUP BY 1
                        ^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "GROUP BY": (
        lambda f: loop(f, step="SELECT node, label FROM known GROUP BY node, label"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got GROUP BY
  SELECT node, label FROM known GROUP BY node, label
                                ^^^^^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "negation": (
        lambda f: loop(f, step="SELECT src AS node, dst AS label FROM input WHERE src NOT IN (SELECT node FROM known)"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got a query inside of it
  SELECT src AS node, dst AS label FROM input WHERE src NOT IN (SELECT node FROM known)
                                                                ^^^^^^
  hint: write it as a join, without parentheses; or give the number of rounds with rounds=…
""",
    ),
    "EXCEPT": (
        lambda f: loop(f, step="SELECT src AS node, dst AS label FROM input EXCEPT SELECT node, label FROM known"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got EXCEPT
  SELECT src AS node, dst AS label FROM input EXCEPT SELECT node, label FROM known
                                              ^^^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "an outer join": (
        lambda f: loop(f, step="SELECT e.dst AS node, k.label FROM input e LEFT JOIN known k ON e.src = k.node"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got a LEFT JOIN
  SELECT e.dst AS node, k.label FROM input e LEFT JOIN known k ON e.src = k.node
                                             ^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "an anti join": (
        lambda f: loop(
            f, step="SELECT e.dst AS node, e.src AS label FROM input e LEFT ANTI JOIN known k ON e.src = k.node"
        ),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got an ANTI JOIN
  SELECT e.dst AS node, e.src AS label FROM input e LEFT ANTI JOIN known k ON e.src = k.node
                                                         ^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "a semi join": (
        lambda f: loop(
            f, step="SELECT e.dst AS node, e.src AS label FROM input e LEFT SEMI JOIN known k ON e.src = k.node"
        ),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got a SEMI JOIN
  SELECT e.dst AS node, e.src AS label FROM input e LEFT SEMI JOIN known k ON e.src = k.node
                                                         ^^^^
  hint: an inner JOIN gives the same facts: those found twice are kept once
""",
    ),
    "USING": (
        lambda f: loop(f, step="SELECT e.dst AS node, k.label FROM input e JOIN known k USING (node)"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got USING
  SELECT e.dst AS node, k.label FROM input e JOIN known k USING (node)
                                                          ^^^^^
  hint: write the condition with ON
""",
    ),
    "LIMIT": (
        lambda f: loop(f, step="SELECT node, label FROM known LIMIT 3"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got LIMIT
  SELECT node, label FROM known LIMIT 3
                                ^^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "OVER": (
        lambda f: loop(f, step="SELECT node, rank() OVER (ORDER BY node) AS label FROM known"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got OVER
  SELECT node, rank() OVER (ORDER BY node) AS label FROM known
                      ^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "DISTINCT": (
        lambda f: loop(f, step="SELECT DISTINCT node, label FROM known"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got DISTINCT
  SELECT DISTINCT node, label FROM known
         ^^^^^^^^
  hint: leave it out: keep makes one fact of several
""",
    ),
    "a subquery": (
        lambda f: loop(f, step="SELECT node, label FROM (SELECT * FROM known) k"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got a query inside of it
  SELECT node, label FROM (SELECT * FROM known) k
                           ^^^^^^
  hint: write it as a join, without parentheses; or give the number of rounds with rounds=…
""",
    ),
    "WITH": (
        lambda f: loop(f, step="WITH k AS (SELECT * FROM known) SELECT node, label FROM k"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got WITH
  WITH k AS (SELECT * FROM known) SELECT node, label FROM k
  ^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "a function that answers differently": (
        lambda f: loop(f, step="SELECT node, CAST(rand() AS INT) AS label FROM known"),
        errors.BadExpression,
        """rand gives another value each time
  SELECT node, CAST(rand() AS INT) AS label FROM known
                    ^^^^
  hint: answers must depend on rows only: make it a column of the source
""",
    ),
    "a time column": (
        lambda f: loop(f, step="SELECT e.dst AS node, e.t AS label FROM known k JOIN input e ON e.src = k.node"),
        errors.BadTime,
        """a query of a loop reads the time column t
  SELECT e.dst AS node, e.t AS label FROM known k JOIN input e ON e.src = k.node
                          ^
  hint: facts get their time from their rows; to compute with it, copy it before: with_columns(at="t")
""",
    ),
    "a relation of a database": (
        lambda f: loop(f, step="SELECT node, label FROM db.known"),
        errors.UnknownRelation,
        """unknown relation db.known
  SELECT node, label FROM db.known
                             ^^^^^
  relations: input, known
  hint: did you mean known?
""",
    ),
    "other names for columns": (
        lambda f: loop(f, step="SELECT a AS node, b AS label FROM known AS k(a, b)"),
        errors.BadLoop,
        """expected step to be a union of selections from joined relations, got a SELECT with no FROM of relations
  SELECT a AS node, b AS label FROM known AS k(a, b)
  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: compute it before the loop; or give the number of rounds with rounds=…
""",
    ),
    "WITH of a relation": (
        lambda f: loop(f, step="WITH input AS (SELECT * FROM known) SELECT node, label FROM input", rounds=2),
        errors.NameTaken,
        """WITH defines input, which is a relation of the loop
  WITH input AS (SELECT * FROM known) SELECT node, label FROM input
       ^^^^^
  hint: take another name
""",
    ),
    "a time column with rounds": (
        lambda f: loop(
            f,
            step="SELECT k.node, max(e.t) AS label FROM known k JOIN input e ON e.src = k.node GROUP BY k.node",
            rounds=2,
        ),
        errors.BadTime,
        """a query of a loop reads the time column t
  SELECT k.node, max(e.t) AS label FROM known k JOIN input e ON e.src = k.node GROUP BY k.node
                       ^
  hint: facts get their time from their rows; to compute with it, copy it before: with_columns(at="t")
""",
    ),
    "an unknown column with rounds": (
        lambda f: loop(
            f,
            step="SELECT k.node, max(e.dest) AS label FROM known k JOIN input e ON e.src = k.node GROUP BY k.node",
            rounds=2,
        ),
        errors.UnknownColumn,
        """in step: Unknown column: dest
  SELECT k.node, max(e.dest) AS label FROM known k JOIN input e ON e.src = k.node GROUP BY k.node
  input: src INT, dst INT, ok BOOLEAN
  known: node INT, label INT
""",
    ),
    "a column without a name with rounds": (
        lambda f: loop(
            f, step="SELECT k.node, max(e.dst) FROM known k JOIN input e ON e.src = k.node GROUP BY k.node", rounds=2
        ),
        errors.BadExpression,
        """column 2 of step needs a name
  SELECT k.node, max(e.dst) FROM known k JOIN input e ON e.src = k.node GROUP BY k.node
  hint: give it one with AS
""",
    ),
    "a condition that is none": (
        lambda f: loop(f, step="SELECT node, label FROM known WHERE label"),
        errors.BadArgument,
        """expected a condition, got `known`.label of type INT
  hint: compare it with something
""",
    ),
    "a column without a name": (
        lambda f: loop(f, start="SELECT src AS node, src + 1 FROM input"),
        errors.BadExpression,
        """column 2 of start needs a name
  SELECT src AS node, src + 1 FROM input
  hint: give it one with AS
""",
    ),
    "branches of different width": (
        lambda f: loop(f, start="SELECT src AS node, src AS label FROM input UNION ALL SELECT dst FROM input"),
        errors.BadLoop,
        """expected as many columns in each branch of start, got 2 in the first and 1 in another
  SELECT src AS node, src AS label FROM input UNION ALL SELECT dst FROM input
  hint: each branch gives node, label
""",
    ),
    "branches of different types": (
        lambda f: loop(
            f, start="SELECT src AS node, src AS label FROM input UNION ALL SELECT dst, CAST(dst AS BIGINT) FROM input"
        ),
        errors.BadLoop,
        """expected label of one type in all branches of start, got INT and BIGINT
  SELECT src AS node, src AS label FROM input UNION ALL SELECT dst, CAST(dst AS BIGINT) FROM input
  hint: CAST(label AS BIGINT)
""",
    ),
    "a key that start has not": (
        lambda f: loop(f, key="nod"),
        errors.UnknownColumn,
        """unknown column nod
  columns: node INT, label INT
  at: key, whose columns are those of start
  hint: did you mean node?
""",
    ),
    "no key": (
        lambda f: loop(f, key=()),
        errors.BadArgument,
        """expected at least one column in key, got none
  hint: key="node"
""",
    ),
    "a key that is time": (
        lambda f: loop(f, key="t"),
        errors.BadArgument,
        """time columns are part of every result, got t in key
  hint: leave it out
""",
    ),
    "a key named twice": (
        lambda f: loop(f, key=("node", "NODE")),
        errors.BadArgument,
        """a column is named twice in key: node, node
""",
    ),
    "columns that nobody keeps": (
        lambda f: loop(f, start="SELECT src AS node, src AS label, dst AS other FROM input"),
        errors.BadLoop,
        """start gives other, which is neither in the key nor read by keep
  hint: keep it, for example keep=(…, "min(other) AS other"), or leave it out of start
""",
    ),
    "a step without a column": (
        lambda f: loop(f, step="SELECT node, label AS lab FROM known"),
        errors.UnknownColumn,
        """expected step to give the columns of start, node INT, label INT; it lacks label and also has lab
  hint: the first SELECT of step names them: SELECT … AS node, … AS label
""",
    ),
    "a step of another type": (
        lambda f: loop(f, step="SELECT node, CAST(label AS BIGINT) AS label FROM known"),
        errors.BadLoop,
        """expected label of one type, got INT from start and BIGINT from step
  hint: CAST(… AS BIGINT) AS label in start, or the other way in step
""",
    ),
    "sum": (
        lambda f: loop(f, keep="sum(label) AS label"),
        errors.BadLoop,
        """expected an aggregate in keep that a loop can merge, got sum(label) AS label
  with sum, what is kept would depend on how often and in which order facts are found
  hint: min, max, min_by, max_by, bit_or, bit_and, bool_or, bool_and, collect_union of a column; or rounds=…
""",
    ),
    "first": (
        lambda f: loop(f, keep="first(label) AS label"),
        errors.BadLoop,
        """expected an aggregate in keep that a loop can merge, got first(label) AS label
  with first, what is kept would depend on how often and in which order facts are found
  hint: min, max, min_by, max_by, bit_or, bit_and, bool_or, bool_and, collect_union of a column; or rounds=…
""",
    ),
    "an expression in keep": (
        lambda f: loop(f, keep="min(label + 1) AS label"),
        errors.BadLoop,
        """expected in keep an aggregate of a column outside of the key, named after it, got min(label + 1) AS label
  hint: for example "min(label) AS label": what is kept is merged again in every round
""",
    ),
    "keep under another name": (
        lambda f: loop(f, keep="min(label) AS least"),
        errors.BadLoop,
        """expected in keep an aggregate of a column outside of the key, named after it, got min(label) AS least
  hint: for example "min(label) AS label": what is kept is merged again in every round
""",
    ),
    "keep of the key": (
        lambda f: loop(f, keep="min(node) AS node"),
        errors.ColumnClash,
        """two columns of the result would be called node
  hint: give the aggregate or the group another name with AS
""",
    ),
    "keep of no aggregate": (
        lambda f: loop(f, keep="label"),
        errors.BadExpression,
        """expected an aggregate over many rows, got a value of one row
  label
  ^^^^^
  hint: for example sum(x), max(x), count(*); a column to keep belongs in by
""",
    ),
    "keep of an unknown column": (
        lambda f: loop(f, keep="min(lable) AS lable"),
        errors.UnknownColumn,
        """unknown column lable
  min(lable) AS lable
      ^^^^^
  columns: node INT, label INT
  hint: did you mean label?
""",
    ),
    "keep without a name": (
        lambda f: loop(f, keep="min(label)"),
        errors.BadLoop,
        """expected a name for each aggregate in keep
  min(label)
  hint: "min(label) AS label"
""",
    ),
    "min_by of what is not kept": (
        lambda f: loop(
            f, start="SELECT src AS node, src AS label, dst AS via FROM input", keep="min_by(via, label) AS via"
        ),
        errors.BadLoop,
        """expected label to be kept too, as min_by(via, label) AS via compares facts by it
  hint: "min(label) AS label"
""",
    ),
    "bits of a boolean": (
        lambda f: loop(f, start="SELECT src AS node, ok AS label FROM input", keep="bit_or(label) AS label"),
        errors.BadLoop,
        """expected an integer in bit_or(label), got BOOLEAN
  hint: cast it in start and step
""",
    ),
    "a union of what is no array": (
        lambda f: loop(f, keep="collect_union(label) AS label"),
        errors.BadLoop,
        """expected an ARRAY in collect_union(label), got INT
  hint: cast it in start and step
""",
    ),
    "a bad emit": (
        lambda f: loop(f, emit="updates"),
        errors.BadArgument,
        """expected emit to be one of update, complete, got 'updates'
  hint: did you mean update?
""",
    ),
    "no rounds": (
        lambda f: loop(f, rounds=0),
        errors.BadArgument,
        """expected rounds to be a whole number of at least 1, got 0
  hint: how many rounds to run; None runs until nothing changes
""",
    ),
    "a limit that is none": (
        lambda f: loop(f, limit="many"),
        errors.BadArgument,
        """expected limit to be a whole number of at least 1, got 'many'
  hint: after how many rounds a loop that still changes is an error
""",
    ),
    "also that is a list": (
        lambda f: loop(f, also=[1]),
        errors.BadArgument,
        """expected also as a mapping from name to stream, got [1] (list)
  hint: also={"prices": prices}
""",
    ),
    "also called known": (
        lambda f: loop(f, also={"known": edges(f, "b")}),
        errors.BadArgument,
        """expected a name in also that is free and that SQL can read, got 'known'
  hint: input means the stream itself, and known what the loop knows
""",
    ),
    "also that is no stream": (
        lambda f: loop(f, also={"prices": 5}),
        errors.BadArgument,
        """expected a stream, got 5 (int)
""",
    ),
    "also of other times": (
        lambda f: loop(f, also={"b": f.source("b", "d DATE, x INT", time="d")}),
        errors.TimesDiffer,
        """expected two streams with the same time columns, got
  edges: t INT
  b: d DATE
  hint: name and type the time columns alike where the sources are declared: a stream cannot change its time
""",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_building_a_loop(mistake: str) -> None:
    """The message is shown whole, and names the method, its input and the flow."""
    build, kind, message = MISTAKES[mistake]
    with pytest.raises(kind) as caught:
        build(tg.Flow("bad"))
    where = "\n  at: iterate(…) on edges\n  at: flow 'bad'"
    assert where in str(caught.value)
    assert str(caught.value).replace(where, "") + "\n" == message


def run(stream: tg.Stream, *ends: tuple[int, int, int]) -> Any:
    """Run a loop on edges: a time and two ends each."""
    stream.flow.sink("out", stream)
    rows = [{"t": t, "src": src, "dst": dst, "ok": True} for t, src, dst in ends]
    return stream.flow.reference({"edges": [DT(row["t"], row) for row in rows]})


def test_a_loop_that_does_not_come_to_rest_is_stopped() -> None:
    """The error says after how many rounds, and how many facts changed in the last of them."""
    forever = loop(tg.Flow("bad"), step=STEP.replace("k.label", "k.label - 1 AS label"), limit=4)
    with pytest.raises(NotConverging) as caught:
        run(forever, (1, 1, 2), (1, 2, 1), (1, 5, 5))
    assert (
        str(caught.value)
        == """expected a loop that stops changing, got facts that still change after 4 rounds
  facts that changed in the last rounds: 2, 2, 2, 2
  at: operator iterate#1
  at: flow 'bad'
  hint: limit what step derives with WHERE; or give a higher limit=…; or a number of rounds, rounds=…"""
    )


def test_the_limit_is_not_met_by_a_loop_that_comes_to_rest_in_time() -> None:
    """A chain of four edges takes four rounds and one to see that nothing changes."""
    chain = [(1, n, n + 1) for n in range(4)]
    assert len(run(loop(tg.Flow("good"), limit=5), *chain).rows("out")) == 5
    with pytest.raises(NotConverging, match="still change after 4 rounds"):
        run(loop(tg.Flow("bad"), limit=4), *[*chain, (1, 4, 5)])


def test_a_step_that_gives_less_from_more_is_found_out() -> None:
    """A fact that no longer follows in a later version shows that a better fact led to a worse one."""
    backwards = loop(
        tg.Flow("bad"),
        start="SELECT src AS node, dst AS label FROM input",
        step=STEP.replace("k.label", "10 - k.label AS label"),
    )
    with pytest.raises(BadLoop, match=r"at 2, got .*'node': 6, 'label': 9.* where .*'node': 6, 'label': 4.* before"):
        run(backwards, (1, 5, 6), (2, 5, 1))
