"""Builds the operator of a loop from the arguments of `Stream.iterate`, and checks all of them before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.flow import joins, sqltypes
from tidegate.flow.arguments import checked_name, names_of, one_of
from tidegate.flow.errors import BadArgument, BadLoop, UnknownColumn
from tidegate.flow.loops.keep import Rule, kept, rules_of
from tidegate.flow.loops.parse import Relations, parse_loop_query
from tidegate.flow.loops.query import INPUT, KNOWN, Query
from tidegate.flow.schema import Column, Schema

if TYPE_CHECKING:
    from tidegate.flow.building import Building

__all__ = ["LIMIT", "loop_fields", "relations_of_loop"]

#: After this many rounds, by default, a loop that still changes is an error.
LIMIT = 10_000


def relations_of_loop(stream: Building, also: Any) -> dict[str, Building]:
    """Return the streams and tables that the queries of a loop may read, by name."""
    if not isinstance(also, Mapping):
        raise BadArgument(
            f"expected also as a mapping from name to stream, got {also!r} ({type(also).__name__})",
            hint='also={"prices": prices}',
        )
    found = {INPUT: stream}
    for name, other in also.items():
        checked_name(name, "a relation in also")
        if name.lower() in (INPUT, KNOWN) or name.lower() in found or not name.isidentifier():
            raise BadArgument(
                f"expected a name in also that is free and that SQL can read, got {name!r}",
                hint=f"{INPUT} means the stream itself, and {KNOWN} what the loop knows",
            )
        right = stream._other(other)
        if right.schema.time:
            joins.check_times(stream, right)
        found[name.lower()] = right
    return found


def loop_fields(
    streams: Mapping[str, Building], start: Any, step: Any, key: Any, keep: Any, emit: Any, rounds: Any, limit: Any
) -> dict[str, Any]:
    """Return the fields of an `Iterate`, or raise an error that says what is wrong."""
    one_of(emit, "emit", ("update", "complete"))
    if rounds is not None:
        _check_count(rounds, "rounds", "how many rounds to run; None runs until nothing changes")
    _check_count(limit, "limit", "after how many rounds a loop that still changes is an error")
    relations = Relations(
        {name: Schema(stream.schema.data) for name, stream in streams.items()},
        tables=frozenset(name for name, stream in streams.items() if not stream.schema.time),
        times=streams[INPUT].schema.time,
    )
    any_form = rounds is not None
    first = parse_loop_query(start, "start", relations, any_form=any_form)
    facts = Schema(first.columns)
    keys = _key(key, facts, relations.times)
    aggregation = kept(keep, tuple(map(sqltypes.quoted, keys)), facts)
    rules: tuple[Rule, ...] = ()
    if not any_form:
        aggregation, rules = rules_of(aggregation, facts)
    read = list(keys)
    for output in aggregation.outputs:
        # min_by also reads the column that it compares by, but that column has its own rule.
        read += [name for name in ([output.name] if rules else output.columns) if name not in read]
    surplus = [c.name for c in first.columns if c.name not in read]
    if surplus:
        raise BadLoop(
            f"start gives {', '.join(surplus)}, which is neither in the key nor read by keep",
            hint=f'keep it, for example keep=(…, "min({surplus[0]}) AS {surplus[0]}"), or leave it out of start',
        )
    known = Schema(aggregation.columns)
    everything = replace(relations, columns={**relations.columns, KNOWN: known})
    then = parse_loop_query(step, "step", everything, any_form=any_form)
    if KNOWN not in then.relations:
        raise BadLoop(
            "step does not read known: it would give the same facts in every round", hint="FROM known k JOIN …"
        )
    wanted = tuple(facts[name] for name in read)
    return {
        "names": tuple(streams),
        "start": _arranged(first, wanted),
        "step": _arranged(_like(then, wanted), wanted),
        "keep": aggregation,
        "rules": rules,
        "emit": emit,
        "rounds": rounds,
        "limit": limit,
    }


def _check_count(value: Any, what: str, meaning: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadArgument(f"expected {what} to be a whole number of at least 1, got {value!r}", hint=meaning)


def _key(key: Any, facts: Schema, times: tuple[str, ...]) -> tuple[str, ...]:
    names = names_of(key, "key")
    if not names:
        raise BadArgument("expected at least one column in key, got none", hint='key="node"')
    found: list[str] = []
    for name in names:
        if not isinstance(name, str):
            raise BadArgument(f"expected the name of a column in key, got {name!r} ({type(name).__name__})")
        if name.lower() in map(str.lower, times):
            raise BadArgument(f"time columns are part of every result, got {name} in key", hint="leave it out")
        column = facts.find(name)
        if column is None:
            raise facts.unknown(name).at("key, whose columns are those of start")
        found.append(column.name)
    if len(set(found)) < len(found):
        raise BadArgument(f"a column is named twice in key: {', '.join(found)}")
    return tuple(found)


def _like(query: Query, wanted: tuple[Column, ...]) -> Query:
    """Return the query if it gives the wanted columns, in any order and with fitting types; raise otherwise."""
    columns = Schema(query.columns)
    missing = [c.name for c in wanted if c.name not in columns]
    extra = [c.name for c in query.columns if c.name not in Schema(wanted)]
    if missing or extra:
        lacks = [f"lacks {', '.join(missing)}"] if missing else []
        lacks += [f"also has {', '.join(extra)}"] if extra else []
        raise UnknownColumn(
            f"expected step to give the columns of start, {', '.join(map(str, wanted))}; it {' and '.join(lacks)}",
            hint=f"the first SELECT of step names them: SELECT … AS {', … AS '.join(c.name for c in wanted)}",
        )
    for column in wanted:
        found = columns[column.name]
        if None not in (found.type, column.type) and found.type != column.type:
            raise BadLoop(
                f"expected {column.name} of one type, got {column.type} from start and {found.type} from step",
                hint=f"CAST(… AS {found.type}) AS {sqltypes.quoted(column.name)} in start, or the other way in step",
            )
    return query


def _arranged(query: Query, wanted: tuple[Column, ...]) -> Query:
    """Return the query with its columns in the wanted order, under the wanted names."""
    order = [next(i for i, c in enumerate(query.columns) if c.name.lower() == w.name.lower()) for w in wanted]
    branches = tuple(
        replace(b, outputs=tuple(replace(b.outputs[i], name=w.name) for i, w in zip(order, wanted, strict=True)))
        for b in query.branches
    )
    return replace(query, columns=wanted, branches=branches)
