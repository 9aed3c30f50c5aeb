"""Loops with a given number of rounds: each version is computed from the start, from the rows at or below it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from tidegate.engine.calls import call, named_calls
from tidegate.engine.loops.rounds import Watch, unwatched
from tidegate.engine.relation import Backend, ComputedRows, Relation, as_they_are, united
from tidegate.engine.units import from_units, number, units_of
from tidegate.flow.loops.query import KNOWN
from tidegate.flow.plan import Iterate

__all__ = ["CountedLoop", "Version", "answers_of_versions", "kept"]

#: A time, as units since the epoch in each time column.
Version = tuple[int, ...]


def kept(operator: Iterate, facts: Relation) -> Relation:
    """Return one row for each key: its facts, merged by the rules of the loop."""
    key = as_they_are(operator.key)
    results = facts.group(key, named_calls(operator.keep), order=facts.order)
    return results.select(key | {output.name: output.finish for output in operator.keep.outputs})


@dataclass(slots=True)
class CountedLoop:
    """A loop with ``rounds``, and the facts of the versions computed so far."""

    operator: Iterate
    backend: Backend
    given: Mapping[str, Relation]
    watch: Watch = unwatched
    known: dict[Version, ComputedRows] = field(default_factory=dict)

    def at(self, version: Version) -> Relation:
        """Return the facts of a version after all rounds."""
        if version not in self.known:
            self.known[version] = self._worked_out(version)
        return self.known[version].rows

    def release(self) -> None:
        """Free what is held."""
        for block in self.known.values():
            block.release()
        self.known.clear()

    def _worked_out(self, version: Version) -> ComputedRows:
        operator = self.operator
        given = {name: self._below(rows, version) for name, rows in self.given.items()}
        backend, rows = self.backend, dict(given)
        with ExitStack() as held:
            once, step = operator.step.hoisted()
            begun, start = operator.start.hoisted()
            # Subqueries that both start and step define are computed once for both, unless a name means different
            # things in them.
            both = {**begun, **once}
            shared = given.keys().isdisjoint(both) and all(both[name] == query for name, query in begun.items())
            for name, query in (both if shared else once).items():
                cached = backend.cached(backend.query(query, rows))
                held.callback(cached.release)
                rows[name] = cached.rows
            first = backend.query(start, rows) if shared else backend.query(operator.start, given)
            known = backend.kept(kept(operator, first))
            named = held.enter_context(backend.views({n: rows[n] for n in step.relations if n != KNOWN}))
            for number in range(1, (operator.rounds or 0) + 1):
                self.watch(number, version)
                found = backend.query(step, {KNOWN: known.rows}, named)
                before, known = known, backend.kept(kept(operator, found))
                before.release()
        return known

    def _below(self, rows: Relation, version: Version) -> Relation:
        """Return the rows at or below a version, without their times."""
        times = self.operator.schema.time
        if not set(times) <= set(rows.names):
            return rows
        schema = self.operator.schema
        at = [
            f"{units_of(schema, name)} <= {number(n, schema[name].type or '')}"
            for name, n in zip(times, version, strict=True)
        ]
        return rows.where(" AND ".join(at)).without(*times)


def answers_of_versions(loop: CountedLoop, versions: list[Version], all_versions: list[Version]) -> Relation | None:
    """Return the answers in some versions: all facts, or those that differ from a version just below."""
    found = []
    for version in sorted(versions):
        known = loop.at(version)
        if loop.operator.emit == "complete":
            found.append(_at(loop, known, version))
            continue
        below = [s for s in all_versions if s != version and _le(s, version)]
        latest = [s for s in below if not any(s != u and _le(s, u) for u in below)]
        if not latest:
            found.append(_at(loop, known, version))
            continue
        columns = {f"__{i}": sql for i, sql in enumerate(as_they_are(known.names).values())}
        same = " AND ".join(f"{sql} <=> {name}" for name, sql in columns.items())
        differing = united([known.join(loop.at(s).select(columns), same, "anti") for s in latest])
        # The rows of one key are equal, whichever version they differ from.
        values = {name: call("first", sql) for name, sql in as_they_are(known.names).items()}
        once = differing.group(
            as_they_are(loop.operator.key), {n: v for n, v in values.items() if n not in loop.operator.key}
        )
        found.append(_at(loop, once, version))
    return united(found) if found else None


def _at(loop: CountedLoop, known: Relation, version: Version) -> Relation:
    times = {
        c.name: from_units(number(n, c.type or ""), c.type or "")
        for c, n in zip(loop.operator.schema.times, version, strict=True)
    }
    return known.select(times | as_they_are(known.names))


def _le(a: Version, b: Version) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))
