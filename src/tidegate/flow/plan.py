"""The plan of a flow: plain data, one frozen dataclass for each operator, which points at its inputs by name.

A plan can be printed, compared and rewritten: a rewrite is a function from plan to plan. Every operator has a
`Plan.fingerprint` that depends on its meaning and on nothing else: not on its name, on what comes after it, or on the
watermarks of its sources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

from tidegate.flow.aggregates import Aggregation
from tidegate.flow.expressions import Expression
from tidegate.flow.schema import Schema
from tidegate.flow.watermarks import Watermark

__all__ = [
    "Accumulate",
    "Aggregate",
    "Deduplicate",
    "Distinct",
    "Explode",
    "Gate",
    "Join",
    "JoinAsof",
    "MapBatches",
    "Operator",
    "Plan",
    "Process",
    "Select",
    "SessionFrame",
    "Sink",
    "Source",
    "Table",
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
    #: Fields that do not change what its state means.
    incidental: ClassVar[tuple[str, ...]] = ("id", "inputs", "schema")

    id: str
    inputs: tuple[str, ...] = ()
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Operator):
    """Rows from outside; ``watermark`` is resolved against ``schema``; ``late`` is ``divert``, ``fail`` or ``drop``."""

    verb: ClassVar[str] = "source"
    incidental: ClassVar[tuple[str, ...]] = ("id", "inputs", "watermark", "late")

    watermark: Watermark
    late: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Operator):
    """Rows without a time, complete from the start."""

    verb: ClassVar[str] = "table"
    incidental: ClassVar[tuple[str, ...]] = ("id", "inputs")


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
class MapBatches(Operator):
    """What a Python function makes of Arrow batches of rows; it returns all columns of ``schema``."""

    verb: ClassVar[str] = "map_batches"
    incidental: ClassVar[tuple[str, ...]] = ("id", "inputs")

    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(Operator):
    """The rows, held until their time is complete."""

    verb: ClassVar[str] = "gate"
    stateful: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operator):
    """One row for each time and group that has rows."""

    verb: ClassVar[str] = "aggregate"
    stateful: ClassVar[bool] = True

    aggregation: Aggregation


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

    Time columns other than ``frame.over`` group. With lateness, the column ``revision`` comes last.
    """

    verb: ClassVar[str] = "window.aggregate"
    stateful: ClassVar[bool] = True

    frame: WindowFrame | SessionFrame
    aggregation: Aggregation


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowApply(Operator):
    """What a Python function makes of the rows of each window or session and group.

    It gets the rows as an Arrow table, sorted by time and then all columns (with ``keyed``, after the key as a dict),
    and returns ``columns``; time, window and groups are put before them.
    """

    verb: ClassVar[str] = "window.apply"
    stateful: ClassVar[bool] = True
    incidental: ClassVar[tuple[str, ...]] = ("id", "inputs")

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
class Process(Operator):
    """What one copy of a specification operator per key answers; it answers dicts of ``columns``.

    The result has the time columns, the key, and ``columns``.
    """

    verb: ClassVar[str] = "process"
    stateful: ClassVar[bool] = True
    incidental: ClassVar[tuple[str, ...]] = ("id", "inputs")

    operator: Any = field(compare=True)
    by: tuple[Expression, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sink:
    """A result that leaves the flow under a name."""

    name: str
    input: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A flow as data: its operators, inputs before those that use them, and its sinks."""

    name: str
    operators: tuple[Operator, ...]
    sinks: tuple[Sink, ...]
    timezone: str = "UTC"

    def __getitem__(self, id_: str) -> Operator:
        for operator in self.operators:
            if operator.id == id_:
                return operator
        raise KeyError(id_)

    def __iter__(self) -> Iterator[Operator]:
        return iter(self.operators)

    def inputs(self, operator: Operator) -> tuple[Operator, ...]:
        """Answer the operators whose output an operator reads, in its order."""
        return tuple(self[id_] for id_ in operator.inputs)

    def consumers(self, id_: str) -> tuple[Operator, ...]:
        """Answer the operators that read the output of an operator."""
        return tuple(operator for operator in self.operators if id_ in operator.inputs)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources, in the order in which they were declared."""
        return tuple(operator for operator in self.operators if isinstance(operator, Source))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in the order in which they were declared."""
        return tuple(operator for operator in self.operators if isinstance(operator, Table))

    def fingerprint(self, id_: str) -> str:
        """Answer the fingerprint of an operator: what it does and what comes before it, in 16 hexadecimal digits."""
        return self.fingerprints()[id_]

    def fingerprints(self) -> dict[str, str]:
        """Answer the fingerprints of all operators."""
        found: dict[str, str] = {}
        for operator in self.operators:
            content = {
                f.name: plain(getattr(operator, f.name)) for f in fields(operator) if f.name not in operator.incidental
            }
            origin = operator.id if isinstance(operator, Source | Table) else ""
            text = json.dumps([operator.verb, origin, content, [found[i] for i in operator.inputs]], sort_keys=True)
            found[operator.id] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return found

    def __str__(self) -> str:
        lines = [f"flow {self.name}"]
        for operator in self.operators:
            own = {
                f.name: getattr(operator, f.name) for f in fields(operator) if f.name not in ("id", "inputs", "schema")
            }
            arguments = [*operator.inputs, *(f"{name}={_shown(value)}" for name, value in own.items())]
            lines.append(f"  {operator.id} = {operator.verb}({', '.join(arguments)}) -> {operator.schema}")
        lines += [f"  sink {sink.name} = {sink.input}" for sink in self.sinks]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else str(value)


def plain(value: Any) -> Any:
    """Answer a value as lists, dicts and texts, the same for the same meaning in every process.

    Types that were derived are left out: how much can be derived may change from version to version.
    """
    if isinstance(value, Schema):
        return [[c.name, c.type] for c in value.columns] + [list(value.time)]
    if is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in fields(value) if f.name not in ("type", "columns")]
        return {"": type(value).__name__} | {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return f"{type(value).__module__}.{type(value).__qualname__}"
