"""How a loop merges several facts of a key into one, by rules that work in any order and any number of times.

>>> str(Rule("via", "min_by", "dist"))
'min_by(via, dist) AS via'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tidegate.flow import sqltypes
from tidegate.flow.aggregate_functions import AGGREGATE_FUNCTIONS, loop_rule
from tidegate.flow.aggregates import AggregateExpression, Aggregation, aggregation
from tidegate.flow.arguments import names_of
from tidegate.flow.errors import BadLoop
from tidegate.flow.expressions import Parsed, reference_to
from tidegate.flow.parser import exp, parse
from tidegate.flow.schema import Schema

__all__ = ["Rule", "kept", "rules_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """How one column of several facts is merged: by ``function``, which may also need another column, ``by``.

    All functions ignore NULL. ``min_by`` takes the value from the fact with the least ``by`` that is not NULL, and
    ``max_by`` from the one with the greatest. Among equal ones, the columns that have the same rule decide, in their
    order; NULL is the least value. ``by`` is itself kept, by ``min`` or ``max``. ``collect_union`` is the union of
    arrays as sets, sorted, with NULL last.
    """

    name: str
    function: str
    by: str = ""

    def __str__(self) -> str:
        name = sqltypes.quoted(self.name)
        arguments = f"{name}, {sqltypes.quoted(self.by)}" if self.by else name
        return f"{self.function}({arguments}) AS {name}"

    def merge(self, rules: tuple[Rule, ...]) -> str:
        """Return Spark SQL for the merged value, whatever the order of facts; ``rules`` are those of all columns.

        >>> dist, via = Rule("dist", "min"), Rule("via", "min_by", "dist")
        >>> via.merge((dist, via))
        'min(CASE WHEN dist IS NOT NULL THEN struct(dist, via) END).via'
        >>> Rule("tags", "collect_union").merge(())
        'array_sort(array_distinct(flatten(collect_list(tags))))'
        """
        name = sqltypes.quoted(self.name)
        fields = [sqltypes.quoted(field) for field in self.compared(rules)]
        template = loop_rule(self.function).sql
        merged = template.format(function=self.function, x=name, y=sqltypes.quoted(self.by), fields=", ".join(fields))
        return f"{merged}.{name}" if self.by else merged

    def compared(self, rules: tuple[Rule, ...]) -> list[str]:
        """Return the columns by which facts are compared: ``by``, then those that are taken from the same fact."""
        together = [r.name for r in rules if (r.function, r.by) == (self.function, self.by)]
        return [self.by, *together]


def kept(keep: Any, key: tuple[str, ...], facts: Schema) -> Aggregation:
    """Return the aggregates of ``keep``, bound to the columns of facts; if there are none, a fact is only its key."""
    texts = names_of(keep, "keep")
    if not texts:
        return Aggregation(tuple(reference_to(name, facts[name].type) for name in key), ())
    for text in texts:
        parsed = Parsed.of(text, "an aggregate")
        if not parsed.alias and parsed.sql.calls():
            column = next((c.name for c in parse(parsed.sql.text).find_all(exp.Column)), "x")
            raise BadLoop(f"expected a name for each aggregate in keep\n  {text}", hint=f'"{text} AS {column}"')
    return aggregation(key, texts, {}, facts)


def rules_of(wanted: Aggregation, facts: Schema) -> tuple[Aggregation, tuple[Rule, ...]]:
    """Return what is kept as aggregates that do not depend on the order of facts, and as rules; or raise.

    >>> from tidegate.flow.schema import parse_schema
    >>> facts = parse_schema("node INT, dist INT, via INT")
    >>> merged, rules = rules_of(kept(["min(dist) AS dist", "min_by(via, dist) AS via"], ("node",), facts), facts)
    >>> [str(rule) for rule in rules]
    ['min(dist) AS dist', 'min_by(via, dist) AS via']
    """
    keys = [e.name for e in wanted.by]
    rules = tuple(_rule(output, facts, keys) for output in wanted.outputs)
    for rule in rules:
        least = loop_rule(rule.function).by
        if rule.by and not any((r.name, r.function) == (rule.by, least) for r in rules):
            by = sqltypes.quoted(rule.by)
            raise BadLoop(
                f"expected {rule.by} to be kept too, as {rule} compares facts by it", hint=f'"{least}({by}) AS {by}"'
            )
    if not rules:
        return wanted, ()
    texts = [f"{rule.merge(rules)} AS {sqltypes.quoted(rule.name)}" for rule in rules]
    merged = aggregation(tuple(map(sqltypes.quoted, keys)), texts, {}, facts)
    # A merged value has the type of the values that it is merged from; derived types are less exact.
    outputs = tuple(replace(output, type=facts[output.name].type) for output in merged.outputs)
    return Aggregation(merged.by, outputs), rules


def _rule(output: AggregateExpression, facts: Schema, keys: list[str]) -> Rule:
    call = output.calls[0]
    known = call.definition.loop
    if known is None or not output.is_call or call.distinct or call.where or call.rest:
        culprit = next((c.function for c in output.calls if c.definition.loop is None), output.sql)
        usual = dict.fromkeys(function.names[0] for function in AGGREGATE_FUNCTIONS.values() if function.loop)
        raise BadLoop(
            f"expected an aggregate in keep that a loop can merge, got {output}\n"
            f"  with {culprit}, what is kept would depend on how often and in which order facts are found",
            hint=f"{', '.join(usual)} of a column; or rounds=…",
        )
    columns = {sqltypes.quoted(c.name): c for c in facts.columns}
    arguments = [columns.get(argument) for argument in call.arguments]
    wanted = 2 if known.by else 1
    first = arguments[0] if len(arguments) == wanted and all(arguments) else None
    if first is None or first.name != output.name or first.name in keys:
        name = sqltypes.quoted(first.name if first else output.name)
        more = ", other" if wanted == 2 else ""
        raise BadLoop(
            f"expected in keep an aggregate of a column outside of the key, named after it, got {output}",
            hint=f'for example "{call.function}({name}{more}) AS {name}": what is kept is merged again in every round',
        )
    if first.type is not None and not known.fits(first.type):
        raise BadLoop(
            f"expected {known.takes} in {call.function}({first.name}), got {first.type}",
            hint="cast it in start and step",
        )
    return Rule(output.name, call.function, arguments[1].name if wanted == 2 and arguments[1] else "")
