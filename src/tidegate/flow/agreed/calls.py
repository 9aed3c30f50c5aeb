"""Translates calls of functions, by the signatures of the table, and structs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.agreed.conditions import Conditions
from tidegate.flow.agreed.kinds import EMPTY, Signature, bind_kind, filled, signature
from tidegate.flow.agreed.nodes import Refused
from tidegate.flow.agreed.parsing import plain_name
from tidegate.flow.agreed.rules import round_type
from tidegate.flow.agreed.values import Lambda, Lets, Rule, Value, cast, duckdb_text, inlined, let, let_all
from tidegate.flow.parser import Tree, exp

__all__ = ["CASTING", "LITERALS", "Calls", "literal_fits"]

#: Functions that cast to a type, most of them named after it.
CASTING = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INT", "bigint": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "STRING", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP",
    "to_date": "DATE", "to_timestamp": "TIMESTAMP",
}  # fmt: skip
#: Kinds of arguments that have to be literals, and their types in Python.
LITERALS: dict[str, type | tuple[type, ...]] = {"text": str, "number": int, "truth": bool, "share": (str, int)}


def literal_fits(kind: str, literal: Any) -> bool:
    """Whether a literal is of a kind of `LITERALS`."""
    return isinstance(literal, LITERALS[kind]) and (kind == "truth" or not isinstance(literal, bool))


#: Functions that compute an argument only if those before it are NULL.
_LAZY = ("coalesce", "nvl", "ifnull")
#: Functions that never fail, and those that never fail on FLOAT and DOUBLE.
_SAFE = frozenset({
    "length", "char_length", "character_length", "upper", "ucase", "trim", "btrim", "ltrim", "rtrim", "startswith",
    "endswith", "contains", "size", "array_size", "cardinality", "isnull", "isnotnull", "isnan",
})  # fmt: skip
_SAFE_OF_FRACTIONS = frozenset({"abs"})
#: Functions that call a lambda for elements, and fail only if that does.
_OVER_ELEMENTS = frozenset({"transform", "filter", "exists", "forall", "aggregate", "reduce", "zip_with"})
#: Functions of lists that give elements of the list alone.
_OF_ELEMENTS = frozenset({"filter", "slice", "sort_array", "array_sort", "array_distinct", "reverse"})
_STRUCTS = ("struct", "named_struct")
#: Functions that make dates and instants of integers.
_OF_NUMBERS = ("timestamp_micros", "date_from_unix_date", "timestampadd")


def _is_safe(name: str, values: Sequence[Value | Lambda]) -> bool:
    """Whether a call cannot fail: neither the function nor one of its arguments."""
    if any(value.fails for value in values):
        return False
    of_fractions = name in _SAFE_OF_FRACTIONS and all(value.type in sqltypes.FRACTIONS for value in values)
    return name in _SAFE or name in _OVER_ELEMENTS or of_fractions


def _is_whole(name: str, values: Sequence[Value | Lambda]) -> bool:
    """Whether no element of the list that a call gives is NULL."""
    given, last = values[0] if values else None, values[-1] if values else None
    if name == "transform":
        return isinstance(last, Lambda) and last.makes
    return name in _OF_ELEMENTS and isinstance(given, Value) and given.whole


class Calls(Conditions):
    """Translates calls of functions."""

    def visit_anonymous(self, node: Tree) -> Value:
        name = node.name.lower()
        if name in _STRUCTS:
            return self._struct(node, name)
        given = [part for part in node.expressions if part is not None]
        if name == "array" and not given:
            return Value("[]", EMPTY, simple=True)
        if name == "arrays_zip" and given:
            return self._zipped(node, given)
        if name in CASTING and len(given) == 1:
            return self.casted(self.value(given[0]), CASTING[name], node)
        entries = [(signature(text), rule) for text, rule in self.table.items() if text.startswith(f"{name}(")]
        if not entries:
            raise self.refused(node, name)
        refusal: Refused | None = None
        for entry, rule in entries:
            if entry.fits(len(given)):
                try:
                    found = self._called(node, entry, rule, given)
                except Refused as error:
                    refusal = refusal or error
                    continue
                if found is not None:
                    return found
        if refusal is not None:
            raise refusal
        types = ", ".join(
            "a function" if isinstance(part, exp.Lambda) else self._type_name(self.value(part)) for part in given
        )
        raise self.refused(node, f"{name}({types})")

    def _called(self, node: Tree, entry: Signature, rule: Rule, given: Sequence[Tree]) -> Value | None:
        """Return a call by one entry of the table, or None if the entry is for arguments of other kinds."""
        bound: dict[str, str | None] = {}
        values: list[Value | Lambda] = []
        for i, part in enumerate(given):
            kind = entry.kind(i)
            if "->" in kind:
                if not isinstance(part, exp.Lambda):
                    return None
                found = self._lambda(part, kind, bound)
                if found is None:
                    return None
                values.append(found)
                continue
            if isinstance(part, exp.Lambda | exp.Kwarg | exp.Star | exp.Distinct):
                return None
            if kind == "word":
                values.append(Value(part.sql(), "WORD", simple=True))
                continue
            value = self.value(part)
            values.append(value)
            if kind in LITERALS:
                if not literal_fits(kind, value.literal):
                    raise self.refused(part, f"{entry.name} with an argument that is not a literal")
            elif not bind_kind(kind, value.type, bound):
                return None
        if entry.gives == "round" and values[0].type == "VOID":
            return None
        gives = self._gives(entry, values, bound)
        widened = [
            self._argument(entry, value, i, bound, node) if isinstance(value, Value) else value
            for i, value in enumerate(values)
        ]
        # The engine compares with bounds of time, which are made of literal numbers: those never fail.
        bound_of_time = entry.name in _OF_NUMBERS and node.find(exp.Identifier) is None
        if entry.name in _LAZY and any(value.fails for value in widened[1:] if isinstance(value, Value)):
            known = self._first_known([value for value in widened if isinstance(value, Value)])
            return Value(cast(known, gives), gives, fails=True)
        fails = not bound_of_time and not _is_safe(entry.name, widened)
        text = self._written(node, rule, widened, gives, entry.name)
        return Value(text, gives, fails, whole=_is_whole(entry.name, widened))

    def _first_known(self, values: Sequence[Value]) -> str:
        """Return SQL for the first of some values that is not NULL; the values after it are not computed.

        DuckDB's own ``coalesce`` does not do: an expression that occurs twice in it is computed in advance.
        """
        if len(values) == 1:
            return values[0].sql
        lets: Lets = []
        first = self.named(values[0], lets).sql
        return let_all(lets, f"CASE WHEN {first} IS NOT NULL THEN {first} ELSE {self._first_known(values[1:])} END")

    def _argument(self, entry: Signature, value: Value, i: int, bound: dict[str, str | None], node: Tree) -> Value:
        kind = entry.kind(i)
        if kind in LITERALS or kind in ("word", "anything") or entry.gives == "the first":
            return value
        wanted = filled(kind.removeprefix("exactly "), bound) if kind != "W" else value.type
        if wanted is None or wanted == value.type or wanted == "VOID":
            return value
        if wanted.startswith(("ARRAY", "MAP")):
            return Value(cast(value.sql, wanted), wanted, value.fails)
        return self.widened(value, wanted, node)

    def _gives(self, entry: Signature, values: Sequence[Value | Lambda], bound: dict[str, str | None]) -> str | None:
        if entry.gives == "the first":
            return values[0].type
        if entry.gives == "round":
            places = values[1].literal if len(values) > 1 and isinstance(values[1], Value) else 0
            return round_type(values[0].type or "", places)
        return filled(entry.gives, bound)

    def _lambda(self, node: Tree, kind: str, bound: dict[str, str | None]) -> Lambda | None:
        """Return the function of a lambda, or None if it has the wrong number of parameters.

        ``kind`` says what it takes and gives, such as ``T -> U``. If the letter of what it gives is not in ``bound``
        yet, it is bound to the type of the body.
        """
        takes, _, gives = (part.strip() for part in kind.partition("->"))
        kinds = [part.strip() for part in takes.strip("()").split(",")]
        names = [part.name for part in node.expressions]
        if len(names) != len(kinds):
            return None
        number = next(self._numbers)
        own = {
            # Spark numbers elements from 0, DuckDB from 1.
            name.lower(): Value(
                f"CAST(__λ{number}_{i} - 1 AS INT)" if part == "INT" else f"__λ{number}_{i}", filled(part, bound)
            )
            for i, (name, part) in enumerate(zip(names, kinds, strict=True))
        }
        body = self._body(node, own, inside=1)
        known = bound.get(gives)
        if gives in bound and known is not None and body.type != known:
            if body.type != "VOID":
                raise self.refused(node, f"a lambda that returns {self._type_name(body)} where {known} is needed")
            body = Value(cast(body.sql, known), known, body.fails)
        elif not bind_kind(gives, body.type, bound):
            return None
        parameters = tuple(f"__λ{number}_{i}" for i in range(len(names)))
        adds = isinstance(node.this, exp.Add) and [*map(plain_name, (node.this.this, node.this.expression))] == [
            *map(str.lower, names)
        ]
        made = isinstance(node.this, exp.Anonymous) and node.this.name.lower() in _STRUCTS
        return Lambda(parameters, cast(body.sql, body.type), body.type, body.fails, adds, made)

    def _body(self, node: Tree, parameters: dict[str, Value], *, inside: int) -> Value:
        """Return the body of a lambda; ``inside`` is 0 if it is computed for every row."""
        before = self.parameters
        self.parameters = {**before, **parameters}
        self.inside += inside
        try:
            return self.value(node.this)
        finally:
            self.inside -= inside
            self.parameters = before

    def visit_bracket(self, node: Tree) -> Value:
        return self._named_by_user(node) or super().visit_bracket(node)

    def _named_by_user(self, node: Tree) -> Value | None:
        """Return ``transform(array(x), name -> …)[0]`` without the list, or None if it is something else.

        That is how users give a value a name in Spark SQL. Taking the element out of a list would need the list twice
        in the SQL, and DuckDB is slow for deeply nested expressions.
        """
        made, index = node.this, node.expressions[0]
        if len(node.expressions) != 1 or not (
            isinstance(index, exp.Literal) and index.name == "0" and not index.is_string
        ):
            return None
        given = made.expressions if isinstance(made, exp.Anonymous) and made.name.lower() == "transform" else []
        if len(given) != 2 or not isinstance(given[1], exp.Lambda) or len(given[1].expressions) != 1:
            return None
        array = given[0]
        if not isinstance(array, exp.Anonymous) or array.name.lower() != "array" or len(array.expressions) != 1:
            return None
        value = self.value(array.expressions[0])
        if value.type in (None, "VOID"):
            return None
        if not self.inside and (found := self._in_column(value, given[1])):
            return found
        function = self._lambda(given[1], "T -> U", {"T": value.type})
        if function is None or function.type in (None, "VOID"):
            return None
        sql = let(cast(value.sql, value.type), function.parameters[0], function.body)
        return Value(cast(sql, function.type), function.type, value.fails or function.fails)

    def _in_column(self, value: Value, function: Tree) -> Value | None:
        """Return the body of a function of a value that is read as a column; None if the body does not read it.

        DuckDB does not compute a column that is not read, and then it cannot fail.
        """
        before, own = len(self.columns), f"__λ{next(self._numbers)}"
        named = replace(value, sql=own, literal=None, simple=True, digits=None)
        self.columns.append((cast(value.sql, value.type), own))
        body = self._body(function, {function.expressions[0].name.lower(): named}, inside=0)
        read = [body.sql, *(sql for sql, _ in self.columns[before + 1 :])]
        if body.type in (None, "VOID") or not any(inlined(sql, {own: ""}) != sql for sql in read):
            del self.columns[before:]
            return None
        return replace(body, fails=value.fails or body.fails, literal=None, simple=False, digits=None)

    def _zipped(self, node: Tree, given: Sequence[Tree]) -> Value:
        """Return ``arrays_zip``: structs of the elements at the same position, with names of columns or numbers."""
        values = [self.value(part) for part in given]
        lists = [value.type if value.type and value.type != EMPTY else "" for value in values]
        types = [sqltypes.element(type_) if type_.startswith("ARRAY<") else None for type_ in lists]
        named = [part.name if isinstance(part, exp.Column) and len(part.parts) == 1 else "" for part in given]
        plain = all(name or isinstance(part, exp.Anonymous) for name, part in zip(named, given, strict=True))
        fields = dict(zip((name or str(i) for i, name in enumerate(named)), types, strict=False))
        if not plain or None in types or len(fields) < len(given):
            raise self.refused(node, f"arrays_zip({', '.join(self._type_name(value) for value in values)})")
        lets: Lets = []
        values = [self.named(value, lets) for value in values]
        known = " AND ".join(f"{value.sql} IS NOT NULL" for value in values)
        parts = ", ".join(f"{duckdb_text(name)}: struct_extract(__λz, {i + 1})" for i, name in enumerate(fields))
        zipped = f"list_zip({', '.join(value.sql for value in values)})"
        type_ = f"ARRAY<{sqltypes.struct(**{name: inner or '' for name, inner in fields.items()})}>"
        sql = f"CASE WHEN {known} THEN list_transform({zipped}, lambda __λz: {{{parts}}}) END"
        return Value(self.reading(lets, cast(sql, type_)), type_, fails=True)

    def _struct(self, node: Tree, name: str) -> Value:
        fields: dict[str, Value] = {}
        if name == "named_struct":
            given = node.expressions
            if len(given) % 2:
                raise self.refused(node, f"{name} with a name that has no value")
            for label, part in zip(given[::2], given[1::2], strict=True):
                text = self.value(label).literal
                if not isinstance(text, str):
                    raise self.refused(label, "named_struct with a name that is not a literal")
                fields[text] = self.value(part)
            count_ = len(given) // 2
        else:
            for i, part in enumerate(node.expressions):
                alias = part.alias if isinstance(part, exp.Alias) else ""
                inner = part.this if isinstance(part, exp.Alias) else part
                own = inner.parts[-1].name if isinstance(inner, exp.Column) else ""
                own = own or (inner.expression.name if isinstance(inner, exp.Dot) else "")
                own = own or (inner.name if isinstance(inner, exp.Identifier) else "")
                fields[alias or own or f"col{i + 1}"] = self.value(inner)
            count_ = len(node.expressions)
        if not fields:
            raise self.refused(node, f"{name} without fields")
        if len({field.lower() for field in fields}) != count_:
            raise self.refused(node, f"{name} with two fields of the same name")
        if any(value.type == "VOID" for value in fields.values()):
            raise self.refused(node, f"{name} with a NULL that has no type")
        known = all(value.type is not None for value in fields.values())
        type_ = sqltypes.struct(**{field: value.type or "" for field, value in fields.items()}) if known else None
        parts = ", ".join(f"{duckdb_text(field)}: {cast(v.sql, v.type)}" for field, v in fields.items())
        return Value(f"{{{parts}}}", type_, any(value.fails for value in fields.values()))
