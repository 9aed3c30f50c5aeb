"""The rounds of a loop, until nothing changes: what is fresh leads to more, and what of that was not known is fresh.

While much changes, a round is one job over all that is known. Once little does, what was known stays where it is: the
few facts that are found look up what is known of their keys, and what is fresh is laid on top. Either way a round
leaves rows behind, and no plan: the time that it takes follows what changed, not how many rounds there were. A backend
that can repeat a query by itself does all rounds in which little changes in one computation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tidegate.engine.calls import call
from tidegate.engine.loops.facts import FOUND, HERE, KNOWN_BEFORE, Facts
from tidegate.engine.loops.queries import Queries
from tidegate.engine.relation import Call, Kept, Relation, as_they_are, united
from tidegate.engine.units import number, units_of
from tidegate.flow.errors import NotConverging
from tidegate.flow.sqltypes import quoted
from tidegate.time import BOTTOM

__all__ = ["Least", "Rounds", "Watch", "shared", "unwatched"]

#: The units of a time in each column, or the name of a bound.
Least = tuple[int | str, ...]
#: Called after each round with its number and a lower bound of the times of what is fresh; None: nothing is.
Watch = Callable[[int, Least | None], None]

# So many facts are few: a backend may send them to wherever they are needed.
_FEW = 10_000
# So many facts of one round are held where the engine runs, at most: a few can lead to very many, as those of a hub do.
_HELD = 20_000
# If more is known, it is not looked at as a whole for a few facts.
_MANY = 20_000
# So many rounds before the limit are run one by one: how many facts change in them is told if they are too many.
_TOLD = 10
# Before all times that there are, in units.
_BEGINNING = -(2**63) + 1


def unwatched(number: int, least: Least | None) -> None:
    """Do nothing: nobody wants to know how far a loop is."""


def shared(kept: Kept) -> Relation:
    """Return rows that are worked out; if they are few, the backend is told so."""
    return kept.rows.small() if kept.size <= _FEW else kept.rows


@dataclass(slots=True)
class Rounds:
    """A loop that goes round: what it knew before, and what it has found since."""

    queries: Queries
    #: What was known before, in cells, or None: then all rows are new.
    before: Relation | None = None
    before_rows: int = 0
    watch: Watch = unwatched
    #: Whether all facts hold from the same time on.
    one_time: bool = False
    #: How many facts were fresh after each round; the first is the number before the first round. Of rounds that the
    #: backend repeated, it is how many of them no later round has bettered.
    changed: list[int] = field(default_factory=list)
    #: What was known before, by key, once it had to be moved; all that was found, and on top of it what is found since.
    _before: Kept | None = None
    _found: Kept | None = None
    _top: Kept | None = None
    #: What was fresh in the last round, where it was laid on top.
    _last: Kept | None = None

    def run(self) -> Relation:
        """Go round until nothing is fresh; answer the cells that were found, each once, with what is known there.

        They are made of what is held until `release`.
        """
        limit = self.queries.operator.limit
        begun = [*self.queries.begin(), *self.queries.go_on(self.before)]
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
        """Give back what is held."""
        for block in [self._before, self._last, *self._blocks]:
            if block is not None:
                block.release()
        self._before = self._found = self._top = self._last = None

    @property
    def _blocks(self) -> list[Kept]:
        return [block for block in (self._found, self._top) if block is not None]

    @property
    def _facts(self) -> Facts:
        return Facts.of(self.queries.operator, one_time=self.one_time)

    def _followed(self, fresh: Relation) -> list[Relation]:
        """Return what follows from what is fresh; where facts are compared in pairs, with itself, to be compared again.

        What two facts say together may say more together with a third.
        """
        found = self.queries.follow(fresh)
        return [*found, fresh] if self._facts.in_pairs else found

    def _merged(self, found: list[Relation]) -> Relation:
        """Put what is found together with all that is known; return what is fresh. One computation."""
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
        """Look up what is known of the keys that something is found for; return what is fresh, which is laid on top."""
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
        self._lay(block)
        self._see(block)
        return self._fresh(block)

    def _repeated(self, fresh: Relation) -> Relation | None:
        """Let the backend go round by itself while little changes; return what is fresh then. None if it cannot."""
        backend, facts = self.queries.backend, self._facts
        left = self.queries.operator.limit - len(self.changed) + 1
        if self.watch is not unwatched or left <= _TOLD:
            return None

        def step(last: Relation, found: Relation) -> Relation:
            unknown = self._unknown(united(self._followed(last)), found)
            return unknown.select(as_they_are(facts.columns))

        key = (*facts.times, *facts.key)
        block = backend.repeated(fresh, step, key, rounds=left - _TOLD, at_most=_FEW)
        if block is None:
            return None
        of_round = block.rows.group({"__round": "__round"}, {"__n": call("count", "*")}).fetch().to_pylist()
        numbers = {row["__round"]: row["__n"] for row in of_round}
        last = max(numbers)
        self.changed += [numbers.get(n, 0) for n in range(1, last + 1)]
        followed = numbers[last] <= _FEW and last < left - _TOLD
        if followed:
            self.changed.append(0)
        flags = {"__fresh": f"__round = {last}", "__here": "true"}
        found = block.rows.where("__round > 0").select(as_they_are(facts.columns) | flags)
        self._lay(replace(block, rows=found))
        return found.where("__fresh").select(as_they_are(facts.columns))

    def _unknown(self, found: Relation, *more: Relation) -> Relation:
        """Return the cells with what was not known of a few facts, in blocks or in ``more``."""
        facts = self._facts
        keys = {f"__k{i}": quoted(name) for i, name in enumerate(facts.key)}
        same = " AND ".join(f"{sql} <=> {name}" for name, sql in keys.items())
        known = [self._tagged(rows, HERE) for rows in (*(block.rows for block in self._blocks), *more)]
        known += [] if self.before is None else [self._tagged(self.before, KNOWN_BEFORE)]
        known = [united(known).join(found.select(keys).small(), same, "semi")] if known else []
        # They are few: in one place, they need not move twice.
        together = united([*known, self._tagged(found, FOUND)]).together([])
        return facts.cells(together).where("__fresh")

    def _lay(self, block: Kept) -> None:
        """Lay what is fresh on top of what was found before."""
        self._top = self.queries.backend.laid_on(self._top, block)
        if self._last is not None:
            # What was fresh before has led to what is fresh now.
            self._last.release()
        self._last = block

    def _all_found(self) -> Relation:
        """Put the blocks together. None of them holds what was known before, and so that need not be looked at."""
        if len(self._blocks) == 1 and self._top is None:
            return self._blocks[0].rows
        return self._facts.cells(united(self._here()))

    def _here(self) -> list[Relation]:
        """Return what was found in this step, by key; what is not held at hand lies so, and stays where it is."""
        return [self._tagged(self._by_key(b.rows) if b.few else b.rows, HERE) for b in self._blocks]

    def _rows(self) -> int:
        return self.before_rows + sum(block.size for block in self._blocks)

    def _fresh(self, block: Kept) -> Relation:
        return block.rows.where("__fresh").select(as_they_are(self._facts.columns))

    def _tagged(self, rows: Relation, side: int) -> Relation:
        return rows.select(as_they_are(self._facts.columns) | {"__from": str(side)})

    def _by_key(self, rows: Relation) -> Relation:
        return rows.together(self._facts.key)

    def _counts(self) -> dict[str, Call]:
        schema = self.queries.operator.schema
        # A fact without a time holds from the beginning; a lower bound in each column is one of all.
        times = {
            f"__{i}": f"coalesce({units_of(schema, c.name)}, {number(_BEGINNING, c.type or '')})"
            for i, c in enumerate(schema.times)
        }
        least = {name: call("min", f"IF(__fresh, {sql}, NULL)") for name, sql in times.items()}
        return {"fresh": call("count_if", "__fresh")} | least

    def _see(self, block: Kept) -> None:
        self.changed.append(int(block.counts["fresh"]))
        found = [block.counts[f"__{i}"] for i in range(len(self._facts.times))] if self.changed[-1] else []
        least = tuple(BOTTOM.name if n == _BEGINNING else int(n) for n in found)
        self.watch(len(self.changed) - 1, least or None)
