"""What a loop answers in its versions, from the cells of what it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.flow.plan import Iterate
from tidegate.spark.loops.facts import Facts
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["all_known", "new_or_better"]


def all_known(operator: Iterate, runtime: Runtime, cells: DataFrame, versions: DataFrame) -> DataFrame:
    """Answer what is known of every key in each of the versions."""
    facts = Facts.of(operator)
    held = cells.select(*_own(facts, runtime))
    at = runtime.F.broadcast(versions).join(held, runtime.expr(_all([_below(c, t) for c, t in _times(facts)])))
    return facts.merged(runtime, at).select(*map(quoted, operator.schema.names))


def new_or_better(
    operator: Iterate, runtime: Runtime, cells: DataFrame, versions: DataFrame, all_versions: DataFrame
) -> DataFrame:
    """Answer what is known in the versions, unless it is the merge of what was known in the versions strictly below.

    ``all_versions`` has those of earlier steps, too. A cell counts for a version from the time of the cell on; it is
    *covered* there if some version strictly below is at or above the cell.
    """
    facts = Facts.of(operator)
    held = cells.select(*_own(facts, runtime))
    uncovered = _uncovered(facts, runtime, held, versions, all_versions)
    same = runtime.expr(_all([f"{c} <=> __u{i}" for i, (c, _) in enumerate(_times(facts))]))
    key = [f"__k{i}" for i in range(len(facts.key))]
    renamed = {f"__k{i}": quoted(name) for i, name in enumerate(facts.key)}
    times = {name: quoted(name) for name in facts.times}
    # Only a key with a cell that is not covered can have an answer that is new.
    asked = held.join(uncovered, same).select(*runtime.exprs(renamed | times)).distinct()
    of_key = [f"{quoted(name)} <=> __k{i}" for i, name in enumerate(facts.key)]
    found = asked.join(held, runtime.expr(_all([*of_key, *(_below(c, t) for c, t in _times(facts))])))
    marks = uncovered.select("*", runtime.expr("true", "__uncovered"))
    marks = marks.withColumnsRenamed({name: f"__t{i}" for i, name in enumerate(facts.times)})
    at = [f"{t} = __t{i}" for i, (_, t) in enumerate(_times(facts))]
    here = [f"{c} <=> __u{i}" for i, (c, _) in enumerate(_times(facts))]
    found = found.join(marks, runtime.expr(_all([*at, *here])), "left").drop(*key)
    return _differing(facts, runtime, found).select(*map(quoted, operator.schema.names))


def _differing(facts: Facts, runtime: Runtime, found: DataFrame) -> DataFrame:
    """Answer what is known at a key and time, unless covered facts say as much."""
    covered = {f"__old_{v}": f"IF(__uncovered IS NULL, {quoted(v)}, NULL)" for v in facts.values}
    old = facts.renamed(lambda name: f"__old_{name}")
    values = {rule.name: rule.merge(facts.rules) for rule in facts.rules}
    values |= {rule.name: rule.merge(old) for rule in old}
    values |= {"__was": "bool_or(__uncovered IS NULL)"}
    groups = found.select("*", *runtime.exprs(covered)).groupBy(*map(quoted, (*facts.times, *facts.key)))
    same = [f"{quoted(v)} <=> {quoted(f'__old_{v}')}" for v in facts.values]
    return groups.agg(*runtime.exprs(values)).where(runtime.expr(f"NOT ({_all(['__was', *same])})"))


def _uncovered(
    facts: Facts, runtime: Runtime, held: DataFrame, versions: DataFrame, all_versions: DataFrame
) -> DataFrame:
    """Answer pairs of a cell's time (``__u…``) and a version that is the first to know it, in its direction."""
    own = {f"__u{i}": c for i, (c, _) in enumerate(_times(facts))}
    passed = {f"__s{i}": t for i, (_, t) in enumerate(_times(facts))}
    seen = all_versions.select(*runtime.exprs(passed))
    at = held.select(*runtime.exprs(own)).distinct()
    # A cell at a version is covered in all later ones, and only others have to be looked at.
    same = [f"__u{i} <=> __s{i}" for i in range(len(facts.times))]
    between = at.join(seen, runtime.expr(_all(same)), "left_anti")
    pairs = between.join(versions, runtime.expr(_all([_below(f"__u{i}", t) for i, (_, t) in enumerate(_times(facts))])))
    above = [_below(f"__u{i}", f"__s{i}") for i in range(len(facts.times))]
    below = [f"__s{i} <= {t}" for i, (_, t) in enumerate(_times(facts))]
    strictly = _all([f"__s{i} = {t}" for i, (_, t) in enumerate(_times(facts))])
    first = pairs.join(seen, runtime.expr(_all([*above, *below, f"NOT ({strictly})"])), "left_anti")
    exactly = versions.select(*runtime.exprs({f"__u{i}": t for i, (_, t) in enumerate(_times(facts))}), "*")
    return first.select(*exactly.columns).unionAll(exactly)


def _own(facts: Facts, runtime: Runtime) -> list[Column]:
    """Rename the times of cells, so that those of versions can stand beside them."""
    times = {f"__c{i}": quoted(name) for i, name in enumerate(facts.times)}
    return runtime.exprs(times | {name: quoted(name) for name in (*facts.key, *facts.values)})


def _times(facts: Facts) -> list[tuple[str, str]]:
    return [(f"__c{i}", quoted(name)) for i, name in enumerate(facts.times)]


def _below(cell: str, version: str) -> str:
    """A cell without a time is below every version."""
    return f"({cell} IS NULL OR {cell} <= {version})"


def _all(conditions: list[str]) -> str:
    return " AND ".join(conditions)
