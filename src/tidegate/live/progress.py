"""Frontiers, and what holds a time back, computed from a checkpoint alone. The run itself would say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.engine.frontiers import Frontier, start_of, time_from_json
from tidegate.engine.marks import committed_frontier
from tidegate.engine.shape import Shape, Stage
from tidegate.engine.storage.errors import BadCheckpoint
from tidegate.engine.times import parse_time
from tidegate.engine.tracking import Tracking, in_user_times
from tidegate.flow.errors import BadArgument, did_you_mean
from tidegate.flow.schema import Schema
from tidegate.progress import Reason

__all__ = ["CommittedProgress"]


class CommittedProgress:
    """The frontiers of a flow at one of its commits."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        #: The stages of the sources, in the same order as in commits.
        self.sources = [stage for stage in shape.stages if not stage.inputs]
        self._tracking = Tracking(shape, {stage.id: start_of(stage.schema) for stage in self.sources})
        self._running_loop: Stage | None = None

    def move(self, commit: Mapping[str, Any] | None, round_: Mapping[str, Any] | None = None) -> None:
        """Move all frontiers to those of a commit, or to the start if it is None.

        ``round_`` is the round of a loop that is running now.
        """
        frontiers = {stage.id: start_of(stage.schema) for stage in self.sources}
        if commit is not None:
            marks = list(commit["sources"].values())
            if len(marks) != len(self.sources):
                raise BadCheckpoint(
                    f"expected a description of a flow with {len(marks)} sources, got one with {len(self.sources)}",
                    hint="the next start of the flow writes it anew",
                )
            # Sources are matched by position, because a source may have been renamed.
            frontiers = {s.id: committed_frontier(s.id, s.schema, m) for s, m in zip(self.sources, marks, strict=True)}
        self._tracking.move(frontiers)
        if self._running_loop is not None:
            self._tracking.begin_round(self._running_loop, None, 0)
            self._running_loop = None
        if round_:
            self._running_loop = self.shape[round_["loop"]]
            self._tracking.begin_round(
                self._running_loop, time_from_json(self._running_loop.schema, round_["at"]), round_["number"]
            )

    def frontier(self, stage: Stage) -> Frontier:
        """Return the frontier of an operator: the least times of rows that may still come out of it."""
        return self._tracking.frontier(stage)

    def of_sink(self, name: str) -> Frontier:
        """Return the least times that may still reach a sink."""
        return self._tracking.of_sink(name)

    def schema_of_sink(self, name: str) -> Schema:
        """Return the time columns of a sink; raise if there is none of that name."""
        if name not in self.shape.sinks:
            raise BadArgument(
                f"expected the name of a sink ({', '.join(self.shape.sinks)}), got {name!r}",
                hint=did_you_mean(name, self.shape.sinks),
            )
        return self.shape.schema_of_sink(name)

    def why(self, sink: str, given: Any) -> list[Reason]:
        """Return what holds a time back at a sink; empty if it is complete. ``given`` is the time as users write it."""
        t = parse_time(self.schema_of_sink(sink), given)
        return [in_user_times(self.shape, reason) for reason in self._tracking.why(sink, t)]
