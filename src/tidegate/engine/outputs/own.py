"""The user's own output: any object that has `claim` and `deliver`, and maybe `refuses`."""

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

    On Spark, it is given the schema as a StructType and the rows as a DataFrame; locally, as an Arrow schema and table.
    """

    def claim(self, sender: Sender, schema: Any) -> None:
        """Prepare for the rows of a sender; raise if they do not fit, or if the place belongs to another sender."""
        ...

    def deliver(self, sender: Sender, rows: Any, step: int) -> None:
        """Write the rows of a step and its number in one transaction, unless the step is there already."""
        ...


@runtime_checkable
class _Refusing(Protocol):
    """A place that can't take every value."""

    def refuses(self, schema: Any) -> Sequence[Refusal]:
        """Return which values of these columns can't be written."""
        ...


@dataclass(frozen=True, slots=True)
class Own(Output):
    """An output that passes all calls on to the user's object."""

    place: Transactional

    def claim(self, sender: Sender, fields: Fields) -> None:
        """Let the object prepare for rows."""
        self.place.claim(sender, fields.native)

    def refuses(self, fields: Fields) -> Sequence[Refusal]:
        """Return what the object refuses; nothing if it has no `refuses`."""
        return self.place.refuses(fields.native) if isinstance(self.place, _Refusing) else ()

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:
        """Give the rows to the object."""
        self.place.deliver(sender, rows.native, step)
