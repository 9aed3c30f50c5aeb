"""Conditions, and the choices that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidegate.flow.agreed.kinds import bind_kind
from tidegate.flow.agreed.operators import Operators
from tidegate.flow.agreed.regexes import Unlike, java_regex, like_pattern
from tidegate.flow.agreed.values import Value, duckdb_text
from tidegate.flow.parser import Tree, exp

__all__ = ["Conditions"]


class Conditions(Operators):
    """Translates conditions and CASE."""

    def _and(self, node: Tree) -> Value:
        return self._connected(node, "AND", "false", exp.And)

    def _or(self, node: Tree) -> Value:
        return self._connected(node, "OR", "true", exp.Or)

    def _connected(self, node: Tree, word: str, end: str, class_: type) -> Value:
        """Conditions one after the other: as in Spark, what follows the one that decides is not computed."""
        parts = [self.condition(part) for part in self._chain(node, class_)]
        if not any(part.fails for part in parts):
            return Value("(" + f" {word} ".join(p.sql for p in parts) + ")", "BOOLEAN")
        # Spark computes first what is cheap, and so can decide without what would fail.
        parts.sort(key=lambda part: part.fails)
        safe = [part.sql for part in parts if not part.fails]
        decided = " ".join(f"WHEN {'NOT ' if word == 'AND' else ''}({p.sql}) THEN {end}" for p in parts)
        whole = f"CASE {decided} ELSE {f' {word} '.join(f'({p.sql})' for p in parts)} END"
        return Value("(" + f" {word} ".join([*safe, whole]) + ")", "BOOLEAN", fails=True)

    def _chain(self, node: Tree, class_: type) -> list[Tree]:
        if not isinstance(node, class_):
            return [node]
        return [*self._chain(node.this, class_), *self._chain(node.expression, class_)]

    def condition(self, node: Tree) -> Value:
        """Return the translation of what has to be a truth value."""
        value = self.value(node)
        if value.type not in ("BOOLEAN", "VOID"):
            raise self.refused(node, f"{self._said(value)} as a condition")
        return Value(f"({value.sql})", "BOOLEAN", value.fails, value.literal)

    def _not(self, node: Tree) -> Value:
        inner = self.condition(node.this)
        return Value(f"(NOT {inner.sql})", "BOOLEAN", inner.fails)

    def _is(self, node: Tree) -> Value:
        self._only(node, "this", "expression")
        inner = self.value(node.this)
        if isinstance(node.expression, exp.Null):
            return Value(f"({inner.sql} IS NULL)", "BOOLEAN", inner.fails)
        if isinstance(node.expression, exp.Boolean) and inner.type == "BOOLEAN":
            return Value(f"({inner.sql} IS {'TRUE' if node.expression.this else 'FALSE'})", "BOOLEAN", inner.fails)
        raise self.refused(node, f"{self._said(inner)} IS")

    def _in(self, node: Tree) -> Value:
        self._only(node, "this", "expressions")
        given = [self.value(part) for part in (node.this, *node.expressions)]
        first, *others = (self._of_text(value, given[0]) for value in given)
        wide = self._common(node, [first, *others], "IN")
        if not bind_kind("A", wide, {}) or wide == "VOID":
            raise self.refused(node, f"IN of {self._said(first)}")
        texts = [self.widened(value, wide, node).sql for value in (first, *others)]
        return Value(f"({texts[0]} IN ({', '.join(texts[1:])}))", "BOOLEAN", any(v.fails for v in given))

    def _between(self, node: Tree) -> Value:
        self._only(node, "this", "low", "high")
        x, low, high = (self.value(node.args[name]) for name in ("this", "low", "high"))
        above = self._operated(node, ">=", x, low)
        below = self._operated(node, "<=", x, high)
        return Value(f"({above.sql} AND {below.sql})", "BOOLEAN", x.fails or low.fails or high.fails)

    def _like(self, node: Tree, escape: str = "\\") -> Value:
        self._only(node, "this", "expression", "negate")
        pattern = self._pattern(node, "LIKE", lambda text: like_pattern(text, escape))
        text = self.value(node.this)
        if text.type != "STRING":
            raise self.refused(node, f"{self._said(text)} LIKE")
        sql = f"({text.sql} LIKE {duckdb_text(pattern)} ESCAPE '\\')"
        return Value(f"(NOT {sql})" if node.args.get("negate") else sql, "BOOLEAN", text.fails)

    def _pattern(self, node: Tree, word: str, read: Callable[[str], str]) -> str:
        value = self.value(node.expression)
        if not isinstance(value.literal, str):
            raise self.refused(node.expression, f"{word} with a pattern that is no literal")
        try:
            return read(value.literal)
        except Unlike as error:
            raise self.refused(node.expression, f"{word} with this pattern", str(error)) from None

    def _escape(self, node: Tree) -> Value:
        escape = self.value(node.expression).literal
        if not isinstance(node.this, exp.Like) or not isinstance(escape, str) or len(escape) != 1 or escape in "%_":
            raise self.refused(node, "ESCAPE")
        return self._like(node.this, escape)

    def _regexplike(self, node: Tree) -> Value:
        self._only(node, "this", "expression")
        pattern = self._pattern(node, "RLIKE", lambda text: java_regex(text).found)
        text = self.value(node.this)
        if text.type != "STRING":
            raise self.refused(node, f"{self._said(text)} RLIKE")
        return Value(f"regexp_matches({text.sql}, {duckdb_text(pattern)})", "BOOLEAN", text.fails)

    def _case(self, node: Tree) -> Value:
        self._only(node, "this", "ifs", "default")
        whens = [(part.this, part.args["true"]) for part in node.args["ifs"]]
        if node.this is not None:
            compared = self.value(node.this)
            tests = [self._operated(node, "=", compared, self.value(when)) for when, _ in whens]
        else:
            tests = [self.condition(when) for when, _ in whens]
        default = node.args.get("default")
        branches = [self.value(then) for _, then in whens]
        branches.append(self.value(default) if default is not None else Value("NULL", "VOID"))
        wide = self._same_or_wider(node, branches, "CASE")
        *thens, otherwise = (self.widened(branch, wide, node).sql for branch in branches)
        texts = " ".join(f"WHEN {test.sql} THEN {then}" for test, then in zip(tests, thens, strict=True))
        return Value(f"CASE {texts} ELSE {otherwise} END", wide, fails=True)

    def _same_or_wider(self, node: Tree, values: Sequence[Value], what: str) -> str | None:
        known = {value.type for value in values if value.type != "VOID"}
        return None if known == {None} else self._common(node, values, what)
