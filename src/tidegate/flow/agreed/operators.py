"""Translates operators, by the types of their sides."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.flow import sqltypes
from tidegate.flow.agreed.instants import INSTANTS
from tidegate.flow.agreed.kinds import bind_kind, common, decimal, filled, implicit
from tidegate.flow.agreed.nodes import Nodes
from tidegate.flow.agreed.rules import is_divisor
from tidegate.flow.agreed.table import OPERATORS
from tidegate.flow.agreed.values import Value
from tidegate.flow.parser import Tree, exp

__all__ = ["BINARY", "UNARY", "Operators"]

BINARY = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "IntDiv": "DIV", "Mod": "%", "BitwiseAnd": "&", "BitwiseOr": "|",
    "BitwiseXor": "^", "DPipe": "||", "EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=",
    "NullSafeEQ": "<=>", "NullSafeNEQ": "IS DISTINCT FROM",
}  # fmt: skip
#: Operators on FLOAT and DOUBLE never fail: what is too large becomes infinite.
_SAFE = frozenset({"F + F", "F - F", "F * F"})
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM")
UNARY = {"Neg": "-", "BitwiseNot": "~"}
#: For the parser, these all bind equally; for Spark they do not. So mixing them needs parentheses.
_MIXED = {"&", "|", "^", "||"}
_INTERVALS = {"year": 1, "month": 1, "week": 2, "day": 2, "hour": 3, "minute": 3, "second": 3}


class Operators(Nodes):
    """Translates operators."""

    def _unary(self, node: Tree, sign: str) -> Value:
        if sign == "-" and isinstance(node.this, exp.Literal) and node.this.name == str(2**31):
            return Value("CAST(-2147483648 AS INT)", "INT", literal=-(2**31), simple=True, digits=10)
        inner = self.value(node.this)
        number = isinstance(node.this, exp.Literal) or (isinstance(node.this, exp.Cast) and inner.digits)
        if sign == "-" and number and inner.literal is not None and inner.type in (*sqltypes.INTEGERS, "DOUBLE"):
            return Value(f"(-{inner.sql})", inner.type, literal=-inner.literal, simple=True, digits=inner.digits)
        for kind in "IFD":
            bound: dict[str, str | None] = {}
            if f"{sign} {kind}" in OPERATORS and inner.type != "VOID" and bind_kind(kind, inner.type, bound):
                text = self._written(node, OPERATORS[f"{sign} {kind}"], [inner], inner.type, sign)
                return Value(text, inner.type, fails=True)
        raise self.refused(node, f"{sign} of {self._type_name(inner)}")

    def _binary(self, node: Tree, sign: str) -> Value:
        self._allow_only(node, "this", "expression", "safe", "typed")
        left, right = node.this, node.expression
        for side in (left, right):
            own = BINARY.get(type(side).__name__)
            tighter = sign in _COMPARISONS or {own, sign} in ({"&", "+"}, {"|", "+"})
            if own and own != sign and _MIXED & {own, sign} and not tighter:
                raise self.refused(node, f"{own} beside {sign}", "put one of them in parentheses")
            if sign in _COMPARISONS and isinstance(side, exp.Predicate | exp.Not | exp.Connector):
                raise self.refused(node, f"{sign} of a condition", "put it in parentheses")
        if isinstance(right, exp.Interval):
            return self._shifted(node, sign)
        return self._operated(node, sign, self.value(left), self.value(right))

    def _operated(self, node: Tree, sign: str, left: Value, right: Value) -> Value:
        if {left.type, right.type} == {"VOID"}:
            raise self.refused(node, f"{sign} of NULL and NULL")
        if left.type == "DATE" and right.type in ("TINYINT", "SMALLINT", "INT") and sign in "+-":
            return self._applied(node, f"DATE {sign} INT", [left, right], ["DATE", "INT"], "DATE")
        if sign == "||":
            return self._applied(node, "STRING || STRING", [left, right], ["STRING", "STRING"], "STRING")
        if sign in ("/", "DIV"):
            wide = "DOUBLE" if sign == "/" else "BIGINT"
            both = all(self._divides(value, wide) for value in (left, right))
            if sign == "/" and {left.type, right.type} <= {"VOID"} | {t for t in (left.type, right.type) if decimal(t)}:
                both = all(value.type in sqltypes.INTEGERS or value.type == "VOID" for value in (left, right))
            if not both:
                raise self.refused(node, f"{self._type_name(left)} {sign} {self._type_name(right)}")
            return self._applied(node, f"{wide} {sign} {wide}", [left, right], [wide, wide], wide)
        nested = (left.type or "").partition("<")[0]
        if sign in _COMPARISONS and nested in ("STRUCT", "ARRAY") and left.type == right.type:
            entry = f"{nested} {sign} {nested}"
            if entry in OPERATORS and "MAP" not in (left.type or ""):
                return self._applied(node, entry, [left, right], [left.type, left.type], "BOOLEAN")
        if sign in _COMPARISONS:
            left, right = self._of_text(left, right, node), self._of_text(right, left, node)
        wide = self._common(node, [left, right], sign)
        for kind in ("A",) if sign in _COMPARISONS else ("I", "F", "D"):
            if f"{kind} {sign} {kind}" in OPERATORS and bind_kind(kind, wide, {}) and wide != "VOID":
                gives: str | None = "BOOLEAN" if sign in _COMPARISONS else wide
                takes: list[str | None] = [wide, wide]
                if kind == "D":
                    takes, gives = self._decimals(node, sign, left, right)
                return self._applied(node, f"{kind} {sign} {kind}", [left, right], takes, gives)
        raise self.refused(node, f"{self._type_name(left)} {sign} {self._type_name(right)}")

    def _divides(self, value: Value, wide: str) -> bool:
        return value.type is not None and implicit(value.type, wide)

    def _of_text(self, value: Value, other: Value, node: Tree) -> Value:
        """Return a text literal as the date or instant that it is compared with; any other value as it is."""
        if value.literal is None or value.type != "STRING" or other.type not in ("DATE", *INSTANTS):
            return value
        return self.casted(value, other.type, node)

    def _common(self, node: Tree, values: Sequence[Value], what: str) -> str:
        wide = common([value.type for value in values])
        if wide is None:
            raise self.refused(node, f"{what} of {' and '.join(self._type_name(value) for value in values)}")
        return wide

    def _decimals(self, node: Tree, sign: str, left: Value, right: Value) -> tuple[list[str | None], str]:
        """Return the types of both sides and of the result, by Spark's rule; refuse what would have to be rounded."""
        (p, s), (q, r) = (self._size(node, value) for value in (left, right))
        if sign == "*":
            precision, scale = p + q + 1, s + r
        else:
            scale = max(s, r)
            precision = max(p - s, q - r) + scale + 1
        if precision > 38:
            raise self.refused(node, f"{sign} of decimals of more than 38 digits")
        gives = f"DECIMAL({precision},{scale})"
        takes: list[str | None] = [f"DECIMAL({p},{s})", f"DECIMAL({q},{r})"] if sign == "*" else [gives, gives]
        return takes, gives

    def _size(self, node: Tree, value: Value) -> tuple[int, int]:
        if value.digits is not None:
            return value.digits, 0
        size = decimal(value.type)
        if size is None:
            raise self.refused(node, f"a decimal beside {self._type_name(value)}")
        return size

    def _shifted(self, node: Tree, sign: str) -> Value:
        """Return a date or an instant plus or minus an interval."""
        left, interval = self.value(node.this), node.expression
        self._allow_only(interval, "this", "unit")
        number, unit = interval.this, interval.args.get("unit")
        name = unit.name.lower().removesuffix("s") if isinstance(unit, exp.Var) else ""
        text = str(number.this) if isinstance(number, exp.Literal) else ""
        size = _INTERVALS.get(name)
        plain = text.removeprefix("-").isdigit() and len(text) < 10
        days = left.type == "DATE" and size in (1, 2)
        if sign not in "+-" or not size or not plain or not (days or left.type == "TIMESTAMP"):
            raise self.refused(node, f"{self._type_name(left)} {sign} this interval")
        if left.type == "TIMESTAMP" and size < 3:
            self._in_utc(node, f"TIMESTAMP {sign} an interval of {name}s")
        shift = Value(f"to_{name}s({text})", "INTERVAL", simple=True)
        rule = OPERATORS[f"{left.type} {sign} INTERVAL"]
        return Value(self._written(node, rule, [left, shift], left.type, sign), left.type, fails=True)

    def _applied(
        self, node: Tree, entry: str, values: Sequence[Value], takes: Sequence[str | None], gives: str | None
    ) -> Value:
        given = [self.widened(value, type_, node) for value, type_ in zip(values, takes, strict=True)]
        # A subscript may fail, also that of a list of conditions.
        compares = gives == "BOOLEAN" and not entry.endswith("]")
        safe = compares or entry in _SAFE or (entry == "DOUBLE / DOUBLE" and is_divisor(given[1].literal))
        fails = not safe or any(value.fails for value in given)
        return Value(self._written(node, OPERATORS[entry], given, gives, entry), gives, fails)

    def visit_bracket(self, node: Tree) -> Value:
        self._allow_only(node, "this", "expressions")
        if len(node.expressions) != 1:
            raise self.refused(node, "several subscripts")
        outer, inner = self.value(node.this), self.value(node.expressions[0])
        bound: dict[str, str | None] = {}
        for entry in ("ARRAY<T>[INT]", "MAP<K, V>[K]"):
            kind, _, index = entry.removesuffix("]").partition("[")
            if outer.type != "VOID" and bind_kind(kind, outer.type, bound) and bind_kind(index, inner.type, bound):
                gives = bound.get("T" if index == "INT" else "V")
                takes = [filled(kind, bound), filled(index, bound)]
                return self._applied(node, entry, [outer, inner], takes, gives)
        raise self.refused(node, f"{self._type_name(outer)}[{self._type_name(inner)}]")
