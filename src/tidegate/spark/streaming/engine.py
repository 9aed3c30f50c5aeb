"""The engine of a running flow: steps, each of which is committed whole or not at all."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidegate.flow.plan import Iterate, Plan
from tidegate.spark.loops.rounds import Least
from tidegate.spark.lowering import lower
from tidegate.spark.runtime import Runtime
from tidegate.spark.streaming.attempt import Attempt
from tidegate.spark.streaming.by_step import check_none_after, directory_of, step_of
from tidegate.spark.streaming.commits import Commit, Publication, write_commit
from tidegate.spark.streaming.entries import entries
from tidegate.spark.streaming.errors import BadCheckpoint, CheckpointClosed, LateRow, RowRefused
from tidegate.spark.streaming.failures import at_operator, in_step
from tidegate.spark.streaming.files import Files
from tidegate.spark.streaming.frontiers import shown, time_of
from tidegate.spark.streaming.halves import query_id
from tidegate.spark.streaming.heartbeat import forget
from tidegate.spark.streaming.keepers import Keeper, Types, keepers_of
from tidegate.spark.streaming.lateness import admit
from tidegate.spark.streaming.lock import Lock
from tidegate.spark.streaming.log import NOBODY, read_log
from tidegate.spark.streaming.marks import Marks
from tidegate.spark.streaming.meaning import check_meaning, meaning, origins_of, state_keys
from tidegate.spark.streaming.metrics import StepMetrics, metrics_of
from tidegate.spark.streaming.owner import check_owned
from tidegate.spark.streaming.partitions import Partitions
from tidegate.spark.streaming.published import Outlet, final
from tidegate.spark.streaming.publishing import PENDING, publish, seal, staged
from tidegate.spark.streaming.refusals import watched
from tidegate.spark.streaming.sinks import Output, Parquet
from tidegate.spark.streaming.sources import Taken, diverted, look, take
from tidegate.spark.streaming.state import Part, check_part, empty_rows, fold_from, write_part
from tidegate.spark.streaming.tracking import Tracking
from tidegate.spark.streaming.upgrade import upgraded
from tidegate.spark.streaming.warm import Warm
from tidegate.spark.streaming.work import Kept, Rows, Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["POINTS", "RECOVERY", "Engine"]

#: The named points of a step, in order: what a crash test stops at. A loop has one more, "round", in each round.
POINTS = (
    "begin",
    "writing",
    "between state and output",
    "before commit",
    "during commit",
    "after commit",
    "publishing",
    "handed over",
    "published",
    "cleaning",
)
#: The named points of a recovery: before what was committed is published again, and before leftovers are deleted.
RECOVERY = ("recovering", "sweeping")


class Engine:
    """A flow, what it reads and writes besides its sources, and its last commit.

    A run that was taken for dead and lives can't commit any more, but it may still delete. What it sweeps when it
    starts is of earlier runs, never of the one that replaced it. What it deletes after a commit, no later commit can
    name.
    """

    def __init__(
        self,
        flow: Plan,
        runtime: Runtime,
        files: Files,
        tables: Mapping[str, DataFrame],
        outputs: Mapping[str, Output],
        *,
        lock: Lock | None = None,
        allow_pickle: bool = False,
        fold_from: Callable[[Sequence[Part]], int] = fold_from,
        probe: Callable[[str, int], None] = lambda point, step: None,  # noqa: ARG005
        report: Callable[[StepMetrics], None] = lambda metrics: None,  # noqa: ARG005
    ) -> None:
        self.flow = flow
        self.files = files
        self.tables = dict(tables)
        self.outputs = dict(outputs)
        self.metrics: list[StepMetrics] = []
        self._runtime = runtime
        #: The runtime of batches, which Spark gives a session of their own.
        self._batches: Runtime | None = None
        self._probe = probe
        self._report = report
        self._warm = Warm()
        self._lock = lock
        self._token = lock.token if lock else NOBODY
        #: What the names of all that this run writes end with: the number of its lock, and an id.
        self.attempt = f"{self._token.lock}.{uuid4().hex[:8]}"
        self._fold_from = fold_from
        log = read_log(files)
        if lock and log.token.lock > lock.token.lock:
            lock.check()
        found = log.commit
        #: The number of the last record in the log.
        self._number = log.number
        #: The names under which the checkpoint knows sources and tables.
        self.origins = origins_of(flow, found["flow"] if found else None)
        self._keepers = keepers_of(flow, allow_pickle=allow_pickle)
        keys = state_keys(flow, self._keepers, self.origins)
        self._schemas = _schemas(flow, runtime, self.tables)
        self.kept = _kept(flow, runtime, self._keepers, keys, self._schemas)
        self._entries = entries(flow, self._keepers, runtime, self._schemas)
        self._meaning = meaning(flow, keys, self.origins)
        #: State that the commit before the last one names.
        self._older: set[str] = set()
        self.last = self._recovered(found) if found else None
        self.marks = dict(self.last.marks) if self.last else {s.id: Marks.start(s) for s in flow.sources}
        self.tracking = Tracking(flow, {source: marks.frontier for source, marks in self.marks.items()})

    @property
    def schemas(self) -> dict[str, StructType]:
        """The columns that Spark gives the output of each operator."""
        return self._schemas

    @property
    def beat(self) -> int:
        """The number of the last beat of the clock that a step has heard."""
        return _beat(self.marks)

    @property
    def complete(self) -> bool:
        """Whether no source can give rows any more."""
        return not any(mark.frontier for mark in self.marks.values())

    def late_rows(self, source: str) -> str:
        """Answer the directory of rows of a source that were late or had no time."""
        return f"late/{self.origins[source]}"

    def _recovered(self, found: Mapping[str, Any]) -> Commit:
        """Return the last commit, after what it had to publish is published and leftovers are gone.

        All that it names is looked at first, whole.
        """
        check_meaning(self.flow, found["flow"], self._meaning)
        commit = Commit.decode(self.flow, found)
        if found["format"] == 1:
            commit = upgraded(self.files, commit)
        self._check(commit)
        self._probe("recovering", commit.step)
        publish(self.flow, self.files, self._runtime, commit, self.outputs, whole=True)
        self._probe("sweeping", commit.step)
        self._sweep(commit)
        if commit.ended:
            raise CheckpointClosed(
                f"the input of flow {self.flow.name!r} has ended: all that {self.files.root} stands for is complete",
                hint="take another checkpoint and other outputs to run the flow again",
            )
        return commit

    def _check(self, commit: Commit) -> None:
        """Raise if what a commit stands for is not there as it was, or is from another moment."""
        for part in commit.parts:
            check_part(self.files, part, whole=True)
        for source in self.flow.sources:
            check_none_after(self.files, self.late_rows(source.id), commit.step)
        roots = {outlet.root: outlet.rows for outlet in commit.outlets.values()}
        for output in self.outputs.values():
            if isinstance(output, Parquet):
                place = self.files.at(output.path)
                if roots.get(place.root):
                    check_owned(place)
                if place.root in roots:
                    check_none_after(place, "", commit.step)

    def step(self, batch: DataFrame, number: int) -> None:
        """Run Spark's batch of that number as a step, unless it is committed already."""
        query, offsets = self._origin(number)
        last = self.last
        due = 0 if last is None or last.batch is None else last.batch + 1
        if last is not None and last.batch is not None and number <= last.batch:
            # Spark goes on to the next batch only when this one is committed on both sides: no earlier one comes again.
            if number < last.batch or query != last.query or offsets != last.offsets:
                raise self._torn(f"batch {last.batch} is committed, and Spark gives batch {number} with other rows")
            return
        if number != due or (last is not None and query != last.query):
            raise self._torn(f"batch {due} of query {last.query if last else query} is due, Spark gives batch {number}")
        self._batches = self._batches or replace(self._runtime, session=batch.sparkSession, made={})
        runtime = self._batches
        with self._in_step(), self._replaceable(), self._settings(runtime):
            # What is read once only is not worth keeping.
            kept = batch.persist() if self._entries.passes > 1 else _alone(batch)
            try:
                taken = take(self.flow, runtime, kept, self.marks, self._entries.sources)
                self._run(runtime, kept, taken, batch=number, query=query, offsets=offsets)
            finally:
                if self._entries.passes > 1:
                    kept.unpersist()

    def finish(self) -> None:
        """Complete everything: the end of the input is a step of its own, and closes the checkpoint."""
        last = self.last
        with self._in_step(), self._replaceable(), self._settings(self._runtime):
            if last is not None:
                # Whoever stopped the query may have stopped a step that was committed and not yet published.
                publish(self.flow, self.files, self._runtime, last, self.outputs)
            batch = None if last is None else last.batch
            self._run(self._runtime, None, {}, batch=batch, query=last.query if last else "", offsets="", ended=True)

    def _in_step(self) -> AbstractContextManager[None]:
        """Name the step that comes next in what fails inside, in our words."""
        number = self.last.step + 1 if self.last else 0
        return in_step(self.flow, number, lambda: self.last is not None and self.last.step == number)

    def _settings(self, runtime: Runtime) -> Any:
        return runtime.in_steps(spark__sql__session__timeZone=self.flow.timezone)

    def _run(
        self,
        runtime: Runtime,
        rows: DataFrame | None,
        taken: Mapping[str, Taken],
        *,
        batch: int | None,
        query: str,
        offsets: str,
        ended: bool = False,
    ) -> None:
        started = time.monotonic()
        number = self.last.step + 1 if self.last else 0
        self._probe("begin", number)
        shared = (self.flow, self.files, runtime, self._schemas)
        step = Attempt(number, self.attempt, *shared, warm=self._warm, watch=self._turn)
        before = self.last.state if self.last else {}
        work = Work(step, self._entries, self.kept, before, self.tables, ended=ended, fold_from=self._fold_from)
        try:
            self._probe("writing", number)
            old = self._frontiers()
            work.begin(taken, old)
            taken, late = admit(step, self._keepers, look(runtime, rows, taken), old, self.tables)
            self._refuse_late(taken)
            seen = {name: found.seen for name, found in taken.items()}
            marks = {
                s.id: self.marks[s.id].ended() if ended else self.marks[s.id].after(s, seen[s.id])
                for s in self.flow.sources
            }
            publications = self._divert(step, taken)
            self.tracking.move({source: mark.frontier for source, mark in marks.items()})
            new = self._frontiers()
            work.answer(seen, late, old, new)
            self._probe("between state and output", number)
            outputs, written = self._write(step, work.frames)
            state = work.folded(new)
            commit = Commit(
                number,
                batch,
                query,
                offsets,
                marks,
                state,
                (*publications, *written),
                outputs,
                self._meaning,
                ended,
                self._outlets(number, outputs),
                self._aside(publications),
                self._number + 1,
                self._token,
            )
            seal(self.files, commit, self.last)
            self._probe("before commit", number)
            commit = self._commit(commit)
        except BaseException:
            self._warm.forget()
            self.tracking.move({source: mark.frontier for source, mark in self.marks.items()})
            raise
        finally:
            work.release()
        self._probe("after commit", number)
        last, self.last, self.marks = self.last, commit, marks
        publish(
            self.flow, self.files, self._runtime, commit, self.outputs, probe=lambda point: self._probe(point, number)
        )
        self._probe("published", number)
        self._clean(last, commit, step.made)
        self.metrics.append(metrics_of(self.flow, commit, seen, time.monotonic() - started, datetime.now(UTC)))
        self._report(self.metrics[-1])
        del self.metrics[:-1000]

    def _commit(self, commit: Commit) -> Commit:
        """Write a commit, while this run holds its lock; return it with its number in the log."""
        with self._lock.committing() if self._lock else nullcontext():
            written = write_commit(
                self.files,
                self.flow,
                commit,
                before=self.last.number if self.last else -1,
                midway=lambda: self._probe("during commit", commit.step),
            )
        self._number = written.number
        return written

    @contextmanager
    def _replaceable(self) -> Iterator[None]:
        """Say that another run has replaced this one, if it has, instead of what comes of that."""
        if self._lock is None:
            yield
            return
        try:
            self._lock.check()
            yield
            # Before Spark notes that the batch is done, and begins the next.
            self._lock.check()
        except Exception as error:
            if lost := self._lock.lost_by_now():
                raise lost from error
            raise

    def _turn(self, loop: Iterate, number: int, least: Least | None) -> None:
        """Let the tracker know where a loop is."""
        self.tracking.turn(loop, least and time_of(loop.schema, least), number)
        if least is not None:
            self._probe("round", self.last.step + 1 if self.last else 0)

    def _frontiers(self) -> dict[str, Any]:
        return {o.id: self.tracking.frontier(o) for o in self.flow if o.schema.time}

    def _refuse_late(self, taken: Mapping[str, Taken]) -> None:
        for found in taken.values():
            if found.source.late == "fail" and found.seen.late:
                bound = shown(found.source.schema, self.marks[found.source.id].frontier)
                raise LateRow(
                    f"expected no row of {found.source.id} below {bound}, got {found.seen.late}",
                    hint='late="divert" sets late rows aside; a longer delay lets them take part',
                )

    def _divert(self, step: Attempt, taken: Mapping[str, Taken]) -> list[Publication]:
        written = []
        for found in taken.values():
            late = 0 if found.source.late == "drop" else found.seen.late
            if late + found.seen.rejected:
                directory = self.late_rows(found.source.id)
                place = staged(directory, step)
                rows = diverted(found, step.runtime, self.marks[found.source.id].frontier, step.number)
                part = write_part(self.files, step.runtime, rows, place)
                name = f"{directory}/step={step.number}"
                written.append(Publication(self.files.root, place, name, files=part.files))
        return written

    def _aside(self, publications: Sequence[Publication]) -> dict[str, int]:
        """Return how many rows were set aside up to now, by their directory."""
        found = Counter(self.last.aside if self.last else {})
        for publication in publications:
            found[directory_of(publication)] += publication.rows
        return dict(found)

    def _write(self, step: Attempt, frames: Mapping[str, Rows]) -> tuple[dict[str, int], list[Publication]]:
        outputs, written = {}, []
        for output in self.outputs.values():
            if isinstance(output, Parquet):
                check_owned(self.files.at(output.path))
        for sink in self.flow.sinks:
            rows = frames[sink.input]
            outputs[sink.name] = 0
            if rows.empty:
                continue
            output = self.outputs[sink.name]
            publication, files = self._place(step, sink.name, output)
            frame, check_taken = watched(step.runtime, rows.frame, output)
            with at_operator(self.flow, sink.input):
                part = write_part(files, step.runtime, frame, publication.staged)
            try:
                check_taken()
            except RowRefused as error:
                raise error.at(f"sink {sink.name!r}") from None
            outputs[sink.name] = part.rows
            if part.rows:
                written.append(replace(publication, files=part.files))
        return outputs, written

    def _outlets(self, step: int, rows: Mapping[str, int]) -> dict[str, Outlet]:
        """Answer what is in the directories of sinks after a step, and which frontiers they promise."""
        found = {}
        for sink in self.flow.sinks:
            output, operator = self.outputs[sink.name], self.flow[sink.input]
            if isinstance(output, Parquet):
                fresh = Outlet(self.files.at(output.path).root)
                before = self.last.outlets.get(sink.name, fresh) if self.last else fresh
                outlet = before if before.root == fresh.root else fresh
                frontier = final(operator, self.tracking.of_sink(sink.name))
                found[sink.name] = outlet.after(step, rows[sink.name], operator.schema, frontier)
        return found

    def _place(self, step: Attempt, sink: str, output: Output) -> tuple[Publication, Files]:
        if isinstance(output, Parquet):
            files = self.files.at(output.path)
            return Publication(files.root, staged("", step), f"step={step.number}"), files
        place = staged(f"output/{sink}", step)
        return Publication(self.files.root, place, f"output/{sink}/step={step.number}", call=sink), self.files

    def _clean(self, before: Commit | None, commit: Commit, made: set[str]) -> None:
        """Delete the state that the commit before the last named, and the last two do not.

        What this step wrote and folded into a base at once is named by none, and goes too.
        """
        self._probe("cleaning", commit.step)
        old = self._older
        self._older = before.paths if before else set()
        self._warm.forget(commit.paths)
        for path in (old | made) - self._older - commit.paths:
            self.files.delete(path)
        for publication in before.publish if before else ():
            if publication.call:
                # The record that it was handed over.
                self.files.delete(publication.name)
        if before and _beat(before.marks) >= 0:
            forget(self.files, _beat(before.marks))

    def _sweep(self, commit: Commit) -> None:
        """Delete what the last commit does not name: of attempts that did not get so far, and of commits before it."""
        self._older = commit.paths
        self.files.sweep("commits", before=self._lock.since if self._lock else time.time())
        late = [self.late_rows(source.id) for source in self.flow.sources]
        for directory in [*late, *(f"output/{s.name}" for s in self.flow.sinks)]:
            self.sweep_attempts(self.files, f"{directory}/{PENDING}")
        kept = {publication.name for publication in commit.publish}
        for sink in self.files.names("output"):
            for name, size in self.files.sizes(f"output/{sink}").items():
                # Records are files. What is there besides is not ours.
                if size >= 0 and step_of(name) is not None and f"output/{sink}/{name}" not in kept:
                    self.files.delete(f"output/{sink}/{name}")
        for key in self.files.names("state"):
            for port in self.files.names(f"state/{key}"):
                self.sweep_attempts(self.files, f"state/{key}/{port}", named=commit.paths)

    def sweep_attempts(self, files: Files, directory: str, *, named: Set[str] = frozenset()) -> None:
        """Delete what attempts of earlier runs have left in a directory, and the last commit does not name.

        No earlier run can commit any more; a later one, which has replaced this one, can. What is not named as an
        attempt is named, by the number of its step first, is not ours.
        """
        for name in files.names(directory):
            step, lock = name.partition("-")[0], name.rpartition("-")[2].rpartition(".")[0]
            earlier = not lock.isdecimal() or int(lock) <= self._token.lock
            if f"{directory}/{name}" not in named and step.isdecimal() and earlier:
                files.delete(f"{directory}/{name}")

    def _origin(self, number: int) -> tuple[str, str]:
        """Answer Spark's id of the query, and a hash of where a batch begins and ends in the sources."""
        query = query_id(self.files)
        name = f"spark/offsets/{number}"
        if not self.files.exists(name):
            return query, ""
        # The first lines hold a version, the clock and settings.
        places = self.files.text(name).splitlines()[2:]
        return query, hashlib.sha256("\n".join(places).encode()).hexdigest()[:16]

    def _torn(self, what: str) -> BadCheckpoint:
        return BadCheckpoint(
            f"the two halves of the checkpoint {self.files.root} do not belong together: {what}",
            hint="was one of its directories, spark or commits, deleted, or put back from another day? "
            "restore both of the same moment, or begin with a new checkpoint and other outputs",
        ).at(f"flow {self.flow.name!r}")


def _alone(batch: DataFrame) -> DataFrame:
    """Let Spark know if all rows are in one partition: then it need not move them to bring them together."""
    rows: Any = batch._jdf.queryExecution().toRdd()
    return batch.coalesce(1) if rows.getNumPartitions() == 1 else batch


def _beat(marks: Mapping[str, Marks]) -> int:
    memories = [m.memory for m in marks.values() if isinstance(m.memory, Partitions)]
    heard = [memory.beat.number for memory in memories if memory.beat]
    return min(heard, default=-1)


def _kept(
    flow: Plan,
    runtime: Runtime,
    keepers: Mapping[str, Keeper[Any]],
    keys: Mapping[str, str],
    schemas: Mapping[str, StructType],
) -> dict[str, Kept]:
    """Return what each operator keeps; ``schemas`` are the columns of the outputs of all operators."""
    found = {}
    for id_, keeper in keepers.items():
        types = Types(tuple(schemas[name] for name in flow[id_].inputs), schemas[id_])
        states = tuple(keeper.state_types(runtime, types))
        found[id_] = Kept(keeper, keys[id_], replace(types, states=states))
    return found


def _schemas(flow: Plan, runtime: Runtime, tables: Mapping[str, DataFrame]) -> dict[str, StructType]:
    """Answer what Spark makes of the flow, on no rows: what it refuses is refused before anything runs."""
    from tidegate.spark.arrow import struct_type

    inputs = {s.id: empty_rows(runtime, struct_type(s.schema.columns)) for s in flow.sources} | dict(tables)
    with runtime.settings(spark__sql__session__timeZone=flow.timezone):
        return {id_: frame.schema for id_, frame in lower(flow, inputs, runtime).items()}
