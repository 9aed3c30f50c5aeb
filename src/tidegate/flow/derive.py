"""Types of expressions, by Spark's rules if those are certain; None if only Spark knows.

A type that is given here must be the one that Spark gives, with ANSI mode on or off; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS, AggregateFunction, function_of_node, same_type
from tidegate.flow.parser import Tree, exp

__all__ = ["derive"]

Lookup: TypeAlias = Callable[[exp.Column], str | None]

_BOOLEAN = (exp.Boolean, exp.Predicate, exp.Connector, exp.Not, exp.Between, exp.In, exp.Is, exp.RegexpLike)

#: Nodes whose type never depends on their arguments, by the name of their class.
_ALWAYS = {
    "Upper": "STRING", "Lower": "STRING", "Trim": "STRING", "Substring": "STRING", "RegexpReplace": "STRING",
    "Replace": "STRING", "MD5": "STRING", "TimeToStr": "STRING", "UnixToStr": "STRING", "DPipe": "STRING",
    "Initcap": "STRING", "Length": "INT", "ArraySize": "INT", "Hour": "INT", "Minute": "INT", "Second": "INT",
    "Year": "INT", "Month": "INT", "Day": "INT", "DayOfMonth": "INT", "Quarter": "INT", "DateDiff": "INT",
    "StrPosition": "INT", "IntDiv": "BIGINT", "Sqrt": "DOUBLE", "Exp": "DOUBLE", "Ln": "DOUBLE", "Pow": "DOUBLE",
    "DateAdd": "DATE", "TsOrDsAdd": "DATE", "TsOrDsToDate": "DATE", "LastDay": "DATE", "TimestampTrunc": "TIMESTAMP",
    "HexString": "BINARY", "Exists": "BOOLEAN", "ArrayContains": "BOOLEAN", "StartsWith": "BOOLEAN",
    "EndsWith": "BOOLEAN", "Contains": "BOOLEAN",
}  # fmt: skip

#: Nodes that have the type of their first argument.
_FIRST = (
    "Paren", "IgnoreNulls", "Filter", "Neg", "Nullif", "BitwiseNot", "ArraySort", "SortArray", "ArrayDistinct",
)  # fmt: skip

#: Nodes that have the one type that all their arguments must have; open if the arguments differ.
_COMMON = ("Coalesce", "Greatest", "Least")

#: Functions of one row that the parser has no node for.
_BY_NAME = {
    "hash": "INT", "xxhash64": "BIGINT", "instr": "INT", "locate": "INT", "weekofyear": "INT", "dayofweek": "INT",
    "dayofyear": "INT", "weekday": "INT", "ascii": "INT", "unix_micros": "BIGINT", "unix_millis": "BIGINT",
    "unix_seconds": "BIGINT", "unix_date": "INT", "make_date": "DATE", "date_from_unix_date": "DATE",
    "timestamp_micros": "TIMESTAMP", "timestamp_millis": "TIMESTAMP", "timestamp_seconds": "TIMESTAMP",
}  # fmt: skip


def derive(tree: Tree, lookup: Lookup) -> str | None:
    """Return the type of a parsed expression, or None; ``lookup`` gives the types of columns."""
    name = type(tree).__name__
    if isinstance(tree, exp.Column):
        return lookup(tree)
    if isinstance(tree, exp.Literal):
        return _literal(tree)
    if isinstance(tree, _BOOLEAN):
        return "BOOLEAN"
    if isinstance(tree, exp.Cast):
        return sqltypes.of_tree(tree.to) if tree.to.this != exp.DataType.Type.UNKNOWN else None
    if name in _ALWAYS:
        return _ALWAYS[name]
    if name in _FIRST:
        return derive(tree.this, lookup)
    if name in _COMMON:
        return _common([derive(part, lookup) for part in [tree.this, *tree.expressions] if part is not None])
    if isinstance(tree, exp.Anonymous):
        return _anonymous(tree, lookup)
    if function := function_of_node(name):
        return _aggregated(function, tree.this, lookup)
    rule = _RULES.get(name)
    return rule(tree, lookup) if rule else None


def _literal(tree: Tree) -> str | None:
    if tree.is_string:
        return "STRING"
    if tree.name.isdigit():
        value = int(tree.name)
        return "INT" if value < 2**31 else "BIGINT" if value < 2**63 else None
    return "DOUBLE" if "e" in tree.name.lower() else None


def _common(found: list[str | None]) -> str | None:
    first = found[0]
    return first if all(type_ == first for type_ in found) else None


def _wider(a: str | None, b: str | None) -> str | None:
    if a in sqltypes.INTEGERS and b in sqltypes.INTEGERS:
        return max(a, b, key=sqltypes.INTEGERS.index)
    if a == b and a in sqltypes.FRACTIONS:
        return a
    # The type of an integer and a FLOAT depends on ANSI mode; that of decimals depends on their precisions.
    if "DOUBLE" in (a, b) and all(t is not None and sqltypes.is_numeric(t) for t in (a, b)):
        return "DOUBLE"
    return None


def _arithmetic(tree: Tree, lookup: Lookup) -> str | None:
    left, right = _sides(tree)
    if isinstance(right, exp.Interval):
        # An interval of hours turns a date into a timestamp.
        return "TIMESTAMP" if derive(left, lookup) == "TIMESTAMP" else None
    # A negative or a decimal literal beside a double is a double. Beside an integer, Spark makes it a decimal.
    types = derive(left, lookup), derive(right, lookup)
    if "DOUBLE" in types and any(isinstance(side, exp.Literal) and not side.is_string for side in (left, right)):
        return "DOUBLE"
    return _wider(*types)


def _sides(tree: Tree) -> tuple[Tree, Tree]:
    return tree.this, tree.expression


def _divide(tree: Tree, lookup: Lookup) -> str | None:
    types = [derive(side, lookup) for side in _sides(tree)]
    exact = all(type_ in sqltypes.INTEGERS or type_ in sqltypes.FRACTIONS for type_ in types)
    return "DOUBLE" if exact else _arithmetic(tree, lookup)


def _anonymous(tree: Tree, lookup: Lookup) -> str | None:
    function = AGGREGATE_FUNCTIONS.get(tree.name.lower())
    if function is None:
        return _BY_NAME.get(tree.name.lower())
    arguments = tree.expressions
    return _aggregated(function, arguments[0], lookup) if arguments and function.takes(len(arguments)) else None


def _aggregated(function: AggregateFunction, first: Tree, lookup: Lookup) -> str | None:
    rule = function.type
    if rule is None or isinstance(rule, str):
        return rule
    # What max(DISTINCT x) and the like give is left to Spark.
    if isinstance(first, exp.Distinct) and rule is not same_type:
        first = first.expressions[0]
    return rule(derive(first, lookup))


def _choice(tree: Tree, lookup: Lookup) -> str | None:
    branches = [tree.args["true"]] if isinstance(tree, exp.If) else [branch.args["true"] for branch in tree.args["ifs"]]
    otherwise = tree.args.get("false" if isinstance(tree, exp.If) else "default")
    given = [b for b in [*branches, otherwise] if b is not None and not isinstance(b, exp.Null)]
    return _common([derive(branch, lookup) for branch in given]) if given else None


def _abs(tree: Tree, lookup: Lookup) -> str | None:
    inner = derive(tree.this, lookup)
    return inner if inner in sqltypes.INTEGERS or inner in sqltypes.FRACTIONS else None


def _round_off(tree: Tree, lookup: Lookup) -> str | None:
    inner = derive(tree.this, lookup)
    exact = inner in sqltypes.INTEGERS or inner in sqltypes.FRACTIONS
    return "BIGINT" if exact and tree.args.get("decimals") is None else None


def _concat(tree: Tree, lookup: Lookup) -> str | None:
    return "STRING" if all(derive(part, lookup) == "STRING" for part in tree.expressions) else None


def _subscript(tree: Tree, lookup: Lookup) -> str | None:
    inner = derive(tree.this, lookup)
    return sqltypes.element(inner) if inner else None


def _field(tree: Tree, lookup: Lookup) -> str | None:
    inner = derive(tree.this, lookup)
    return sqltypes.field(inner, tree.expression.name) if inner else None


def _struct(tree: Tree, lookup: Lookup) -> str | None:
    fields: dict[str, str] = {}
    for part in tree.expressions:
        inner = derive(part.expression, lookup) if isinstance(part, exp.PropertyEQ) else None
        if inner is None or part.this.name.lower() in map(str.lower, fields):
            return None
        fields[part.this.name] = inner
    return sqltypes.struct(**fields) if fields else None


def _array(tree: Tree, lookup: Lookup) -> str | None:
    inner = _common([derive(part, lookup) for part in tree.expressions]) if tree.expressions else None
    return f"ARRAY<{inner}>" if inner else None


_RULES: dict[str, Callable[[Tree, Lookup], str | None]] = {
    "Add": _arithmetic,
    "Sub": _arithmetic,
    "Mul": _arithmetic,
    "Mod": _arithmetic,
    "Div": _divide,
    "Case": _choice,
    "If": _choice,
    "Abs": _abs,
    "Floor": _round_off,
    "Ceil": _round_off,
    "Concat": _concat,
    "Bracket": _subscript,
    "Dot": _field,
    "Array": _array,
    "Struct": _struct,
}
