"""`accumulate`: all rows so far, as partial aggregates that are merged where no later time can tell times apart.

With frontier F, a complete time t is represented by the meet over f in F of the join of t and f: the times that may
still appear are above the one exactly if they are above the other. On a total order that is the frontier itself, and
there is one cell for each group. A cell says in ``__here`` how many of its rows wait for their time to be complete:
all, or none once it is merged with others.
"""

from __future__ import annotations

from tidegate.engine.frontiers import Frontier, complete, is_complete, moving, newly_complete, parts_of
from tidegate.engine.keepers.keeper import Answer, Held, Keeper, Moved
from tidegate.engine.lowering import lower_operator
from tidegate.engine.lowering.accumulate import answers_of, cells_of, merged_cells
from tidegate.engine.relation import Relation, as_they_are
from tidegate.engine.units import from_units, to_units
from tidegate.flow import plan
from tidegate.flow.spans import units
from tidegate.time import BOTTOM, TOP

__all__ = ["FEW", "AllCells", "AllRows"]

#: With fewer new rows than this, their groups are sent to where the state is, and not the state to them.
FEW = 100_000


class AllRows(Keeper[plan.Accumulate]):
    """All rows: each takes part in all later answers."""

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers at the times that became complete."""
        done = newly_complete(self.operator.schema, moved.old, moved.new)
        return held.answers(lower_operator(self.operator, self.read(held, 0)).where(done))


class AllCells(AllRows):
    """Partial aggregates of all rows."""

    keeps = "cells"

    def kept_of(self, rows: Relation) -> Relation:
        """Return the cells of rows; all of their rows wait."""
        return cells_of(self.operator, rows).with_columns({"__here": "__n"})

    def times(self, port: int) -> list[str]:  # noqa: ARG002
        """Return the times of cells, null for those that do not wait any more."""
        columns = enumerate(self.operator.schema.times)
        return [f"IF(__here > 0, {to_units(f'__t{i}', column.type or '')}, NULL)" for i, column in columns]

    def answer(self, held: Held, moved: Moved) -> Answer:
        """Return the answers for the cells that became complete, on top of those that were."""
        operator, schema = self.operator, self.operator.schema
        waiting = [
            part
            for part in held.states[0].parts
            if part.last is not None and not is_complete(schema, moved.old, part.last)
        ]
        if not waiting:
            return held.answers(None)
        was, now = (complete(schema, frontier, self._times) for frontier in (moved.old, moved.new))
        newer, cells = self.read(held, 0, waiting), self.read(held, 0)
        fresh = newer.where(f"__here > 0 AND ({now}) AND NOT ({was})")
        known = cells.where(f"__here = 0 OR ({was})")
        if operator.emit == "update" and operator.aggregation.by:
            # A group without new rows gives no answer.
            names = [f"__k{i}" for i in range(len(operator.aggregation.by))]
            groups = fresh.select({f"{name}x": name for name in names}).distinct()
            same = " AND ".join(f"{name} <=> {name}x" for name in names)
            few = sum(part.rows for part in waiting) <= FEW
            known = known.join(groups.small() if few else groups, same, "semi")
        rows = held.input_types()
        both = merged_cells(operator, self._represented(known, moved.old).union(fresh), rows)
        return held.answers(answers_of(operator, both, rows))

    def keep(self, held: Held, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return cells with those of complete times merged as far as no later time can tell them apart."""
        done = f"(__here = 0 OR ({complete(self.operator.schema, at, self._times)}))"
        marked = rows.with_columns({"__waits": f"NOT {done}"})
        moved = self._represented(marked, at, unless="__waits")
        merged = merged_cells(self.operator, moved, held.input_types(), "__waits")
        return merged.select(as_they_are(rows.names))

    @property
    def _times(self) -> list[str]:
        return [f"__t{i}" for i in range(len(self.operator.schema.time))]

    def _represented(self, cells: Relation, at: Frontier, unless: str = "false") -> Relation:
        """Return cells at the times that represent theirs, not merged yet; ``unless`` leaves some as they are."""
        schema = self.operator.schema
        elements = [parts for parts in (parts_of(schema, f) for f in at) if TOP not in parts]
        changed = {"__here": f"IF({unless}, __here, 0L)"}
        for i, column in enumerate(schema.times):
            name, type_ = f"__t{i}", column.type or ""
            counted = to_units(name, type_)
            joins = [
                name
                if part[i] is BOTTOM
                else f"greatest({name}, {from_units(moving(counted, units(part[i], type_)), type_)})"
                for part in elements
            ]
            meet = joins[0] if len(joins) == 1 else f"least({', '.join(joins)})" if joins else name
            changed[name] = f"IF({unless}, {name}, {meet})"
        return cells.select(as_they_are(cells.names) | changed)
