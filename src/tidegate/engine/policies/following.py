"""`published`: the frontier that another flow publishes beside its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.engine.frontiers import Frontier, frontier_from_json
from tidegate.engine.policies.lines import ByLines
from tidegate.engine.policies.policy import Seen, narrowed
from tidegate.engine.storage.dataclass_json import as_object, from_object
from tidegate.engine.storage.published import Following, Promise
from tidegate.flow.errors import BadInput
from tidegate.flow.plan import Source
from tidegate.flow.watermarks import Published

__all__ = ["ByPromises"]


class ByPromises(ByLines[Following]):
    """Each line is a promise of the other flow. It is applied when all rows that it counts were read."""

    def __init__(self, source: Source, published: Published) -> None:
        super().__init__(source)
        self.path = published.path

    def after(self, memory: Following | None, frontier: Frontier, seen: Seen) -> tuple[Following, Frontier]:
        """Move the frontier to the last promise whose rows were all read."""
        try:
            promises = [Promise.parse(text) for text in seen.lines]
            following, promise = (memory or Following()).after(dict(seen.steps), promises)
            promised = None if promise is None else frontier_from_json(self.schema, promise.frontier)
        except BadInput as error:
            raise error.at(f"source {self.source.id!r}, which follows {self.path}") from None
        return following, frontier if promised is None else narrowed(self.schema, frontier, promised)

    def because(self, memory: Following | None) -> str:
        """Return in words which promise waits for rows."""
        if memory is None or not memory.waiting:
            return ""
        step, rows = memory.missing
        return f"the frontier that step {step} of the other flow published waits for {rows} rows"

    def to_json(self, memory: Following | None) -> dict[str, Any]:
        """Return how far the output of the other flow was read."""
        return {"following": None if memory is None else as_object(memory)}

    def from_json(self, found: Mapping[str, Any]) -> Following | None:
        """Return how far the output of the other flow was read."""
        following = found.get("following")
        return None if following is None else from_object(Following, following)
