"""Values of a column as text for commits: different keys have different texts, whatever their type."""

from __future__ import annotations

from sqlglot import exp

from tidegate.flow import sqltypes

__all__ = ["is_unambiguous", "key_text"]

#: Strings that are not valid text are written as hexadecimal bytes, in the form that Spark reads.
_BYTES = "concat('X\\'', hex({}), '\\'')"
#: The character that replaces bytes that are not UTF-8, whichever they are.
_NOT_UTF8 = "\ufffd"
_OPTIONS = (
    "map('ignoreNullFields', 'false', 'timeZone', 'UTC', "
    "'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')"
)
#: Types for which Spark's cast to STRING is different for different values. Decimals are such, too.
_PLAIN = (*sqltypes.INTEGERS, *sqltypes.FRACTIONS, "BOOLEAN", "DATE", "TIMESTAMP_NTZ")
_TEXTS = tuple(exp.DataType.Type[name] for name in ("TEXT", "VARCHAR", "CHAR"))


def key_text(sql: str, type_: str) -> str:
    """Return SQL for the text of a grouping value: different for different keys, NULL for NULL.

    >>> key_text("k", "INT")
    'CAST(k AS STRING)'
    """
    if _is_plain(type_):
        return f"CAST({sql} AS STRING)"
    tree = sqltypes.tree_of(type_)
    if tree.this in (*_TEXTS, exp.DataType.Type.BINARY):
        return _written(sql, tree)
    return f"IF({sql} IS NULL, NULL, to_json(struct({_written(sql, tree)} AS `key`), {_OPTIONS}))"


def is_unambiguous(text: str | None, type_: str) -> bool:
    r"""Whether a text of an earlier version, made by a cast to STRING, stands for one value only.

    >>> is_unambiguous("pump 1", "STRING"), is_unambiguous("\ufffd", "STRING")
    (True, False)
    >>> is_unambiguous("{1, 2}", "STRUCT<a: INT, b: INT>")
    False
    """
    if text is None:
        return True
    if sqltypes.tree_of(type_).this in _TEXTS:
        return _NOT_UTF8 not in text and not text.startswith("X'")
    # As keys, -0.0 and 0.0 are equal.
    return _is_plain(type_) and text != "-0.0"


def _is_plain(type_: str) -> bool:
    return type_ in _PLAIN or type_.startswith("DECIMAL")


def _written(sql: str, tree: exp.DataType, depth: int = 0) -> str:
    """Return SQL for a value that JSON can represent without loss; ``depth`` makes names of elements unique."""
    kinds = exp.DataType.Type
    if tree.this == kinds.BINARY:
        return _BYTES.format(sql)
    if tree.this in _TEXTS:
        # A string that looks like written bytes is written as bytes, too, so that no two values have the same text.
        plain = f"is_valid_utf8({sql}) AND NOT startswith({sql}, 'X\\'')"
        return f"IF({plain}, {sql}, {_BYTES.format(f'CAST({sql} AS BINARY)')})"
    if tree.this == kinds.STRUCT:
        fields = [(part.name, part.args["kind"]) for part in tree.expressions]
        # Fields are identified by position, because their names may be anything.
        parts = [
            f"'{i}', {_written(f'{sql}.{sqltypes.quoted(name)}', kind, depth)}" for i, (name, kind) in enumerate(fields)
        ]
        return f"IF({sql} IS NULL, NULL, named_struct({', '.join(parts)}))"
    if tree.this == kinds.ARRAY:
        return f"transform({sql}, e{depth} -> {_written(f'e{depth}', tree.expressions[0], depth + 1)})"
    if tree.this == kinds.MAP:
        key, value = (_written(f"e{depth}.{part}", kind, depth + 1) for part, kind in _entries(tree))
        return f"transform(map_entries({sql}), e{depth} -> named_struct('k', {key}, 'v', {value}))"
    return sql


def _entries(tree: exp.DataType) -> list[tuple[str, exp.DataType]]:
    return list(zip(("key", "value"), tree.expressions, strict=True))
