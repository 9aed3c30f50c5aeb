"""A loop on bounded inputs: all rows are given, and every version is answered."""

from __future__ import annotations

from contextlib import ExitStack

from tidegate.engine.loops.answers import all_known, new_or_better
from tidegate.engine.loops.counted import CountedLoop, answers_of_versions, kept
from tidegate.engine.loops.facts import FOUND, Facts
from tidegate.engine.loops.queries import LoopRows, Queries, check_types
from tidegate.engine.loops.relations import extent, first_version, needed, one_time, units_of_versions, versions_of
from tidegate.engine.loops.rounds import Rounds
from tidegate.engine.relation import Relation, as_they_are, united
from tidegate.flow.loops.query import KNOWN
from tidegate.flow.plan import Iterate
from tidegate.flow.sqltypes import quoted

__all__ = ["one_round", "run_loop"]


def run_loop(operator: Iterate, *inputs: Relation) -> Relation:
    """Run rounds until nothing changes, or as many as the loop says, and return the answers of every version.

    The rounds are run right away. The backend holds the result until nothing refers to it any more.
    """
    backend = inputs[0].backend
    with backend.in_rounds(), ExitStack() as held:
        given = {}
        for name, rows in zip(operator.names, inputs, strict=True):
            cached = backend.cached(needed(operator, name, rows))
            held.callback(cached.release)
            given[name] = cached.rows
        timed = [rows for rows in given.values() if set(operator.schema.time) <= set(rows.names)]
        versions = versions_of(operator, timed)
        if operator.rounds is not None:
            loop = CountedLoop(operator, backend, given)
            all_versions = units_of_versions(operator, versions)
            answers = answers_of_versions(loop, all_versions, all_versions)
            return one_round(operator, *inputs).where("false") if answers is None else answers
        everything = {name: LoopRows(rows, rows) for name, rows in given.items()}
        times = extent(operator, timed)
        queries = Queries(operator, backend, everything, first_version(operator, times))
        rounds = Rounds(queries, one_time=one_time(operator, times))
        held.callback(rounds.release)
        cells = backend.kept(rounds.run())
        if operator.emit == "update" and len(operator.schema.time) == 1:
            # With one time column, each cell is at a version, and is exactly what changes there.
            timed_cells = cells.rows.where(f"{quoted(operator.schema.time[0])} IS NOT NULL")
            return timed_cells.select(as_they_are(operator.schema.names))
        held.callback(cells.release)
        if operator.emit == "complete":
            answers = all_known(operator, cells.rows, versions)
        else:
            answers = new_or_better(operator, cells.rows, versions, versions)
        return backend.kept(answers).rows


def one_round(operator: Iterate, *inputs: Relation) -> Relation:
    """Return the answers of a loop after one round, in the right columns.

    Nothing is computed. A backend refuses here what it would refuse in a run.
    """
    backend, given = inputs[0].backend, dict(zip(operator.names, inputs, strict=True))
    if operator.rounds is not None:
        plain = {name: rows.without(*operator.schema.time) for name, rows in given.items()}
        begun = kept(operator, backend.query(operator.start, plain))
        then = kept(operator, backend.query(operator.step, {**plain, KNOWN: begun}))
        check_types(operator.known, begun, then)
        return inputs[0].select(as_they_are(operator.schema.time)).join(then, "true")
    queries = Queries(operator, backend, {name: LoopRows(rows, rows) for name, rows in given.items()})
    begun = united(queries.begin())
    then = united(queries.follow(begun))
    check_types(operator.known, begun, then)
    facts = Facts.of(operator)
    found = united([begun, then]).with_columns({"__from": str(FOUND)})
    return facts.cells(found).select(as_they_are(facts.columns))
