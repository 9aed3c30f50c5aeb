"""Loops of flows on simulated workers: branches of their queries, run on rows and facts that have times."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tidegate.flow.duck import Duck
from tidegate.flow.errors import NotSupported
from tidegate.flow.loops.query import KNOWN, Branch, Query
from tidegate.flow.plan import Iterate, Plan
from tidegate.flow.values import freeze
from tidegate.reference.looped import merged
from tidegate.sim import Simulation
from tidegate.sim.loop import LoopBody, Timed, loop
from tidegate.time import Nat, Order, Product

__all__ = ["LoopRules", "simulated"]


class LoopRules:
    """The rules of a loop for `tidegate.sim.loop`: rows are pairs of a relation's name and a row."""

    def __init__(self, plan: Plan, operator: Iterate, tables: Mapping[str, Sequence[Any]]) -> None:
        if operator.rounds is not None:
            raise NotSupported("a loop with rounds has no form on simulated workers")
        self.operator = operator
        self.tables = tables
        self.times = operator.schema.times
        self.columns = {
            name: source.schema.columns for name, source in zip(operator.names, plan.inputs(operator), strict=True)
        }
        self.columns[KNOWN] = (*self.times, *operator.known.columns)
        self.duck = Duck()

    def start(self, rows: Sequence[Timed]) -> list[Timed]:
        """Return what the branches give that read rows only."""
        branches = [b for query in (self.operator.start, self.operator.step) for b in query.branches if not b.known]
        return [found for branch in branches for found in self.asked(branch, [], rows)]

    def step(self, facts: Sequence[Timed], rows: Sequence[Timed]) -> list[Timed]:
        """Return what the branches give that read what is known."""
        branches = [b for b in self.operator.step.branches if b.known]
        return [found for branch in branches for found in self.asked(branch, facts, rows)]

    def asked(self, branch: Branch, facts: Sequence[Timed], rows: Sequence[Timed]) -> list[Timed]:
        """Return what a branch gives, at the times that it says."""
        names = [c.name for c in self.times]
        sql = branch.select({r.alias: r.name for r in branch.relations}, extra=branch.times(names))
        columns = (*self.times, *self.operator.start.columns)
        query = Query(sql, columns, (), tuple(dict.fromkeys(r.name for r in branch.relations)))
        given = {name: [row for _, (n, row) in rows if n == name] for name in self.operator.names}
        given |= {name: list(table) for name, table in self.tables.items()}
        given[KNOWN] = [self.timed(t, fact) for t, fact in facts]
        found = self.duck.query(query, {name: (given[name], self.columns[name]) for name in query.relations})
        return [(self.since(row), {n: v for n, v in row.items() if n not in names}) for row in found]

    def since(self, row: Any) -> Any:
        """Return the time of a fact, or None if it follows from tables alone."""
        return None if row[self.times[0].name] is None else self.operator.schema.time_of(row)

    def timed(self, t: Any, fact: Any) -> dict[str, Any]:
        """Return a fact with its time as columns."""
        values = (t,) if len(self.times) == 1 else t
        return {**dict(zip((c.name for c in self.times), values, strict=True)), **fact}

    def key(self, fact: Any) -> Hashable:
        """Return the key of a fact."""
        found: Hashable = freeze([fact[name] for name in self.operator.key])
        return found

    def merge(self, facts: Sequence[Any]) -> Any:
        """Return the one fact that is kept of some with the same key."""
        (fact,) = merged(self.operator.key, self.operator.rules, facts).values()
        return fact


def simulated(
    plan: Plan,
    rows: Sequence[Timed],
    tables: Mapping[str, Sequence[Any]],
    *,
    workers: int,
    seed: int,
    stalls: float = 0.02,
    body: type[LoopBody] = LoopBody,
) -> list[Timed]:
    """Run the one loop of a plan on simulated workers, on rows of its inputs; return its answers at each time.

    ``rows`` are pairs of a time and a pair: the name of a relation, and the row. Times are whole numbers from 0 on, as
    the capability to begin with needs a least time. ``tables`` are the rows of relations that are tables. The loop
    emits updates.
    """
    (operator,) = (o for o in plan if isinstance(o, Iterate))
    parts = [Nat() for _ in operator.schema.time]
    order: Order[Any] = parts[0] if len(parts) == 1 else Product(*parts)
    simulation = Simulation(loop(order, rows, LoopRules(plan, operator, tables), body=body), workers=workers)
    simulation.run(seed=seed, stalls=stalls)
    return [answer for sink in simulation.instances("d") for answer in sink.answers]
