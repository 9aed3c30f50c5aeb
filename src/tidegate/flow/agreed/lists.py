"""Functions of lists that a template cannot write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.values import Given, Lambda, Value, duckdb_text, duckdb_type, failing, inlined, let

__all__ = ["array_distinct", "element", "exists", "forall", "key", "reduce", "slice_", "sorted_list", "zip_with"]


def key(sql: str, type_: str, depth: int = 0) -> str:
    """Return SQL that DuckDB sorts as Spark sorts ``sql``: inside of structs and arrays, NULL comes first.

    >>> key("x", "INT")
    'x'
    >>> key("s", "STRUCT<a: INT>")
    "CASE WHEN s IS NOT NULL THEN {'n0': (s)['a'] IS NOT NULL, 'v0': (s)['a']} END"
    """
    if type_.startswith("STRUCT"):
        return f"CASE WHEN {sql} IS NOT NULL THEN {_fields_key(sql, type_, depth)} END"
    if type_.startswith("ARRAY"):
        name = f"__λx{depth or ''}"
        inner = key(name, sqltypes.element(type_) or "", depth + 1)
        each = f"{{'n': {name} IS NOT NULL, 'v': {inner}}}"
        return f"CASE WHEN {sql} IS NOT NULL THEN list_transform({sql}, lambda {name}: {each}) END"
    return sql


def _fields_key(sql: str, type_: str, depth: int = 0) -> str:
    """Return the key of a struct that is not NULL: for each field, whether it is there, and its own key."""
    parts = []
    for i, (name, inner) in enumerate(sqltypes.fields(type_).items()):
        part = f"({sql})[{duckdb_text(name)}]"
        parts.append(f"'n{i}': {part} IS NOT NULL, 'v{i}': {key(part, inner, depth)}")
    return f"{{{', '.join(parts)}}}"


def _element(given: Given) -> str:
    inner = sqltypes.element(given.gives or "")
    if inner is None or "MAP" in inner:
        raise MeaningDiffers("its elements cannot be sorted")
    return inner


def sorted_list(given: Given) -> str:
    """Return a sorted list: ``array_sort`` puts NULL last, ``sort_array`` treats it as the least value."""
    descending = given.literal(1) is False
    how = "'DESC'" if descending else "'ASC'"
    nulls = "'NULLS LAST'" if descending or given.name == "array_sort" else "'NULLS FIRST'"
    inner = _element(given)
    if key("x", inner) == "x":
        return f"list_sort({given[0]}, {how}, {nulls})"
    fields = sqltypes.fields(inner) if inner.startswith("STRUCT") else {}
    keyed, back = f"{{'k': {key('__λe', inner)}, 'v': __λe}}", "__λe['v']"
    if fields and all(key("x", type_) == "x" for type_ in fields.values()):
        # The key has all that is needed to make the value again.
        keyed = _fields_key("__λe", inner)
        back = ", ".join(f"{duckdb_text(name)}: __λe['v{i}']" for i, name in enumerate(fields))
        back = f"{{{back}}}"
    if not given.is_whole(0):
        keyed, back = (f"CASE WHEN __λe IS NOT NULL THEN {sql} END" for sql in (keyed, back))
    pairs = f"list_transform({given[0]}, lambda __λe: {keyed})"
    return f"list_transform(list_sort({pairs}, {how}, {nulls}), lambda __λe: {back})"


def array_distinct(given: Given) -> str:
    """Return each different element once, at its first position."""
    if "MAP" in (given.gives or ""):
        raise MeaningDiffers("maps cannot be compared")
    return f"list_filter({given[0]}, lambda __λe, __λi: list_position({given[0]}, __λe) = __λi)"


def slice_(given: Given) -> str:
    """Return a part of a list; a negative start counts from the end.

    What may fail is in the bounds: a CASE of numbers is cheap, and one of lists would copy them.
    """
    elements, start, length = given[0], given[1], given[2]
    first, count = given.literal(1), given.literal(2)
    if _is_number(first) and first > 0 and _is_number(count) and count >= 0:
        return f"list_slice({elements}, {first}, {first + count - 1})"
    # If one of the three is NULL, so is this.
    nothing = f"0 * len({elements}) + 0 * {start}::BIGINT + 0 * {length}::BIGINT"
    zero = failing("the start of a slice is 0, but slice counts from 1", "BIGINT")
    negative = failing("the length of a slice is negative", "BIGINT")
    number = f"CASE WHEN {length} + {nothing} < 0 THEN {negative} ELSE {length}::BIGINT END"
    if _is_number(first) and first > 0:
        return f"list_slice({elements}, {start}::BIGINT, {start}::BIGINT - 1 + {number})"
    at = f"len({elements}) + {start}::BIGINT"
    begin = f"CASE WHEN {start} + {nothing} = 0 THEN {zero} WHEN {start} > 0 THEN {start}::BIGINT ELSE {at} + 1 END"
    before = f"CASE WHEN {start} > 0 THEN {start}::BIGINT - 1 ELSE {at} END"
    # Before the first element there is nothing.
    end = f"CASE WHEN {before} < 0 THEN 0 * ({number}) ELSE {before} + {number} END"
    return f"list_slice({elements}, greatest({begin}, 1), {end})"


def element(given: Given) -> str:
    """Return an element of a list by its position, from 0; it fails if there is none."""
    elements, index = given[0], given[1]
    fail = failing("the index is out of bounds", "BIGINT")
    # If the list is NULL, so is the element, whatever the index is.
    outside = f"{index} >= len({elements}) OR {index} + 0 * len({elements}) < 0"
    return f"list_extract({elements}, CASE WHEN {outside} THEN {fail} ELSE {index}::BIGINT + 1 END)"


def _is_number(literal: Any) -> bool:
    return isinstance(literal, int) and not isinstance(literal, bool)


def exists(given: Given) -> str:
    """Return whether a condition is true for some element; NULL if it is true for none and NULL for some."""
    return _decided(given, "true", "OR", "false")


def forall(given: Given) -> str:
    """Return whether a condition is true for all elements; NULL if it is false for none and NULL for some."""
    return _decided(given, "false", "AND", "true")


def _decided(given: Given, decides: str, word: str, otherwise: str) -> str:
    """Return whether some (OR) or all (AND) elements meet a condition; elements after the deciding one are skipped."""
    elements, condition = given[0], given.arguments[1]
    assert isinstance(condition, Lambda)
    if condition.fails:
        # Once the result so far decides, it stays.
        known, (element,) = "__λd", condition.parameters
        body = f"CASE WHEN {known} IS {decides} THEN {decides} ELSE ({condition.body}) {word} {known} END"
        result = _folded(elements, (known, element), body, Value(otherwise, "BOOLEAN"), None)
        return f"CASE WHEN {elements} IS NOT NULL THEN {result} END"
    truths = f"list_transform({elements}, {condition.sql})"
    return (
        f"CASE WHEN {elements} IS NULL THEN NULL WHEN list_contains({truths}, {decides}) THEN {decides} "
        f"WHEN len({elements}) > list_count({truths}) THEN NULL ELSE {otherwise} END"
    )


def reduce(given: Given) -> str:
    """Return the result of a function that combines a value with each element in turn."""
    start, step = given.arguments[1], given.arguments[2]
    assert isinstance(start, Value)
    assert isinstance(step, Lambda)
    inner = sqltypes.element(given.arguments[0].type or "")
    if step.adds and start.literal == 0 and start.type == inner == "DOUBLE":
        result = _added(given[0])
    else:
        result = _folded(given[0], step.parameters, step.body, start, inner)
    finish = given.arguments[3] if len(given.arguments) > 3 else None
    if isinstance(finish, Lambda):
        result = let(result, finish.parameters[0], finish.body)
    return f"CASE WHEN {given[0]} IS NOT NULL THEN {result} END"


def _added(elements: str) -> str:
    """Return the sum of doubles, starting from 0: ``list_sum`` is much faster than ``list_reduce``."""
    return f"CASE WHEN len({elements}) = list_count({elements}) THEN coalesce(list_sum({elements}), 0.0::DOUBLE) END"


def _folded(elements: str, names: Sequence[str], body: str, start: Value, inner: str | None) -> str:
    """Return the result of combining a start value with each element in turn.

    ``names`` are those of the value and of the element in ``body``, and ``inner`` is the type of elements.
    """
    state, element = names
    type_ = duckdb_type(start.type or "")
    if start.type == inner:
        return f"list_reduce({elements}, lambda {state}, {element}: {body}, CAST({start.sql} AS {type_}))"
    # DuckDB needs one type for elements and values, so both are in a struct. The names are derived from the element's,
    # since the body may contain another such function.
    so_far, this = f"{element}s", f"{element}r"
    both = f"list_transform({elements}, lambda {element}: {{'e': {element}, 's': CAST(NULL AS {type_})}})"
    found = inlined(body, {state: f"{so_far}['s']", element: f"{this}['e']"})
    changed = f"{{'e': {this}['e'], 's': CAST({found} AS {type_})}}"
    first = f"{{'e': list_extract({elements}, 1), 's': CAST({start.sql} AS {type_})}}"
    return f"(list_reduce({both}, lambda {so_far}, {this}: {changed}, {first}))['s']"


def zip_with(given: Given) -> str:
    """Return what a function makes of the elements at the same position; the shorter list is filled up with NULL."""
    function = given.arguments[2]
    assert isinstance(function, Lambda)
    a, b = function.parameters
    # The name is derived from the parameter's, since the body may contain another zip_with.
    both = f"{a}z"
    body = inlined(function.body, {a: f"struct_extract({both}, 1)", b: f"struct_extract({both}, 2)"})
    zipped = f"list_transform(list_zip({given[0]}, {given[1]}), lambda {both}: {body})"
    return f"CASE WHEN {given[0]} IS NOT NULL AND {given[1]} IS NOT NULL THEN {zipped} END"
