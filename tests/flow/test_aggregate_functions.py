"""The table of aggregate functions: to add a function is to add a record, and nobody else knows them by name."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.flow.case import ints

import tidegate as tg
from tidegate.engine.lowering.partials import partial
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS, AggregateFunction, loop_rule
from tidegate.flow.aggregates import aggregation
from tidegate.flow.errors import BadExpression
from tidegate.flow.parser import exp, parse
from tidegate.flow.schema import parse_schema
from tidegate.spark.calls import call_sql
from tidegate.spec import DT

SOURCE = Path(tg.__file__).parent
SCHEMA = parse_schema("t INT, x INT, y INT", time=("t",))


def made_up(monkeypatch: pytest.MonkeyPatch, name: str, like: str, **changed: str) -> AggregateFunction:
    """Add a function that is another one under a name that neither Spark nor the parser has ever heard of."""
    record = replace(AGGREGATE_FUNCTIONS[like], names=(name,), nodes=(), **changed)  # type: ignore[arg-type]
    monkeypatch.setitem(AGGREGATE_FUNCTIONS, name, record)
    return record


def test_a_record_is_all_that_a_function_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is only in the table is bound, typed, lowered, rewritten, and computed by the reference."""
    flow = tg.Flow("made_up")
    with pytest.raises(BadExpression):
        ints(flow).aggregate(n="tally(x)")
    made_up(monkeypatch, "tally", "sum", duckdb="SUM({d}{x}){f}")
    (call,) = aggregation((), ["TALLY(x) AS n"], {}, SCHEMA).calls
    assert (call.function, call.type, call.mergeable, call.order_sensitive) == ("tally", "BIGINT", True, False)
    (merged,) = getattr(partial(call, "struct(t)"), "merged", ())
    assert merged.sql == "sum(__0a)"
    s = ints(flow, "s2")
    flow.sink("at", s.aggregate(n="tally(x) FILTER (WHERE x > 1)"))
    flow.sink("so_far", s.accumulate(n="tally(x) + 1"))
    rows = [DT(t, {"t": t, "k": "a", "x": x}) for t, x in ((1, 1), (1, 2), (1, 4), (2, 8))]
    for form in (flow, flow.to_aggregates()):
        out = form.reference({"s": [], "s2": rows})
        assert [event.d["n"] for event in out["at"] if isinstance(event, DT)] == [6, 8]
        assert [event.d["n"] for event in out["so_far"] if isinstance(event, DT)] == [8, 16]


def test_a_record_may_depend_on_the_order_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a record says of order is what the lowering and the reference do."""
    made_up(monkeypatch, "latest", "last")
    (call,) = aggregation((), ["latest(x) AS n"], {}, SCHEMA).calls
    assert call.order_sensitive
    assert call_sql(call, "struct(t, x)") == "max_by(x, struct(t, x))"
    flow = tg.Flow("made_up")
    flow.sink("out", ints(flow).accumulate(n="latest(x)"))
    rows = [DT(t, {"t": t, "k": "a", "x": x}) for t, x in ((1, 9), (1, 3), (2, 5))]
    assert [event.d["n"] for event in flow.reference({"s": rows})["out"] if isinstance(event, DT)] == [9, 5]


def test_a_record_may_have_a_rule_for_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop keeps facts by a function that is only in the table."""
    made_up(monkeypatch, "least_of", "min")
    flow = tg.Flow("made_up")
    edges = flow.source("edges", "t INT, src INT, dst INT", time="t")
    loop = edges.iterate(
        start="SELECT src AS node, src AS label FROM input",
        step="SELECT e.dst AS node, k.label FROM known k JOIN input e ON e.src = k.node",
        key="node",
        keep="least_of(label) AS label",
    )
    flow.sink("labels", loop)
    rows = [DT(1, {"t": 1, "src": a, "dst": b}) for a, b in ((3, 1), (1, 2), (2, 3))]
    found = [event.d for event in flow.reference({"edges": rows})["labels"] if isinstance(event, DT)]
    assert {fact["node"]: fact["label"] for fact in found} == {1: 1, 2: 1, 3: 1}
    assert loop_rule("least_of").sql.format(function="least_of", x="label", over="") == "least_of(label)"


def test_the_parser_has_the_classes_that_records_name() -> None:
    """A call of a function whose type is known is a node of one of its classes, or of none; no class is stale."""
    seen = set()
    for name, record in AGGREGATE_FUNCTIONS.items():
        if record.type is not None:
            two = record.arguments == 2 or name.startswith(("corr", "covar"))
            tree = parse(f"{name}(x, y)" if two else f"{name}(x)")
            # The parser takes any(…) for a condition, which is right as well.
            assert isinstance(tree, exp.Anonymous | exp.Any) or type(tree).__name__ in record.nodes, name
            seen.add(type(tree).__name__)
    assert {node for record in AGGREGATE_FUNCTIONS.values() for node in record.nodes} <= seen


def test_every_name_has_its_record() -> None:
    """A record is found under each of its names, and names are in small letters."""
    for name, record in AGGREGATE_FUNCTIONS.items():
        assert name in record.names
        assert name == name.lower()
        assert all(AGGREGATE_FUNCTIONS[other] is record for other in record.names)


#: Who deals with SQL at all.
LAYERS = ("flow", "reference", "graph", "engine", "spark", "check")
#: Where the name of a function is the word for something else: an argument, a function or a method of ours, an option
#: of Spark's reader, a part of a report, a column of times.
OTHER_WORDS = {
    "every": ("check/", "flow/"),
    "grouping": ("flow/aggregates.py",),
    "mode": ("spark/files.py",),
    "any": ("engine/steps/", "spark/streaming/", "engine/frontiers.py", "flow/orders/", "check/proofs/"),
    "first": (
        *("engine/steps/", "spark/streaming/", "flow/explain/words.py", "flow/ranking.py", "check/proofs/"),
        "flow/agreed/early.py",
    ),
    "last": (
        *("engine/steps/", "spark/streaming/", "check/drawn_operators.py", "flow/explain/words.py", "flow/operators/"),
        *("flow/plan.py", "flow/ranking.py", "flow/verbs/ranked.py", "flow/building.py", "check/ordered_flows.py"),
        "check/proofs/",
    ),
}


def named_functions(source: str) -> set[str]:
    """The names of aggregate functions that texts of a module are, or list; calls, in SQL or not, are not names."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "call":
            prose.add(id(node.args[0]))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            words = re.split(r"[\s,]+", node.value.strip().lower())
            names = [word for word in words if word in AGGREGATE_FUNCTIONS]
            if 2 * len(names) > len(words) or any("_" in name for name in names):
                found.update(names)
    return found


def test_nobody_else_knows_a_function_by_name() -> None:
    """Outside of the table, no text is the name of an aggregate function, or a list of names."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if re.split(r"[/.]", place)[0] in LAYERS and not place.startswith("flow/aggregate_functions/"):
            names = named_functions(path.read_text(encoding="utf-8"))
            found += [(place, name) for name in names if not place.startswith(OTHER_WORDS.get(name, ()))]
    assert found == []


def test_a_name_elsewhere_would_be_seen() -> None:
    """The check above finds a name, a key of a dict and a list in one text; it passes over SQL and over prose."""
    assert named_functions('if call.function == "collect_set": pass') == {"collect_set"}
    assert named_functions('_RULES = {"sum": 1, "bit_or": 2}') == {"sum", "bit_or"}
    assert named_functions('AGREED = words("""abs array\n any_value upper sum""")') == {"any_value", "sum"}
    assert (
        named_functions(
            '"""Of max_by and sum."""\nsql = f"max_by({x}, {y})"\nhint = "the first of all that any may have"'
        )
        == set()
    )
