"""Translates conditions, and CASE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tidegate.flow.agreed.close import close_lists, close_sums
from tidegate.flow.agreed.early import bare, of_first_terms
from tidegate.flow.agreed.kinds import bind_kind
from tidegate.flow.agreed.operators import Operators
from tidegate.flow.agreed.regexes import MeaningDiffers, java_regex, like_pattern
from tidegate.flow.agreed.rules import found_in
from tidegate.flow.agreed.values import Lets, Value, duckdb_text, let_all
from tidegate.flow.parser import Tree, exp

__all__ = ["Conditions", "in_join", "is_ranged"]

T = TypeVar("T")


#: A longer condition that is needed twice gets a name, so that it is written once; that costs a little time.
_LONG = 400
#: Up to this many conditions are put into one CASE.
_FEW = 8
#: How many parts a join condition without an equation may have, for DuckDB to find the right rows.
_RIGHT = 3


def is_ranged(*, equates: bool, parts: int) -> bool:
    """Whether DuckDB may look for the rows of a join by inequalities, and has other conditions beside them."""
    return not equates and parts > _RIGHT


def in_join(how: str, condition: str, *, ranged: bool) -> str:
    """Return the condition of a join, as one expression where DuckDB would otherwise choose wrong rows.

    DuckDB 2.0 does so in all but inner joins, if it looks for rows by inequalities alone, there are three or more of
    them, and another condition. With one expression it compares all pairs.
    """
    return condition if how == "JOIN" or not ranged else f"CASE WHEN {condition} THEN true ELSE false END"


class Conditions(Operators):
    """Translates conditions and CASE."""

    def visit_and(self, node: Tree) -> Value:
        return self._connected([self.condition(part) for part in _chain(node, exp.And)], "AND")

    def visit_or(self, node: Tree) -> Value:
        return self._connected([self.condition(part) for part in _chain(node, exp.Or)], "OR")

    def _connected(self, parts: Sequence[Value], word: str) -> Value:
        """Return conditions connected by AND or OR. As in Spark, what follows the one that decides is not computed."""
        if any(part.fails for part in parts[1:]):
            return Value(f"({self._one_by_one(parts, word)})", "BOOLEAN", fails=True)
        return Value(f"({_joined(parts, word)})", "BOOLEAN", parts[0].fails)

    def _one_by_one(self, parts: Sequence[Value], word: str) -> str:
        """Return conditions connected by AND or OR that are computed one after the other.

        A long condition is written only once, since its text would double with each level of nesting. Many conditions
        are split into halves, since DuckDB needs much memory for deep nesting.
        """
        if len(parts) == 1:
            return parts[0].sql
        no, end = ("NOT ", "false") if word == "AND" else ("", "true")
        if len(parts) <= _FEW and all(len(part.sql) <= _LONG for part in parts[:-1]):
            decided = " ".join(f"WHEN {no}{part.sql} THEN {end}" for part in parts[:-1])
            return f"CASE {decided} ELSE {_joined(parts, word)} END"
        half = len(parts) // 2
        lets: Lets = []
        first = self.named(Value(self._one_by_one(parts[:half], word), "BOOLEAN"), lets, most=_LONG).sql
        others = self._one_by_one(parts[half:], word)
        return let_all(lets, f"CASE WHEN {no}{first} THEN {end} ELSE {first} {word} ({others}) END")

    def of_rows(self, node: Tree, *, of_pairs: bool = False, joined: str | None = None) -> Value:
        """Return a condition that filters or joins rows.

        As in Spark, the parts that cannot fail come first, and rows are looked up by them. Two kinds of parts get a
        cheap check before them: a sum with an upper bound, on its first terms; and, in a condition ``of_pairs``, the
        distance of two lists, on their sums, which are columns. ``joined`` is the table that is joined, in a query with
        more than two.
        """
        chain = _chain(node, exp.And)
        parts = {id(part): self.condition(part) for part in chain}
        sums, early = self._early(chain, of_pairs=of_pairs)
        outside = [part for part in chain if _is_outside(parts[id(part)], in_turn=bool(early))]
        number = len(sums) + sum(2 if isinstance(bare(part), exp.Between) else 1 for part in chain)
        found = self._of_parts(sums, early, sorted(parts.values(), key=lambda part: part.fails))
        return replace(found, equates=any(self._equates(part, joined) for part in outside), parts=number)

    def _of_parts(self, sums: Sequence[Value], early: Sequence[Value], parts: Sequence[Value]) -> Value:
        """Return a condition of parts, of which those that cannot fail come first."""
        if early:
            return self._in_turn(sums, early, parts)
        safe = [part for part in parts if not part.fails]
        if not safe or len(safe) == len(parts):
            return self._connected(parts, "AND")
        both = Value(f"({_joined(safe, 'AND')})", "BOOLEAN")
        guarded = self._connected([both, *parts[len(safe) :]], "AND")
        return Value(f"({_joined([*safe, guarded], 'AND')})", "BOOLEAN", fails=True)

    def _equates(self, node: Tree, joined: str | None) -> bool:
        """Whether a part equates an expression over one table, which is ``joined``, with an expression over another."""
        node = bare(node)
        if not isinstance(node, exp.EQ | exp.NullSafeEQ) or node.find(exp.Query):
            return False
        left, right = self._tables(node.this), self._tables(node.expression)
        both = left | right
        one_each = len(left) == len(right) == 1 and len(both) == 2 and "" not in both
        return one_each and (joined is None or joined in both)

    def _tables(self, node: Tree) -> set[str]:
        """Return the tables whose columns an expression reads; an empty text stands for one that is not known."""
        return {self._table(column) for column in node.find_all(exp.Column)}

    def _table(self, column: exp.Column) -> str:
        first, *others = (str(part.name).lower() for part in column.parts)
        if others and f"{first}.{others[0]}" in self.types:
            return first
        # The name of a column may have dots, that of a table has none.
        owners = {key.removesuffix(f".{first}") for key in self.types if key.endswith(f".{first}")}
        tables = [owner for owner in owners if "." not in owner]
        return tables[0] if len(tables) == 1 else ""

    def _early(self, chain: Sequence[Tree], *, of_pairs: bool) -> tuple[list[Value], list[Value]]:
        """Return cheap checks: comparisons of sums; and conditions, each with a cheap check before it."""
        sums: list[Value] = []
        found: list[Value] = []
        for part in chain:
            first = of_first_terms(part)
            if first is None or (whole := self.condition(part)).fails:
                continue
            lists = close_lists(part) if of_pairs else None
            close = close_sums(*map(self.value, lists), name=f"__λ{next(self._numbers)}") if lists else None
            if close is not None:
                self.columns += close.columns
                sums += close.sums
            found = [close.differences if close else self.condition(first), *found, whole]
        return sums, found

    def _in_turn(self, sums: Sequence[Value], early: Sequence[Value], parts: Sequence[Value]) -> Value:
        """Return a condition that computes the early checks first, and the other parts only where they are true.

        They are nested CASEs, since DuckDB would sort conditions by their estimated cost. A row is chosen only where
        the condition is true, so it may be false where it would be NULL. Parts without lambdas stay outside, connected
        by AND, because DuckDB can use them to find the rows of a join.
        """
        known = {part.sql for part in early}
        others = [part for part in parts if part.sql not in known]
        plain = [part for part in others if _is_outside(part, in_turn=True)]
        later = [part for part in others if part not in plain]
        if plain and any(part.fails for part in later):
            early = [Value(f"({_joined(plain, 'AND')})", "BOOLEAN"), *early]
        chosen = [*early, *later]
        nested = chosen[-1].sql
        for part in reversed(chosen[:-1]):
            nested = f"CASE WHEN {part.sql} THEN {nested} ELSE false END"
        in_turn = Value(f"({nested})", "BOOLEAN")
        return Value(f"({_joined([*plain, *sums, in_turn], 'AND')})", "BOOLEAN", any(part.fails for part in parts))

    def condition(self, node: Tree) -> Value:
        """Return the translation of a node that has to be a BOOLEAN."""
        value = self.value(node)
        if value.type not in ("BOOLEAN", "VOID"):
            raise self.refused(node, f"{self._type_name(value)} as a condition")
        return Value(f"({value.sql})", "BOOLEAN", value.fails, value.literal)

    def visit_not(self, node: Tree) -> Value:
        inner = self.condition(node.this)
        return Value(f"(NOT {inner.sql})", "BOOLEAN", inner.fails)

    def visit_is(self, node: Tree) -> Value:
        self._allow_only(node, "this", "expression")
        inner = self.value(node.this)
        if isinstance(node.expression, exp.Null):
            return Value(f"({inner.sql} IS NULL)", "BOOLEAN", inner.fails)
        if isinstance(node.expression, exp.Boolean) and inner.type == "BOOLEAN":
            return Value(f"({inner.sql} IS {'TRUE' if node.expression.this else 'FALSE'})", "BOOLEAN", inner.fails)
        raise self.refused(node, f"IS of {self._type_name(inner)}")

    def visit_in(self, node: Tree) -> Value:
        self._allow_only(node, "this", "expressions")
        given = [self.value(part) for part in (node.this, *node.expressions)]
        first, *others = (self._of_text(value, given[0], node) for value in given)
        wide = self._common(node, [first, *others], "IN")
        if not bind_kind("A", wide, {}) or wide == "VOID":
            raise self.refused(node, f"IN of {self._type_name(first)}")
        if any(value.fails for value in others[1:]):
            # As in Spark, nothing is computed after the first equal value.
            lets: Lets = []
            named = self.named(first, lets)
            return self._let(lets, self._connected([self._operated(node, "=", named, v) for v in others], "OR"))
        same = [self.widened(value, wide, node) for value in (first, *others)]
        texts = [value.sql for value in same]
        return Value(f"({texts[0]} IN ({', '.join(texts[1:])}))", "BOOLEAN", any(value.fails for value in same))

    def visit_between(self, node: Tree) -> Value:
        self._allow_only(node, "this", "low", "high")
        x, low, high = (self.value(node.args[name]) for name in ("this", "low", "high"))
        lets: Lets = []
        named = self.named(x, lets)
        sides = [self._operated(node, ">=", named, low), self._operated(node, "<=", named, high)]
        if not low.fails and not high.fails:
            fails = x.fails or any(side.fails for side in sides)
            return self._let(lets, Value(f"({_joined(sides, 'AND')})", "BOOLEAN", fails))
        return self._let(lets, self._connected(sides, "AND"))

    def _let(self, lets: Lets, value: Value) -> Value:
        return Value(let_all(lets, value.sql), value.type, value.fails)

    def visit_like(self, node: Tree, escape: str = "\\") -> Value:
        self._allow_only(node, "this", "expression", "negate")
        pattern = self._pattern(node, "LIKE", lambda text: like_pattern(text, escape))
        text = self.value(node.this)
        if text.type != "STRING":
            raise self.refused(node, f"LIKE of {self._type_name(text)}")
        sql = f"({text.sql} LIKE {duckdb_text(pattern)} ESCAPE '\\')"
        return Value(f"(NOT {sql})" if node.args.get("negate") else sql, "BOOLEAN", text.fails)

    def _pattern(self, node: Tree, word: str, read: Callable[[str], T]) -> T:
        value = self.value(node.expression)
        if not isinstance(value.literal, str):
            raise self.refused(node.expression, f"{word} with a pattern that is not a literal")
        try:
            return read(value.literal)
        except MeaningDiffers as error:
            raise self.refused(node.expression, f"{word} with this pattern", str(error)) from None

    def visit_escape(self, node: Tree) -> Value:
        escape = self.value(node.expression).literal
        if not isinstance(node.this, exp.Like) or not isinstance(escape, str) or len(escape) != 1 or escape in "%_":
            raise self.refused(node, "ESCAPE")
        return self.visit_like(node.this, escape)

    def visit_regexplike(self, node: Tree) -> Value:
        self._allow_only(node, "this", "expression")
        regex = self._pattern(node, "RLIKE", java_regex)
        text = self.value(node.this)
        if text.type != "STRING":
            raise self.refused(node, f"RLIKE of {self._type_name(text)}")
        lets: Lets = []
        named = self.named(text, lets) if regex.found is None else text
        return self._let(lets, Value(found_in(named.sql, regex), "BOOLEAN", text.fails))

    def visit_case(self, node: Tree) -> Value:
        self._allow_only(node, "this", "ifs", "default")
        whens = [(part.this, part.args["true"]) for part in node.args["ifs"]]
        lets: Lets = []
        if node.this is not None:
            compared = self.named(self.value(node.this), lets)
            tests = [self._operated(node, "=", compared, self.value(when)) for when, _ in whens]
        else:
            tests = [self.condition(when) for when, _ in whens]
        default = node.args.get("default")
        branches = [self.value(then) for _, then in whens]
        branches.append(self.value(default) if default is not None else Value("NULL", "VOID"))
        wide = self._same_or_wider(node, branches, "CASE")
        *thens, otherwise = (self.widened(branch, wide, node).sql for branch in branches)
        texts = " ".join(f"WHEN {test.sql} THEN {then}" for test, then in zip(tests, thens, strict=True))
        return Value(let_all(lets, f"CASE {texts} ELSE {otherwise} END"), wide, fails=True)

    def _same_or_wider(self, node: Tree, values: Sequence[Value], what: str) -> str | None:
        known = {value.type for value in values if value.type != "VOID"}
        return None if known == {None} else self._common(node, values, what)


def _is_outside(part: Value, *, in_turn: bool) -> bool:
    """Whether a part of a condition stands by itself, so that DuckDB can use it to find the rows of a join."""
    return not part.fails and not (in_turn and "lambda" in part.sql)


def _chain(node: Tree, class_: type) -> list[Tree]:
    """Return the conditions that AND (or OR) connects, from left to right, also those in parentheses."""
    found: list[Tree] = []
    pending = [node]
    while pending:
        part = pending.pop()
        inner = part
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, class_):
            pending += [inner.expression, inner.this]
        else:
            found.append(part)
    return found


def _joined(parts: Sequence[Value], word: str) -> str:
    return f" {word} ".join(part.sql for part in parts)
