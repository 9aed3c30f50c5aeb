"""Watermark strategies: how a source knows which times are complete, from its rows or from something else.

>>> bounded("10 minutes", by="device")
bounded('10 minutes', by='device')
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from tidegate.flow import sqltypes
from tidegate.flow.arguments import checked_path
from tidegate.flow.errors import BadArgument, UnknownColumn
from tidegate.flow.expressions import Expression, bind
from tidegate.flow.schema import Schema
from tidegate.flow.spans import parse_span, show_span
from tidegate.time import Sum

__all__ = [
    "Arriving",
    "AtEnd",
    "Bounded",
    "ByHand",
    "Published",
    "Punctuated",
    "Ticking",
    "Watermark",
    "at_end",
    "bounded",
    "published",
    "punctuated",
]


@dataclass(frozen=True, slots=True)
class Bounded:
    """No row comes later than a delay behind the greatest time seen; see `bounded`.

    In a plan, delays are in units of their time columns, and ``idle`` and ``clock`` are in microseconds.
    """

    delays: tuple[Any, ...]
    by: str | None = None
    idle: Any = None
    clock: Any = None
    #: In a plan, the types of the time columns, by which delays are shown.
    types: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        delays = [_span(d, t) for d, t in zip(self.delays, self.types or ("",) * len(self.delays), strict=True)]
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("delays", "types")}
        options = [
            f"{name}={_span(value, 'TIMESTAMP' if self.types else '')}"
            for name, value in given.items()
            if value is not None
        ]
        return f"bounded({', '.join([*delays, *options])})"


@dataclass(frozen=True, slots=True)
class Punctuated:
    """Rows that satisfy a condition are watermarks, not data. In a plan, the condition is bound to the columns."""

    condition: str | Expression

    def __repr__(self) -> str:
        return f"punctuated({getattr(self.condition, 'sql', self.condition)!r})"


@dataclass(frozen=True, slots=True)
class Published:
    """The frontier that another flow publishes in a directory."""

    path: str

    def __repr__(self) -> str:
        return f"published({self.path!r})"


@dataclass(frozen=True, slots=True)
class AtEnd:
    """The end of the input completes everything; nothing is complete before."""

    def __repr__(self) -> str:
        return "at_end()"


@dataclass(frozen=True, slots=True)
class Arriving:
    """The time of a row is the time of the clock in the step that reads it. That step completes it."""


@dataclass(frozen=True, slots=True)
class Ticking:
    """The rows of a source are ticks of a clock. Each completes all times up to its own."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """Whoever runs the flow says which times are complete, as `tidegate.testing` does."""

    def __repr__(self) -> str:
        return "by hand"


Watermark: TypeAlias = Bounded | Punctuated | Published | AtEnd | Arriving | Ticking | ByHand


def bounded(*delays: Any, by: str | None = None, idle: Any = None, clock: Any = None) -> Bounded:
    """Promise that no row comes later than a delay behind the greatest time seen.

    Args:
        *delays: One delay for each time column: ``"10 minutes"``.
        by: A column, such as a partition or a device. The promise then holds for each of its values, and time passes
            as fast as for the slowest of them.
        idle: After this long without rows, a value of ``by`` is not waited for any more.
        clock: Promise also that no row comes later than this behind the clock of this machine. Windows then end even
            if no rows come. The time has to be one TIMESTAMP column.
    """
    if not delays:
        raise BadArgument("expected a delay in bounded(…), got none", hint='bounded("10 minutes")')
    if idle is not None and by is None:
        raise BadArgument(
            "expected by= together with idle=, got idle alone",
            hint='bounded("10 minutes", by="device", idle="5 minutes")',
        )
    return Bounded(delays, by=by, idle=idle, clock=clock)


def punctuated(condition: str) -> Punctuated:
    """Take the rows that satisfy ``condition`` as watermarks: all times up to that of such a row are complete.

    With several time columns, a NULL in one of them stands for all of its values. If the columns are ordered by a
    `Lexicographic`, only the last ones may be NULL.
    """
    return Punctuated(condition)


def published(path: str | os.PathLike[str]) -> Published:
    """Follow the frontier that another flow publishes under ``path``, where it also writes its rows."""
    return Published(checked_path(path, "published(…)", hint='published("out/hourly")'))


def at_end() -> AtEnd:
    """Complete everything at the end of the input, and nothing before; the default."""
    return AtEnd()


def resolve(watermark: Any, schema: Schema) -> Watermark:
    """Return a strategy with its delays in units and its condition bound; raise if it does not fit the columns."""
    if isinstance(watermark, Bounded):
        return _on_sides(watermark, schema) if schema.ordered else _resolve_bounded(watermark, schema)
    if isinstance(watermark, Punctuated):
        condition = bind(watermark.condition, schema, what="the condition of punctuated(…)")
        if condition.type not in ("BOOLEAN", None):
            raise BadArgument(f"expected a condition in punctuated(…), got {condition.sql} of type {condition.type}")
        return replace(watermark, condition=condition)
    if isinstance(watermark, Published | AtEnd | Arriving | Ticking | ByHand):
        return watermark
    raise BadArgument(
        f"expected a watermark strategy, got {watermark!r} ({type(watermark).__name__})",
        hint='bounded("10 minutes"), punctuated("kind = \'WM\'"), published(path) or at_end()',
    )


def _resolve_bounded(watermark: Bounded, schema: Schema) -> Bounded:
    if len(watermark.delays) != len(schema.time):
        raise BadArgument(
            f"expected one delay for each time column ({', '.join(schema.time)}), got {len(watermark.delays)}",
            hint=f"bounded({', '.join(f'<delay of {name}>' for name in schema.time)})",
        )
    delays = tuple(
        parse_span(delay, column.type or "", what="delay", least=0)
        for delay, column in zip(watermark.delays, schema.times, strict=True)
    )
    try:
        by = schema[watermark.by].name if watermark.by is not None else None
    except UnknownColumn as error:
        raise error.at(f"bounded(…, by={watermark.by!r})") from None
    if by is not None and "VARIANT" in (schema[by].type or ""):
        raise BadArgument(
            f"expected a column whose values can be compared in bounded(…, by={by!r}), got {schema[by]}",
            hint="cast it to another type before the flow",
        )
    idle = None if watermark.idle is None else parse_span(watermark.idle, "TIMESTAMP", what="idle")
    if watermark.clock is not None and [column.type for column in schema.times] != ["TIMESTAMP"]:
        raise BadArgument(
            f"expected one time column of type TIMESTAMP with clock=, got {', '.join(map(str, schema.times))}",
            hint="a clock shows instants: cast the column, or leave clock= out",
        )
    clock = None if watermark.clock is None else parse_span(watermark.clock, "TIMESTAMP", what="clock", least=0)
    types = tuple(column.type or "" for column in schema.times)
    return Bounded(delays, by=by, idle=idle, clock=clock, types=types)


def _on_sides(watermark: Bounded, schema: Schema) -> Bounded:
    """Return a `Bounded` on times of a sum, with a delay for each side; raise on other orders, which have no delays."""
    given = schema.ordered
    assert given is not None
    if not isinstance(given.order, Sum):
        raise BadArgument(
            f"expected a watermark strategy without delays, as {given.name} is ordered by a "
            f"{type(given.order).__name__}, got {watermark!r}",
            hint="punctuated(condition), published(path) or at_end()",
        )
    options = [name for name in ("by", "idle", "clock") if getattr(watermark, name) is not None]
    if len(watermark.delays) != 2 or options:
        got = f"{len(watermark.delays)}" + (f" and {', '.join(options)}" if options else "")
        raise BadArgument(
            f"expected two delays and nothing else, for the left and the right side of {given.column}, got {got}",
            hint="bounded(<delay of the left side>, <delay of the right side>)",
        )
    delays = tuple(
        parse_span(delay, type_, what="delay", least=0)
        for delay, type_ in zip(watermark.delays, given.sides, strict=True)
    )
    return Bounded(delays, types=given.sides)


def _span(value: Any, type_: str) -> str:
    """Return an argument of a strategy as a user writes it; if ``type_`` is given, ``value`` is in units of it."""
    counted = type_ and isinstance(value, int) and type_ not in sqltypes.INTEGERS
    return repr(show_span(value, type_) if counted else value)


def show(watermark: Watermark, schema: Schema) -> str:
    """Return a resolved strategy as a reader would write it."""
    match watermark:
        case Bounded(delays=delays, by=by, idle=idle, clock=clock):
            types = [c.type or "" for c in schema.times] if schema.ordering is None else watermark.types
            parts = [show_span(d, type_) for d, type_ in zip(delays, types, strict=True)]
            parts += [f"by {by}"] if by else []
            parts += [f"idle {show_span(idle, 'TIMESTAMP')}"] if idle else []
            parts += [f"{show_span(clock, 'TIMESTAMP')} behind the clock"] if clock is not None else []
            return f"bounded by {', '.join(parts)}"
        case Arriving():
            return "the time is that of the clock when a row comes"
        case Ticking():
            return "complete up to each tick of a clock"
        case Punctuated(condition):
            return f"punctuated where {getattr(condition, 'sql', condition)}"
        case Published(path):
            return f"published at {path}"
        case ByHand():
            return "complete as it is told"
    return "complete at the end"
