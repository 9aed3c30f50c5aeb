"""The operator of a loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidegate.flow.aggregates import Aggregation
from tidegate.flow.fingerprint import LEFT_OUT
from tidegate.flow.loops.keep import Rule
from tidegate.flow.loops.query import Query
from tidegate.flow.operators.operator import PlanOperator
from tidegate.flow.schema import Schema

__all__ = ["Iterate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterate(PlanOperator):
    """What a loop knows: for each key one fact, merged from all facts that follow from the rows at or below a time.

    A *version* is a time at which an input with time columns has a row. In a version, a query reads the rows at or
    below it, and all rows of tables, without time columns. ``names[i]`` is the name of ``inputs[i]`` in queries; the
    first is ``input``. ``known`` is what the loop knows so far.

    Without ``rounds``, what is known in a version is a fixpoint: it begins with what ``start`` gives, and what ``step``
    gives is merged in until nothing changes. Facts are merged, key by key, by ``keep``. Its rules are idempotent,
    commutative and associative, and a better fact never leads to a worse one, so the order in which facts are found
    does not matter. A fact found in one version holds in all later ones. More rounds than ``limit`` are an error.

    With ``rounds``, ``known`` begins as the facts of ``start``, merged. It is then *replaced* that many times by the
    facts of ``step`` alone, each time merged by ``keep``. Versions share nothing. ``start`` and ``step`` may be any
    query, and ``keep`` any aggregates.

    ``emit="complete"`` gives all that is known in each version. ``"update"`` gives only the keys of which something
    new is known: more than the merge of what was known of them in the versions strictly below. With ``rounds`` it
    gives those whose fact is not the same in every maximal version strictly below.

    ``keep`` is grouped by the key. Its outputs are Spark SQL over the columns of facts, which are ``start.columns``
    and also ``step.columns``. Without ``rounds``, there is one of ``rules`` for each output, which says the same; and
    ``known`` has the columns of facts, so that ``keep`` can merge new facts with what is known. With ``rounds`` there
    are no ``rules``.
    """

    verb: ClassVar[str] = "iterate"
    stateful: ClassVar[bool] = True

    names: tuple[str, ...]
    start: Query
    step: Query
    keep: Aggregation
    rules: tuple[Rule, ...]
    emit: str
    rounds: int | None
    limit: int = field(metadata=LEFT_OUT)

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the columns that tell facts apart."""
        return tuple(e.name for e in self.keep.by)

    @property
    def known(self) -> Schema:
        """The columns of what is known: the key, then the kept values."""
        return Schema(self.keep.columns)
