"""What a step writes besides state: rows for its sinks, and rows that are set aside.

They are published after the commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidegate.engine.attempt import Attempt
from tidegate.engine.commits.by_step import directory_of
from tidegate.engine.commits.commit import Commit, Publication
from tidegate.engine.frontiers import Frontier, frontier_from_json, shown
from tidegate.engine.marks import Marks
from tidegate.engine.outputs.refusals import watched
from tidegate.engine.relation import Relation
from tidegate.engine.steps.failures import at_operator
from tidegate.engine.steps.owner import check_owned
from tidegate.engine.steps.prepared import Prepared
from tidegate.engine.steps.publishing import staged
from tidegate.engine.steps.source_rows import SourceRows, diverted, rejected_rows
from tidegate.engine.steps.work import StepRows
from tidegate.engine.storage.errors import FlowChanged, LateRow, RowRefused
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.published import Outlet, final
from tidegate.engine.tables import as_declared
from tidegate.engine.tracking import Tracking

__all__ = ["outlets", "refuse_late", "set_aside", "set_aside_so_far", "set_rejected_aside", "write_results"]


def refuse_late(by_source: Mapping[str, SourceRows], marks: Mapping[str, Marks]) -> None:
    """Raise if rows are late at a source with ``late="fail"``."""
    for found in by_source.values():
        if found.source.late == "fail" and found.seen.late:
            bound = shown(found.source.schema, marks[found.source.id].frontier)
            raise LateRow(
                f"expected no row of {found.source.id} below {bound}, got {found.seen.late}",
                hint='late="divert" sets late rows aside; a longer delay lets them take part',
            )


def set_aside(
    run: Prepared, step: Attempt, by_source: Mapping[str, SourceRows], marks: Mapping[str, Marks]
) -> list[Publication]:
    """Write late and rejected rows to where they can be read. Return what the commit has to publish."""
    written = []
    for found in by_source.values():
        late = 0 if found.source.late == "drop" else found.seen.late
        if late + found.seen.rejected:
            directory = run.late_rows(found.source.id)
            place = staged(directory, step)
            part = step.write_rows(run.files, place, diverted(found, marks[found.source.id].frontier, step.number))
            name = f"{directory}/step={step.number}"
            written.append(Publication(run.files.root, place, name, files=part.files))
    return written


def set_rejected_aside(run: Prepared, step: Attempt, found: Mapping[str, Relation]) -> list[Publication]:
    """Write the rows that operators rejected to where they can be read. Return what the commit has to publish."""
    written = []
    for name, rows in found.items():
        directory = run.late_rows(name)
        place = staged(directory, step)
        with at_operator(run.flow, name, run.host.describe_error):
            part = step.write_rows(run.files, place, rejected_rows(run.flow[name], rows, step.number))
        if part.rows:
            published = f"{directory}/step={step.number}"
            written.append(Publication(run.files.root, place, published, files=part.files))
    return written


def set_aside_so_far(last: Commit | None, publications: Sequence[Publication]) -> dict[str, int]:
    """Return how many rows were set aside so far, by directory."""
    found = Counter(last.aside if last else {})
    for publication in publications:
        found[directory_of(publication)] += publication.rows
    return dict(found)


def write_results(
    run: Prepared, step: Attempt, found: Mapping[str, StepRows]
) -> tuple[dict[str, int], list[Publication]]:
    """Write the rows for sinks, to paths of this attempt.

    Return the number of rows of each sink, and what the commit has to publish.
    """
    outputs, written = {}, []
    for place in run.directories.values():
        check_owned(place)
    for sink in run.flow.sinks:
        rows = found[sink.input]
        outputs[sink.name] = 0
        if rows.empty:
            continue
        publication, files = _place(run, step, sink.name)
        shown_rows = as_declared(run.flow[sink.input], rows.relation)
        fields = run.host.fields(shown_rows.shape)
        output = run.outputs[sink.name]
        counted, check_taken = watched(shown_rows, output.refuses(fields))
        with at_operator(run.flow, sink.input, run.host.describe_error):
            part = step.write_rows(files, publication.staged, counted, output.partitions(fields))
        try:
            check_taken()
        except RowRefused as error:
            raise error.at(f"sink {sink.name!r}") from None
        outputs[sink.name] = part.rows
        if part.rows:
            written.append(replace(publication, files=part.files))
    return outputs, written


def _place(run: Prepared, step: Attempt, sink: str) -> tuple[Publication, Files]:
    if place := run.directories.get(sink):
        return Publication(place.root, staged("", step), f"step={step.number}"), place
    directory = f"output/{sink}"
    name = f"{directory}/step={step.number}"
    return Publication(run.files.root, staged(directory, step), name, call=sink), run.files


def outlets(
    run: Prepared, last: Commit | None, step: int, rows: Mapping[str, int], tracking: Tracking
) -> dict[str, Outlet]:
    """Return the outlets after a step: the rows in the directories of sinks, and the frontiers published there."""
    found = {}
    for sink in run.flow.sinks:
        operator = run.flow[sink.input]
        if place := run.directories.get(sink.name):
            fresh = Outlet(place.root)
            before = last.outlets.get(sink.name, fresh) if last else fresh
            outlet = before if before.root == fresh.root else fresh
            frontier = final(operator, tracking.of_sink(sink.name))
            _check_promise(run, sink.name, sink.input, outlet, frontier)
            found[sink.name] = outlet.after(step, rows[sink.name], operator.schema, frontier)
    return found


def _check_promise(run: Prepared, name: str, input_: str, outlet: Outlet, frontier: Frontier) -> None:
    """Raise if a changed flow may give rows at times that its sink has published as complete.

    A frontier never goes back, and neither does one computed from it, unless the changed flow moves rows less far ahead
    in time than before.
    """
    schema = run.flow[input_].schema
    if outlet.goes_back(schema, frontier) and not any(
        getattr(getattr(run.flow[o], "frame", None), "lateness", 0) for o in run.flow.upstream(input_)
    ):
        promised = shown(schema, frontier_from_json(schema, outlet.frontier or ()))
        raise FlowChanged(
            f"expected no rows of sink {name!r} below {promised}, which it has promised to be complete; the flow "
            f"as it is now may give rows from {shown(schema, frontier)} on",
            hint="move rows as far as before, or give the sink another path",
        )
