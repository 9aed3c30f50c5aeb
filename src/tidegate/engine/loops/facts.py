"""Facts with times: what is known of a key from which time on, and which of it is new.

A fact holds from its time on. One without a time (NULL) has always held. What is known of a key at a time is the merge
of its facts at or below that time. So facts are kept in *cells*: the times at which what is known of a key changes.
With one time column, cells are a running merge along it. With several, they are a running merge along each column of
the grid of a key's times. If all facts hold from one time on, each key has one cell, and there is no running merge. A
cell is dropped if the same is known just before it in some column. If values have a total order, the cells of a key are
the Pareto-minimal pairs of value and time.

A finite order can have many time columns, its coordinates. A grid would then have as many cells as there are elements
to the power of the columns, so the facts of a key are compared in pairs instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tidegate.engine.calls import call, wrapped
from tidegate.engine.relation import Call, Relation, as_they_are
from tidegate.flow.loops.keep import Rule
from tidegate.flow.orders import PosetCoordinates
from tidegate.flow.plan import Iterate
from tidegate.flow.sqltypes import quoted

__all__ = ["FOUND", "HERE", "KNOWN_BEFORE", "Facts"]

#: With more time columns than this, a grid has too many cells.
_GRIDS = 2
#: The origin of a fact: known before this step, found in an earlier round of it, or found in this round.
KNOWN_BEFORE, HERE, FOUND = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Facts:
    """The shape of a loop's facts: time columns, key, and values with the rules by which they are merged."""

    times: tuple[str, ...]
    key: tuple[str, ...]
    rules: tuple[Rule, ...]
    #: Whether all facts hold from the same time on.
    one_time: bool = False
    #: Whether facts are compared in pairs, and not put on a grid.
    in_pairs: bool = False

    @classmethod
    def of(cls, operator: Iterate, *, one_time: bool = False) -> Facts:
        """Return the shape of the facts of a loop."""
        schema = operator.schema
        in_pairs = isinstance(schema.coordinates, PosetCoordinates) and len(schema.time) > _GRIDS
        return cls(schema.time, operator.key, operator.rules, one_time, in_pairs)

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values."""
        return tuple(rule.name for rule in self.rules)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns: time, key, values."""
        return (*self.times, *self.key, *self.values)

    def renamed(self, name: Callable[[str], str]) -> tuple[Rule, ...]:
        """Return the rules for values that have other names."""
        return tuple(Rule(name(rule.name), rule.function, rule.by and name(rule.by)) for rule in self.rules)

    def merged(self, rows: Relation) -> Relation:
        """Return one fact for each key and time."""
        merges = _Merges.of(self.rules)
        return merges.grouped(rows, (*self.key, *self.times)).select(as_they_are(self.columns))

    def merged_beside(
        self, rows: Relation, name: Callable[[str], str], more: Mapping[str, Call] = MappingProxyType({})
    ) -> Relation:
        """Return one fact for each key and time. Values under other names are merged beside it, with more calls."""
        return _Merges.of(self.rules, self.renamed(name)).grouped(rows, (*self.key, *self.times), more)

    def cells(self, rows: Relation) -> Relation:
        """Return the cells. Those with ``__fresh`` have a value that was not known before this round.

        Those with ``__here`` have one that was not known before this step. ``rows`` are facts with a column ``__from``:
        `KNOWN_BEFORE`, `HERE` or `FOUND`.
        """
        own = rows.with_columns({self._old(v): f"IF(__from < {FOUND}, {quoted(v)}, NULL)" for v in self.values})
        flags = {"__was": call("bool_or", f"__from < {FOUND}"), "__here": call("bool_or", f"__from = {HERE}")}
        cells = self.merged_beside(own, self._old, flags)
        if not self.one_time:
            cells = self._compared(cells) if self.in_pairs else self._along_time(cells)
        before = self._known(tuple(map(self._old, self.values)), "__was")
        fresh = f"NOT ({self._known(self.values, 'true')} <=> {before})"
        return cells.select(
            as_they_are(self.columns) | {"__fresh": fresh, "__here": f"coalesce(__here, false) OR {fresh}"}
        )

    def _along_time(self, cells: Relation) -> Relation:
        """Return the cells at which what is known changes, each with everything that is known there."""
        if len(self.times) > 1:
            cells = self._on_grid(cells)
        cells = cells.with_columns({"__n": "IF(__was IS NULL, 0, 1)"})
        now = self._known(self.values, "__n > 0")
        merges = _Merges.of(self.rules)
        for name in self.times:
            cells = merges.along(cells, self._others(name), name, {"__n": call("sum", "__n")})
        for i, name in enumerate(self.times):
            cells = cells.over({f"__prior{i}": call("lag", now)}, self._others(name), [quoted(name)])
        changed = [f"NOT ({now} <=> __prior{i})" for i in range(len(self.times))]
        return cells.where(" AND ".join(["__n > 0", *changed]))

    def _compared(self, cells: Relation) -> Relation:
        """Return the same as `_along_time`, at the time of each fact, and at the least time at or above each two facts.

        The least time at or above three facts is found in the next round: what is new at that of two of them is fresh.
        """
        listed = self._listed(cells)
        least = listed.explode("__a", "__cells").explode("__b", "__cells")
        times = {f"__t{i}": f"greatest(__a.{n}, __b.{n})" for i, n in enumerate(map(quoted, self.times))}
        at = least.group(as_they_are(self.key) | times, {"__cells": call("first", "__cells")})
        below = at.explode("__c", f"filter(__cells, __c -> {self._at_or_below('__c', at_most='__t')})")
        own = " AND ".join(f"__c.{quoted(name)} <=> __t{i}" for i, name in enumerate(self.times))
        held = [name for name in cells.names if name not in (*self.key, *self.times, *self.values)]
        columns = {name: f"__t{i}" for i, name in enumerate(self.times)} | {v: f"__c.{quoted(v)}" for v in self.values}
        columns |= {name: f"IF({own}, __c.{quoted(name)}, NULL)" for name in held}
        # One of the cells below may be at the time itself. Its other columns stay as they are.
        kept = {name: call("first", name, ignore_nulls=True) for name in held}
        known = _Merges.of(self.rules).grouped(
            below.select(as_they_are(self.key) | columns), (*self.key, *self.times), kept
        )
        return self._changing(known.select(as_they_are(cells.names)))

    def _changing(self, cells: Relation) -> Relation:
        """Return the cells at which more is known than at every cell below."""
        now = cells.with_columns({"__now": self._known(self.values, "true")})
        each = self._listed(now).explode("__x", "__cells")
        same = " AND ".join(f"__c.{quoted(name)} <=> __x.{quoted(name)}" for name in self.times)
        lower = f"{self._at_or_below('__c', at_most='__x.')} AND NOT ({same}) AND __c.__now <=> __x.__now"
        found = each.where(f"size(filter(__cells, __c -> {lower})) = 0")
        return found.select({name: quoted(name) if name in self.key else f"__x.{quoted(name)}" for name in cells.names})

    def _at_or_below(self, cell: str, *, at_most: str) -> str:
        """Return the SQL condition that a cell is at or below a time. A cell without a time is below all times."""
        bounds = [f"{at_most}{i}" if at_most == "__t" else f"{at_most}{quoted(n)}" for i, n in enumerate(self.times)]
        pairs = zip(map(quoted, self.times), bounds, strict=True)
        return " AND ".join(f"({cell}.{name} IS NULL OR {cell}.{name} <= {bound})" for name, bound in pairs)

    def _listed(self, cells: Relation) -> Relation:
        """Return the cells of each key as a list ``__cells``."""
        fields = ", ".join(quoted(c) for c in cells.names if c not in self.key)
        return cells.group(as_they_are(self.key), {"__cells": call("collect_list", f"struct({fields})")})

    def _on_grid(self, cells: Relation) -> Relation:
        """Return a row for each combination of the values in a key's time columns; most of these are not cells yet."""
        data = [c for c in cells.names if c not in self.key]
        grid = self._listed(cells)
        for i, name in enumerate(map(quoted, self.times)):
            grid = grid.explode(f"__t{i}", f"array_distinct(transform(__cells, __c -> __c.{name}))")
        same = " AND ".join(f"__c.{quoted(name)} <=> __t{i}" for i, name in enumerate(self.times))
        found = grid.with_columns({"__cell": f"get(filter(__cells, __c -> {same}), 0)"})
        times = {name: f"__t{i}" for i, name in enumerate(self.times)}
        others = {c: f"__cell.{quoted(c)}" for c in data if c not in self.times}
        return found.select(as_they_are(self.key) | times | others)

    def _others(self, time: str) -> list[str]:
        return [quoted(name) for name in (*self.key, *(name for name in self.times if name != time))]

    @staticmethod
    def _known(values: tuple[str, ...], where: str) -> str:
        """Return SQL for all values as one struct, NULL where nothing is known."""
        fields = ["'is', true", *(f"'v{i}', {quoted(name)}" for i, name in enumerate(values))]
        return f"IF({where}, named_struct({', '.join(fields)}), NULL)"

    @staticmethod
    def _old(name: str) -> str:
        return f"__old_{name}"


@dataclass(frozen=True, slots=True)
class _Merges:
    """The rules as aggregate calls over facts, and the expressions that are applied to the results of the calls."""

    calls: dict[str, Call]
    then: dict[str, str]

    @classmethod
    def of(cls, *sets: tuple[Rule, ...]) -> _Merges:
        """Return the merges of several sets of rules, whose values have different names."""
        found = {
            rule.name: wrapped(rule.merge(rules), f"__m{n}_{i}")
            for n, rules in enumerate(sets)
            for i, rule in enumerate(rules)
        }
        calls = {name if then == own else own: one for name, (one, own, then) in found.items()}
        return cls(calls, {name: then for name, (_, own, then) in found.items() if then != own})

    def grouped(self, rows: Relation, by: tuple[str, ...], more: Mapping[str, Call] = MappingProxyType({})) -> Relation:
        """Return the merge of the facts that have equal columns ``by``, with more calls beside it."""
        return self._finished(rows.group(as_they_are(by), {**self.calls, **more}))

    def along(self, cells: Relation, by: list[str], time: str, more: Mapping[str, Call]) -> Relation:
        """Return, for each fact, the merge of all facts up to it along a time column."""
        return self._finished(cells.over({**self.calls, **more}, by, [quoted(time)], so_far=True))

    def _finished(self, results: Relation) -> Relation:
        if not self.then:
            return results
        return results.with_columns(self.then).without(*(own for own in self.calls if own.startswith("__m")))
