"""What a bounded run answers: a DataFrame for each sink, and the rows that could not take part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tidegate.flow.errors import BadInput, nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Rejected", "Tables"]


class Rejected(Mapping[str, "DataFrame"]):
    """For each source, the rows that were rejected, with a column ``reason``; read when they are asked for."""

    def __init__(self, frames: Mapping[str, DataFrame]) -> None:
        self._frames = dict(frames)

    def __getitem__(self, source: str) -> DataFrame:
        if source not in self._frames:
            raise _unknown("source", source, list(self._frames))
        return self._frames[source]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __repr__(self) -> str:
        return f"Rejected({', '.join(self._frames)})"

    def counts(self) -> dict[str, int]:
        """Count the rejected rows of each source; this reads the inputs."""
        return {source: frame.count() for source, frame in self._frames.items()}


class Tables(Mapping[str, "DataFrame"]):
    """A DataFrame for each sink, evaluated lazily; ``rejected`` has the rows that could not take part."""

    def __init__(self, frames: Mapping[str, DataFrame], rejected: Rejected) -> None:
        self._frames = frames
        self.rejected = rejected

    def __getitem__(self, sink: str) -> DataFrame:
        if sink not in self._frames:
            raise _unknown("sink", sink, list(self._frames))
        return self._frames[sink]

    def __contains__(self, sink: object) -> bool:
        return sink in self._frames

    def get(self, sink: str, default: Any = None) -> Any:
        """Return the DataFrame of a sink, or the default if there is no such sink.

        That of `Mapping` takes every KeyError for a missing name, also one from a loop that is run here.
        """
        if sink not in self:
            return default
        return self[sink]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self._frames)})"


class UnknownName(BadInput, KeyError):
    """A result was asked for under a name that the flow does not have."""


def _unknown(what: str, name: object, known: list[str]) -> UnknownName:
    near = nearest(str(name), known)
    return UnknownName(
        f"expected the name of a {what} ({', '.join(known) or 'there is none'}), got {name!r}",
        hint=f"did you mean {near!r}?" if near else "",
    )
