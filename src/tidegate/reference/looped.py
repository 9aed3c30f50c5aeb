"""The rule for loops: for each version a fixpoint, computed from the beginning, with all rows in each round."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import reduce
from typing import Any, TypeAlias

from tidegate.flow import plan
from tidegate.flow.aggregate_functions import loop_rule
from tidegate.flow.errors import BadLoop, NotConverging
from tidegate.flow.loops.keep import Rule
from tidegate.flow.loops.query import KNOWN, Query
from tidegate.flow.schema import Column, Schema
from tidegate.flow.values import freeze, ordered
from tidegate.reference.held import Group, answers, grouped
from tidegate.reference.paired import side_by_side
from tidegate.reference.run import Events, ReferenceRun, evaluate, on_time
from tidegate.spec import DT, WM, Event, incr_batch_op, produce, union_op
from tidegate.time import Order

__all__ = ["merged"]

Row: TypeAlias = dict[str, Any]
#: What is known: the fact of each key.
Facts: TypeAlias = dict[Hashable, Row]


@evaluate.register
def _iterate(operator: plan.Iterate, running: ReferenceRun, inputs: list[Events]) -> Events:
    order = operator.schema.order
    schemas = running.schemas(operator)
    tables: dict[str, list[Row]] = {}
    streams: dict[str, list[Event]] = {}
    for name, schema, stream in zip(operator.names, schemas, map(on_time, inputs), strict=True):
        if schema.time:
            streams[name] = stream
        else:
            tables[name] = [event.d for event in stream if isinstance(event, DT)]
    loop = _Loop(operator, running, {name: s.data for name, s in zip(operator.names, schemas, strict=True)})
    known: dict[Any, Facts] = {}
    events: list[Event] = []
    for event in running.produced(incr_batch_op(order), _united(order, streams)):
        events.append(event)
        if isinstance(event, DT):
            below = [d for t, d in event.d if order.le(t, event.t)]
            rows = {name: [row for n, row in below if n == name] for name in streams}
            known[event.t] = loop.known({**rows, **tables})
    out: list[Event | Group] = [
        event if isinstance(event, WM) else Group(event.t, {}, _answer(operator, order, known, event.t))
        for event in events
    ]
    return answers(out, lambda groups: [group.rows for group in groups], operator.schema)


def _united(order: Order[Any], streams: Mapping[str, list[Event]]) -> list[Event]:
    """Merge streams into one, whose data are pairs of a stream's name and a row; it is complete when all are."""
    tagged = [
        [DT(event.t, (name, event.d)) if isinstance(event, DT) else event for event in events]
        for name, events in streams.items()
    ]
    return reduce(lambda left, right: list(produce(union_op(order), side_by_side(left, right))), tagged)


class _Loop:
    """Compute one version after the other; what is known in one is not used for the next."""

    def __init__(
        self, operator: plan.Iterate, running: ReferenceRun, columns: Mapping[str, tuple[Column, ...]]
    ) -> None:
        self.operator = operator
        self.running = running
        self.columns = {**columns, KNOWN: operator.known.columns}

    def known(self, rows: Mapping[str, list[Row]]) -> Facts:
        """Return what is known when nothing changes in a version any more, or after so many rounds."""
        operator = self.operator
        known = self.kept(self.asked(operator.start, rows))
        if operator.rounds is not None:
            for _ in range(operator.rounds):
                known = self.kept(self.asked(operator.step, {**rows, KNOWN: list(known.values())}))
            return known
        changed: list[int] = []
        while True:
            found = self.asked(operator.step, {**rows, KNOWN: list(known.values())})
            then = self.kept([*known.values(), *found])
            changed.append(sum(freeze(fact) != freeze(known.get(key)) for key, fact in then.items()))
            known = then
            if not changed[-1]:
                return known
            if len(changed) == operator.limit:
                raise NotConverging.after(changed)

    def asked(self, query: Query, rows: Mapping[str, list[Row]]) -> list[Row]:
        """Return the facts that a query gives."""
        return self.running.duck.query(query, {name: (rows[name], self.columns[name]) for name in query.relations})

    def kept(self, facts: list[Row]) -> Facts:
        """Return the facts, one for each key."""
        operator = self.operator
        if operator.rounds is None:
            return merged(operator.key, operator.rules, facts)
        names = operator.start.columns
        groups = grouped(({name: fact[name] for name in operator.key}, fact) for fact in facts)
        keys = [key for key, _ in groups]
        rows = [ordered(group, [c.name for c in names]) for _, group in groups]
        key_columns = tuple(c for c in names if c.name in operator.key)
        values = self.running.duck.aggregates(rows, Schema(names), operator.keep, keys, key_columns)
        outputs = [output.name for output in operator.keep.outputs]
        return {freeze(k): k | dict(zip(outputs, found, strict=True)) for k, found in zip(keys, values, strict=True)}


def _answer(operator: plan.Iterate, order: Order[Any], known: Mapping[Any, Facts], t: Any) -> list[Row]:
    """Return what a loop answers in a version: all that is known, or what is new or better than in those before it."""
    now = known[t]
    below = [s for s in known if s != t and order.le(s, t)]
    if operator.rounds is not None:
        latest = [known[s] for s in below if not any(s != u and order.le(s, u) for u in below)]
        same = [
            k for k, fact in now.items() if latest and all(freeze(facts.get(k)) == freeze(fact) for facts in latest)
        ]
        return list(now.values()) if operator.emit == "complete" else [f for k, f in now.items() if k not in same]
    before = merged(operator.key, operator.rules, [fact for s in below for fact in known[s].values()])
    for key, fact in merged(operator.key, operator.rules, [*before.values(), *now.values()]).items():
        if freeze(fact) != freeze(now.get(key)):
            raise BadLoop(
                f"expected that what is known holds in all later versions; at {t!r}, got {now.get(key)} where "
                f"{before[key]} held before",
                hint="a better fact must never lead step to a worse one, or to none: with min(x), let x only grow with "
                "the x that it comes from",
            )
    if operator.emit == "complete":
        return list(now.values())
    return [fact for key, fact in now.items() if freeze(fact) != freeze(before.get(key))]


# What is kept, in plain Python.


def merged(key: tuple[str, ...], rules: tuple[Rule, ...], facts: Iterable[Row]) -> Facts:
    """Return one fact for each key.

    >>> rules = (Rule("dist", "min"), Rule("via", "min_by", "dist"))
    >>> facts = [{"node": 1, "dist": 5, "via": 7}, {"node": 1, "dist": 3, "via": 9}, {"node": 1, "dist": 3, "via": 8}]
    >>> list(merged(("node",), rules, facts).values())
    [{'node': 1, 'dist': 3, 'via': 8}]
    """
    found: Facts = {}
    for own, group in grouped(({name: fact[name] for name in key}, fact) for fact in facts):
        found[freeze(own)] = own | {rule.name: _value(rule, rules, group) for rule in rules}
    return found


def _value(rule: Rule, rules: tuple[Rule, ...], facts: list[Row]) -> Any:
    merge = loop_rule(rule.function).merge
    if not rule.by:
        return merge([fact[rule.name] for fact in facts if fact[rule.name] is not None])
    names = rule.compared(rules)
    best = merge([[fact[name] for name in names] for fact in facts if fact[rule.by] is not None])
    return best and best[names.index(rule.name, 1)]
