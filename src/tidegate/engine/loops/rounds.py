"""The rounds of a loop, until nothing changes. A fact is fresh if the last round has found it and it was not known.

While many facts change, a round is one job over everything that is known. When only a few change, the known facts stay
where they are: the new facts are joined with what is known of their keys, and the fresh ones are kept in a block on
top. After each round, all rows are computed, so query plans do not grow. The time of a round depends on how much
changed, and not on the number of rounds before it. A backend that supports recursive queries runs all rounds with few
changes in one computation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tidegate.engine.calls import call
from tidegate.engine.loops.facts import FOUND, HERE, KNOWN_BEFORE, Facts
from tidegate.engine.loops.queries import Queries
from tidegate.engine.relation import Call, ComputedRows, Relation, as_they_are, united
from tidegate.engine.units import number, units_of
from tidegate.flow.errors import NotConverging
from tidegate.flow.sqltypes import quoted
from tidegate.time import BOTTOM

__all__ = ["Least", "Rounds", "Watch", "shared", "unwatched"]

#: A time as units in each column, or the names of bounds.
Least = tuple[int | str, ...]
#: Called after each round with its number and a lower bound of the times of fresh facts; None if there are none.
Watch = Callable[[int, Least | None], None]

# Up to this many facts are few, and a backend may broadcast them.
_FEW = 10_000
# At most this many facts of one round are held in the engine's own process: a few facts can lead to very many, if a
# node has many edges.
_HELD = 20_000
# If more facts are known, they are not all read to merge a few new ones.
_MANY = 20_000
# The last rounds before the limit are run one by one, so that the error can say how many facts still change in them.
_LAST_ROUNDS = 10
# A number of units that is before all times.
_BEGINNING = -(2**63) + 1


def unwatched(number: int, least: Least | None) -> None:
    """Do nothing. It is the watch of a loop whose progress is not followed."""


def shared(kept: ComputedRows) -> Relation:
    """Return computed rows. If they are few, the backend may broadcast them."""
    return kept.rows.small() if kept.size <= _FEW else kept.rows


@dataclass(slots=True)
class Rounds:
    """The rounds of a loop: what it knew before, and what it has found since."""

    queries: Queries
    #: The cells known before this step; None if there are none, and all rows are new.
    before: Relation | None = None
    before_rows: int = 0
    watch: Watch = unwatched
    #: Whether all facts hold from the same time on.
    one_time: bool = False
    #: How many facts were fresh after each round, beginning with the number before the first round. For rounds that the
    #: backend repeated by itself, facts that a later round has replaced are not counted.
    changed: list[int] = field(default_factory=list)
    #: Blocks of facts: those known before, partitioned by key, if that was needed; all that were found; and the latest
    #: ones on top.
    _before: ComputedRows | None = None
    _found: ComputedRows | None = None
    _top: ComputedRows | None = None
    #: The fresh facts of the last round, if they were put on top.
    _last: ComputedRows | None = None

    def run(self) -> Relation:
        """Run rounds until no fact is fresh. Return the cells that were found, each once, with what is known there.

        They are valid until `release`.
        """
        limit = self.queries.operator.limit
        begun = [*self.queries.begin(), *self.queries.resume(self.before)]
        fresh = self._looked_up(begun) if self.before_rows > _MANY else self._merged(begun)
        while self.changed[-1]:
            if len(self.changed) > limit:
                raise NotConverging.after(self.changed[1:])
            if self.changed[-1] > _FEW:
                fresh = self._merged(self._followed(fresh))
                continue
            repeated = self._repeated(fresh)
            if repeated is not None:
                fresh = repeated
                continue
            found = self._followed(fresh.small())
            few = self._top is None or self._top.size <= _FEW
            fresh = self._looked_up(found) if few and self._rows() > _MANY else self._merged(found)
        return self._all_found().select(as_they_are(self._facts.columns))

    def release(self) -> None:
        """Free what is held."""
        for block in [self._before, self._last, *self._blocks]:
            if block is not None:
                block.release()
        self._before = self._found = self._top = self._last = None

    @property
    def _blocks(self) -> list[ComputedRows]:
        return [block for block in (self._found, self._top) if block is not None]

    @property
    def _facts(self) -> Facts:
        return Facts.of(self.queries.operator, one_time=self.one_time)

    def _followed(self, fresh: Relation) -> list[Relation]:
        """Return what follows from fresh facts.

        If facts are compared in pairs, it includes the fresh facts themselves.

        They have to be compared again: two facts together may give more with a third one.
        """
        found = self.queries.follow(fresh)
        return [*found, fresh] if self._facts.in_pairs else found

    def _merged(self, found: list[Relation]) -> Relation:
        """Merge found facts with everything that is known, in one computation; return what is fresh."""
        backend = self.queries.backend
        if self.before is not None and self._before is None:
            self._before = backend.kept(self._by_key(self.before))
        sides = [self._tagged(self._by_key(rows), FOUND) for rows in found]
        sides += self._here()
        sides += [self._tagged(block.rows, KNOWN_BEFORE) for block in [self._before] if block is not None]
        cells = self._facts.cells(united(sides)).where("__here")
        few = bool(self.changed) and self._rows() <= _FEW
        block = backend.kept_few(cells, self._counts(), at_most=_HELD) if few else None
        block = block or backend.kept(cells, self._counts())
        for old in self._blocks:
            old.release()
        self._found, self._top = block, None
        self._see(block)
        return self._fresh(block)

    def _looked_up(self, found: list[Relation]) -> Relation:
        """Compare found facts with what is known of their keys; return what is fresh, which is put on top."""
        backend = self.queries.backend
        candidates = backend.kept(united(found))
        try:
            if candidates.size > _FEW:
                return self._merged([candidates.rows])
            block = backend.kept_few(self._unknown(candidates.rows), self._counts(), at_most=_HELD)
            if block is None:
                return self._merged([candidates.rows])
        finally:
            candidates.release()
        self._add_block(block)
        self._see(block)
        return self._fresh(block)

    def _repeated(self, fresh: Relation) -> Relation | None:
        """Let the backend run the rounds with few changes by itself; return what is fresh then. None if it can't."""
        backend, facts = self.queries.backend, self._facts
        left = self.queries.operator.limit - len(self.changed) + 1
        if self.watch is not unwatched or left <= _LAST_ROUNDS:
            return None

        def step(last: Relation, found: Relation) -> Relation:
            unknown = self._unknown(united(self._followed(last)), found)
            return unknown.select(as_they_are(facts.columns))

        key = (*facts.times, *facts.key)
        block = backend.repeated(fresh, step, key, rounds=left - _LAST_ROUNDS, at_most=_FEW)
        if block is None:
            return None
        of_round = block.rows.group({"__round": "__round"}, {"__n": call("count", "*")}).fetch().to_pylist()
        numbers = {row["__round"]: row["__n"] for row in of_round}
        last = max(numbers)
        self.changed += [numbers.get(n, 0) for n in range(1, last + 1)]
        followed = numbers[last] <= _FEW and last < left - _LAST_ROUNDS
        if followed:
            self.changed.append(0)
        flags = {"__fresh": f"__round = {last}", "__here": "true"}
        found = block.rows.where("__round > 0").select(as_they_are(facts.columns) | flags)
        self._add_block(replace(block, rows=found))
        return found.where("__fresh").select(as_they_are(facts.columns))

    def _unknown(self, found: Relation, *more: Relation) -> Relation:
        """Return the fresh cells of a few facts: what is not known in the blocks, before this step, or in ``more``."""
        facts = self._facts
        keys = {f"__k{i}": quoted(name) for i, name in enumerate(facts.key)}
        same = " AND ".join(f"{sql} <=> {name}" for name, sql in keys.items())
        known = [self._tagged(rows, HERE) for rows in (*(block.rows for block in self._blocks), *more)]
        known += [] if self.before is None else [self._tagged(self.before, KNOWN_BEFORE)]
        known = [united(known).join(found.select(keys).small(), same, "semi")] if known else []
        # They are few. In one partition, they are shuffled only once.
        together = united([*known, self._tagged(found, FOUND)]).together([])
        return facts.cells(together).where("__fresh")

    def _add_block(self, block: ComputedRows) -> None:
        """Put a block of fresh facts on top of those found before."""
        self._top = self.queries.backend.combined(self._top, block)
        if self._last is not None:
            # What follows from the facts that were fresh before has been computed.
            self._last.release()
        self._last = block

    def _all_found(self) -> Relation:
        """Return the blocks merged. What was known before the step is in none of them, so it is not read."""
        if len(self._blocks) == 1 and self._top is None:
            return self._blocks[0].rows
        return self._facts.cells(united(self._here()))

    def _here(self) -> list[Relation]:
        """Return the facts found in this step, partitioned by key.

        Blocks that are not held in the engine's own process are partitioned so already, and stay as they are.
        """
        return [self._tagged(self._by_key(b.rows) if b.few else b.rows, HERE) for b in self._blocks]

    def _rows(self) -> int:
        return self.before_rows + sum(block.size for block in self._blocks)

    def _fresh(self, block: ComputedRows) -> Relation:
        return block.rows.where("__fresh").select(as_they_are(self._facts.columns))

    def _tagged(self, rows: Relation, side: int) -> Relation:
        return rows.select(as_they_are(self._facts.columns) | {"__from": str(side)})

    def _by_key(self, rows: Relation) -> Relation:
        return rows.together(self._facts.key)

    def _counts(self) -> dict[str, Call]:
        schema = self.queries.operator.schema
        # A fact without a time holds from the beginning. The least values of the columns together are a lower bound of
        # all times.
        times = {
            f"__{i}": f"coalesce({units_of(schema, c.name)}, {number(_BEGINNING, c.type or '')})"
            for i, c in enumerate(schema.times)
        }
        least = {name: call("min", f"IF(__fresh, {sql}, NULL)") for name, sql in times.items()}
        return {"fresh": call("count_if", "__fresh")} | least

    def _see(self, block: ComputedRows) -> None:
        self.changed.append(int(block.counts["fresh"]))
        found = [block.counts[f"__{i}"] for i in range(len(self._facts.times))] if self.changed[-1] else []
        least = tuple(BOTTOM.name if n == _BEGINNING else int(n) for n in found)
        self.watch(len(self.changed) - 1, least or None)
