"""Translates whole queries, which loops consist of: SELECT, joins, groups and unions, with the types of all columns.

>>> sql, columns = compiled_query("SELECT src % 2 AS node FROM input", {"input": {"src": "INT"}})
>>> columns
{'node': 'INT'}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS
from tidegate.flow.agreed.aggregates import STAR, aggregated, prepared
from tidegate.flow.agreed.compile import Compiler
from tidegate.flow.agreed.conditions import in_join, is_ranged
from tidegate.flow.agreed.kinds import common
from tidegate.flow.agreed.nodes import Refused, quoted_name
from tidegate.flow.agreed.parsing import parse_plain_query
from tidegate.flow.agreed.regexes import MeaningDiffers
from tidegate.flow.agreed.values import Value, cast
from tidegate.flow.parser import Tree, exp

__all__ = ["Columns", "compiled_query"]

#: The columns of a table or query, and their types.
Columns = Mapping[str, str | None]

_JOINS = {
    ("", ""): "JOIN", ("", "INNER"): "JOIN", ("", "CROSS"): "CROSS JOIN", ("LEFT", ""): "LEFT JOIN",
    ("RIGHT", ""): "RIGHT JOIN", ("FULL", ""): "FULL JOIN", ("LEFT", "OUTER"): "LEFT JOIN",
    ("RIGHT", "OUTER"): "RIGHT JOIN", ("FULL", "OUTER"): "FULL JOIN", ("LEFT", "SEMI"): "SEMI JOIN",
    ("LEFT", "ANTI"): "ANTI JOIN", ("", "SEMI"): "SEMI JOIN", ("", "ANTI"): "ANTI JOIN",
}  # fmt: skip


def compiled_query(sql: str, tables: Mapping[str, Columns]) -> tuple[str, dict[str, str | None]]:
    """Return a query of Spark SQL in DuckDB's SQL, and its columns; ``tables`` are what it may read."""
    known = {name.lower(): columns for name, columns in tables.items()}
    return _Query(sql, known, {}).query(parse_plain_query(sql))


class _Query:
    """Translates a query and those inside of it; ``outer`` are the columns of the queries around it."""

    def __init__(self, text: str, tables: Mapping[str, Columns], outer: Mapping[str, str | None]) -> None:
        self.text = text
        self.tables = dict(tables)
        self.outer = outer
        self.relations: dict[str, Columns] = {}

    def refused(self, node: Tree, what: str) -> Refused:
        return Compiler(self.text, 0, {}).refused(node, what)

    def allow_only(self, node: Tree, *names: str) -> None:
        others = [n.strip("_") for n, given in node.args.items() if given not in (None, False, []) and n not in names]
        if others:
            raise self.refused(node, f"{type(node).__name__.lower()} with {', '.join(others)}")

    def query(self, node: Tree) -> tuple[str, dict[str, str | None]]:
        """Return a query in DuckDB's SQL, and its columns."""
        if isinstance(node, exp.Subquery) and not node.alias:
            self.allow_only(node, "this")
            return self.query(node.this)
        defined = self._defined(node.args.get("with_"))
        if isinstance(node, exp.Union):
            sql, columns = self._union(node)
        elif isinstance(node, exp.Select):
            sql, columns = _Query(self.text, self.tables, self.outer)._select(node)
        else:
            raise self.refused(node, f"{type(node).__name__.lower()} as a query")
        return f"{defined}{sql}", columns

    def _defined(self, with_: Tree | None) -> str:
        if with_ is None:
            return ""
        self.allow_only(with_, "expressions")
        parts = []
        for cte in with_.expressions:
            self.allow_only(cte, "this", "alias")
            sql, columns = self.query(cte.this)
            names = [column.name for column in cte.args["alias"].args.get("columns") or ()]
            if names:
                columns = dict(zip(names, columns.values(), strict=True))
            self.tables[cte.alias.lower()] = columns
            listed = f"({', '.join(map(quoted_name, names))})" if names else ""
            parts.append(f"{quoted_name(cte.alias)}{listed} AS ({sql})")
        return f"WITH {', '.join(parts)} "

    def _union(self, node: Tree) -> tuple[str, dict[str, str | None]]:
        self.allow_only(node, "this", "expression", "distinct", "with_")
        (left, first), (right, second) = (
            _Query(self.text, self.tables, self.outer).query(side) for side in (node.this, node.expression)
        )
        if len(first) != len(second):
            raise self.refused(node, "a union of queries with different numbers of columns")
        pairs = list(zip(first.values(), second.values(), strict=True))
        types = [common(pair) for pair in pairs]
        if any(type_ is None and None not in pair for type_, pair in zip(types, pairs, strict=True)):
            raise self.refused(node, "a union of columns of different types")
        columns = dict(zip(first, types, strict=True))
        sides = []
        for sql, own in ((left, first), (right, second)):
            texts = [
                f"{cast(quoted_name(name), type_)} AS {quoted_name(new)}"
                for name, (new, type_) in zip(own, columns.items(), strict=True)
            ]
            sides.append(f"SELECT {', '.join(texts)} FROM ({sql})")
        return f" {'UNION' if node.args.get('distinct') else 'UNION ALL'} ".join(sides), columns

    def _select(self, node: Tree) -> tuple[str, dict[str, str | None]]:
        self.allow_only(node, "expressions", "from_", "joins", "where", "group", "having", "distinct", "with_", "kind")
        distinct = node.args.get("distinct")
        if distinct is not None:
            self.allow_only(distinct)
        source = f" FROM {self._relation(node.args['from_'].this)}" if node.args.get("from_") else ""
        for join in node.args.get("joins") or ():
            source += f" {self._join(join)}"
        picked = [value for part in node.expressions for value in self._picked(part)]
        columns: dict[str, str | None] = {}
        texts = []
        for i, (name, value) in enumerate(picked):
            own = name if name and name not in columns else f"__column{i}"
            columns[own] = value.type
            texts.append(f"{cast(value.sql, value.type)} AS {quoted_name(own)}")
        sql = f"SELECT {'DISTINCT ' if distinct is not None else ''}{', '.join(texts)}{source}"
        if where := node.args.get("where"):
            sql += f" WHERE {self.compiler().of_rows(where.this).sql}"
        if group := node.args.get("group"):
            self.allow_only(group, "expressions")
            sql += f" GROUP BY {', '.join(self._grouped(part) for part in group.expressions)}"
        if having := node.args.get("having"):
            sql += f" HAVING {self.compiler().condition(having.this).sql}"
        return sql, columns

    def _grouped(self, node: Tree) -> str:
        if isinstance(node, exp.Literal):
            raise self.refused(node, "GROUP BY with the number of a column")
        value = self.compiler().value(node)
        return cast(value.sql, value.type)

    def _relation(self, node: Tree) -> str:
        """Return a table or a subquery of a FROM, and remember its columns under its alias."""
        if isinstance(node, exp.Subquery) and node.alias:
            self.allow_only(node, "this", "alias")
            sql, columns = _Query(self.text, self.tables, self.outer).query(node.this)
            self.relations[node.alias] = columns
            return f"({sql}) AS {quoted_name(node.alias)}"
        if not isinstance(node, exp.Table):
            raise self.refused(node, f"{type(node).__name__.lower()} in FROM")
        self.allow_only(node, "this", "alias")
        columns_ = self.tables.get(node.name.lower())
        if columns_ is None:
            raise self.refused(node, f"the relation {node.name}")
        alias = node.alias or node.name
        self.relations[alias] = columns_
        return f"{quoted_name(node.name)} AS {quoted_name(alias)}"

    def _join(self, node: Tree) -> str:
        self.allow_only(node, "this", "side", "kind", "on")
        how = _JOINS.get((str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()))
        if how is None:
            raise self.refused(node, "this join")
        before = dict(self.relations)
        table = self._relation(node.this)
        on = node.args.get("on")
        joined = (node.this.alias or node.this.name).lower()
        found = self.compiler().of_rows(on, joined=joined) if on is not None else Value("true", "BOOLEAN")
        condition = in_join(how, found.sql, ranged=is_ranged(equates=found.equates, parts=found.parts))
        if how in ("SEMI JOIN", "ANTI JOIN"):
            self.relations = before
        return f"{how} {table}" if how == "CROSS JOIN" else f"{how} {table} ON {condition}"

    def _picked(self, node: Tree) -> list[tuple[str, Value]]:
        """Return what a SELECT item gives, with names; a ``*`` gives several."""
        star = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
        if star:
            self.allow_only(node, "this", "table")
            chosen = node.args["table"].name.lower() if isinstance(node, exp.Column) else ""
            return [
                (name, Value(f"{quoted_name(alias)}.{quoted_name(name)}", type_, simple=True))
                for alias, columns in self.relations.items()
                if not chosen or alias.lower() == chosen
                for name, type_ in columns.items()
            ]
        inner = node.this if isinstance(node, exp.Alias) else node
        own = inner.parts[-1].name if isinstance(inner, exp.Column) else ""
        return [(node.alias if isinstance(node, exp.Alias) else own, self.compiler().value(inner))]

    def compiler(self) -> _OfQuery:
        types: dict[str, str | None] = dict(self.outer)
        seen: set[str] = set()
        for alias, columns in self.relations.items():
            for name, type_ in columns.items():
                types[f"{alias}.{name}"] = type_
                if name.lower() in seen:
                    # Two columns of one name: it cannot be read without the name of its table.
                    types.pop(name, None)
                else:
                    types[name] = type_
                    seen.add(name.lower())
        return _OfQuery(self.text, types, lambda node: _Query(self.text, self.tables, types).query(node))


class _OfQuery(Compiler):
    """Translates expressions inside of a query, which may contain aggregates and subqueries."""

    def __init__(
        self, text: str, types: Mapping[str, str | None], ask: Callable[[Tree], tuple[str, dict[str, str | None]]]
    ) -> None:
        super().__init__(text, 0, types)
        self._ask = ask

    def visit_anonymous(self, node: Tree) -> Value:
        if node.name.lower() in AGGREGATE_FUNCTIONS:
            return self._aggregated(node, [])
        return super().visit_anonymous(node)

    def visit_filter(self, node: Tree) -> Value:
        if not isinstance(node.this, exp.Anonymous):
            raise self.refused(node, "FILTER")
        return self._aggregated(node.this, [self.condition(node.expression.this).sql])

    def _aggregated(self, node: Tree, chosen: Sequence[str]) -> Value:
        name = node.name.lower()
        record = AGGREGATE_FUNCTIONS[name]
        given: Sequence[Any] = node.expressions
        distinct = len(given) == 1 and isinstance(given[0], exp.Distinct)
        parts = given[0].expressions if distinct else given
        if record.order_sensitive or not record.duckdb:
            raise self.refused(node, name)
        values = [STAR if isinstance(part, exp.Star) else self.value(part) for part in parts]
        try:
            call = prepared(record, name, values)
        except MeaningDiffers as error:
            raise self.refused(node, str(error)) from None
        sql = aggregated(record, call, distinct=distinct, chosen=chosen, tie="", order="")
        return Value(cast(sql, call.type), call.type, fails=True)

    def visit_in(self, node: Tree) -> Value:
        query = node.args.get("query")
        if query is None:
            return super().visit_in(node)
        self._allow_only(node, "this", "query")
        sql, columns = self._ask(query)
        value = self.value(node.this)
        (type_,) = columns.values() if len(columns) == 1 else (None,)
        wide = common([value.type, type_])
        if wide is None:
            raise self.refused(node, "IN with a query")
        name = quoted_name(next(iter(columns)))
        return Value(f"({cast(value.sql, wide)} IN (SELECT {cast(name, wide)} FROM ({sql})))", "BOOLEAN")

    def visit_exists(self, node: Tree) -> Value:
        self._allow_only(node, "this")
        return Value(f"EXISTS ({self._ask(node.this)[0]})", "BOOLEAN")

    def visit_subquery(self, node: Tree) -> Value:
        self._allow_only(node, "this")
        sql, columns = self._ask(node.this)
        if len(columns) != 1:
            raise self.refused(node, "a query of several columns as a value")
        return Value(f"({sql})", next(iter(columns.values())))
