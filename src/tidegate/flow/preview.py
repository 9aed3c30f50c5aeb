"""Previews: what a stream gives for a few rows, while a flow is still being built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from tidegate.flow.errors import BadArgument, BadInput, FlowError
from tidegate.flow.limits import with_bounds
from tidegate.flow.plan import Plan, Sink, Source, Table
from tidegate.flow.schema import Schema
from tidegate.flow.show import html_table, text_table
from tidegate.flow.values import ordered

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from tidegate.flow.building import Building

__all__ = ["Preview", "preview"]

_SINK = "preview"


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """The rows that a stream gives, in order; it prints as a table, and is one in a notebook.

    ``rejected`` has, for each source, why rows could not take part. At most ``limit`` rows are shown.
    """

    stream: str
    schema: Schema
    rows: list[dict[str, Any]]
    rejected: Mapping[str, list[str]]
    limit: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        table = text_table(self.schema.names, self._shown()).splitlines()
        return "\n".join([self._title(), *(f"  {line}" for line in [*table, *self._notes()])])

    def _repr_html_(self) -> str:
        table = html_table(self.schema.names, self._shown(), caption=self._title())
        return table + "".join(f"<p>{escape(note)}</p>" for note in self._notes())

    def _title(self) -> str:
        return f"{self.stream}: {_counted(len(self.rows))}"

    def _shown(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.rows[: self.limit]]

    def _notes(self) -> list[str]:
        hidden = len(self.rows) - self.limit
        notes = [f"… and {_counted(hidden)} more"] if hidden > 0 else []
        for source, reasons in self.rejected.items():
            counts = {reason: reasons.count(reason) for reason in reasons}
            notes += [f"{_counted(n)} of {source} rejected: {reason}" for reason, n in counts.items()]
        return notes


def _counted(rows: int) -> str:
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def preview(stream: Building, rows: Any, *, limit: int) -> Preview:
    """Run a flow up to a stream, on the local engine; see `Stream.preview`."""
    # Import here: only those who run a flow need an engine.
    from duckdb import Error

    from tidegate.engine.storage.errors import RunFailed
    from tidegate.flow.arrow import rows_of
    from tidegate.local_engine.compute import compute
    from tidegate.local_engine.error_messages import describe_error
    from tidegate.local_engine.session import local

    flow = stream.flow
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise BadArgument(f"expected a number of rows to show in limit=, got {limit!r}", hint="limit=20")
    try:
        stream._check_current()
    except FlowError as error:
        raise error.at(f"preview(…) on {stream.id}").at(f"flow {flow.name!r}") from None
    # As in `Flow.plan`: operators that move rows have to know which times are accepted after them.
    plan = with_bounds(replace(stream._plan(), sinks=(Sink(_SINK, stream.id),)))
    tables = compute(plan, local(threads=1), _given(flow.plan, plan, stream.id, rows))
    try:
        found = rows_of(tables[_SINK].to_arrow_table())
        rejected = {source: _reasons(relation) for source, relation in tables.rejected.items()}
    except Error as error:
        why = describe_error(error)
        failed = RunFailed(tables.failing(_SINK) or why.text, hint=why.hint)
        raise failed.at(f"preview(…) on {stream.id}").at(f"flow {flow.name!r}") from error
    plain = [{name: _without_zone(value) for name, value in row.items()} for row in found]
    reasons = {source: why for source, why in rejected.items() if why}
    return Preview(stream.id, stream.schema, ordered(plain, stream.schema.names), reasons, limit)


def _given(whole: Plan, plan: Plan, stream: str, rows: Any) -> dict[str, Any]:
    """Return an input for each source and table that a stream needs, in a form that the local engine accepts."""
    inputs: list[Source | Table] = [*plan.sources, *plan.tables]
    declared = {operator.id: operator for operator in inputs}
    names = ", ".join(declared)
    example = "preview({" + ", ".join(f'"{name}": [{{…}}]' for name in declared) + "})"
    try:
        if not isinstance(rows, Mapping):
            if len(declared) > 1:
                raise BadInput(
                    f"expected a mapping from source to rows, as {stream} needs {names}; got {type(rows).__name__}",
                    hint=example,
                )
            rows = dict.fromkeys(declared, rows)
        elif not declared.keys() & rows.keys():
            got = ", ".join(map(str, rows)) or "nothing in it"
            raise BadInput(
                f"expected a mapping from source ({names}) to rows, got one with {got}",
                hint="one row is a list, too: preview([{…}])" if len(declared) == 1 else example,
            )
        # Inputs of other streams may be given as well, so that the same rows can be used for several previews.
        others = {o.id for o in (*whole.sources, *whole.tables)} - declared.keys()
        return {name: _as_arrow(declared.get(name), given) for name, given in rows.items() if name not in others}
    except FlowError as error:
        raise error.at(f"preview(…) on {stream}").at(f"flow {plan.name!r}") from None


def _as_arrow(operator: Source | Table | None, given: Any) -> Any:
    """Return rows that are dicts as an Arrow table; anything else unchanged."""
    if operator is None or not isinstance(given, list | tuple | Iterator):
        return given
    # The rows are checked as the reference checks them.
    from tidegate.reference.inputs import checked_table

    return checked_table(list(given), operator.schema, operator.id)


def _reasons(relation: DuckDBPyRelation) -> list[str]:
    """Return why rows were rejected, which is in their last column."""
    reason = relation.columns[-1].replace('"', '""')
    return sorted(why for (why,) in relation.project(f'"{reason}"').fetchall())


def _without_zone(value: Any) -> Any:
    """Return a value whose instants are in UTC, and have no zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, Mapping):
        return {key: _without_zone(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_zone(inner) for inner in value]
    return value
