"""State of operators whose answers depend on all rows so far: the rows themselves, or cells.

A cell is a partial aggregate of `accumulate`, or a row of `top`. Cells at complete times are merged, so that the state
does not grow with the number of times.

Two complete times need not be told apart if each time that may still come is above both of them or above neither. So
the cells of a complete time t are moved to a representative time. In each time column, that is the least value that
``max(t, f)`` has over the elements f of the frontier. Exactly the same later times are above it as above t. With one
time column, it is the frontier itself, so each group has one cell.

The column ``__here`` of a cell counts its rows that still wait for their time to be complete: all of them, or 0 once
the cell is merged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from tidegate.engine.frontiers import Frontier, complete, complete_at, is_complete, moving, newly_complete, parts_of
from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState, Keeper
from tidegate.engine.lowering import lower_operator
from tidegate.engine.lowering.accumulate import answers_of, cells_of, counted_at, merged_cells
from tidegate.engine.lowering.chains import UNTIL, remembered
from tidegate.engine.lowering.ranks import first_of_each
from tidegate.engine.lowering.tops import placed, top_answers
from tidegate.engine.relation import Relation, as_they_are
from tidegate.engine.units import from_units, to_units
from tidegate.flow import plan
from tidegate.flow.expressions import Expression
from tidegate.flow.orders import PosetCoordinates
from tidegate.flow.schema import Schema
from tidegate.flow.spans import units
from tidegate.time import BOTTOM, TOP

__all__ = ["FEW", "AllCells", "AllRows", "FirstRows"]

#: With fewer new rows than this, their groups are broadcast to the state, and the state is not shuffled.
FEW = 100_000

Accumulating = TypeVar("Accumulating", bound=plan.Accumulate | plan.Top)


class _AccumulatingKeeper(Keeper[Accumulating]):
    """The base of keepers for answers over all rows so far. It knows when groups are forgotten."""

    def __init__(self, operator: Accumulating, inputs: Sequence[Schema]) -> None:
        super().__init__(operator, inputs)
        # Whether a group is forgotten depends on all of its rows, in all parts.
        self.parts_apart = operator.forget is None

    def _remembered(self, rows: Relation, groups: Sequence[str]) -> Relation:
        """Return rows with the time at which their group is forgotten. ``__t0`` is the time from which a row counts."""
        (time,) = self.operator.schema.times
        return remembered(rows, to_units("__t0", time.type or ""), self.operator.forget or 0, groups)

    def _forgotten(self, at: Frontier) -> str:
        """Return the SQL condition that a row of `_remembered` is not needed any more: its group is forgotten."""
        schema = self.operator.schema
        return complete_at(schema, at, schema.time[0], f"{UNTIL} - 1L")


class AllRows(_AccumulatingKeeper[plan.Accumulate]):
    """All rows. Each is part of all later answers, until its group is forgotten."""

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the rows of groups that are not forgotten."""
        if self.operator.forget is None:
            return rows
        keys = {f"__k{i}": e.sql for i, e in enumerate(self.operator.aggregation.by)}
        counted = rows.with_columns(keys | {"__t0": counted_at(self.operator)[0]})
        known = self._remembered(counted, list(keys)).where(f"NOT ({self._forgotten(at)})")
        return known.select(as_they_are(rows.names))

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers at the times that became complete."""
        done = newly_complete(self.operator.schema, moved.old, moved.new)
        return held.answers(lower_operator(self.operator, self.read(held, 0)).where(done))


class _Cells(_AccumulatingKeeper[Accumulating]):
    """The base of keepers that keep cells.

    A cell has the columns of its group ``__k…``, the columns of its time ``__t…``, and ``__here``. Subclasses add more.
    """

    @property
    @abstractmethod
    def by(self) -> Sequence[Expression]:
        """The grouping expressions."""

    @abstractmethod
    def merged(self, held: HeldState, cells: Relation, *apart: str) -> Relation:
        """Return the cells, merged into one for each group, time and value of the columns ``apart``."""

    @abstractmethod
    def answered(self, held: HeldState, cells: Relation) -> Relation:
        """Return the answers at the times of the cells with ``__here`` > 0, computed from all cells."""

    def times(self, port: int) -> list[str]:  # noqa: ARG002
        """Return SQL for the times of cells; NULL for cells that do not wait any more."""
        columns = enumerate(self.operator.schema.times)
        return [f"IF(__here > 0, {to_units(f'__t{i}', column.type or '')}, NULL)" for i, column in columns]

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:
        """Return the answers for the cells that became complete. The cells before them count, too."""
        schema = self.operator.schema
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
        if self.operator.emit == "update" and self.by:
            # Only groups with new rows have an answer, so the others need not be read.
            names = [f"__k{i}" for i in range(len(self.by))]
            groups = fresh.select({f"{name}x": name for name in names}).distinct()
            same = " AND ".join(f"{name} <=> {name}x" for name in names)
            few = sum(part.rows for part in waiting) <= FEW
            known = known.join(groups.small() if few else groups, same, "semi")
        return held.answers(self.answered(held, self._represented(known, moved.old).union(fresh)))

    def keep(self, held: HeldState, port: int, rows: Relation, at: Frontier) -> Relation:  # noqa: ARG002
        """Return the cells. Those at complete times are merged if no later answer can tell them apart."""
        done = f"(__here = 0 OR ({complete(self.operator.schema, at, self._times)}))"
        marked = rows.with_columns({"__waits": f"NOT {done}"})
        if self.operator.forget is None:
            moved = self._represented(marked, at, unless="__waits")
        else:
            moved = self._at_last_rows(marked, at)
        return self.merged(held, moved, "__waits").select(as_they_are(rows.names))

    def _at_last_rows(self, cells: Relation, at: Frontier) -> Relation:
        """Return the cells that are not forgotten.

        Those that do not wait any more are moved to the time of the last row of their chain (see `remembered`).
        """
        (time,) = self.operator.schema.times
        groups = [*(f"__k{i}" for i in range(len(self.by))), "__waits"]
        known = self._remembered(cells, groups).where(f"__waits OR NOT ({self._forgotten(at)})")
        last = from_units(f"({UNTIL} - {self.operator.forget}L)", time.type or "")
        changed = {"__t0": f"IF(__waits, __t0, {last})", "__here": "IF(__waits, __here, 0L)"}
        return known.with_columns(changed).without(UNTIL)

    @property
    def _times(self) -> list[str]:
        return [f"__t{i}" for i in range(len(self.operator.schema.time))]

    def _represented(self, cells: Relation, at: Frontier, unless: str = "false") -> Relation:
        """Return cells at their representative times, not merged yet.

        Cells that satisfy ``unless`` stay as they are.
        """
        if self.operator.forget is not None:
            # The time of a group's last row has to stay known, because groups are forgotten some time after it.
            return cells.with_columns({"__here": f"IF({unless}, __here, 0L)"})
        schema = self.operator.schema
        if isinstance(schema.coordinates, PosetCoordinates):
            # The user's order may grow, and get elements above times that nothing is above now. Such cells are few.
            return cells.with_columns({"__here": f"IF({unless}, __here, 0L)"})
        elements = [parts for parts in (parts_of(schema, f) for f in at) if TOP not in parts]
        changed = {"__here": f"IF({unless}, __here, 0L)"}
        for i, column in enumerate(schema.times):
            name, type_ = f"__t{i}", column.type or ""
            counted = to_units(name, type_)
            joins = [
                name
                if part[i] is BOTTOM
                else f"greatest({name}, {from_units(moving(counted, units(part[i], type_), type_), type_)})"
                for part in elements
            ]
            meet = joins[0] if len(joins) == 1 else f"least({', '.join(joins)})" if joins else name
            changed[name] = f"IF({unless}, {name}, {meet})"
        return cells.select(as_they_are(cells.names) | changed)


class AllCells(_Cells[plan.Accumulate]):
    """Partial aggregates of all rows."""

    keeps = "cells"

    @property
    def by(self) -> Sequence[Expression]:
        """The grouping expressions."""
        return self.operator.aggregation.by

    def kept_of(self, rows: Relation) -> Relation:
        """Return the cells of new rows, all of which wait."""
        return cells_of(self.operator, rows).with_columns({"__here": "__n"})

    def merged(self, held: HeldState, cells: Relation, *apart: str) -> Relation:
        """Return one cell for each group and time."""
        return merged_cells(self.operator, cells, held.input_types(), *apart)

    def answered(self, held: HeldState, cells: Relation) -> Relation:
        """Return the accumulated answers at the cells with ``__here`` > 0."""
        return answers_of(self.operator, self.merged(held, cells), held.input_types())


class FirstRows(_Cells[plan.Top]):
    """The first rows of each group and time, out of all rows."""

    keeps = "first rows"

    @property
    def by(self) -> Sequence[Expression]:
        """The grouping expressions."""
        return self.operator.by

    def kept_of(self, rows: Relation) -> Relation:
        """Return the first rows of each group and time, all of which wait."""
        return self._first(placed(self.operator, rows), rows)

    def merged(self, held: HeldState, cells: Relation, *apart: str) -> Relation:
        """Return the first rows of each group and time."""
        return self._first(cells, held.input_types(), *apart)

    def answered(self, held: HeldState, cells: Relation) -> Relation:
        """Return the first rows at the times of the cells with ``__here`` > 0."""
        return top_answers(self.operator, cells, held.input_types())

    def _first(self, rows: Relation, own: Relation, *apart: str) -> Relation:
        groups = [f"__k{i}" for i in range(len(self.by))]
        return first_of_each(self.operator, rows, [*groups, *self._times, *apart], own).without("__nth")
