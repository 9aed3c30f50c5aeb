"""Joins in windows that answer early: rows until their last window is complete, and pairs when both rows are there."""

from __future__ import annotations

from tidegate.engine.keepers.keeper import Answer, FrontierMove, HeldState
from tidegate.engine.keepers.windows import JoinedInWindows
from tidegate.engine.lowering import lower_operator
from tidegate.engine.relation import united

__all__ = ["EarlyPairs"]


class EarlyPairs(JoinedInWindows):
    """Rows of both inputs. A step answers with the pairs that have a new row, as `tidegate.spec.aggregate.J` does.

    A new row came on time, so none of its windows was complete before the step. So no pair comes too late, and a row
    that is still kept, but whose windows are all complete, makes no pair with it.
    """

    on_arrival = True

    def answer(self, held: HeldState, moved: FrontierMove) -> Answer:  # noqa: ARG002
        """Return the pairs of new rows with all rows of the other side: first of new left ones, then of the others."""
        left, right = (held.new_parts(port) for port in (0, 1))
        sides = [(left, held.states[1].parts), (held.before[0].parts, right)]
        # Few rows make many pairs, so they are not put into one partition.
        pairs = [
            lower_operator(self.operator, held.read(0, lefts), held.read(1, rights))
            for lefts, rights in sides
            if lefts and rights
        ]
        return held.answers(united(pairs) if pairs else None)
