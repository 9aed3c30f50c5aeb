"""Running a plan operator by operator, each on the whole of its input streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Any, TypeAlias

from tidegate.errors import TidegateError
from tidegate.flow.duck import Duck
from tidegate.flow.errors import BadInput, NotSupported
from tidegate.flow.limits import limits
from tidegate.flow.plan import At, Plan, PlanOperator, Source, Table
from tidegate.flow.schema import Schema
from tidegate.reference.inputs import LateEvent, RejectedRow, source_events, table_rows
from tidegate.spec import DT, Event, Operator, fproduce, produce

__all__ = ["Events", "ReferenceResults", "ReferenceRun", "evaluate", "on_time", "reference"]

#: A stream: data are rows. Of a table: DT events at the time ().
Events: TypeAlias = list[Event | LateEvent]


class ReferenceResults(dict[str, list[Event]]):
    """The events of each sink; what was late at each source; what a source or an operator that moves rows rejected."""

    def __init__(
        self,
        events: Mapping[str, list[Event]],
        late: Mapping[str, list[DT[Any, Any]]],
        rejected: Mapping[str, list[RejectedRow]],
    ) -> None:
        super().__init__(events)
        self.late = dict(late)
        self.rejected = dict(rejected)

    def rows(self, sink: str) -> list[dict[str, Any]]:
        """Return the rows of a sink, without times and watermarks."""
        return [event.d for event in self[sink] if isinstance(event, DT)]


class ReferenceRun:
    """What operators share while a plan runs: the calculator, which late rows were taken, and which rows rejected."""

    def __init__(self, plan: Plan, *, ended: bool = True) -> None:
        self.plan = plan
        #: Whether the inputs have ended; if not, they are only what came so far.
        self.ended = ended
        self.duck = Duck()
        self.taken: set[tuple[str, int]] = set()
        #: What operators rejected, by the name of the operator.
        self.rejected: dict[str, list[RejectedRow]] = {
            operator.id: [] for operator in plan if isinstance(operator, At) and operator.rejects
        }

    def produced(self, operator: Operator[Event, Any], events: Iterable[Event]) -> list[Any]:
        """Return the output of an operator of the specification; with that of its exit, if the inputs have ended."""
        return list(produce(operator, events)) if self.ended else fproduce(operator, events)[1]

    def schemas(self, operator: PlanOperator) -> list[Schema]:
        """Return the schemas of an operator's inputs."""
        return [o.schema for o in self.plan.inputs(operator)]


@singledispatch
def evaluate(operator: PlanOperator, running: ReferenceRun, inputs: list[Events]) -> Events:  # noqa: ARG001
    """Return the output stream of an operator; each kind of operator has its own rule."""
    raise NotSupported(f"the reference has no rule for {operator.verb}")


def on_time(events: Iterable[Event | LateEvent]) -> list[Event]:
    """Return the events without late rows."""
    return [event for event in events if not isinstance(event, LateEvent)]


def reference(plan: Plan, inputs: Mapping[str, Iterable[Any]], *, ended: bool = True) -> ReferenceResults:
    """Run a plan on finite inputs: ``DT(t, row)`` and ``WM(t)`` for sources, rows for tables.

    If the inputs have not ``ended``, the result is the output so far.
    """
    from tidegate.reference import (  # noqa: F401  # their rules
        framed,
        held,
        intervals,
        looped,
        paired,
        processed,
        ranked,
        rowwise,
    )

    if plan.timezone != "UTC":
        raise NotSupported(f"the reference computes in UTC only, got {plan.timezone}", hint='Flow(…, timezone="UTC")')
    try:
        plan.check_sinks()
        plan.check_inputs(inputs, "rows", "[…]")
    except TidegateError as error:
        raise error.at(f"flow {plan.name!r}") from None
    running, bounds = ReferenceRun(plan, ended=ended), limits(plan)
    streams: dict[str, Events] = {}
    rejected: dict[str, list[RejectedRow]] = {}
    for operator in plan:
        try:
            if isinstance(operator, Source):
                streams[operator.id], rejected[operator.id] = source_events(
                    operator, inputs[operator.id], bounds[operator.id]
                )
            elif isinstance(operator, Table):
                streams[operator.id] = [DT((), row) for row in table_rows(operator, inputs[operator.id])]
            else:
                streams[operator.id] = evaluate(operator, running, [streams[i] for i in operator.inputs])
        except TidegateError as error:
            raise error.at(f"operator {operator.id}").at(f"flow {plan.name!r}") from None
        except Exception as error:
            # It was raised by a function of the user: keep the error, and add where it happened.
            error.add_note(f"  at: operator {operator.id}\n  at: flow {plan.name!r}")
            raise
    late = {
        source.id: [
            DT(e.t, e.d) for e in streams[source.id] if isinstance(e, LateEvent) and e.origin not in running.taken
        ]
        for source in plan.sources
    }
    for source in plan.sources:
        for event in late[source.id] if source.late == "fail" else ():
            raise BadInput(
                f"a row at {event.t!r} of {source.id} came after its time was complete: {event.d}",
                hint='late="divert" sets late rows aside',
            ).at(f"flow {plan.name!r}")
    events = {sink.name: on_time(streams[sink.input]) for sink in plan.sinks}
    return ReferenceResults(events, late, rejected | running.rejected)
