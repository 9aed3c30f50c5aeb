"""`Building`: what all methods of a stream use: its place in the flow, its columns, and checks of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tidegate.flow.errors import BadArgument, BadSchema, BadSpan, BadTime, FlowError
from tidegate.flow.operators import PlanOperator
from tidegate.flow.plan import Plan
from tidegate.flow.schema import Column, Schema, distinct_names, parse_schema
from tidegate.flow.spans import parse_span, show_span

if TYPE_CHECKING:
    from tidegate.flow.flow import Flow
    from tidegate.flow.orders import Ordered
    from tidegate.flow.stream import Stream

__all__ = ["LONGEST", "Building", "longest_span", "not_a_stream"]

#: The greatest span, in units, that may be added to times.
LONGEST = 2**60
_DAY = 86_400_000_000


def longest_span(type_: str) -> str:
    """Return the greatest span that may be added to times of a type, in words and rounded down to whole days.

    >>> longest_span("TIMESTAMP")
    '13343998 days'
    """
    unit = _DAY if type_.startswith("TIMESTAMP") else 1
    return show_span(LONGEST // unit * unit, type_)


def not_a_stream(value: Any) -> BadArgument:
    """Build the error for a value that is not a stream."""
    windowed = type(value).__name__ == "Windowed"
    return BadArgument(
        f"expected a stream, got {value!r} ({type(value).__name__})",
        hint="follow window(…) or session(…) with .aggregate(…), .top(…) or .apply(…)" if windowed else "",
    )


class Building:
    """A stream under construction: an operator of a flow, and how to add another after it."""

    def __init__(self, flow: Flow, operator: PlanOperator) -> None:
        self.flow = flow
        self._operator = operator

    def __repr__(self) -> str:
        return f"Stream({self.id}: {self.schema}{'' if self.schema.time else '; a table'})"

    @property
    def id(self) -> str:
        """The name of this stream in the plan: the name of a source, or the method and a number."""
        return self._operator.id

    @property
    def schema(self) -> Schema:
        """The columns of this stream: names, types as far as they are known, and which are its time."""
        return self._operator.schema

    def _plan(self) -> Plan:
        """Return the part of the flow that this stream needs, as a plan without sinks."""
        whole = Plan(self.flow.name, tuple(self.flow._operators.values()), (), self.flow.timezone)
        needed = whole.upstream(self.id)
        return replace(whole, operators=tuple(operator for operator in whole if operator.id in needed))

    @contextmanager
    def _building(self, verb: str, *, timed: bool = False) -> Iterator[None]:
        """Run the body of a method: check that this stream can be used, and add method, input and flow to its errors.

        With ``timed``, a table cannot be used.
        """
        try:
            self._check_current()
            if getattr(getattr(self._operator, "frame", None), "lateness", 0):
                raise BadTime(
                    f"{self.id} has lateness: its answers may be revised, so no operator can follow it",
                    hint="send it to a sink, or leave lateness out",
                )
            if timed and not self.schema.time:
                raise BadTime(
                    f"expected a stream, got the table {self.id}: it has no time", hint="join a stream with it"
                )
            yield
        except FlowError as error:
            if not error.places or not error.places[-1].startswith("flow "):
                error.at(f"{verb}(…) on {self.id}").at(f"flow {self.flow.name!r}")
            raise error from None

    @property
    def _is_current(self) -> bool:
        """Whether this stream is still part of the flow: what it is built on may have been replaced."""
        return self.flow._operators.get(self.id) == self._operator

    def _check_current(self) -> None:
        """Raise if this stream was built on a source or table that was replaced since."""
        if not self._is_current:
            raise BadArgument(
                f"{self.id} is not part of the flow any more: a source or table that it is built on was replaced",
                hint="build it again, from what source(…, replace=True) returned",
            )

    def _add(
        self,
        kind: type[PlanOperator],
        schema: Schema,
        *,
        others: tuple[Building, ...] = (),
        name: str = "",
        **fields: Any,
    ) -> Stream:
        id_ = self.flow._number(name or kind.verb)
        inputs = (self.id, *(other.id for other in others))
        return self.flow._add(kind(id=id_, inputs=inputs, schema=schema, **fields))

    def _result(self, columns: tuple[Column, ...]) -> Schema:
        return self.schema.of(
            distinct_names(columns, hint="give one another name: with AS here, or before with rename(…) or drop(…)")
        )

    def _column(self, name: Any) -> Column:
        if not isinstance(name, str):
            raise BadArgument(f"expected the name of a column, got {name!r} ({type(name).__name__})")
        return self.schema[name]

    def _over(self, over: Any) -> tuple[str, str]:
        """Return the time column that a method works along, and its type."""
        times = self.schema.time
        self._check_counted()
        if over is None:
            if len(times) > 1:
                raise BadArgument(
                    f"expected over, as there are several time columns: {', '.join(times)}",
                    hint=" or ".join(f"over={name!r}" for name in times),
                )
            over = times[0]
        column = self._column(over)
        if column.name not in times:
            raise BadTime(f"expected a time column ({', '.join(times)}), got {column}")
        return column.name, column.type or ""

    def _along(self, over: Any, *spans: Any) -> tuple[str, str]:
        """Return the time column that a method works along, and its type.

        On a `Lexicographic` this is all of them, and the name is empty. ``spans`` are the lengths of time that were
        given, or None; such an order does not allow them.
        """
        given = self.schema.ordered
        self._check_along_a_line()
        if given is None or any(span is not None for span in spans):
            return self._over(over)
        if over is not None:
            raise BadArgument(
                f"expected no over, as {given.name} is ordered by a {type(given.order).__name__}, got {over!r}",
                hint="leave it out: times are taken by all of their columns",
            )
        return "", ""

    def _check_along_a_line(self) -> None:
        """Raise unless one time is later than another by the values of its columns."""
        given = self.schema.ordered
        if given and not given.by_columns:
            raise self._not_here(given, "times that are ordered by the values of their columns")

    def _check_counted(self) -> None:
        """Raise unless there is a distance between two times: an order of your own has none."""
        if given := self.schema.ordered:
            raise self._not_here(given, "times with a distance between them")

    def _not_here(self, given: Ordered, expected: str) -> BadTime:
        """Return the error of a method that an order of your own does not have."""
        known = ["gate", "aggregate", "accumulate", "top", "distinct", "join", "process"]
        known += ["latest", "last", "deduplicate", "join_asof"] if given.by_columns else []
        return BadTime(
            f"expected {expected}, got {given.name}, which is ordered by a {type(given.order).__name__}",
            hint=f"on such times there are {', '.join(known)} and iterate"
            + (", without lengths of time" if given.by_columns else ""),
        )

    def _other(self, other: Any) -> Stream:
        if not isinstance(other, Building):
            raise not_a_stream(other)
        if other.flow is not self.flow:
            raise BadArgument(
                f"the stream {other.id} belongs to another flow, {other.flow.name!r}",
                hint="build the whole flow on one Flow",
            )
        with other._building("an input"):
            return cast("Stream", other)

    def _declared(self, schema: Any) -> tuple[Column, ...]:
        """Return the columns that a schema declares, without the time columns, which it may repeat but not change."""
        declared = parse_schema(schema)
        for time in self.schema.times:
            found = declared.find(time.name)
            if found is not None and found.type != time.type:
                raise BadSchema(f"expected the time column {time} unchanged in the schema, got {found}")
        return tuple(c for c in declared.columns if c.name not in Schema(self.schema.times))

    def _forgotten(self, forget: Any, over: tuple[str, str] | None = None) -> int | None:
        """Return after how many units of silence a key is forgotten; ``over`` is the time column to measure along."""
        if forget is None:
            return None
        self._check_counted()
        if over is None:
            if len(self.schema.time) > 1:
                raise BadTime(
                    f"expected one time column with forget, got {', '.join(self.schema.time)}",
                    hint="leave forget out, or take a stream with one time column",
                )
            over = self._over(None)
        span = parse_span(forget, over[1], what="forget")
        if span > LONGEST:
            raise BadSpan(
                f"expected forget of at most {longest_span(over[1])}, got {show_span(span, over[1])}",
                hint="leave it out",
            )
        return span

    def _periods(self, every: Any) -> tuple[tuple[str, int], ...]:
        if every is None:
            return ()
        self._check_counted()
        if len(self.schema.time) == 1 and not isinstance(every, Mapping):
            every = {self.schema.time[0]: every}
        if not isinstance(every, Mapping):
            example = ", ".join(f'"{name}": …' for name in self.schema.time)
            raise BadArgument(
                f"expected every as a mapping from time column to period, as there are several, got {every!r}",
                hint=f"every={{{example}}}",
            )
        found = []
        for name, period in every.items():
            column = self.schema[self._over(name)[0]]
            found.append((column.name, parse_span(period, column.type or "", what="every")))
        return tuple(found)
