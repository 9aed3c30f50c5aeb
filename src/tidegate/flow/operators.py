"""The operators of a plan: one frozen dataclass for each, with everything that an engine needs in resolved form.

Spans are in units of a time column, names are spelled as they were declared, and expressions are bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tidegate.flow.aggregates import Aggregation
from tidegate.flow.expressions import Expression
from tidegate.flow.fingerprint import LEFT_OUT
from tidegate.flow.loops.keep import Rule
from tidegate.flow.loops.query import Query
from tidegate.flow.schema import Schema
from tidegate.flow.watermarks import Watermark

__all__ = [
    "Accumulate",
    "Aggregate",
    "Carry",
    "Deduplicate",
    "Distinct",
    "Explode",
    "Gate",
    "Iterate",
    "Join",
    "JoinAsof",
    "MapBatches",
    "Operator",
    "Process",
    "Select",
    "SessionFrame",
    "Source",
    "Table",
    "Unfold",
    "Union",
    "Where",
    "WindowAggregate",
    "WindowApply",
    "WindowFrame",
    "WindowJoin",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """An operator: its name in the plan, the names of its inputs, and the schema of its output."""

    #: What users call it.
    verb: ClassVar[str] = ""
    #: Whether it keeps rows or answers until times are complete.
    stateful: ClassVar[bool] = False

    id: str = field(metadata=LEFT_OUT)
    #: Their fingerprints are part of its own.
    inputs: tuple[str, ...] = field(default=(), metadata=LEFT_OUT)
    #: It follows from the other fields; where a user declares it, it does not, and is declared again.
    schema: Schema = field(metadata=LEFT_OUT)

    @property
    def keeps_state(self) -> bool:
        """Whether it keeps something from step to step; on tables, which are complete from the start, it does not."""
        return self.stateful and bool(self.schema.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Operator):
    """Rows from outside; ``watermark`` is resolved against ``schema``; ``late`` is ``divert``, ``fail`` or ``drop``."""

    verb: ClassVar[str] = "source"

    schema: Schema
    watermark: Watermark = field(metadata=LEFT_OUT)
    late: str = field(metadata=LEFT_OUT)
    #: The name that it had before, in checkpoints.
    was: str = field(default="", metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Operator):
    """Rows without a time, complete from the start."""

    verb: ClassVar[str] = "table"

    schema: Schema
    #: The name that it had before, in checkpoints.
    was: str = field(default="", metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where(Operator):
    """The rows that satisfy a condition."""

    verb: ClassVar[str] = "where"

    condition: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Operator):
    """For each row, the values of some expressions: all columns of the result, time columns included and first."""

    verb: ClassVar[str] = "select"

    outputs: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explode(Operator):
    """For each element of the array in ``column``, the row with the element in its place; none for NULL or empty."""

    verb: ClassVar[str] = "explode"

    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfold(Operator):
    """The same rows as `Explode`, meant as an Aggregate with a loop: each round gives the next element of the array.

    Engines give all elements in one go, unless ``looped`` asks for rounds: then Spark runs them as jobs.
    """

    verb: ClassVar[str] = "unfold"

    column: str
    looped: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapBatches(Operator):
    """What a Python function makes of Arrow batches of rows; it returns all columns of ``schema``."""

    verb: ClassVar[str] = "map_batches"

    schema: Schema
    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(Operator):
    """The rows, held until their time is complete."""

    verb: ClassVar[str] = "gate"
    stateful: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operator):
    """One row for each time and group that has rows.

    With ``embeds`` it is the paper's E: nothing but its lists is read, and they are unfolded. Then an engine may leave
    out groups whose lists are empty, need not sort the lists, and need not keep the key.
    """

    verb: ClassVar[str] = "aggregate"
    stateful: ClassVar[bool] = True

    aggregation: Aggregation
    embeds: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """Windows over a time column, in its units since the epoch: ``[k * every + offset, k * every + offset + size)``."""

    over: str
    size: int
    every: int
    offset: int = 0
    lateness: int = 0


@dataclass(frozen=True, slots=True)
class SessionFrame:
    """Sessions over a time column: rows of one group, each less than ``gap`` units after the one before."""

    over: str
    gap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAggregate(Operator):
    """One row for each window or session and group that has rows, at the time of its last unit.

    Time columns other than ``frame.over`` group. With lateness, the column ``revision`` comes last. ``embeds`` is as in
    `Aggregate`.
    """

    verb: ClassVar[str] = "window.aggregate"
    stateful: ClassVar[bool] = True

    frame: WindowFrame | SessionFrame
    aggregation: Aggregation
    embeds: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowApply(Operator):
    """What a Python function makes of the rows of each window or session and group.

    It gets the rows as an Arrow table, sorted by time and then all columns (with ``keyed``, after the key as a dict),
    and returns ``columns``; time, window and groups are put before them.
    """

    verb: ClassVar[str] = "window.apply"
    stateful: ClassVar[bool] = True

    schema: Schema
    frame: WindowFrame | SessionFrame
    by: tuple[Expression, ...]
    function: Callable[..., Any]
    keyed: bool
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulate(Operator):
    """For each group, aggregates over all rows at or below a time.

    ``emit`` is ``update`` or ``complete``. ``every`` maps time columns to a period in units: a row counts from the last
    unit of its period on. ``offset`` is 0: periods align to the epoch.
    """

    verb: ClassVar[str] = "accumulate"
    stateful: ClassVar[bool] = True

    aggregation: Aggregation
    emit: str
    every: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry(Accumulate):
    """The same rows as `Accumulate`, meant as an Aggregate with a loop: what a window answers falls into the next."""

    verb: ClassVar[str] = "carry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct(Operator):
    """Each row once, by all columns, time included."""

    verb: ClassVar[str] = "distinct"
    stateful: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicate(Operator):
    """The least row by time, then by all columns, per key; and again ``within`` units after the last one kept.

    ``over`` is the time column that is meant; other time columns are part of the key.
    """

    verb: ClassVar[str] = "deduplicate"
    stateful: ClassVar[bool] = True

    by: tuple[Expression, ...]
    over: str
    within: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Operator):
    """The rows of all inputs, columns matched by name, in the order of the first input."""

    verb: ClassVar[str] = "union"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Operator):
    """Pairs of rows with equal times and equal ``on`` columns that satisfy ``where``.

    ``where`` reads ``left.x`` and ``right.x`` and is part of the match, also in outer joins. The result has the time
    columns, ``on``, ``left_columns`` and ``right_columns``. The right input may be a table: it is there at every time.
    """

    verb: ClassVar[str] = "join"
    stateful: ClassVar[bool] = True

    on: tuple[str, ...]
    where: Expression | None
    how: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]
    with_table: bool = False

    @property
    def keeps_state(self) -> bool:
        """Whether both sides are streams: a table is there at every time."""
        return bool(self.schema.time) and not self.with_table


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinAsof(Operator):
    """Each left row with the latest right row at or below its time: the greatest by time, then by all columns.

    ``within`` bounds how far back that is. Time columns other than ``over`` must be equal.
    """

    verb: ClassVar[str] = "join_asof"
    stateful: ClassVar[bool] = True

    on: tuple[str, ...]
    over: str
    within: int | None
    how: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowJoin(Operator):
    """Pairs of rows that match, once for each window that both are in, at the time of its last unit."""

    verb: ClassVar[str] = "window_join"
    stateful: ClassVar[bool] = True

    frame: WindowFrame
    on: tuple[str, ...]
    where: Expression | None
    how: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterate(Operator):
    """What a loop knows: for each key one fact, kept of all that follow from the rows at or below a time.

    A *version* is a time at which an input with time columns has a row. In a version, the relations are the rows at or
    below it, of a table all rows, without time columns. ``names`` are those of the relations: ``names[i]`` is
    ``inputs[i]``; the first is ``input``, and ``known`` is what the loop knows, with the columns of ``known``.

    Without ``rounds``, what is known in a version is the fixpoint of merging in what ``step`` gives, beginning with
    what ``start`` gives: facts are merged, key by key, by ``keep``. Its rules are idempotent, commutative and
    associative, and a better fact never leads to a worse one, so that the order in which facts are found does not
    matter. A fact found in one version holds in all later ones. More rounds than ``limit`` are an error.

    With ``rounds``, it is what results when so many times ``known`` is *replaced* by the facts of ``step`` alone, each
    time merged by ``keep``; it begins as the facts of ``start``, merged. Versions share nothing. ``start`` and ``step``
    may be any query, and ``keep`` any aggregates.

    ``emit="complete"`` answers all that is known in each version. ``"update"`` answers a key in a version unless what
    is known of it is the merge of what was known of it in the versions strictly below; with ``rounds``, unless it is
    the same in every maximal version strictly below.

    ``keep`` is bound to the columns of facts (``start.columns``, which ``step.columns`` are too), and grouped by the
    key; each of its outputs is Spark SQL that gives a value of the merged fact. Without ``rounds``, ``rules`` are the
    same in words, one for each output: ``start.columns`` and ``known`` are alike, and ``keep`` merges facts with what
    is known. With ``rounds`` there are no ``rules``.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(Operator):
    """What one copy of a specification operator per key answers; it answers dicts of ``columns``.

    The result has the time columns, the key, and ``columns``.
    """

    verb: ClassVar[str] = "process"
    stateful: ClassVar[bool] = True

    schema: Schema
    operator: Any
    by: tuple[Expression, ...]
    columns: tuple[str, ...]
