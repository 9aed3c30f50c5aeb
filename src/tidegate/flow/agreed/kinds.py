"""Kinds of arguments: which types an entry of the table is for, and what values are widened to.

>>> signature("array_contains(ARRAY<T>, T) BOOLEAN").takes
('ARRAY<T>', 'T')
>>> common(["INT", "BIGINT", "VOID"]), common(["INT", "FLOAT"]), common(["STRING", "INT"])
('BIGINT', 'DOUBLE', None)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from tidegate.flow import sqltypes

__all__ = ["Signature", "bind_kind", "common", "decimal", "filled", "implicit", "signature"]

ATOMS = (*sqltypes.INTEGERS, *sqltypes.FRACTIONS, "STRING", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BINARY")
#: What the letters in a signature stand for.
VARIABLES = {
    "T": "any type", "U": "any type", "K": "any type", "V": "any type", "A": "a type that is not nested",
    "I": "an integer type", "F": "FLOAT or DOUBLE", "D": "a DECIMAL", "W": "a date or an instant",
    "O": "a type with an order",
}  # fmt: skip
#: The type of an empty array, until it is widened to the type of another array.
EMPTY = "ARRAY<VOID>"
#: DuckDB does not always convert a decimal with more digits to the nearest DOUBLE.
_EXACT_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of a function, the kinds of its arguments, and its result; ``many``: the last kind may be repeated."""

    name: str
    takes: tuple[str, ...]
    gives: str
    many: bool = False

    def fits(self, arguments: int) -> bool:
        """Whether the function takes this number of arguments."""
        return arguments >= len(self.takes) if self.many else arguments == len(self.takes)

    def kind(self, i: int) -> str:
        """Return the kind of the argument at a position."""
        return self.takes[min(i, len(self.takes) - 1)]


@lru_cache(maxsize=1024)
def signature(text: str) -> Signature:
    """Return the parts of a signature that is written as text."""
    found = re.fullmatch(r"(\w+)\((.*)\) (\S.*)", text)
    assert found is not None, text
    takes = tuple(part.strip() for part in _split(found[2]))
    many = bool(takes) and takes[-1].endswith("…")
    return Signature(found[1], tuple(kind.removesuffix("…").strip() for kind in takes), found[3], many)


def _split(text: str) -> list[str]:
    """Return the parts of a text between commas that are outside of brackets."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(text):
        opens = c in "<(" or (c == ">" and text[i - 1] == "-")
        depth += 1 if c in "<(" else -1 if c in ">)" and not opens else 0
        if c == "," and not depth:
            parts.append(text[last:i])
            last = i + 1
    return [*parts, text[last:]] if text.strip() else []


def decimal(type_: str | None) -> tuple[int, int] | None:
    """Return the precision and the scale of a decimal type; of an integer type, those of the decimal that holds it."""
    if type_ is None:
        return None
    if type_.startswith("DECIMAL"):
        precision, scale = type_.removeprefix("DECIMAL(").removesuffix(")").split(",")
        return int(precision), int(scale)
    digits = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}.get(type_)
    return (digits, 0) if digits else None


def common(types: Iterable[str | None]) -> str | None:
    """Return the type that values of several types are widened to, as in Spark's ANSI mode; None if there is none."""
    found: str | None = "VOID"
    for type_ in types:
        found = _wider(found, type_)
        if found is None:
            return None
    return found


def _wider(a: str | None, b: str | None) -> str | None:
    if a == b or b == "VOID":
        return a
    if a == "VOID":
        return b
    if a is None or b is None:
        return None
    if EMPTY in (a, b) and a.startswith("ARRAY") and b.startswith("ARRAY"):
        return b if a == EMPTY else a
    if a in sqltypes.INTEGERS and b in sqltypes.INTEGERS:
        return max(a, b, key=sqltypes.INTEGERS.index)
    if sqltypes.is_numeric(a) and sqltypes.is_numeric(b):
        if a in sqltypes.FRACTIONS or b in sqltypes.FRACTIONS:
            return "DOUBLE" if implicit(a, "DOUBLE") and implicit(b, "DOUBLE") else None
        return _wider_decimal(a, b)
    return "TIMESTAMP" if {a, b} == {"DATE", "TIMESTAMP"} else None


def _wider_decimal(a: str, b: str) -> str | None:
    one, other = decimal(a), decimal(b)
    assert one is not None
    assert other is not None
    scale = max(one[1], other[1])
    precision = max(one[0] - one[1], other[0] - other[1]) + scale
    return f"DECIMAL({precision},{scale})" if precision <= 38 else None


def implicit(given: str | None, wanted: str) -> bool:
    """Whether Spark converts one type to another without a CAST, and DuckDB converts to the same values."""
    if given == wanted or given == "VOID":
        return True
    if given in sqltypes.INTEGERS:
        if wanted in sqltypes.INTEGERS:
            return sqltypes.INTEGERS.index(given) < sqltypes.INTEGERS.index(wanted)
        return wanted == "DOUBLE"
    if given == "FLOAT":
        return wanted == "DOUBLE"
    if given == "DATE":
        return wanted == "TIMESTAMP"
    size = decimal(given)
    return wanted == "DOUBLE" and size is not None and size[0] <= _EXACT_DIGITS


_KINDS: dict[str, Callable[[str], bool]] = {
    "I": lambda type_: type_ in sqltypes.INTEGERS,
    "F": lambda type_: type_ in sqltypes.FRACTIONS,
    "D": lambda type_: type_.startswith("DECIMAL"),
    "O": lambda type_: "MAP<" not in type_ and type_ != "VARIANT",
    "W": lambda type_: type_ in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"),
    "A": lambda type_: type_ in ATOMS or type_.startswith("DECIMAL"),
}


def bind_kind(kind: str, type_: str | None, bound: dict[str, str | None]) -> bool:
    """Whether a type is of a kind.

    Letters in the kind are bound to types, in ``bound``; a letter that is bound already may become a wider type.
    """
    if kind == "anything":
        return True
    if kind in VARIABLES:
        if type_ == "VOID":
            bound.setdefault(kind, "VOID")
            return True
        fits = _KINDS.get(kind)
        if fits is not None and (type_ is None or not fits(type_)):
            return False
        if kind not in bound:
            bound[kind] = type_
            return True
        wider = common([bound[kind], type_])
        if wider is None or (fits is not None and not fits(wider)):
            return False
        bound[kind] = wider
        return True
    if type_ is None:
        return False
    if kind.startswith("exactly "):
        return type_ == kind.removeprefix("exactly ")
    if kind.startswith("ARRAY<"):
        if type_ in ("VOID", EMPTY):
            return bind_kind(kind[6:-1], "VOID", bound)
        inner = sqltypes.element(type_) if type_.startswith("ARRAY") else None
        return inner is not None and bind_kind(kind[6:-1], inner, bound)
    if kind.startswith("MAP<"):
        if not type_.startswith("MAP"):
            return False
        kinds = [part.strip() for part in _split(kind[4:-1])]
        return all(bind_kind(k, t, bound) for k, t in zip(kinds, sqltypes.entry(type_), strict=True))
    return implicit(type_, kind)


def filled(kind: str, bound: dict[str, str | None]) -> str | None:
    """Return a kind with its letters replaced by the types that they are bound to; None if one is not known."""
    if kind in VARIABLES:
        return bound.get(kind)
    for opening in ("ARRAY<", "MAP<"):
        if kind.startswith(opening):
            parts = [filled(part.strip(), bound) for part in _split(kind[len(opening) : -1])]
            if any(part is None for part in parts):
                return None
            return f"{opening}{', '.join(part for part in parts if part)}>"
    return kind
