"""The answers of a loop in its versions, from the cells of the facts it knows."""

from __future__ import annotations

from tidegate.engine.calls import call
from tidegate.engine.loops.facts import Facts
from tidegate.engine.relation import Relation, as_they_are
from tidegate.flow.plan import Iterate
from tidegate.flow.sqltypes import quoted

__all__ = ["all_known", "new_or_better"]


def all_known(operator: Iterate, cells: Relation, versions: Relation) -> Relation:
    """Return what is known of every key, in each of the versions."""
    facts = Facts.of(operator)
    held = _own(facts, cells)
    at = held.join(versions.small(), _all([_below(c, t) for c, t in _times(facts)]))
    return facts.merged(at).select(as_they_are(operator.schema.names))


def new_or_better(operator: Iterate, cells: Relation, versions: Relation, all_versions: Relation) -> Relation:
    """Return what is known in the versions, except where it equals the merge of what lower versions know.

    Lower versions are those strictly below, of all steps: ``all_versions`` has them. A cell counts in a version that is
    at or above the cell's time. It is *covered* there if some version strictly below is at or above the cell, too.
    """
    facts = Facts.of(operator)
    held = _own(facts, cells)
    uncovered = _uncovered(facts, held, versions, all_versions)
    same = _all([f"{c} <=> __u{i}" for i, (c, _) in enumerate(_times(facts))])
    renamed = {f"__k{i}": quoted(name) for i, name in enumerate(facts.key)}
    # Only a key with an uncovered cell can have a new answer.
    asked = held.join(uncovered, same).select(renamed | as_they_are(facts.times)).distinct()
    of_key = [f"{quoted(name)} <=> __k{i}" for i, name in enumerate(facts.key)]
    found = asked.join(held, _all([*of_key, *(_below(c, t) for c, t in _times(facts))]))
    marks = uncovered.renamed({name: f"__t{i}" for i, name in enumerate(facts.times)})
    marks = marks.with_columns({"__uncovered": "true"})
    at = [f"{t} = __t{i}" for i, (_, t) in enumerate(_times(facts))]
    here = [f"{c} <=> __u{i}" for i, (c, _) in enumerate(_times(facts))]
    found = found.join(marks, _all([*at, *here]), "left").without(*renamed)
    return _differing(facts, found).select(as_they_are(operator.schema.names))


def _differing(facts: Facts, found: Relation) -> Relation:
    """Return what is known at a key and time, except where the covered facts alone give the same."""
    covered = {f"__old_{v}": f"IF(__uncovered IS NULL, {quoted(v)}, NULL)" for v in facts.values}
    was = {"__was": call("bool_or", "__uncovered IS NULL")}
    values = facts.merged_beside(found.with_columns(covered), lambda name: f"__old_{name}", was)
    same = [f"{quoted(v)} <=> {quoted(f'__old_{v}')}" for v in facts.values]
    return values.where(f"NOT ({_all(['__was', *same])})")


def _uncovered(facts: Facts, held: Relation, versions: Relation, all_versions: Relation) -> Relation:
    """Return pairs of a cell's time (``__u…``) and a version in which it is not covered."""
    seen = all_versions.select({f"__s{i}": t for i, (_, t) in enumerate(_times(facts))})
    at = held.select({f"__u{i}": c for i, (c, _) in enumerate(_times(facts))}).distinct()
    # A cell whose time is a version is covered in all later versions, so only the other cells are compared.
    same = [f"__u{i} <=> __s{i}" for i in range(len(facts.times))]
    between = at.join(seen, _all(same), "anti")
    pairs = between.join(versions, _all([_below(f"__u{i}", t) for i, (_, t) in enumerate(_times(facts))]))
    above = [_below(f"__u{i}", f"__s{i}") for i in range(len(facts.times))]
    below = [f"__s{i} <= {t}" for i, (_, t) in enumerate(_times(facts))]
    strictly = _all([f"__s{i} = {t}" for i, (_, t) in enumerate(_times(facts))])
    first = pairs.join(seen, _all([*above, *below, f"NOT ({strictly})"]), "anti")
    exactly = {f"__u{i}": t for i, (_, t) in enumerate(_times(facts))} | as_they_are(versions.names)
    return first.select(as_they_are(list(exactly))).union(versions.select(exactly))


def _own(facts: Facts, cells: Relation) -> Relation:
    """Return cells with their time columns renamed, so that those of versions can be joined to them."""
    times = {f"__c{i}": quoted(name) for i, name in enumerate(facts.times)}
    return cells.select(times | as_they_are((*facts.key, *facts.values)))


def _times(facts: Facts) -> list[tuple[str, str]]:
    return [(f"__c{i}", quoted(name)) for i, name in enumerate(facts.times)]


def _below(cell: str, version: str) -> str:
    """Return the SQL condition that a cell is at or below a version. A cell without a time is below every version."""
    return f"({cell} IS NULL OR {cell} <= {version})"


def _all(conditions: list[str]) -> str:
    return " AND ".join(conditions)
