"""A loop on bounded inputs: all rows are there, and every version is answered."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from tidegate.flow.loops.query import KNOWN
from tidegate.flow.plan import Iterate
from tidegate.spark.loops.answers import all_known, new_or_better
from tidegate.spark.loops.blocks import in_blocks
from tidegate.spark.loops.counted import Counted, answers_of_versions, kept
from tidegate.spark.loops.facts import FOUND, Facts
from tidegate.spark.loops.queries import Given, Queries, asked, check_types, united
from tidegate.spark.loops.relations import least_version, needed, units_of_versions, versions_of
from tidegate.spark.loops.rounds import Rounds
from tidegate.spark.lowering.rows import quoted
from tidegate.spark.runtime import Runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["one_round", "run_loop"]


def run_loop(operator: Iterate, runtime: Runtime, *inputs: DataFrame) -> DataFrame:
    """Go round until nothing changes, or as often as the loop says; answer for every version.

    The rounds are run here and now; what comes out is held by Spark until nobody refers to it any more.
    """
    with runtime.in_steps(), ExitStack() as held:
        given = {}
        for name, rows in zip(operator.names, inputs, strict=True):
            given[name] = needed(operator, name, rows).persist()
            held.callback(given[name].unpersist)
        timed = [rows for rows in given.values() if set(operator.schema.time) <= set(rows.columns)]
        versions = versions_of(operator, timed)
        if operator.rounds is not None:
            loop = Counted(operator, runtime, given)
            times = units_of_versions(operator, runtime, versions)
            answers = answers_of_versions(loop, times, times)
            return one_round(operator, runtime, *inputs).where("false") if answers is None else answers
        queries = Queries(
            operator,
            runtime,
            {name: Given(rows, rows) for name, rows in given.items()},
            least_version(operator, runtime, timed),
        )
        rounds = Rounds(queries)
        held.callback(rounds.release)
        cells = in_blocks(runtime, rounds.run())
        if operator.emit == "update" and len(operator.schema.time) == 1:
            # Along one column, each cell is at a version, and is what changes there.
            timed_cells = cells.frame.where(runtime.expr(f"{quoted(operator.schema.time[0])} IS NOT NULL"))
            return timed_cells.select(*map(quoted, operator.schema.names))
        held.callback(cells.release)
        if operator.emit == "complete":
            answers = all_known(operator, runtime, cells.frame, versions)
        else:
            answers = new_or_better(operator, runtime, cells.frame, versions, versions)
        return in_blocks(runtime, answers).frame


def one_round(operator: Iterate, runtime: Runtime, *inputs: DataFrame) -> DataFrame:
    """Answer what a loop answers, of the right columns, but after one round: what Spark refuses is refused by this.

    It runs nothing.
    """
    given = dict(zip(operator.names, inputs, strict=True))
    times = list(map(quoted, operator.schema.time))
    if operator.rounds is not None:
        plain = {name: rows.drop(*operator.schema.time) for name, rows in given.items()}
        begun = kept(operator, runtime, asked(runtime, operator.start, plain))
        then = kept(operator, runtime, asked(runtime, operator.step, {**plain, KNOWN: begun}))
        check_types(operator.known, begun, then)
        return inputs[0].select(*times).crossJoin(then)
    queries = Queries(operator, runtime, {name: Given(rows, rows) for name, rows in given.items()})
    begun = united(queries.begin())
    then = united(queries.follow(begun))
    check_types(operator.known, begun, then)
    facts = Facts.of(operator)
    found = united([begun, then]).withColumn("__from", runtime.F.lit(FOUND))
    return facts.cells(runtime, found).select(*map(quoted, facts.columns))
