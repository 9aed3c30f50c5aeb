"""Types of columns: Spark's types, as text in one canonical form; and what is known of them without Spark."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidegate.flow.errors import BadSchema
from tidegate.flow.functions import words
from tidegate.flow.parser import Tree, tokenize
from tidegate.time import EventTime, Int, Order

__all__ = [
    "FRACTIONS",
    "INTEGERS",
    "WIDE",
    "canonical",
    "check_known",
    "element",
    "entry",
    "field",
    "fields",
    "is_numeric",
    "literal",
    "of_spark",
    "order_of",
    "quoted",
    "struct",
    "ticked",
    "tree_of",
]

#: From narrow to wide: with two of them, Spark computes in the wider one.
INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FRACTIONS = ("FLOAT", "DOUBLE")
#: For integers that are too large for the other types. Only engines use it for times; users do not.
WIDE = "DECIMAL(38,0)"
_INSTANTS = ("TIMESTAMP", "TIMESTAMP_NTZ")


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """Return the canonical form of a type, or raise `BadSchema`.

    >>> canonical("long"), canonical("struct<a: integer>"), canonical("decimal(10, 2)")
    ('BIGINT', 'STRUCT<a: INT>', 'DECIMAL(10,2)')
    """
    try:
        tree = exp.DataType.build(text, dialect="spark")
    except (SqlglotError, ValueError):
        tree = None
    if tree is None or tree.this in (exp.DataType.Type.UNKNOWN, exp.DataType.Type.USERDEFINED):
        raise BadSchema(
            f"expected a type of Spark, got {text!r}", hint="for example INT, STRING, TIMESTAMP, ARRAY<STRING>"
        )
    check_known(tree, text)
    return of_tree(tree)


def of_spark(type_: Any) -> str:
    """Return the text of a type of PySpark in a form that parses, whatever the fields of structs are called."""
    if hasattr(type_, "fields"):
        return f"struct<{', '.join(f'{ticked(f.name)}: {of_spark(f.dataType)}' for f in type_.fields)}>"
    if hasattr(type_, "elementType"):
        return f"array<{of_spark(type_.elementType)}>"
    if hasattr(type_, "keyType"):
        return f"map<{of_spark(type_.keyType)}, {of_spark(type_.valueType)}>"
    return str(type_.simpleString())


def check_known(tree: Tree, text: str) -> None:
    """Raise if the parser knows only a part of a type, and would lose the rest."""
    nodes = list(tree.find_all(exp.DataType))
    texts = ("string", "varchar", "char", ")")
    collated = pairwise(tokenize(text))
    lost = ""
    if any(b.word == "collate" and a.word in texts for a, b in collated):
        lost = "texts are compared as they are, without a collation"
    elif any(node.this == exp.DataType.Type.TIME for node in nodes):
        lost = "times of day are not supported"
    elif any(node.this == exp.DataType.Type.STRUCT and not node.expressions for node in nodes):
        lost = "the fields of a struct need names, in backticks if they are not words"
    if lost:
        raise BadSchema(f"expected a type that flows support, got {text!r}: {lost}", hint="cast it before the flow")


def of_tree(tree: exp.DataType) -> str:
    """Return the canonical text of a parsed type."""
    if tree.this == exp.DataType.Type.DECIMAL:
        given = [e.name for e in tree.expressions]
        precision, scale = (given or ["10"])[0], given[1] if len(given) > 1 else "0"
        return f"DECIMAL({precision},{scale})"
    if tree.this == exp.DataType.Type.STRUCT:
        return struct(**{part.name: of_tree(part.args["kind"]) for part in tree.expressions})
    if tree.this == exp.DataType.Type.ARRAY and tree.expressions:
        return f"ARRAY<{of_tree(tree.expressions[0])}>"
    if tree.this == exp.DataType.Type.MAP and len(tree.expressions) == 2:
        return f"MAP<{of_tree(tree.expressions[0])}, {of_tree(tree.expressions[1])}>"
    return str(tree.sql("spark"))


@lru_cache(maxsize=4096)
def tree_of(type_: str) -> exp.DataType:
    """Return the parsed form of a canonical type; it is shared, so copy it before changing it."""
    return exp.DataType.build(type_, dialect="spark")


def struct(**fields: str) -> str:
    """Return the type of a struct.

    >>> struct(start="INT", end="INT")
    'STRUCT<start: INT, end: INT>'
    """
    return f"STRUCT<{', '.join(f'{_field_name(name)}: {type_}' for name, type_ in fields.items())}>"


def _field_name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else ticked(name)


def quoted(name: str) -> str:
    """Return a name for SQL: in backticks if it needs them."""
    plain = name.isidentifier() and name.isascii() and name.lower() not in _RESERVED
    return name if plain else ticked(name)


def ticked(name: str) -> str:
    """Return a name in backticks, whatever characters it has.

    >>> ticked("it`s")
    '`it``s`'
    """
    return f"`{name.replace('`', '``')}`"


def literal(text: str) -> str:
    r"""Return a text as a literal of Spark SQL. Names and values from outside go into SQL in no other way.

    >>> print(literal("it's"), literal("a\\b"))
    'it\'s' 'a\\b'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# Words that Spark or the translation would not read as a column.
_RESERVED = words(
    """
    all and anti any array as asc between by case cast cross current_date current_timestamp cube date desc distinct
    div else end except exists extract false filter first from full group having if in inner intersect interval into
    is join lateral left like limit map minus natural not null on or order outer over right rollup row select semi
    set some struct table then timestamp to true union unique unknown using values when where window with within
    """
)


def field(type_: str, name: str) -> str | None:
    """Return the type of a field of a struct; None if there is no field of that name.

    >>> field("STRUCT<start: INT, end: INT>", "END")
    'INT'
    """
    tree = tree_of(type_)
    if tree.this != exp.DataType.Type.STRUCT:
        return None
    return next((of_tree(p.args["kind"]) for p in tree.expressions if p.name.lower() == name.lower()), None)


def fields(type_: str) -> dict[str, str]:
    """Return the fields of a struct, by name; none if it is not a struct.

    >>> fields("STRUCT<start: INT, end: INT>")
    {'start': 'INT', 'end': 'INT'}
    """
    tree = tree_of(type_)
    if tree.this != exp.DataType.Type.STRUCT:
        return {}
    return {part.name: of_tree(part.args["kind"]) for part in tree.expressions}


def element(type_: str) -> str | None:
    """Return the type of an array's elements; None if it is not an array.

    >>> element("ARRAY<STRING>")
    'STRING'
    """
    tree = tree_of(type_)
    if tree.this != exp.DataType.Type.ARRAY or not tree.expressions:
        return None
    return of_tree(tree.expressions[0])


def entry(type_: str) -> tuple[str, str]:
    """Return the types of a map's keys and values.

    >>> entry("MAP<STRING, INT>")
    ('STRING', 'INT')
    """
    key, value = tree_of(type_).expressions
    return of_tree(key), of_tree(value)


def is_numeric(type_: str) -> bool:
    """Whether a canonical type is a number."""
    return type_ in INTEGERS or type_ in FRACTIONS or type_.startswith("DECIMAL")


def order_of(type_: str) -> Order[int] | EventTime | None:
    """Return the order of a type's values as times; None if they are not times.

    >>> order_of("BIGINT"), order_of("DATE"), order_of("STRING")
    (Int(), EventTime('day'), None)
    """
    if type_ in INTEGERS:
        return Int()
    if type_ == "DATE":
        return EventTime("day")
    return EventTime() if type_ in _INSTANTS else None
