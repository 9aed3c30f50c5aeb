"""The rounds of a loop, until nothing changes: what is fresh leads to more, and what of that was not known is fresh.

While much changes, a round is one job over all that is known. Once little does, what was known stays where it is: the
few facts that are found look up what is known of their keys, and what is fresh is laid on top. Either way a round
leaves rows behind, and no plan: the time that it takes follows what changed, not how many rounds there were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.flow.errors import NotConverging
from tidegate.spark.loops.blocks import Block, at_driver, in_blocks, laid_on
from tidegate.spark.loops.facts import FOUND, HERE, KNOWN_BEFORE, Facts
from tidegate.spark.loops.queries import Queries, united
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.lowering.units import units_of
from tidegate.spark.runtime import Runtime
from tidegate.time import BOTTOM

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Least", "Rounds", "Watch", "shared", "unwatched"]

#: The units of a time in each column, or the name of a bound.
Least = tuple[int | str, ...]
#: Called after each round with its number and a lower bound of the times of what is fresh; None: nothing is.
Watch = Callable[[int, Least | None], None]

# So many facts are few: they are sent to all executors, and held at the driver.
_FEW = 10_000
# So many facts of one round the driver holds, at most: a few can lead to very many, as those of a hub do.
_HELD = 20_000
# If more is known, it is not looked at as a whole for a few facts.
_MANY = 20_000
# Before all times that there are, in units.
_BEGINNING = -(2**63) + 1


def unwatched(number: int, least: Least | None) -> None:
    """Look away."""


def shared(runtime: Runtime, block: Block) -> DataFrame:
    """Answer the rows of a block; if they are few, all executors get them, so that what they meet stays where it is."""
    frame: DataFrame = runtime.F.broadcast(block.frame) if block.rows <= _FEW else block.frame
    return frame


@dataclass(slots=True)
class Rounds:
    """A loop that goes round: what it knew before, and what it has found since."""

    queries: Queries
    #: What was known before, in cells, or None: then all rows are new.
    before: DataFrame | None = None
    before_rows: int = 0
    watch: Watch = unwatched
    #: How many facts were fresh after each round; the first is the number before the first round.
    changed: list[int] = field(default_factory=list)
    #: What was known before, by key, once it had to be moved; all that was found, and on top of it what is found since.
    _before: Block | None = None
    _found: Block | None = None
    _top: Block | None = None

    def run(self) -> DataFrame:
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
                fresh = self._merged(self.queries.follow(fresh))
                continue
            found = self.queries.follow(self.queries.runtime.F.broadcast(fresh))
            few = self._top is None or self._top.rows <= _FEW
            fresh = self._looked_up(found) if few and self._rows() > _MANY else self._merged(found)
        return self._all_found().select(*map(quoted, self._facts.columns))

    def release(self) -> None:
        """Give back what is held."""
        for block in [self._before, *self._blocks]:
            if block is not None:
                block.release()
        self._before = self._found = self._top = None

    @property
    def _blocks(self) -> list[Block]:
        return [block for block in (self._found, self._top) if block is not None]

    @property
    def _facts(self) -> Facts:
        return Facts.of(self.queries.operator)

    def _merged(self, found: list[DataFrame]) -> DataFrame:
        """Put what is found together with all that is known; answer what is fresh. One job."""
        runtime, facts = self.queries.runtime, self._facts
        if self.before is not None and self._before is None:
            self._before = in_blocks(runtime, self._by_key(self.before))
        sides = [self._tagged(self._by_key(frame), FOUND) for frame in found]
        sides += self._here()
        sides += [self._tagged(b.frame, KNOWN_BEFORE) for b in [self._before] if b is not None]
        cells = facts.cells(runtime, united(sides)).where("__here")
        few = bool(self.changed) and self._rows() <= _FEW
        block = at_driver(runtime, cells, self._counts(), at_most=_HELD) if few else None
        block = block or in_blocks(runtime, cells, self._counts())
        for old in self._blocks:
            old.release()
        self._found, self._top = block, None
        self._see(block)
        return self._fresh(block)

    def _looked_up(self, found: list[DataFrame]) -> DataFrame:
        """Look up what is known of the keys that something is found for; answer what is fresh, which is laid on top."""
        runtime, facts = self.queries.runtime, self._facts
        candidates = in_blocks(runtime, united(found))
        try:
            if candidates.rows > _FEW:
                return self._merged([candidates.frame])
            keys = {f"__k{i}": quoted(name) for i, name in enumerate(facts.key)}
            wanted = runtime.F.broadcast(candidates.frame.select(*runtime.exprs(keys)))
            same = runtime.expr(" AND ".join(f"{sql} <=> {name}" for name, sql in keys.items()))
            known = [self._tagged(block.frame, HERE) for block in self._blocks]
            known += [] if self.before is None else [self._tagged(self.before, KNOWN_BEFORE)]
            known = [united(known).join(wanted, same, "left_semi")] if known else []
            # They are few: in one place, they need not move twice.
            together = united([*known, self._tagged(candidates.frame, FOUND)]).repartition(1)
            fresh = facts.cells(runtime, together).where("__fresh")
            block = at_driver(runtime, fresh, self._counts(), at_most=_HELD)
            if block is None:
                return self._merged([candidates.frame])
        finally:
            candidates.release()
        self._top = laid_on(runtime, self._top, block)
        self._see(block)
        return self._fresh(block)

    def _all_found(self) -> DataFrame:
        """Put the blocks together. None of them holds what was known before, and so that need not be looked at."""
        if len(self._blocks) == 1 and self._top is None:
            return self._blocks[0].frame
        return self._facts.cells(self.queries.runtime, united(self._here()))

    def _here(self) -> list[DataFrame]:
        """Answer what was found in this step, by key; what executors hold lies so, and stays where it is."""
        return [self._tagged(b.frame if b.few is None else self._by_key(b.frame), HERE) for b in self._blocks]

    def _rows(self) -> int:
        return self.before_rows + sum(block.rows for block in self._blocks)

    def _fresh(self, block: Block) -> DataFrame:
        return block.frame.where("__fresh").select(*map(quoted, self._facts.columns))

    def _tagged(self, frame: DataFrame, side: int) -> DataFrame:
        return frame.select(*map(quoted, self._facts.columns), self.queries.runtime.F.lit(side).alias("__from"))

    def _by_key(self, frame: DataFrame) -> DataFrame:
        return frame.repartition(*map(quoted, self._facts.key))

    def _counts(self) -> dict[str, str]:
        schema = self.queries.operator.schema
        # A fact without a time holds from the beginning; a lower bound in each column is one of all.
        times = {f"__{i}": f"coalesce({units_of(schema, name)}, {_BEGINNING}L)" for i, name in enumerate(schema.time)}
        return {"fresh": "count_if(__fresh)"} | {name: f"min(IF(__fresh, {sql}, NULL))" for name, sql in times.items()}

    def _see(self, block: Block) -> None:
        self.changed.append(int(block.counts["fresh"]))
        found = [block.counts[f"__{i}"] for i in range(len(self._facts.times))]
        least = tuple(BOTTOM.name if n == _BEGINNING else n for n in found)
        self.watch(len(self.changed) - 1, least if self.changed[-1] else None)
