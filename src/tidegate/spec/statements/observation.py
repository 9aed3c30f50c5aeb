"""How statements observe streams: outputs of finite ones, first outputs of endless ones, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias

from tidegate.spec.events import DT, WM, Event
from tidegate.spec.operator import Operator, fproduce, produce
from tidegate.spec.properties import is_monotone, owed
from tidegate.spec.streams import Lasso
from tidegate.time import Order

__all__ = ["Stream", "breaks_monotonicity", "breaks_productivity", "observe", "owes_nothing", "prefix_of", "run"]

#: A finite stream, or an endless one that can be reasoned about.
Stream: TypeAlias = Sequence[Event] | Lasso[Event]

#: How many outputs of an endless stream are compared.
LIMIT = 60


def observe(op: Operator[Any, Any], events: Stream, *, limit: int = LIMIT) -> list[Any]:
    """Return what an operator produces; for an endless stream, the first outputs."""
    return list(islice(produce(op, events), limit if isinstance(events, Lasso) else None))


def prefix_of(events: Stream, rounds: int = 3) -> list[Event]:
    """Return a finite stream whole, and for an endless one the prefix and some rounds."""
    return events.unroll(rounds) if isinstance(events, Lasso) else list(events)


def run(op: Operator[Event, Any], events: Stream) -> tuple[list[Any], list[Event]]:
    """Return what an operator puts out, and the input that must be represented in it.

    A finite stream ends. For an endless one, what came in two rounds must be represented before the fourth is over: all
    watermarks that will ever come have come by then.
    """
    if isinstance(events, Lasso):
        return fproduce(op, events.unroll(4))[1], events.unroll(2)
    return list(produce(op, events)), list(events)


def owes_nothing(order: Order[Any], events: Stream) -> bool:
    """Return whether a lasso is productive, or a finite list, as the beginning of a stream, leaves no data uncovered.

    A stream that ends is productive by definition, which would leave nothing to check. So a finite list stands for the
    beginning of an endless stream here.
    """
    return not owed(order, events)


def breaks_productivity(
    op: Operator[Event, Any], events: Stream, order: Order[Any]
) -> tuple[str, dict[str, Any]] | None:
    """Return a reason if ``op`` leaves output uncovered on productive input; ``order`` is that of the output.

    A finite list is the beginning of a stream, after which the operator has not ended. On a lasso, what was put out by
    one round must be covered by the end of the next: all watermarks that will ever come have come by then.
    """
    if isinstance(events, Lasso):
        after, early = fproduce(op, events.unroll(2))
        late = fproduce(after, [*events.cycle, *events.cycle])[1]
        outputs = [*early, *late]
        missing = owed(order, [*early, *(e for e in late if isinstance(e, WM))])
    else:
        outputs = fproduce(op, events)[1]
        missing = owed(order, outputs)
    return (f"no later watermark covers {missing[0]!r}", {"outputs": outputs}) if missing else None


def breaks_monotonicity(
    outputs: Iterable[Event], order: Order[Any], W: Iterable[Any]
) -> tuple[str, dict[str, Any]] | None:
    """Return a reason if the outputs are not monotone after the watermarks ``W``."""
    listed = list(outputs)
    return None if is_monotone(order, listed, W) else ("the output is not monotone", {"outputs": listed})


def data(outputs: Iterable[Any]) -> list[DT[Any, Any]]:
    """Return the events that carry data."""
    return [e for e in outputs if isinstance(e, DT)]
