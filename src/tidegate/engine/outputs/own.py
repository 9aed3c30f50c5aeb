"""An output of the user's own: any object that has `claim` and `deliver`, and perhaps `refuses`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tidegate.engine.outputs.output import Fields, Output, Results, Sender
from tidegate.engine.outputs.refusals import Refusal

__all__ = ["Own", "Transactional"]


@runtime_checkable
class Transactional(Protocol):
    """A place that stores the number of a step together with its rows, so that no step is written twice.

    On Spark, it is given the schema as a StructType and rows as a DataFrame; locally an Arrow schema and table.
    """

    def claim(self, sender: Sender, schema: Any) -> None:
        """Make ready for rows of a sender, or raise if they do not fit or the place is someone else's."""
        ...

    def deliver(self, sender: Sender, rows: Any, step: int) -> None:
        """Write the rows of a step and its number in one transaction; nothing if the step is there already."""
        ...


@runtime_checkable
class _Refusing(Protocol):
    """A place that cannot take every value."""

    def refuses(self, schema: Any) -> Sequence[Refusal]:
        """Return which values of these columns it cannot take."""
        ...


@dataclass(frozen=True, slots=True)
class Own(Output):
    """An output that passes on what it is asked to an object of the user's."""

    place: Transactional

    def claim(self, sender: Sender, fields: Fields) -> None:
        """Let the object make ready."""
        self.place.claim(sender, fields.native)

    def refuses(self, fields: Fields) -> Sequence[Refusal]:
        """Return what the object refuses; it need not refuse anything."""
        return self.place.refuses(fields.native) if isinstance(self.place, _Refusing) else ()

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:
        """Give the rows to the object."""
        self.place.deliver(sender, rows.native, step)
